//! Patterns of hosts: `WebFetch(domain:*.example.com)`.

use url::Url;

use super::glob;

/// The host of an address, in lower case and without a dot at its end.
pub(super) fn host(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    Some(canonical(url.host_str()?))
}

fn canonical(host: &str) -> String {
    host.trim().trim_end_matches('.').to_lowercase()
}

/// `*` is every host, `*.` at the beginning any number of labels, and any other `*` text without a dot.
pub(super) fn matches(pattern: &str, host: &str) -> bool {
    let pattern = canonical(pattern);
    if pattern == "*" {
        return true;
    }
    let labels: Vec<&str> = host.split('.').collect();
    let (rest, is_open) = match pattern.strip_prefix("*.") {
        Some(rest) => (rest, true),
        None => (pattern.as_str(), false),
    };
    let wanted: Vec<&str> = rest.split('.').collect();
    let has_length =
        if is_open { labels.len() > wanted.len() } else { labels.len() == wanted.len() };
    has_length
        && wanted
            .iter()
            .rev()
            .zip(labels.iter().rev())
            .all(|(wanted, label)| glob::anything(wanted, label))
}
