//! Programs that start others, and words that are scripts themselves.

use std::ops::Range;

use crate::{ShellCommand, ShellWord};

/// A program whose later words are a command.
struct Wrapper {
    name: &'static str,
    /// Options whose value is a word of its own.
    options_with_value: &'static [&'static str],
    /// Words before the command that are not options.
    operands: usize,
}

const fn wrapper(
    name: &'static str,
    options_with_value: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper { name, options_with_value, operands }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", &[], 0),
    wrapper("busybox", &[], 0),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("chroot", &[], 1),
    wrapper("chrt", &[], 1),
    wrapper("command", &[], 0),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("env", &["-u", "--unset", "-C", "--chdir"], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("flock", &["-w", "--timeout", "-E"], 1),
    wrapper("ionice", &["-c", "-n"], 0),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("sudo", &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R"], 0),
    wrapper("taskset", &[], 1),
    wrapper("time", &["-f", "-o"], 0),
    wrapper("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    wrapper("unbuffer", &[], 0),
    wrapper("watch", &["-n", "--interval"], 0),
    wrapper("xargs", &["-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a"], 0),
];

/// Programs that read a script from the word after `-c`.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// The file name of a program.
pub(crate) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether a program runs shell scripts.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&base_name(name))
}

/// The programs that a command starts through its words, outermost first.
pub(crate) fn started(command: &ShellCommand) -> Vec<(String, Range<usize>)> {
    let mut started = Vec::new();
    let Some(name) = &command.name else { return started };
    let mut name = name.clone();
    let mut rest = command.arguments.as_slice();
    // Each round takes at least one word.
    while let Some(at) = inner_command(&name, rest) {
        let word = &rest[at];
        if !word.is_literal {
            break;
        }
        started.push((word.text.clone(), word.span.clone()));
        name.clone_from(&word.text);
        rest = &rest[at + 1..];
    }
    if base_name(&name) == "find" {
        started.extend(started_by_find(rest));
    }
    started
}

/// The name and the words of the innermost command that a command starts.
pub(crate) fn innermost(command: &ShellCommand) -> Option<(&str, &[ShellWord])> {
    let mut name = command.name.as_deref()?;
    let mut rest = command.arguments.as_slice();
    while let Some(at) = inner_command(name, rest) {
        if !rest[at].is_literal {
            break;
        }
        name = &rest[at].text;
        rest = &rest[at + 1..];
    }
    Some((name, rest))
}

/// Where the command of a wrapper begins in its words.
fn inner_command(name: &str, words: &[ShellWord]) -> Option<usize> {
    let name = base_name(name);
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut operands = wrapper.operands;
    let mut skip_value = false;
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        if std::mem::take(&mut skip_value) {
            continue;
        }
        if text.len() > 1 && text.starts_with('-') {
            // What follows `command -v` is asked for and not started.
            if name == "command" && matches!(text, "-v" | "-V") {
                return None;
            }
            skip_value = wrapper.options_with_value.contains(&text);
            continue;
        }
        if matches!(name, "env" | "sudo" | "doas") && is_assignment(text) {
            continue;
        }
        if operands > 0 {
            operands -= 1;
            continue;
        }
        return Some(at);
    }
    None
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

fn started_by_find(words: &[ShellWord]) -> Vec<(String, Range<usize>)> {
    let is_action =
        |word: &ShellWord| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    words
        .windows(2)
        .filter(|pair| is_action(&pair[0]) && pair[1].is_literal)
        .map(|pair| (pair[1].text.clone(), pair[1].span.clone()))
        .collect()
}

/// Texts among the words of a command that are scripts: after `sh -c`, of `eval` and of `trap`, and the literal here-document
/// of a shell without a script. Only literal ones are read.
pub(crate) fn inner_scripts(command: &ShellCommand) -> Vec<(String, Range<usize>)> {
    let Some((name, words)) = innermost(command) else { return Vec::new() };
    let literal =
        |word: &ShellWord| word.is_literal.then(|| (word.text.clone(), word.span.clone()));
    match name {
        "eval" => {
            let is_literal = !words.is_empty() && words.iter().all(|word| word.is_literal);
            let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            is_literal.then(|| (text.join(" "), command.span.clone())).into_iter().collect()
        }
        "trap" => words.first().filter(|_| words.len() > 1).and_then(literal).into_iter().collect(),
        name if is_shell(name) => {
            let position = words.iter().position(|word| takes_script(&word.text));
            match position {
                Some(position) => words.get(position + 1).and_then(literal).into_iter().collect(),
                None if words.iter().all(|word| word.text.starts_with('-')) => command
                    .here_document
                    .iter()
                    .map(|text| (text.clone(), command.span.clone()))
                    .collect(),
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Whether an option of a shell makes the next word a script: `-c`, also among others (`-euc`).
fn takes_script(option: &str) -> bool {
    option.starts_with('-') && !option.starts_with("--") && option.ends_with('c')
}

/// A wrapper that patterns of commands look through, with every option that it may have.
struct TransparentWrapper {
    name: &'static str,
    /// Options that are a word of their own.
    flags: &'static [&'static str],
    /// Options that are followed by a value.
    values: &'static [&'static str],
    /// Beginnings of options that hold their value.
    prefixes: &'static [&'static str],
    /// Words before the command that are not options.
    operands: usize,
}

const TRANSPARENT: &[TransparentWrapper] = &[
    TransparentWrapper {
        name: "timeout",
        flags: &["--foreground", "--preserve-status", "-v", "--verbose"],
        values: &["-s", "--signal", "-k", "--kill-after"],
        prefixes: &["--signal=", "--kill-after="],
        operands: 1,
    },
    TransparentWrapper { name: "time", flags: &["-p"], values: &[], prefixes: &[], operands: 0 },
    TransparentWrapper {
        name: "nice",
        flags: &[],
        values: &["-n", "--adjustment"],
        prefixes: &["--adjustment="],
        operands: 0,
    },
    TransparentWrapper { name: "nohup", flags: &[], values: &[], prefixes: &[], operands: 0 },
    TransparentWrapper {
        name: "stdbuf",
        flags: &[],
        values: &["-i", "-o", "-e"],
        prefixes: &["-i", "-o", "-e", "--input=", "--output=", "--error="],
        operands: 0,
    },
    TransparentWrapper { name: "command", flags: &["-p"], values: &[], prefixes: &[], operands: 0 },
    TransparentWrapper { name: "builtin", flags: &[], values: &[], prefixes: &[], operands: 0 },
    TransparentWrapper { name: "noglob", flags: &[], values: &[], prefixes: &[], operands: 0 },
    TransparentWrapper { name: "xargs", flags: &[], values: &[], prefixes: &[], operands: 0 },
];

/// Where the command of a wrapper begins, if the first of these words is a wrapper and all its options are known.
pub(crate) fn strictly_inner(words: &[ShellWord]) -> Option<usize> {
    let (name, rest) = words.split_first()?;
    let wrapper =
        TRANSPARENT.iter().find(|wrapper| name.is_literal && wrapper.name == name.text)?;
    let mut operands = wrapper.operands;
    let mut skip_value = false;
    for (at, word) in rest.iter().enumerate() {
        let text = word.text.as_str();
        if !word.is_literal {
            return None;
        }
        if std::mem::take(&mut skip_value) {
            continue;
        }
        if text.starts_with('-') && text.len() > 1 {
            if wrapper.values.contains(&text) {
                skip_value = true;
            } else if !wrapper.flags.contains(&text)
                && !wrapper.prefixes.iter().any(|prefix| text.starts_with(prefix))
            {
                return None;
            }
            continue;
        }
        if operands > 0 {
            operands -= 1;
            continue;
        }
        return Some(at + 1);
    }
    None
}
