//! Requests that need an account: publishing, and managing what was published.

use std::time::Duration;

use prowess_files::private::read_own_text;
use prowess_package::name::SkillName;
use prowess_secrets::{Replacer, Secret};
use prowess_settings::KeySource;
use prowess_store::source::{SourceError, SourceErrorKind};

use super::{MOST_ANSWER_BYTES, Registry, RegistryClient, RegistryKind, address};
use crate::web::{Post, unusable};

/// Maximum size of a saved token.
const MOST_TOKEN_BYTES: u64 = 4 << 10;
/// Time limit for everything but uploads.
const ANSWER: Duration = Duration::from_mins(1);

/// A request to a registry.
#[derive(Debug)]
pub struct AccountRequest<'a> {
    /// The parts of the path below `/api/v1`.
    pub path: &'a [&'a str],
    /// The body and its type; without one the request only reads.
    pub body: Option<(&'a str, Vec<u8>)>,
    /// Time limit; `None` is one minute.
    pub limit: Option<Duration>,
    /// The token that is sent.
    pub token: AccountToken<'a>,
}

/// The token of a request.
#[derive(Clone, Copy, Debug)]
pub enum AccountToken<'a> {
    /// None: the request is for getting one.
    None,
    /// The configured or the saved one.
    Own,
    /// This one, which is not saved yet.
    This(&'a str),
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountReply {
    /// The status.
    pub status: u16,
    /// The body: JSON, or a problem document.
    pub body: Vec<u8>,
    /// When to try again, in seconds.
    pub retry_after: Option<u64>,
}

impl RegistryClient {
    /// The registry of a namespace.
    pub(crate) fn of_namespace(
        &self,
        namespace: Option<&SkillName>,
    ) -> Result<Registry, SourceError> {
        let registry = self.registries.of_namespace(namespace)?;
        if registry.kind == RegistryKind::ClawHub {
            return Err(unusable(format!("`{}` can only be read from here", registry.name)));
        }
        Ok(registry.clone())
    }

    /// Sends a request with the token of the registry. It is sent once: what a failed one has done is not known here.
    pub(crate) fn account(
        &self,
        registry: &Registry,
        request: AccountRequest<'_>,
    ) -> Result<AccountReply, SourceError> {
        let AccountRequest { path, body, limit, token: wanted } = request;
        let token = match wanted {
            AccountToken::None => None,
            AccountToken::Own => self.token(registry)?,
            AccountToken::This(token) => Some(Secret::new("new token", token)),
        };
        if matches!(wanted, AccountToken::Own) && token.is_none() {
            return Err(SourceError::new(
                SourceErrorKind::Denied,
                format!("there is no token for {}", registry.url),
            )
            .advice("run `prowess login`, or set `PROWESS_TOKEN`"));
        }
        let url = address(registry, path, &[])?;
        let reply = self.web.post(&Post {
            url: &url,
            body,
            most: MOST_ANSWER_BYTES,
            limit: limit.unwrap_or(ANSWER),
            token: token.as_ref().map(Secret::reveal_value),
        });
        let replacer = Replacer::redacting(token.as_slice());
        match reply {
            Ok(mut reply) => {
                // The reply to a log-in has a token in it, which is not the one that is hidden here.
                let text = String::from_utf8_lossy(&reply.body).into_owned();
                reply.body = replacer.text(&text).into_owned().into_bytes();
                Ok(reply)
            }
            Err(mut error) => {
                error.what = replacer.text(&error.what).into_owned();
                Err(error)
            }
        }
    }

    /// The token that was saved for a registry.
    pub(super) fn saved_token(&self, registry: &Registry) -> Result<Option<String>, SourceError> {
        let Some(path) = self.registries.saved_token(registry) else { return Ok(None) };
        let text = read_own_text(&path, MOST_TOKEN_BYTES).map_err(|error| {
            SourceError::new(
                SourceErrorKind::Denied,
                format!("cannot read the saved token `{}`: {error}", path.display()),
            )
            .advice("run `prowess login` again")
        })?;
        Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
    }

    /// Whether a variable or the settings give the token, so that a saved one is not used.
    pub(crate) fn has_configured_token(&self, registry: &Registry) -> bool {
        match &registry.token {
            KeySource::None => false,
            KeySource::Variable { name, .. } => {
                prowess_settings::variable(&self.variables, name).is_some()
            }
            KeySource::File(_) => true,
        }
    }
}
