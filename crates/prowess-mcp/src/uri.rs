//! The addresses of skills and their files: `skill://NAME/PATH`.

use std::fmt::Write as _;

/// The scheme of skills over MCP (SEP-2640).
const SCHEME: &str = "skill://";

/// The address of a skill's folder.
pub(crate) fn of_folder(skill: &str, path: &str) -> String {
    let mut uri = format!("{SCHEME}{}", encode(skill));
    for part in path.split('/').filter(|part| !part.is_empty()) {
        uri.push('/');
        uri.push_str(&encode(part));
    }
    uri
}

/// The skill and the path of a file or folder that an address names. The path has no empty part and no `.` or `..`.
pub(crate) fn parse(uri: &str) -> Option<(String, Vec<String>)> {
    let rest = uri.strip_prefix(SCHEME)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let mut parts = Vec::new();
    for part in rest.split('/') {
        let part = decode(part)?;
        if part.is_empty() || part == "." || part == ".." || part.contains(['/', '\0']) {
            return None;
        }
        parts.push(part);
    }
    let mut parts = parts.into_iter();
    Some((parts.next()?, parts.collect()))
}

fn encode(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, more @ ..] = rest else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        bytes.push(digit(*high)? * 16 + digit(*low)?);
        rest = more;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let uri = of_folder("a b", "references/ü.md");
        assert_eq!(uri, "skill://a%20b/references/%C3%BC.md");
        let (skill, path) = parse(&uri).unwrap();
        assert_eq!((skill.as_str(), path.join("/")), ("a b", "references/ü.md".to_owned()));
    }

    #[test]
    fn no_address_leaves_a_skill() {
        for uri in [
            "skill://a/../b",
            "skill://a/%2e%2e/b",
            "skill://a/b%2fc",
            "skill://a//b",
            "skill://",
            "skill://a/%",
            "skill://a/%zz",
            "skill://a/%00",
            "file:///etc/passwd",
        ] {
            assert_eq!(parse(uri), None, "{uri}");
        }
    }
}
