//! The code of the product: its public items, and which names it uses outside of tests.

use std::collections::{BTreeMap, BTreeSet};

use super::rust_tests::{Kind, Token, closing, is, tokens};

/// A public item of a library crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    pub(super) krate: String,
    pub(super) name: String,
    pub(super) file: String,
    /// Counted from 1.
    pub(super) line: usize,
}

/// Names are compared without their paths, so an item counts as used when anything of its name is. What is reported as unused
/// is unused; the reverse does not hold.
#[derive(Debug, Default)]
pub(super) struct Product {
    items: Vec<Item>,
    /// Name → crates whose code uses it.
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Product {
    /// Takes a file of a crate's `src` folder. Items for tests are left out.
    pub(super) fn add(&mut self, krate: &str, file: &str, source: &str) {
        let all = tokens(source);
        let code: Vec<Token> =
            all.into_iter().filter(|token| token.kind != Kind::Comment).collect();
        let text = |at: usize| code.get(at).map_or("", |token| &source[token.range.clone()]);
        let mut at = 0;
        let mut is_public = false;
        while at < code.len() {
            let word = text(at);
            match code[at].kind {
                Kind::Punctuation if word == "#" && is_test_only(&code, source, at) => {
                    at = after_item(&code, source, at);
                    is_public = false;
                    continue;
                }
                Kind::Literal => {
                    for name in inlined(word) {
                        self.used(krate, name);
                    }
                }
                Kind::Word if word == "use" => {
                    while at < code.len() && text(at) != ";" {
                        at += 1;
                    }
                }
                Kind::Word if word == "impl" => {
                    // The type that is implemented is not used by that.
                    while at < code.len() && !matches!(text(at), "{" | "where" | ";" | ")" | "]") {
                        at += 1;
                    }
                    continue;
                }
                Kind::Word if word == "pub" => {
                    is_public = text(at + 1) != "(";
                    at += 1;
                    continue;
                }
                // Before the keyword that matters: `pub const fn`, `pub async fn`.
                Kind::Word
                    if matches!(word, "async" | "unsafe" | "extern")
                        || word == "const" && matches!(text(at + 1), "fn" | "unsafe" | "async") =>
                {
                    at += 1;
                    continue;
                }
                Kind::Word if is_definition(word) => {
                    if is_public && word != "mod" {
                        self.items.push(Item {
                            krate: krate.to_owned(),
                            name: text(at + 1).to_owned(),
                            file: file.to_owned(),
                            line: 1 + source[..code[at].range.start].matches('\n').count(),
                        });
                    }
                    at += 1;
                }
                Kind::Word => self.used(krate, word),
                Kind::Punctuation | Kind::Comment => {}
            }
            is_public = false;
            at += 1;
        }
    }

    fn used(&mut self, krate: &str, name: &str) {
        if let Some(crates) = self.uses.get_mut(name) {
            crates.insert(krate.to_owned());
        } else {
            self.uses.insert(name.to_owned(), [krate.to_owned()].into());
        }
    }

    /// Public items that nothing but tests uses.
    pub(super) fn for_tests_only(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !self.uses.contains_key(&item.name))
    }

    /// Whether a crate has a public item of this name.
    pub(super) fn has(&self, krate: &str, name: &str) -> bool {
        self.items.iter().any(|item| item.krate == krate && item.name == name)
    }

    /// Whether code of another crate uses a name.
    pub(super) fn is_used_outside(&self, krate: &str, name: &str) -> bool {
        self.uses.get(name).is_some_and(|crates| crates.iter().any(|other| other != krate))
    }
}

fn is_definition(word: &str) -> bool {
    matches!(
        word,
        "fn" | "struct" | "enum" | "trait" | "const" | "static" | "type" | "union" | "mod"
    )
}

/// `#[cfg(test)]` and `#[cfg(all(test, …))]`, and not `#[cfg(not(test))]`.
fn is_test_only(code: &[Token], source: &str, at: usize) -> bool {
    if !is(code, source, at + 1, "[") {
        return false;
    }
    let words: Vec<&str> = code[at + 2..closing(code, source, at + 1).min(code.len())]
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .map(|token| &source[token.range.clone()])
        .collect();
    words.first() == Some(&"cfg") && words.contains(&"test") && !words.contains(&"not")
        || words == ["test"]
}

/// The token after the item that an attribute stands before.
fn after_item(code: &[Token], source: &str, attribute: usize) -> usize {
    let mut at = attribute;
    while is(code, source, at, "#") {
        at = closing(code, source, at + 1) + 1;
    }
    while at < code.len() {
        match &source[code[at].range.clone()] {
            ";" | "," => return at + 1,
            "{" => return closing(code, source, at) + 1,
            "(" | "[" => at = closing(code, source, at) + 1,
            _ => at += 1,
        }
    }
    at
}

/// Names in a format string: `{NAME}` and `{name:?}`.
fn inlined(literal: &str) -> impl Iterator<Item = &str> {
    literal.split('{').skip(1).filter_map(|rest| {
        let end =
            rest.find(|character: char| !(character.is_alphanumeric() || character == '_'))?;
        (end > 0).then(|| &rest[..end])
    })
}
