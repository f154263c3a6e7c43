//! Finds front matter that no reader recognises, because its fences are missing, misspelt or not at the start of the file.

use super::fence::{self, Line, lines_from};
use super::yaml;
use crate::client;
use crate::diagnostic::{Diagnostic, Edit, Findings, Fix};
use crate::rules;
use crate::span::Span;
use crate::text::{is_deceptive, shorten, visible};

/// How many lines are searched: front matter is at the top, and the work stays small on hostile input.
const MOST_LINES: usize = 200;

/// The finding about the front matter of a text that does not begin with `---`.
pub(super) fn find(text: &str) -> Option<Diagnostic> {
    let lines: Vec<Line<'_>> = lines_from(text, fence::text_start(text)).take(MOST_LINES).collect();
    let first = lines.iter().position(|line| !line.text.trim().is_empty())?;
    let search = Search { text, lines: &lines[first..] };
    search
        .dashes()
        .or_else(|| search.toml())
        .or_else(|| search.code_block())
        .or_else(|| search.unfenced())
        .or_else(|| search.further_down())
}

/// The lines from the first one with text.
struct Search<'s> {
    text: &'s str,
    lines: &'s [Line<'s>],
}

impl Search<'_> {
    /// `----`, `———` or `--- yaml` instead of `---`.
    fn dashes(&self) -> Option<Diagnostic> {
        let opening = self.lines[0];
        let line = opening.text.trim_end();
        let is_ruler = is_ruler(line.trim_matches(is_deceptive));
        if !is_ruler && !line.starts_with("---") {
            return None;
        }
        let closing = self.lines[1..].iter().find(|line| self::is_ruler(line.text.trim_end()))?;
        self.fields(opening.next, closing.start).filter(|fields| fields.any())?;
        let fences = [opening, *closing].map(|fence| span_of(&fence));
        let wrong = fences.into_iter().filter(|fence| fence.slice(self.text) != "---");
        let edits = wrong.map(|fence| Edit::replace(fence, "---")).collect();
        let title = "write the fences as `---`";
        let fix = if is_ruler { Fix::safe(title, edits) } else { Fix::suggested(title, edits) };
        let shown = visible(&shorten(line, 20)).into_owned();
        let what = format!("the front matter begins with `{shown}` instead of `---`");
        Some(finding(span_of(&opening), &what, "write three hyphens and nothing else").fix(fix))
    }

    /// `+++`, the fence of TOML front matter.
    fn toml(&self) -> Option<Diagnostic> {
        let is_fence = |line: &Line<'_>| line.text.trim_end() == "+++";
        let opening = self.lines[0];
        if !is_fence(&opening) {
            return None;
        }
        let found = finding(
            span_of(&opening),
            "the front matter is TOML",
            "write the front matter in YAML between two lines `---`",
        );
        let closing = self.lines[1..].iter().position(is_fence).map(|at| at + 1);
        let Some(closing) = closing else { return Some(found) };
        let rewritten = self.lines[1..closing].iter().map(yaml_of_toml).collect::<Option<String>>();
        let Some(rewritten) = rewritten.filter(|yaml| Fields::of(yaml).is_some()) else {
            return Some(found);
        };
        let whole = span_of(&opening).join(span_of(&self.lines[closing]));
        let edit = Edit::replace(whole, format!("---\n{rewritten}---"));
        Some(found.fix(Fix::suggested("rewrite the front matter as YAML", vec![edit])))
    }

    /// A code block at the start of the file that holds the front matter.
    fn code_block(&self) -> Option<Diagnostic> {
        let opening = self.lines[0];
        let marker = code_marker(opening.text)?;
        let is_closing = |line: &Line<'_>| line.text.trim() == marker;
        let inner = self.lines[1..].iter().find(|line| !line.text.trim().is_empty())?;
        let found = finding(
            span_of(&opening),
            "the front matter is inside a code block",
            "begin the file with `---`, outside any code block",
        );
        let removal = |line: &Line<'_>| Edit::replace(Span::new(line.start, line.next), "");
        if is_fence(inner.text) {
            let after = self.after(inner);
            let end = after.iter().position(|line| is_fence(line.text))?;
            self.fields(inner.next, after[end].start).filter(|fields| fields.any())?;
            let next = after[end + 1..].iter().find(|line| !line.text.trim().is_empty());
            if let Some(closing) = next.filter(|line| is_closing(line)) {
                let edits = vec![removal(&opening), removal(closing)];
                return Some(found.fix(Fix::safe("remove the code block's fences", edits)));
            }
            // The block holds the whole file, as models write it when asked for a file.
            let last = lines_from(self.text, after[end].next)
                .filter(|line| !line.text.trim().is_empty())
                .last()
                .filter(is_closing);
            return Some(match last {
                Some(closing) => {
                    let edits = vec![removal(&opening), removal(&closing)];
                    found.fix(Fix::suggested("remove the code block's fences", edits))
                }
                None => found,
            });
        }
        let closing = self.lines[1..].iter().find(|line| is_closing(line))?;
        self.fields(opening.next, closing.start).filter(|fields| fields.both())?;
        let edits = [opening, *closing].map(|line| Edit::replace(span_of(&line), "---")).to_vec();
        Some(found.fix(Fix::suggested("turn the code block into front matter", edits)))
    }

    /// `name: …` and `description: …` without an opening fence.
    fn unfenced(&self) -> Option<Diagnostic> {
        let opening = self.lines[0];
        fence::key_of(opening.text).filter(|(key, _)| matches!(*key, "name" | "description"))?;
        let end = fence::probable_end(self.text, opening.start);
        self.fields(opening.start, end).filter(|fields| fields.both())?;
        let found = finding(
            span_of(&opening),
            "the front matter has no fences",
            "put a line `---` before and after the fields",
        );
        let begin = Edit::replace(Span::at(opening.start), self.fence());
        let next = lines_from(self.text, end).find(|line| !line.text.trim().is_empty());
        // The closing fence proves where the fields end.
        Some(found.fix(match next {
            Some(next) if is_fence(next.text) => Fix::safe("add the opening `---`", vec![begin]),
            _ => {
                let close = Edit::replace(Span::at(end), self.fence());
                Fix::suggested("add the fences", vec![begin, close])
            }
        }))
    }

    /// Front matter below other text, or with an indented fence.
    fn further_down(&self) -> Option<Diagnostic> {
        let mut code: Option<&str> = None;
        for (at, line) in self.lines.iter().enumerate() {
            let marker = code_marker(line.text);
            match (code, marker) {
                (Some(open), Some(marker)) if marker.starts_with(open) => code = None,
                (None, Some(marker)) => code = Some(marker),
                _ => {}
            }
            if code.is_some() || line.text.trim() != "---" {
                continue;
            }
            let rest = &self.lines[at + 1..];
            let Some(closing) = rest.iter().find(|line| line.text.trim() == "---") else { break };
            let inside = &self.text[line.next..closing.start];
            let indent = line.text.len() - line.text.trim_start().len();
            let fields = outdented(inside, indent);
            if !Fields::of(&fields).is_some_and(|fields| fields.both()) {
                continue;
            }
            let what = match at {
                0 if indent > 0 => "the fence `---` is indented".to_owned(),
                _ => "other text comes before the front matter".to_owned(),
            };
            let start = fence::text_start(self.text);
            let found = finding(span_of(line), &what, "move it to the start of the file");
            let moved = Edit::replace(Span::at(start), format!("{0}{fields}{0}", self.fence()));
            let removed = Edit::replace(Span::new(line.start, closing.next), "");
            // An insertion and a removal that touch are one edit.
            let edits = if line.start == start {
                vec![Edit::replace(removed.span, moved.text)]
            } else {
                vec![moved, removed]
            };
            return Some(found.fix(Fix::suggested("move the front matter to the top", edits)));
        }
        None
    }

    /// A line `---`, with the line break of the file.
    fn fence(&self) -> &'static str {
        if self.text.contains("\r\n") { "---\r\n" } else { "---\n" }
    }

    fn fields(&self, start: usize, end: usize) -> Option<Fields> {
        Fields::of(self.text.get(start..end)?)
    }

    /// The lines after one of them.
    fn after(&self, line: &Line<'_>) -> &[Line<'_>] {
        let at = self.lines.iter().position(|other| other.start == line.start).unwrap_or_default();
        &self.lines[at + 1..]
    }
}

/// Which of the two fields that every client reads are in a YAML map.
struct Fields {
    name: bool,
    description: bool,
}

impl Fields {
    fn of(yaml: &str) -> Option<Self> {
        let mut ignored = Findings::default();
        let node = yaml::parse(yaml, 0, &mut ignored).ok()??;
        let map = node.mapping()?;
        Some(Self { name: map.has("name"), description: map.has("description") })
    }

    fn any(&self) -> bool {
        self.name || self.description
    }

    fn both(&self) -> bool {
        self.name && self.description
    }
}

fn finding(span: Span, what: &str, help: &str) -> Diagnostic {
    let clients = client::that_drop_prose();
    rules::MISPLACED_FRONT_MATTER.at(span, format!("{what}: {clients} drop this file")).help(help)
}

fn span_of(line: &Line<'_>) -> Span {
    Span::new(line.start, line.start + line.text.len())
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches([' ', '\t']) == "---"
}

/// Whether a line consists of dashes of any kind, as long as three hyphens in bytes: one long dash is enough.
fn is_ruler(line: &str) -> bool {
    let dash = |character: char| matches!(character, '-' | '‐' | '‑' | '–' | '—' | '−');
    !line.is_empty() && line.chars().all(dash) && line.len() >= 3
}

/// The marker of a line that opens or closes a fenced code block.
fn code_marker(line: &str) -> Option<&str> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then(|| &line[..length])
}

/// A line of TOML as YAML, where both write the value alike.
fn yaml_of_toml(line: &Line<'_>) -> Option<String> {
    let text = line.text.trim();
    if text.is_empty() || text.starts_with('#') {
        return Some(format!("{text}\n"));
    }
    let (key, value) = text.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let is_bare = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let simple = key.chars().all(is_bare) && !value.contains(['\\', '{']);
    let multi_line = value.starts_with("\"\"\"") || value.starts_with("'''");
    (simple && !key.is_empty() && !multi_line).then(|| format!("{key}: {value}\n"))
}

/// The text with up to `indent` spaces removed from the start of each line.
fn outdented(text: &str, indent: usize) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            let own = line.len() - line.trim_start_matches([' ', '\t']).len();
            &line[own.min(indent)..]
        })
        .collect()
}
