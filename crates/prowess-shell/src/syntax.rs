//! The only file that knows the parser: texts to commands.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::{ShellCommand, ShellScript, ShellWord};

/// How often the parser may report progress, which it does every hundred steps or so. Ordinary scripts take a few reports per
/// kilobyte.
const MAX_REPORTS: usize = 200_000;

/// How many nodes of a tree are looked at.
const MAX_NODES: usize = 2_000_000;

/// What was read beside commands and functions.
pub(crate) struct Reading {
    /// Whether all of the text could be read.
    pub(crate) is_complete: bool,
    /// The places of comments, in the order of the text.
    pub(crate) comments: Vec<Range<usize>>,
}

/// Adds the commands and functions of a text.
pub(crate) fn read(text: &str, script: &mut ShellScript) -> Reading {
    let readable = without_long_lists(text);
    let is_whole = matches!(readable, Cow::Borrowed(_));
    let Some(tree) = tree(&readable) else {
        return Reading { is_complete: text.trim().is_empty(), comments: Vec::new() };
    };
    let first = script.commands.len();
    let mut reader = Reader { text, script, first, indices: HashMap::new(), comments: Vec::new() };
    let is_walked = reader.walk(&tree);
    reader.connect(&tree);
    let comments = reader.comments;
    Reading { is_complete: is_whole && is_walked && !tree.root_node().has_error(), comments }
}

/// How many operators a list or pipeline may have. The parser's memory grows with the square of it: 8,000 took 650 MB.
const MAX_OPERATORS: usize = 512;

/// The text with lists that are too long replaced by spaces, so that all places stay the same.
fn without_long_lists(text: &str) -> Cow<'_, str> {
    let mut blanked: Vec<Range<usize>> = Vec::new();
    let (mut start, mut operators) = (0, 0);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        operators += line.bytes().filter(|byte| matches!(byte, b'|' | b'&')).count();
        let goes_on = line.trim_end().ends_with(['|', '&', '\\']);
        if goes_on && at < text.len() {
            continue;
        }
        if operators > MAX_OPERATORS {
            blanked.push(start..at);
        }
        (start, operators) = (at, 0);
    }
    if blanked.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut readable = String::with_capacity(text.len());
    for range in blanked {
        readable.push_str(&text[readable.len()..range.start]);
        readable.extend(std::iter::repeat_n(' ', range.len()));
    }
    readable.push_str(&text[readable.len()..]);
    Cow::Owned(readable)
}

/// How many arrays a text may assign. Unclosed ones take the parser's recovery quadratic time: 8,000 took 1.6 s.
const MAX_ARRAYS: usize = 1_000;

fn tree(text: &str) -> Option<Tree> {
    if text.matches("=(").count() > MAX_ARRAYS {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let reports = Cell::new(0_usize);
    let mut progress = |_: &ParseState| {
        reports.set(reports.get() + 1);
        if reports.get() > MAX_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let bytes = text.as_bytes();
    let options = ParseOptions::new().progress_callback(&mut progress);
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

struct Reader<'t> {
    text: &'t str,
    script: &'t mut ShellScript,
    /// The index of the first command of this text.
    first: usize,
    /// The command of each node, by its id.
    indices: HashMap<usize, usize>,
    comments: Vec<Range<usize>>,
}

/// How many commands of one stage of a pipeline are connected with those of the next.
const MAX_CONNECTED: usize = 32;

impl<'t> Reader<'t> {
    fn walk(&mut self, tree: &Tree) -> bool {
        for_each(tree.root_node(), &mut |node, _| match node.kind() {
            "command" => {
                let command = self.command(node);
                self.indices.insert(node.id(), self.script.commands.len());
                self.script.commands.push(command);
            }
            "function_definition" => {
                if let Some(name) = node.child_by_field_name("name") {
                    self.script.functions.insert(self.source(name).to_owned());
                }
            }
            "comment" => self.comments.push(node.byte_range()),
            _ => {}
        })
    }

    /// Says of each command whose output it reads. A substitution is read by the nearest command around it.
    fn connect(&mut self, tree: &Tree) {
        let mut feeds: Vec<(usize, usize)> = Vec::new();
        let mut documents: Vec<(usize, String)> = Vec::new();
        let mut around: Vec<(u32, usize)> = Vec::new();
        for_each(tree.root_node(), &mut |node, depth| {
            while around.last().is_some_and(|(outer, _)| *outer >= depth) {
                around.pop();
            }
            match node.kind() {
                "pipeline" => {
                    let mut cursor = node.walk();
                    let stages: Vec<Range<usize>> = node
                        .named_children(&mut cursor)
                        .map(|stage| self.commands_in(stage))
                        .collect();
                    for pair in stages.windows(2) {
                        for from in pair[0].clone().take(MAX_CONNECTED) {
                            feeds.extend(pair[1].clone().take(MAX_CONNECTED).map(|to| (from, to)));
                        }
                    }
                }
                "command" => {
                    if let Some(index) = self.indices.get(&node.id()) {
                        around.push((depth, *index));
                        documents.extend(self.here_document(node).map(|text| (*index, text)));
                    }
                }
                "redirected_statement" => {
                    let body = node.child_by_field_name("body");
                    if let Some(index) = body.and_then(|body| self.indices.get(&body.id())) {
                        around.push((depth, *index));
                        documents.extend(self.here_document(node).map(|text| (*index, text)));
                    }
                }
                "command_substitution" | "process_substitution" => {
                    if let Some((_, to)) = around.last() {
                        let from = self.commands_in(node).take(MAX_CONNECTED);
                        feeds.extend(from.map(|from| (from, *to)));
                    }
                }
                _ => {}
            }
        });
        for (from, to) in feeds {
            let command = &mut self.script.commands[to];
            if from != to
                && command.reads_from.len() < MAX_CONNECTED
                && !command.reads_from.contains(&from)
            {
                command.reads_from.push(from);
            }
        }
        for (index, text) in documents {
            self.script.commands[index].here_document = Some(text);
        }
    }

    /// The commands inside a node: they are in the order of the text.
    fn commands_in(&self, node: Node<'_>) -> Range<usize> {
        let Range { start, end } = node.byte_range();
        let commands = &self.script.commands[self.first..];
        let low = commands.partition_point(|command| command.span.start < start);
        let high = commands.partition_point(|command| command.span.start < end);
        self.first + low..self.first + high.max(low)
    }

    fn command(&self, node: Node<'_>) -> ShellCommand {
        let name = node.child_by_field_name("name").map(|name| self.word(name));
        let mut cursor = node.walk();
        let arguments = node
            .children_by_field_name("argument", &mut cursor)
            .map(|word| self.word(word))
            .collect();
        ShellCommand {
            name: name.filter(|word| word.is_literal).map(|word| word.text),
            arguments,
            span: node.byte_range(),
            reads_from: Vec::new(),
            here_document: None,
        }
    }

    /// The text of a here-document among the redirections of a node.
    fn here_document(&self, node: Node<'_>) -> Option<String> {
        let mut cursor = node.walk();
        let mut redirects = node.children(&mut cursor);
        let redirect = redirects.find(|child| child.kind() == "heredoc_redirect")?;
        let mut cursor = redirect.walk();
        let body = redirect.children(&mut cursor).find(|child| child.kind() == "heredoc_body")?;
        Some(self.source(body).to_owned())
    }

    fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// A word without its quotes.
    fn word(&self, node: Node<'_>) -> ShellWord {
        let mut word = ShellWord { text: String::new(), is_literal: true, span: node.byte_range() };
        self.append(node, &mut word);
        word
    }

    fn append(&self, node: Node<'_>, word: &mut ShellWord) {
        let source = self.source(node);
        match node.kind() {
            "command_name" | "concatenation" => {
                let mut cursor = node.walk();
                for part in node.named_children(&mut cursor) {
                    self.append(part, word);
                }
            }
            "word" | "number" | "test_operator" | "extglob_pattern" => {
                word.text.push_str(&unescape(source, |_| true));
            }
            "raw_string" => {
                word.text.push_str(source.trim_start_matches('\'').trim_end_matches('\''));
            }
            "ansi_c_string" => {
                let inner = source.strip_prefix("$'").and_then(|text| text.strip_suffix('\''));
                let inner = inner.unwrap_or(source);
                // An escape such as `\x63` is computed by the shell.
                word.is_literal &= !inner.contains('\\');
                word.text.push_str(inner);
            }
            "string" | "translated_string" => self.append_string(node, word),
            _ => {
                word.is_literal = false;
                word.text.push_str(source);
            }
        }
    }

    /// A text in double quotes: what is between its expansions, and the expansions as written.
    fn append_string(&self, node: Node<'_>, word: &mut ShellWord) {
        let range = node.byte_range();
        let source = self.source(node);
        let open = source.find('"').map_or(0, |quote| quote + 1);
        let mut at = range.start + open;
        let end =
            if source.len() > open && source.ends_with('"') { range.end - 1 } else { range.end };
        let quoted =
            |text: &str| unescape(text, |next| matches!(next, '"' | '\\' | '$' | '`' | '\n'));
        let mut cursor = node.walk();
        for part in node.named_children(&mut cursor) {
            let Range { start, end } = part.byte_range();
            if matches!(part.kind(), "string_content" | "translated_string" | "string")
                || start < at
            {
                continue;
            }
            word.text.push_str(&quoted(self.text.get(at..start).unwrap_or_default()));
            word.text.push_str(self.source(part));
            word.is_literal = false;
            at = end;
        }
        word.text.push_str(&quoted(self.text.get(at..end).unwrap_or_default()));
    }
}

/// Removes backslashes before the characters that `is_escaped` accepts; before a line break both go.
fn unescape(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match characters.peek().copied() {
            Some(next) if character == '\\' && is_escaped(next) => {
                characters.next();
                if next != '\n' {
                    plain.push(next);
                }
            }
            _ => plain.push(character),
        }
    }
    plain
}

/// Calls a function for a node and everything below it, in the order of the text, with the depth. It goes over the tree
/// without recursion: the depth of a tree is the author's choice. The result is `false` if there are too many nodes.
fn for_each<'n>(root: Node<'n>, visit: &mut dyn FnMut(Node<'n>, u32)) -> bool {
    let mut cursor = root.walk();
    for _ in 0..MAX_NODES {
        visit(cursor.node(), cursor.depth());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return true;
            }
        }
    }
    false
}
