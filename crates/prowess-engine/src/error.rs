//! Why a tool did not start. Nothing was executed in any of these cases.

use std::path::PathBuf;

use prowess_format::eligibility::MissingRequirement;
use prowess_policy::{Denial, Denied};

use crate::approvals::ApprovalStoreError;
use crate::credentials::CredentialError;
use crate::digest::SkillDigestError;
use crate::inputs::{self, ToolInputError};
use crate::lower::FileError;
use crate::programs::ProgramLookupError;
use crate::staging::StagingError;
use crate::tool::openclaw::HandlerError;
use crate::tool::python::LoadError;
use prowess_core::{
    Envelope, NOT_EXECUTABLE, NOT_FOUND, Problem, ProblemKind, REFUSED, Remedy, RunOutcome,
};

/// The code of wrong arguments.
pub(crate) const USAGE: i32 = 2;

/// A run that did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Values are missing or wrong.
    #[error("{}: {}", .tool, joined(.errors))]
    Inputs {
        /// The tool.
        tool: String,
        /// Everything that is wrong.
        errors: Vec<ToolInputError>,
    },
    /// The machine lacks what the skill needs (SRT §4.6).
    #[error("`{skill}` can't run here: {}", joined(.missing))]
    Requirements {
        /// The skill.
        skill: String,
        /// Everything that is missing.
        missing: Vec<MissingRequirement>,
    },
    /// A program is not there, or can't be executed.
    #[error(transparent)]
    Program(#[from] ProgramLookupError),
    /// The skill's digest can't be computed.
    #[error("can't compute the skill's digest: {0}")]
    Digest(#[from] SkillDigestError),
    /// The skill's folder holds what no tool may see, and a tool sees all of its skill's folder.
    #[error(
        "the skill's folder `{}` contains `{}`, which no tool may access", .folder.display(), .place.display()
    )]
    SkillFolder {
        /// The folder.
        folder: PathBuf,
        /// What is in it.
        place: PathBuf,
    },
    /// The skill is written in a way that can't be run.
    #[error("{0}")]
    Unsupported(String),
    /// A grant for a database behind a server: nothing here can tell reading from changing, or one database from another
    /// (attack sandbox-G02).
    #[error(
        "`{skill}` requests the database `{database}`, which can't be enforced: a sandbox sees connections, not statements"
    )]
    Database {
        /// The skill.
        skill: String,
        /// The database.
        database: String,
    },
    /// A handler can't be started as it is declared.
    #[error(transparent)]
    Handler(#[from] HandlerError),
    /// Another skill that it needs is not there (SRT §4.6).
    #[error("`{skill}` can't run here: {reason}")]
    Dependency {
        /// The skill.
        skill: String,
        /// What is missing.
        reason: String,
    },
    /// A skill with Python tools can't be loaded.
    #[error(transparent)]
    Load(Box<LoadError>),
    /// A quiz withholds the skill, or whether it is passed can't be found out.
    #[error("{0}")]
    Quiz(Box<Problem>),
    /// The policy says no.
    #[error("`{}/{}` does not run: {}", .0.skill(), .0.tool(), joined(.0.reasons()))]
    Denied(Box<Denied>),
    /// A question, and nobody to answer it.
    #[error("`{name}` needs your approval: {}", .reasons.join("; "))]
    NobodyToAsk {
        /// Skill and tool.
        name: String,
        /// Why it asks.
        reasons: Vec<String>,
        /// Whether an approval in advance would answer it.
        in_advance: bool,
    },
    /// The user said no.
    #[error("`{0}` was not approved")]
    Declined(String),
    /// The question waited too long for its answer.
    #[error("the approval request for `{0}` has expired: nothing was run")]
    Expired(String),
    /// Something else is there than what was decided about (attack sandbox-G07).
    #[error("{0} changed while it was being approved: nothing was run")]
    Changed(&'static str),
    /// A hook says no, or could not be asked.
    #[error("`{name}` was not run: {reason}")]
    HookDenied {
        /// Skill and tool.
        name: String,
        /// Which hook, and its reason, in one line.
        reason: String,
        /// Whether the hook itself did not work.
        is_fault: bool,
    },
    /// It was cancelled while its hooks ran.
    #[error("the run was cancelled before it started")]
    Cancelled {
        /// The exit code.
        code: i32,
    },
    /// A hook puts the call off.
    #[error("`{name}` was not run: {hook} puts it off")]
    HookDeferred {
        /// Skill and tool.
        name: String,
        /// Which hook.
        hook: String,
    },
    /// The approvals can't be used.
    #[error(transparent)]
    Store(#[from] ApprovalStoreError),
    /// Files can't be opened to the tool as granted.
    #[error(transparent)]
    Files(#[from] FileError),
    /// The walls can't be built.
    #[error(transparent)]
    Sandbox(#[from] prowess_sandbox::SandboxError),
    /// Writes can't be staged.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// A credential can't be used, or a key not be kept out of the output.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The way out can't be built.
    #[error("{0}")]
    Network(String),
}

impl From<LoadError> for RunError {
    fn from(error: LoadError) -> Self {
        RunError::Load(Box::new(error))
    }
}

impl From<Problem> for RunError {
    /// What a gate answers.
    fn from(problem: Problem) -> Self {
        RunError::Quiz(Box::new(problem))
    }
}

impl RunError {
    /// What it comes to (GIB §9.3).
    pub fn outcome(&self) -> RunOutcome {
        match self {
            RunError::Inputs { errors, .. } if errors.iter().any(ToolInputError::is_missing) => {
                RunOutcome::MissingParameter
            }
            RunError::Inputs { .. } => RunOutcome::InvalidParameter,
            RunError::Cancelled { .. } => RunOutcome::Cancelled,
            RunError::Credential(error) if error.is_usage() => RunOutcome::InvalidParameter,
            RunError::Program(ProgramLookupError::NotFound { .. })
            | RunError::Sandbox(prowess_sandbox::SandboxError::NotFound(_)) => RunOutcome::NotFound,
            RunError::Requirements { missing, .. }
                if missing.iter().any(MissingRequirement::is_for_starting) =>
            {
                RunOutcome::NotFound
            }
            RunError::Program(ProgramLookupError::NotExecutable { .. })
            | RunError::Sandbox(prowess_sandbox::SandboxError::NotExecutable { .. }) => {
                RunOutcome::NotExecutable
            }
            RunError::Requirements { .. }
            | RunError::Digest(_)
            | RunError::SkillFolder { .. }
            | RunError::Unsupported(_)
            | RunError::Database { .. }
            | RunError::Handler(_)
            | RunError::Dependency { .. }
            | RunError::Load(_)
            | RunError::Quiz(_)
            | RunError::Denied(_)
            | RunError::NobodyToAsk { .. }
            | RunError::Declined(_)
            | RunError::Expired(_)
            | RunError::Changed(_)
            | RunError::HookDenied { .. }
            | RunError::HookDeferred { .. }
            | RunError::Store(_)
            | RunError::Files(_)
            | RunError::Sandbox(_)
            | RunError::Staging(_)
            | RunError::Credential(_)
            | RunError::Network(_) => RunOutcome::Refused,
        }
    }

    /// The code for a caller.
    pub fn exit_code(&self) -> i32 {
        if let RunError::Cancelled { code } = self {
            return *code;
        }
        match self.outcome() {
            RunOutcome::MissingParameter | RunOutcome::InvalidParameter => USAGE,
            RunOutcome::NotFound => NOT_FOUND,
            RunOutcome::NotExecutable => NOT_EXECUTABLE,
            _ => REFUSED,
        }
    }

    /// What would help.
    pub fn remedies(&self) -> Vec<Remedy> {
        let advice = |text: &str| vec![Remedy::Advice(text.to_owned())];
        let all = |texts: Vec<String>| texts.into_iter().map(Remedy::Advice).collect();
        match self {
            RunError::Inputs { errors, .. } => {
                inputs::give(errors.iter().filter_map(ToolInputError::parameter))
            }
            RunError::Quiz(problem) => problem.remedies.clone(),
            RunError::Denied(denied) => denied.reasons().iter().map(about_denial).collect(),
            RunError::Requirements { .. } => {
                advice("install or set what is missing; nothing has been started")
            }
            RunError::NobodyToAsk { in_advance: true, .. } => vec![Remedy::Approve],
            RunError::NobodyToAsk { in_advance: false, .. } => vec![Remedy::ApproveInPerson],
            RunError::Sandbox(prowess_sandbox::SandboxError::Unenforceable { remedy, .. }) => {
                vec![Remedy::Advice(remedy.clone()), Remedy::Diagnose]
            }
            RunError::Sandbox(prowess_sandbox::SandboxError::HardLink { .. }) => {
                advice("replace the file with a copy, or grant a folder without it")
            }
            RunError::Database { .. } => all(vec![
                "create a database user with just these rights, and request its server instead: `network:write:HOST`".to_owned(),
                "a database in a file is granted as a file: `filesystem:read:./data.db`".to_owned(),
            ]),
            RunError::Store(error) => advice(error.hint()),
            RunError::SkillFolder { .. } => {
                advice("put the skill into a folder of its own that contains nothing else")
            }
            RunError::Handler(error) => all(vec![error.hint()]),
            RunError::Dependency { .. } => {
                advice("put it next to the skill, in a folder of its name; nothing has been started")
            }
            RunError::Load(error) => error.remedies.clone(),
            RunError::Credential(error) => all(error.hints()),
            RunError::HookDenied { is_fault: true, .. } => vec![Remedy::RelaxHooks],
            RunError::HookDeferred { .. } => {
                advice("run it again when what the hook waits for has happened")
            }
            RunError::Changed(_) | RunError::Expired(_) => advice("run it again"),
            _ => Vec::new(),
        }
    }

    /// The envelope of the run that did not start.
    pub fn envelope(&self) -> Envelope {
        Envelope {
            remedies: self.remedies(),
            ..Envelope::not_started(self.outcome(), self.exit_code(), self.to_string())
        }
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        let (code, kind) = match &error {
            RunError::Inputs { .. } => ("invalid-inputs", ProblemKind::InvalidInput),
            RunError::Requirements { .. } => ("missing-requirements", ProblemKind::Unavailable),
            RunError::Program(_) => ("program-unavailable", ProblemKind::Unavailable),
            RunError::Digest(_) => ("digest-failed", ProblemKind::Failed),
            RunError::SkillFolder { .. } => ("protected-files-in-skill", ProblemKind::Refused),
            RunError::Unsupported(_) => ("unsupported-skill", ProblemKind::InvalidInput),
            RunError::Database { .. } => ("unenforceable-database-grant", ProblemKind::Refused),
            RunError::Handler(_) => ("invalid-handler", ProblemKind::InvalidInput),
            RunError::Dependency { .. } => ("missing-dependency", ProblemKind::NotFound),
            RunError::Load(_) => ("skill-not-loaded", ProblemKind::Failed),
            RunError::Quiz(problem) => (problem.code, problem.kind),
            RunError::Denied(_) => ("denied-by-policy", ProblemKind::Refused),
            RunError::NobodyToAsk { .. } => ("approval-needed", ProblemKind::Refused),
            RunError::Declined(_) => ("not-approved", ProblemKind::Refused),
            RunError::Changed(_) => ("changed-since-decision", ProblemKind::Conflict),
            RunError::Expired(_) => ("question-expired", ProblemKind::Conflict),
            RunError::HookDenied { .. } => ("denied-by-hook", ProblemKind::Refused),
            RunError::Cancelled { .. } => ("cancelled", ProblemKind::Cancelled),
            RunError::HookDeferred { .. } => ("deferred-by-hook", ProblemKind::Refused),
            RunError::Store(_) => ("approvals-unusable", ProblemKind::Failed),
            RunError::Files(_) => ("files-not-grantable", ProblemKind::Refused),
            RunError::Sandbox(_) => ("sandbox-unavailable", ProblemKind::Unavailable),
            RunError::Staging(_) => ("changes-not-held-back", ProblemKind::Unavailable),
            RunError::Credential(_) => ("credential-unusable", ProblemKind::Unauthorized),
            RunError::Network(_) => ("network-unavailable", ProblemKind::Unavailable),
        };
        Problem { code, kind, message: error.to_string(), remedies: error.remedies() }
    }
}

/// What would help against a refusal of the policy.
pub(crate) fn about_denial(denial: &Denial) -> Remedy {
    match denial {
        Denial::Mode { declared, .. } => {
            Remedy::SetMode(declared.first().map_or("Global", String::as_str).to_owned())
        }
        Denial::OwnMachine(_) => Remedy::Advice(
            "the skill must not request it: only servers with public names can be accessed"
                .to_owned(),
        ),
        Denial::Command(refused) => {
            let program = refused.form.split(' ').next().unwrap_or_default();
            Remedy::Advice(format!(
                "run the command yourself, or grant the program by name (`shell:execute:{program}`)"
            ))
        }
        Denial::Unavailable { .. } => {
            Remedy::Advice("run it without that grant; no approval allows this".to_owned())
        }
        Denial::Refused(_) | Denial::ProgramNotGranted(_) => {
            Remedy::Advice("no approval allows this; the skill has to be changed".to_owned())
        }
    }
}

fn joined<T: ToString>(all: &[T]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
