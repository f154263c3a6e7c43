//! Reviews a skill before it is installed or updated: refusals, questions, warnings.
//! Pure: everything that is compared is handed in.

use std::collections::BTreeSet;
use std::fmt;

use prowess_core::Remedy;
use prowess_format::skill::Skill;
use prowess_policy::{Grant, GrantSet, GrantSource, Origin, Tier, Trust, matrix};
use prowess_trust::{Change, Evidence};

use crate::capabilities::{Capability, CapabilityKind};
use crate::lock::LockEntry;
use crate::source::Pinned;
use crate::store::Occupant;

/// A skill that somebody wants to install.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// What it calls itself, where the user gave it another name.
    pub calls_itself: Option<&'a str>,
    /// Whether it has no front matter, and the installed one does.
    pub is_prose: bool,
    /// What is wrong with its `SKILL.md`, unless the installed one has errors too.
    pub errors: &'a [String],
    /// Its version.
    pub version: &'a semver::Version,
    /// Everything it asks for.
    pub grants: &'a GrantSet,
    /// The tier that counts (R19), and who signed it.
    pub evidence: &'a Evidence,
    /// The owner that the registry names.
    pub owner: Option<&'a str>,
    /// Where it comes from.
    pub source: &'a Pinned,
    /// Whether the user named it, or it is there because another skill needs it.
    pub is_explicit: bool,
    /// Whether one of its signers was accepted for this skill, although an earlier version had another one.
    pub signer_accepted: bool,
    /// What it claims, where that is less than what its signatures prove.
    pub lower_claim: Option<LowerClaim>,
    /// What it can make an agent do.
    pub capabilities: &'a [Capability],
    /// The lines of capabilities that the user has agreed to for the installed version.
    pub accepted: &'a BTreeSet<String>,
    /// The scripts of the installed version whose content is another one now.
    pub changed_scripts: &'a BTreeSet<String>,
}

/// A skill that claims less than is proved: the lower one counts (R19), which nobody guesses who has just trusted its signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowerClaim {
    /// What it calls itself.
    pub claimed: Tier,
    /// What its signatures prove.
    pub proved: Tier,
    /// The line of its `SKILL.md` that says so.
    pub line: usize,
}

impl LowerClaim {
    /// Compares what a skill calls itself with what its signatures prove. `manifest` is its `SKILL.md`.
    pub fn of(skill: &Skill, proved: Tier, manifest: &[u8]) -> Option<Self> {
        let word = skill.security_tier.as_ref()?;
        let claimed = Trust::of(skill, proved, None, Origin::Downloaded).claimed()?;
        let before = manifest.get(..word.span.range().start).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        (claimed < proved).then_some(Self { claimed, proved, line })
    }
}

impl fmt::Display for LowerClaim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { claimed, proved, line } = self;
        write!(
            formatter,
            "its signatures prove {proved}, and it calls itself {claimed} (line {line} of its SKILL.md)"
        )
    }
}

/// What the user has allowed in advance, each by its own option.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InstallPermissions {
    /// `--allow-experimental` (GAIA §4.3).
    pub experimental: bool,
    /// `--allow-unsigned` (attack registry-C3).
    pub unsigned: bool,
    /// `--replace-owner` (attack registry-A8).
    pub replace_owner: bool,
}

/// The result of a review.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Review {
    /// Why it is not installed, whatever anybody answers.
    pub refusals: Vec<Refusal>,
    /// What the user must agree to.
    pub questions: Vec<Question>,
}

/// Why a skill is not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody vouches for it, and nobody said that this is all right (GAIA §4.3).
    Experimental,
    /// Somebody vouches for it, and it calls itself experimental: the lower one counts (R19).
    CallsItselfExperimental(LowerClaim),
    /// An experimental dependency (GAIA §4.3): it must be installed by its own name.
    ExperimentalDependency,
    /// The earlier version was signed (attack registry-C3), or by somebody else (attack registry-C4).
    Signature(Change),
    /// Another owner than before (attacks registry-A5, registry-A8).
    OtherOwner {
        /// Who owns the installed one.
        was: String,
        /// Who owns this one.
        now: String,
    },
    /// Another registry, repository or domain than before (attack registry-A9).
    OtherPlace {
        /// Where the installed one came from.
        was: String,
        /// Where this one comes from.
        now: String,
    },
    /// Something is in its place that was not installed, with other content. It may be the user's own.
    Occupied(Occupant),
    /// A grant that no user and no tier can give.
    Ungrantable(String),
    /// It is signed, and was given another name. A signature is about a name as well (R49).
    SignedAsOther {
        /// What it calls itself.
        own: String,
    },
}

/// What the user must agree to before it is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Its `SKILL.md` has no front matter (R8).
    NoFrontMatter,
    /// Its `SKILL.md` has errors.
    Errors {
        /// The first of them.
        first: String,
        /// How many there are.
        count: usize,
        /// What `prowess check` can look at.
        folder: Option<String>,
    },
    /// A dangerous permission (GAIA §4.2).
    Dangerous(String),
    /// A permission that the installed version does not have (attack registry-C23).
    Wider(String),
    /// Something that it can make an agent do, and that the user has not agreed to yet. A signature says who wrote it and
    /// does not answer this.
    Capability(Capability),
    /// A script that the user has agreed to, with other content.
    ChangedScript(Capability),
    /// Its signatures prove less than before, or more, which lets it do more without a question.
    Tier(Change),
    /// An older version than the installed one.
    Older {
        /// The installed version.
        was: semver::Version,
    },
    /// Another tool has written down other files for it.
    OtherHash {
        /// Which tool.
        tool: String,
        /// What it has written down.
        was: String,
        /// The hash of the files that are there now.
        now: String,
    },
}

/// Reviews a candidate against what is installed under its name.
pub fn review(
    candidate: &Candidate<'_>,
    installed: Option<&LockEntry>,
    permissions: InstallPermissions,
) -> Review {
    let mut review = Review::default();
    if candidate.evidence.tier == Tier::Experimental && !is_known_experimental(candidate, installed)
    {
        if !candidate.is_explicit {
            review.refusals.push(Refusal::ExperimentalDependency);
        } else if !permissions.experimental {
            review.refusals.push(match &candidate.lower_claim {
                Some(lower_claim) => Refusal::CallsItselfExperimental(lower_claim.clone()),
                None => Refusal::Experimental,
            });
        }
    }
    if let Some(own) = candidate.calls_itself
        && !candidate.evidence.signers.is_empty()
    {
        review.refusals.push(Refusal::SignedAsOther { own: own.to_owned() });
    }
    if candidate.is_prose {
        review.questions.push(Question::NoFrontMatter);
    }
    if let Some(first) = candidate.errors.first() {
        let folder = match candidate.source {
            Pinned::Folder { path } => Some(path.clone()),
            _ => None,
        };
        let count = candidate.errors.len();
        review.questions.push(Question::Errors { first: first.clone(), count, folder });
    }
    for refusal in candidate.grants.refusals() {
        review.refusals.push(Refusal::Ungrantable(refusal.to_string()));
    }
    if let Some(installed) = installed {
        compare(candidate, installed, permissions, &mut review);
    }
    let before = installed.map(granted_before);
    let mut seen = BTreeSet::new();
    for grant in candidate.grants.grants() {
        let text = grant.to_string();
        let is_new = before.as_ref().is_none_or(|before| !before.covers(grant));
        if !is_new || !seen.insert(text.clone()) {
            continue;
        }
        if before.is_some() {
            review.questions.push(Question::Wider(text));
        } else if candidate.evidence.tier < Tier::Verified
            && matrix::asks(grant, candidate.evidence.tier)
        {
            review.questions.push(Question::Dangerous(text));
        }
    }
    review.questions.extend(capability_questions(candidate, installed.is_some()));
    review
}

/// Every capability that nobody has agreed to, whatever the tier is: a signature says who, and not what.
fn capability_questions(candidate: &Candidate<'_>, is_installed: bool) -> Vec<Question> {
    let mut questions = Vec::new();
    for capability in candidate.capabilities {
        let is_accepted = is_installed && candidate.accepted.contains(&capability.to_string());
        if !is_accepted {
            questions.push(Question::Capability(capability.clone()));
        } else if capability.kind == CapabilityKind::Script
            && candidate.changed_scripts.contains(&capability.file)
        {
            questions.push(Question::ChangedScript(capability.clone()));
        }
    }
    questions
}

/// What an installed skill was granted. A text that can't be read covers nothing.
fn granted_before(installed: &LockEntry) -> GrantSet {
    let read = |text: &String| Grant::parse(text, &GrantSource::Declared(text.clone())).ok();
    GrantSet::new(installed.permissions.iter().filter_map(read).flatten().collect())
}

/// An experimental skill whose installed version was experimental too: the user has agreed to that once, and an update
/// changes nothing about it.
fn is_known_experimental(candidate: &Candidate<'_>, installed: Option<&LockEntry>) -> bool {
    installed.is_some_and(|installed| {
        installed.tier == Tier::Experimental && (candidate.is_explicit || !installed.explicit)
    })
}

fn compare(
    candidate: &Candidate<'_>,
    installed: &LockEntry,
    permissions: InstallPermissions,
    review: &mut Review,
) {
    for change in prowess_trust::compare(&installed.evidence(), candidate.evidence) {
        let is_allowed = match change {
            Change::SignatureLost { .. } => permissions.unsigned,
            Change::SignerChanged { .. } => candidate.signer_accepted,
            Change::TierChanged { .. } => {
                review.questions.push(Question::Tier(change));
                continue;
            }
            Change::SchemeChanged { .. } => true,
        };
        if !is_allowed {
            review.refusals.push(Refusal::Signature(change));
        }
    }
    if !permissions.replace_owner {
        if let (Some(was), Some(now)) = (installed.owner.as_deref(), candidate.owner)
            && was != now
        {
            review.refusals.push(Refusal::OtherOwner { was: was.to_owned(), now: now.to_owned() });
        }
        if let Some(was) = &installed.source
            && !same_place(was, candidate.source)
        {
            review.refusals.push(Refusal::OtherPlace {
                was: was.in_words(),
                now: candidate.source.in_words(),
            });
        }
    }
    if *candidate.version < installed.version {
        review.questions.push(Question::Older { was: installed.version.clone() });
    }
}

/// Whether two places are in the same hands: the same registry and namespace, the same repository, the same domain. Folders
/// of this machine are in the user's hands, wherever they are moved to, and so are archives on it, whose names change with
/// each version. A folder that the user works in and an archive that somebody sent are two places.
fn same_place(one: &Pinned, other: &Pinned) -> bool {
    match (one, other) {
        (
            Pinned::Registry { registry, namespace, .. },
            Pinned::Registry { registry: other_registry, namespace: other_namespace, .. },
        ) => registry == other_registry && namespace == other_namespace,
        (
            Pinned::Git { url, folder, .. },
            Pinned::Git { url: other_url, folder: other_folder, .. },
        ) => url == other_url && folder == other_folder,
        (Pinned::WellKnown { base, .. }, Pinned::WellKnown { base: other_base, .. }) => {
            base == other_base
        }
        (Pinned::File { location, .. }, Pinned::File { location: other_location, .. }) => {
            location == other_location || !(one.is_remote() || other.is_remote())
        }
        (Pinned::Folder { .. }, Pinned::Folder { .. }) => true,
        (
            Pinned::Folder { .. }
            | Pinned::File { .. }
            | Pinned::Git { .. }
            | Pinned::WellKnown { .. }
            | Pinned::Registry { .. },
            _,
        ) => false,
    }
}

impl Review {
    /// Adds the findings of another review that this one lacks.
    pub(crate) fn extend(&mut self, other: Self) {
        for refusal in other.refusals {
            if !self.refusals.contains(&refusal) {
                self.refusals.push(refusal);
            }
        }
        for question in other.questions {
            if !self.questions.contains(&question) {
                self.questions.push(question);
            }
        }
    }

    /// Whether the user is asked about something that the skill can make an agent do.
    pub fn asks_about_capabilities(&self) -> bool {
        let is_capability = |question: &Question| {
            matches!(question, Question::Capability(_) | Question::ChangedScript(_))
        };
        self.questions.iter().any(is_capability)
    }

    /// Whether nobody needs to be asked and nothing is refused.
    pub fn is_clear(&self) -> bool {
        self.refusals.is_empty() && self.questions.is_empty()
    }
}

impl Refusal {
    /// What would help.
    pub fn remedies(&self) -> Vec<Remedy> {
        let advice = |text: &str| Remedy::Advice(text.to_owned());
        match self {
            Self::Experimental => {
                let read = advice("read it first, and check what it may do");
                vec![read, Remedy::AllowExperimental, Remedy::TrustPublisher]
            }
            Self::CallsItselfExperimental(lower_claim) => vec![
                Remedy::Advice(format!(
                    "its author writes `security_tier: {}` and signs it again",
                    lower_claim.proved
                )),
                Remedy::AllowExperimental,
            ],
            Self::ExperimentalDependency => vec![
                advice("install it by its own name first, then what needs it"),
                Remedy::AllowExperimental,
            ],
            Self::Signature(Change::SignatureLost { .. }) => {
                vec![advice("ask its author"), Remedy::AllowUnsigned]
            }
            Self::Signature(_) => vec![
                advice(
                    "ask its author; if the new key is right, trust it and accept it for this skill",
                ),
                Remedy::TrustPublisher,
                Remedy::AcceptKey("SKILL".to_owned()),
            ],
            Self::OtherOwner { .. } | Self::OtherPlace { .. } => {
                vec![advice("uninstall the installed one first"), Remedy::ReplaceOwner]
            }
            Self::Occupied(occupant) => vec![Remedy::Advice(format!(
                "move `{}` somewhere else, or delete it if you do not need it, then install again",
                occupant.path.display()
            ))],
            Self::Ungrantable(_) => vec![advice("its author must write it differently")],
            Self::SignedAsOther { .. } => {
                vec![advice(
                    "ask its author for one that is signed under a name that can be installed",
                )]
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Experimental => formatter.write_str("nobody that you trust has signed it: it is experimental"),
            Self::CallsItselfExperimental(LowerClaim { line, .. }) => write!(
                formatter,
                "it is signed by somebody that you trust, but it calls itself experimental (line {line} of its SKILL.md)"
            ),
            Self::ExperimentalDependency => formatter.write_str(
                "it would come along with another skill, and experimental skills are only installed by name",
            ),
            Self::Signature(change) => change.fmt(formatter),
            Self::OtherOwner { was, now } => write!(formatter, "it belonged to `{was}`, and now to `{now}`"),
            Self::OtherPlace { was, now } => {
                write!(formatter, "it was installed from {was}, and this one is from {now}")
            }
            Self::Occupied(occupant) => write!(
                formatter,
                "its place is taken by {occupant}, and the lock file does not list it"
            ),
            Self::Ungrantable(what) => formatter.write_str(what),
            Self::SignedAsOther { own } => {
                write!(formatter, "it is signed as `{own}`, and a signature is not for another name")
            }
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFrontMatter => {
                formatter.write_str("it has no front matter, so agents may not load it")
            }
            Self::Errors { first, count, folder } => {
                let errors = match count {
                    1 => "1 error".to_owned(),
                    count => format!("{count} errors"),
                };
                write!(formatter, "it has {errors}, so agents may not load it: {first}")?;
                match folder {
                    Some(folder) => write!(formatter, " (`prowess check {folder}` shows all)"),
                    None => Ok(()),
                }
            }
            Self::Dangerous(grant) => write!(formatter, "it wants `{grant}`"),
            Self::Wider(grant) => write!(formatter, "it also requests `{grant}`"),
            Self::Capability(Capability { kind, text, .. }) => match kind {
                CapabilityKind::Tool => write!(formatter, "it pre-approves the tool `{text}`"),
                CapabilityKind::Hook => write!(formatter, "it has the hook `{text}`"),
                CapabilityKind::Command => {
                    write!(formatter, "loading it runs `{text}`")
                }
                CapabilityKind::Recipe => {
                    write!(formatter, "it has `{text}` run to install something")
                }
                CapabilityKind::Script => write!(formatter, "it has the script `{text}`"),
                CapabilityKind::Program => write!(formatter, "it uses the program `{text}`"),
                CapabilityKind::Host => write!(formatter, "it uses the host `{text}`"),
                CapabilityKind::Variable => write!(formatter, "it reads the variable `{text}`"),
                CapabilityKind::Rest => write!(formatter, "it can do more than is listed: {text}"),
            },
            Self::ChangedScript(script) => {
                write!(formatter, "its script `{}` has changed", script.text)
            }
            Self::Tier(change) => change.fmt(formatter),
            Self::Older { was } => write!(formatter, "it is older than the installed {was}"),
            Self::OtherHash { tool, was, now } => write!(
                formatter,
                "its files are not those that {tool} has installed: their hash is {now}, and was {was}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use prowess_trust::SignedBy;

    use super::*;

    fn evidence(case: &Case) -> Evidence {
        let signer = |key: &str| SignedBy {
            scheme: "ed25519".to_owned(),
            key_id: key.to_owned(),
            identity: None,
            is_audit: false,
        };
        Evidence { tier: case.tier, signers: case.signer.map(signer).into_iter().collect() }
    }

    fn registry(address: &str) -> Pinned {
        Pinned::Registry {
            registry: address.to_owned(),
            namespace: Some("acme".parse().expect("a name")),
            version: semver::Version::new(1, 0, 0),
            sha256: "sha256:00".to_owned(),
        }
    }

    fn grants(texts: &[&str]) -> GrantSet {
        let parse = |text: &&str| {
            Grant::parse(text, &GrantSource::Declared((*text).to_owned())).expect("a permission")
        };
        GrantSet::new(texts.iter().flat_map(parse).collect())
    }

    /// A skill, as far as a review knows it.
    struct Case {
        version: &'static str,
        grants: &'static [&'static str],
        tier: Tier,
        signer: Option<&'static str>,
        owner: &'static str,
        registry: &'static str,
        explicit: bool,
        /// Whether it calls itself experimental, and somebody who is trusted has signed it.
        lower_claim: bool,
    }

    const SIGNED: Case = Case {
        version: "1.0.0",
        grants: &["network:read:a.example", "filesystem:read:./"],
        tier: Tier::Community,
        signer: Some("k1"),
        owner: "u-1",
        registry: "https://one.example",
        explicit: true,
        lower_claim: false,
    };
    const UNSIGNED: Case = Case { tier: Tier::Experimental, signer: None, ..SIGNED };

    fn locked(case: &Case) -> LockEntry {
        let version = case.version.parse().expect("a version");
        let mut locked = LockEntry::new(version, String::new(), case.tier, String::new());
        locked.permissions = case.grants.iter().map(|text| (*text).to_owned()).collect();
        locked.signers = evidence(case).signers;
        locked.owner = Some(case.owner.to_owned());
        locked.source = Some(registry(case.registry));
        locked.explicit = case.explicit;
        locked
    }

    #[track_caller]
    fn check(
        now: &Case,
        before: Option<&Case>,
        permissions: InstallPermissions,
        expected: &[&str],
    ) {
        let candidate = Candidate {
            calls_itself: None,
            is_prose: false,
            errors: &[],
            version: &now.version.parse().expect("a version"),
            grants: &grants(now.grants),
            evidence: &evidence(now),
            owner: Some(now.owner),
            source: &registry(now.registry),
            is_explicit: now.explicit,
            signer_accepted: false,
            lower_claim: now.lower_claim.then_some(LowerClaim {
                claimed: Tier::Experimental,
                proved: Tier::Community,
                line: 4,
            }),
            capabilities: &[],
            accepted: &BTreeSet::new(),
            changed_scripts: &BTreeSet::new(),
        };
        let review = review(&candidate, before.map(locked).as_ref(), permissions);
        let refused = review.refusals.iter().map(|refusal| format!("refused: {refusal}"));
        let asked = review.questions.iter().map(|question| format!("asks: {question}"));
        assert_eq!(refused.chain(asked).collect::<Vec<_>>(), expected);
    }

    #[track_caller]
    fn check_place(was: Pinned, now: &Pinned, expected: Option<&str>) {
        let mut installed = locked(&UNSIGNED);
        installed.source = Some(was);
        installed.owner = None;
        let candidate = Candidate {
            calls_itself: None,
            is_prose: false,
            errors: &[],
            version: &semver::Version::new(1, 0, 0),
            grants: &grants(UNSIGNED.grants),
            evidence: &evidence(&UNSIGNED),
            owner: None,
            source: now,
            is_explicit: true,
            signer_accepted: false,
            lower_claim: None,
            capabilities: &[],
            accepted: &BTreeSet::new(),
            changed_scripts: &BTreeSet::new(),
        };
        let review = review(&candidate, Some(&installed), NONE);
        let refusals: Vec<String> = review.refusals.iter().map(ToString::to_string).collect();
        assert_eq!(refusals, Vec::from_iter(expected), "{now:?}");
    }

    #[test]
    fn a_kind_of_place_is_part_of_a_place() {
        // Attack registry-A8.
        let text = str::to_owned;
        let folder = |path: &str| Pinned::Folder { path: text(path) };
        let file =
            |location: &str| Pinned::File { location: text(location), sha256: text("sha256:00") };
        let git = |url: &str| Pinned::Git {
            url: text(url),
            commit: text("0123456789012345678901234567890123456789"),
            revision: None,
            folder: None,
        };
        let domain = |url: &str| Pinned::WellKnown {
            base: text("https://host.example"),
            url: text(url),
            digest: None,
        };
        check_place(folder("/a/x"), &folder("/b/x"), None);
        check_place(file("/x-1.tar.gz"), &file("/x-2.tar.gz"), None);
        check_place(git("file:///r"), &git("file:///r"), None);
        check_place(
            folder("/a/x"),
            &file("/x.tar.gz"),
            Some("it was installed from the folder /a/x, and this one is from the file /x.tar.gz"),
        );
        check_place(
            folder("/a/x"),
            &git("file:///r"),
            Some(
                "it was installed from the folder /a/x, and this one is from the repository file:///r#012345678901",
            ),
        );
        check_place(
            file("/x.tar.gz"),
            &folder("/a/x"),
            Some("it was installed from the file /x.tar.gz, and this one is from the folder /a/x"),
        );
        // One address twice, once by the domain's own word.
        let address = "https://host.example/x.tar.gz";
        check_place(
            domain(address),
            &file(address),
            Some(
                "it was installed from the domain https://host.example, and this one is from the file https://host.example/x.tar.gz",
            ),
        );
    }

    #[test]
    fn a_signed_skill_keeps_its_name() {
        // R49.
        let candidate = |case: &Case| {
            let candidate = Candidate {
                calls_itself: Some("The X"),
                is_prose: false,
                errors: &[],
                version: &semver::Version::new(1, 0, 0),
                grants: &grants(&[]),
                evidence: &evidence(case),
                owner: None,
                source: &registry("https://one.example"),
                is_explicit: true,
                signer_accepted: false,
                lower_claim: None,
                capabilities: &[],
                accepted: &BTreeSet::new(),
                changed_scripts: &BTreeSet::new(),
            };
            review(&candidate, None, InstallPermissions { experimental: true, ..NONE }).refusals
        };
        assert_eq!(candidate(&SIGNED), [Refusal::SignedAsOther { own: "The X".to_owned() }]);
        assert_eq!(candidate(&UNSIGNED), []);
    }

    const NONE: InstallPermissions =
        InstallPermissions { experimental: false, unsigned: false, replace_owner: false };

    #[test]
    fn nobody_vouches_for_an_experimental_skill() {
        // GAIA-4.3-1, 4.3-2; GAIX-4; attack registry-C19.
        let experimental = "refused: nobody that you trust has signed it: it is experimental";
        check(&UNSIGNED, None, NONE, &[experimental]);
        check(&UNSIGNED, None, InstallPermissions { experimental: true, ..NONE }, &[]);
        // Somebody agreed to that already.
        check(&UNSIGNED, Some(&UNSIGNED), NONE, &[]);
        let dependency = Case { explicit: false, ..UNSIGNED };
        let refused = "refused: it would come along with another skill, and experimental skills are only installed by name";
        check(&dependency, None, InstallPermissions { experimental: true, ..NONE }, &[refused]);
    }

    #[test]
    fn a_trusted_signer_does_not_make_up_for_a_modest_claim() {
        // R19: the lower of what is claimed and what is proved counts, and the user is told which one it was.
        let modest = Case { tier: Tier::Experimental, lower_claim: true, ..SIGNED };
        let refused = "refused: it is signed by somebody that you trust, but it calls itself experimental (line 4 of its SKILL.md)";
        check(&modest, None, NONE, &[refused]);
        check(&modest, None, InstallPermissions { experimental: true, ..NONE }, &[]);
    }

    #[test]
    fn dangerous_permissions_ask() {
        // GAIA-4.2-2; GAIA-4.1-1: a verified one asks nothing.
        const DANGEROUS: &[&str] = &["shell:execute:git", "desktop:control", "database:write:x"];
        let asked = [
            "asks: it wants `shell:execute:git`",
            "asks: it wants `desktop:control`",
            "asks: it wants `database:write:x`",
        ];
        check(&Case { grants: DANGEROUS, ..SIGNED }, None, NONE, &asked);
        check(&Case { grants: DANGEROUS, tier: Tier::Verified, ..SIGNED }, None, NONE, &[]);
        check(&SIGNED, None, NONE, &[]);
    }

    #[test]
    fn an_update_that_wants_more_asks() {
        // Attack registry-C23: also at the highest tier, and not for what is covered already.
        const WIDER: &[&str] =
            &["network:read:*.a.example", "filesystem:read:./docs", "shell:execute:git"];
        let asked = [
            "asks: it also requests `network:read:*.a.example`",
            "asks: it also requests `shell:execute:git`",
        ];
        check(&Case { grants: WIDER, version: "1.0.1", ..SIGNED }, Some(&SIGNED), NONE, &asked);
        let verified = Case { tier: Tier::Verified, ..SIGNED };
        check(
            &Case { grants: WIDER, tier: Tier::Verified, ..SIGNED },
            Some(&verified),
            NONE,
            &asked,
        );
        let raised = "asks: its tier was `community` and is now `verified`";
        check(&verified, Some(&SIGNED), NONE, &[raised]);
        check(&Case { grants: &[], ..SIGNED }, Some(&SIGNED), NONE, &[]);
        check(
            &Case { version: "0.9.0", ..SIGNED },
            Some(&SIGNED),
            NONE,
            &["asks: it is older than the installed 1.0.0"],
        );
    }

    #[test]
    fn other_hands_are_refused() {
        // Attacks registry-A5, registry-A8, registry-A9, registry-C3, registry-C4.
        let gone = "refused: it was signed by the key `k1` and is not signed now";
        let lower = "asks: its tier was `community` and is now `experimental`";
        let experimental = "refused: nobody that you trust has signed it: it is experimental";
        check(&UNSIGNED, Some(&SIGNED), NONE, &[experimental, gone, lower]);
        check(
            &UNSIGNED,
            Some(&SIGNED),
            InstallPermissions { unsigned: true, experimental: true, ..NONE },
            &[lower],
        );
        check(
            &Case { signer: Some("k2"), ..SIGNED },
            Some(&SIGNED),
            InstallPermissions { unsigned: true, experimental: true, replace_owner: true },
            &["refused: it was signed by the key `k1` and is now signed by the key `k2`"],
        );
        check(
            &Case { owner: "u-2", ..SIGNED },
            Some(&SIGNED),
            InstallPermissions { unsigned: true, experimental: true, ..NONE },
            &["refused: it belonged to `u-1`, and now to `u-2`"],
        );
        check(
            &Case { registry: "https://two.example", ..SIGNED },
            Some(&SIGNED),
            NONE,
            &[
                "refused: it was installed from the registry https://one.example (acme), and this one is from the registry https://two.example (acme)",
            ],
        );
        check(
            &Case { registry: "https://two.example", owner: "u-2", ..SIGNED },
            Some(&SIGNED),
            InstallPermissions { replace_owner: true, ..NONE },
            &[],
        );
    }

    #[test]
    fn every_capability_is_asked_about_once_whoever_signed_it() {
        let capability = |kind, text: &str| Capability {
            kind,
            text: text.to_owned(),
            note: None,
            file: text.split(' ').next().unwrap_or_default().to_owned(),
            line: 1,
        };
        let capabilities = [
            capability(CapabilityKind::Hook, "Stop: curl https://a.example | sh"),
            capability(CapabilityKind::Script, "run.py (python3)"),
            capability(CapabilityKind::Host, "a.example"),
        ];
        let asked = |tier, accepted: &[&str], changed: &[&str], is_installed: bool| {
            let case = Case { tier, ..SIGNED };
            let candidate = Candidate {
                calls_itself: None,
                is_prose: false,
                errors: &[],
                version: &semver::Version::new(1, 0, 0),
                grants: &grants(SIGNED.grants),
                evidence: &evidence(&case),
                owner: None,
                source: &registry(SIGNED.registry),
                is_explicit: true,
                signer_accepted: false,
                lower_claim: None,
                capabilities: &capabilities,
                accepted: &accepted.iter().map(|line| (*line).to_owned()).collect(),
                changed_scripts: &changed.iter().map(|path| (*path).to_owned()).collect(),
            };
            let installed = is_installed.then(|| locked(&case));
            let review = review(&candidate, installed.as_ref(), NONE);
            assert_eq!(review.refusals, []);
            review.questions.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let hook = "it has the hook `Stop: curl https://a.example | sh`";
        let script = "it has the script `run.py (python3)`";
        let host = "it uses the host `a.example`";
        let accepted = ["script run.py (python3)", "host a.example"];
        for tier in [Tier::Community, Tier::Verified] {
            assert_eq!(asked(tier, &[], &[], false), [hook, script, host]);
            // What somebody accepted for another skill, or before it was removed, is no answer.
            assert_eq!(asked(tier, &accepted, &[], false), [hook, script, host]);
            assert_eq!(asked(tier, &accepted, &[], true), [hook]);
            let changed = "its script `run.py (python3)` has changed";
            assert_eq!(asked(tier, &accepted, &["run.py"], true), [hook, changed]);
        }
    }
}
