//! Hosts that a text names in URLs.

use std::ops::Range;

/// A host in a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName {
    /// The host in lower case, without user, password and port.
    pub host: String,
    /// The place of the URL in the text, as far as its scheme and its host.
    pub span: Range<usize>,
}

const SCHEMES: &[&str] = &["http://", "https://", "ftp://", "ws://", "wss://", "ssh://", "git://"];

/// Finds URLs with a host that is written out. A host that is computed, as in `https://$HOST/`, is not known.
pub fn hosts_in(text: &str) -> Vec<HostName> {
    let mut hosts = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find("://") {
        let colon = from + found;
        from = colon + 3;
        let start = text[..colon]
            .bytes()
            .rposition(|byte| !byte.is_ascii_alphabetic())
            .map_or(0, |before| before + 1);
        let scheme = text[start..from].to_ascii_lowercase();
        if !SCHEMES.contains(&scheme.as_str()) {
            continue;
        }
        let end = text[from..].find(is_end).map_or(text.len(), |end| from + end);
        if let Some(host) = host_of(&text[from..end]) {
            hosts.push(HostName { host, span: start..end });
        }
        from = end;
    }
    hosts
}

/// Whether a character ends the part of a URL that has the host.
fn is_end(character: char) -> bool {
    character.is_whitespace() || "/?#\"'`<>()\\,;|&".contains(character)
}

fn host_of(authority: &str) -> Option<String> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(address) => address.split_once(']')?.0,
        None => host.split_once(':').map_or(host, |(host, _)| host),
    };
    let host = host.trim_end_matches('.');
    let is_written =
        |character: char| character.is_alphanumeric() || matches!(character, '.' | '-' | '_' | ':');
    (!host.is_empty() && host.chars().all(is_written)).then(|| host.to_lowercase())
}
