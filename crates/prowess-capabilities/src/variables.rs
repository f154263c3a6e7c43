//! The environment variables that a shell script reads, found by a scan of its text.

use std::collections::HashSet;
use std::ops::Range;

/// Variables that every session has, and those that shells and agents set themselves.
const ORDINARY: &[&str] = &[
    "ARGUMENTS",
    "COLUMNS",
    "CWD",
    "DISPLAY",
    "EDITOR",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HOME",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "LANG",
    "LANGUAGE",
    "LINENO",
    "LINES",
    "LOGNAME",
    "MACHTYPE",
    "NF",
    "NR",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PAGER",
    "PATH",
    "PIPESTATUS",
    "PPID",
    "PS1",
    "PS2",
    "PS4",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELL",
    "SHLVL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "UID",
    "USER",
    "USERNAME",
    "USERPROFILE",
    "VISUAL",
];
/// Beginnings of such names.
const ORDINARY_PREFIXES: &[&str] = &["BASH", "CLAUDE_", "COMP_", "LC_", "XDG_", "ZSH_"];

/// Whether a variable says nothing about what a skill wants.
pub(crate) fn is_ordinary(name: &str) -> bool {
    ORDINARY.contains(&name) || ORDINARY_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The variables that a script reads and does not set, each once. Names in lower case are variables of the script.
pub(crate) fn read_by_shell(text: &str) -> Vec<(String, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut found: Vec<(String, Range<usize>)> = Vec::new();
    let mut known = HashSet::new();
    let mut at = 0;
    while let Some(next) = text[at..].find('$') {
        let dollar = at + next;
        let start = if bytes.get(dollar + 1) == Some(&b'{') { dollar + 2 } else { dollar + 1 };
        let name = name_at(text, start);
        at = (start + name.len()).max(dollar + 1);
        let is_wanted = name.len() > 1
            && name.starts_with(|first: char| first.is_ascii_uppercase())
            && !name.contains(|character: char| character.is_ascii_lowercase())
            && !is_ordinary(name);
        if is_wanted && known.insert(name) {
            found.push((name.to_owned(), dollar..at));
        }
    }
    if !found.is_empty() {
        let set = set_by_shell(text);
        found.retain(|(name, _)| !set.contains(name.as_str()));
    }
    found
}

fn name_at(text: &str, start: usize) -> &str {
    let rest = &text[start.min(text.len())..];
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    &rest[..rest.bytes().take_while(|byte| is_name(byte)).count()]
}

/// Names that the script assigns. `X="${X:-default}"` reads the variable of the environment first.
fn set_by_shell(text: &str) -> HashSet<&str> {
    let mut set = HashSet::new();
    for line in text.lines() {
        let mut line = line.trim_start();
        for word in ["export ", "local ", "readonly ", "declare ", "for ", "read -r ", "read "] {
            line = line.strip_prefix(word).unwrap_or(line).trim_start();
        }
        let name = name_at(line, 0);
        let rest = &line[name.len()..];
        let is_for = rest.starts_with(" in ");
        let is_set = rest.starts_with('=') && !rest.contains(&format!("${{{name}"))
            || rest.starts_with("+=");
        if !name.is_empty() && (is_set || is_for) {
            set.insert(name);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_and_not_set() {
        let text = "OUT=x\nexport MODE=y\nKEY=\"${KEY:-}\"\nfor ITEM in a b; do echo $ITEM $OUT $MODE; done\ncurl -H \"$API_TOKEN\" ${OTHER_KEY:?} $HOME $lower $1 $$ $";
        let names: Vec<String> = read_by_shell(text).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["KEY", "API_TOKEN", "OTHER_KEY"]);
    }
}
