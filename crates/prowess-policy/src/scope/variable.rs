//! Names of environment variables, and three special kinds: inherited, secret and control variables
//! (GIB §5.2, R31).

use std::fmt;

/// Maximum length of a name, in bytes.
const MAX_BYTES: usize = 256;

/// Variables that a child process always inherits (GIB §5.2).
const INHERITED: &[&str] = &["PATH", "HOME", "USER", "LANG", "TERM"];

/// Variables that control what a program loads, runs or connects to, and those set by the runtime.
/// A skill can't request them (attack sandbox-F02).
const CONTROL: &[&str] = &[
    "ALL_PROXY",
    "BASH_ENV",
    "CDPATH",
    "CLASSPATH",
    "CURL_HOME",
    "ENV",
    "FTP_PROXY",
    "GCONV_PATH",
    "GLOBIGNORE",
    "HOME",
    "HOSTALIASES",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LOCPATH",
    "MALLOC_CONF",
    "NIXPKGS_CONFIG",
    "NLSPATH",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "NO_PROXY",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "PATH",
    "PROMPT_COMMAND",
    "PS4",
    "REQUESTS_CA_BUNDLE",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "RUBYLIB",
    "RUBYOPT",
    "SHELL",
    "SHELLOPTS",
    "SSLKEYLOGFILE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// Prefixes of control variables.
const CONTROL_PREFIXES: &[&str] = &[
    "BASH_FUNC_",
    "DYLD_",
    "GIBBERISH_",
    "GIT_",
    "GLIBC_",
    "LD_",
    "NPM_CONFIG_",
    "PERL5",
    "PIP_",
    "PROWESS_",
    "PYTHON",
    "UV_",
];

/// Prefixes of variables that the runtime sets or reads itself; they are control variables too.
const OWN_PREFIXES: &[&str] = &["GIBBERISH_", "PROWESS_"];

/// Prefixes of variables that are always secret (GIB §5.2).
const SECRET_PREFIXES: &[&str] = &["AWS_", "OPENAI_", "ANTHROPIC_"];

/// Suffixes of secret variables: those of GIB §5.2, and common ones.
const SECRET_ENDINGS: &[&str] =
    &["_TOKEN", "_KEY", "_SECRET", "_PASSWORD", "_PASSWD", "_PASS", "_PAT", "_AUTH", "_DSN"];

/// Words that make a variable secret anywhere in its name.
const SECRET_WORDS: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "API_KEY", "PRIVATE_KEY"];

/// Variables that refer to something that acts for the user.
const SECRET_NAMES: &[&str] = &[
    "DATABASE_URL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "KUBECONFIG",
    "PGPASSFILE",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];

/// A variable that a skill may request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableName(String);

/// Why a skill may not request a variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// Not letters, digits and underscores.
    #[error("`{0}` is not a variable name")]
    Invalid(String),
    /// A variable that controls what programs load or connect to.
    #[error("`{0}` controls what programs load or connect to: no skill may request it")]
    Control(String),
    /// A variable of prowess itself: its settings and keys.
    #[error(
        "`{0}` is a variable of prowess itself, for its settings and keys: no skill may request it"
    )]
    Own(String),
}

impl VariableName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, VariableError> {
        let text = text.trim();
        let valid = text.len() <= MAX_BYTES
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && text.bytes().next().is_some_and(|first| !first.is_ascii_digit());
        if !valid {
            return Err(VariableError::Invalid(text.to_owned()));
        }
        if OWN_PREFIXES.iter().any(|prefix| text.to_ascii_uppercase().starts_with(prefix)) {
            return Err(VariableError::Own(text.to_owned()));
        }
        if is_control(text) {
            return Err(VariableError::Control(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it looks like a secret.
    pub fn is_secret(&self) -> bool {
        is_secret(&self.0)
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a child process always inherits it: PATH, HOME, USER, LANG, LC_*, TERM (GIB §5.2).
pub fn is_inherited(name: &str) -> bool {
    INHERITED.contains(&name) || (name.starts_with("LC_") && !is_secret(name))
}

/// Whether it controls what programs load, run or connect to. Ignores case, because some programs
/// read `http_proxy` and others `HTTP_PROXY`.
pub fn is_control(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    CONTROL.contains(&name.as_str())
        || CONTROL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether its value itself is a secret, and not a path or setting related to one:
/// `AWS_SESSION_TOKEN`, but not `AWS_REGION` or `SSH_AUTH_SOCK`. Such values are redacted in the
/// output of tools.
pub fn is_credential(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    is_secret(name)
        && (upper == "DATABASE_URL"
            || upper.contains("KEY")
            || SECRET_ENDINGS.iter().any(|ending| upper.ends_with(ending))
            || SECRET_WORDS.iter().any(|word| upper.contains(word)))
}

/// Whether it looks like a secret: blocked unless the skill declares it and the user grants it (GIB
/// §5.2, R31). Ignores case.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAMES.contains(&name.as_str())
        || SECRET_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || SECRET_WORDS.iter().any(|word| name.contains(word))
}
