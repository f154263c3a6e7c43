//! Hooks of type `http`: a request by the host, to a host that the skill is granted, with the checks of the proxy.

use std::time::Duration;

use prowess_format::skill::HookHandler;
use prowess_hooks::{HandlerResult, header_value};
use prowess_policy::scope::HostName;
use prowess_policy::spec::Access;
use prowess_proxy::{FetchError, FetchRequest, Fetcher};
use url::Url;

use super::session::Registered;
use crate::lower;
use crate::run::CancellationToken;

/// The most bytes of a response.
const MAX_BODY: usize = 1 << 20;

/// Sends the input and gives the response.
pub(super) fn send(
    registered: &Registered,
    handler: &HookHandler,
    input: &str,
    time: Duration,
    cancel: &CancellationToken,
) -> HandlerResult {
    let broken = |why: String| HandlerResult::Broken { why };
    let Some(url) = &handler.action else { return broken("it has no `url`".to_owned()) };
    if let Err(why) = check_host(registered, url) {
        return broken(why);
    }
    let hooks = &registered.prepared;
    // What the author lists narrows what the skill may read; it adds nothing.
    let readable = lower::readable_variables(registered.allowed.spec(), &hooks.world);
    let variable = |name: &str| {
        readable.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let mut headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    for (name, value) in &handler.headers {
        headers.push((name.clone(), header_value(value, &handler.allowed_env_vars, variable)));
    }
    let request = FetchRequest {
        method: "POST".to_owned(),
        url: url.value.clone(),
        headers,
        body: Some(input.as_bytes().to_vec()),
        timeout: time,
        max_bytes: MAX_BODY,
    };
    let outside = &hooks.outside;
    // A redirect would be another host than the one that is granted.
    let fetcher = Fetcher::new(
        std::sync::Arc::clone(&outside.resolver),
        outside.roots.clone(),
        outside.permit_addresses.clone(),
    )
    .without_redirects();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return broken(format!("the request can't be sent: {error}")),
    };
    let answer = runtime.block_on(async {
        tokio::select! {
            answer = fetcher.fetch(&request) => Some(answer),
            () = cancel.cancelled() => None,
        }
    });
    match answer {
        Some(Ok(response)) => HandlerResult::Responded {
            status: response.status,
            body: String::from_utf8_lossy(&response.body).into_owned(),
        },
        Some(Err(FetchError::TimedOut(_))) => {
            HandlerResult::TimedOut { after: super::command::seconds(time) }
        }
        Some(Err(error)) => broken(error.to_string()),
        None => broken("it was cancelled".to_owned()),
    }
}

/// Whether the skill may send to the host of a URL.
fn check_host(registered: &Registered, url: &str) -> Result<(), String> {
    let invalid = || "its URL is not valid".to_owned();
    let parsed = Url::parse(url).map_err(|_| invalid())?;
    let host = parsed.host_str().ok_or_else(invalid)?;
    let port = parsed.port_or_known_default().ok_or_else(invalid)?;
    let name = HostName::parse(host.trim_matches(['[', ']'])).map_err(|error| error.to_string())?;
    let granted = &registered.allowed.spec().network;
    let is_granted =
        granted.iter().any(|rule| rule.access == Access::Write && rule.hosts.matches(&name, port));
    if is_granted {
        return Ok(());
    }
    let wanted = if matches!(port, 80 | 443) { host.to_owned() } else { format!("{host}:{port}") };
    Err(format!("the skill may not send to `{wanted}`: it needs `network:write:{wanted}`"))
}
