//! Checks a single request.
//!
//! Plain HTTP and decrypted TLS are checked by the same function, and each request on a connection
//! separately (attack sandbox-C20).

use hyper::header::{CONNECTION, CONTENT_TYPE, UPGRADE};
use hyper::http::Method;

use crate::head::Head;
use crate::host::Host;
use crate::policy::HostAccess;
use crate::refusal::NetworkRefusal;

/// Header fields that override the method (attack sandbox-C21). Servers that pass fields on as variables, as CGI does, take
/// an underscore for a hyphen.
const METHOD_OVERRIDES: [&str; 3] =
    ["x-http-method-override", "x-http-method", "x-method-override"];

const MAX_SHOWN_METHOD: usize = 24;

/// Checks whether the request is allowed with this `access` to the host.
pub(crate) fn check(
    head: &Head,
    access: HostAccess,
    host: &Host,
    port: u16,
) -> Result<(), NetworkRefusal> {
    if head.method == Method::CONNECT {
        let what = "`CONNECT` inside a connection that already has a destination";
        return Err(NetworkRefusal::never(host, port, what));
    }
    match access {
        HostAccess::Write => Ok(()),
        HostAccess::Read => check_read_request(head, host, port),
    }
}

/// Checks a request with read access, which must not change anything (GAIA §3.1).
fn check_read_request(head: &Head, host: &Host, port: u16) -> Result<(), NetworkRefusal> {
    if is_git_push(head) {
        return Err(NetworkRefusal::method(host, port, "git push"));
    }
    let fetching = is_git_fetch(head);
    let reads = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS);
    if !reads && !fetching {
        // The method is untrusted and appears in the report.
        let shown: String = head.method.as_str().chars().take(MAX_SHOWN_METHOD).collect();
        return Err(NetworkRefusal::method(host, port, &shown));
    }
    if head.has_body() && !fetching {
        return Err(NetworkRefusal::smuggling(host, port, &format!("a body on `{}`", head.method)));
    }
    // An upgraded connection is no longer HTTP and can't be checked (attack sandbox-C22).
    let upgrades = head.fields.contains_key(UPGRADE)
        || head.fields.contains_key("http2-settings")
        || head.fields.get_all(CONNECTION).iter().any(|value| {
            value.as_bytes().to_ascii_lowercase().windows(7).any(|window| window == b"upgrade")
        });
    if upgrades {
        return Err(NetworkRefusal::smuggling(host, port, "changing the protocol (`Upgrade`)"));
    }
    let is_sent =
        |name: &&&str| head.fields.keys().any(|field| field.as_str().replace('_', "-") == ***name);
    if let Some(name) = METHOD_OVERRIDES.iter().find(is_sent) {
        return Err(NetworkRefusal::smuggling(
            host,
            port,
            &format!("overriding the method (`{name}`)"),
        ));
    }
    Ok(())
}

/// Whether the query overrides the method, which some frameworks support. Noted but not refused:
/// most servers ignore it (attack sandbox-C21).
pub(crate) fn overrides_in_query(head: &Head) -> bool {
    let query = head.target.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| pair.starts_with("_method="))
}

/// Whether the request is a git fetch, which uses `POST` for reading (attack sandbox-C23).
fn is_git_fetch(head: &Head) -> bool {
    head.method == Method::POST
        && head.target.ends_with("/git-upload-pack")
        && !head.target.contains('?')
        && head
            .fields
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind == "application/x-git-upload-pack-request")
}

/// Whether the request is a git push or its first step, for a more specific message.
fn is_git_push(head: &Head) -> bool {
    let (path, query) = head.target.split_once('?').unwrap_or((&head.target, ""));
    path.ends_with("/git-receive-pack")
        || path.ends_with("/info/refs")
            && query.split('&').any(|pair| pair == "service=git-receive-pack")
}

#[cfg(test)]
mod tests;
