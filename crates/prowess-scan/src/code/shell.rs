//! Shell scripts to facts: what flows through pipes, variables and files.

use std::collections::HashMap;
use std::ops::Range;

use prowess_format::permission::{Domain, Level};
use prowess_policy::binaries;
use prowess_shell::{ShellCommand, ShellScript, ShellWord};

use super::assemble::{unescape, without_separators};
use crate::decode;
use crate::fact::{Fact, FactKind, Labels};
use crate::known::{hosts, secrets};

/// The longest text that the parser gets at once.
const MAX_BYTES: usize = 64 << 10;

/// How deep substitutions are followed.
const MAX_PEEK: usize = 3;

/// The result of reading a script.
pub(crate) struct Read {
    pub(crate) facts: Vec<Fact>,
    /// Whether all of it was understood.
    pub(crate) is_complete: bool,
    /// Whether it has any command.
    pub(crate) has_commands: bool,
}

/// The part of a value that `offset:length` names.
fn substring<'v>(value: &'v str, range: &str) -> Option<&'v str> {
    let (offset, length) = range.split_once(':').unwrap_or((range, ""));
    let start: usize = offset.trim().parse().ok()?;
    let length: usize = if length.is_empty() { value.len() } else { length.trim().parse().ok()? };
    value.get(start..start.saturating_add(length).min(value.len()))
}

/// Whether a statement for a database changes it.
pub(crate) fn writes_database(text: &str) -> bool {
    let text = text.trim_start();
    let verb =
        text.split(|character: char| !character.is_ascii_alphabetic()).next().unwrap_or_default();
    [
        "insert", "update", "delete", "drop", "create", "alter", "replace", "truncate", "grant",
        "merge", "vacuum",
    ]
    .iter()
    .any(|known| verb.eq_ignore_ascii_case(known))
}

/// Whether the words of a request send something or name a method that does.
fn changes_server(words: &[&str]) -> bool {
    let sends = |word: &&&str| {
        matches!(
            **word,
            "-d" | "--data"
                | "--data-raw"
                | "--data-binary"
                | "--data-urlencode"
                | "-F"
                | "--form"
                | "-T"
                | "--upload-file"
                | "--json"
                | "--post-data"
                | "--post-file"
                | "-Body"
                | "-body"
                | "-InFile"
        ) || ["--data", "--form=", "--json=", "--post-data=", "--post-file=", "--upload-file="]
            .iter()
            .any(|start| word.starts_with(start))
    };
    let names_method = words.windows(2).any(|pair| {
        matches!(pair[0], "-X" | "--request" | "-Method" | "--method")
            && !pair[1].eq_ignore_ascii_case("get")
            && !pair[1].eq_ignore_ascii_case("head")
    });
    let is_glued = words.iter().any(|word| {
        word.strip_prefix("-X").or_else(|| word.strip_prefix("--request=")).is_some_and(|method| {
            !method.is_empty()
                && !method.eq_ignore_ascii_case("get")
                && !method.eq_ignore_ascii_case("head")
        })
    });
    let is_query = words.iter().any(|word| matches!(*word, "-G" | "--get"));
    (words.iter().any(|word| sends(&word)) && !is_query) || names_method || is_glued
}

/// Reads a script that begins at an offset of a document. A long one is read in parts that end with a line, so that no
/// padding hides what comes after it.
pub(crate) fn read(document: usize, text: &str, base: usize) -> Read {
    let mut whole = Read { facts: Vec::new(), is_complete: true, has_commands: false };
    let mut start = 0;
    while start < text.len() {
        let end = part_end(text, start);
        let part = read_part(document, &text[start..end], base + start);
        whole.facts.extend(part.facts);
        whole.is_complete &= part.is_complete;
        whole.has_commands |= part.has_commands;
        start = end;
    }
    whole
}

/// Where a part ends: after the last line that fits, or in the middle of one that is too long.
fn part_end(text: &str, start: usize) -> usize {
    if text.len() - start <= MAX_BYTES {
        return text.len();
    }
    let limit = (start..=start + MAX_BYTES).rev().find(|at| text.is_char_boundary(*at));
    let limit = limit.filter(|limit| *limit > start).unwrap_or(text.len());
    memchr::memrchr(b'\n', &text.as_bytes()[start..limit]).map_or(limit, |line| start + line + 1)
}

fn read_part(document: usize, text: &str, base: usize) -> Read {
    let source = without_separators(text);
    let script = prowess_shell::parse_quickly(&source);
    let mut reader = Reader {
        document,
        base,
        script: &script,
        values: HashMap::new(),
        labels: HashMap::new(),
        files: HashMap::new(),
        facts: Vec::new(),
        done: Vec::new(),
        cloned: None,
    };
    reader.read();
    let facts = reader.facts;
    let has_commands = !script.commands.is_empty();
    Read { facts, is_complete: script.is_complete, has_commands }
}

/// What flows out of a command or is in a variable.
#[derive(Clone, Debug, Default)]
struct Flow {
    labels: Labels,
    /// Where it was downloaded from.
    url: Option<String>,
    /// The text itself.
    text: Option<String>,
    /// The secret variable or file that it was.
    secret: Option<String>,
}

impl Flow {
    fn add(&mut self, other: &Self) {
        self.labels.add(other.labels);
        self.url = self.url.take().or_else(|| other.url.clone());
        self.secret = self.secret.take().or_else(|| other.secret.clone());
    }
}

struct Reader<'s> {
    document: usize,
    base: usize,
    script: &'s ShellScript,
    /// Variables whose values are known.
    values: HashMap<String, String>,
    /// Where the values of variables come from.
    labels: HashMap<String, Flow>,
    /// Files that the script wrote.
    files: HashMap<String, Flow>,
    facts: Vec<Fact>,
    /// What flows out of each command.
    done: Vec<Flow>,
    /// A repository that was cloned from a host that is no known forge.
    cloned: Option<String>,
}

/// A command with the wrappers around it left out.
struct Call<'c> {
    name: String,
    words: Vec<(String, &'c ShellWord)>,
    /// Whether its last words are what it reads.
    from_input: bool,
}

const WRAPPERS: &[&str] = &[
    "sudo",
    "env",
    "nohup",
    "exec",
    "command",
    "time",
    "setsid",
    "nice",
    "ionice",
    "stdbuf",
    "doas",
    "builtin",
    "busybox",
    "unbuffer",
    "caffeinate",
];
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "ash",
    "fish",
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "php",
    "osascript",
    "pwsh",
    "powershell",
    "deno",
    "bun",
    "lua",
    "cmd",
    "iex",
    "invoke-expression",
];
const DOWNLOADERS: &[&str] = &[
    "curl",
    "wget",
    "aria2c",
    "axel",
    "fetch",
    "http",
    "https",
    "xh",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "lwp-download",
    "lynx",
    "links",
    "w3m",
];
const SENDERS: &[&str] = &[
    "nc", "ncat", "netcat", "socat", "telnet", "ssh", "scp", "rsync", "sftp", "ftp", "lftp",
    "mail", "mailx", "sendmail", "mutt", "rclone", "websocat", "tftp",
];
const RESOLVERS: &[&str] = &["dig", "nslookup", "host", "drill", "ping", "resolvectl", "kdig"];
const READERS: &[&str] = &[
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "tac",
    "strings",
    "grep",
    "awk",
    "sed",
    "cut",
    "sort",
    "tar",
    "zip",
    "7z",
    "gzip",
    "cp",
    "mv",
    "base64",
    "xxd",
    "od",
    "jq",
    "sqlite3",
    "openssl",
    "gpg",
    "bat",
    "rg",
    "find",
    "dd",
    "type",
    "get-content",
    "plutil",
    "security",
    "nl",
    "tee",
    "install",
    "rsync",
    "split",
];

fn base_name(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.strip_suffix(".exe").unwrap_or(name)
}

fn is_interpreter(name: &str) -> bool {
    let name = base_name(name).to_ascii_lowercase();
    INTERPRETERS.contains(&name.as_str())
        || (name.starts_with("python3.") || name.starts_with("python2."))
}

impl Reader<'_> {
    fn read(&mut self) {
        // Variables that are set anywhere; a later value wins, which is right for what is set once.
        let mut assignments = self.script.assignments.iter().peekable();
        for index in 0..self.script.commands.len() {
            let command = &self.script.commands[index];
            while let Some(assignment) = assignments.peek() {
                if assignment.span.start > command.span.start {
                    break;
                }
                let assignment = assignments.next().expect("it was peeked at");
                self.assign(&assignment.name, &assignment.value, &assignment.reads_from);
            }
            let flow = self.command(index, command);
            self.done.push(flow);
        }
    }

    fn assign(&mut self, name: &str, value: &ShellWord, reads_from: &[usize]) {
        let mut flow = self.word_flow(value);
        let mut text = self.text(value);
        for from in reads_from {
            if let Some(known) = self.done.get(*from) {
                let known = known.clone();
                flow.add(&known);
                if reads_from.len() <= 2 {
                    text = known.text.clone().or(text);
                }
            } else if let Some(command) = self.script.commands.get(*from) {
                // The commands of a value come after it in the list.
                let known = self.peek(command);
                flow.add(&known);
                text = known.text.clone().or(text);
            }
        }
        if let Some(text) = text {
            self.values.insert(name.to_owned(), text);
        }
        self.labels.insert(name.to_owned(), flow);
    }

    /// What a simple command gives, before its turn.
    fn peek(&mut self, command: &ShellCommand) -> Flow {
        let facts = self.facts.len();
        let flow = self.produced(command, &Flow::default());
        self.facts.truncate(facts);
        flow
    }

    fn fact(&mut self, span: &Range<usize>, kind: FactKind) {
        let range = self.base + span.start..self.base + span.end;
        self.facts.push(Fact { document: self.document, range, kind });
    }

    /// Ways in for others, and names that hide what is run.
    fn openings(
        &mut self,
        span: &Range<usize>,
        command: &ShellCommand,
        name: &str,
        words: &[&str],
    ) {
        let forwards_login = |word: &&str| {
            word.ends_with(":22") && word.split(':').count() >= 3 || word.ends_with("localhost:22")
        };
        if name == "ssh"
            && words.iter().any(|word| {
                *word == "-R"
                    || word.starts_with("-R")
                    || word.starts_with('-') && !word.starts_with("--") && word.ends_with('R')
            })
            && words.iter().any(forwards_login)
        {
            self.fact(span, FactKind::ReverseShell);
        }
        // `sh -i | nc …`
        if matches!(name, "nc" | "ncat" | "netcat" | "telnet") {
            let is_shell = command.reads_from.iter().any(|from| {
                self.script.commands.get(*from).is_some_and(|before| {
                    let name = before.name.as_deref().map(base_name).unwrap_or_default();
                    matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh")
                })
            });
            if is_shell {
                self.fact(span, FactKind::ReverseShell);
            }
        }
        let written = command
            .name
            .as_deref()
            .or(command.computed_name.as_ref().map(|word| word.text.as_str()));
        if written.is_some_and(|written| {
            written.starts_with('/')
                && written.matches('?').count() >= 2
                && !written.contains(['=', '&', ' ', ':'])
        }) {
            let how = "hides the name of a program in wildcards";
            self.fact(span, FactKind::DynamicExec { how, is_disguised: true });
        }
        // A repository to which secrets were copied before.
        if name == "git"
            && words.contains(&"push")
            && let Some(flow) =
                self.files.values().find(|flow| flow.labels.has(Labels::SECRET_FILE)).cloned()
        {
            self.fact(span, FactKind::Send { what: flow.labels, host: None, is_encoded: false });
        }
    }

    /// Notes what a permission stands for.
    fn used(&mut self, span: &Range<usize>, domain: Domain, level: Level, object: String) {
        self.fact(span, FactKind::Use { domain, level, object });
    }

    /// What a program does that a permission stands for, beside being started.
    fn uses(&mut self, span: &Range<usize>, name: &str, words: &[&str]) {
        match name {
            "xdotool" | "ydotool" | "cliclick" | "screencapture" | "scrot" | "gnome-screenshot"
            | "wmctrl" => {
                self.used(span, Domain::Desktop, Level::Control, String::new());
            }
            "osascript" if words.iter().any(|word| word.contains("System Events")) => {
                self.used(span, Domain::Desktop, Level::Control, String::new());
            }
            "psql" | "mysql" | "mariadb" | "sqlite3" | "mongosh" | "redis-cli" | "duckdb"
            | "sqlcmd" => {
                let writes = words.iter().any(|word| writes_database(word));
                let level = if writes { Level::Write } else { Level::Read };
                self.used(span, Domain::Database, level, String::new());
            }
            "printenv" | "env" if words.is_empty() => {
                self.used(span, Domain::Env, Level::Read, String::new());
            }
            "cat" | "head" | "tail" | "less" | "grep" | "awk" | "sed" | "tar" | "zip"
            | "source" | "." => {
                for word in
                    words.iter().filter(|word| word.starts_with(['/', '~']) && !word.contains('$'))
                {
                    self.used(span, Domain::Filesystem, Level::Read, (*word).to_owned());
                }
            }
            "rm" | "mkdir" | "touch" | "truncate" | "shred" => {
                for word in
                    words.iter().filter(|word| !word.starts_with('-') && !word.contains('$'))
                {
                    self.used(span, Domain::Filesystem, Level::Write, (*word).to_owned());
                }
            }
            _ => {}
        }
    }

    /// The text of a word with the variables that are known.
    fn text(&self, word: &ShellWord) -> Option<String> {
        if word.is_literal {
            return Some(word.text.clone());
        }
        let mut text = word.text.clone();
        if text.contains("\\x")
            || text.contains("\\u")
            || text.contains("\\1")
            || text.contains("\\0")
        {
            text = unescape(&text);
        }
        self.expand(&text)
    }

    /// Replaces `$NAME` and `${NAME}` by what is known; `None` if something is not.
    fn expand(&self, text: &str) -> Option<String> {
        let mut result = String::new();
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            result.push_str(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            let (name, after) = match rest.strip_prefix('{') {
                Some(inner) => inner.split_once('}')?,
                None => {
                    let end = rest
                        .find(|character: char| {
                            !character.is_ascii_alphanumeric() && character != '_'
                        })
                        .unwrap_or(rest.len());
                    rest.split_at(end)
                }
            };
            // `${x:1:4}`
            if let Some((base, range)) = name.split_once(':')
                && let Some(value) = self.values.get(base)
                && let Some(part) = substring(value, range)
            {
                result.push_str(part);
                rest = after;
                continue;
            }
            match self.values.get(name) {
                Some(value) => result.push_str(value),
                // `$@` inside a word is nothing.
                None if name.is_empty() && after.starts_with(['@', '*']) => {
                    rest = &after[1..];
                    continue;
                }
                None => return None,
            }
            rest = after;
            if result.len() > MAX_BYTES {
                return None;
            }
        }
        result.push_str(rest);
        Some(result)
    }

    /// What the variables in a word are.
    fn word_flow(&self, word: &ShellWord) -> Flow {
        let mut flow = Flow::default();
        if word.is_literal || !word.text.contains('$') {
            return flow;
        }
        for (at, _) in word.text.match_indices('$') {
            let rest = word.text[at + 1..].trim_start_matches(['{', '(', '!', '#']);
            let end = rest
                .find(|character: char| !character.is_ascii_alphanumeric() && character != '_')
                .unwrap_or(rest.len());
            let name = &rest[..end];
            if name.is_empty() {
                continue;
            }
            if let Some(known) = self.labels.get(name) {
                flow.add(known);
            }
            if secrets::is_variable(name) {
                flow.labels.add(Labels::SECRET_VARIABLE);
                flow.secret.get_or_insert_with(|| name.to_owned());
            } else if name.len() > 1 && name.bytes().any(|byte| byte.is_ascii_alphabetic()) {
                flow.labels.add(Labels::VARIABLE);
            }
        }
        flow
    }

    /// A command without `sudo` and its like.
    fn call<'c>(&self, command: &'c ShellCommand) -> Option<Call<'c>> {
        let name = match (&command.name, &command.computed_name) {
            (Some(name), _) => name.clone(),
            (None, Some(word)) => self.text(word)?,
            (None, None) => return None,
        };
        let mut words: Vec<(String, &ShellWord)> = command
            .arguments
            .iter()
            .map(|word| (self.text(word).unwrap_or_else(|| word.text.clone()), word))
            .collect();
        let mut name = name;
        // A variable may hold a whole command.
        if name.contains(' ') {
            let parts: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
            let word = command.computed_name.as_ref()?;
            let (first, rest) = parts.split_first()?;
            words = rest.iter().map(|part| (part.clone(), word)).chain(words).collect();
            name.clone_from(first);
        }
        for _ in 0..4 {
            if !WRAPPERS.contains(&base_name(&name)) {
                break;
            }
            let at =
                words.iter().position(|(word, _)| !word.starts_with('-') && !word.contains('='));
            let Some(at) = at else { break };
            name.clone_from(&words[at].0);
            words.drain(..=at);
        }
        // What `xargs` reads becomes words of another command.
        let mut from_input = false;
        if base_name(&name) == "xargs" {
            let mut at = 0;
            while let Some((word, _)) = words.get(at).filter(|(word, _)| word.starts_with('-')) {
                at += if matches!(word.as_str(), "-I" | "-n" | "-P" | "-L" | "-d" | "-E" | "-s") {
                    2
                } else {
                    1
                };
            }
            if at < words.len() {
                name.clone_from(&words[at].0);
                words.drain(..=at);
                from_input = true;
            }
        }
        Some(Call { name: base_name(&name).to_ascii_lowercase(), words, from_input })
    }

    fn command(&mut self, index: usize, command: &ShellCommand) -> Flow {
        let mut input = Flow::default();
        for from in command.reads_from.iter().filter(|from| **from != index) {
            match self.done.get(*from) {
                Some(known) => {
                    let known = known.clone();
                    input.text = known.text.clone().or(input.text);
                    input.add(&known);
                }
                None => {
                    if let Some(inner) = self.script.commands.get(*from) {
                        let known = self.peek_deep(inner, 0);
                        input.text = known.text.clone().or(input.text);
                        input.add(&known);
                    }
                }
            }
        }
        self.effects(command, &input);
        let flow = self.produced(command, &input);
        for word in &command.writes {
            let Some(name) = self.text(word) else { continue };
            self.written(&name, &flow, &command.span);
        }
        flow
    }

    /// What a command gives that comes later in the list than what reads it.
    fn peek_deep(&mut self, command: &ShellCommand, depth: usize) -> Flow {
        let mut input = Flow::default();
        if depth < MAX_PEEK {
            for from in command.reads_from.iter().copied().take(8) {
                let Some(inner) = self.script.commands.get(from) else { continue };
                let known = match self.done.get(from) {
                    Some(known) => known.clone(),
                    None => self.peek_deep(inner, depth + 1),
                };
                input.text = known.text.clone().or(input.text);
                input.add(&known);
            }
        }
        let facts = self.facts.len();
        let flow = self.produced(command, &input);
        self.facts.truncate(facts);
        flow
    }

    /// A file that is written.
    fn written(&mut self, name: &str, flow: &Flow, span: &Range<usize>) {
        let is_remote = flow.labels.has(Labels::NETWORK.with(Labels::DECODED))
            || flow.text.as_deref().is_some_and(is_remote_command);
        if let Some(what) = start_file(name) {
            self.fact(span, FactKind::Persist { what, is_remote });
        }
        if flow.labels.has(Labels::NETWORK) && flow.labels.has(Labels::DECODED) {
            self.fact(
                span,
                FactKind::DynamicExec {
                    how: "decodes what it receives into a file",
                    is_disguised: true,
                },
            );
        }
        if name.ends_with("authorized_keys") {
            self.fact(span, FactKind::Persist { what: "authorized keys", is_remote: true });
        }
        if is_agent_file(name) {
            self.fact(span, FactKind::WriteAgentFile { path: name.to_owned() });
        }
        self.files.insert(base_name(name).to_owned(), flow.clone());
    }

    /// What flows out of a command.
    fn produced(&mut self, command: &ShellCommand, input: &Flow) -> Flow {
        // `$(TOKEN)` is written by people who mean `$TOKEN`.
        if let Some(name) = &command.name
            && command.arguments.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            && secrets::is_variable(name)
        {
            return Flow {
                labels: Labels::SECRET_VARIABLE,
                secret: Some(name.clone()),
                ..Flow::default()
            };
        }
        let Some(call) = self.call(command) else { return input.clone() };
        let name = call.name.as_str();
        let mut flow = input.clone();
        let words: Vec<&str> = call.words.iter().map(|(text, _)| text.as_str()).collect();
        if DOWNLOADERS.contains(&name) {
            let url = words.iter().find(|word| is_url(word)).map(|url| (*url).to_owned());
            let output = output_file(name, &words, url.as_deref());
            let mut result = Flow { labels: Labels::NETWORK, url, ..Flow::default() };
            if let Some(file) = output {
                self.files.insert(base_name(&file).to_owned(), result.clone());
                result.text = None;
            }
            return result;
        }
        match name {
            "echo" | "printf" | "write-output" => {
                let mut result = Flow::default();
                let texts: Vec<Option<String>> =
                    call.words.iter().map(|(_, word)| self.text(word)).collect();
                for (text, word) in &call.words {
                    let word_flow = self.word_flow(word);
                    let mentions = word_flow.labels.has(Labels::VARIABLE) && says_secret(text);
                    result.add(&word_flow);
                    if mentions {
                        result.labels.add(Labels::SECRET_VARIABLE);
                    }
                }
                if texts.iter().all(Option::is_some) {
                    let text: Vec<String> = texts
                        .into_iter()
                        .flatten()
                        .filter(|word| {
                            !matches!(word.as_str(), "-n" | "-e" | "-ne" | "-en" | "%s" | "%b")
                        })
                        .collect();
                    let text = text.join(" ");
                    result.text = Some(if text.contains('\\') { unescape(&text) } else { text });
                }
                result.add(input);
                return result;
            }
            "env" | "printenv" | "set" | "export" | "declare" | "typeset" | "compgen" => {
                let is_dump = match name {
                    "env" => {
                        words.iter().all(|word| word.starts_with('-') && !word.starts_with("-u"))
                    }
                    "printenv" => {
                        words.is_empty() || words.iter().all(|word| word.starts_with('-'))
                    }
                    "export" | "declare" | "typeset" => {
                        words.iter().all(|word| matches!(*word, "-p" | "-x" | "-px" | "-xp"))
                            && !words.is_empty()
                    }
                    "compgen" => words.contains(&"-v") || words.contains(&"-e"),
                    _ => words.is_empty(),
                };
                if is_dump {
                    flow.labels.add(Labels::ENVIRONMENT);
                } else if name == "printenv" && words.iter().any(|word| secrets::is_variable(word))
                {
                    flow.labels.add(Labels::SECRET_VARIABLE);
                    flow.secret = words
                        .iter()
                        .find(|word| secrets::is_variable(word))
                        .map(|word| (*word).to_owned());
                }
                flow.text = None;
            }
            "base64" | "base32" | "gbase64" | "basenc" => {
                let is_decode = words
                    .iter()
                    .any(|word| matches!(*word, "-d" | "-D" | "--decode" | "-di" | "-id" | "-d-"));
                let here = here_text(command);
                let literal = input.text.clone().or(here);
                flow.text = None;
                if is_decode {
                    flow.labels.add(Labels::DECODED);
                    flow.text = literal.and_then(|text| decode::base64(&text));
                } else {
                    flow.labels.add(Labels::ENCODED);
                }
            }
            "openssl" if words.contains(&"base64") || words.contains(&"enc") => {
                flow.labels.add(if words.contains(&"-d") {
                    Labels::DECODED
                } else {
                    Labels::ENCODED
                });
                flow.text = if words.contains(&"-d") {
                    input.text.as_deref().and_then(decode::base64)
                } else {
                    None
                };
            }
            "xxd" | "hexdump" | "od" => {
                let is_decode = words.iter().any(|word| word.starts_with("-r"));
                flow.labels.add(if is_decode { Labels::DECODED } else { Labels::ENCODED });
                flow.text =
                    if is_decode { input.text.as_deref().and_then(decode::hex) } else { None };
            }
            "nc" | "ncat" | "netcat" | "socat" => {
                flow.labels.add(Labels::NETWORK);
                flow.text = None;
            }
            "rev" => {
                flow.labels.add(Labels::DECODED);
                flow.text = input.text.as_ref().map(|text| text.chars().rev().collect());
            }
            "tr" if words.len() >= 2 && input.text.is_some() => {
                flow.labels.add(Labels::DECODED);
                flow.text = input
                    .text
                    .as_ref()
                    .and_then(|text| decode::translate(text, words[0], words[1]));
            }
            "gunzip" | "zcat" | "uudecode" | "unxz" | "bunzip2" => {
                if input.labels.has(Labels::DECODED) || input.labels == Labels::NONE {
                    flow.labels.add(Labels::DECODED);
                }
                flow.text = None;
            }
            "xclip" | "pbpaste" | "xsel" | "wl-paste" | "get-clipboard" | "screencapture"
            | "scrot" | "import" => {
                if name != "import" {
                    flow.labels.add(Labels::SPIED);
                }
                flow.text = None;
            }
            "cat" | "head" | "tail" | "tee" => {
                let file = words.iter().find(|word| !word.starts_with('-'));
                if let Some(known) = file.and_then(|file| self.files.get(base_name(file))) {
                    let known = known.clone();
                    flow.add(&known);
                    flow.text.clone_from(&known.text);
                } else if let Some(here) = here_text(command) {
                    flow.text = Some(here);
                } else if name != "tee" && file.is_some() {
                    flow.text = None;
                }
            }
            "security"
                if words.iter().any(|word| {
                    word.starts_with("find-") || *word == "dump-keychain" || *word == "export"
                }) =>
            {
                flow.labels.add(Labels::SECRET_FILE);
                flow.secret = Some("keychain".to_owned());
            }
            "kubectl"
                if words.first() == Some(&"get")
                    && words.iter().any(|word| matches!(*word, "secret" | "secrets"))
                    && words.iter().any(|word| matches!(*word, "-A" | "--all-namespaces")) =>
            {
                flow.labels.add(Labels::SECRET_FILE);
                flow.secret = Some("all secrets of a cluster".to_owned());
            }
            "gh" if words.starts_with(&["auth", "token"]) => {
                flow.labels.add(Labels::SECRET_VARIABLE);
                flow.secret = Some("GITHUB_TOKEN".to_owned());
            }
            _ => flow.text = None,
        }
        if READERS.contains(&name)
            || INTERPRETERS.contains(&name)
            || name == "."
            || name == "source"
        {
            for word in words.iter().filter(|word| !word.starts_with("--") && word.len() < 300) {
                if let Some(file) = secrets::file(word).or_else(|| secrets::weak_file(word)) {
                    flow.labels.add(Labels::SECRET_FILE);
                    flow.secret.get_or_insert_with(|| file.to_owned());
                } else if let Some(known) = self.files.get(base_name(word)) {
                    let known = known.clone();
                    flow.add(&known);
                }
            }
            // Whether a pattern for secrets is looked for in the environment or in files.
            if matches!(name, "grep" | "awk" | "rg" | "sed")
                && input.labels.has(Labels::ENVIRONMENT)
            {
                flow.labels.add(Labels::ENVIRONMENT);
            }
            let archive = words.iter().find(|word| {
                [".tar", ".tgz", ".zip", ".gz", ".7z", ".db", ".enc"]
                    .iter()
                    .any(|end| word.contains(end))
            });
            if matches!(
                name,
                "tar" | "zip" | "7z" | "cp" | "mv" | "openssl" | "gpg" | "gzip" | "rsync"
            ) && flow.labels != Labels::NONE
            {
                let target = archive.or_else(|| words.last());
                if let Some(target) = target {
                    self.files
                        .insert(base_name(target).to_owned(), Flow { text: None, ..flow.clone() });
                }
            }
        }
        flow
    }

    /// What a command does.
    fn effects(&mut self, command: &ShellCommand, input: &Flow) {
        let Some(call) = self.call(command) else { return };
        let span = command.span.clone();
        let name = call.name.clone();
        let words: Vec<String> = call.words.iter().map(|(text, _)| text.clone()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut argument_flow = Flow::default();
        for (_, word) in &call.words {
            argument_flow.add(&self.word_flow(word));
        }
        self.execution(command, &name, &words, input, &argument_flow);
        if DOWNLOADERS.contains(&name.as_str()) {
            self.request(command, &call, input);
        }
        if SENDERS.contains(&name.as_str()) {
            let mut flow = input.clone();
            for word in &words {
                if let Some(file) = secrets::file(word) {
                    // A key is how one logs in.
                    let is_identity = matches!(name.as_str(), "ssh" | "scp" | "rsync" | "sftp")
                        && words.windows(2).any(|pair| pair[0] == "-i" && pair[1] == *word);
                    if !is_identity {
                        flow.labels.add(Labels::SECRET_FILE);
                        flow.secret = Some(file.to_owned());
                    }
                } else if let Some(known) = self.files.get(base_name(word)) {
                    let known = known.clone();
                    flow.add(&known);
                }
            }
            let is_secret = flow.labels.has(
                Labels::SECRET_FILE
                    .with(Labels::ENVIRONMENT)
                    .with(Labels::SECRET_VARIABLE)
                    .with(Labels::SPIED),
            );
            let is_sent = matches!(
                name.as_str(),
                "nc" | "ncat"
                    | "netcat"
                    | "socat"
                    | "mail"
                    | "mailx"
                    | "mutt"
                    | "sendmail"
                    | "scp"
                    | "rsync"
                    | "ftp"
                    | "tftp"
                    | "rclone"
                    | "telnet"
                    | "sftp"
                    | "lftp"
                    | "websocat"
            ) || input.labels != Labels::NONE;
            let is_remote = !matches!(name.as_str(), "scp" | "rsync")
                || words.iter().any(|word| word.contains(':') && !word.starts_with('-'));
            if is_secret && is_sent && is_remote {
                let host = words
                    .iter()
                    .find(|word| word.contains('.') && !word.starts_with(['-', '/', '~']))
                    .map(|word| (*word).to_owned());
                self.fact(
                    &span,
                    FactKind::Send {
                        what: flow.labels,
                        host,
                        is_encoded: flow.labels.has(Labels::ENCODED),
                    },
                );
            }
            self.used(&span, Domain::Network, Level::Write, String::new());
        }
        if RESOLVERS.contains(&name.as_str()) {
            let mut flow = argument_flow.clone();
            if command
                .arguments
                .iter()
                .any(|word| word.text.contains("$(") || word.text.contains('`'))
                || name == "xargs"
            {
                flow.add(input);
            }
            let is_name =
                call.words.iter().any(|(_, word)| !word.is_literal && word.text.contains('.'));
            if is_name
                && flow.labels.has(
                    Labels::SECRET_VARIABLE
                        .with(Labels::SECRET_FILE)
                        .with(Labels::ENVIRONMENT)
                        .with(Labels::ENCODED),
                )
            {
                self.fact(&span, FactKind::ResolveSend { what: flow.labels });
            }
        }
        if READERS.contains(&name.as_str()) {
            let file =
                words.iter().filter(|word| word.len() < 300).find_map(|word| secrets::file(word));
            if let Some(file) = file {
                self.fact(&span, FactKind::ReadSecret { path: file.to_owned() });
            }
        }
        if name == "security"
            && words.iter().any(|word| {
                word.starts_with("find-generic-password")
                    || word.starts_with("find-internet-password")
                    || *word == "dump-keychain"
            })
            && words
                .iter()
                .any(|word| matches!(*word, "-w" | "-g" | "dump-keychain" | "-wa" | "-ga"))
        {
            self.fact(&span, FactKind::ReadSecret { path: "keychain".to_owned() });
        }
        if let Some(refused) = binaries::refused(&name, &words) {
            self.fact(&span, FactKind::Refused(refused));
        }
        self.openings(&span, command, &name, &words);
        self.damage(&span, &name, &words);
        self.persistence(&span, &name, &words, input);
        if matches!(name.as_str(), "tee" | "cp" | "mv" | "install" | "ln") {
            for word in words.iter().filter(|word| !word.starts_with('-')) {
                if name == "tee" || words.last() == Some(word) {
                    let flow = input.clone();
                    self.written(word, &flow, &span);
                }
            }
        }
        self.uses(&span, &name, &words);
        self.used(&span, Domain::Shell, Level::Execute, name);
    }

    /// Whether a command runs what it reads.
    fn execution(
        &mut self,
        command: &ShellCommand,
        name: &str,
        words: &[&str],
        input: &Flow,
        arguments: &Flow,
    ) {
        let span = &command.span;
        let inline = words.iter().position(|word| {
            matches!(
                *word,
                "-c" | "-e" | "-E" | "-command" | "-Command" | "--eval" | "-lc" | "-ic" | "/c"
            )
        });
        let is_shell = is_interpreter(name);
        let reads_standard_input = is_shell
            && (words.is_empty()
                || words.iter().all(|word| word.starts_with('-'))
                || words.first() == Some(&"-")
                || words.contains(&"-s")
                || words.contains(&"/dev/stdin")
                || inline.is_some()
                || words.iter().any(|word| word.starts_with("<(") || word.starts_with("/dev/fd")));
        let is_eval = matches!(name, "eval" | "source" | "." | "iex" | "invoke-expression");
        let runs_words =
            name == "xargs" && words.iter().any(|word| is_interpreter(word) || *word == "eval");
        // `python3 - <<EOF` and `bash <<< "$X"`.
        let mut flow = input.clone();
        if is_eval || inline.is_some() {
            flow.add(arguments);
        }
        if reads_standard_input || is_eval || runs_words {
            let is_filter = inline.is_some() && !command_uses_input(words);
            let computed = flow.labels;
            // `curl … | python3 -c '…'` reads data; the program is the text after the option.
            let is_data = words.contains(&"-m")
                || is_filter
                    && is_shell
                    && !matches!(name, "sh" | "bash" | "zsh" | "dash")
                    && !words.iter().any(|word| word.contains("exec(") || word.contains("eval("));
            if computed.has(Labels::NETWORK)
                && !is_data
                && !is_safe_eval(name, input.url.as_deref().or(arguments.url.as_deref()))
            {
                self.fact(span, FactKind::DownloadExec { url: flow.url.clone() });
            }
            if computed.has(Labels::DECODED) && !is_data {
                self.fact(span, FactKind::DecodeExec { decoded: input.text.clone() });
            }
        }
        // A file that was downloaded, decoded or written before.
        let target = if is_shell
            || matches!(
                name,
                "source"
                    | "."
                    | "open"
                    | "start"
                    | "chmod"
                    | "installer"
                    | "msiexec"
                    | "dpkg"
                    | "rpm"
            ) {
            words
                .iter()
                .find(|word| {
                    !word.starts_with(['-', '+'])
                        && !word.bytes().all(|byte| byte.is_ascii_digit())
                        && !matches!(**word, "a+x" | "u+x" | "run" | "755" | "777")
                })
                .map(|word| (*word).to_owned())
        } else {
            command
                .name
                .clone()
                .or_else(|| command.computed_name.as_ref().and_then(|word| self.text(word)))
        };
        if name == "chmod"
            && !words.iter().any(|word| {
                word.contains('x')
                    || word.ends_with("55")
                    || word.ends_with("77")
                    || word.ends_with("00")
            })
        {
            return;
        }
        if name == "git" && words.first() == Some(&"clone") {
            let url = words.iter().find(|word| word.contains("://"));
            self.cloned = url
                .filter(|url| {
                    hosts::standing(url) != hosts::Standing::Known
                        && !hosts::is_of(url, hosts::FORGES)
                })
                .map(|url| (*url).to_owned());
        }
        // An archive that was downloaded, and a file that was in it.
        if matches!(name, "tar" | "unzip" | "7z")
            && let Some(known) =
                words.iter().find_map(|word| self.files.get(base_name(word))).cloned()
            && known.labels.has(Labels::NETWORK)
        {
            self.cloned = known.url.filter(|url| {
                hosts::standing(url) != hosts::Standing::Known && !hosts::is_of(url, hosts::FORGES)
            });
        }
        let is_own_file = target.as_deref().is_some_and(|target| {
            !target.starts_with('/') && target.contains('.') && !target.contains("://")
        });
        if let Some(url) = self.cloned.clone().filter(|_| {
            inline.is_none()
                && (is_shell && is_own_file
                    || command.name.as_deref().is_some_and(|name| name.starts_with("./")))
        }) {
            self.fact(span, FactKind::DownloadExec { url: Some(url) });
        }
        if let Some(known) = target.and_then(|target| self.files.get(base_name(&target)).cloned()) {
            if known.labels.has(Labels::NETWORK) && inline.is_none() {
                self.fact(span, FactKind::DownloadExec { url: known.url.clone() });
            } else if known.labels.has(Labels::DECODED) && inline.is_none() {
                self.fact(span, FactKind::DecodeExec { decoded: known.text.clone() });
            }
        }
    }

    /// What a request sends.
    fn request(&mut self, command: &ShellCommand, call: &Call<'_>, input: &Flow) {
        let words: Vec<&str> = call.words.iter().map(|(text, _)| text.as_str()).collect();
        let url = words.iter().find(|word| is_url(word)).copied();
        let host = url
            .map(|url| hosts::split(url).0)
            .filter(|host| !host.is_empty() && !host.contains('$'));
        let level = if changes_server(&words) { Level::Write } else { Level::Read };
        self.used(&command.span, Domain::Network, level, host.clone().unwrap_or_default());
        if input.labels.has(Labels::DECODED)
            && (call.from_input || url.is_none_or(|url| url.contains('$')))
        {
            self.fact(&command.span, FactKind::HiddenEndpoint { url: input.text.clone() });
        }
        let mut sent = Flow::default();
        let mut is_encoded = false;
        let is_oauth =
            words.iter().any(|word| word.contains("grant_type") || word.contains("client_id"));
        let mut at = 0;
        while at < call.words.len() {
            let (text, word) = &call.words[at];
            let is_data = matches!(
                text.as_str(),
                "-d" | "--data"
                    | "--data-raw"
                    | "--data-binary"
                    | "--data-urlencode"
                    | "--data-ascii"
                    | "-F"
                    | "--form"
                    | "--form-string"
                    | "-T"
                    | "--upload-file"
                    | "--json"
                    | "--post-data"
                    | "--post-file"
                    | "--body-data"
                    | "--body-file"
                    | "-Body"
                    | "-body"
                    | "-InFile"
            );
            let glued = [
                "-d",
                "--data=",
                "--data-binary=",
                "--data-raw=",
                "--post-data=",
                "--post-file=",
                "--body-file=",
                "--upload-file=",
                "--form=",
                "--json=",
                "-T",
                "-F",
            ]
            .iter()
            .find_map(|option| text.strip_prefix(option).filter(|rest| !rest.is_empty()));
            let value = if is_data { call.words.get(at + 1) } else { None };
            let value = value.map(|(text, word)| (text.as_str(), *word)).or_else(|| {
                glued.filter(|_| !is_data && !text.starts_with("--data-")).map(|rest| (rest, *word))
            });
            if let Some((text, word)) = value {
                let mut flow = self.word_flow(word);
                if flow.labels.has(Labels::VARIABLE) && says_secret(text) {
                    flow.labels.add(Labels::SECRET_VARIABLE);
                }
                let is_substituted = word.text.contains("$(") || word.text.contains('`');
                let is_input = text == "@-"
                    || text == "-"
                    || text.ends_with("=@-")
                    || text.ends_with("=<-")
                    || text.ends_with("@/dev/stdin");
                if is_substituted || is_input {
                    flow.add(input);
                    is_encoded |= input.labels.has(Labels::ENCODED);
                }
                let option = call.words[at].0.as_str();
                let file = text.rsplit_once('@').map_or(
                    if matches!(
                        option,
                        "-T" | "--upload-file" | "--post-file" | "--body-file" | "-InFile"
                    ) || ["-T", "--upload-file=", "--post-file=", "--body-file="]
                        .iter()
                        .any(|start| !is_data && option.starts_with(start))
                    {
                        text
                    } else {
                        ""
                    },
                    |(_, file)| file,
                );
                if !file.is_empty() {
                    if let Some(known) = secrets::file(file).or_else(|| secrets::weak_file(file)) {
                        flow.labels.add(Labels::SECRET_FILE);
                        flow.secret = Some(known.to_owned());
                    } else if let Some(known) = self.files.get(base_name(file)) {
                        let known = known.clone();
                        flow.add(&known);
                    }
                }
                if text.contains("<(") {
                    flow.add(input);
                }
                sent.add(&flow);
            } else if is_url(text) && !word.is_literal {
                // In the address itself.
                let mut flow = self.word_flow(word);
                if word.text.contains("$(") || word.text.contains('`') {
                    flow.add(input);
                    is_encoded |= input.labels.has(Labels::ENCODED);
                }
                // A key in a query is how some services want it.
                let is_strong =
                    flow.labels.has(Labels::ENVIRONMENT.with(Labels::SECRET_FILE)) || is_encoded;
                if is_strong {
                    sent.add(&flow);
                }
            } else if text.starts_with("Cookie:") || text.starts_with("X-") || *text == "-H" {
                let flow = self.word_flow(word);
                if flow.labels.has(Labels::ENVIRONMENT.with(Labels::SECRET_FILE)) {
                    sent.add(&flow);
                }
            }
            at += 1;
        }
        if call.from_input {
            sent.add(input);
        }
        let strong =
            sent.labels.has(Labels::ENVIRONMENT.with(Labels::SECRET_FILE).with(Labels::SPIED));
        let own = sent.secret.as_deref().is_some_and(|secret| {
            host.as_deref().is_some_and(|host| secrets::belongs_to(secret, host))
        });
        let is_local = host.as_deref().is_some_and(hosts::is_local);
        let is_bad = url.is_some_and(|url| hosts::standing(url) == hosts::Standing::Bad);
        if is_local {
            return;
        }
        let is_weak = sent.labels.has(Labels::SECRET_VARIABLE)
            && !own
            && !is_oauth
            && (host.is_some() || is_encoded);
        let is_encoded_variable =
            is_encoded && sent.labels.has(Labels::VARIABLE.with(Labels::SECRET_VARIABLE));
        if strong
            || is_weak
            || is_encoded_variable
            || (is_bad && sent.labels.has(Labels::VARIABLE.with(Labels::SECRET_VARIABLE)))
        {
            self.fact(&command.span, FactKind::Send { what: sent.labels, host, is_encoded });
        }
    }

    fn damage(&mut self, span: &Range<usize>, name: &str, words: &[&str]) {
        let has = |wanted: &str| words.contains(&wanted);
        match name {
            "rm" => {
                let is_recursive = words.iter().any(|word| {
                    word.starts_with('-')
                        && !word.starts_with("--")
                        && (word.contains('r') || word.contains('R'))
                        || *word == "--recursive"
                });
                let target = words.iter().find(|word| {
                    let word = word.trim_end_matches('*').trim_end_matches('/');
                    matches!(
                        word,
                        "" | "~"
                            | "$HOME"
                            | "${HOME}"
                            | "/home"
                            | "/Users"
                            | "/etc"
                            | "/usr"
                            | "/var"
                            | "/boot"
                            | "/root"
                            | "/bin"
                            | "/lib"
                    ) && !word.starts_with('-')
                        && words.iter().any(|word| word.starts_with(['/', '~', '$']))
                });
                if is_recursive && (target.is_some() || has("--no-preserve-root")) {
                    self.fact(
                        span,
                        FactKind::Destroy { what: "deletes a whole home or system folder" },
                    );
                } else if words.iter().any(|word| {
                    word.starts_with("/var/log")
                        || word.contains("/.ssh") && is_recursive
                        || word.ends_with("_history")
                }) {
                    self.fact(span, FactKind::Destroy { what: "deletes logs or histories" });
                }
            }
            "dd" if words.iter().any(|word| {
                word.starts_with("of=/dev/sd")
                    || word.starts_with("of=/dev/nvme")
                    || word.starts_with("of=/dev/disk")
                    || word.starts_with("of=/dev/hd")
            }) =>
            {
                self.fact(span, FactKind::Destroy { what: "overwrites a disk" });
            }
            "mkfs" | "mkfs.ext4" | "mkfs.xfs" | "wipefs"
                if words.iter().any(|word| word.starts_with("/dev/")) =>
            {
                self.fact(span, FactKind::Destroy { what: "formats a disk" });
            }
            "vssadmin" if has("delete") => {
                self.fact(span, FactKind::Destroy { what: "deletes the backups of Windows" });
            }
            "history" if has("-c") => {
                self.fact(span, FactKind::Destroy { what: "deletes logs or histories" });
            }
            "journalctl"
                if words.iter().any(|word| {
                    word.starts_with("--vacuum-time=1s") || word.starts_with("--vacuum-size=1")
                }) =>
            {
                self.fact(span, FactKind::Destroy { what: "deletes logs or histories" });
            }
            "wevtutil" if has("cl") => {
                self.fact(span, FactKind::Destroy { what: "deletes logs or histories" });
            }
            "chmod"
                if words.iter().any(|word| {
                    matches!(
                        *word,
                        "777"
                            | "0777"
                            | "a+rwx"
                            | "ugo+rwx"
                            | "a=rwx"
                            | "666"
                            | "o+w"
                            | "4755"
                            | "u+s"
                            | "+s"
                    )
                }) =>
            {
                self.fact(span, FactKind::WorldWritable);
            }
            "setenforce" if has("0") => {
                self.fact(span, FactKind::DisableProtection { what: "SELinux" });
            }
            "csrutil" if has("disable") => {
                self.fact(
                    span,
                    FactKind::DisableProtection { what: "System Integrity Protection" },
                );
            }
            "spctl" if has("--master-disable") || has("--global-disable") => {
                self.fact(span, FactKind::DisableProtection { what: "Gatekeeper" });
            }
            "ufw" if has("disable") => {
                self.fact(span, FactKind::DisableProtection { what: "the firewall" });
            }
            "iptables" | "ip6tables" if has("-F") || has("--flush") => {
                self.fact(span, FactKind::DisableProtection { what: "the firewall" });
            }
            "systemctl" | "service" | "sc" | "launchctl"
                if words.iter().any(|word| {
                    matches!(*word, "stop" | "disable" | "mask" | "delete" | "unload" | "remove")
                }) && words.iter().any(|word| {
                    [
                        "firewalld",
                        "ufw",
                        "auditd",
                        "apparmor",
                        "falcon",
                        "clamav",
                        "crowdstrike",
                        "windefend",
                        "wdnissvc",
                        "sysmon",
                        "rsyslog",
                        "fail2ban",
                        "ossec",
                        "wazuh",
                    ]
                    .iter()
                    .any(|known| word.to_lowercase().contains(known))
                }) =>
            {
                self.fact(span, FactKind::DisableProtection { what: "a security service" });
            }
            "set-mppreference" | "add-mppreference" => {
                self.fact(span, FactKind::DisableProtection { what: "Microsoft Defender" });
            }
            "netsh" if has("advfirewall") && has("off") => {
                self.fact(span, FactKind::DisableProtection { what: "the firewall" });
            }
            _ => {}
        }
    }

    fn persistence(&mut self, span: &Range<usize>, name: &str, words: &[&str], input: &Flow) {
        let text = input.text.clone().unwrap_or_default();
        let line = words.join(" ");
        let is_remote = is_remote_command(&text) || is_remote_command(&line);
        match name {
            "crontab"
                if words.first() == Some(&"-")
                    || words.is_empty()
                    || words.first().is_some_and(|word| !word.starts_with('-')) =>
            {
                self.fact(span, FactKind::Persist { what: "crontab", is_remote });
            }
            "launchctl"
                if words.iter().any(|word| matches!(*word, "load" | "bootstrap" | "submit")) =>
            {
                self.fact(span, FactKind::Persist { what: "launchd", is_remote });
            }
            "systemctl" if words.contains(&"enable") => {
                self.fact(span, FactKind::Persist { what: "systemd", is_remote });
            }
            "schtasks" if words.iter().any(|word| word.eq_ignore_ascii_case("/create")) => {
                self.fact(span, FactKind::Persist { what: "a scheduled task", is_remote });
            }
            "reg"
                if words.contains(&"add")
                    && line.to_lowercase().contains("currentversion\\run") =>
            {
                self.fact(
                    span,
                    FactKind::Persist { what: "the registry's Run key", is_remote: true },
                );
            }
            _ => {}
        }
    }
}

/// Whether the program after `-c` takes its input as code.
fn command_uses_input(words: &[&str]) -> bool {
    words.iter().any(|word| {
        word.contains("stdin")
            || word.contains("input()")
            || word.contains("$0")
            || word.contains("$1")
            || word.contains("$(")
    })
}

/// `eval "$(tool init)"` reads what a program prints, and nothing from the network.
fn is_safe_eval(name: &str, url: Option<&str>) -> bool {
    matches!(name, "eval") && url.is_some_and(|url| hosts::standing(url) == hosts::Standing::Known)
}

fn here_text(command: &ShellCommand) -> Option<String> {
    command.here_document.clone()
}

fn is_url(word: &str) -> bool {
    let word = word.trim_start_matches(['"', '\'']);
    word.contains("://") || word.starts_with("www.") || {
        let (host, rest) = word.split_once('/').unwrap_or((word, ""));
        !word.starts_with(['-', '/', '.', '~', '@', '{', '$'])
            && !word.contains(['=', ' ', '{'])
            && (hosts::is_address(host.split(':').next().unwrap_or(host)) && host.contains('.')
                || !rest.is_empty()
                    && host.contains('.')
                    && host.bytes().all(|byte| {
                        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':')
                    }))
    }
}

/// The file that a download is written to.
fn output_file(name: &str, words: &[&str], url: Option<&str>) -> Option<String> {
    let option = |wanted: &[&str]| {
        words
            .iter()
            .position(|word| wanted.contains(word))
            .and_then(|at| words.get(at + 1))
            .map(|word| (*word).to_owned())
    };
    let last = || {
        url.and_then(|url| {
            hosts::split(url)
                .1
                .split(['?', '#'])
                .next()
                .and_then(|path| path.rsplit('/').next())
                .map(str::to_owned)
        })
        .filter(|name| !name.is_empty())
    };
    match name {
        "curl" => option(&[
            "-o", "--output", "-Lo", "-sSLo", "-fsSLo", "-sLo", "-so", "-fLo", "-sSfLo", "-LSso",
            "-fsSL -o",
        ])
        .or_else(|| {
            words.iter().find_map(|word| {
                word.strip_prefix("-o")
                    .or_else(|| word.strip_prefix("--output="))
                    .filter(|rest| !rest.is_empty())
                    .map(str::to_owned)
            })
        })
        .or_else(|| {
            words
                .iter()
                .any(|word| {
                    word.starts_with('-') && !word.starts_with("--") && word.contains('O')
                        || *word == "--remote-name"
                })
                .then(last)
                .flatten()
        })
        .or_else(|| {
            words
                .iter()
                .position(|word| {
                    word.starts_with('-')
                        && !word.starts_with("--")
                        && word.ends_with('o')
                        && word.len() > 2
                })
                .and_then(|at| words.get(at + 1))
                .map(|word| (*word).to_owned())
        }),
        "wget" => {
            if words.iter().any(|word| matches!(*word, "-O-" | "-qO-" | "-")) {
                return None;
            }
            option(&["-O", "--output-document", "-qO", "-nvO"]).or_else(last)
        }
        "iwr" | "invoke-webrequest" | "irm" | "invoke-restmethod" => {
            option(&["-OutFile", "-outfile", "-o"])
        }
        "aria2c" | "axel" => option(&["-o"]).or_else(last),
        _ => None,
    }
}

/// A file that something runs by itself.
pub(crate) fn start_file(path: &str) -> Option<&'static str> {
    const FILES: &[(&str, &str)] = &[
        (".bashrc", "a start file of a shell"),
        (".zshrc", "a start file of a shell"),
        (".profile", "a start file of a shell"),
        (".bash_profile", "a start file of a shell"),
        (".zprofile", "a start file of a shell"),
        (".zshenv", "a start file of a shell"),
        ("config.fish", "a start file of a shell"),
        ("/etc/profile", "a start file of a shell"),
        ("launchagents/", "launchd"),
        ("launchdaemons/", "launchd"),
        ("/etc/cron", "crontab"),
        ("/var/spool/cron", "crontab"),
        ("systemd/system", "systemd"),
        ("systemd/user", "systemd"),
        ("/autostart/", "the desktop's start folder"),
        ("start menu\\programs\\startup", "the start folder"),
        ("startup/", "the start folder"),
        ("/etc/rc.local", "a start file of the system"),
        (".git/hooks/", "a hook of git"),
        ("sitecustomize.py", "a start file of Python"),
        ("usercustomize.py", "a start file of Python"),
        ("/etc/ld.so.preload", "a preloaded library"),
        ("powershell_profile", "a start file of a shell"),
    ];
    let path = path.to_lowercase();
    FILES.iter().find(|(known, _)| path.contains(known)).map(|(_, what)| *what)
}

/// Settings and memory of agents.
pub(crate) fn is_agent_file(path: &str) -> bool {
    let path = path.to_lowercase().replace('\\', "/");
    [
        "claude.md",
        "agents.md",
        "soul.md",
        "memory.md",
        "heartbeat.md",
        "identity.md",
        ".claude/settings",
        ".cursorrules",
        ".cursor/rules",
        ".cursor/mcp.json",
        "copilot-instructions.md",
        ".windsurfrules",
        "gemini.md",
        ".mcp.json",
        "claude_desktop_config",
        ".openclaw/openclaw.json",
        ".codex/config",
        ".continue/config",
    ]
    .iter()
    .any(|known| {
        path.ends_with(known)
            || path.contains(&format!("{known}."))
            || path.contains(&format!("{known}/"))
    })
}

/// Whether a line fetches or connects.
fn is_remote_command(text: &str) -> bool {
    [
        "curl ",
        "wget ",
        "http://",
        "https://",
        "/dev/tcp",
        "nc ",
        "base64",
        "python -c",
        "python3 -c",
        "iwr ",
        "ncat ",
        "osascript",
    ]
    .iter()
    .any(|word| text.contains(word))
}

/// Whether a text names a secret beside a value, as in `token=`.
fn says_secret(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    [
        "credential",
        "password",
        "passwd",
        "secret",
        "private_key",
        "privatekey",
        "ssh_key",
        "api_key",
        "apikey",
    ]
    .iter()
    .any(|word| {
        lower.match_indices(word).any(|(at, word)| {
            let after = lower[at + word.len()..].trim_start_matches(['s', '"', '\'', '\\', ' ']);
            after.starts_with(['=', ':'])
        })
    })
}
