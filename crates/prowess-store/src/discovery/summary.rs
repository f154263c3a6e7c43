//! What a listing says about a skill's main file.

use std::borrow::Cow;

use prowess_format::client::{CLIENTS, ClientOutcome, ClientVerdict, verdict};
use prowess_format::diagnostic::Severity;
use prowess_format::document::MAX_FILE_BYTES;
use prowess_format::rules::SkillLocation;
use prowess_format::span::LineIndex;
use prowess_format::{Checked, ReadOptions, check_bytes, form_of};

/// What a file says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    /// The declared name.
    pub name: Option<String>,
    /// The declared version.
    pub version: Option<String>,
    /// The declared description.
    pub description: Option<String>,
    /// The id of the dialect that explains most of it; empty for a file that can't be read.
    pub dialect: String,
    /// What the skill is.
    pub kind: String,
    /// The errors, as far as they are told.
    pub errors: Vec<Problem>,
    /// How many findings are warnings.
    pub warnings: usize,
    /// The clients that load it in spite of its errors. Empty if it has none.
    pub loaded_by: Vec<String>,
}

/// Why a skill is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rule, for `prowess explain`; `unreadable` for a file that can't be read.
    pub rule: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
}

/// The programs that load a file with errors. A validator is none: it has nothing to load.
fn loading_clients(checked: &Checked<'_>, file_name: &str) -> Vec<String> {
    if !checked.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return Vec::new();
    }
    let programs = CLIENTS.iter().copied().filter(|client| client.strict.is_none());
    let verdicts = programs.map(|client| verdict(checked, file_name, None, client));
    let loads = |it: &ClientVerdict| it.outcome == ClientOutcome::Loads;
    verdicts.filter(loads).map(|it| it.client.id.to_owned()).collect()
}

/// A listing names this many errors of a file; `prowess check` names them all.
const MOST_ERRORS: usize = 5;

impl Summary {
    /// Whether the skill can't be used: its file has errors, or can't be read.
    pub fn is_broken(&self) -> bool {
        !self.errors.is_empty()
    }

    /// What is known of a file that can't be read.
    pub(crate) fn unreadable(message: String, help: &str) -> Self {
        let problem = Problem {
            rule: "unreadable".to_owned(),
            line: 1,
            message,
            help: Some(help.to_owned()),
        };
        Self { errors: vec![problem], ..Self::default() }
    }

    /// Reads a file. Only the file itself is judged: whether what it mentions is there, and whether its folder has its
    /// name, are questions for `check`. Agents load a skill from a folder of another name, and people link them so.
    pub(crate) fn of(bytes: &[u8], file_name: &str) -> Self {
        if bytes.len() > MAX_FILE_BYTES {
            let most = MAX_FILE_BYTES >> 20;
            let help = "move material into other files";
            return Self::unreadable(format!("the file is larger than {most} MiB"), help);
        }
        // Reading calls it prose, and there is nothing to read.
        if bytes.trim_ascii().is_empty() {
            let help = "write what the agent should do, or remove the folder";
            return Self::unreadable("the file is empty".to_owned(), help);
        }
        let place = SkillLocation { directory: None, files: None };
        let options = ReadOptions { form: form_of(file_name), dialect: None, place };
        let mut text = Cow::Borrowed("");
        let checked = check_bytes(bytes, &mut text, options);
        let lines = LineIndex::new(checked.document.text);
        let found =
            |severity| checked.diagnostics.iter().filter(move |found| found.severity == severity);
        let errors = found(Severity::Error).take(MOST_ERRORS).map(|found| Problem {
            rule: found.rule.name.to_owned(),
            line: lines.position(checked.document.text, found.span.range().start).line,
            message: found.message.clone(),
            help: found.help.clone(),
        });
        let text = |declared: &prowess_format::skill::OptionalText| {
            declared.as_ref().map(|declared| declared.value.clone())
        };
        Self {
            name: text(&checked.skill.name),
            version: text(&checked.skill.version),
            description: text(&checked.skill.description),
            dialect: checked.skill.dialect.id.to_owned(),
            kind: checked.skill.kind.as_str().to_owned(),
            loaded_by: loading_clients(&checked, file_name),
            errors: errors.collect(),
            warnings: found(Severity::Warning).count(),
        }
    }
}
