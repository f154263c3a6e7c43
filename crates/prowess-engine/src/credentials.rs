//! Credentials that a tool uses and never sees (attack sandbox-F06).
//!
//! The user binds one to a host: `GITHUB_TOKEN=api.github.com`. In the variable of that name the tool gets a placeholder,
//! and the proxy puts the real value into the fields of requests to that host. Where the value comes from is the user's
//! environment or, where it is not set there, a file of that name in the folder of settings that nobody else may read.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_files::private::is_private;
use prowess_policy::scope::{HostName, HostPattern, HostScope, VariableName};
use prowess_secrets::{MAX_SECRET_BYTES, Placeholder, PlaceholderError, Secret};

use crate::world::World;

/// Where values are kept, below the folder of settings.
const FOLDER: &str = "credentials";

/// A credential for one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The only host that gets it.
    pub(crate) host: HostName,
    pub(crate) placeholder: Placeholder,
}

impl Credential {
    /// The variable that it is known by.
    pub fn name(&self) -> &str {
        self.placeholder.secret().name()
    }

    /// What is wrong where no grant reaches its host.
    pub(crate) fn not_granted(&self) -> CredentialError {
        CredentialError::NotGranted { name: self.name().to_owned(), host: self.host.to_string() }
    }

    /// Whether hosts and ports of a grant reach its host.
    pub(crate) fn is_within(&self, hosts: &HostPattern) -> bool {
        hosts.ports().into_iter().any(|port| hosts.matches(&self.host, port))
    }
}

/// Why a credential can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// Not `NAME=HOST`.
    #[error(
        "`{0}` is not a credential binding: write `NAME=HOST`, such as `GITHUB_TOKEN=api.github.com`"
    )]
    Form(String),
    /// The name can be no variable of a tool.
    #[error("{0}")]
    Name(String),
    /// The host is not one host.
    #[error("`{name}` can't be bound to `{host}`: {reason}")]
    Host {
        /// The credential.
        name: String,
        /// What was written.
        host: String,
        /// Why not.
        reason: String,
    },
    /// Bound already.
    #[error("`{0}` is bound twice: a credential belongs to one host")]
    Twice(String),
    /// There is no value.
    #[error("the credential `{name}` has no value: the variable is not set, and there is no file `{}`", .file.display())]
    Missing {
        /// The credential.
        name: String,
        /// Where it was looked for.
        file: PathBuf,
    },
    /// The file with the value can't be used.
    #[error("cannot use `{}` for the credential `{name}`: {reason}", .file.display())]
    File {
        /// The credential.
        name: String,
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
    /// No placeholder can stand for the value.
    #[error("the credential `{name}` can't be used: {source}")]
    Placeholder {
        /// The credential.
        name: String,
        /// Why not.
        source: PlaceholderError,
    },
    /// Placeholders, and the numbers of requests to workers, have to be random.
    #[error("the system provides no random numbers: {0}")]
    Random(std::io::Error),
    /// The tool may not reach the host.
    #[error("the credential `{name}` is for `{host}`, which the tool has no network grant for")]
    NotGranted {
        /// The credential.
        name: String,
        /// Its host.
        host: String,
    },
    /// A variable that could not be kept out of the output.
    #[error("the variable `{name}` has {length} bytes, which is too long to redact in the output")]
    Long {
        /// The variable.
        name: String,
        /// Its length.
        length: usize,
    },
}

impl CredentialError {
    /// Whether the arguments are wrong, and not the machine or the skill.
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

    /// What to do next, one line each.
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
    /// Binds a credential to a host: `NAME=HOST`. From now on nothing in this world holds its value but the way out.
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

/// One name, without a port: what is bound to `*.example.com` is bound to whoever gets a name there.
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

/// The value in a file that nobody else may read.
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
