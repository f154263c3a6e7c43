//! Tests of the format crate. What they share stands here: one place that knows how a text is read and how findings are shown.

mod agent_flow;
mod claude_code;
mod client;
mod convert;
mod corpus;
mod detection;
mod document;
mod dropped;
mod expectations;
mod fixes;
mod fixing;
mod gaia;
mod gibberish;
mod laws;
mod manifest;
mod migrate;
mod negative;
mod openclaw;
mod references;
mod render;
mod rules;
mod scaffold;
mod schema;
mod skillli;
mod skillrt;
mod specification;
mod suppress;
mod tool_pack;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use prowess_format::diagnostic::Diagnostic;
use prowess_format::dialect::{self, Dialect};
use prowess_format::document::Form;
use prowess_format::python::{PythonError, PythonModule};
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::skill::Skill;
use prowess_format::span::LineIndex;
use prowess_format::{Checked, ReadOptions, check, form_of};

/// One line per finding of a SKILL.md whose dialect is detected: `line:column severity code message`.
fn problems(text: &str) -> String {
    shown(text, &check(text, ReadOptions::DETECT).diagnostics, false)
}

/// The findings of a SKILL.md that is read as one dialect.
fn problems_as(text: &str, dialect: &str) -> String {
    shown(text, &check(text, options(dialect)).diagnostics, false)
}

/// The findings of a SKILL.md that is read as one dialect, with the severities of `--strict`.
fn strict_problems_as(text: &str, dialect: &str) -> String {
    shown(text, &check(text, options(dialect)).diagnostics, true)
}

/// The findings of a SKILL.md that lies in a directory of this name.
fn problems_in(directory: &str, text: &str) -> String {
    let place = SkillLocation { directory: Some(directory), files: None };
    shown(text, &check(text, ReadOptions { place, ..ReadOptions::DETECT }).diagnostics, false)
}

/// The findings of a JSON tool pack.
fn pack_problems(text: &str) -> String {
    let options = ReadOptions { form: Form::Json, ..ReadOptions::DETECT };
    shown(text, &check(text, options).diagnostics, false)
}

/// The skill of a text whose dialect is detected.
fn skill(text: &str) -> Skill {
    check(text, ReadOptions::DETECT).skill
}

/// The skill of a text that is read as one dialect.
fn skill_as(text: &str, dialect: &str) -> Skill {
    check(text, options(dialect)).skill
}

/// The skill of a fixture whose dialect is detected.
fn skill_of(path: &str) -> Skill {
    let text = prowess_testkit::fixture(path);
    check(&text, ReadOptions { form: form_of(path), ..ReadOptions::DETECT }).skill
}

fn options(dialect: &str) -> ReadOptions<'static> {
    ReadOptions { dialect: Some(named(dialect)), ..ReadOptions::DETECT }
}

fn named(dialect: &str) -> &'static Dialect {
    dialect::by_id(dialect).unwrap_or_else(|| panic!("`{dialect}` is no dialect"))
}

/// Findings as lines, in the order of places.
fn shown(text: &str, diagnostics: &[Diagnostic], strict: bool) -> String {
    let lines = LineIndex::new(text);
    diagnostics.iter().fold(String::new(), |mut shown, diagnostic| {
        let position = lines.position(text, diagnostic.span.start as usize);
        let file = diagnostic.file.as_ref().map_or_else(String::new, |file| format!("{file} "));
        let _ = writeln!(
            shown,
            "{file}{}:{} {} {} {}",
            position.line,
            position.column,
            diagnostic.effective(strict).as_str(),
            diagnostic.rule.name,
            diagnostic.message,
        );
        shown
    })
}

/// The codes of the findings, sorted and without repetitions.
fn codes(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    let mut codes: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.rule.name).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The files around a fixture; what `tools.py` defines is handed in, because this crate reads no Python.
struct Folder {
    path: PathBuf,
    python: Option<Result<PythonModule, PythonError>>,
}

impl SkillFiles for Folder {
    #[expect(clippy::disallowed_methods, reason = "only the library is kept from the disk")]
    fn exists(&self, path: &str) -> bool {
        self.path.join(path).exists()
    }

    fn python(&self) -> Option<&Result<PythonModule, PythonError>> {
        self.python.as_ref()
    }
}

/// One file below `fixtures/`.
struct Fixture {
    /// The path below `fixtures/`, with `/` between its parts.
    name: String,
    bytes: Vec<u8>,
    folder: Folder,
}

impl Fixture {
    fn open(name: &str) -> Self {
        let path = prowess_testkit::fixtures().join(name);
        let folder = path.parent().expect("a fixture lies in a folder").to_owned();
        Self {
            name: name.to_owned(),
            bytes: prowess_testkit::bytes(&path),
            folder: Folder { path: folder, python: None },
        }
    }

    /// Every file that is a skill: SKILL.md in all spellings, lone Markdown of the specifications, tool packs.
    fn all() -> Vec<Self> {
        let root = prowess_testkit::fixtures();
        let is_pack = |name: &str| name.ends_with(".tool.json") || name == "toolpack.json";
        let is_skill = |name: &str| is_skill_file(name) || is_pack(name);
        prowess_testkit::files_below(&root, &is_skill)
            .iter()
            .map(|path| Self::open(&relative(path, &root)))
            .collect()
    }

    /// The directory's name, for files that are called SKILL.md; others are lone files.
    fn directory(&self) -> Option<&str> {
        let mut parts = self.name.rsplit('/');
        let file = parts.next().filter(|file| is_skill_file(file));
        file.and(parts.next())
    }

    /// Reads the fixture where it lies and hands over the result.
    fn check<T>(
        &self,
        dialect: Option<&'static Dialect>,
        look: impl FnOnce(&str, &Checked<'_>) -> T,
    ) -> T {
        let place = SkillLocation { directory: self.directory(), files: Some(&self.folder) };
        let options = ReadOptions { form: form_of(&self.name), dialect, place };
        let mut text = std::borrow::Cow::Borrowed("");
        let checked = prowess_format::check_bytes(&self.bytes, &mut text, options);
        look(checked.document.text, &checked)
    }
}

fn is_skill_file(name: &str) -> bool {
    matches!(name.to_lowercase().as_str(), "skill.md" | "skills.md")
}

fn relative(path: &Path, root: &Path) -> String {
    let parts = path.strip_prefix(root).expect("the path lies below the root").iter();
    parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
