//! Problems of the libraries as errors of the command line. Only here, remedies become verbs and options.

use std::path::Path;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_library::{Located, Other};
use prowess_store::places::{Places, Scope};

use crate::error::{Error, ErrorKind};
use crate::skill::skill_ref::shown;

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let code = Some(problem.code);
        let failed = Error { kind: kind(problem.kind), code, ..Error::failed(problem.message) };
        hints(&problem.remedies).into_iter().fold(failed, Error::hint)
    }
}

/// The kind that decides the exit code.
pub(crate) fn kind(kind: ProblemKind) -> ErrorKind {
    match kind {
        ProblemKind::InvalidInput => ErrorKind::Usage,
        ProblemKind::NotFound => ErrorKind::NotFound,
        ProblemKind::Refused => ErrorKind::Refused,
        ProblemKind::Unauthorized
        | ProblemKind::Conflict
        | ProblemKind::RateLimited { .. }
        | ProblemKind::Unavailable
        | ProblemKind::TimedOut
        | ProblemKind::Cancelled
        | ProblemKind::Corrupt
        | ProblemKind::Failed
        | ProblemKind::Internal => ErrorKind::Failed,
    }
}

/// Remedies as hints, one line each. Inputs that need a value share one line, which can be typed as it is.
pub(crate) fn hints(remedies: &[Remedy]) -> Vec<String> {
    let input = |remedy: &Remedy| match remedy {
        Remedy::GiveInput(name) => Some(format!("--input {name}=…")),
        _ => None,
    };
    let inputs: Vec<String> = remedies.iter().filter_map(input).collect();
    let inputs = (!inputs.is_empty()).then(|| format!("give `{}`", inputs.join(" ")));
    let others = remedies.iter().filter(|remedy| input(remedy).is_none()).map(remedy_text);
    inputs.into_iter().chain(others).collect()
}

/// A remedy as a hint.
fn remedy_text(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Advice(text) => text.clone(),
        Remedy::Approve => {
            "run it in a terminal to be asked, or approve this run with `--yes`".to_owned()
        }
        Remedy::ApproveInPerson => {
            "run it in a terminal to be asked: `--yes` does not approve this".to_owned()
        }
        Remedy::RelaxHooks => {
            "repair the hook; with `[hooks] strict = false` in config.toml, tools run although a hook before them does not work".to_owned()
        }
        Remedy::Grant(permission) => format!("`--allow {permission}` grants it for this run"),
        Remedy::SetMode(mode) => format!("if you are in that mode, add `--mode {mode}`"),
        Remedy::Diagnose => "`prowess doctor` shows what is missing on this machine".to_owned(),
        Remedy::GiveInput(name) => format!("give `--input {name}=…`"),
        Remedy::GoOnline => "run without `--offline`".to_owned(),
        Remedy::Install(name) => format!("install it with `prowess install {name}`"),
        Remedy::Update(name) => format!("`prowess update {name}` installs the current version"),
        Remedy::Uninstall(names) => {
            format!("remove those as well: `prowess remove {names}`")
        }
        Remedy::UninstallOrReplace(name) => {
            format!("`prowess remove {name}` if it is gone for good, or install it from elsewhere")
        }
        Remedy::NameSource => {
            "name a place that has it with `--from`, or configure a registry".to_owned()
        }
        Remedy::UpdateLockFile => {
            "run `prowess agent install` without `--frozen`, and keep the new lock file".to_owned()
        }
        Remedy::ResolveLockFile => {
            "`prowess lock --resolve` keeps the skills of both sides and asks where they differ"
                .to_owned()
        }
        Remedy::ChooseSide => {
            "run it in a terminal to be asked, or decide with `--prefer ours`, `theirs` or `newer`"
                .to_owned()
        }
        Remedy::FindSkills => {
            "`prowess list` shows the skills here, `prowess search` those of a registry".to_owned()
        }
        Remedy::ListInstalled => "`prowess list` shows the installed skills".to_owned(),
        Remedy::Restore(scope) => {
            let option = if scope == Scope::Project.as_str() { "--project" } else { "--user" };
            format!("`prowess install {option}` restores what the lock file lists")
        }
        Remedy::Check(path) => format!("`prowess check {path}` shows all problems"),
        Remedy::Fix(path) => {
            format!("correct it first, or try `prowess check --fix {path}`")
        }
        Remedy::ReadFirst(reference) => {
            format!("read it first: `prowess show {reference}`, `prowess policy {reference}`")
        }
        Remedy::AllowExperimental => {
            "install it without a trusted signature with `--allow-experimental`".to_owned()
        }
        Remedy::AllowExperimentalSkills(names) => format!(
            "read {} first (`prowess show`, `prowess policy`), then pass `--allow-experimental {names}`",
            if names.contains(',') { "them" } else { "it" }
        ),
        Remedy::AllowUnsigned => "allow it with `--allow-unsigned`".to_owned(),
        Remedy::ReplaceOwner => "allow it with `--replace-owner`".to_owned(),
        Remedy::TakeQuiz(place) => format!("take it with `prowess quiz {}`", near(place)),
        Remedy::ResetQuiz(place) => {
            format!(
                "wait, or start again on a terminal with `prowess quiz {} --reset`",
                near(place)
            )
        }
        Remedy::ChooseSkill(name) => format!("choose it with `--skill {}`", quoted(name)),
        Remedy::ChooseAll => "install all of them with `--all`".to_owned(),
        Remedy::InstallAs(name) => format!("give it a name that can be installed: `--as {name}`"),
        Remedy::TrustPublisher => "trust its publisher with `prowess trust add`".to_owned(),
        Remedy::AcceptKey(skill) => {
            format!("accept the new key with `prowess trust accept {skill}`")
        }
        Remedy::ReviewChanges(run) => format!(
            "`prowess runs show {run}` lists its changes, `prowess runs apply {run}` applies them, `prowess runs discard {run}` forgets them"
        ),
        Remedy::CreateKey(name) => format!("create one with `prowess key new {name}`"),
        Remedy::ListModels => "`prowess models` lists the available models".to_owned(),
        Remedy::ChooseModel(model) => {
            format!("choose one with `--model {model}`, or set `PROWESS_MODEL`")
        }
        Remedy::ListKnowledgeBases => "`prowess kb list` shows the knowledge bases".to_owned(),
        Remedy::CreateKnowledgeBase(name) => format!("create it with `prowess kb new {name}`"),
        Remedy::AddDocuments(name) => format!("add documents with `prowess kb add {name} FILE`"),
        Remedy::DeleteKnowledgeBase(name) => {
            format!("delete it with `prowess kb remove {name}`; your own files stay")
        }
        Remedy::ReplaceEmbedder(name) => format!(
            "vectors of two embedders can't be compared: delete it with `prowess kb remove {name}`, create it with `prowess kb new {name} --embedder …`, and add its documents again"
        ),
        Remedy::RaiseTurns => "give it more with `--max-turns`".to_owned(),
        Remedy::RaiseTokens => "give it more with `--max-tokens`".to_owned(),
        Remedy::RaiseTime => "give it more with `--timeout`".to_owned(),
        Remedy::ResumeAgent(transcript) => {
            format!("go on where it ended with `--resume {}`", quoted(transcript))
        }
        Remedy::InstallAgentSkills(manifest) => {
            format!("`prowess agent install {}` installs what it needs", quoted(manifest))
        }
        Remedy::ListRuns => "`prowess workflow list` shows the runs".to_owned(),
        Remedy::ResumeRun(run) => format!(
            "resume it with `prowess workflow resume {run}`, which uses the workflow as it was; if you change the file, start a new run"
        ),
        Remedy::NameSkillsFolder => "say where it is with `--skills FOLDER`".to_owned(),
        Remedy::Explain(code) => format!("`prowess explain {code}` explains it"),
        _ => remedy.to_string(),
    }
}

/// A path for a command: relative where it is below the current folder.
fn near(path: &str) -> String {
    let current = std::env::current_dir().ok().and_then(|it| it.canonicalize().ok());
    let relative = current.and_then(|current| Path::new(path).strip_prefix(current).ok());
    let relative = relative.map(|path| path.to_string_lossy().into_owned());
    match relative.as_deref() {
        None => quoted(path),
        Some("") => ".".to_owned(),
        // A name alone could mean an installed skill.
        Some(relative) if relative.contains('/') => quoted(relative),
        Some(relative) => quoted(&format!("./{relative}")),
    }
}

/// Quotes a name for a shell.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// A note about what else a reference could mean, and how to name that.
pub(crate) fn ambiguity(reference: &Path, located: &Located, places: &Places) -> Option<String> {
    let name = shown(reference);
    let used = match located.installed {
        Some(Scope::User) => "the installed skill",
        Some(Scope::Project) => "the project's installed skill",
        None => "the path",
    };
    let others: Vec<String> = located
        .others
        .iter()
        .map(|other| match other {
            Other::Path(path) => format!("a path (`./{}`)", shown(path)),
            Other::Installed { scope: Scope::Project, directory } => {
                format!("a skill in the project's store (`{}`)", places.shown(directory))
            }
            Other::Installed { scope: Scope::User, directory } => {
                format!("your installed skill (`{}`)", places.shown(directory))
            }
        })
        .collect();
    (!others.is_empty())
        .then(|| format!("`{name}` is {used}; there is also {}", others.join(", and ")))
}
