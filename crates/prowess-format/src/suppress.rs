//! Comments in a skill that allow a rule: `<!-- prowess: allow rule -->` in the body, `# prowess: allow rule` in the front
//! matter.

use memchr::memmem;

use crate::diagnostic::{Diagnostic, Rule};
use crate::document::Document;
use crate::rules;
use crate::span::Span;
use crate::text::{closest, shorten};

/// The most rules that one file allows.
const MOST: usize = 200;

/// The rules that a file allows, and findings about names that are not rules.
#[derive(Debug, Default)]
pub struct Allowed {
    /// The rules.
    pub rules: Vec<&'static Rule>,
    /// One finding per unknown name.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the comments of a file.
pub fn allowed(document: &Document<'_>) -> Allowed {
    let mut allowed = Allowed::default();
    let yaml = document.yaml.slice(document.text);
    let is_marked = |text: &str| memmem::find(text.as_bytes(), MARK.as_bytes()).is_some();
    if is_marked(yaml) {
        for line in yaml.split_inclusive('\n') {
            let start = line.as_ptr() as usize - document.text.as_ptr() as usize;
            // A comment is a whole line, or comes after white space: `a#b` is text.
            let comment = line
                .match_indices('#')
                .find(|(at, _)| line[..*at].is_empty() || line[..*at].ends_with([' ', '\t']));
            if let Some((at, _)) = comment {
                allowed.read(line[at + 1..].trim_end(), start + at + 1);
            }
        }
    }
    let body = document.body_text();
    if is_marked(body) {
        let base = document.body.start as usize;
        for (at, opening) in body.match_indices("<!--") {
            let start = at + opening.len();
            if let Some(length) = body[start..].find("-->") {
                allowed.read(&body[start..start + length], base + start);
            }
        }
    }
    allowed
}

const MARK: &str = "prowess:";

/// A name in a comment or in a settings file that is not a rule, with a suggestion.
pub fn unknown_rule(name: &str) -> String {
    let similar = closest(name, rules::ALL.iter().map(|rule| rule.name));
    let name = shorten(name, 60);
    match similar {
        Some(similar) => format!("no rule is called `{name}` (did you mean `{similar}`?)"),
        None => format!("no rule is called `{name}`"),
    }
}

impl Allowed {
    /// Reads the text of a comment that starts at an offset.
    fn read(&mut self, comment: &str, start: usize) {
        let Some(rest) = comment.trim_start().strip_prefix(MARK) else { return };
        let Some(names) = rest.trim_start().strip_prefix("allow") else { return };
        if !names.starts_with([' ', '\t', ':']) {
            return;
        }
        for name in names.split([' ', '\t', ',', ':', '\n', '\r']).filter(|name| !name.is_empty()) {
            if self.rules.len() + self.diagnostics.len() >= MOST {
                return;
            }
            match rules::by_name(name) {
                Some(rule) => self.rules.push(rule),
                None => {
                    let at = start + (name.as_ptr() as usize - comment.as_ptr() as usize);
                    self.diagnostics.push(
                        rules::UNKNOWN_RULE
                            .at(Span::new(at, at + name.len()), unknown_rule(name))
                            .help("write the code of a finding, such as `long-skill`"),
                    );
                }
            }
        }
    }
}
