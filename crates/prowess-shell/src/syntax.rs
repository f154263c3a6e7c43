//! The only file that knows the parser: texts to commands.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::split::{Subcommand, TooComplex, WriteTarget};
use crate::{ShellAssignment, ShellCommand, ShellScript, ShellWord};

/// The commands of a line, split at its separators. See [`crate::split()`].
pub(crate) fn subcommands(text: &str) -> Result<Vec<Subcommand>, TooComplex> {
    let tree = tree(text, MAX_REPORTS).ok_or(TooComplex::Syntax)?;
    let root = tree.root_node();
    if root.has_error() {
        return Err(TooComplex::Syntax);
    }
    let mut refused = None;
    let is_walked = for_each(root, &mut |node, _| {
        let reason = match node.kind() {
            "command_substitution" | "process_substitution" => TooComplex::Substitution,
            "arithmetic_expansion" => TooComplex::Expansion,
            // `${name@P}` and `${name[$(…)]}` run commands; `${name}` doesn't.
            "expansion" if !is_plain_expansion(&text[node.byte_range()]) => TooComplex::Expansion,
            _ => return,
        };
        refused.get_or_insert(reason);
    });
    if !is_walked {
        return Err(TooComplex::Syntax);
    }
    if let Some(reason) = refused {
        return Err(reason);
    }
    let mut script = ShellScript::default();
    let reader = Reader {
        text,
        script: &mut script,
        first: 0,
        first_assignment: 0,
        indices: HashMap::new(),
        comments: Vec::new(),
    };
    let mut found = Vec::new();
    // Statements whose redirections are those around them. The text is short, so the depth of the tree is bounded.
    let mut open: Vec<(Node<'_>, Vec<WriteTarget>)> = vec![(root, Vec::new())];
    while let Some((node, writes)) = open.pop() {
        match node.kind() {
            "program" | "list" | "pipeline" | "negated_command" => {
                // `a | b > out` parses as a redirection of the whole pipeline, so its target counts for each part.
                let mut cursor = node.walk();
                let children: Vec<_> = node.named_children(&mut cursor).collect();
                open.extend(children.into_iter().rev().map(|child| (child, writes.clone())));
            }
            "redirected_statement" => {
                let mut writes = writes;
                let body = node.child_by_field_name("body").ok_or(TooComplex::Structure)?;
                let mut cursor = node.walk();
                for redirect in node.children_by_field_name("redirect", &mut cursor) {
                    reader.redirect(redirect, &mut writes)?;
                }
                open.push((body, writes));
            }
            "command" => found.push(reader.subcommand(node, writes)?),
            "declaration_command"
            | "unset_command"
            | "variable_assignment"
            | "variable_assignments" => found.push(Subcommand {
                text: reader.source(node).to_owned(),
                assigned: Vec::new(),
                words: Vec::new(),
                writes,
            }),
            // `[ … ]` is a command like others; `[[ … ]]` computes.
            "test_command" if !reader.source(node).starts_with("[[") => found.push(Subcommand {
                text: reader.source(node).to_owned(),
                assigned: Vec::new(),
                words: vec![ShellWord {
                    text: "[".to_owned(),
                    is_literal: true,
                    span: node.start_byte()..node.start_byte() + 1,
                }],
                writes,
            }),
            "comment" => {}
            _ => return Err(TooComplex::Structure),
        }
    }
    Ok(found)
}

/// Whether a `${…}` is only a name.
fn is_plain_expansion(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')).unwrap_or_default();
    name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// How often the parser may report progress, which it does every hundred steps or so. Ordinary scripts take a few reports per
/// kilobyte.
pub(crate) const MAX_REPORTS: usize = 200_000;

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
pub(crate) fn read(text: &str, script: &mut ShellScript, budget: usize) -> Reading {
    let readable = without_long_lists(text);
    let is_whole = matches!(readable, Cow::Borrowed(_));
    let Some(tree) = tree(&readable, budget) else {
        return Reading { is_complete: text.trim().is_empty(), comments: Vec::new() };
    };
    let (first, first_assignment) = (script.commands.len(), script.assignments.len());
    let (indices, comments) = (HashMap::new(), Vec::new());
    let mut reader = Reader { text, script, first, first_assignment, indices, comments };
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

fn tree(text: &str, budget: usize) -> Option<Tree> {
    if text.matches("=(").count() > MAX_ARRAYS {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let reports = Cell::new(0_usize);
    let mut progress = |_: &ParseState| {
        reports.set(reports.get() + 1);
        if reports.get() > budget { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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
    /// The index of its first assignment.
    first_assignment: usize,
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
            "variable_assignment" => {
                let name = node.child_by_field_name("name").map(|name| self.source(name));
                if let Some(name) = name
                    && let Some(value) = node.child_by_field_name("value")
                {
                    self.script.assignments.push(ShellAssignment {
                        name: name.to_owned(),
                        value: self.word(value),
                        span: node.byte_range(),
                        reads_from: Vec::new(),
                    });
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
        let mut writes: Vec<(usize, ShellWord)> = Vec::new();
        let mut values: Vec<(usize, Range<usize>)> = Vec::new();
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
                "variable_assignment" => {
                    if let Some(value) = node.child_by_field_name("value") {
                        values.push((node.start_byte(), self.commands_in(value)));
                    }
                }
                "redirected_statement" => {
                    let body = node.child_by_field_name("body");
                    if let Some(body) = body {
                        let written = self.written(node);
                        let last = self.commands_in(body).last();
                        if let Some(last) = last {
                            writes.extend(written.into_iter().map(|word| (last, word)));
                        }
                    }
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
        for (index, word) in writes {
            self.script.commands[index].writes.push(word);
        }
        for (start, commands) in values {
            let known = &mut self.script.assignments[self.first_assignment..];
            if let Ok(at) = known.binary_search_by_key(&start, |known| known.span.start) {
                known[at].reads_from = commands.take(MAX_CONNECTED).collect();
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
        let (literal, computed) = match name {
            Some(word) if word.is_literal => (Some(word.text), None),
            computed => (None, computed),
        };
        ShellCommand {
            name: literal,
            computed_name: computed,
            writes: Vec::new(),
            arguments,
            span: node.byte_range(),
            reads_from: Vec::new(),
            here_document: None,
        }
    }

    /// The files that the output of a node is redirected to.
    fn written(&self, node: Node<'_>) -> Vec<ShellWord> {
        let mut cursor = node.walk();
        let redirects = node.children(&mut cursor);
        redirects
            .filter(|child| child.kind() == "file_redirect")
            .filter(|child| {
                self.source(*child)
                    .trim_start_matches(|c: char| c.is_ascii_digit() || c == '&')
                    .starts_with('>')
            })
            .filter_map(|child| child.child_by_field_name("destination"))
            .take(MAX_CONNECTED)
            .map(|destination| self.word(destination))
            .collect()
    }

    /// A command for [`subcommands`].
    fn subcommand(
        &self,
        node: Node<'_>,
        mut writes: Vec<WriteTarget>,
    ) -> Result<Subcommand, TooComplex> {
        let name = node.child_by_field_name("name").ok_or(TooComplex::Structure)?;
        let mut words = vec![self.word(name)];
        let mut assigned = Vec::new();
        let mut end = name.end_byte();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => {
                    let name = child.child_by_field_name("name").ok_or(TooComplex::Structure)?;
                    assigned.push(self.source(name).to_owned());
                }
                "command_name" => {}
                // Words after such a redirection may belong to the command or to the redirection.
                "file_redirect" => {
                    if child.start_byte() > name.start_byte() {
                        return Err(TooComplex::Syntax);
                    }
                    self.redirect(child, &mut writes)?;
                }
                "herestring_redirect" => {}
                _ => {
                    words.push(self.word(child));
                    end = end.max(child.end_byte());
                }
            }
        }
        let text = self.text.get(name.start_byte()..end).unwrap_or_default().to_owned();
        Ok(Subcommand { text, assigned, words, writes })
    }

    /// Adds the file that a redirection writes.
    fn redirect(&self, node: Node<'_>, writes: &mut Vec<WriteTarget>) -> Result<(), TooComplex> {
        match node.kind() {
            "herestring_redirect" => return Ok(()),
            // Words, pipes and lists can follow the beginning of a here-document on its line.
            "heredoc_redirect" => {
                let mut cursor = node.walk();
                let plain = ["heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor"];
                let is_plain =
                    node.named_children(&mut cursor).all(|child| plain.contains(&child.kind()));
                return if is_plain { Ok(()) } else { Err(TooComplex::Structure) };
            }
            "file_redirect" => {}
            _ => return Err(TooComplex::Structure),
        }
        let source = self.source(node);
        let operator = source.trim_start_matches(|character: char| character.is_ascii_digit());
        let is_read = operator.starts_with('<') && !operator.starts_with("<>");
        let is_copy = [">&", "<&"].iter().any(|copy| {
            let target = operator.strip_prefix(copy).map(str::trim);
            target.is_some_and(|target| {
                target == "-"
                    || !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit())
            })
        });
        let mut cursor = node.walk();
        let targets: Vec<_> = node.children_by_field_name("destination", &mut cursor).collect();
        if targets.len() > 1 {
            // `> out word`: the second word is one of the command.
            return Err(TooComplex::Syntax);
        }
        if is_read || is_copy {
            return Ok(());
        }
        let target = targets.first().ok_or(TooComplex::Syntax)?;
        let word = self.word(*target);
        let has_wildcard = self.source(*target).contains(['*', '?', '[', '{', '~']);
        writes.push(WriteTarget { is_literal: word.is_literal && !has_wildcard, path: word.text });
        Ok(())
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
