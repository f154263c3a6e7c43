//! Wildcards in commands, names and values: `*` is any text.

/// Compares a text with a pattern in which `*` is any text, in time proportional to their product.
pub(super) fn anything(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    // Where to go on after the last `*` when the rest does not match.
    let mut again: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                again = Some((at + 1, from));
                at += 1;
            }
            Some(byte) if *byte == text[from] => {
                at += 1;
                from += 1;
            }
            _ => match again {
                Some((after, start)) => {
                    again = Some((after, start + 1));
                    (at, from) = (after, start + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// Compares a command with a pattern. `:*` at the end is the same as ` *`, which is also the end of the command: `git *` matches
/// `git` and `git log`, but not `gitk`.
pub(super) fn command(pattern: &str, text: &str) -> bool {
    let spaced;
    let pattern = match pattern.strip_suffix(":*") {
        Some(start) => {
            spaced = format!("{} *", start.trim_end());
            spaced.as_str()
        }
        None => pattern,
    };
    let is_bare = pattern.strip_suffix(" *").is_some_and(|start| anything(start, text));
    is_bare || anything(pattern, text)
}

/// Whether a pattern of a command has a wildcard, so that it stands for more than one.
pub(super) fn has_wildcard(pattern: &str) -> bool {
    pattern.contains('*')
}
