//! One grant: a domain, a level, a checked scope, and where it comes from (R15).

use std::fmt;

use prowess_format::permission::{Domain, Level, Permission};
use prowess_format::text::visible;

use crate::approval::date;
use crate::scope::{
    HostError, HostPattern, PathError, PathPattern, Program, ProgramError, VariableError,
    VariableName,
};

/// Maximum length of the name of a database or a server, in bytes.
const MAX_NAME_BYTES: usize = 512;

/// The part of a domain that a grant covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GrantScope {
    /// All of it. The network has no such scope: all of it is the pattern `*`.
    All,
    /// Files.
    Path(PathPattern),
    /// Hosts.
    Host(HostPattern),
    /// A program.
    Program(Program),
    /// A variable.
    Variable(VariableName),
    /// A database or an MCP server by name.
    Name(String),
}

/// The source of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GrantSource {
    /// A permission that the author declared.
    Declared(String),
    /// A program that a command of the skill starts.
    Command(String),
    /// Command tools access the working directory (GIB §5.1).
    WorkingDirectory,
    /// `network: true` and its equivalents, which only cause a prompt (R53).
    NetworkFlag,
    /// A requirement of the skill: its kind and its name.
    Required(&'static str, String),
    /// A file that a value of the run names.
    Input(String),
    /// The user's own grant, for this run.
    User(String),
    /// The user's own grant, remembered for this skill since a time in seconds since 1970.
    Remembered(String, u64),
}

/// One thing that a skill requests to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    domain: Domain,
    level: Level,
    scope: GrantScope,
    source: GrantSource,
    tool: Option<String>,
}

/// Why a permission is not a valid grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The program.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The variable.
    #[error(transparent)]
    Variable(#[from] VariableError),
    /// A scope for a domain that can't be narrowed.
    #[error("`{0}` has no scope: it is all or nothing")]
    Unscopable(&'static str),
    /// A name that is empty, too long or contains control characters.
    #[error("`{0}` is not a name")]
    Name(String),
    /// The text is not a permission.
    #[error("{0}")]
    Permission(String),
}

impl GrantSource {
    /// Whether the user granted it themselves, now or earlier.
    pub fn is_users(&self) -> bool {
        match self {
            GrantSource::User(_) | GrantSource::Remembered(..) => true,
            GrantSource::Declared(_)
            | GrantSource::Command(_)
            | GrantSource::WorkingDirectory
            | GrantSource::NetworkFlag
            | GrantSource::Required(..)
            | GrantSource::Input(_) => false,
        }
    }
}

impl Grant {
    /// Converts a permission to grants: one per program, host or variable of a list. `none` gives
    /// no grants.
    pub fn read(permission: &Permission, source: &GrantSource) -> Result<Vec<Self>, GrantError> {
        if permission.level == Level::None {
            return Ok(Vec::new());
        }
        let scopes = scopes(permission.domain, permission.scope.as_deref())?;
        let grant = |scope| Self {
            domain: permission.domain,
            level: permission.level,
            scope,
            source: source.clone(),
            tool: None,
        };
        Ok(scopes.into_iter().map(grant).collect())
    }

    /// Parses a text such as `network:read:*.brave.com` to grants.
    pub fn parse(text: &str, source: &GrantSource) -> Result<Vec<Self>, GrantError> {
        let permission: Permission =
            text.parse().map_err(|error: prowess_format::permission::PermissionError| {
                GrantError::Permission(error.message)
            })?;
        Self::read(&permission, source)
    }

    /// Creates a grant that a skill implies.
    pub(crate) fn implied(
        domain: Domain,
        level: Level,
        scope: GrantScope,
        source: GrantSource,
    ) -> Self {
        Self { domain, level, scope, source, tool: None }
    }

    /// Restricts the grant to one tool.
    #[must_use]
    pub(crate) fn for_tool(self, tool: &str) -> Self {
        Self { tool: Some(tool.to_owned()), ..self }
    }

    /// Replaces the scope with another one of the same domain.
    #[must_use]
    pub(crate) fn with_scope(&self, scope: GrantScope) -> Self {
        Self { scope, ..self.clone() }
    }

    /// Restricts the grant to reading.
    #[must_use]
    pub(crate) fn reading(&self) -> Self {
        Self { level: Level::Read, ..self.clone() }
    }

    /// The domain.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The scope.
    pub fn scope(&self) -> &GrantScope {
        &self.scope
    }

    /// The source.
    pub fn source(&self) -> &GrantSource {
        &self.source
    }

    /// The tool it is for; every tool of the skill if absent.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// Whether it covers its whole domain: every host, every program, every file.
    pub fn is_unscoped(&self) -> bool {
        match &self.scope {
            GrantScope::All => true,
            GrantScope::Host(host) => host.is_any(),
            GrantScope::Path(_)
            | GrantScope::Program(_)
            | GrantScope::Variable(_)
            | GrantScope::Name(_) => false,
        }
    }

    /// Whether this grant allows everything that `other` allows. Conservative: it may return false
    /// for a complex case.
    pub fn covers(&self, other: &Grant) -> bool {
        let level =
            self.level == other.level || (self.level == Level::Write && other.level == Level::Read);
        self.domain == other.domain && level && self.scope.covers(&other.scope)
    }
}

impl GrantScope {
    fn covers(&self, other: &GrantScope) -> bool {
        match (self, other) {
            // Locations of secrets are only accessible by naming them, so no wider grant covers one
            // that does.
            (GrantScope::All, GrantScope::Path(theirs)) => theirs.named_secret().is_none(),
            (GrantScope::Path(mine), GrantScope::Path(theirs)) => {
                let named = theirs.named_secret();
                mine.covers(theirs) && (named.is_none() || mine.named_secret() == named)
            }
            // Secret variables likewise (R31).
            (GrantScope::All, GrantScope::Variable(theirs)) => !theirs.is_secret(),
            (GrantScope::All, _) => true,
            (GrantScope::Host(mine), GrantScope::Host(theirs)) => mine.covers(theirs),
            (mine, theirs) => mine == theirs,
        }
    }
}

impl fmt::Display for GrantScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GrantScope::All => Ok(()),
            GrantScope::Path(path) => write!(f, "{path}"),
            GrantScope::Host(host) => write!(f, "{host}"),
            GrantScope::Program(program) => write!(f, "{program}"),
            GrantScope::Variable(name) => write!(f, "{name}"),
            GrantScope::Name(name) => f.write_str(name),
        }
    }
}

/// The grant as a permission in its canonical spelling.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.domain.as_str(), self.level.as_str())?;
        match &self.scope {
            GrantScope::All => Ok(()),
            scope => write!(f, ":{scope}"),
        }
    }
}

impl fmt::Display for GrantSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GrantSource::Declared(text) => write!(f, "declared: `{}`", visible(text)),
            GrantSource::Command(program) => {
                write!(f, "implied by the command `{}`", visible(program))
            }
            GrantSource::WorkingDirectory => f.write_str("commands run in the working directory"),
            GrantSource::NetworkFlag => f.write_str("the skill declares that it needs the network"),
            GrantSource::Required(what, name) => {
                write!(f, "required {what}: `{}`", visible(name))
            }
            GrantSource::Input(text) => write!(f, "named as an input: `{}`", visible(text)),
            GrantSource::User(text) => write!(f, "granted by you: `{}`", visible(text)),
            GrantSource::Remembered(text, at) => {
                write!(f, "granted by you on {}: `{}`", date(*at), visible(text))
            }
        }
    }
}

fn scopes(domain: Domain, scope: Option<&str>) -> Result<Vec<GrantScope>, GrantError> {
    let Some(scope) = scope.map(str::trim).filter(|scope| *scope != "*") else {
        return Ok(vec![all_of(domain)]);
    };
    match domain {
        Domain::Filesystem => Ok(PathPattern::parse_all(scope)?
            .into_iter()
            // `/**` is equivalent to no scope (R52).
            .map(|path| if path.is_everything() { GrantScope::All } else { GrantScope::Path(path) })
            .collect()),
        Domain::Database => Ok(vec![GrantScope::Name(checked_name(scope)?)]),
        Domain::Desktop => Err(GrantError::Unscopable("desktop:control")),
        // A comma can't occur in the name of a host, a program or a variable, so it separates them
        // (GAIA §3.2: `git,npm`).
        Domain::Network | Domain::Shell | Domain::Env | Domain::Mcp => {
            scope.split(',').map(|item| item_of(domain, item.trim())).collect()
        }
    }
}

fn all_of(domain: Domain) -> GrantScope {
    match domain {
        Domain::Network => GrantScope::Host(HostPattern::ANY),
        Domain::Filesystem
        | Domain::Shell
        | Domain::Desktop
        | Domain::Mcp
        | Domain::Env
        | Domain::Database => GrantScope::All,
    }
}

/// One item of a list.
fn item_of(domain: Domain, item: &str) -> Result<GrantScope, GrantError> {
    // Also inside a list: a scope has exactly one spelling, because approvals are stored as text.
    if item == "*" {
        return Ok(all_of(domain));
    }
    match domain {
        Domain::Network => Ok(GrantScope::Host(HostPattern::parse(item)?)),
        Domain::Shell => Ok(GrantScope::Program(Program::parse(item)?)),
        Domain::Env => Ok(GrantScope::Variable(VariableName::parse(item)?)),
        Domain::Mcp | Domain::Database | Domain::Filesystem | Domain::Desktop => {
            Ok(GrantScope::Name(checked_server(item)?))
        }
    }
}

/// The name of a database.
fn checked_name(text: &str) -> Result<String, GrantError> {
    let text = text.trim();
    let valid = !text.is_empty()
        && text != "*"
        && text.len() <= MAX_NAME_BYTES
        && !text.chars().any(char::is_control);
    if valid { Ok(text.to_owned()) } else { Err(GrantError::Name(text.to_owned())) }
}

/// The name of an MCP server, which may be in a list.
pub(crate) fn checked_server(text: &str) -> Result<String, GrantError> {
    if text.contains(',') {
        return Err(GrantError::Name(text.to_owned()));
    }
    checked_name(text)
}
