//! Providers: the built-in ones, and the properties of any provider.

use std::fmt;
use std::time::Duration;

use prowess_core::ModelError;
use url::Url;

use crate::key::Key;
use prowess_settings::KeySource;

/// The API of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// `/v1/chat/completions`.
    OpenAi,
    /// `/v1/messages`.
    Anthropic,
}

impl ProviderKind {
    /// The name in the settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// The origin of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// A default.
    BuiltIn,
    /// An environment variable of this name.
    Variable(String),
    /// The settings file.
    ConfigFile,
    /// The argument of the call.
    Argument,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Variable(name) => write!(f, "from {name}"),
            Self::ConfigFile => f.write_str("from config.toml"),
            Self::Argument => f.write_str("from the command line"),
        }
    }
}

/// A configured provider. It does not contain the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The name.
    pub name: String,
    /// The API.
    pub kind: ProviderKind,
    /// The URL that the paths of the API are appended to.
    pub base_url: Url,
    /// The origin of the base URL.
    pub origin: SettingOrigin,
    /// The source of the key.
    pub key: KeySource,
    /// Whether it is a local server: a known one, or one with a loopback address.
    pub is_local: bool,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// Whether requests omit the temperature.
    pub omits_temperature: bool,
}

impl Provider {
    /// Whether there is a key; an error if it can't be used.
    pub fn has_key(&self, variables: &[(String, String)]) -> Result<bool, ModelError> {
        Key::read(&self.key, &self.name, variables).map(|key| key.reveal().is_some())
    }

    /// The URL of a path of the API.
    pub(crate) fn address(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }

    /// The URL of a path outside the API, next to `/v1`.
    pub(crate) fn beside(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let base = url.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }
}

/// The timeouts of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For establishing a connection.
    pub connect: Duration,
    /// From the request to the first token. A long prompt takes minutes on a small machine.
    pub first_token: Duration,
    /// Between two chunks after that.
    pub stall: Duration,
}

impl Timeouts {
    /// The defaults.
    pub const USUAL: Self = Self {
        connect: Duration::from_secs(10),
        first_token: Duration::from_mins(5),
        stall: Duration::from_mins(1),
    };
}

/// A built-in provider.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) kind: ProviderKind,
    pub(crate) base_url: &'static str,
    pub(crate) url_variable: Option<&'static str>,
    pub(crate) key_variable: Option<&'static str>,
    pub(crate) is_local: bool,
}

/// The built-in providers. Ports are those of the servers' documentation; Lemonade's was 8000 before.
pub(crate) const BUILT_IN: [BuiltIn; 7] = [
    BuiltIn {
        name: "openai",
        kind: ProviderKind::OpenAi,
        base_url: "https://api.openai.com/v1",
        url_variable: Some("OPENAI_BASE_URL"),
        key_variable: Some("OPENAI_API_KEY"),
        is_local: false,
    },
    BuiltIn {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        url_variable: Some("ANTHROPIC_BASE_URL"),
        key_variable: Some("ANTHROPIC_API_KEY"),
        is_local: false,
    },
    local("ollama", "http://127.0.0.1:11434/v1", Some("OLLAMA_HOST"), Some("OLLAMA_API_KEY")),
    local("llamacpp", "http://127.0.0.1:8080/v1", None, Some("LLAMA_API_KEY")),
    local("lmstudio", "http://127.0.0.1:1234/v1", None, None),
    local("lemonade", "http://127.0.0.1:13305/v1", None, Some("LEMONADE_API_KEY")),
    local("vllm", "http://127.0.0.1:8000/v1", None, Some("VLLM_API_KEY")),
];

const fn local(
    name: &'static str,
    base_url: &'static str,
    url_variable: Option<&'static str>,
    key_variable: Option<&'static str>,
) -> BuiltIn {
    BuiltIn {
        name,
        kind: ProviderKind::OpenAi,
        base_url,
        url_variable,
        key_variable,
        is_local: true,
    }
}

/// Parses a base URL. Without a path, `/v1` is added, which every server uses.
pub(crate) fn base_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("it must begin with `http://` or `https://` and name a host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err("it must not contain a key: use `key_env` or `key_file`".to_owned());
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(if path.is_empty() { "/v1" } else { &path });
    Ok(url)
}

/// Parses `OLLAMA_HOST`, which may be anything from a port to a URL. The server listens on the same address, so the
/// wildcard address means this machine.
pub(crate) fn ollama_host(text: &str) -> Result<Url, String> {
    const PORT: u16 = 11434;
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let usual = match scheme {
        "" => PORT,
        "https" => 443,
        _ => 80,
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = if host.starts_with(':') { format!("127.0.0.1{host}") } else { host.to_owned() };
    let has_port = host.rsplit_once(':').is_some_and(|(before, port)| {
        let in_brackets = before.contains('[') && !before.contains(']');
        !in_brackets && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let host = if has_port { host } else { format!("{}:{usual}", host.trim_end_matches(':')) };
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    let mut url = base_url(&format!("{scheme}://{host}/{path}"))?;
    if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) {
        url.set_host(Some("127.0.0.1")).map_err(|error| error.to_string())?;
    }
    // The variable names the server; the API is below it.
    if !url.path().ends_with("/v1") {
        let path = format!("{}/v1", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// Whether a URL refers to this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        // Connecting to the wildcard address reaches this machine.
        Some(url::Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(url::Host::Ipv6(address)) => {
            let address = address.to_canonical();
            address.is_loopback() || address.is_unspecified()
        }
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests;
