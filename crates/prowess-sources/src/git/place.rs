//! Addresses of repositories: which are used, and how they are shown and recorded.

use prowess_store::source::SourceError;
use url::Url;

use crate::web::{is_loopback, unusable};

/// An address that git may be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// As the user wrote it, with everything secret.
    pub(super) address: String,
    /// What is shown and recorded.
    pub(super) clean: String,
    /// The transports that git may use, as `GIT_ALLOW_PROTOCOL` wants them.
    pub(super) protocols: &'static str,
}

/// The user's settings may send `https` addresses through `ssh` (`url.….insteadOf`) and the other way round.
const ENCRYPTED: &str = "https:ssh";

impl Place {
    /// Looks at an address. Nothing that git would take for an option or a program to run gets through (NEG-4), and
    /// nothing is sent in the clear to another machine.
    pub(super) fn parse(text: &str) -> Result<Self, SourceError> {
        let refused = |why: &str| unusable(format!("`{}` {why}", super::super::short(text)));
        if text.chars().any(char::is_control) {
            return Err(refused("holds a control character"));
        }
        if text.starts_with('/') {
            return Ok(Self::plain(text, "file"));
        }
        let Some((scheme, _)) = text.split_once("://") else {
            // `user@host:path`. A double colon names a program that git would run.
            let Some((host, path)) = text.split_once(':') else {
                return Err(refused("is no address of a repository").advice(
                    "give `https://…`, `ssh://…`, `user@host:path`, or the whole path of a folder",
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
                return Err(refused("is no address of a repository"));
            }
            return Ok(Self::plain(text, ENCRYPTED));
        };
        let url = Url::parse(text).map_err(|_| refused("is no address"))?;
        let has_fit_host = url.host_str().is_some_and(|host| !host.starts_with('-'));
        match scheme {
            "file" => Ok(Self::plain(text, "file")),
            "https" | "ssh" if has_fit_host => Ok(Self::of(text, url, ENCRYPTED)),
            "http" if has_fit_host && is_loopback(&url) => Ok(Self::of(text, url, "http")),
            "git" if has_fit_host && is_loopback(&url) => Ok(Self::of(text, url, "git")),
            "http" | "git" => Err(refused("is not encrypted").advice("use `https://` or `ssh://`")),
            _ => Err(refused("has a scheme that is not used").advice("use `https://` or `ssh://`")),
        }
    }

    /// The name that a skill at the root of the repository goes by when it declares none.
    pub(super) fn last_part(&self) -> &str {
        let whole = self.clean.trim_end_matches('/');
        let last = whole.rsplit(['/', ':']).next().unwrap_or(whole);
        last.strip_suffix(".git").unwrap_or(last)
    }

    /// A text of git's without what is secret in the address.
    pub(super) fn cleaned(&self, text: &str) -> String {
        let mut text = text.replace(&self.address, &self.clean);
        if let Ok(url) = Url::parse(&self.address) {
            for secret in [url.password().unwrap_or_default(), url.username()] {
                // Names such as `git` are no secret, and tokens stand in either place.
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
            // With ssh the name says who is asked, and is the same for everybody.
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
        check("ext::sh -c id", "`ext::sh -c id` is no address of a repository");
        check("--upload-pack=id", "`--upload-pack=id` is no address of a repository");
        check("-oProxyCommand=id:x", "`-oProxyCommand=id:x` is no address of a repository");
        check("git@-oProxyCommand=id:x", "`git@-oProxyCommand=id:x` is no address of a repository");
        check(
            "ssh://-oProxyCommand=id/x",
            "`ssh://-oProxyCommand=id/x` has a scheme that is not used",
        );
        check("fd://3", "`fd://3` has a scheme that is not used");
        check("https://host.example/a\nb", "`https://host.example/a b` holds a control character");
    }

    #[test]
    fn texts_of_git_hold_no_secret() {
        let place = Place::parse("https://ada:s3cret-word@host.example/a").expect("an address");
        let said = "unable to access 'https://ada:s3cret-word@host.example/a/': s3cret-word";
        assert_eq!(place.cleaned(said), "unable to access 'https://host.example/a/': …");
    }
}
