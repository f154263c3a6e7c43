//! The summary of a skill's main file for listings.

use std::borrow::Cow;

use prowess_format::client::{CLIENTS, ClientOutcome, ClientVerdict, verdict};
use prowess_format::diagnostic::Severity;
use prowess_format::document::MAX_FILE_BYTES;
use prowess_format::rules::SkillLocation;
use prowess_format::span::LineIndex;
use prowess_format::{Checked, ReadOptions, check_bytes, form_of};

/// The summary of a main file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SkillSummary {
    /// The declared name.
    pub name: Option<String>,
    /// The declared version.
    pub version: Option<String>,
    /// The declared description.
    pub description: Option<String>,
    /// The id of the dialect that explains most of it; empty for a file that can't be read.
    pub dialect: String,
    /// The kind of skill.
    pub kind: String,
    /// The first errors, see `MOST_ERRORS`.
    pub errors: Vec<SkillFileError>,
    /// The number of warnings.
    pub warnings: usize,
    /// The clients that load it despite its errors; empty if it has none.
    pub loaded_by: Vec<String>,
}

/// An error in a main file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFileError {
    /// The rule, for `prowess explain`; `unreadable` if the file can't be read.
    pub rule: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The message.
    pub message: String,
    /// Advice.
    pub help: Option<String>,
}

/// The programs that load a file despite its errors. Validators are omitted, because they don't load skills.
fn loading_clients(checked: &Checked<'_>, file_name: &str) -> Vec<String> {
    if !checked.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return Vec::new();
    }
    let programs = CLIENTS.iter().copied().filter(|client| client.strict.is_none());
    let verdicts = programs.map(|client| verdict(checked, file_name, None, client));
    let loads = |it: &ClientVerdict| it.outcome == ClientOutcome::Loads;
    verdicts.filter(loads).map(|it| it.client.id.to_owned()).collect()
}

/// The maximum number of errors per file in a listing; `prowess check` lists all of them.
const MOST_ERRORS: usize = 5;

impl SkillSummary {
    /// Whether the skill can't be used: its file has errors or can't be read.
    pub fn is_broken(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The summary of a file that can't be read.
    pub(crate) fn unreadable(message: String, help: &str) -> Self {
        let problem = SkillFileError {
            rule: "unreadable".to_owned(),
            line: 1,
            message,
            help: Some(help.to_owned()),
        };
        Self { errors: vec![problem], ..Self::default() }
    }

    /// Parses a main file. Only the file itself is checked. Whether the files that it mentions exist and whether its
    /// folder has its name is left to `check`: agents load skills from folders of other names, and users link them
    /// like that.
    pub(crate) fn of(bytes: &[u8], file_name: &str) -> Self {
        if bytes.len() > MAX_FILE_BYTES {
            let most = MAX_FILE_BYTES >> 20;
            let help = "move some of the content into other files";
            return Self::unreadable(format!("the file is larger than {most} MiB"), help);
        }
        // It would be parsed as prose, but there is no text.
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
        let errors = found(Severity::Error).take(MOST_ERRORS).map(|found| SkillFileError {
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
