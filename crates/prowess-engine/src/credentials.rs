//! Credentials that a tool uses without seeing them (attack sandbox-F06).
//!
//! The user binds one to a host: `GITHUB_TOKEN=api.github.com`. In the variable of that name the tool gets a
//! placeholder, and the proxy inserts the real value into requests to that host. The value comes from the user's
//! environment or, if it is not set there, from a private file of that name in the settings folder.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_files::private::is_private;
use prowess_policy::scope::{HostName, HostPattern, HostScope, VariableName};
use prowess_secrets::{MAX_SECRET_BYTES, Placeholder, PlaceholderError, Secret};

use crate::world::World;

/// The folder of values below the settings folder.
const FOLDER: &str = "credentials";

/// A credential for one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The only host that gets it.
    pub(crate) host: HostName,
    pub(crate) placeholder: Placeholder,
}

impl Credential {
    /// The name of its variable.
    pub fn name(&self) -> &str {
        self.placeholder.secret().name()
    }

    /// The error for a credential whose host no grant covers.
    pub(crate) fn not_granted(&self) -> CredentialError {
        CredentialError::NotGranted { name: self.name().to_owned(), host: self.host.to_string() }
    }

    /// Whether the hosts and ports of a grant cover its host.
    pub(crate) fn is_within(&self, hosts: &HostPattern) -> bool {
        hosts.ports().into_iter().any(|port| hosts.matches(&self.host, port))
    }
}

/// Why a credential can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The text is not `NAME=HOST`.
    #[error(
        "`{0}` is not a credential binding: write `NAME=HOST`, such as `GITHUB_TOKEN=api.github.com`"
    )]
    Form(String),
    /// The name is not valid for a variable of a tool.
    #[error("{0}")]
    Name(String),
    /// The host is not a single host.
    #[error("`{name}` can't be bound to `{host}`: {reason}")]
    Host {
        /// The credential.
        name: String,
        /// The host as written.
        host: String,
        /// The reason.
        reason: String,
    },
    /// The credential is bound already.
    #[error("`{0}` is bound twice: a credential belongs to one host")]
    Twice(String),
    /// The credential has no value.
    #[error("the credential `{name}` has no value: the variable is not set, and there is no file `{}`", .file.display())]
    Missing {
        /// The credential.
        name: String,
        /// The file that was tried.
        file: PathBuf,
    },
    /// The file with the value can't be used.
    #[error("cannot use `{}` for the credential `{name}`: {reason}", .file.display())]
    File {
        /// The credential.
        name: String,
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
    /// No placeholder is possible for the value.
    #[error("the credential `{name}` can't be used: {source}")]
    Placeholder {
        /// The credential.
        name: String,
        /// The reason.
        source: PlaceholderError,
    },
    /// Random numbers are needed for placeholders and for requests to workers.
    #[error("the system provides no random numbers: {0}")]
    Random(std::io::Error),
    /// No grant covers the host.
    #[error("the credential `{name}` is for `{host}`, which the tool has no network grant for")]
    NotGranted {
        /// The credential.
        name: String,
        /// Its host.
        host: String,
    },
    /// A variable is too long to be redacted from the output.
    #[error("the variable `{name}` has {length} bytes, which is too long to redact in the output")]
    Long {
        /// The variable.
        name: String,
        /// Its length.
        length: usize,
    },
}

impl CredentialError {
    /// Whether the arguments are wrong, rather than the machine or the skill.
    pub(crate) fn is_usage(&self) -> bool {
        match self {
            CredentialError::Form(_)
            | CredentialError::Name(_)
            | CredentialError::Host { .. }
            | CredentialError::Twice(_) => true,
            CredentialError::Missing { .. }
            | CredentialError::File { .. }
            | CredentialError::Placeholder { .. }
            | CredentialError::Random(_)
            | CredentialError::NotGranted { .. }
            | CredentialError::Long { .. } => false,
        }
    }

    /// Advice, one line each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            CredentialError::Missing { name, file } => vec![format!(
                "set `{name}`, or write the value into `{}` and `chmod 600` it",
                file.display()
            )],
            CredentialError::File { file, .. } => {
                vec![format!("make the file private: `chmod 600 {}`", file.display())]
            }
            CredentialError::NotGranted { host, .. } => vec![format!(
                "the skill has to declare the host, as in `permissions: [\"network:read:{host}\"]`"
            )],
            CredentialError::Long { name, .. } => {
                vec![format!("unset `{name}` and grant a file that contains the value")]
            }
            CredentialError::Form(_)
            | CredentialError::Name(_)
            | CredentialError::Host { .. }
            | CredentialError::Twice(_)
            | CredentialError::Placeholder { .. }
            | CredentialError::Random(_) => Vec::new(),
        }
    }
}

impl World {
    /// Binds a credential to a host: `NAME=HOST`. From now on only the proxy has its value.
    pub fn bind_credential(&mut self, text: &str) -> Result<(), CredentialError> {
        let (name, host) =
            text.split_once('=').ok_or_else(|| CredentialError::Form(text.to_owned()))?;
        let variable =
            VariableName::parse(name).map_err(|error| CredentialError::Name(error.to_string()))?;
        let name = variable.as_str();
        let host = one_host(name, host.trim())?;
        if self.credentials.iter().any(|bound| bound.name() == name) {
            return Err(CredentialError::Twice(name.to_owned()));
        }
        let known = self.environment.iter_mut().find(|(known, _)| known == name);
        let value = match &known {
            Some((_, value)) if !value.is_empty() => value.clone(),
            _ => kept(name, &self.state.config.join(FOLDER).join(name))?,
        };
        let mut bytes = vec![0; value.len()];
        getrandom::fill(&mut bytes).map_err(|error| CredentialError::Random(error.into()))?;
        let mut bytes = bytes.into_iter();
        let placeholder =
            Placeholder::new(&Secret::new(name, value), || bytes.next().unwrap_or_default())
                .map_err(|source| CredentialError::Placeholder { name: name.to_owned(), source })?;
        let shown = placeholder.text().to_owned();
        match known {
            Some((_, value)) => *value = shown,
            None => self.environment.push((name.to_owned(), shown)),
        }
        self.credentials.push(Credential { host, placeholder });
        Ok(())
    }
}

/// Parses a single host name, without a port: a credential for `*.example.com` would go to anyone who gets a name
/// there.
fn one_host(name: &str, text: &str) -> Result<HostName, CredentialError> {
    let wrong = |reason: String| CredentialError::Host {
        name: name.to_owned(),
        host: text.to_owned(),
        reason,
    };
    let pattern = HostPattern::parse(text).map_err(|error| wrong(error.to_string()))?;
    match (pattern.host, pattern.port) {
        (HostScope::Exact(host @ HostName::Domain(_)), None) => Ok(host),
        (_, Some(_)) => Err(wrong("write the host without a port".to_owned())),
        (HostScope::Exact(HostName::Address(_)) | HostScope::Any | HostScope::Below(_), None) => {
            Err(wrong("a credential belongs to one host with a name".to_owned()))
        }
    }
}

/// Reads the value from a private file.
fn kept(name: &str, path: &Path) -> Result<String, CredentialError> {
    let wrong = |reason: String| CredentialError::File {
        name: name.to_owned(),
        file: path.to_owned(),
        reason,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(CredentialError::Missing { name: name.to_owned(), file: path.to_owned() });
        }
        Err(error) => return Err(wrong(error.to_string())),
    };
    let data = file.metadata().map_err(|error| wrong(error.to_string()))?;
    if !data.is_file() {
        return Err(wrong("it is not a file".to_owned()));
    }
    if !is_private(&data) {
        return Err(wrong("other users may read or change it".to_owned()));
    }
    let mut value = String::new();
    let most = MAX_SECRET_BYTES as u64 + 1;
    file.take(most).read_to_string(&mut value).map_err(|error| wrong(error.to_string()))?;
    Ok(value)
}

#[cfg(test)]
mod tests;
