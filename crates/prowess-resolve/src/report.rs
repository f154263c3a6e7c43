//! Explains a conflict as a short list of constraints.
//!
//! The solver's derivation is complete and can have tens of thousands of steps. The constraints at
//! its leaves are the conflict, and each of them can be changed by somebody.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use prowess_format::text::{shorten, visible};
use pubgrub::{DerivationTree, External, Ranges};
use semver::Version;

use crate::error::Conflict;
use crate::index::ReleaseIndex;
use crate::range::Range;
use crate::solver::{Exclusion, Node, SkillEntry, Solver};
use crate::work::Versions;

type Proof = DerivationTree<Node, Versions, Infallible>;

/// Maximum length of an untrusted text in a line, in characters.
const MOST_CHARACTERS: usize = 80;

pub(crate) fn explain<I: ReleaseIndex>(solver: &Solver<'_, I>, proof: Proof) -> Conflict {
    let requirements = in_reading_order(requirements(solver, proof));
    let mut facts: Vec<String> =
        requirements.iter().map(|requirement| requirement.sentence(solver)).collect();
    let mut targets: Vec<u32> = Vec::new();
    for requirement in &requirements {
        if !targets.contains(&requirement.target) {
            targets.push(requirement.target);
        }
    }
    let clashes: Vec<Clash> =
        targets.into_iter().filter_map(|target| clash(solver, target, &requirements)).collect();
    let (summary, hint) = match clashes.as_slice() {
        [clash] => (clash.summary.clone(), clash.hint.clone()),
        _ => (
            "no set of versions satisfies all requirements".to_owned(),
            "request wider ranges, or drop one of the requests".to_owned(),
        ),
    };
    let mut ends: Vec<String> = clashes.into_iter().flat_map(|clash| clash.facts).collect();
    // The available versions come after the requirements and take precedence over the last of them,
    // up to half of the lines.
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

/// A requirement: a skill in a version range.
struct Requirement {
    owner: Node,
    /// The versions of the owner that have the requirement.
    versions: Vec<Version>,
    target: u32,
    /// The range as written.
    text: String,
    /// The versions of the target that it accepts.
    accepted: Ranges<Version>,
    /// The accepted versions including pre-releases that were not requested.
    widely: Ranges<Version>,
}

impl Requirement {
    fn sentence<I: ReleaseIndex>(&self, solver: &Solver<'_, I>) -> String {
        let target = solver.entry(self.target);
        let wanted = match self.text.as_str() {
            "" => format!("`{}`", target.package),
            text => format!("`{} {text}`", target.package),
        };
        match self.owner {
            Node::Root => wanted,
            Node::Request(at) => {
                let origin = &solver.requests[at as usize].origin;
                format!("{} requires {wanted}", shorten(&visible(origin), MOST_CHARACTERS))
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

/// The requirements at the leaves of a proof. Iterative, because the depth of the proof is
/// untrusted; a shared part is visited after its last user.
fn requirements<I: ReleaseIndex>(solver: &Solver<'_, I>, proof: Proof) -> Vec<Requirement> {
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
    let mut requirements: Vec<Requirement> = Vec::new();
    for ((owner, target), versions) in edges {
        let wanted = solver.entry(target);
        match owner {
            Node::Root => {}
            Node::Request(at) => {
                let range = &solver.requests[at as usize].range;
                requirements.push(Requirement {
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
                let first = requirements.len();
                let usable = owning.candidates.iter().filter(|one| one.barred.is_none());
                for candidate in usable.filter(|one| versions.contains(&one.version)) {
                    let release = owning.release(&candidate.version).expect("it is a candidate");
                    let mut ranges: Vec<&Range> = release
                        .dependencies
                        .iter()
                        .filter(|needed| needed.package == wanted.package)
                        .map(|needed| &needed.range)
                        .collect();
                    // The result must not depend on the order in which an author lists them.
                    ranges.sort_by_key(|range| range.as_str());
                    for range in ranges {
                        let text = range.as_str().to_owned();
                        match requirements[first..]
                            .iter_mut()
                            .find(|requirement| requirement.text == text)
                        {
                            Some(requirement) => {
                                requirement.versions.push(candidate.version.clone());
                            }
                            None => requirements.push(Requirement {
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
    requirements
}

/// Sorts from the requests to their transitive dependencies.
fn in_reading_order(requirements: Vec<Requirement>) -> Vec<Requirement> {
    let mut by_owner: BTreeMap<Node, Vec<Requirement>> = BTreeMap::new();
    for requirement in requirements {
        by_owner.entry(requirement.owner).or_default().push(requirement);
    }
    let mut queue: VecDeque<Node> =
        by_owner.keys().copied().filter(|node| matches!(node, Node::Request(_))).collect();
    let mut seen: BTreeSet<Node> = queue.iter().copied().collect();
    let mut ordered = Vec::new();
    while let Some(owner) = queue.pop_front() {
        for requirement in by_owner.remove(&owner).unwrap_or_default() {
            let target = Node::Skill(requirement.target);
            if seen.insert(target) {
                queue.push_back(target);
            }
            ordered.push(requirement);
        }
    }
    ordered.extend(by_owner.into_values().flatten());
    ordered
}

/// A skill of which no version satisfies all requirements.
struct Clash {
    summary: String,
    facts: Vec<String>,
    hint: String,
}

fn clash<I: ReleaseIndex>(
    solver: &Solver<'_, I>,
    target: u32,
    requirements: &[Requirement],
) -> Option<Clash> {
    let entry = solver.entry(target);
    let requirements: Vec<&Requirement> =
        requirements.iter().filter(|requirement| requirement.target == target).collect();
    let all = |part: fn(&Requirement) -> &Ranges<Version>| {
        requirements
            .iter()
            .fold(Ranges::full(), |set, requirement| set.intersection(part(requirement)))
    };
    let accepted = all(|requirement| &requirement.accepted);
    if entry.usable_in(&accepted) {
        return None;
    }
    let name = &entry.package;
    if entry.candidates.is_empty() {
        let source = shorten(&visible(entry.package.source()), MOST_CHARACTERS);
        return Some(Clash {
            summary: format!("`{source}` has no skill `{name}`"),
            facts: Vec::new(),
            hint: format!("check the spelling of `{name}`, and which source it is in"),
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
        facts.push(format!("`{name}` {} would match, but {reason}", some_of(&versions)));
        hints.push(advice.replace("NAME", &name.to_string()));
    }
    let widely = all(|requirement| &requirement.widely);
    let trials = some_candidates(&entry, |version, why| {
        why.is_none() && widely.contains(version) && !accepted.contains(version)
    });
    if let Some(highest) = trials.last() {
        let is = if trials.len() == 1 { "is a pre-release" } else { "are pre-releases" };
        facts.push(format!("`{name}` {} would match, but {is}", some_of(&trials)));
        hints.push(format!("request the pre-release by its version: `{name} =={highest}`"));
    }
    let would_do = !facts.is_empty();
    let usable: Vec<Version> = some_candidates(&entry, |_, why| why.is_none());
    if !usable.is_empty() {
        facts.push(format!("`{name}` exists as {}", some_of(&usable)));
    }
    let (summary, advice) = match requirements.as_slice() {
        [requirement] if requirement.text.is_empty() => {
            (format!("no version of `{name}` may be installed"), "request another skill")
        }
        [requirement] if would_do => (
            format!("no version of `{name}` in `{}` may be installed", requirement.text),
            "request another range",
        ),
        [requirement] => (
            format!("no version of `{name}` matches `{}`", requirement.text),
            "request a range that matches one of the versions",
        ),
        _ => (
            format!("no version of `{name}` satisfies all requirements"),
            "request a wider range, or drop one of the requests",
        ),
    };
    let hint = hints.into_iter().next().unwrap_or_else(|| advice.to_owned());
    Some(Clash { summary, facts, hint })
}

/// Why releases are excluded, in singular and plural, and what to do about it; the first that
/// applies becomes the hint.
const REASONS: [(Exclusion, &str, &str, &str); 4] = [
    (
        Exclusion::Experimental,
        // GAIA §4.3
        "is experimental, which is never installed unless requested by name",
        "are experimental, which are never installed unless requested by name",
        "request `NAME` itself, and allow experimental skills",
    ),
    (
        Exclusion::TooYoung,
        "is newer than the minimum release age",
        "are newer than the minimum release age",
        "wait, or lower the minimum release age",
    ),
    (
        Exclusion::NoTime,
        "has no publication date, and may be too new",
        "have no publication date, and may be too new",
        "set the minimum release age to zero, if you trust `NAME`",
    ),
    (
        Exclusion::Yanked,
        "is yanked",
        "are yanked",
        "request another range, or ask the publisher of `NAME` for a new release",
    ),
];

fn some_candidates(
    entry: &SkillEntry<'_>,
    which: impl Fn(&Version, Option<Exclusion>) -> bool,
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
