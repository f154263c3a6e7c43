//! Security headers, and content security policies with a nonce.

use std::fmt::Write as _;

use data_encoding::BASE64;
use http::header::{
    CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

use crate::secret::random;

/// For responses that set no policy of their own: data, which loads nothing even if somebody opens it as a page.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// A policy that allows nothing at first.
///
/// ```
/// use prowess_server::security::{ContentSecurityPolicy, Nonce};
/// let nonce = Nonce::new();
/// let policy = ContentSecurityPolicy::page()
///     .allow("style-src", "'self'")
///     .allow("style-src", &nonce.source());
/// assert!(policy.to_string().starts_with("default-src 'none'; "));
/// ```
#[derive(Clone, Debug)]
pub struct ContentSecurityPolicy {
    directives: Vec<(&'static str, String)>,
}

impl ContentSecurityPolicy {
    /// The policy of a page of ours: scripts, styles, images and fonts from the same origin, no frames, no plug-ins, no other
    /// base address, and Trusted Types for scripts.
    pub fn page() -> ContentSecurityPolicy {
        let directives = [
            ("default-src", "'none'"),
            ("script-src", "'self'"),
            ("style-src", "'self'"),
            ("img-src", "'self'"),
            ("font-src", "'self'"),
            ("connect-src", "'self'"),
            ("form-action", "'self'"),
            ("base-uri", "'none'"),
            ("frame-ancestors", "'none'"),
            ("require-trusted-types-for", "'script'"),
        ];
        ContentSecurityPolicy {
            directives: directives.map(|(name, value)| (name, value.to_owned())).into(),
        }
    }

    /// Adds a source to a directive, which is added if the policy does not have it.
    #[must_use]
    pub fn allow(mut self, directive: &'static str, source: &str) -> ContentSecurityPolicy {
        match self.directives.iter_mut().find(|(name, _)| *name == directive) {
            Some((_, sources)) => {
                sources.push(' ');
                sources.push_str(source);
            }
            None => self.directives.push((directive, source.to_owned())),
        }
        self
    }

    /// Replaces the sources of a directive.
    #[must_use]
    pub fn set(mut self, directive: &'static str, sources: &str) -> ContentSecurityPolicy {
        self.directives.retain(|(name, _)| *name != directive);
        self.directives.push((directive, sources.to_owned()));
        self
    }

    /// The value of the header. Sources are constants of ours; one that is no valid header is left out with all others.
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.to_string())
            .unwrap_or(HeaderValue::from_static("default-src 'none'"))
    }
}

impl std::fmt::Display for ContentSecurityPolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, (name, sources)) in self.directives.iter().enumerate() {
            if number > 0 {
                formatter.write_str("; ")?;
            }
            formatter.write_str(name)?;
            if !sources.is_empty() {
                formatter.write_char(' ')?;
                formatter.write_str(sources)?;
            }
        }
        Ok(())
    }
}

/// A random value that allows one inline style or script of one response.
#[derive(Clone, Debug)]
pub struct Nonce(String);

impl Nonce {
    /// A new one, for one response.
    #[expect(clippy::new_without_default, reason = "two defaults would not be equal")]
    pub fn new() -> Nonce {
        Nonce(BASE64.encode(&random::<16>()))
    }

    /// The value of the `nonce` attribute.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The source in a policy.
    pub fn source(&self) -> String {
        format!("'nonce-{}'", self.0)
    }
}

/// Adds what every response has, unless the handler has set it.
pub(crate) fn add_headers(headers: &mut HeaderMap, is_https: bool) {
    let mut add = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    add(X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(CONTENT_SECURITY_POLICY, DATA_POLICY);
    add(X_FRAME_OPTIONS, "DENY");
    add(REFERRER_POLICY, "strict-origin-when-cross-origin");
    add(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    add(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    add(
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    );
    if is_https {
        add(STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
}
