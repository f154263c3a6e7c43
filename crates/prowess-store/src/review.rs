//! Reviews a skill before it is installed or updated: refusals, questions, warnings. Pure: all inputs are passed in.

use std::collections::BTreeSet;
use std::fmt;

use prowess_core::Remedy;
use prowess_format::skill::Skill;
use prowess_policy::{Grant, GrantSet, GrantSource, Origin, Tier, Trust, matrix};
use prowess_trust::{Evidence, EvidenceChange};

use crate::capabilities::{Capability, CapabilityKind};
use crate::lock::LockEntry;
use crate::source::Pinned;
use crate::store::Occupant;
use crate::suspicion::{AllowedRules, Suspicion, Suspicions};

/// A skill to review before its installation.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// Its declared name, if the user gave it another one.
    pub calls_itself: Option<&'a str>,
    /// Whether it has no front matter although the installed version has one.
    pub is_prose: bool,
    /// The errors in its `SKILL.md`, unless the installed version has errors too.
    pub errors: &'a [String],
    /// Its version.
    pub version: &'a semver::Version,
    /// The permissions that it requests.
    pub grants: &'a GrantSet,
    /// Its effective tier (R19) and its signers.
    pub evidence: &'a Evidence,
    /// The owner according to the registry.
    pub owner: Option<&'a str>,
    /// Its source.
    pub source: &'a Pinned,
    /// Whether the user requested it by name; otherwise it is a dependency.
    pub is_explicit: bool,
    /// Whether the user has accepted one of its signers for this skill, although an earlier version had another
    /// signer.
    pub signer_accepted: bool,
    /// Its claimed tier, if it is lower than what its signatures prove.
    pub lower_claim: Option<LowerClaim>,
    /// What it can make an agent do.
    pub capabilities: &'a [Capability],
    /// The lines of capabilities that the user has approved for the installed version.
    pub accepted: &'a BTreeSet<String>,
    /// The scripts of the installed version whose content has changed.
    pub changed_scripts: &'a BTreeSet<String>,
    /// What the scanner says about it.
    pub suspicions: &'a Suspicions,
}

/// A tier claimed by a skill that is lower than what its signatures prove. The lower one is effective (R19), which is
/// unexpected for a user who has just trusted the signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowerClaim {
    /// The claimed tier.
    pub claimed: Tier,
    /// The tier that its signatures prove.
    pub proved: Tier,
    /// The line of its `SKILL.md` with the claim.
    pub line: usize,
}

impl LowerClaim {
    /// Compares the claimed tier with the proved one. `manifest` is the `SKILL.md`.
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
            "its signatures prove {proved}, but it declares itself {claimed} (line {line} of its SKILL.md)"
        )
    }
}

/// The user's permissions in advance, one per command line option.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InstallPermissions {
    /// `--allow-experimental` (GAIA §4.3).
    pub experimental: bool,
    /// `--allow-unsigned` (attack registry-C3).
    pub unsigned: bool,
    /// `--replace-owner` (attack registry-A8).
    pub replace_owner: bool,
    /// `--allow-blocked`, by the names of rules.
    pub blocked: AllowedRules,
}

/// The result of a review.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Review {
    /// Reasons to refuse the installation, which no confirmation can override.
    pub refusals: Vec<InstallRefusal>,
    /// Questions that the user must confirm.
    pub questions: Vec<InstallQuestion>,
}

/// A reason to refuse the installation of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallRefusal {
    /// No trusted signer, and experimental skills are not allowed (GAIA §4.3).
    Experimental,
    /// It has a trusted signer but claims to be experimental; the lower tier is effective (R19).
    CallsItselfExperimental(LowerClaim),
    /// It is experimental and a dependency (GAIA §4.3): it must be requested by name.
    ExperimentalDependency,
    /// It lost its signature (attack registry-C3) or has another signer (attack registry-C4).
    Signature(EvidenceChange),
    /// Its owner has changed (attacks registry-A5, registry-A8).
    OtherOwner {
        /// The owner of the installed version.
        was: String,
        /// The owner of this version.
        now: String,
    },
    /// Its registry, repository or domain has changed (attack registry-A9).
    OtherPlace {
        /// The source of the installed version.
        was: String,
        /// The source of this version.
        now: String,
    },
    /// Its path is occupied by other content that was not installed. It may be the user's own.
    Occupied(Occupant),
    /// The scanner found it to be malicious (attack registry-E1).
    Blocked(Suspicion),
    /// It requests a permission that can't be granted by any user or tier.
    Ungrantable(String),
    /// It is signed, but the user gave it another name. A signature covers the name as well (R49).
    SignedAsOther {
        /// The declared name.
        own: String,
    },
}

/// A question that the user must confirm before the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallQuestion {
    /// Its `SKILL.md` has no front matter (R8).
    NoFrontMatter,
    /// Its `SKILL.md` has errors.
    Errors {
        /// The message of the first error.
        first: String,
        /// The number of errors.
        count: usize,
        /// The folder for `prowess check`, if it is local.
        folder: Option<String>,
    },
    /// The scanner found something that the user must look at.
    Suspicious(Suspicion),
    /// It requests a dangerous permission (GAIA §4.2).
    Dangerous(String),
    /// It requests a permission that the installed version doesn't (attack registry-C23).
    Wider(String),
    /// It has a capability that the user hasn't approved yet. A signature proves who wrote it, but not what it does.
    Capability(Capability),
    /// An approved script has changed.
    ChangedScript(Capability),
    /// Its signatures prove a lower tier than before, or a higher one, which removes questions.
    Tier(EvidenceChange),
    /// It is older than the installed version.
    Older {
        /// The installed version.
        was: semver::Version,
    },
    /// Another tool has recorded a different hash for its files.
    OtherHash {
        /// The tool.
        tool: String,
        /// The recorded hash.
        was: String,
        /// The hash of the current files.
        now: String,
    },
}

/// Reviews a candidate, compared with the installed version.
pub fn review(
    candidate: &Candidate<'_>,
    installed: Option<&LockEntry>,
    permissions: InstallPermissions,
) -> Review {
    let mut review = Review::default();
    if candidate.evidence.tier == Tier::Experimental && !is_known_experimental(candidate, installed)
    {
        if !candidate.is_explicit {
            review.refusals.push(InstallRefusal::ExperimentalDependency);
        } else if !permissions.experimental {
            review.refusals.push(match &candidate.lower_claim {
                Some(lower_claim) => InstallRefusal::CallsItselfExperimental(lower_claim.clone()),
                None => InstallRefusal::Experimental,
            });
        }
    }
    if let Some(own) = candidate.calls_itself
        && !candidate.evidence.signers.is_empty()
    {
        review.refusals.push(InstallRefusal::SignedAsOther { own: own.to_owned() });
    }
    if candidate.is_prose {
        review.questions.push(InstallQuestion::NoFrontMatter);
    }
    if let Some(first) = candidate.errors.first() {
        let folder = match candidate.source {
            Pinned::Folder { path } => Some(path.clone()),
            _ => None,
        };
        let count = candidate.errors.len();
        review.questions.push(InstallQuestion::Errors { first: first.clone(), count, folder });
    }
    for found in &candidate.suspicions.blocking {
        if permissions.blocked.contains(found.rule) {
            review.questions.push(InstallQuestion::Suspicious(found.clone()));
        } else {
            review.refusals.push(InstallRefusal::Blocked(found.clone()));
        }
    }
    let suspicious = candidate.suspicions.suspicious.iter().cloned();
    review.questions.extend(suspicious.map(InstallQuestion::Suspicious));
    for refusal in candidate.grants.refusals() {
        review.refusals.push(InstallRefusal::Ungrantable(refusal.to_string()));
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
            review.questions.push(InstallQuestion::Wider(text));
        } else if candidate.evidence.tier < Tier::Verified
            && matrix::asks(grant, candidate.evidence.tier)
        {
            review.questions.push(InstallQuestion::Dangerous(text));
        }
    }
    review.questions.extend(capability_questions(candidate, installed.is_some()));
    review
}

/// A question for every capability that hasn't been approved, whatever the tier: a signature proves who wrote the
/// skill, not what it does.
fn capability_questions(candidate: &Candidate<'_>, is_installed: bool) -> Vec<InstallQuestion> {
    let mut questions = Vec::new();
    for capability in candidate.capabilities {
        let is_accepted = is_installed && candidate.accepted.contains(&capability.to_string());
        if !is_accepted {
            questions.push(InstallQuestion::Capability(capability.clone()));
        } else if capability.kind == CapabilityKind::Script
            && candidate.changed_scripts.contains(&capability.file)
        {
            questions.push(InstallQuestion::ChangedScript(capability.clone()));
        }
    }
    questions
}

/// The permissions granted to the installed version. An invalid one covers nothing.
fn granted_before(installed: &LockEntry) -> GrantSet {
    let read = |text: &String| Grant::parse(text, &GrantSource::Declared(text.clone())).ok();
    GrantSet::new(installed.permissions.iter().filter_map(read).flatten().collect())
}

/// Whether the installed version is experimental too: the user has agreed to that once, and an update doesn't change
/// it.
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
            EvidenceChange::SignatureLost { .. } => permissions.unsigned,
            EvidenceChange::SignerChanged { .. } => candidate.signer_accepted,
            EvidenceChange::TierChanged { .. } => {
                review.questions.push(InstallQuestion::Tier(change));
                continue;
            }
            EvidenceChange::SchemeChanged { .. } => true,
        };
        if !is_allowed {
            review.refusals.push(InstallRefusal::Signature(change));
        }
    }
    if !permissions.replace_owner {
        if let (Some(was), Some(now)) = (installed.owner.as_deref(), candidate.owner)
            && was != now
        {
            review
                .refusals
                .push(InstallRefusal::OtherOwner { was: was.to_owned(), now: now.to_owned() });
        }
        if let Some(was) = &installed.source
            && !same_place(was, candidate.source)
        {
            review.refusals.push(InstallRefusal::OtherPlace {
                was: was.in_words(),
                now: candidate.source.in_words(),
            });
        }
    }
    if *candidate.version < installed.version {
        review.questions.push(InstallQuestion::Older { was: installed.version.clone() });
    }
}

/// Whether two sources are under the same control: the same registry and namespace, the same repository, the same
/// domain. Local folders are under the user's control, even if they are moved, and so are local archives, whose names
/// change with each version. But a folder that the user works in and an archive from someone else are different
/// sources.
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
        (Pinned::Mcp { server, .. }, Pinned::Mcp { server: other_server, .. }) => {
            server == other_server
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
            | Pinned::Registry { .. }
            | Pinned::Mcp { .. },
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

    /// Whether a question is about what the skill can make an agent do.
    pub fn asks_about_capabilities(&self) -> bool {
        let is_capability = |question: &InstallQuestion| {
            matches!(question, InstallQuestion::Capability(_) | InstallQuestion::ChangedScript(_))
        };
        self.questions.iter().any(is_capability)
    }

    /// Whether nothing is refused and no confirmation is needed.
    pub fn is_clear(&self) -> bool {
        self.refusals.is_empty() && self.questions.is_empty()
    }
}

impl InstallRefusal {
    /// Suggested remedies.
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
            Self::Signature(EvidenceChange::SignatureLost { .. }) => {
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
            Self::Blocked(found) => vec![
                advice("do not install it, and tell whoever publishes it"),
                Remedy::Advice(format!(
                    "if you have read it and know better, allow the rule `{}` by name",
                    found.rule
                )),
            ],
            Self::Ungrantable(_) => vec![advice("its author must write it differently")],
            Self::SignedAsOther { .. } => {
                vec![advice("ask its author for a version that is signed under a valid name")]
            }
        }
    }
}

impl fmt::Display for InstallRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Experimental => formatter.write_str("it is experimental: no one you trust has signed it"),
            Self::CallsItselfExperimental(LowerClaim { line, .. }) => write!(
                formatter,
                "it is signed by someone you trust, but declares itself experimental (line {line} of its SKILL.md)"
            ),
            Self::ExperimentalDependency => formatter.write_str(
                "it is a dependency, and experimental skills are only installed when requested by name",
            ),
            Self::Signature(change) => change.fmt(formatter),
            Self::OtherOwner { was, now } => write!(formatter, "its owner was `{was}` and is now `{now}`"),
            Self::OtherPlace { was, now } => {
                write!(formatter, "it was installed from {was}, but this one is from {now}")
            }
            Self::Occupied(occupant) => write!(
                formatter,
                "its path is occupied by {occupant}, and the lock file does not list it"
            ),
            Self::Blocked(found) => write!(formatter, "it is blocked: it {found}"),
            Self::Ungrantable(what) => formatter.write_str(what),
            Self::SignedAsOther { own } => {
                write!(formatter, "it is signed as `{own}`, and the signature is only valid for that name")
            }
        }
    }
}

impl fmt::Display for InstallQuestion {
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
            Self::Suspicious(found) => write!(formatter, "look at this: it {found}"),
            Self::Dangerous(grant) => write!(formatter, "it requests `{grant}`"),
            Self::Wider(grant) => write!(formatter, "it also requests `{grant}`"),
            Self::Capability(Capability { kind, text, .. }) => match kind {
                CapabilityKind::Tool => write!(formatter, "it pre-approves the tool `{text}`"),
                CapabilityKind::Hook => write!(formatter, "it has the hook `{text}`"),
                CapabilityKind::Command => {
                    write!(formatter, "loading it runs `{text}`")
                }
                CapabilityKind::Recipe => {
                    write!(formatter, "it installs something with `{text}`")
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
                "its files differ from those that {tool} installed: their hash is {now}, but was {was}"
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

    /// A skill as a review sees it.
    struct Case {
        version: &'static str,
        grants: &'static [&'static str],
        tier: Tier,
        signer: Option<&'static str>,
        owner: &'static str,
        registry: &'static str,
        explicit: bool,
        /// Whether it claims to be experimental although a trusted signer has signed it.
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
            suspicions: &Suspicions::default(),
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
            suspicions: &Suspicions::default(),
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
            Some("it was installed from the folder /a/x, but this one is from the file /x.tar.gz"),
        );
        check_place(
            folder("/a/x"),
            &git("file:///r"),
            Some(
                "it was installed from the folder /a/x, but this one is from the repository file:///r#012345678901",
            ),
        );
        check_place(
            file("/x.tar.gz"),
            &folder("/a/x"),
            Some("it was installed from the file /x.tar.gz, but this one is from the folder /a/x"),
        );
        // The same URL twice: once given directly, once through the index of a domain.
        let address = "https://host.example/x.tar.gz";
        check_place(
            domain(address),
            &file(address),
            Some(
                "it was installed from the domain https://host.example, but this one is from the file https://host.example/x.tar.gz",
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
                suspicions: &Suspicions::default(),
            };
            review(&candidate, None, InstallPermissions { experimental: true, ..NONE }).refusals
        };
        assert_eq!(candidate(&SIGNED), [InstallRefusal::SignedAsOther { own: "The X".to_owned() }]);
        assert_eq!(candidate(&UNSIGNED), []);
    }

    const NONE: InstallPermissions = InstallPermissions {
        experimental: false,
        unsigned: false,
        replace_owner: false,
        blocked: AllowedRules::NONE,
    };

    #[test]
    fn nobody_vouches_for_an_experimental_skill() {
        // GAIA-4.3-1, 4.3-2; GAIX-4; attack registry-C19.
        let experimental = "refused: it is experimental: no one you trust has signed it";
        check(&UNSIGNED, None, NONE, &[experimental]);
        check(&UNSIGNED, None, InstallPermissions { experimental: true, ..NONE }, &[]);
        // The user has already agreed to that.
        check(&UNSIGNED, Some(&UNSIGNED), NONE, &[]);
        let dependency = Case { explicit: false, ..UNSIGNED };
        let refused = "refused: it is a dependency, and experimental skills are only installed when requested by name";
        check(&dependency, None, InstallPermissions { experimental: true, ..NONE }, &[refused]);
    }

    #[test]
    fn a_trusted_signer_does_not_make_up_for_a_modest_claim() {
        // R19: the lower of the claimed and the proved tier is effective, and the message says which one that was.
        let modest = Case { tier: Tier::Experimental, lower_claim: true, ..SIGNED };
        let refused = "refused: it is signed by someone you trust, but declares itself experimental (line 4 of its SKILL.md)";
        check(&modest, None, NONE, &[refused]);
        check(&modest, None, InstallPermissions { experimental: true, ..NONE }, &[]);
    }

    #[test]
    fn dangerous_permissions_ask() {
        // GAIA-4.2-2; GAIA-4.1-1: a verified one asks nothing.
        const DANGEROUS: &[&str] = &["shell:execute:git", "desktop:control", "database:write:x"];
        let asked = [
            "asks: it requests `shell:execute:git`",
            "asks: it requests `desktop:control`",
            "asks: it requests `database:write:x`",
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
        let experimental = "refused: it is experimental: no one you trust has signed it";
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
            InstallPermissions { unsigned: true, experimental: true, replace_owner: true, ..NONE },
            &["refused: it was signed by the key `k1` and is now signed by the key `k2`"],
        );
        check(
            &Case { owner: "u-2", ..SIGNED },
            Some(&SIGNED),
            InstallPermissions { unsigned: true, experimental: true, ..NONE },
            &["refused: its owner was `u-1` and is now `u-2`"],
        );
        check(
            &Case { registry: "https://two.example", ..SIGNED },
            Some(&SIGNED),
            NONE,
            &[
                "refused: it was installed from the registry https://one.example (acme), but this one is from the registry https://two.example (acme)",
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
                suspicions: &Suspicions::default(),
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
            // An approval of another skill, or from before it was removed, doesn't count.
            assert_eq!(asked(tier, &accepted, &[], false), [hook, script, host]);
            assert_eq!(asked(tier, &accepted, &[], true), [hook]);
            let changed = "its script `run.py (python3)` has changed";
            assert_eq!(asked(tier, &accepted, &["run.py"], true), [hook, changed]);
        }
    }
}
