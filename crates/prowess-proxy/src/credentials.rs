//! Credentials that the sandbox never sees: it has a placeholder, which is replaced here.
//!
//! A placeholder is only replaced in the header fields of a request to the host it is bound to,
//! over TLS with a verified certificate (attack sandbox-F06). Everywhere else, in a path, in a body
//! or in a request to another host, it stays a worthless placeholder.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue, IF_RANGE,
    RANGE,
};
use prowess_secrets::{Placeholder, Replacer};

use crate::exchange::Scheme;
use crate::host::Host;
use crate::refusal::Refusal;

/// A credential for one host.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The only host that gets it.
    pub host: Host,
    /// The placeholder and the key.
    pub placeholder: Placeholder,
}

/// All credentials of a run.
#[derive(Debug)]
pub(crate) struct Credentials {
    all: Vec<Credential>,
    /// Replaces keys with placeholders in responses, for all hosts: no other host should return a
    /// key either.
    answers: Replacer,
}

impl Credentials {
    pub(crate) fn new(all: Vec<Credential>) -> Self {
        let placeholders: Vec<Placeholder> =
            all.iter().map(|credential| credential.placeholder.clone()).collect();
        Self { all, answers: Replacer::swaps(&placeholders) }
    }

    /// Whether a host has a credential. Its TLS is then terminated, even if it is granted for
    /// writing.
    pub(crate) fn has(&self, host: &Host) -> bool {
        self.all.iter().any(|credential| credential.host == *host)
    }

    /// Refuses a request with a placeholder for another host. It would be harmless, but it is an
    /// attempt to send a key elsewhere, and the user should know.
    pub(crate) fn judge(
        &self,
        fields: &HeaderMap,
        host: &Host,
        port: u16,
        scheme: Scheme,
    ) -> Result<(), Refusal> {
        for Credential { host: bound, placeholder } in &self.all {
            let carries = |(name, value): (&HeaderName, &HeaderValue)| {
                swapped(name, value, placeholder).is_some()
            };
            if !fields.iter().any(carries) {
                continue;
            }
            let name = placeholder.secret().name();
            if bound != host {
                return Err(Refusal::credential(host, port, name, bound));
            }
            if scheme == Scheme::Http {
                return Err(Refusal::credential_without_tls(host, port, name));
            }
        }
        Ok(())
    }

    /// Inserts the keys of a host into a request that [`judge`](Self::judge) accepted.
    pub(crate) fn put(&self, fields: &mut HeaderMap, host: &Host, scheme: Scheme) {
        if scheme == Scheme::Http || !self.has(host) {
            return;
        }
        // The response is searched, so it must not be compressed or partial.
        fields.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        fields.remove(RANGE);
        fields.remove(IF_RANGE);
        let own = self.all.iter().filter(|credential| credential.host == *host);
        for Credential { placeholder, .. } in own {
            for (name, value) in fields.iter_mut() {
                if let Some(real) = swapped(name, value, placeholder) {
                    *value = real;
                }
            }
        }
    }

    /// The replacer for a response, or why the response can't be searched: the host has a key and
    /// may echo it in compressed form.
    pub(crate) fn answers(&self, fields: &HeaderMap, host: &Host) -> Result<Replacer, String> {
        let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        if self.has(host) && !fields.get_all(CONTENT_ENCODING).iter().all(plain) {
            return Err(format!(
                "`{host}` sent a compressed response that was not requested, and it could contain a credential"
            ));
        }
        Ok(self.answers.clone())
    }
}

/// Replaces the placeholder with the key in the value of a field, if it contains one.
fn swapped(
    name: &HeaderName,
    value: &HeaderValue,
    placeholder: &Placeholder,
) -> Option<HeaderValue> {
    let (from, to) = (placeholder.text(), placeholder.secret().reveal_value());
    let text = value.to_str().ok()?;
    let mut real = if text.contains(from) {
        HeaderValue::from_str(&text.replace(from, to))
    } else {
        // `curl --user` and git encode it (RFC 7617 §2).
        let (scheme, wrapped) = text.split_once(' ').filter(|_| name == AUTHORIZATION)?;
        let inner = STANDARD.decode(wrapped.trim()).ok()?;
        let inner = String::from_utf8(inner).ok().filter(|inner| inner.contains(from))?;
        HeaderValue::from_str(&format!("{scheme} {}", STANDARD.encode(inner.replace(from, to))))
    }
    .ok()?;
    real.set_sensitive(true);
    Some(real)
}
