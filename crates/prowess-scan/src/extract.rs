//! Files to documents and facts: which part of a file is code, and in which language.

use std::ops::Range;

use crate::code::{javascript, lexical, python, shell};
use crate::context::{self, Context};
use crate::decode;
use crate::document::{Document, Origin};
use crate::fact::Fact;
use crate::findings::Findings;
use crate::input::{FileKind, has_extension};
use crate::segment::UnitKind;

/// The most bytes of code in lines of text that are parsed, and of all code of a skill.
const MAX_CODE_BYTES: usize = 4 << 20;
/// The most documents of a skill: files and what was decoded from them.
const MAX_DOCUMENTS: usize = 2_000;

/// Words without which a piece of shell is not worth the parser's time.
const SHELL_WORDS: &[&str] = &[
    "curl",
    "wget",
    "nc ",
    "ncat",
    "base64",
    "eval",
    "/dev/tcp",
    "env",
    "ssh",
    "scp",
    "rsync",
    "dig ",
    "nslookup",
    "host ",
    "ping",
    "chmod",
    "chown",
    "rm -",
    "crontab",
    "bashrc",
    "zshrc",
    "profile",
    "launchctl",
    "systemctl",
    "sudo",
    "xxd",
    "openssl",
    "socat",
    "telnet",
    "security ",
    "cat ",
    "tar ",
    "zip ",
    "dd ",
    "mkfs",
    "history",
    "setenforce",
    "csrutil",
    "spctl",
    "ufw",
    "iptables",
    "sh -c",
    "bash -c",
    "python -c",
    "python3 -c",
    "node -e",
    "perl -e",
    "| sh",
    "|sh",
    "| bash",
    "|bash",
    "source <",
    "tr ",
    "rev",
    "xclip",
    "pbpaste",
    "iwr",
    "irm",
    "iex",
    "mail",
    "xargs",
    "$'",
    "IFS",
    "http",
    "gh api",
    "gh auth",
    "gh repo",
    "gh secret",
    "git push",
    "git config",
    "git -c",
    "npm publish",
    "docker run",
    "kubectl ",
];

/// Finds what is encoded in a document, layer by layer.
pub(crate) fn decode_layers(documents: &mut Vec<Document>, findings: &mut Findings) {
    let mut at = 0;
    while at < documents.len() {
        let depth = documents[at].origin.as_ref().map_or(0, |origin| origin.depth);
        if depth >= decode::MAX_DEPTH {
            at += 1;
            continue;
        }
        let mut decoded = Vec::new();
        let document = &documents[at];
        let (blobs, is_whole) = decode::blobs(&document.text);
        if !is_whole {
            incomplete(&document.path, findings, "more encoded texts than are decoded");
        }
        for blob in blobs {
            decoded.push((blob.range, blob.how, blob.bytes, false));
        }
        if document.origin.is_none() {
            for (hidden, range) in crate::hidden::find(&document.text) {
                if let crate::hidden::Hidden::Tags(text) | crate::hidden::Hidden::Data(text) =
                    hidden
                {
                    decoded.push((range, "invisible characters", text.into_bytes(), true));
                }
            }
        }
        for (range, how, bytes, is_hidden) in decoded {
            if documents.len() >= MAX_DOCUMENTS {
                incomplete(&documents[at].path, findings, "more encoded texts than are decoded");
                break;
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let parent = &documents[at];
            let how = match &parent.origin {
                Some(outer) => format!("{} in {}", how, outer.how),
                None => how.to_owned(),
            };
            let was_hidden = parent.origin.as_ref().is_some_and(|origin| origin.is_hidden);
            let is_example = context::of_code(parent, &range) == Context::Mentioned;
            let is_quoted = parent.kind == FileKind::Data;
            let is_hidden = is_hidden || was_hidden;
            let origin = Origin {
                range: parent.place(&range),
                how,
                depth: depth + 1,
                is_hidden,
                is_example,
                is_quoted,
            };
            let path = parent.path.clone();
            documents.push(Document::new(&path, FileKind::Text, text, Some(origin)));
        }
        at += 1;
    }
}

/// The facts of all documents.
pub(crate) fn facts(documents: &[Document], findings: &mut Findings) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut budget = MAX_CODE_BYTES;
    for (index, document) in documents.iter().enumerate() {
        if document.text.len() > budget && document.kind.is_code() {
            incomplete(&document.path, findings, "more code than is parsed");
            continue;
        }
        match document.kind {
            FileKind::Shell => {
                budget = budget.saturating_sub(document.text.len());
                let read = shell::read(index, &document.text, 0);
                if !read.is_complete {
                    findings.skip(&document.path, "not understood completely as a shell script");
                }
                if !read.has_commands
                    && document
                        .text
                        .lines()
                        .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
                {
                    unparseable(document, findings, "no shell script can be read from it");
                }
                facts.extend(read.facts);
            }
            FileKind::Python => {
                budget = budget.saturating_sub(document.text.len());
                match python::read(index, &document.text, 0) {
                    Ok(found) => facts.extend(found),
                    Err(reason) => {
                        unparseable(document, findings, &reason);
                        facts.extend(lines(index, document, &(0..document.text.len())));
                    }
                }
            }
            FileKind::JavaScript => {
                budget = budget.saturating_sub(document.text.len());
                let read = if javascript::is_typescript(&document.path) {
                    javascript::read_typescript
                } else {
                    javascript::read
                };
                match read(index, &document.text, 0) {
                    Ok(found) => facts.extend(found),
                    Err(reason) => {
                        unparseable(document, findings, &reason);
                        facts.extend(lines(index, document, &(0..document.text.len())));
                    }
                }
            }
            _ if document.origin.is_some() => facts.extend(guess(index, document)),
            FileKind::Markdown | FileKind::Text | FileKind::Data | FileKind::OtherCode => {
                facts.extend(units(index, document, &mut budget, findings));
            }
            _ => {}
        }
    }
    facts
}

/// What is over a bound is a finding: padding must not hide what comes after it.
fn incomplete(path: &str, findings: &mut Findings, reason: &str) {
    findings.skip(path, reason);
    let message = format!("has {reason}");
    findings.add(
        &crate::rules::UNSCANNED_FILE,
        crate::severity::Severity::High,
        path,
        0..0,
        message,
    );
}

fn unparseable(document: &Document, findings: &mut Findings, reason: &str) {
    findings.skip(&document.path, format!("not parsed: {reason}"));
    if document.origin.is_none() {
        findings.add(
            &crate::rules::UNPARSEABLE_CODE,
            crate::severity::Severity::High,
            &document.path,
            0..0,
            "is code that can't be parsed",
        );
    }
}

/// A decoded text may be code of any language.
fn guess(index: usize, document: &Document) -> Vec<Fact> {
    let text = &document.text;
    if (text.contains("import ") || text.contains("def "))
        && let Ok(found) = python::read(index, text, 0)
        && !found.is_empty()
    {
        return found;
    }
    if (text.contains("require(") || text.contains("=>") || text.contains("function"))
        && let Ok(found) = javascript::read(index, text, 0)
        && !found.is_empty()
    {
        return found;
    }
    if is_worth_parsing(text) { shell::read(index, text, 0).facts } else { Vec::new() }
}

fn is_worth_parsing(text: &str) -> bool {
    use std::sync::LazyLock;
    static WORDS: LazyLock<aho_corasick::AhoCorasick> = LazyLock::new(|| {
        aho_corasick::AhoCorasick::new(SHELL_WORDS).expect("the words are constants")
    });
    WORDS.is_match(text)
}

fn units(
    index: usize,
    document: &Document,
    budget: &mut usize,
    findings: &mut Findings,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    for unit in &document.units {
        let text = &document.text[unit.range.clone()];
        if text.len() > *budget {
            incomplete(&document.path, findings, "more code than is parsed");
            continue;
        }
        match unit.kind {
            UnitKind::Fence => {
                *budget -= text.len();
                facts.extend(fence(index, document, &unit.range, &unit.language));
            }
            UnitKind::Heading => {}
            UnitKind::Prose | UnitKind::Row | UnitKind::Comment | UnitKind::FrontMatter => {
                facts.extend(inline(index, document, &unit.range));
            }
            UnitKind::Code => {
                *budget -= text.len();
                facts.extend(lines(index, document, &unit.range));
                if document.kind == FileKind::OtherCode {
                    facts.extend(lexical::read(index, text, unit.range.start));
                }
                let is_yaml = ["yml", "yaml"].iter().any(|end| has_extension(&document.path, end));
                if document.kind == FileKind::Data && is_yaml {
                    facts.extend(workflow_scripts(index, text, unit.range.start));
                }
            }
        }
    }
    facts
}

/// The code of a fence: by its language, and if that is wrong line by line.
fn fence(index: usize, document: &Document, range: &Range<usize>, language: &str) -> Vec<Fact> {
    let text = &document.text[range.clone()];
    match language {
        "python" | "py" | "python3" | "ipython" => match python::read(index, text, range.start) {
            Ok(found) => found,
            Err(_) => lines(index, document, range),
        },
        "javascript" | "js" | "typescript" | "ts" | "jsx" | "tsx" | "node" | "mjs" => {
            let read = if javascript::is_typescript(language) {
                javascript::read_typescript
            } else {
                javascript::read
            };
            match read(index, text, range.start) {
                Ok(found) => found,
                Err(_) => lines(index, document, range),
            }
        }
        "rust" | "go" | "java" | "kotlin" | "swift" | "csharp" | "cs" | "cpp" | "c" | "ruby"
        | "rb" | "perl" | "php" | "lua" => lexical::read(index, text, range.start),
        "powershell" | "ps1" | "pwsh" | "cmd" | "bat" | "batch" => {
            let mut facts = lexical::read(index, text, range.start);
            facts.extend(lines(index, document, range));
            facts
        }
        "json" | "yaml" | "yml" | "toml" | "css" | "html" | "xml" | "sql" | "mermaid" | "diff"
        | "csv" | "graphql" | "svg" | "vue" | "svelte" | "hcl" | "terraform" | "scss" => Vec::new(),
        _ if is_worth_parsing(text) => {
            let read = shell::read(index, &unprompted(text), range.start);
            if read.is_complete || !language.is_empty() {
                read.facts
            } else {
                let mut facts = read.facts;
                facts.extend(lines(index, document, range));
                facts
            }
        }
        _ => Vec::new(),
    }
}

/// The text with the prompts of a terminal replaced by spaces.
fn unprompted(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let rest = &line[indent..];
        let prompt = ["$ ", "% ", "# ", "> "]
            .iter()
            .find(|prompt| rest.starts_with(**prompt))
            .filter(|prompt| **prompt != "# ");
        match prompt {
            Some(prompt) => {
                result.push_str(&line[..indent]);
                result.push_str(&" ".repeat(prompt.len()));
                result.push_str(&rest[prompt.len()..]);
            }
            None => result.push_str(line),
        }
    }
    result
}

/// Programs with which a line of a text may begin that is a command.
const STARTS: &[&str] = &[
    "curl ",
    "wget ",
    "bash ",
    "sh ",
    "sudo ",
    "nc ",
    "echo ",
    "cat ",
    "eval ",
    "source ",
    "python ",
    "python3 ",
    "base64 ",
    "dig ",
    "chmod ",
    "rm ",
    "powershell",
    "scp ",
    "tar ",
    "env ",
    "(",
    "printf ",
    "export ",
    "git clone",
    "mkdir ",
    "cd ",
    "nslookup ",
    "osascript ",
    "node ",
    "perl ",
    "security ",
    "crontab ",
    "export\t",
];

/// Commands in a text: in code spans, and lines that begin like one.
fn inline(index: usize, document: &Document, range: &Range<usize>) -> Vec<Fact> {
    let text = &document.text[range.clone()];
    let mut facts = Vec::new();
    if !is_worth_parsing(text) {
        return facts;
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'`', &bytes[at..]) {
        let start = at + open;
        let length = bytes[start..].iter().take_while(|byte| **byte == b'`').count();
        let inner = start + length;
        let close = memchr::memmem::find(&bytes[inner..], &bytes[start..inner]);
        let Some(close) = close else { break };
        let span = &text[inner..inner + close];
        if span.len() > 5 && is_worth_parsing(span) {
            facts.extend(shell::read(index, span, range.start + inner).facts);
        }
        at = inner + close + length;
    }
    facts.extend(command_lines(index, text, range.start));
    facts
}

/// Lines of a text that begin like a command, those that follow each other as one script.
fn command_lines(index: usize, text: &str, base: usize) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut block: Option<Range<usize>> = None;
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches([' ', '\t', '>', '-', '*', '$', '#']);
        let lower = trimmed.get(..trimmed.len().min(16)).unwrap_or(trimmed);
        if STARTS.iter().any(|start| lower.starts_with(start)) && is_worth_parsing(trimmed) {
            let offset = line.len() - trimmed.len();
            let place = line_start + offset..line_start + line.len();
            match &mut block {
                Some(open) if offset == 0 && open.end == line_start => open.end = place.end,
                _ => {
                    if let Some(done) = block.replace(place) {
                        facts.extend(
                            shell::read(index, &text[done.clone()], base + done.start).facts,
                        );
                    }
                }
            }
        }
        line_start += line.len();
    }
    if let Some(done) = block {
        facts.extend(shell::read(index, &text[done.clone()], base + done.start).facts);
    }
    facts
}

/// Keys of workflows and of settings of containers whose value is a script.
const SCRIPT_KEYS: &[&str] = &[
    "run",
    "script",
    "before_script",
    "after_script",
    "command",
    "commands",
    "cmd",
    "cmds",
    "args",
    "entrypoint",
    "bootcmd",
    "runcmd",
    "user_data",
    "content",
    "shell",
];

/// The scripts in a workflow: a block of text, or a list of commands, below a key for them. Each is one script, so that what one
/// line downloads and another runs is found.
fn workflow_scripts(index: usize, text: &str, base: usize) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut at = 0;
    let mut open: Option<(usize, Range<usize>)> = None;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let content = line.trim();
        let body = line.trim_start_matches([' ', '-']);
        let indent = line.len() - line.trim_start().len();
        if let Some((outer, range)) = &mut open {
            if content.is_empty()
                || indent > *outer
                || content.starts_with("- ") && indent == *outer
            {
                range.end = at;
                continue;
            }
            let range = range.clone();
            open = None;
            facts.extend(script(index, text, &range, base));
        }
        let Some((key, value)) = body.trim_end().split_once(':') else { continue };
        let is_block = matches!(value.trim(), "" | "|" | ">" | "|-" | ">-" | "|+" | ">+");
        if is_block && SCRIPT_KEYS.contains(&key.trim_matches(['"', '\''])) {
            open = Some((line.len() - body.len(), at..at));
        }
    }
    if let Some((_, range)) = open {
        facts.extend(script(index, text, &range, base));
    }
    facts
}

/// A script that stands in a file of data; the marks of list items are spaces to it.
fn script(index: usize, text: &str, range: &Range<usize>, base: usize) -> Vec<Fact> {
    let body = &text[range.clone()];
    if !is_worth_parsing(body) {
        return Vec::new();
    }
    let mut plain = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        match line[indent..].strip_prefix("- ") {
            Some(rest) => {
                plain.push_str(&line[..indent]);
                plain.push_str("  ");
                plain.push_str(rest);
            }
            None => plain.push_str(line),
        }
    }
    shell::read(index, &plain, base + range.start).facts
}

/// Lines of a text that is not one program: each that looks like a command is read as one.
fn lines(index: usize, document: &Document, range: &Range<usize>) -> Vec<Fact> {
    let text = &document.text[range.clone()];
    let mut facts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.len() < 4_096 && is_worth_parsing(line) {
            facts.extend(command_in(index, line, range.start + at));
        }
        at += line.len();
    }
    facts
}

/// The command in a line: the line itself, or a text in quotes that begins like one.
fn command_in(index: usize, line: &str, base: usize) -> Vec<Fact> {
    let trimmed = line.trim_start_matches([' ', '\t', '$', '@', '-']).trim_start_matches("RUN ");
    let offset = line.len() - trimmed.len();
    if STARTS.iter().any(|start| trimmed.starts_with(start)) {
        return shell::read(index, trimmed, base + offset).facts;
    }
    let mut facts = Vec::new();
    for quote in ['"', '\''] {
        let mut parts = line.split(quote);
        let mut at = parts.next().map_or(0, str::len) + 1;
        for part in parts {
            if part.len() > 8 && STARTS.iter().any(|start| part.starts_with(start)) {
                // The rest of the line: the text may have quotes of its own.
                let rest = line
                    .get(at..)
                    .unwrap_or_default()
                    .trim_end()
                    .trim_end_matches([quote, ',', ')', ';', ']', '}']);
                facts.extend(shell::read(index, &rest.replace("\\\"", "\" "), base + at).facts);
                break;
            }
            at += part.len() + 1;
        }
    }
    facts
}
