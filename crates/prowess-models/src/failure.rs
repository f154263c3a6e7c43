//! Errors of providers, with advice.
//!
//! Messages of providers are quoted unchanged here. The key is removed from them before they leave the crate.

use std::time::Duration;

use prowess_core::{ModelError, ModelErrorKind, Remedy};
use serde_json::Value;

use crate::provider::{Provider, SettingOrigin};
use prowess_core::system_reason;

/// Maximum length of a provider's message, in characters.
const LONGEST_EXPLANATION: usize = 400;

/// A response with an error.
pub(crate) struct ErrorResponse<'r> {
    pub(crate) status: u16,
    pub(crate) content_type: &'r str,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: &'r [u8],
}

/// The error for a response whose status is not 200.
pub(crate) fn of_status(
    provider: &Provider,
    model: &str,
    refusal: &ErrorResponse<'_>,
) -> ModelError {
    let explained = Explanation::of(refusal.content_type, refusal.body);
    let kind = kind_of(refusal.status, &explained, refusal.retry_after);
    let name = &provider.name;
    let status = refusal.status;
    let with = match &explained.text {
        Some(text) => format!(": {text}"),
        None => format!(" (status {status})"),
    };
    match kind {
        ModelErrorKind::Unauthorized => ModelError::new(
            kind,
            format!("`{name}` does not accept the key{with}"),
        )
        .advice(match &provider.key {
            prowess_settings::KeySource::None => {
                format!("name one: `key_env` or `key_file` in `[providers.{name}]`")
            }
            prowess_settings::KeySource::Variable { name, .. } => format!("check `{name}`"),
            prowess_settings::KeySource::File(path) => format!("check `{}`", path.display()),
        }),
        ModelErrorKind::UnknownModel => {
            let error = ModelError::new(kind, format!("`{name}` has no model `{model}`{with}"));
            // Recognises an Ollama server that is configured under another name.
            let is_ollama = name == "ollama"
                || explained.text.as_deref().is_some_and(|it| it.contains("try pulling it first"));
            if is_ollama {
                error.advice(match &provider.origin {
                    // The `ollama` program uses the variable, or else the default port.
                    SettingOrigin::BuiltIn | SettingOrigin::Variable(_) => {
                        format!("get it with `ollama pull {model}`")
                    }
                    SettingOrigin::ConfigFile | SettingOrigin::Argument => {
                        let address = origin(provider);
                        format!("get it with `OLLAMA_HOST={address} ollama pull {model}`")
                    }
                })
            } else {
                error.remedy(Remedy::ListModels)
            }
        }
        ModelErrorKind::RateLimited { retry_after } => {
            let error =
                ModelError::new(kind, format!("`{name}` limits the rate of requests{with}"));
            match retry_after {
                Some(wait) => error.advice(format!("try again in {} s", wait.as_secs().max(1))),
                None => error.advice("try again later"),
            }
        }
        ModelErrorKind::Provider => {
            ModelError::new(kind, format!("`{name}` reported an internal error{with}"))
                .advice("try again later")
        }
        ModelErrorKind::Rejected if (300..400).contains(&status) => ModelError::new(
            kind,
            format!("`{name}` redirects the request (status {status})"),
        )
        .advice(
            "redirects are not followed, because they could disclose the key: correct the base URL",
        ),
        ModelErrorKind::Rejected => {
            let error = ModelError::new(kind, format!("`{name}` rejected the request{with}"));
            let text = explained.text.as_deref().unwrap_or_default();
            if status == 404 || status == 405 {
                error.advice(format!("check the base URL `{}`", provider.base_url))
            } else if text.contains("temperature") {
                error.advice(format!(
                    "to omit it, add `omit = [\"temperature\"]` to `[providers.{name}]`"
                ))
            } else {
                error
            }
        }
        ModelErrorKind::NotConfigured
        | ModelErrorKind::Unreachable
        | ModelErrorKind::Protocol
        | ModelErrorKind::TimedOut => {
            ModelError::new(kind, format!("`{name}` answered with status {status}{with}"))
                .advice(format!("check the base URL `{}`", provider.base_url))
        }
    }
}

fn kind_of(status: u16, explained: &Explanation, retry_after: Option<Duration>) -> ModelErrorKind {
    let mentions_model = explained.code.contains("model")
        || explained.text.as_deref().is_some_and(|text| text.to_lowercase().contains("model"));
    match status {
        // Waiting does not help against an exhausted quota.
        429 if explained.code.contains("insufficient_quota") => ModelErrorKind::Rejected,
        401 | 403 => ModelErrorKind::Unauthorized,
        404 if mentions_model => ModelErrorKind::UnknownModel,
        _ if explained.code.contains("model_not_found") => ModelErrorKind::UnknownModel,
        429 => ModelErrorKind::RateLimited { retry_after },
        300..=499 => ModelErrorKind::Rejected,
        500.. => ModelErrorKind::Provider,
        _ => ModelErrorKind::Protocol,
    }
}

/// The error for an error event in the middle of an answer.
pub(crate) fn in_stream(error: &Value) -> ModelError {
    let explained = Explanation::of_error(error);
    let code = explained.code.as_str();
    let kind = match error.get("code").and_then(Value::as_u64) {
        Some(status @ 300..=599) => kind_of(u16::try_from(status).unwrap_or(500), &explained, None),
        _ if code.contains("rate_limit") => ModelErrorKind::RateLimited { retry_after: None },
        _ if code.contains("authentication") || code.contains("permission") => {
            ModelErrorKind::Unauthorized
        }
        _ if code.contains("not_found") => ModelErrorKind::UnknownModel,
        _ if code.contains("invalid_request") => ModelErrorKind::Rejected,
        _ => ModelErrorKind::Provider,
    };
    let text = explained.text.unwrap_or_else(|| "no reason was given".to_owned());
    ModelError::new(kind, format!("the provider aborted its answer: {text}"))
}

/// A provider's description of an error.
struct Explanation {
    text: Option<String>,
    /// The error codes, joined.
    code: String,
}

impl Explanation {
    fn of(content_type: &str, body: &[u8]) -> Self {
        if let Ok(value) = serde_json::from_slice::<Value>(body) {
            return match value.get("error") {
                Some(error) if !error.is_null() => Self::of_error(error),
                _ => Self::of_error(&value),
            };
        }
        let text = String::from_utf8_lossy(body);
        let text = match content_type.split(';').next().map(str::trim) {
            Some("text/html") => Some("an HTML page".to_owned()),
            _ => short(&text),
        };
        Self { text, code: String::new() }
    }

    fn of_error(error: &Value) -> Self {
        // FastAPI writes `detail`.
        let text = [error, &error["message"], &error["detail"]]
            .into_iter()
            .find_map(Value::as_str)
            .and_then(short);
        let code = ["type", "code"].iter().filter_map(|name| error[*name].as_str());
        Self { text, code: code.collect::<Vec<_>>().join(" ") }
    }
}

/// Shortens a text to one line of limited length.
fn short(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    let mut short: String = line.chars().take(LONGEST_EXPLANATION).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    Some(short)
}

/// The error for a request without a response, or whose connection failed.
pub(crate) fn of_transport(provider: &Provider, error: &reqwest::Error) -> ModelError {
    let name = &provider.name;
    let address = origin(provider);
    let why = deepest(error);
    if error.is_connect() {
        let message = if error.is_timeout() {
            let seconds = provider.timeouts.connect.as_secs_f64();
            format!("could not connect to `{name}` at {address} within {seconds} s")
        } else {
            format!("could not connect to `{name}` at {address}: {why}")
        };
        if why.contains("certificate") {
            // Not retried: the certificate will be the same.
            return ModelError::new(ModelErrorKind::Protocol, message)
                .advice("set `SSL_CERT_FILE` to a file with additional certificate authorities");
        }
        let error = ModelError::new(ModelErrorKind::Unreachable, message);
        return if provider.is_local {
            error.advice("start the server").remedy(Remedy::ListModels)
        } else {
            error.advice("check the base URL, the network and `HTTPS_PROXY`")
        };
    }
    ModelError::new(
        ModelErrorKind::Unreachable,
        format!("the connection to `{name}` at {address} failed: {why}"),
    )
    .advice("try again; the provider's log may have details")
}

/// The error for a timeout.
pub(crate) fn timed_out(provider: &str, what: &str, limit: Duration) -> ModelError {
    let setting = if what == "first token" { "first_token" } else { "stall" };
    let message = match what {
        "first token" => format!("`{provider}` sent no token within {limit:?}"),
        _ => format!("`{provider}` sent nothing for {limit:?}"),
    };
    ModelError::new(ModelErrorKind::TimedOut, message).advice(format!(
        "to wait longer, set `{setting}_timeout_secs` in `[providers.{provider}]` of config.toml"
    ))
}

/// The error for a response that is not an event stream.
pub(crate) fn wrong_content(provider: &Provider, content_type: &str, body: &[u8]) -> ModelError {
    let explained = Explanation::of(content_type, body);
    let shown = if content_type.is_empty() { "no content type" } else { content_type };
    let with = explained.text.map_or_else(String::new, |text| format!(": {text}"));
    ModelError::new(
        ModelErrorKind::Protocol,
        format!("`{}` sent {shown} instead of a stream of events{with}", provider.name),
    )
    .advice(format!("check the base URL `{}`", provider.base_url))
}

/// Scheme, host and port of a provider.
fn origin(provider: &Provider) -> String {
    provider.base_url.origin().ascii_serialization()
}

/// The root cause of an error.
fn deepest(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    system_reason(deepest)
}

/// Reads `retry-after` in seconds, or `retry-after-ms`. Dates are ignored: our own delay is as good.
pub(crate) fn retry_after(headers: &reqwest::header::HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"));
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}
