//! Predicts how each client treats a file: loads it, loads it without its description, or drops it,
//! and why.
//!
//! The clients' rules are data, see [`Client`]; each names its source. Nothing is claimed without a
//! source.

mod table;

use crate::diagnostic::{Diagnostic, Severity};
use crate::dialect;
use crate::document::yaml::{Mapping, Node};
use crate::document::{Document, Form, FrontMatter};
use crate::read::{Checked, ReadOptions, check};
use crate::rules::{self, SkillLocation};

pub use table::CLIENTS;

/// The clients that drop a file without recognisable front matter, in words.
pub(crate) fn that_drop_prose() -> String {
    listed(|_| true)
}

/// The clients that see no front matter because of its opening fence, and then drop the file, in words.
pub(crate) fn that_drop(is_blind: fn(FenceTolerance) -> bool) -> String {
    listed(|client| is_blind(client.opening))
}

fn listed(is_meant: impl Fn(&Client) -> bool) -> String {
    let drop_prose = CLIENTS
        .iter()
        .filter(|client| client.without_front_matter == ClientOutcome::Dropped && is_meant(client));
    let titles: Vec<&str> = drop_prose.map(|client| client.title).collect();
    crate::text::enumeration(&titles)
}

/// How a client treats a skill, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientOutcome {
    /// The skill loads, with its description.
    Loads,
    /// The skill loads, but the model never reads the author's description.
    LoadsWithoutDescription,
    /// The client ignores the skill.
    Dropped,
}

impl ClientOutcome {
    /// The value in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            ClientOutcome::Loads => "loads",
            ClientOutcome::LoadsWithoutDescription => "loads-without-description",
            ClientOutcome::Dropped => "dropped",
        }
    }

    /// The outcome as the end of a sentence that starts with the skill's name.
    pub fn phrase(self) -> &'static str {
        match self {
            ClientOutcome::Loads => "loads",
            ClientOutcome::LoadsWithoutDescription => "loads without its description",
            ClientOutcome::Dropped => "is dropped",
        }
    }
}

/// A program that reads SKILL.md files, described by its rules.
#[derive(Debug)]
pub struct Client {
    /// The value of `--for`.
    pub id: &'static str,
    /// Display name.
    pub title: &'static str,
    /// One sentence about the client and how it reads files.
    pub about: &'static str,
    /// Source of its rules.
    pub source: &'static str,
    /// File names that it looks for.
    pub file_names: &'static [&'static str],
    /// Largest file that it opens, in bytes.
    pub most_bytes: Option<usize>,
    /// How it treats a file that is not UTF-8.
    pub invalid_utf8: ClientOutcome,
    /// What it tolerates before and on the opening fence.
    pub opening: FenceTolerance,
    /// How it treats a file without recognisable front matter.
    pub without_front_matter: ClientOutcome,
    /// How it treats front matter that is not valid YAML.
    pub broken_yaml: BrokenYaml,
    /// Requirements for `name`.
    pub name: NameRule,
    /// Requirements for `description`.
    pub description: DescriptionRule,
    /// How it treats a `metadata` that is not a map.
    pub metadata_not_a_map: ClientOutcome,
    /// How it treats a duplicate `name`, `description` or `metadata`.
    pub given_twice: ClientOutcome,
    /// How it treats a skill with `disable-model-invocation: true`.
    pub disabled_for_the_model: ClientOutcome,
    /// The dialect whose strict check decides, for a client that is a specification.
    pub strict: Option<&'static str>,
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// What a client tolerates before and on the opening fence.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is tolerated or not, independently")]
pub struct FenceTolerance {
    /// A byte order mark before the fence.
    pub byte_order_mark: bool,
    /// Blank lines before the fence.
    pub blank_lines: bool,
    /// Trailing spaces after the three dashes.
    pub trailing_blanks: bool,
    /// Lines that end with a lone carriage return.
    pub lone_carriage_returns: bool,
}

/// How a client treats front matter that is not valid YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenYaml {
    /// The skill is dropped.
    Drops,
    /// One-line values are quoted and read again; otherwise every field is lost and only the body
    /// remains.
    QuotesValues,
    /// `key: value` lines are read one by one; `indented` ones too, where the client allows it.
    ReadsLines {
        /// Whether a key may be indented.
        indented: bool,
    },
}

/// A client's requirements for `name`.
#[derive(Clone, Copy, Debug)]
pub struct NameRule {
    /// The directory name is used if `name` is missing.
    pub from_directory: bool,
    /// Maximum length in characters; a longer name drops the skill.
    pub most: Option<usize>,
    /// A number or a boolean drops the skill.
    pub text_only: bool,
}

/// A client's requirements for `description`.
#[derive(Clone, Copy, Debug)]
pub struct DescriptionRule {
    /// How it treats a skill without a description.
    pub missing: ClientOutcome,
    /// Maximum length in characters; a longer description drops the skill.
    pub most: Option<usize>,
    /// Number of characters that the catalogue shows, including `when_to_use`.
    pub shown: Option<usize>,
    /// A number or a boolean drops the skill.
    pub text_only: bool,
}

/// A client's treatment of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientVerdict {
    /// The client.
    pub client: &'static Client,
    /// Whether the skill loads.
    pub outcome: ClientOutcome,
    /// The reasons, each with the next step. A skill that loads may have some too.
    pub reasons: Vec<String>,
}

/// Looks up a client by its id.
pub fn by_id(id: &str) -> Option<&'static Client> {
    CLIENTS.iter().copied().find(|client| client.id == id)
}

/// The ids of all clients.
pub fn ids() -> Vec<&'static str> {
    CLIENTS.iter().map(|client| client.id).collect()
}

/// Predicts how a client treats a file with this name in this directory.
pub fn verdict(
    checked: &Checked<'_>,
    file_name: &str,
    directory: Option<&str>,
    client: &'static Client,
) -> ClientVerdict {
    let mut judge = Judge { client, outcome: ClientOutcome::Loads, reasons: Vec::new() };
    judge.file(checked, file_name);
    match client.strict {
        Some(id) => judge.specification(checked, directory, id),
        None => judge.front_matter(checked, directory),
    }
    ClientVerdict { client, outcome: judge.outcome, reasons: judge.reasons }
}

/// The finding about clients that drop a file of which nothing else warns: no file that a client drops passes without a
/// warning. The open standard is left out, because its verdict is that of `--strict`.
pub fn silent_drop(
    checked: &Checked<'_>,
    file_name: &str,
    directory: Option<&str>,
) -> Option<Diagnostic> {
    let is_warned = checked.diagnostics.iter().any(|found| found.severity >= Severity::Warning);
    // A user who names the dialect `prose` asks for a file that clients don't load.
    let is_prose = checked.document.front_matter == FrontMatter::Absent;
    if is_warned || is_prose || checked.document.form != Form::Markdown {
        return None;
    }
    let clients = CLIENTS.iter().filter(|client| client.strict.is_none());
    let dropping: Vec<ClientVerdict> = clients
        .map(|client| verdict(checked, file_name, directory, client))
        .filter(|verdict| verdict.outcome == ClientOutcome::Dropped)
        .collect();
    let reason = dropping.first()?.reasons.last()?.clone();
    let titles: Vec<&str> = dropping.iter().map(|verdict| verdict.client.title).collect();
    let verb = if titles.len() == 1 { "drops" } else { "drop" };
    let message = format!("{} {verb} this file", crate::text::enumeration(&titles));
    let found = rules::DROPPED_BY_CLIENT.at(checked.document.opening, message);
    Some(found.severity(Severity::Warning, Severity::Warning).help(reason))
}

struct Judge {
    client: &'static Client,
    outcome: ClientOutcome,
    reasons: Vec<String>,
}

impl Judge {
    /// Adds a reason and keeps the worst outcome.
    fn find(&mut self, outcome: ClientOutcome, reason: String) {
        self.outcome = self.outcome.max(outcome);
        self.reasons.push(reason);
    }

    fn file(&mut self, checked: &Checked<'_>, file_name: &str) {
        let client = self.client;
        if !client.file_names.contains(&file_name) {
            let wanted = crate::text::alternatives(client.file_names);
            self.find(
                ClientOutcome::Dropped,
                format!(
                    "the file is called `{file_name}`, but {} only looks for {wanted}: rename it",
                    client.title
                ),
            );
        }
        let bytes = checked.document.text.len();
        if let Some(most) = client.most_bytes.filter(|most| bytes > *most) {
            self.find(
                ClientOutcome::Dropped,
                format!("the file has {bytes} bytes, and {} opens at most {most}: move material into other files", client.title),
            );
        }
        if has(checked, "invalid-utf8") && client.invalid_utf8 != ClientOutcome::Loads {
            self.find(
                client.invalid_utf8,
                format!(
                    "the file is not UTF-8, which {} can't read: save it as UTF-8",
                    client.title
                ),
            );
        }
    }

    /// Applies the strict check of a dialect and reports its messages.
    fn specification(&mut self, checked: &Checked<'_>, directory: Option<&str>, id: &str) {
        let options = ReadOptions {
            form: Form::Markdown,
            dialect: dialect::by_id(id),
            place: SkillLocation { directory, files: None },
        };
        let strict = check(checked.document.text, options);
        let errors = strict.diagnostics.iter().filter(|found| found.strict == Severity::Error);
        for error in errors.take(MOST_REASONS) {
            let help = error.help.as_deref().map_or_else(String::new, |help| format!(": {help}"));
            self.find(ClientOutcome::Dropped, format!("{}{help}", error.message));
        }
    }

    fn front_matter(&mut self, checked: &Checked<'_>, directory: Option<&str>) {
        if let Some((cause, step)) = self.unrecognised(checked) {
            let outcome = self.client.without_front_matter;
            let instead = match outcome {
                ClientOutcome::LoadsWithoutDescription => {
                    ", and the first paragraph is used as the description"
                }
                ClientOutcome::Loads | ClientOutcome::Dropped => "",
            };
            return self.find(outcome, format!("{cause}{instead}: {step}"));
        }
        let broken = checked.document.front_matter == FrontMatter::Broken
            || has(checked, "repaired-yaml")
            || has(checked, "invalid-yaml");
        if !broken {
            self.fields(&checked.document.root, checked, directory);
            return;
        }
        let line = broken_line(checked).map_or_else(String::new, |line| format!(" (line {line})"));
        let next = "run `prowess check --fix`";
        let title = self.client.title;
        match self.client.broken_yaml {
            BrokenYaml::Drops => self.find(
                ClientOutcome::Dropped,
                format!("the front matter is not valid YAML{line}, and {title} skips such a file: {next}"),
            ),
            BrokenYaml::QuotesValues if only_lacks_quotes(checked) => {
                self.find(
                    ClientOutcome::Loads,
                    format!("the front matter is not valid YAML{line}; {title} reads the value as if it were quoted, but other clients do not: {next}"),
                );
                self.fields(&checked.document.root, checked, directory);
            }
            BrokenYaml::QuotesValues => self.find(
                ClientOutcome::LoadsWithoutDescription,
                format!("the front matter is not valid YAML{line}, and {title} then ignores every field of it: {next}"),
            ),
            BrokenYaml::ReadsLines { indented } => {
                self.lines(checked.document.yaml.slice(checked.document.text), directory, indented, &line);
            }
        }
    }

    /// Why the client does not recognise the front matter, and how to fix it.
    fn unrecognised(&self, checked: &Checked<'_>) -> Option<(String, &'static str)> {
        let document = &checked.document;
        let opening = self.client.opening;
        let blind =
            |what: &str| format!("{what}, and {} then sees no front matter", self.client.title);
        let on_opening_fence = |found: &&Diagnostic| found.span.start < document.yaml.start;
        let trailing = checked
            .diagnostics
            .iter()
            .filter(|found| found.rule.name == "fence-trailing-blanks")
            .find(on_opening_fence);
        if has(checked, "not-text") {
            Some(("the file is not text".to_owned(), "write a SKILL.md"))
        } else if document.form != Form::Markdown {
            Some(("the file is not Markdown with front matter".to_owned(), "write a SKILL.md"))
        } else if has(checked, "unterminated-front-matter") {
            Some(("the front matter is never closed".to_owned(), "end it with a line `---`"))
        } else if has(checked, "front-matter-language") {
            Some((
                "the front matter names a language after `---`".to_owned(),
                "write the three dashes alone",
            ))
        } else if document.front_matter == FrontMatter::Absent {
            Some((
                "there is no front matter".to_owned(),
                "begin the file with `---`, `name`, `description` and `---`",
            ))
        } else if document.text.starts_with('\u{feff}') && !opening.byte_order_mark {
            Some((blind("there is a byte order mark before `---`"), "save the file without it"))
        } else if has(checked, "blank-lines-before-fence") && !opening.blank_lines {
            Some((blind("there are blank lines before `---`"), "remove them"))
        } else if trailing.is_some() && !opening.trailing_blanks {
            Some((blind("there are spaces after the opening `---`"), "remove them"))
        } else if ends_with_lone_return(document) && !opening.lone_carriage_returns {
            let what = "its lines end with a lone carriage return";
            Some((blind(what), "save the file with Unix or Windows line endings"))
        } else {
            None
        }
    }

    fn fields(&mut self, root: &Mapping<'_>, checked: &Checked<'_>, directory: Option<&str>) {
        let client = self.client;
        let title = client.title;
        for (key, text_only) in
            [("name", client.name.text_only), ("description", client.description.text_only)]
        {
            let node = root.get(key).filter(|node| !node.is_null());
            if let Some(node) = node.filter(|node| text_only && node.kind() != "text") {
                self.find(
                    ClientOutcome::Dropped,
                    format!("`{key}` is {}, but {title} only accepts text: quote it", node.kind()),
                );
            }
        }
        if let Some(metadata) = root.get("metadata").filter(|node| node.mapping().is_none())
            && client.metadata_not_a_map != ClientOutcome::Loads
        {
            let kind = metadata.kind();
            self.find(
                client.metadata_not_a_map,
                format!("`metadata` is {kind}, but {title} only accepts a map: write it as one or remove it"),
            );
        }
        let twice = checked.diagnostics.iter().find(|found| {
            let key = found.span.slice(checked.document.text);
            found.rule.name == "duplicate-key" && matches!(key, "name" | "description" | "metadata")
        });
        if let Some(twice) = twice.filter(|_| client.given_twice != ClientOutcome::Loads) {
            self.find(
                client.given_twice,
                format!("{}, and {title} skips such a file: keep one of the two", twice.message),
            );
        }
        let text = |key: &str| root.get(key).and_then(Node::text).map(str::to_owned);
        self.name(text("name"), directory);
        self.description(text("description"), text("when_to_use"));
        let disabled = checked
            .skill
            .invocation
            .disable_model_invocation
            .as_ref()
            .is_some_and(|flag| flag.value)
            || root.get("disable-model-invocation").and_then(Node::boolean) == Some(true);
        if disabled && client.disabled_for_the_model != ClientOutcome::Loads {
            self.find(
                client.disabled_for_the_model,
                "`disable-model-invocation` hides the description from the model: only the user can invoke the skill, by name".to_owned(),
            );
        }
    }

    /// Reads invalid YAML the way a client does that looks for `key: value` lines.
    fn lines(&mut self, yaml: &str, directory: Option<&str>, indented: bool, line: &str) {
        let value = |key: &str| {
            yaml.lines().find_map(|line| {
                let line = if indented { line.trim_start() } else { line };
                line.strip_prefix(key)?.strip_prefix(':').map(|value| value.trim().to_owned())
            })
        };
        let title = self.client.title;
        self.find(
            ClientOutcome::Loads,
            format!("the front matter is not valid YAML{line}, and {title} reads it line by line: run `prowess check --fix`"),
        );
        self.name(value("name"), directory);
        let description = value("description");
        // A block scalar's first line is its indicator, and that is all such a reader gets.
        let block = description
            .as_deref()
            .filter(|text| matches!(*text, "|" | ">" | "|-" | ">-" | "|+" | ">+"));
        if let Some(indicator) = block.filter(|_| !indented) {
            return self.find(
                ClientOutcome::LoadsWithoutDescription,
                format!("the description begins on the next line, but {title} then reads only `{indicator}`: write it on one line"),
            );
        }
        self.description(description, None);
    }

    fn name(&mut self, name: Option<String>, directory: Option<&str>) {
        let rule = self.client.name;
        let title = self.client.title;
        let name = name.map(|name| one_line(&name)).filter(|name| !name.is_empty());
        if name.is_none() && !rule.from_directory {
            self.find(
                ClientOutcome::Dropped,
                format!("`name` is missing, and {title} does not fall back to the directory name: add `name`"),
            );
        }
        let name = name.or_else(|| directory.map(one_line)).unwrap_or_default();
        let length = name.chars().count();
        if let Some(most) = rule.most.filter(|most| length > *most) {
            self.find(
                ClientOutcome::Dropped,
                format!(
                    "the name has {length} characters, but {title} allows at most {most}: shorten it"
                ),
            );
        }
    }

    fn description(&mut self, description: Option<String>, when_to_use: Option<String>) {
        let rule = self.client.description;
        let title = self.client.title;
        let Some(description) =
            description.map(|text| one_line(&text)).filter(|text| !text.is_empty())
        else {
            let reason = match rule.missing {
                ClientOutcome::LoadsWithoutDescription => format!(
                    "`description` is missing, and {title} shows the first paragraph instead: add `description`"
                ),
                ClientOutcome::Loads | ClientOutcome::Dropped => format!(
                    "`description` is missing, and {title} skips such a skill: add `description`"
                ),
            };
            return self.find(rule.missing, reason);
        };
        let length = description.chars().count();
        if let Some(most) = rule.most.filter(|most| length > *most) {
            self.find(
                ClientOutcome::Dropped,
                format!("the description has {length} characters, but {title} allows at most {most}: shorten it"),
            );
        }
        let length = length + when_to_use.map_or(0, |text| one_line(&text).chars().count());
        if let Some(shown) = rule.shown.filter(|shown| length > *shown) {
            self.find(
                ClientOutcome::Loads,
                format!("the description with `when_to_use` has {length} characters, but {title} shows only the first {shown}: put the important part first"),
            );
        }
    }
}

const MOST_REASONS: usize = 20;

fn has(checked: &Checked<'_>, rule: &str) -> bool {
    checked.diagnostics.iter().any(|found| found.rule.name == rule)
}

/// Whether a lone carriage return ends the line of the opening fence.
fn ends_with_lone_return(document: &Document<'_>) -> bool {
    let rest = document.text.get(document.opening.end as usize..).unwrap_or_default();
    let line_break = rest.find(['\r', '\n']).map_or("", |at| &rest[at..]);
    line_break.starts_with('\r') && !line_break.starts_with("\r\n")
}

/// The first line that is not valid YAML.
fn broken_line(checked: &Checked<'_>) -> Option<usize> {
    let rules = ["repaired-yaml", "invalid-yaml", "front-matter-not-a-map", "yaml-limit"];
    let found = checked.diagnostics.iter().find(|found| rules.contains(&found.rule.name))?;
    let text = checked.document.text;
    Some(crate::span::LineIndex::new(text).position(text, found.span.start as usize).line)
}

/// Whether quoting one-line values would be enough to make the front matter valid.
fn only_lacks_quotes(checked: &Checked<'_>) -> bool {
    let quoted = |found: &Diagnostic| {
        let edits = found.fix.as_ref().map_or(&[][..], |fix| &fix.edits);
        let text = edits.first().map_or("", |edit| edit.text.as_str());
        let mark = text.chars().next().filter(|mark| matches!(mark, '"' | '\''));
        !text.contains('\n') && mark.is_some_and(|mark| text.len() > 1 && text.ends_with(mark))
    };
    let mut repairs =
        checked.diagnostics.iter().filter(|found| found.rule.name == "repaired-yaml").peekable();
    checked.document.front_matter == FrontMatter::Repaired
        && !has(checked, "invalid-yaml")
        && repairs.peek().is_some()
        && repairs.all(quoted)
}

/// Collapses white space, which is how the clients count characters.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
