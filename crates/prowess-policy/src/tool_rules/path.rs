//! Patterns of paths, in the syntax of `.gitignore` below an anchor.

use super::{RuleEffect, ToolFolders};

/// The absolute path that a call means, without `.` and `..`. Links are not followed here: who can do so asks for both paths.
pub(super) fn absolute(path: &str, folders: ToolFolders<'_>) -> String {
    let whole = match path.strip_prefix("~/") {
        Some(rest) => match folders.home {
            Some(home) => format!("{home}/{rest}"),
            None => path.to_owned(),
        },
        None if path.starts_with('/') => path.to_owned(),
        None => format!("{}/{path}", folders.working),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a pattern matches an absolute path or a folder around it.
pub(super) fn matches(
    pattern: &str,
    effect: RuleEffect,
    path: &str,
    folders: ToolFolders<'_>,
) -> bool {
    let (anchor, rest, mut is_absolute) = match pattern {
        pattern if pattern.starts_with("//") => (String::new(), &pattern[2..], true),
        pattern if pattern.starts_with('/') => (trimmed(folders.project), &pattern[1..], true),
        pattern if pattern.starts_with("~/") => match folders.home {
            Some(home) => (trimmed(home), &pattern[2..], true),
            None => return effect == RuleEffect::Restrict,
        },
        "~" => match folders.home {
            Some(home) => (trimmed(home), "**", true),
            None => return effect == RuleEffect::Restrict,
        },
        pattern => (
            trimmed(folders.working),
            pattern.strip_prefix("./").unwrap_or(pattern),
            pattern.starts_with("./"),
        ),
    };
    let wanted = rest.split('/').filter(|part| !part.is_empty() && *part != ".");
    let mut wanted: Vec<&str> = wanted.collect();
    if wanted.is_empty() {
        return effect == RuleEffect::Restrict;
    }
    let mut anchor: Vec<&str> = anchor.split('/').filter(|part| !part.is_empty()).collect();
    // `../other/**` starts from the folder above; a `..` after that could be anywhere.
    while wanted.first() == Some(&"..") {
        wanted.remove(0);
        anchor.pop();
        is_absolute = true;
    }
    if wanted.is_empty() || wanted.contains(&"..") {
        return effect == RuleEffect::Restrict;
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let Some(parts) = parts.strip_prefix(anchor.as_slice()) else { return false };
    // A name alone matches at any depth; so does `name/**` in a rule that denies or asks.
    let is_name = wanted.len() == 1 && !is_absolute;
    let is_folder = wanted.len() == 2 && wanted[1] == "**" && wanted[0] != "**" && !is_absolute;
    if is_name || is_folder && effect == RuleEffect::Restrict {
        wanted.insert(0, "**");
    }
    // What matches a folder matches everything in it, and `folder/**` the folder itself.
    let whole = (1..=parts.len()).any(|end| segments(&wanted, &parts[..end]));
    let is_root = wanted.last() == Some(&"**") && segments(&wanted[..wanted.len() - 1], parts);
    whole || is_root
}

fn trimmed(folder: &str) -> String {
    folder.trim_end_matches('/').to_owned()
}

/// Compares parts of a path: `**` is any number of them. The table has one row per part of the pattern.
fn segments(wanted: &[&str], parts: &[&str]) -> bool {
    let mut reached = vec![false; parts.len() + 1];
    reached[0] = true;
    for pattern in wanted {
        let mut next = vec![false; parts.len() + 1];
        if *pattern == "**" {
            let mut is_open = false;
            for (at, reached) in reached.iter().enumerate() {
                is_open |= *reached;
                next[at] = is_open;
            }
        } else {
            for (at, part) in parts.iter().enumerate() {
                next[at + 1] = reached[at] && segment(pattern, part);
            }
        }
        reached = next;
    }
    reached[parts.len()]
}

/// Compares one part: `*` is any text, `?` one character, `[a-z]` one of several, `\` the next character as it is.
fn segment(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut from) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at) == Some(&'*') {
            again = Some((at + 1, from));
            at += 1;
            continue;
        }
        if from == text.len() {
            return at == pattern.len();
        }
        match one(&pattern[at..], text[from]) {
            Some(length) => {
                at += length;
                from += 1;
            }
            None => match again {
                Some((after, start)) => {
                    again = Some((after, start + 1));
                    (at, from) = (after, start + 1);
                }
                None => return false,
            },
        }
    }
}

/// The length of the part of a pattern that matches one character.
fn one(pattern: &[char], character: char) -> Option<usize> {
    match pattern {
        [] => None,
        ['?', ..] => Some(1),
        ['\\', next, ..] => (*next == character).then_some(2),
        ['[', rest @ ..] => {
            let (is_negated, rest) = match rest {
                ['!' | '^', rest @ ..] => (true, rest),
                rest => (false, rest),
            };
            // A `]` that comes first is one of the characters.
            let Some(end) = rest.iter().skip(1).position(|next| *next == ']').map(|end| end + 1)
            else {
                return (character == '[').then_some(1);
            };
            let set = &rest[..end];
            let mut is_in = false;
            let mut at = 0;
            while at < set.len() {
                if let [low, '-', high, ..] = set[at..] {
                    is_in |= (low..=high).contains(&character);
                    at += 3;
                } else {
                    is_in |= set[at] == character;
                    at += 1;
                }
            }
            (is_in != is_negated).then_some(1 + usize::from(is_negated) + end + 1)
        }
        [next, ..] => (*next == character).then_some(1),
    }
}
