//! Checks one file and builds its report: the findings with lines and columns.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use prowess_format::binary::not_text;
use prowess_format::client::{self, Client, ClientVerdict};
use prowess_format::diagnostic::{Diagnostic, Findings, Fix, Rule, Severity};
use prowess_format::dialect::Dialect;
use prowess_format::document::{Form, FrontMatter, decode};
use prowess_format::manifest::{self, AgentManifest, CheckedManifest};
use prowess_format::rules::{self, SkillFiles, SkillLocation};
use prowess_format::skill::{OptionalText, SkillKind};
use prowess_format::span::{LineIndex, Position, Span};
use prowess_format::suppress;
use prowess_format::text::comparable_name;
use prowess_format::{Checked, ReadOptions, check_bytes};
use prowess_library::PackagedFiles;
use serde_json::Value;

use crate::render::excerpt::Excerpt;
use crate::render::{full, json};
use crate::skill::quiz_gate::Unquoted;
use crate::skill::skill_ref::{self, Loaded};
use crate::terminal::printer::Printer;

/// The options of a check: what is checked and what is reported.
#[derive(Clone, Copy)]
pub(crate) struct CheckOptions<'o> {
    /// The dialect, if the user named one.
    pub(crate) dialect: Option<&'static Dialect>,
    /// Whether the strict severities apply.
    pub(crate) strict: bool,
    /// The lowest severity that is reported.
    pub(crate) least: Severity,
    /// Whether files without findings are reported too.
    pub(crate) clean_files: bool,
    /// Whether findings come with their source line.
    pub(crate) excerpts: bool,
    /// Who reads the findings.
    pub(crate) reader: FindingsReader,
    /// The clients to report a verdict for.
    pub(crate) clients: &'o [&'static Client],
}

/// Who reads findings. A line of a skill with a quiz gate may have an answer, and is quoted to its author only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FindingsReader {
    /// A person on a terminal, or whoever wrote a file that can't have a quiz.
    Author,
    /// Anybody else, such as an agent.
    Anyone,
}

/// A file to check.
pub(crate) struct Source<'s> {
    /// Where it was read from.
    pub(crate) path: &'s Path,
    /// The kind of text: Markdown, JSON or YAML.
    pub(crate) form: Form,
    /// Its content.
    pub(crate) bytes: &'s [u8],
    /// The skill's directory.
    pub(crate) directory: Option<&'s Path>,
    /// The name that the directory will have, if it differs from the current one.
    pub(crate) directory_name: Option<&'s str>,
    /// The rules that the project disables for this file.
    pub(crate) disabled: &'s [&'static Rule],
}

impl Source<'_> {
    /// The directory name that the skill's name must match (R4). It is the same whether the user named the directory or the
    /// SKILL.md in it; standard input and files with other names have none.
    pub(crate) fn directory_name(&self) -> Option<Cow<'_, str>> {
        let given = self.directory_name.map(Cow::Borrowed);
        given.or_else(|| self.directory.and_then(skill_ref::directory_name))
    }
}

impl<'l> From<&'l Loaded> for Source<'l> {
    fn from(loaded: &'l Loaded) -> Self {
        Source {
            path: &loaded.path,
            form: loaded.form,
            bytes: &loaded.bytes,
            directory: loaded.directory.as_deref(),
            directory_name: None,
            disabled: &[],
        }
    }
}

/// The report about one file.
#[derive(Debug)]
pub(crate) struct FileReport {
    /// The path as shown.
    pub(crate) path: String,
    /// The size of the file.
    pub(crate) bytes: usize,
    /// A hash of the content, by which copies are recognised.
    pub(crate) content: u64,
    /// The file of which this one is a copy with the same findings, which are reported there.
    pub(crate) copy_of: Option<String>,
    /// The main dialect.
    pub(crate) dialect: &'static str,
    /// All layers.
    pub(crate) layers: Vec<&'static str>,
    /// The kind of skill, `agent` or `workflow`.
    pub(crate) kind: &'static str,
    /// Whether it has front matter; prose has none.
    pub(crate) structured: bool,
    /// The name; that of the directory if it declares none (R3).
    pub(crate) name: Option<String>,
    /// The declared version.
    pub(crate) version: Option<String>,
    /// The findings, sorted by position.
    pub(crate) findings: Vec<Finding>,
    /// The verdicts of clients, in the order in which the user named them.
    pub(crate) verdicts: Vec<ClientVerdict>,
}

/// One finding with its position.
#[derive(Debug)]
pub(crate) struct Finding {
    /// The rule.
    pub(crate) rule: &'static Rule,
    /// The severity, with `--strict` taken into account.
    pub(crate) severity: Severity,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) help: Option<String>,
    /// A change that resolves it.
    pub(crate) fix: Option<Fix>,
    /// The file, if it is not the main file of the skill.
    pub(crate) file: Option<String>,
    /// Where it starts.
    pub(crate) start: Position,
    /// Where it ends, one past the last character.
    pub(crate) end: Position,
    /// The start and end of each edit of the fix.
    pub(crate) edits: Vec<(Position, Position)>,
    /// The source line.
    pub(crate) excerpt: Option<Excerpt>,
}

/// The result of checking one file.
#[derive(Debug, Default)]
pub(crate) struct Examined {
    /// The report, if there is anything to report.
    pub(crate) report: Option<FileReport>,
    /// How many findings are errors.
    pub(crate) errors: usize,
    /// How many findings are warnings.
    pub(crate) warnings: usize,
    /// A hash of folder and name: equal for two skills of one folder with the same name.
    pub(crate) name_key: Option<u64>,
    /// Whether the name is reported as taken by another skill.
    pub(crate) is_rival: bool,
}

/// Checks one file. `rival` is the path of another skill in the same folder with the same name.
pub(crate) fn examine(
    source: &Source<'_>,
    options: &CheckOptions<'_>,
    rival: Option<&str>,
) -> Examined {
    let files = source.directory.map(PackagedFiles::new);
    let directory_name = source.directory_name();
    let place = SkillLocation {
        directory: directory_name.as_deref(),
        files: files.as_ref().map(|files| files as &dyn SkillFiles),
    };
    let read = ReadOptions { form: source.form, dialect: options.dialect, place };
    if is_manifest(source) {
        return examine_manifest(source, options);
    }
    let mut text = Cow::Borrowed("");
    let mut checked = check_bytes(source.bytes, &mut text, read);
    let found = around_the_text(source, &checked, directory_name.as_deref(), options, rival);
    if found.iter().any(|found| found.rule.name == "not-a-skill") {
        // Nothing that a rule says about the text of another file is of use.
        checked.diagnostics.clear();
    }
    checked.diagnostics.extend(found);
    let allowed = suppress::allowed(&checked.document);
    checked.diagnostics.retain(|found| {
        !source.disabled.contains(&found.rule) && !allowed.rules.contains(&found.rule)
    });
    checked.diagnostics.extend(allowed.diagnostics);
    checked.diagnostics.sort_by_key(|found| (found.file.is_some(), found.span));
    let mut examined = count(&checked.diagnostics, options);
    examined.name_key = name_key(source, &checked);
    examined.is_rival =
        checked.diagnostics.iter().any(|found| found.rule.name == "name-not-unique");
    if is_reported(&checked.diagnostics, options) {
        examined.report = Some(report(source, checked, files.as_ref(), options));
    }
    examined
}

/// Findings about a file that its text alone does not show: its name, its clients, its neighbours.
fn around_the_text(
    source: &Source<'_>,
    checked: &Checked<'_>,
    directory_name: Option<&str>,
    options: &CheckOptions<'_>,
    rival: Option<&str>,
) -> Vec<Diagnostic> {
    let rule = |name: &str| rules::by_name(name).expect("the rule is in the list of rules");
    let file_name = source.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_text = !checked.diagnostics.iter().any(|found| found.rule.name == "not-text");
    let is_skill = file_name == "-"
        || source.form != Form::Markdown
        || checked.document.front_matter != FrontMatter::Absent
        || skill_ref::is_main_spelling(file_name)
        || is_markdown(file_name);
    if !is_skill && is_text {
        let message = format!("`{}` is not a skill", shown_path(source.path));
        return vec![
            rule("not-a-skill")
                .at(Span::at(0), message)
                .help("a skill is a SKILL.md with front matter, or a folder with one"),
        ];
    }
    let mut found = Vec::new();
    if skill_ref::is_main_spelling(file_name)
        && file_name.eq_ignore_ascii_case(skill_ref::SPELLINGS[0])
        && file_name != skill_ref::SPELLINGS[0]
    {
        // The open standard's validator accepts `skill.md`: its own strict check says nothing else.
        let strict = if options.dialect.is_some() { Severity::Warning } else { Severity::Error };
        let message =
            format!("the file is called `{file_name}`, and most clients only look for `SKILL.md`");
        found.push(
            rule("wrong-file-name")
                .at(Span::at(0), message)
                .severity(Severity::Warning, strict)
                .help("rename it to `SKILL.md`"),
        );
    }
    found.extend(client::silent_drop(checked, skill_ref::SPELLINGS[0], directory_name));
    found.extend(rival.map(|rival| not_unique(checked, rival)));
    found
}

fn is_markdown(file_name: &str) -> bool {
    let extension = file_name.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["md", "markdown", "mdx", "txt"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The report about a link whose target does not exist.
pub(crate) fn examine_dangling(
    path: &Path,
    disabled: &[&'static Rule],
    options: &CheckOptions<'_>,
) -> Examined {
    let rule = rules::by_name("dangling-link").expect("the rule is in the list of rules");
    if disabled.contains(&rule) {
        return Examined::default();
    }
    let target = std::fs::read_link(path)
        .map_or_else(|_| "another file".to_owned(), |target| format!("`{}`", target.display()));
    let file_name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let message = format!("`{file_name}` is a symbolic link to {target}, which does not exist");
    let diagnostics = vec![
        rule.at(Span::at(0), message).help("replace the link with the file, or correct its target"),
    ];
    let mut examined = count(&diagnostics, options);
    examined.report = Some(FileReport {
        path: shown_path(path),
        bytes: 0,
        content: 0,
        copy_of: None,
        dialect: "prose",
        layers: Vec::new(),
        kind: SkillKind::Prose.as_str(),
        structured: false,
        name: None,
        version: None,
        findings: findings("", diagnostics, None, None, options),
        verdicts: Vec::new(),
    });
    examined
}

fn count(diagnostics: &[Diagnostic], options: &CheckOptions<'_>) -> Examined {
    let mut examined = Examined::default();
    for diagnostic in diagnostics {
        match diagnostic.effective(options.strict) {
            Severity::Error => examined.errors += 1,
            Severity::Warning => examined.warnings += 1,
            Severity::Info => {}
        }
    }
    examined
}

fn is_reported(diagnostics: &[Diagnostic], options: &CheckOptions<'_>) -> bool {
    options.clean_files
        || !options.clients.is_empty()
        || diagnostics.iter().any(|found| found.effective(options.strict) >= options.least)
}

fn is_manifest(source: &Source<'_>) -> bool {
    source.form == Form::Yaml
}

/// Checks an agent manifest (GAIA §9), which is not a skill and has no dialect.
fn examine_manifest(source: &Source<'_>, options: &CheckOptions<'_>) -> Examined {
    let (text, checked) = read_manifest(source.bytes);
    examine_agent(source.path, &text, &checked.manifest, checked.diagnostics, options)
}

/// Reads an agent manifest; returns its text and the checked manifest.
pub(crate) fn read_manifest(bytes: &[u8]) -> (String, CheckedManifest) {
    let mut decoding = Findings::default();
    let text = decode(bytes, &mut decoding).into_owned();
    let mut checked = manifest::check(&text);
    match not_text(bytes) {
        Some(diagnostic) => checked.diagnostics = vec![diagnostic],
        None => _ = checked.diagnostics.splice(..0, decoding.into_sorted()),
    }
    (text, checked)
}

/// The findings about an agent manifest, as a report like that of a skill.
pub(crate) fn examine_agent(
    path: &Path,
    text: &str,
    manifest: &AgentManifest,
    diagnostics: Vec<Diagnostic>,
    options: &CheckOptions<'_>,
) -> Examined {
    let mut examined = count(&diagnostics, options);
    if is_reported(&diagnostics, options) {
        let value = |text: &OptionalText| text.as_ref().map(|text| text.value.clone());
        examined.report = Some(FileReport {
            path: shown_path(path),
            bytes: text.len(),
            content: hash_of(text.as_bytes()),
            copy_of: None,
            dialect: MANIFEST,
            layers: vec![MANIFEST],
            kind: "agent",
            structured: true,
            name: value(&manifest.name),
            version: value(&manifest.version),
            findings: findings(text, diagnostics, None, None, options),
            verdicts: Vec::new(),
        });
    }
    examined
}

/// The findings about a workflow, as a report like that of a skill.
pub(crate) fn examine_workflow(
    path: &Path,
    text: &str,
    name: Option<String>,
    diagnostics: Vec<Diagnostic>,
    options: &CheckOptions<'_>,
) -> Examined {
    let mut examined = count(&diagnostics, options);
    examined.report = Some(FileReport {
        path: shown_path(path),
        bytes: text.len(),
        content: hash_of(text.as_bytes()),
        copy_of: None,
        dialect: WORKFLOW,
        layers: vec![WORKFLOW],
        kind: WORKFLOW,
        structured: true,
        name,
        version: None,
        findings: findings(text, diagnostics, None, None, options),
        verdicts: Vec::new(),
    });
    examined
}

/// The dialect of a workflow in reports.
const WORKFLOW: &str = "workflow";
/// The dialect of an agent manifest in reports.
pub(crate) const MANIFEST: &str = "agent-manifest";

fn shown_path(path: &Path) -> String {
    if path == Path::new("-") { skill_ref::STDIN.to_owned() } else { skill_ref::shown(path) }
}

fn report(
    source: &Source<'_>,
    checked: Checked<'_>,
    files: Option<&PackagedFiles<'_>>,
    options: &CheckOptions<'_>,
) -> FileReport {
    let skill = &checked.skill;
    let declared = skill.name_text().map(str::to_owned);
    let directory_name = source.directory_name();
    let name = declared.or_else(|| {
        directory_name.clone().filter(|_| skill.kind != SkillKind::Prose).map(Cow::into_owned)
    });
    let file_name = source.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let file_name = if file_name == "-" { "SKILL.md" } else { file_name };
    let verdict = |client: &&'static Client| {
        client::verdict(&checked, file_name, directory_name.as_deref(), client)
    };
    let verdicts = options.clients.iter().map(verdict).collect();
    let unquoted = (options.reader == FindingsReader::Anyone && !checked.diagnostics.is_empty())
        .then(|| Unquoted::of(&checked.document))
        .flatten();
    FileReport {
        path: shown_path(source.path),
        bytes: source.bytes.len(),
        content: hash_of(source.bytes),
        copy_of: None,
        dialect: skill.dialect.id,
        layers: skill.layers.iter().map(|layer| layer.id).collect(),
        kind: skill.kind.as_str(),
        structured: skill.kind != SkillKind::Prose,
        name,
        version: skill.version.as_ref().map(|version| version.value.clone()),
        verdicts,
        findings: findings(
            checked.document.text,
            checked.diagnostics,
            files,
            unquoted.as_ref(),
            options,
        ),
    }
}

fn findings(
    text: &str,
    diagnostics: Vec<Diagnostic>,
    files: Option<&PackagedFiles<'_>>,
    unquoted: Option<&Unquoted>,
    options: &CheckOptions<'_>,
) -> Vec<Finding> {
    let mut diagnostics = diagnostics;
    diagnostics.retain(|diagnostic| diagnostic.effective(options.strict) >= options.least);
    if diagnostics.is_empty() {
        return Vec::new();
    }
    let text = up_to_last(text, &diagnostics);
    let lines = LineIndex::new(text);
    // Findings in other files are grouped, so caching the last file is enough.
    let mut other: Option<(String, String, LineIndex)> = None;
    diagnostics
        .into_iter()
        .map(|diagnostic| {
            let is_unquoted = unquoted.is_some_and(|unquoted| unquoted.has(&diagnostic));
            let finding = if is_unquoted { unquoted_finding } else { finding };
            let Some(file) = &diagnostic.file else {
                return finding(diagnostic, text, &lines, options);
            };
            if other.as_ref().is_none_or(|(name, ..)| name != file) {
                let text = files.and_then(|files| files.text(file)).unwrap_or_default();
                let lines = LineIndex::new(&text);
                other = Some((file.clone(), text, lines));
            }
            let (_, text, lines) = other.as_ref().expect("set in the line above");
            finding(diagnostic, text, lines, options)
        })
        .collect()
}

/// The text up to the last line with a finding: most findings are in the front matter, and bodies are long.
fn up_to_last<'t>(text: &'t str, diagnostics: &[Diagnostic]) -> &'t str {
    let own = diagnostics.iter().filter(|diagnostic| diagnostic.file.is_none());
    let last = own
        .flat_map(|diagnostic| {
            let edits = diagnostic.fix.iter().flat_map(|fix| &fix.edits);
            edits.map(|edit| edit.span.end).chain([diagnostic.span.end])
        })
        .max()
        .unwrap_or_default() as usize;
    let rest = text.as_bytes().get(last..).unwrap_or_default();
    match rest.iter().position(|byte| *byte == b'\n') {
        Some(length) => &text[..last + length],
        None => text,
    }
}

fn finding(
    diagnostic: Diagnostic,
    text: &str,
    lines: &LineIndex,
    options: &CheckOptions<'_>,
) -> Finding {
    let ends = |span: Span| {
        let range = span.range();
        (lines.position(text, range.start), lines.position(text, range.end))
    };
    let (start, end) = ends(diagnostic.span);
    let edits = diagnostic.fix.iter().flat_map(|fix| &fix.edits);
    Finding {
        rule: diagnostic.rule,
        severity: diagnostic.effective(options.strict),
        start,
        end,
        edits: edits.map(|edit| ends(edit.span)).collect(),
        excerpt: options.excerpts.then(|| Excerpt::new(text, lines, diagnostic.span)),
        message: diagnostic.message,
        help: diagnostic.help,
        fix: diagnostic.fix,
        file: diagnostic.file,
    }
}

/// A finding without its line, and without a fix that repeats what the line says.
fn unquoted_finding(
    mut diagnostic: Diagnostic,
    text: &str,
    lines: &LineIndex,
    options: &CheckOptions<'_>,
) -> Finding {
    if diagnostic.fix.take().is_some() {
        diagnostic.help = None;
    }
    finding(diagnostic, text, lines, &CheckOptions { excerpts: false, ..*options })
}

/// A key for finding duplicate names: names are unique among the skills of one folder, ignoring case (AFL §4, rule 6). No
/// other specification asks for it.
fn name_key(source: &Source<'_>, checked: &Checked<'_>) -> Option<u64> {
    if source.form == Form::Yaml || !checked.skill.has_layer("agent-flow") {
        return None;
    }
    let name = checked.skill.name_text()?;
    let parent = source.path.parent()?;
    // A tool pack `x.tool.json` is a file in the folder; every other skill is a subfolder.
    let folder = if source.directory.is_some() { parent.parent()? } else { parent };
    let mut hasher = DefaultHasher::new();
    folder.as_os_str().hash(&mut hasher);
    comparable_name(name).hash(&mut hasher);
    Some(hasher.finish())
}

fn not_unique(checked: &Checked<'_>, rival: &str) -> Diagnostic {
    let rule = rules::by_name("name-not-unique").expect("the rule is in the list of rules");
    let name = checked.skill.name.as_ref();
    let span = name.map_or(checked.document.opening, |name| name.span);
    let text = name.map_or("", |name| name.as_str());
    rule.at(span, format!("the name `{text}` is taken by `{rival}`"))
        .help("give each skill in a folder its own name")
}

/// Prints the findings of a file that a verb can't use to stderr, and returns them as JSON.
pub(crate) fn print_problems(
    loaded: &Loaded,
    dialect: Option<&'static Dialect>,
    printer: &mut Printer,
) -> Vec<Value> {
    let options = CheckOptions {
        dialect,
        strict: false,
        least: Severity::Warning,
        clean_files: false,
        excerpts: true,
        reader: FindingsReader::Anyone,
        clients: &[],
    };
    let examined = examine(&Source::from(loaded), &options, None);
    let reports: Vec<FileReport> = examined.report.into_iter().collect();
    printer.talk_report(|colour| full::render(&reports, colour));
    reports.iter().flat_map(json::diagnostics).collect()
}
