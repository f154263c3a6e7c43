//! The three decisions, and the only two ways to an [`Allowed`].

use std::fmt;

use prowess_format::permission::Domain;
use prowess_format::text::{visible, visible_line};

use crate::approval::{Approval, ApprovalChange, Digest, ProgramPin, Project};
use crate::binaries::RefusedCommand;
use crate::grant::{Grant, GrantSource};
use crate::grants::RefusedGrant;
use crate::mode::Mode;
use crate::request::{RunFolders, RunRequest};
use crate::spec::SandboxSpec;
use crate::trust::{Tier, Trust};

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Allow(Allowed),
    /// The user is asked.
    Ask(ApprovalQuestion),
    /// It does not run.
    Deny(Denied),
}

/// The facts of a decision. Each decision has them, so that it can be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) request: RunRequest,
    pub(crate) trust: Trust,
    pub(crate) tier: Tier,
    pub(crate) mode: Mode,
    /// The tool's grants, narrowed by the tier.
    pub(crate) grants: Vec<Grant>,
    /// The grants of all tools, narrowed by the tier: what an approval of the whole skill is about.
    pub(crate) skill_grants: Vec<Grant>,
    /// The requested grants that are not available on this machine.
    pub(crate) unavailable: Vec<UnavailableGrant>,
    pub(crate) spec: SandboxSpec,
}

/// A requested grant that this machine provides only for reading, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnavailableGrant {
    /// The grant as requested.
    pub(crate) grant: Grant,
    /// The reason.
    pub(crate) why: String,
    /// Whether it is available for reading.
    pub(crate) is_read: bool,
}

/// Formats what the tool does not get, as the rest of a sentence about it.
impl fmt::Display for UnavailableGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grant = self.grant.to_string();
        let access =
            if self.is_read { "gets only read access from" } else { "gets no access from" };
        write!(f, "{access} `{}`: {}", visible(&grant), visible_line(&self.why))
    }
}

/// A request that may run once.
///
/// Starting a process requires one, and only [`decide`](crate::decide) and the approval of an
/// [`ApprovalQuestion`] create one. It can't be cloned: an approval of one run does not cover a
/// second one.
#[derive(Debug, PartialEq, Eq)]
pub struct Allowed {
    pub(crate) case: Box<Case>,
    pub(crate) approval: Option<Approval>,
    pub(crate) by: AllowReason,
}

/// Why it may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllowReason {
    NothingToAsk,
    Approved { at: u64 },
    Answered,
    InAdvance,
}

/// A request that the user has to answer.
#[derive(Debug, PartialEq, Eq)]
pub struct ApprovalQuestion {
    pub(crate) case: Box<Case>,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) changed: Option<ApprovalChange>,
}

/// A request that does not run.
#[derive(Debug, PartialEq, Eq)]
pub struct Denied {
    pub(crate) case: Box<Case>,
    pub(crate) reasons: Vec<Denial>,
}

/// How often a reason asks the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frequency {
    /// Before every run, whatever was approved.
    EveryRun,
    /// Until the user has approved it.
    UntilApproved,
}

/// Why the user is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The kind of reason.
    pub kind: ReasonKind,
    /// The grant in question, if it is about one.
    pub grant: Option<Grant>,
    /// How often it asks.
    pub frequency: Frequency,
    /// Whether `--yes` may answer it.
    pub in_advance: bool,
}

impl Reason {
    /// Whether it only says that a grant needs consent, which a question about all grants says too.
    pub(crate) fn is_plain_consent(&self) -> bool {
        let is_limited = |grant: &Grant| grant.domain() != Domain::Desktop && !grant.is_unscoped();
        self.kind == ReasonKind::Permission
            && self.frequency == Frequency::UntilApproved
            && self.grant.as_ref().is_some_and(is_limited)
    }
}

/// The kind of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReasonKind {
    /// Downloaded and not signed (GIB §6.2, R32).
    UnsignedDownload,
    /// The author requires a confirmation (GIB §2.2).
    AlwaysAsk,
    /// It was not approved yet (GIB §6.3, R32).
    FirstUse,
    /// The table of permissions and tiers requires a prompt (GAIA §3.3, R47).
    Permission,
    /// `network: true` (R53).
    NetworkFlag,
    /// A variable that looks like a secret (R31).
    SecretVariable,
    /// A location where keys are stored.
    SecretFiles,
    /// A hook has asked for it, after the run was allowed.
    Hook,
}

/// Why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The skill is not available in this mode (GIB §7.2).
    Mode {
        /// The modes in which it is available.
        declared: Vec<String>,
        /// The active mode.
        active: Mode,
    },
    /// It requests something that can't be granted.
    Refused(RefusedGrant),
    /// It starts a program although it declares not to.
    ProgramNotGranted(String),
    /// It requests access to this machine or its local network, which can't be granted (attack
    /// sandbox-C12).
    OwnMachine(Grant),
    /// Its command line is in the table of refused commands (GAIX-25).
    Command(RefusedCommand),
    /// The user grants something that no tool gets on this machine.
    Unavailable {
        /// The grant.
        grant: Grant,
        /// Why it is not available.
        why: String,
    },
}

/// How long an approval is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remember {
    /// For this run.
    Once,
    /// For this tool, until something changes.
    Tool,
    /// For every tool of the skill, until something changes.
    Skill,
}

/// A person's approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// How long it is valid.
    pub remember: Remember,
    /// When it was given, in seconds since 1970.
    pub at: u64,
}

impl Allowed {
    /// What the run may access.
    pub fn spec(&self) -> &SandboxSpec {
        &self.case.spec
    }

    /// The skill's name.
    pub fn skill(&self) -> &str {
        &self.case.request.skill
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.case.request.tool
    }

    /// The digest of the files that the decision is about: no others may run (attack sandbox-G07).
    pub fn digest(&self) -> &Digest {
        &self.case.request.digest
    }

    /// The program images that the decision is about.
    pub fn pins(&self) -> &[ProgramPin] {
        &self.case.request.pins
    }

    /// The active mode.
    pub fn mode(&self) -> Mode {
        self.case.mode
    }

    /// The grants of the spec.
    pub fn grants(&self) -> &[Grant] {
        &self.case.grants
    }

    /// The requested grants that are not available on this machine, each as the rest of a sentence
    /// about the tool.
    pub fn unavailable_grants(&self) -> impl Iterator<Item = String> {
        self.case.unavailable.iter().map(ToString::to_string)
    }

    /// Makes a question of it again, because a hook wants a person to confirm this one run. Nobody can do so in advance,
    /// or once for all.
    #[must_use]
    pub fn ask_again(self) -> ApprovalQuestion {
        let reason = Reason {
            kind: ReasonKind::Hook,
            grant: None,
            frequency: Frequency::EveryRun,
            in_advance: false,
        };
        ApprovalQuestion { case: self.case, reasons: vec![reason], changed: None }
    }

    /// The approval to remember, if the user chose that.
    pub fn approval(&self) -> Option<&Approval> {
        self.approval.as_ref()
    }
}

impl ApprovalQuestion {
    /// Why the user is asked.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// What has changed since an earlier approval, if there was one.
    pub fn changed(&self) -> Option<&ApprovalChange> {
        self.changed.as_ref()
    }

    /// Whether the question comes with a warning banner (GIB §6.2).
    pub fn has_banner(&self) -> bool {
        self.reasons.iter().any(|reason| reason.kind == ReasonKind::UnsignedDownload)
    }

    /// Whether `--yes` may answer it.
    pub fn allows_in_advance(&self) -> bool {
        self.reasons.iter().all(|reason| reason.in_advance)
    }

    /// Whether an answer can be remembered: not if a reason asks every time.
    pub fn can_be_remembered(&self) -> bool {
        self.reasons.iter().all(|reason| reason.frequency == Frequency::UntilApproved)
    }

    /// The skill's name.
    pub fn skill(&self) -> &str {
        &self.case.request.skill
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.case.request.tool
    }

    /// The skill's folder and its working directory.
    pub fn folders(&self) -> Option<&RunFolders> {
        self.case.request.folders.as_ref()
    }

    /// Why the user is asked, one clause each: what has changed, or that it was never approved, and
    /// the rest.
    pub fn clauses(&self) -> Vec<String> {
        let changed = self.changed.iter().map(ToString::to_string);
        changed.chain(self.shown_reasons().map(ToString::to_string)).collect()
    }

    /// The reasons to show. "Not approved yet" is omitted if it was approved before.
    pub(crate) fn shown_reasons(&self) -> impl Iterator<Item = &Reason> {
        let was_approved = self.changed.is_some();
        self.reasons
            .iter()
            .filter(move |reason| reason.kind != ReasonKind::FirstUse || !was_approved)
    }

    /// What would be granted for this tool.
    pub fn grants(&self) -> &[Grant] {
        &self.case.grants
    }

    /// What would be granted if the whole skill were approved.
    pub fn skill_grants(&self) -> &[Grant] {
        &self.case.skill_grants
    }

    /// What the run could access.
    pub fn spec(&self) -> &SandboxSpec {
        &self.case.spec
    }

    /// Approves the question on behalf of a person.
    pub fn approve(self, answer: ApprovalAnswer) -> Allowed {
        let request = &self.case.request;
        let folders = request.folders.as_ref();
        // What the user grants for one run is no part of what is approved from now on.
        let is_kept =
            |grant: &Grant| request.remembers() || !matches!(grant.source(), GrantSource::User(_));
        let project = |grants: &[Grant]| {
            let kept: Vec<Grant> = grants.iter().filter(|grant| is_kept(grant)).cloned().collect();
            let spec = SandboxSpec::of(&kept, self.case.tier, request.timeout_secs);
            match folders {
                _ if !spec.depends_on_project() => Project::Any,
                Some(folders) => Project::Folder(folders.project.clone()),
                None => Project::Unknown,
            }
        };
        let record = |tool, grants: &[Grant], pins| Approval {
            skill: request.skill.clone(),
            skill_folder: folders.map(|folders| folders.skill.clone()),
            project: project(grants),
            digest: request.digest.clone(),
            files: request.files.clone(),
            tool,
            grants: texts(grants.iter().filter(|grant| is_kept(grant))),
            pins,
            given_at: answer.at,
        };
        let own_pins = || {
            let is_kept =
                |pin: &&ProgramPin| request.remembers() || !request.user_pins.contains(pin);
            request.pins.iter().filter(is_kept).cloned().collect::<Vec<_>>()
        };
        let approval = match answer.remember {
            Remember::Once => None,
            Remember::Tool => {
                let tool = Some(request.tool.clone());
                Some(record(tool, &self.case.grants, own_pins()))
            }
            Remember::Skill => {
                let mut pins = own_pins();
                let more = request.skill_pins.iter().filter(|pin| !request.pins.contains(pin));
                pins.extend(more.cloned());
                Some(record(None, &self.case.skill_grants, pins))
            }
        };
        Allowed { case: self.case, approval, by: AllowReason::Answered }
    }

    /// Approves the question by `--yes`. Returns the question if `--yes` must not answer it.
    pub fn approve_in_advance(self) -> Result<Allowed, Box<ApprovalQuestion>> {
        if !self.allows_in_advance() {
            return Err(Box::new(self));
        }
        Ok(Allowed { case: self.case, approval: None, by: AllowReason::InAdvance })
    }
}

impl Denied {
    /// The reasons for the denial.
    pub fn reasons(&self) -> &[Denial] {
        &self.reasons
    }

    /// The skill's name.
    pub fn skill(&self) -> &str {
        &self.case.request.skill
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.case.request.tool
    }
}

impl Decision {
    /// What the run could access, if it were allowed.
    pub fn spec(&self) -> &SandboxSpec {
        &self.case().spec
    }

    /// The grants, narrowed by the tier.
    pub fn grants(&self) -> &[Grant] {
        &self.case().grants
    }

    pub(crate) fn case(&self) -> &Case {
        match self {
            Decision::Allow(allowed) => &allowed.case,
            Decision::Ask(question) => &question.case,
            Decision::Deny(denied) => &denied.case,
        }
    }
}

/// Grants as text without duplicates: several tools, or a tool and its command, may request the
/// same.
fn texts<'g>(grants: impl Iterator<Item = &'g Grant>) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for grant in grants.map(ToString::to_string) {
        if !texts.contains(&grant) {
            texts.push(grant);
        }
    }
    texts
}

/// A clause that completes "asks, because …".
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grant = self.grant.as_ref().map(ToString::to_string).unwrap_or_default();
        let grant = visible(&grant);
        match self.kind {
            ReasonKind::UnsignedDownload => f.write_str("it was downloaded and is not signed"),
            ReasonKind::AlwaysAsk => {
                f.write_str("its author requires a confirmation for every run")
            }
            ReasonKind::FirstUse => f.write_str("you have not approved it yet"),
            ReasonKind::NetworkFlag => f.write_str("it requests the network without naming hosts"),
            ReasonKind::SecretVariable => write!(f, "`{grant}` gives it a secret"),
            ReasonKind::Hook => f.write_str("a hook asks for your confirmation"),
            ReasonKind::SecretFiles => {
                write!(f, "`{grant}` gives access to a location where keys are stored")
            }
            ReasonKind::Permission => {
                let grant_words = match self.grant.as_ref().map(|grant| (grant.domain(), grant)) {
                    Some((Domain::Desktop, _)) => "lets it use mouse, keyboard and screen as you",
                    Some((_, grant)) if grant.is_unscoped() => "has no limits of its own",
                    _ => "needs your consent",
                };
                write!(f, "`{grant}` {grant_words}")
            }
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denial::Mode { declared, active } => {
                let declared = declared.join(", ");
                write!(
                    f,
                    "it is only available in {}, and the mode is {active}",
                    visible(&declared)
                )
            }
            Denial::Refused(refusal) => write!(f, "{refusal}"),
            Denial::ProgramNotGranted(program) => {
                write!(f, "it starts `{}`, although it declares that it does not", visible(program))
            }
            Denial::Command(refused) => {
                write!(f, "it starts {}", visible_line(&refused.to_string()))
            }
            Denial::OwnMachine(grant) => {
                let grant = grant.to_string();
                write!(
                    f,
                    "`{}` is your own machine or network, which can't be granted",
                    visible(&grant)
                )
            }
            Denial::Unavailable { grant, why } => {
                let grant = grant.to_string();
                write!(f, "`{}` can't be granted: {}", visible(&grant), visible_line(why))
            }
        }
    }
}
