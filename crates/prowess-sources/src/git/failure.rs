//! Translates git's error messages into errors with advice.

use prowess_store::source::{SourceError, SourceErrorKind};

use super::place::Place;
use crate::short;
use crate::web::{not_found, unreachable, unusable};

/// Creates an error from git's stderr.
pub(super) fn of(place: &Place, said: &str) -> SourceError {
    let url = &place.clean;
    let lower = said.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["dubious ownership"]) {
        return SourceError::new(
            SourceErrorKind::Denied,
            format!("git refuses to read `{url}`: it belongs to another user"),
        )
        .advice("if you trust that user: `git config --global --add safe.directory PATH`");
    }
    if has(&["could not resolve host", "could not resolve hostname", "name or service not known"]) {
        return unreachable(format!("could not resolve the host of `{url}`"))
            .advice("check the spelling and the internet connection");
    }
    // Hosts don't reveal which private repositories exist, so both cases look the same.
    if has(&[
        "could not read username",
        "could not read password",
        "authentication failed",
        "terminal prompts disabled",
        "permission denied",
        "the requested url returned error: 403",
        "the requested url returned error: 401",
        "host key verification failed",
    ]) {
        return SourceError::new(
            SourceErrorKind::Denied,
            format!("there is no repository `{url}`, or git has no access to it"),
        )
        .advice(format!(
            "check the spelling; for a private repository, `git ls-remote {url}` must work"
        ));
    }
    if has(&[
        "couldn't find remote ref",
        "not our ref",
        "no such remote ref",
        "remote ref does not exist",
    ]) {
        return not_found(format!("`{url}` does not have the requested revision"))
            .advice("check the branch, tag or commit");
    }
    if has(&["not found", "does not exist", "does not appear to be a git repository"]) {
        return not_found(format!("there is no repository `{url}`"))
            .advice("check the spelling; a private repository needs credentials that git knows");
    }
    if has(&["transport '", "not allowed"]) {
        return unusable(format!("git may not use this transport for `{url}`"))
            .advice("use `https://` or `ssh://`");
    }
    unreachable(format!("git can't fetch `{url}`: {}", last_words(said)))
        .advice(format!("`git ls-remote {url}` may show more"))
}

/// The last line with a reason.
fn last_words(said: &str) -> String {
    let mut lines = said.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let fatal = said.lines().rev().find_map(|line| line.trim().strip_prefix("fatal: "));
    short(fatal.or_else(|| lines.next()).unwrap_or("no reason given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_words_of_its_own() {
        let place = Place::parse("https://host.example/a").expect("an address");
        for (said, kind, expected) in [
            (
                "fatal: could not read Username for 'https://host.example': terminal prompts disabled",
                SourceErrorKind::Denied,
                "there is no repository `https://host.example/a`, or git has no access to it",
            ),
            (
                "fatal: unable to access 'https://host.example/a/': Could not resolve host: host.example",
                SourceErrorKind::Unreachable,
                "could not resolve the host of `https://host.example/a`",
            ),
            (
                "remote: Repository not found.\nfatal: repository 'https://host.example/a/' not found",
                SourceErrorKind::NotFound,
                "there is no repository `https://host.example/a`",
            ),
            (
                "warning: x\nfatal: the remote end hung up unexpectedly\n",
                SourceErrorKind::Unreachable,
                "git can't fetch `https://host.example/a`: the remote end hung up unexpectedly",
            ),
            (
                "fatal: detected dubious ownership in repository at '/srv/a'",
                SourceErrorKind::Denied,
                "git refuses to read `https://host.example/a`: it belongs to another user",
            ),
        ] {
            let error = of(&place, said);
            assert_eq!((error.kind, error.to_string().as_str()), (kind, expected), "{said}");
            assert!(!error.remedies.is_empty(), "{said}");
        }
    }
}
