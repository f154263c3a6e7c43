//! What each client makes of a file: loads it, loads it without its description, or drops it, and why.
//!
//! The clients' rules are data, see [`Client`]; their sources stand beside them. What no source says is not claimed.

mod table;

use crate::diagnostic::{Diagnostic, Severity};
use crate::dialect;
use crate::document::yaml::{Mapping, Node};
use crate::document::{Document, Form, FrontMatter};
use crate::read::{Checked, ReadOptions, check};
use crate::rules::Place;

pub use table::CLIENTS;

/// What becomes of a skill in a client, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It is there, with its description.
    Loads,
    /// It is there, but the model never reads the description that its author wrote.
    LoadsWithoutDescription,
    /// It is not there.
    Dropped,
}

impl Outcome {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Loads => "loads",
            Outcome::LoadsWithoutDescription => "loads-without-description",
            Outcome::Dropped => "dropped",
        }
    }

    /// The outcome in a sentence, behind the name of the skill.
    pub fn phrase(self) -> &'static str {
        match self {
            Outcome::Loads => "loads",
            Outcome::LoadsWithoutDescription => "loads without its description",
            Outcome::Dropped => "is dropped",
        }
    }
}

/// A program that reads SKILL.md files, by its rules.
#[derive(Debug)]
pub struct Client {
    /// The word for `--for`.
    pub id: &'static str,
    /// Its name.
    pub title: &'static str,
    /// What it is and how it reads, in one sentence.
    pub about: &'static str,
    /// Where its rules were read.
    pub source: &'static str,
    /// The spellings of the file that it looks for.
    pub file_names: &'static [&'static str],
    /// The most bytes of a file that it opens.
    pub most_bytes: Option<usize>,
    /// A file that is not UTF-8.
    pub invalid_utf8: Outcome,
    /// What it forgives before and on the opening fence.
    pub opening: Opening,
    /// A file without front matter that it recognises.
    pub without_front_matter: Outcome,
    /// Front matter that is not YAML.
    pub broken_yaml: BrokenYaml,
    /// What it wants of `name`.
    pub name: NameRule,
    /// What it wants of `description`.
    pub description: DescriptionRule,
    /// A `metadata` that is not a map.
    pub metadata_not_a_map: Outcome,
    /// A `name`, `description` or `metadata` that is given twice.
    pub given_twice: Outcome,
    /// A skill with `disable-model-invocation: true`.
    pub disabled_for_the_model: Outcome,
    /// The dialect whose strict check decides, where a client is a specification.
    pub strict: Option<&'static str>,
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// What a client forgives before and on the opening fence.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is forgiven or not, by itself")]
pub struct Opening {
    /// A byte order mark in front of it.
    pub byte_order_mark: bool,
    /// Blank lines in front of it.
    pub blank_lines: bool,
    /// Blanks behind its three dashes.
    pub trailing_blanks: bool,
    /// Lines that end with a carriage return alone, as on old Macs.
    pub lone_carriage_returns: bool,
}

/// What a client does with front matter that is not YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenYaml {
    /// The skill is gone.
    Drops,
    /// Values on one line are put in quotes and read again; anything else loses every field, and the body stays.
    QuotesValues,
    /// `key: value` lines are read one by one; `indented` ones too, where the client allows it.
    ReadsLines {
        /// Whether a key may stand behind blanks.
        indented: bool,
    },
}

/// What a client wants of `name`.
#[derive(Clone, Copy, Debug)]
pub struct NameRule {
    /// The directory's name stands in for a missing one.
    pub from_directory: bool,
    /// The most characters; a longer name drops the skill.
    pub most: Option<usize>,
    /// A number or a boolean in its place drops the skill.
    pub text_only: bool,
}

/// What a client wants of `description`.
#[derive(Clone, Copy, Debug)]
pub struct DescriptionRule {
    /// A skill without one.
    pub missing: Outcome,
    /// The most characters; a longer one drops the skill.
    pub most: Option<usize>,
    /// The most characters that the catalogue shows, `when_to_use` included.
    pub shown: Option<usize>,
    /// A number or a boolean in its place drops the skill.
    pub text_only: bool,
}

/// What a client makes of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The client.
    pub client: &'static Client,
    /// What becomes of the skill.
    pub outcome: Outcome,
    /// Why, each with the next step; also a skill that loads may have some.
    pub reasons: Vec<String>,
}

/// The client of an id.
pub fn by_id(id: &str) -> Option<&'static Client> {
    CLIENTS.iter().copied().find(|client| client.id == id)
}

/// The ids of all clients.
pub fn ids() -> Vec<&'static str> {
    CLIENTS.iter().map(|client| client.id).collect()
}

/// What a client makes of a file with this name in this directory.
pub fn verdict(
    checked: &Checked<'_>,
    file_name: &str,
    directory: Option<&str>,
    client: &'static Client,
) -> Verdict {
    let mut judge = Judge { client, outcome: Outcome::Loads, reasons: Vec::new() };
    judge.file(checked, file_name);
    match client.strict {
        Some(id) => judge.specification(checked, directory, id),
        None => judge.front_matter(checked, directory),
    }
    Verdict { client, outcome: judge.outcome, reasons: judge.reasons }
}

struct Judge {
    client: &'static Client,
    outcome: Outcome,
    reasons: Vec<String>,
}

impl Judge {
    /// Adds a reason; the worst outcome counts.
    fn find(&mut self, outcome: Outcome, reason: String) {
        self.outcome = self.outcome.max(outcome);
        self.reasons.push(reason);
    }

    fn file(&mut self, checked: &Checked<'_>, file_name: &str) {
        let client = self.client;
        if !client.file_names.contains(&file_name) {
            let wanted = crate::text::alternatives(client.file_names);
            self.find(
                Outcome::Dropped,
                format!(
                    "the file is called `{file_name}`, and {} looks for {wanted} only: rename it",
                    client.title
                ),
            );
        }
        let bytes = checked.document.text.len();
        if let Some(most) = client.most_bytes.filter(|most| bytes > *most) {
            self.find(
                Outcome::Dropped,
                format!("the file has {bytes} bytes, and {} opens at most {most}: move material into files beside it", client.title),
            );
        }
        if has(checked, "invalid-utf8") && client.invalid_utf8 != Outcome::Loads {
            self.find(
                client.invalid_utf8,
                format!(
                    "the file is not UTF-8, which {} can't read: save it as UTF-8",
                    client.title
                ),
            );
        }
    }

    /// The strict check of a dialect, in the words of its findings.
    fn specification(&mut self, checked: &Checked<'_>, directory: Option<&str>, id: &str) {
        let options = ReadOptions {
            form: Form::Markdown,
            dialect: dialect::by_id(id),
            place: Place { directory, files: None },
        };
        let strict = check(checked.document.text, options);
        let errors = strict.diagnostics.iter().filter(|found| found.strict == Severity::Error);
        for error in errors.take(MOST_REASONS) {
            let help = error.help.as_deref().map_or_else(String::new, |help| format!(": {help}"));
            self.find(Outcome::Dropped, format!("{}{help}", error.message));
        }
    }

    fn front_matter(&mut self, checked: &Checked<'_>, directory: Option<&str>) {
        if let Some((cause, step)) = self.unrecognised(checked) {
            let outcome = self.client.without_front_matter;
            let instead = match outcome {
                Outcome::LoadsWithoutDescription => {
                    ", and the first paragraph stands in for the description"
                }
                Outcome::Loads | Outcome::Dropped => "",
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
                Outcome::Dropped,
                format!("the front matter is not valid YAML{line}, and {title} skips such a file: {next}"),
            ),
            BrokenYaml::QuotesValues if only_lacks_quotes(checked) => {
                self.find(
                    Outcome::Loads,
                    format!("the front matter is not valid YAML{line}, and {title} reads the value as if it were in quotes; others will not: {next}"),
                );
                self.fields(&checked.document.root, checked, directory);
            }
            BrokenYaml::QuotesValues => self.find(
                Outcome::LoadsWithoutDescription,
                format!("the front matter is not valid YAML{line}, and {title} then ignores every field of it: {next}"),
            ),
            BrokenYaml::ReadsLines { indented } => {
                self.lines(checked.document.yaml.slice(checked.document.text), directory, indented, &line);
            }
        }
    }

    /// Why the client sees no front matter, if it sees none, and what to do about it.
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
                "the front matter names a language behind `---`".to_owned(),
                "write the three dashes alone",
            ))
        } else if document.front_matter == FrontMatter::Absent {
            Some((
                "there is no front matter".to_owned(),
                "begin the file with `---`, `name`, `description` and `---`",
            ))
        } else if document.text.starts_with('\u{feff}') && !opening.byte_order_mark {
            Some((blind("a byte order mark stands before `---`"), "save the file without it"))
        } else if has(checked, "blank-lines-before-fence") && !opening.blank_lines {
            Some((blind("blank lines stand before `---`"), "remove them"))
        } else if trailing.is_some() && !opening.trailing_blanks {
            Some((blind("blanks stand behind the opening `---`"), "remove them"))
        } else if ends_with_lone_return(document) && !opening.lone_carriage_returns {
            let what = "its lines end with a carriage return alone";
            Some((blind(what), "save the file with the line breaks of Unix or Windows"))
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
                    Outcome::Dropped,
                    format!(
                        "`{key}` is {}, and {title} takes text only: put it in quotes",
                        node.kind()
                    ),
                );
            }
        }
        if let Some(metadata) = root.get("metadata").filter(|node| node.mapping().is_none())
            && client.metadata_not_a_map != Outcome::Loads
        {
            let kind = metadata.kind();
            self.find(
                client.metadata_not_a_map,
                format!("`metadata` is {kind}, and {title} takes a map only: write it as one or remove it"),
            );
        }
        let twice = checked.diagnostics.iter().find(|found| {
            let key = found.span.slice(checked.document.text);
            found.rule.name == "duplicate-key" && matches!(key, "name" | "description" | "metadata")
        });
        if let Some(twice) = twice.filter(|_| client.given_twice != Outcome::Loads) {
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
        if disabled && client.disabled_for_the_model != Outcome::Loads {
            self.find(
                client.disabled_for_the_model,
                "`disable-model-invocation` keeps the description from the model: only the user can start the skill, by its name".to_owned(),
            );
        }
    }

    /// Front matter that is not YAML, read by a client that looks for `key: value` lines.
    fn lines(&mut self, yaml: &str, directory: Option<&str>, indented: bool, line: &str) {
        let value = |key: &str| {
            yaml.lines().find_map(|line| {
                let line = if indented { line.trim_start() } else { line };
                line.strip_prefix(key)?.strip_prefix(':').map(|value| value.trim().to_owned())
            })
        };
        let title = self.client.title;
        self.find(
            Outcome::Loads,
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
                Outcome::LoadsWithoutDescription,
                format!("the description begins on the next line, and {title} then takes `{indicator}` for all of it: write it on one line"),
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
                Outcome::Dropped,
                format!("`name` is missing, and {title} does not take the directory's instead: add `name`"),
            );
        }
        let name = name.or_else(|| directory.map(one_line)).unwrap_or_default();
        let length = name.chars().count();
        if let Some(most) = rule.most.filter(|most| length > *most) {
            self.find(
                Outcome::Dropped,
                format!(
                    "the name has {length} characters, and {title} takes at most {most}: shorten it"
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
                Outcome::LoadsWithoutDescription => format!(
                    "`description` is missing, and {title} shows the first paragraph instead: add `description`"
                ),
                Outcome::Loads | Outcome::Dropped => format!(
                    "`description` is missing, and {title} skips such a skill: add `description`"
                ),
            };
            return self.find(rule.missing, reason);
        };
        let length = description.chars().count();
        if let Some(most) = rule.most.filter(|most| length > *most) {
            self.find(
                Outcome::Dropped,
                format!("the description has {length} characters, and {title} takes at most {most}: shorten it"),
            );
        }
        let length = length + when_to_use.map_or(0, |text| one_line(&text).chars().count());
        if let Some(shown) = rule.shown.filter(|shown| length > *shown) {
            self.find(
                Outcome::Loads,
                format!("the description with `when_to_use` has {length} characters, and {title} shows the first {shown}: put what matters first"),
            );
        }
    }
}

const MOST_REASONS: usize = 20;

fn has(checked: &Checked<'_>, rule: &str) -> bool {
    checked.diagnostics.iter().any(|found| found.rule.name == rule)
}

/// Whether nothing but a carriage return ends the line of the opening fence.
fn ends_with_lone_return(document: &Document<'_>) -> bool {
    let rest = document.text.get(document.opening.end as usize..).unwrap_or_default();
    let line_break = rest.find(['\r', '\n']).map_or("", |at| &rest[at..]);
    line_break.starts_with('\r') && !line_break.starts_with("\r\n")
}

/// The line of the first thing that is not YAML.
fn broken_line(checked: &Checked<'_>) -> Option<usize> {
    let rules = ["repaired-yaml", "invalid-yaml", "front-matter-not-a-map", "yaml-limit"];
    let found = checked.diagnostics.iter().find(|found| rules.contains(&found.rule.name))?;
    let text = checked.document.text;
    Some(crate::span::LineIndex::new(text).position(text, found.span.start as usize).line)
}

/// Whether quotes around values on one line are all that the front matter lacks.
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

/// Runs of white space as one blank, which is how the clients count.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
