//! Failures that any interface can report: a terminal, a web page, an MCP client.
//!
//! A library reports what went wrong and offers remedies as values. Only an interface knows how its users apply them:
//! the terminal names flags and verbs, a page shows a button, an MCP client gets data.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

/// A failure with its remedies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A stable identifier in kebab case, such as `skill-not-found`. Programs may match on it.
    pub code: &'static str,
    /// The kind of failure, from which interfaces choose exit codes and status codes.
    pub kind: ProblemKind,
    /// The message: a lowercase phrase without a full stop, which names no flag or command of any interface.
    pub message: String,
    /// Remedies, the most likely first.
    pub remedies: Vec<Remedy>,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The request is invalid: a value, a name, a range.
    InvalidInput,
    /// The requested object does not exist.
    NotFound,
    /// The operation is not allowed: by the policy, by the user, or for lack of a signature.
    Refused,
    /// The caller has to identify itself, or a credential is missing or wrong.
    Unauthorized,
    /// The request conflicts with the current state: something exists already, or has changed.
    Conflict,
    /// A limit on the number of requests was reached.
    RateLimited {
        /// When to try again, if known.
        retry_after: Option<Duration>,
    },
    /// Something that is needed does not respond: a server, a network, a program.
    Unavailable,
    /// The operation timed out.
    TimedOut,
    /// The operation was cancelled.
    Cancelled,
    /// Files on disk or a response are damaged.
    Corrupt,
    /// The operation failed for a reason outside Prowess, such as a full disk.
    Failed,
    /// A bug in Prowess.
    Internal,
}

impl ProblemKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ProblemKind::InvalidInput => "invalid_input",
            ProblemKind::NotFound => "not_found",
            ProblemKind::Refused => "refused",
            ProblemKind::Unauthorized => "unauthorized",
            ProblemKind::Conflict => "conflict",
            ProblemKind::RateLimited { .. } => "rate_limited",
            ProblemKind::Unavailable => "unavailable",
            ProblemKind::TimedOut => "timed_out",
            ProblemKind::Cancelled => "cancelled",
            ProblemKind::Corrupt => "corrupt",
            ProblemKind::Failed => "failed",
            ProblemKind::Internal => "internal",
        }
    }
}

/// Declares the remedies: the variant, its name in JSON, and a phrase that fits every interface.
macro_rules! remedies {
    ($($(#[doc = $doc:literal])+ $name:ident $(($field:ident))? = $word:literal, $text:literal;)+) => {
        /// A remedy for a problem. Each interface describes it in its own terms; `Display` uses the terms of none.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Remedy {
            /// Advice that reads the same in every interface: a lowercase phrase that names no flag or command.
            Advice(String),
            $($(#[doc = $doc])+ $name $(( remedies!(@type $field) ))?,)+
        }

        impl Remedy {
            /// The name in JSON.
            pub fn action(&self) -> &'static str {
                match self {
                    Remedy::Advice(_) => "advice",
                    $(Remedy::$name $(( remedies!(@ignore $field) ))? => $word,)+
                }
            }

            /// The object of the remedy: a name, a path, a mode. For advice, the text.
            pub fn target(&self) -> Option<&str> {
                match self {
                    Remedy::Advice(text) => Some(text),
                    $($(Remedy::$name($field) => Some($field),)?)+
                    _ => None,
                }
            }

            /// Replaces the target, for example to remove secrets.
            #[must_use]
            pub fn map_target(self, change: impl FnOnce(&str) -> String) -> Self {
                match self {
                    Remedy::Advice(text) => Remedy::Advice(change(&text)),
                    $($(Remedy::$name($field) => Remedy::$name(change(&$field)),)?)+
                    remedy => remedy,
                }
            }
        }

        impl fmt::Display for Remedy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Remedy::Advice(text) => f.write_str(text),
                    $(Remedy::$name $(($field))? => write!(f, $text),)+
                }
            }
        }
    };
    (@type $field:ident) => { String };
    (@ignore $field:ident) => { _ };
}

remedies! {
    /// Approve the run, now or in advance.
    Approve = "approve", "approve the run";
    /// Approve the run in person: an approval in advance is not accepted.
    ApproveInPerson = "approve_in_person", "approve the run in person: an approval in advance is not accepted";
    /// Let tools run although a hook before them does not work.
    RelaxHooks = "relax_hooks", "repair the hook, or let tools run although a hook before them does not work";
    /// Grant a permission that the skill does not declare.
    Grant(permission) = "grant", "grant `{permission}`";
    /// Choose the mode in which the skill may run.
    SetMode(mode) = "set_mode", "choose the mode `{mode}`";
    /// See what this machine can enforce and what it lacks.
    Diagnose = "diagnose", "see what this machine can enforce and what it lacks";
    /// Allow network access for this operation.
    GoOnline = "go_online", "allow network access";
    /// Give a value to an input; the target is its name.
    GiveInput(input) = "give_input", "give a value to the input `{input}`";
    /// Install a skill.
    Install(name) = "install", "install `{name}`";
    /// Update a skill, or all of them.
    Update(name) = "update", "update `{name}`";
    /// Uninstall skills, named with spaces between them.
    Uninstall(names) = "uninstall", "uninstall `{names}`";
    /// Uninstall a skill whose source is gone, or install it from elsewhere.
    UninstallOrReplace(name) = "uninstall_or_replace", "uninstall `{name}` if it is gone for good, or install it from elsewhere";
    /// Name a place that has the skill, or configure a registry.
    NameSource = "name_source", "name a place that has it, or configure a registry";
    /// Write a new lock file.
    UpdateLockFile = "update_lock_file", "install without requiring the lock file, and keep the new one";
    /// Resolve the merge conflict in a lock file.
    ResolveLockFile = "resolve_lock_file", "resolve the merge conflict in the lock file";
    /// Choose one side of a merge conflict for each skill.
    ChooseSide = "choose_side", "choose one side of the conflict";
    /// Find skills on this machine or in a registry.
    FindSkills = "find_skills", "list the skills here, or search a registry";
    /// List the installed skills.
    ListInstalled = "list_installed", "list the installed skills";
    /// Restore installed files from the lock file.
    Restore(scope) = "restore", "restore the files from the lock file of the {scope}";
    /// Check a skill's files and see all findings.
    Check(path) = "check", "check `{path}` to see all findings";
    /// Apply the safe fixes to a skill's files.
    Fix(path) = "fix", "apply the safe fixes to `{path}`";
    /// Review a skill and its permissions first.
    ReadFirst(reference) = "read_first", "review `{reference}` and its permissions first";
    /// Accept a skill without a proven publisher.
    AllowExperimental = "allow_experimental", "allow skills without a proven publisher";
    /// Accept experimental skills by name, separated by commas.
    AllowExperimentalSkills(names) = "allow_experimental_skills", "review `{names}` first, then allow them by name";
    /// Accept a skill that is no longer signed.
    AllowUnsigned = "allow_unsigned", "allow that the skill is no longer signed";
    /// Accept that another publisher now owns the name.
    ReplaceOwner = "replace_owner", "allow that another publisher now owns the name";
    /// Take the quiz that a skill is behind; the target is its path.
    TakeQuiz(skill) = "take_quiz", "take the quiz of `{skill}`";
    /// Start a quiz again before its cool-down ends, which only a person may do; the target is the skill's path.
    ResetQuiz(skill) = "reset_quiz", "wait, or let a person reset the quiz of `{skill}`";
    /// Choose one of several skills.
    ChooseSkill(name) = "choose_skill", "choose one skill, such as `{name}`";
    /// Choose all of several skills.
    ChooseAll = "choose_all", "choose all of them";
    /// Install a skill under another name.
    InstallAs(name) = "install_as", "install it as `{name}`";
    /// Trust a publisher's key.
    TrustPublisher = "trust_publisher", "trust the publisher's key";
    /// Accept a new key for a skill.
    AcceptKey(skill) = "accept_key", "accept the new key of `{skill}`";
    /// Review the changes of a run, which wait to be applied or discarded; the target is its id.
    ReviewChanges(run) = "review_changes", "review the changes of the run `{run}`, then apply or discard them";
    /// Create a signing key.
    CreateKey(name) = "create_key", "create the key `{name}`";
    /// List the available models.
    ListModels = "list_models", "list the available models";
    /// Choose a model; the target is an example.
    ChooseModel(model) = "choose_model", "choose a model, such as `{model}`";
    /// List the knowledge bases.
    ListKnowledgeBases = "list_knowledge_bases", "list the knowledge bases";
    /// Create a knowledge base.
    CreateKnowledgeBase(name) = "create_knowledge_base", "create the knowledge base `{name}`";
    /// Add documents to a knowledge base.
    AddDocuments(name) = "add_documents", "add documents to the knowledge base `{name}`";
    /// Delete a knowledge base.
    DeleteKnowledgeBase(name) = "delete_knowledge_base", "delete the knowledge base `{name}`; your own files stay";
    /// Delete a knowledge base and create it again with another embedder.
    ReplaceEmbedder(name) = "replace_embedder", "vectors of two embedders can't be compared: delete the knowledge base `{name}`, create it with the other embedder, and add its documents again";
    /// Give an agent more turns.
    RaiseTurns = "raise_turns", "give the agent more turns";
    /// Give an agent more tokens.
    RaiseTokens = "raise_tokens", "give the agent more tokens";
    /// Give an agent more time.
    RaiseTime = "raise_time", "give the agent more time";
    /// Go on with an agent's conversation; the target is its transcript.
    ResumeAgent(transcript) = "resume_agent", "go on with the transcript `{transcript}`";
    /// Install the skills of an agent; the target is its manifest.
    InstallAgentSkills(manifest) = "install_agent_skills", "install the skills that `{manifest}` lists";
    /// List the runs of workflows.
    ListRuns = "list_runs", "list the runs of workflows";
    /// Resume a run of a workflow.
    ResumeRun(run) = "resume_run", "resume the run `{run}` with the workflow as it was; if the file has changed, start a new run";
    /// Name the folder that contains the skill.
    NameSkillsFolder = "name_skills_folder", "name the folder that contains the skill";
    /// Read the page about a diagnostic.
    Explain(code) = "explain", "read the page about `{code}`";
}

impl Remedy {
    /// The remedy as JSON: `action` and perhaps `target`.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("action".to_owned(), self.action().into());
        if let Some(target) = self.target() {
            object.insert("target".to_owned(), target.into());
        }
        Value::Object(object)
    }
}

impl Problem {
    /// Creates a problem without remedies.
    pub fn new(code: &'static str, kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { code, kind, message: message.into(), remedies: Vec::new() }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }

    /// Adds advice that reads the same in every interface.
    #[must_use]
    pub fn advice(self, text: impl Into<String>) -> Self {
        self.remedy(Remedy::Advice(text.into()))
    }

    /// The problem as JSON: `code`, `kind`, `message` and `remedies`, each with `action` and perhaps `target`.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("code".to_owned(), self.code.into());
        object.insert("kind".to_owned(), self.kind.as_str().into());
        object.insert("message".to_owned(), self.message.clone().into());
        if let ProblemKind::RateLimited { retry_after: Some(after) } = self.kind {
            object.insert("retry_after_secs".to_owned(), after.as_secs().into());
        }
        object.insert("remedies".to_owned(), self.remedies.iter().map(Remedy::to_json).collect());
        Value::Object(object)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::{Problem, ProblemKind, Remedy};

    #[test]
    fn remedies_are_data_in_json() {
        let problem = Problem::new("skill-not-found", ProblemKind::NotFound, "no skill `logs`")
            .remedy(Remedy::Install("logs".to_owned()))
            .remedy(Remedy::ListInstalled)
            .advice("check the spelling");
        assert_eq!(
            problem.to_json(),
            json!({
                "code": "skill-not-found",
                "kind": "not_found",
                "message": "no skill `logs`",
                "remedies": [
                    { "action": "install", "target": "logs" },
                    { "action": "list_installed" },
                    { "action": "advice", "target": "check the spelling" },
                ],
            })
        );
    }

    #[test]
    fn a_rate_limit_says_when_to_try_again() {
        let kind = ProblemKind::RateLimited { retry_after: Some(Duration::from_secs(7)) };
        let json = Problem::new("too-many-runs", kind, "too many runs").to_json();
        assert_eq!(json["retry_after_secs"], 7);
        assert_eq!(json["kind"], "rate_limited");
    }
}
