//! A registry with the user's account: what `publish`, `yank`, `owner` and others send, and what comes back.

use std::time::Duration;

use prowess_core::{Problem, ProblemKind};
use prowess_package::name::SkillName;
pub(crate) use prowess_sources::AccountToken as Token;
use prowess_sources::{AccountReply, AccountRequest, Registry};
use prowess_store::source::SourceErrorKind;
use semver::Version;
use serde_json::Value;

use crate::error::Error;
use crate::packages::manager;
use crate::packages::sources::SourceSession;
use crate::terminal::printer::{Printer, inline};

/// Time limit of an upload.
const UPLOAD: Duration = Duration::from_mins(10);

/// A registry and the way to it.
pub(crate) struct Account {
    session: SourceSession,
    /// The registry.
    pub(crate) registry: Registry,
}

impl Account {
    /// Opens the registry of a namespace, or the usual one.
    pub(crate) fn open(
        namespace: Option<&SkillName>,
        printer: &mut Printer,
    ) -> Result<Self, Error> {
        let session = SourceSession::open(&manager()?, printer, false)?;
        let registry = session.sources.registry(namespace).map_err(|error| error.problem())?;
        Ok(Self { session, registry })
    }

    /// The sources, for what needs no account.
    pub(crate) fn sources(&self) -> &prowess_sources::Sources {
        &self.session.sources
    }

    /// Reads something.
    pub(crate) fn get(&self, path: &[&str], token: Token<'_>) -> Result<Value, Error> {
        self.send(path, None, None, token)
    }

    /// Changes something.
    pub(crate) fn post(
        &self,
        path: &[&str],
        body: &Value,
        token: Token<'_>,
    ) -> Result<Value, Error> {
        self.send(path, Some(("application/json", body.to_string().into_bytes())), None, token)
    }

    /// Uploads a form.
    pub(crate) fn upload(&self, path: &[&str], kind: &str, body: Vec<u8>) -> Result<Value, Error> {
        self.send(path, Some((kind, body)), Some(UPLOAD), Token::Own)
    }

    fn send(
        &self,
        path: &[&str],
        body: Option<(&str, Vec<u8>)>,
        limit: Option<Duration>,
        token: Token<'_>,
    ) -> Result<Value, Error> {
        let request = AccountRequest { path, body, limit, token };
        let reply = self.session.sources.account(&self.registry, request);
        let reply = reply.map_err(|error| match error.kind {
            // Without a token nothing was asked, and the registry would refuse it.
            SourceErrorKind::Denied => Problem { kind: ProblemKind::Refused, ..error.problem() },
            _ => error.problem(),
        })?;
        match reply.status {
            200..=299 if reply.body.is_empty() => Ok(Value::Null),
            200..=299 => serde_json::from_slice(&reply.body).map_err(|_| {
                Error::failed(format!(
                    "{} answers with something that is not JSON",
                    self.registry.url
                ))
            }),
            _ => Err(refused(&self.registry, &reply)),
        }
    }
}

/// What a refusal of a registry means.
fn refused(registry: &Registry, reply: &AccountReply) -> Error {
    let document: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let detail = document["detail"].as_str().or_else(|| document["title"].as_str());
    let detail = match detail {
        Some(detail) => inline(detail).into_owned(),
        None => format!("{} answers with the status {}", registry.url, reply.status),
    };
    let mut error = match reply.status {
        401 | 403 => Error::refused(detail),
        404 => Error::not_found(detail),
        _ => Error::failed(detail),
    };
    for finding in document["findings"].as_array().into_iter().flatten().take(5) {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let place = format!("{}:{}", text("file"), finding["line"]);
        error = error.hint(format!(
            "{} `{}`: {}",
            inline(&place),
            inline(&text("rule")),
            inline(&text("message"))
        ));
    }
    // How a token is sent concerns programs; the hint below is for people.
    let is_about_token = document["code"] == "unauthorized";
    let remedies = document["remedies"].as_array().filter(|_| !is_about_token);
    for remedy in remedies.into_iter().flatten().take(3) {
        if let Some(text) = remedy["text"].as_str() {
            error = error.hint(inline(text).into_owned());
        }
    }
    match (reply.status, reply.retry_after) {
        (401, _) => error.hint("run `prowess login`, or set `PROWESS_TOKEN`"),
        (429, Some(seconds)) => error.hint(format!("try again in {seconds} seconds")),
        _ => error,
    }
}

/// A skill that the user typed as `namespace/name`.
pub(crate) fn skill_id(text: &str) -> Result<(SkillName, SkillName), Error> {
    let parts = text.trim_start_matches('@').split_once('/');
    let parts =
        parts.and_then(|(namespace, name)| Some((namespace.parse().ok()?, name.parse().ok()?)));
    parts.ok_or_else(|| {
        Error::usage(format!("`{}` is not the name of a skill in a registry", inline(text)))
            .hint("write it as `namespace/name`")
    })
}

/// A version that the user typed as `namespace/name@version`.
pub(crate) fn skill_version(text: &str) -> Result<(SkillName, SkillName, Version), Error> {
    let written = text.trim_start_matches('@');
    let Some((skill, version)) = written.split_once('@') else {
        return Err(Error::usage(format!("`{}` has no version", inline(text)))
            .hint("write it as `namespace/name@1.2.3`"));
    };
    let (namespace, name) = skill_id(skill)?;
    let version = version.parse().map_err(|_| {
        Error::usage(format!("`{}` is not a version of the form `1.2.3`", inline(version)))
    })?;
    Ok((namespace, name, version))
}
