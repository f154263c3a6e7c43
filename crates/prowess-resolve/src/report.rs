//! A proof that nothing goes together, as a short list of who asks for what.
//!
//! The derivation that the solver gives is complete and can have tens of thousands of steps. What people need from it are the
//! constraints at its leaves: these together are the conflict, and each has somebody who can change it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use prowess_format::text::{shorten, visible};
use pubgrub::{DerivationTree, External, Ranges};
use semver::Version;

use crate::error::Conflict;
use crate::index::Index;
use crate::range::Range;
use crate::solver::{Barred, Entry, Node, Solver};
use crate::work::Versions;

type Proof = DerivationTree<Node, Versions, Infallible>;

/// The longest text of somebody else that a line repeats.
const MOST_CHARACTERS: usize = 80;

pub(crate) fn explain<I: Index>(solver: &Solver<'_, I>, proof: Proof) -> Conflict {
    let wishes = in_reading_order(wishes(solver, proof));
    let mut facts: Vec<String> = wishes.iter().map(|wish| wish.sentence(solver)).collect();
    let mut targets: Vec<u32> = Vec::new();
    for wish in &wishes {
        if !targets.contains(&wish.target) {
            targets.push(wish.target);
        }
    }
    let clashes: Vec<Clash> =
        targets.into_iter().filter_map(|target| clash(solver, target, &wishes)).collect();
    let (summary, hint) = match clashes.as_slice() {
        [clash] => (clash.summary.clone(), clash.hint.clone()),
        _ => (
            "no versions of these skills go together".to_owned(),
            "ask for wider ranges, or leave one of the requests away".to_owned(),
        ),
    };
    let mut ends: Vec<String> = clashes.into_iter().flat_map(|clash| clash.facts).collect();
    // What there is stands behind all the wishes and is worth more than the last of them, up to half of the lines.
    ends.truncate(Conflict::MOST_LINES / 2);
    let room = Conflict::MOST_LINES - 1 - ends.len();
    if facts.len() > room {
        let left_out = facts.len() - (room - 1);
        facts.truncate(room - 1);
        facts.push(format!("… and {left_out} more constraints"));
    }
    facts.append(&mut ends);
    Conflict { summary, facts, hint }
}

/// Somebody wants a skill in a range.
struct Wish {
    owner: Node,
    /// The versions of the owner that want it.
    versions: Vec<Version>,
    target: u32,
    /// The range as it was written.
    text: String,
    /// The versions of the target that it accepts.
    accepted: Ranges<Version>,
    /// The same with the pre-releases that nobody asked for.
    widely: Ranges<Version>,
}

impl Wish {
    fn sentence<I: Index>(&self, solver: &Solver<'_, I>) -> String {
        let target = solver.entry(self.target);
        let wanted = match self.text.as_str() {
            "" => format!("`{}`", target.package),
            text => format!("`{} {text}`", target.package),
        };
        match self.owner {
            Node::Root => wanted,
            Node::Request(at) => {
                let origin = &solver.requests[at as usize].origin;
                format!("{} asks for {wanted}", shorten(&visible(origin), MOST_CHARACTERS))
            }
            Node::Skill(id) => {
                let owner = solver.entry(id);
                let all = owner.candidates.iter().filter(|one| one.barred.is_none()).count();
                if self.versions.len() == all && all > 1 {
                    format!("every version of `{}` needs {wanted}", owner.package)
                } else {
                    let needs = if self.versions.len() == 1 { "needs" } else { "need" };
                    let versions = some_of(&self.versions);
                    format!("`{}` {versions} {needs} {wanted}", owner.package)
                }
            }
        }
    }
}

/// The wishes at the leaves of a proof. The proof is taken apart without recursion, because its depth is a stranger's choice;
/// a part that is used twice is visited when its last user is gone.
fn wishes<I: Index>(solver: &Solver<'_, I>, proof: Proof) -> Vec<Wish> {
    let mut edges: BTreeMap<(Node, u32), Ranges<Version>> = BTreeMap::new();
    let mut open = vec![Arc::new(proof)];
    while let Some(part) = open.pop() {
        match Arc::try_unwrap(part) {
            Ok(DerivationTree::Derived(derived)) => open.extend([derived.cause1, derived.cause2]),
            Ok(DerivationTree::External(External::FromDependencyOf(
                owner,
                versions,
                Node::Skill(target),
                _,
            ))) => {
                let known = edges.entry((owner, target)).or_insert_with(Ranges::empty);
                *known = known.union(&versions.0);
            }
            Ok(DerivationTree::External(_)) | Err(_) => {}
        }
    }
    let mut wishes: Vec<Wish> = Vec::new();
    for ((owner, target), versions) in edges {
        let wanted = solver.entry(target);
        match owner {
            Node::Root => {}
            Node::Request(at) => {
                let range = &solver.requests[at as usize].range;
                wishes.push(Wish {
                    owner,
                    versions: Vec::new(),
                    target,
                    text: range.as_str().to_owned(),
                    accepted: wanted.accepted(range),
                    widely: range.versions().clone(),
                });
            }
            Node::Skill(id) => {
                let owning = solver.entry(id);
                let first = wishes.len();
                let usable = owning.candidates.iter().filter(|one| one.barred.is_none());
                for candidate in usable.filter(|one| versions.contains(&one.version)) {
                    let release = owning.release(&candidate.version).expect("it is a candidate");
                    let mut ranges: Vec<&Range> = release
                        .dependencies
                        .iter()
                        .filter(|needed| needed.package == wanted.package)
                        .map(|needed| &needed.range)
                        .collect();
                    // The order in which an author lists them must not matter.
                    ranges.sort_by_key(|range| range.as_str());
                    for range in ranges {
                        let text = range.as_str().to_owned();
                        match wishes[first..].iter_mut().find(|wish| wish.text == text) {
                            Some(wish) => wish.versions.push(candidate.version.clone()),
                            None => wishes.push(Wish {
                                owner,
                                versions: vec![candidate.version.clone()],
                                target,
                                accepted: wanted.accepted(range),
                                widely: range.versions().clone(),
                                text,
                            }),
                        }
                    }
                }
            }
        }
    }
    wishes
}

/// From the requests to what is needed in the end.
fn in_reading_order(wishes: Vec<Wish>) -> Vec<Wish> {
    let mut by_owner: BTreeMap<Node, Vec<Wish>> = BTreeMap::new();
    for wish in wishes {
        by_owner.entry(wish.owner).or_default().push(wish);
    }
    let mut queue: VecDeque<Node> =
        by_owner.keys().copied().filter(|node| matches!(node, Node::Request(_))).collect();
    let mut seen: BTreeSet<Node> = queue.iter().copied().collect();
    let mut ordered = Vec::new();
    while let Some(owner) = queue.pop_front() {
        for wish in by_owner.remove(&owner).unwrap_or_default() {
            let target = Node::Skill(wish.target);
            if seen.insert(target) {
                queue.push_back(target);
            }
            ordered.push(wish);
        }
    }
    ordered.extend(by_owner.into_values().flatten());
    ordered
}

/// A skill of which no version suits all who want it.
struct Clash {
    summary: String,
    facts: Vec<String>,
    hint: String,
}

fn clash<I: Index>(solver: &Solver<'_, I>, target: u32, wishes: &[Wish]) -> Option<Clash> {
    let entry = solver.entry(target);
    let wishes: Vec<&Wish> = wishes.iter().filter(|wish| wish.target == target).collect();
    let all = |part: fn(&Wish) -> &Ranges<Version>| {
        wishes.iter().fold(Ranges::full(), |set, wish| set.intersection(part(wish)))
    };
    let accepted = all(|wish| &wish.accepted);
    if entry.usable_in(&accepted) {
        return None;
    }
    let name = &entry.package;
    if entry.candidates.is_empty() {
        let source = shorten(&visible(entry.package.source()), MOST_CHARACTERS);
        return Some(Clash {
            summary: format!("`{source}` has no skill `{name}`"),
            facts: Vec::new(),
            hint: format!("see how `{name}` is spelt, and which source it is in"),
        });
    }
    let mut facts = Vec::new();
    let mut hints = Vec::new();
    for (barred, is, are, advice) in REASONS {
        let versions = some_candidates(&entry, |version, why| {
            why == Some(barred) && accepted.contains(version)
        });
        if versions.is_empty() {
            continue;
        }
        let reason = if versions.len() == 1 { is } else { are };
        facts.push(format!("`{name}` {} would do, but {reason}", some_of(&versions)));
        hints.push(advice.replace("NAME", &name.to_string()));
    }
    let widely = all(|wish| &wish.widely);
    let trials = some_candidates(&entry, |version, why| {
        why.is_none() && widely.contains(version) && !accepted.contains(version)
    });
    if let Some(highest) = trials.last() {
        let is = if trials.len() == 1 { "is a pre-release" } else { "are pre-releases" };
        facts.push(format!("`{name}` {} would do, but {is}", some_of(&trials)));
        hints.push(format!("ask for the pre-release by its version: `{name} =={highest}`"));
    }
    let would_do = !facts.is_empty();
    let usable: Vec<Version> = some_candidates(&entry, |_, why| why.is_none());
    if !usable.is_empty() {
        facts.push(format!("`{name}` exists as {}", some_of(&usable)));
    }
    let (summary, advice) = match wishes.as_slice() {
        [wish] if wish.text.is_empty() => {
            (format!("no version of `{name}` may be installed"), "ask for another skill")
        }
        [wish] if would_do => (
            format!("no version of `{name}` in `{}` may be installed", wish.text),
            "ask for another range",
        ),
        [wish] => (
            format!("no version of `{name}` is in `{}`", wish.text),
            "ask for a range that one of the versions is in",
        ),
        _ => (
            format!("no version of `{name}` suits everyone who needs it"),
            "ask for a wider range, or leave one of the requests away",
        ),
    };
    let hint = hints.into_iter().next().unwrap_or_else(|| advice.to_owned());
    Some(Clash { summary, facts, hint })
}

/// Why releases are left out, in words for one and for several, and what to do about it; the first that applies is the hint.
const REASONS: [(Barred, &str, &str, &str); 4] = [
    (
        Barred::Experimental,
        // GAIA §4.3
        "is experimental, which is never installed unless asked for by name",
        "are experimental, which is never installed unless asked for by name",
        "ask for `NAME` itself, and allow experimental skills",
    ),
    (
        Barred::TooYoung,
        "is younger than releases have to be",
        "are younger than releases have to be",
        "wait, or lower the age that releases have to have",
    ),
    (
        Barred::NoTime,
        "does not say when it was published, and may be too young",
        "do not say when they were published, and may be too young",
        "lower the age that releases have to have to nothing, if you trust `NAME`",
    ),
    (
        Barred::Yanked,
        "is yanked",
        "are yanked",
        "ask for another range, or the publisher of `NAME` for a new release",
    ),
];

fn some_candidates(
    entry: &Entry<'_>,
    which: impl Fn(&Version, Option<Barred>) -> bool,
) -> Vec<Version> {
    entry
        .candidates
        .iter()
        .filter(|candidate| which(&candidate.version, candidate.barred))
        .map(|candidate| candidate.version.clone())
        .collect()
}

/// `1.0.0`, `1.0.0 and 1.1.0`, or the ends of a longer list.
fn some_of(versions: &[Version]) -> String {
    let shown = |version: &Version| shorten(&version.to_string(), MOST_CHARACTERS / 2);
    match versions {
        [] => String::new(),
        [only] => shown(only),
        [one, other] => format!("{} and {}", shown(one), shown(other)),
        [one, two, three] => format!("{}, {} and {}", shown(one), shown(two), shown(three)),
        [first, .., last] => {
            format!("{} to {} ({} versions)", shown(first), shown(last), versions.len())
        }
    }
}
