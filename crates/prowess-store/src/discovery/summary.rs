//! Summaries of skills' main files for listings.

use std::borrow::Cow;

use prowess_format::diagnostic::Severity;
use prowess_format::document::MAX_FILE_BYTES;
use prowess_format::rules::SkillLocation;
use prowess_format::span::LineIndex;
use prowess_format::{ReadOptions, check_bytes, form_of};

/// The summary of a file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    /// The declared name.
    pub name: Option<String>,
    /// The declared version.
    pub version: Option<String>,
    /// The declared description.
    pub description: Option<String>,
    /// The id of the best matching dialect; empty for a file that can't be read.
    pub dialect: String,
    /// The kind of skill.
    pub kind: String,
    /// The first errors.
    pub errors: Vec<Problem>,
    /// The number of warnings.
    pub warnings: usize,
}

/// A reason why a skill is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rule, for `prowess explain`; `unreadable` for a file that can't be read.
    pub rule: String,
    /// The line, from 1.
    pub line: usize,
    /// The message.
    pub message: String,
    /// Advice.
    pub help: Option<String>,
}

/// Maximum number of errors per file; `prowess check` lists all.
const MOST_ERRORS: usize = 5;

impl Summary {
    /// Whether the skill can't be used: its file has errors, or can't be read.
    pub fn is_broken(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The summary of a file that can't be read.
    pub(crate) fn unreadable(message: String, help: &str) -> Self {
        let problem = Problem {
            rule: "unreadable".to_owned(),
            line: 1,
            message,
            help: Some(help.to_owned()),
        };
        Self { errors: vec![problem], ..Self::default() }
    }

    /// Parses a file. Only the file itself is checked: `check` verifies that mentioned files exist and that its folder
    /// has its name. Agents load skills from folders with other names, and users link them that way.
    pub(crate) fn of(bytes: &[u8], file_name: &str) -> Self {
        if bytes.len() > MAX_FILE_BYTES {
            let most = MAX_FILE_BYTES >> 20;
            let help = "move material into other files";
            return Self::unreadable(format!("the file is larger than {most} MiB"), help);
        }
        // An empty file would be parsed as prose.
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
            errors: errors.collect(),
            warnings: found(Severity::Warning).count(),
        }
    }
}
