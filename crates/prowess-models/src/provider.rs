//! Providers: the ones that everybody knows, and what there is to say about any.

use std::fmt;
use std::time::Duration;

use prowess_core::ModelError;
use url::Url;

use crate::key::Key;
use prowess_settings::KeySource;

/// A wire dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `/v1/chat/completions`.
    OpenAi,
    /// `/v1/messages`.
    Anthropic,
}

impl Kind {
    /// The word in settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// Who said something about a provider or a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is known.
    BuiltIn,
    /// A variable of this name.
    Variable(String),
    /// The file with the settings.
    ConfigFile,
    /// Whoever asked.
    Argument,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Variable(name) => write!(f, "from {name}"),
            Self::ConfigFile => f.write_str("from config.toml"),
            Self::Argument => f.write_str("from the command line"),
        }
    }
}

/// A provider, ready to be asked. It holds no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// What it is called.
    pub name: String,
    /// The dialect.
    pub kind: Kind,
    /// What the paths of the dialect are put behind.
    pub base_url: Url,
    /// Who said so.
    pub origin: Origin,
    /// Where its key comes from.
    pub key: KeySource,
    /// Whether it is a server that people run on their own machine: a known one, or any whose address is this machine's.
    pub is_local: bool,
    /// How long it may take.
    pub timeouts: Timeouts,
    /// Whether it is never told a temperature.
    pub omits_temperature: bool,
}

impl Provider {
    /// Whether there is a key, or why it can't be used.
    pub fn has_key(&self, variables: &[(String, String)]) -> Result<bool, ModelError> {
        Key::read(&self.key, &self.name, variables).map(|key| key.reveal().is_some())
    }

    /// The address of a path of the dialect.
    pub(crate) fn address(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }

    /// The address of a path that has nothing to do with the dialect, beside `/v1`.
    pub(crate) fn beside(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let base = url.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }
}

/// How long a provider may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection stands.
    pub connect: Duration,
    /// From the request to the first token. A long prompt on a small machine takes minutes.
    pub first_token: Duration,
    /// Between two signs of life after that.
    pub stall: Duration,
}

impl Timeouts {
    /// What counts when nobody says anything.
    pub const USUAL: Self = Self {
        connect: Duration::from_secs(10),
        first_token: Duration::from_mins(5),
        stall: Duration::from_mins(1),
    };
}

/// A provider that everybody knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) base_url: &'static str,
    pub(crate) url_variable: Option<&'static str>,
    pub(crate) key_variable: Option<&'static str>,
    pub(crate) is_local: bool,
}

/// Ports are those that the servers' own documentation names. Lemonade's was 8000 before.
pub(crate) const BUILT_IN: [BuiltIn; 7] = [
    BuiltIn {
        name: "openai",
        kind: Kind::OpenAi,
        base_url: "https://api.openai.com/v1",
        url_variable: Some("OPENAI_BASE_URL"),
        key_variable: Some("OPENAI_API_KEY"),
        is_local: false,
    },
    BuiltIn {
        name: "anthropic",
        kind: Kind::Anthropic,
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
    BuiltIn { name, kind: Kind::OpenAi, base_url, url_variable, key_variable, is_local: true }
}

/// Reads a base URL. `/v1` is understood where there is no path, because every server has it there.
pub(crate) fn base_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("it has to begin with `http://` or `https://` and name a host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err("keys do not belong into it: use `key_env` or `key_file`".to_owned());
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(if path.is_empty() { "/v1" } else { &path });
    Ok(url)
}

/// Reads `OLLAMA_HOST`, which may be anything from a port to a URL. It is also what the server listens on, so an address
/// that means every interface is taken for this machine.
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
    // The variable names the server, and the dialect lies below it.
    if !url.path().ends_with("/v1") {
        let path = format!("{}/v1", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// Whether an address is this machine's own.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        // Whoever connects to the address of every interface reaches this machine.
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
