//! Addresses of git repositories: which ones are accepted, and how they are displayed and recorded.

use prowess_store::source::SourceError;
use url::Url;

use crate::web::{is_loopback, unusable};

/// An address that may be passed to git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The address as the user wrote it, including secrets.
    pub(super) address: String,
    /// The address without secrets, for display and for lock files.
    pub(super) clean: String,
    /// The transports that git may use, in the format of `GIT_ALLOW_PROTOCOL`.
    pub(super) protocols: &'static str,
}

/// The user's git configuration may rewrite `https` addresses to `ssh` (`url.….insteadOf`) and vice versa.
const ENCRYPTED: &str = "https:ssh";

impl Place {
    /// Parses an address. Anything that git would interpret as an option or as a program to run is rejected (NEG-4),
    /// and so are unencrypted connections to other machines.
    pub(super) fn parse(text: &str) -> Result<Self, SourceError> {
        let refused = |why: &str| unusable(format!("`{}` {why}", super::super::short(text)));
        if text.chars().any(char::is_control) {
            return Err(refused("contains a control character"));
        }
        if text.starts_with('/') {
            return Ok(Self::plain(text, "file"));
        }
        let Some((scheme, _)) = text.split_once("://") else {
            // `user@host:path`. A double colon selects a remote helper, which is a program that git would run.
            let Some((host, path)) = text.split_once(':') else {
                return Err(refused("is not a repository address").advice(
                    "use `https://…`, `ssh://…`, `user@host:path`, or the absolute path of a folder",
                ));
            };
            let is_host = |host: &str| {
                !host.is_empty()
                    && host.bytes().all(|byte| {
                        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'@')
                    })
            };
            let machine = host.rsplit('@').next().unwrap_or(host);
            if !is_host(host)
                || host.starts_with('-')
                || machine.starts_with('-')
                || path.starts_with(':')
            {
                return Err(refused("is not a repository address"));
            }
            return Ok(Self::plain(text, ENCRYPTED));
        };
        let url = Url::parse(text).map_err(|_| refused("is not a valid URL"))?;
        let has_fit_host = url.host_str().is_some_and(|host| !host.starts_with('-'));
        match scheme {
            "file" => Ok(Self::plain(text, "file")),
            "https" | "ssh" if has_fit_host => Ok(Self::of(text, url, ENCRYPTED)),
            "http" if has_fit_host && is_loopback(&url) => Ok(Self::of(text, url, "http")),
            "git" if has_fit_host && is_loopback(&url) => Ok(Self::of(text, url, "git")),
            "http" | "git" => Err(refused("is not encrypted").advice("use `https://` or `ssh://`")),
            _ => Err(refused("has an unsupported scheme").advice("use `https://` or `ssh://`")),
        }
    }

    /// The default name of a skill at the root of the repository.
    pub(super) fn last_part(&self) -> &str {
        let whole = self.clean.trim_end_matches('/');
        let last = whole.rsplit(['/', ':']).next().unwrap_or(whole);
        last.strip_suffix(".git").unwrap_or(last)
    }

    /// Removes the secrets of this address from git's output.
    pub(super) fn cleaned(&self, text: &str) -> String {
        let mut text = text.replace(&self.address, &self.clean);
        if let Ok(url) = Url::parse(&self.address) {
            for secret in [url.password().unwrap_or_default(), url.username()] {
                // Short names such as `git` aren't secret; tokens occur as user name or as password.
                if secret.len() > 6 {
                    text = text.replace(secret, "…");
                }
            }
        }
        text
    }

    fn plain(text: &str, protocols: &'static str) -> Self {
        Self { address: text.to_owned(), clean: text.to_owned(), protocols }
    }

    fn of(text: &str, mut url: Url, protocols: &'static str) -> Self {
        let has_secret =
            url.password().is_some() || (url.scheme() != "ssh" && !url.username().is_empty());
        let clean = if has_secret {
            let _ = url.set_password(None);
            // With ssh the user name selects an account and is the same for everyone.
            if url.scheme() != "ssh" {
                let _ = url.set_username("");
            }
            url.to_string()
        } else {
            text.to_owned()
        };
        Self { address: text.to_owned(), clean, protocols }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match Place::parse(text) {
            Ok(place) => format!("{} {}", place.protocols, place.clean),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn addresses_are_encrypted_or_here() {
        check("https://host.example/a/b", "https:ssh https://host.example/a/b");
        check("https://ada:s3cret@host.example/a", "https:ssh https://host.example/a");
        check("https://ghp_token@host.example/a", "https:ssh https://host.example/a");
        check("ssh://git@host.example/a", "https:ssh ssh://git@host.example/a");
        check("ssh://git:pass@host.example/a", "https:ssh ssh://git@host.example/a");
        check("git@host.example:a/b.git", "https:ssh git@host.example:a/b.git");
        check("/srv/a.git", "file /srv/a.git");
        check("http://127.0.0.1:80/a", "http http://127.0.0.1:80/a");
        check("http://host.example/a", "`http://host.example/a` is not encrypted");
        check("git://host.example/a", "`git://host.example/a` is not encrypted");
    }

    #[test]
    fn what_git_would_run_is_refused() {
        // NEG-4.
        check("ext::sh -c id", "`ext::sh -c id` is not a repository address");
        check("--upload-pack=id", "`--upload-pack=id` is not a repository address");
        check("-oProxyCommand=id:x", "`-oProxyCommand=id:x` is not a repository address");
        check("git@-oProxyCommand=id:x", "`git@-oProxyCommand=id:x` is not a repository address");
        check("ssh://-oProxyCommand=id/x", "`ssh://-oProxyCommand=id/x` has an unsupported scheme");
        check("fd://3", "`fd://3` has an unsupported scheme");
        check(
            "https://host.example/a\nb",
            "`https://host.example/a b` contains a control character",
        );
    }

    #[test]
    fn texts_of_git_hold_no_secret() {
        let place = Place::parse("https://ada:s3cret-word@host.example/a").expect("an address");
        let said = "unable to access 'https://ada:s3cret-word@host.example/a/': s3cret-word";
        assert_eq!(place.cleaned(said), "unable to access 'https://host.example/a/': …");
    }
}
