//! Credentials that the sandbox never sees: it gets a placeholder, which is replaced here.
//!
//! A placeholder is only replaced in the header fields of a request to the host it is bound to,
//! over TLS with a verified certificate (attack sandbox-F06). In a path, a body or a request to
//! another host it is sent unchanged, and is worthless.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue, IF_RANGE,
    RANGE,
};
use prowess_secrets::{Placeholder, Replacer};

use crate::exchange::Scheme;
use crate::host::Host;
use crate::refusal::NetworkRefusal;

/// A credential for one host.
#[derive(Clone, Debug)]
pub struct HostCredential {
    /// The only host that gets it.
    pub host: Host,
    /// The placeholder and the key.
    pub placeholder: Placeholder,
}

/// All credentials of a run.
#[derive(Debug)]
pub(crate) struct Credentials {
    all: Vec<HostCredential>,
    /// Replaces keys with placeholders in responses, for all hosts: no other host should return a
    /// key either.
    answers: Replacer,
}

impl Credentials {
    pub(crate) fn new(all: Vec<HostCredential>) -> Self {
        let placeholders: Vec<Placeholder> =
            all.iter().map(|credential| credential.placeholder.clone()).collect();
        Self { all, answers: Replacer::substituting(&placeholders) }
    }

    /// Whether a host has a credential. Its TLS is then terminated, even if it is granted for
    /// writing.
    pub(crate) fn has(&self, host: &Host) -> bool {
        self.all.iter().any(|credential| credential.host == *host)
    }

    /// Refuses a request with a placeholder for another host. It would be harmless, but it is an
    /// attempt to send a key elsewhere, and the user should know.
    pub(crate) fn check(
        &self,
        fields: &HeaderMap,
        host: &Host,
        port: u16,
        scheme: Scheme,
    ) -> Result<(), NetworkRefusal> {
        for HostCredential { host: bound, placeholder } in &self.all {
            let carries = |(name, value): (&HeaderName, &HeaderValue)| {
                substituted(name, value, placeholder).is_some()
            };
            if !fields.iter().any(carries) {
                continue;
            }
            let name = placeholder.secret().name();
            if bound != host {
                return Err(NetworkRefusal::credential(host, port, name, bound));
            }
            if scheme == Scheme::Http {
                return Err(NetworkRefusal::credential_without_tls(host, port, name));
            }
        }
        Ok(())
    }

    /// Inserts the keys of a host into a request that [`check`](Self::check) accepted.
    pub(crate) fn insert(&self, fields: &mut HeaderMap, host: &Host, scheme: Scheme) {
        if scheme == Scheme::Http || !self.has(host) {
            return;
        }
        // The response is searched, so it must not be compressed or partial.
        fields.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        fields.remove(RANGE);
        fields.remove(IF_RANGE);
        let own = self.all.iter().filter(|credential| credential.host == *host);
        for HostCredential { placeholder, .. } in own {
            for (name, value) in fields.iter_mut() {
                if let Some(real) = substituted(name, value, placeholder) {
                    *value = real;
                }
            }
        }
    }

    /// The replacer for a response. Fails if the response can't be searched: a host with a key may echo
    /// it in compressed form.
    pub(crate) fn response_replacer(
        &self,
        fields: &HeaderMap,
        host: &Host,
    ) -> Result<Replacer, String> {
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
fn substituted(
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
