//! `public-suffix-wildcard`.

use crate::diagnostic::{Findings, rule};
use crate::permission::Domain;
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Flags a host wildcard over a public suffix, such as `*.com` or `*.github.io`.
    ///
    /// ## Why is this bad?
    /// Anyone can register a name below it, so the grant covers hosts of strangers.
    ///
    /// ## Example
    /// `network:read:*.example.com`
    PUBLIC_SUFFIX_WILDCARD = "public-suffix-wildcard", Error / Error, check
}

/// Common suffixes below which anyone can register a name. A single label always is one.
const SHARED: &[&str] = &[
    "co.uk",
    "org.uk",
    "ac.uk",
    "gov.uk",
    "com.au",
    "net.au",
    "org.au",
    "co.jp",
    "co.kr",
    "co.in",
    "co.nz",
    "co.za",
    "com.br",
    "com.cn",
    "com.mx",
    "com.tr",
    "com.tw",
    "com.sg",
    "github.io",
    "gitlab.io",
    "pages.dev",
    "workers.dev",
    "vercel.app",
    "netlify.app",
    "herokuapp.com",
    "web.app",
    "firebaseapp.com",
    "appspot.com",
    "azurewebsites.net",
    "cloudfront.net",
    "amazonaws.com",
    "blogspot.com",
    "ngrok.io",
    "ngrok-free.app",
    "fly.dev",
    "onrender.com",
    "surge.sh",
    "glitch.me",
    "repl.co",
    "readthedocs.io",
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for permission in
        subject.skill.permissions.iter().filter(|permission| permission.domain == Domain::Network)
    {
        let Some(suffix) =
            permission.scope.as_deref().and_then(|scope| scope.trim().strip_prefix("*."))
        else {
            continue;
        };
        let suffix = suffix
            .split([':', '/'])
            .next()
            .unwrap_or_default()
            .trim_end_matches('.')
            .to_lowercase();
        if !suffix.contains('.') || SHARED.contains(&suffix.as_str()) {
            findings.push(
                PUBLIC_SUFFIX_WILDCARD
                    .at(
                        permission.span,
                        format!("`*.{suffix}` covers names that anyone can register"),
                    )
                    .help("name the host: `network:read:api.example.com`"),
            );
        }
    }
}
