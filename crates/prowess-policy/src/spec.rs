//! What a run may access, in terms that a sandbox can enforce.

use prowess_format::permission::{Domain, Level};

use crate::grant::{Grant, GrantScope};
use crate::limits::RunLimits;
use crate::protected_places::{NEVER_WRITE, Protected, ProtectedPlace, SECRET_PLACES};
use crate::scope::{
    HostName, HostPattern, PathPattern, PathRoot, Program, RootedPath, VariableName, secret_place,
};
use crate::trust::Tier;
use crate::utilities;

/// Reading, or reading and writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// Reading; for the network, requests that change nothing.
    Read,
    /// Reading and writing.
    Write,
}

/// The files of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileScope {
    /// The whole machine, except protected locations.
    Everything,
    /// The paths of a pattern.
    Pattern(PathPattern),
}

/// Programs that may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Programs {
    /// Every program of the machine.
    Any,
    /// Only these, and what the tool itself runs in.
    Only(Vec<Program>),
}

/// Hosts that may be accessed, their ports, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRule {
    /// Hosts and port.
    pub hosts: HostPattern,
    /// `Read` is GET, HEAD and OPTIONS.
    pub access: Access,
}

/// Variables that are passed on.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Variables {
    /// These by name.
    pub named: Vec<VariableName>,
    /// Every other one that is neither secret nor a control variable.
    pub all_plain: bool,
}

/// Databases that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseRule {
    /// Reading or writing.
    pub access: Access,
    /// The database; every one if absent.
    pub name: Option<String>,
}

/// MCP servers that may be connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Servers {
    /// Every configured one.
    Any,
    /// These.
    Only(Vec<String>),
}

/// What a run may access. Only created by decisions; everything not mentioned is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SandboxSpec {
    /// The effective tier.
    pub tier: Tier,
    /// Files to read.
    pub read: Vec<FileScope>,
    /// Files to read and write.
    pub write: Vec<FileScope>,
    /// Locations of secrets. They are closed to every rule that does not name them, see
    /// [`FileScope::names`].
    pub never_read: Vec<ProtectedPlace>,
    /// Locations that no rule opens for writing. The skill's own directory and the runtime's state
    /// belong to them too; only the caller knows where those are.
    pub never_write: Vec<ProtectedPlace>,
    /// Programs.
    pub programs: Programs,
    /// Whether the base utilities may be started too, see [`crate::utilities`].
    pub utilities: bool,
    /// Network; empty means none.
    pub network: Vec<NetworkRule>,
    /// Environment.
    pub variables: Variables,
    /// Databases.
    pub databases: Vec<DatabaseRule>,
    /// MCP servers.
    pub mcp: Servers,
    /// Mouse, keyboard and screen. This can't be confined.
    pub desktop: bool,
    /// Resource limits.
    pub limits: RunLimits,
}

/// Something that a run may attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reading a file.
    Read(RootedPath),
    /// Changing or creating a file.
    Write(RootedPath),
    /// A request.
    Connect {
        /// To this host.
        host: HostName,
        /// On this port.
        port: u16,
        /// Whether it may write.
        access: Access,
    },
    /// Starting a program.
    Run(Program),
    /// Seeing a variable.
    Variable(String),
    /// Using a database.
    Database {
        /// Its name.
        name: String,
        /// Reading or writing.
        access: Access,
    },
    /// Connecting to an MCP server.
    Mcp(String),
    /// Controlling the desktop.
    Desktop,
}

impl SandboxSpec {
    /// The spec of grants that a tier has already narrowed.
    pub(crate) fn of(grants: &[Grant], tier: Tier, wall_secs: u64) -> Self {
        let mut spec = Self {
            tier,
            read: Vec::new(),
            write: Vec::new(),
            never_read: SECRET_PLACES.to_vec(),
            never_write: NEVER_WRITE.to_vec(),
            programs: Programs::Only(Vec::new()),
            utilities: false,
            network: Vec::new(),
            variables: Variables::default(),
            databases: Vec::new(),
            mcp: Servers::Only(Vec::new()),
            desktop: false,
            limits: RunLimits::of(tier, wall_secs),
        };
        for grant in grants {
            spec.add(grant);
        }
        spec
    }

    fn add(&mut self, grant: &Grant) {
        let access = match grant.level() {
            Level::Write => Access::Write,
            Level::None | Level::Read | Level::Execute | Level::Control | Level::Connect => {
                Access::Read
            }
        };
        match (grant.domain(), grant.scope().clone()) {
            (_, _) if grant.level() == Level::None => {}
            (Domain::Filesystem, scope) => {
                let scope = match scope {
                    GrantScope::Path(path) => FileScope::Pattern(path),
                    _ => FileScope::Everything,
                };
                let rules = match access {
                    Access::Read => &mut self.read,
                    Access::Write => &mut self.write,
                };
                if !rules.contains(&scope) {
                    rules.push(scope);
                }
            }
            (Domain::Network, GrantScope::Host(hosts)) => {
                self.network.push(NetworkRule { hosts, access });
            }
            (Domain::Shell, GrantScope::Program(program)) => match &mut self.programs {
                Programs::Only(programs) if !programs.contains(&program) => programs.push(program),
                Programs::Only(_) | Programs::Any => {}
            },
            (Domain::Shell, _) => self.programs = Programs::Any,
            (Domain::Env, GrantScope::Variable(name)) => {
                if !self.variables.named.contains(&name) {
                    self.variables.named.push(name);
                }
            }
            (Domain::Env, _) => self.variables.all_plain = true,
            (Domain::Database, GrantScope::Name(name)) => {
                self.databases.push(DatabaseRule { access, name: Some(name) });
            }
            (Domain::Database, _) => self.databases.push(DatabaseRule { access, name: None }),
            (Domain::Mcp, GrantScope::Name(name)) => match &mut self.mcp {
                Servers::Only(servers) if !servers.contains(&name) => servers.push(name),
                Servers::Only(_) | Servers::Any => {}
            },
            (Domain::Mcp, _) => self.mcp = Servers::Any,
            (Domain::Desktop, _) => self.desktop = true,
            // `Grant` gives the network hosts only.
            (Domain::Network, _) => {}
        }
    }

    /// Whether it depends on the working directory. An approval of such a spec is only valid for
    /// that folder.
    pub fn depends_on_project(&self) -> bool {
        self.read.iter().chain(&self.write).any(|scope| match scope {
            FileScope::Everything => false,
            FileScope::Pattern(pattern) => pattern.root() == PathRoot::Working,
        })
    }

    /// Whether it depends on the working directory or on the home, which may be one.
    pub fn depends_on_place(&self) -> bool {
        self.read.iter().chain(&self.write).any(|scope| match scope {
            FileScope::Everything => false,
            FileScope::Pattern(pattern) => pattern.root() != PathRoot::Absolute,
        })
    }

    /// Whether the run may do this. Used by the runtime's own tools (attack sandbox-H10) and by
    /// property tests.
    pub fn allows(&self, action: &Action) -> bool {
        match action {
            Action::Read(path) => {
                self.read.iter().chain(&self.write).any(|scope| scope.reaches(path))
            }
            Action::Write(path) => {
                self.write.iter().any(|scope| scope.reaches(path))
                    && !self.never_write.iter().any(|place| place.protected.contains(path))
            }
            Action::Connect { host, port, access } => {
                // The proxy connects to no address of this machine or its local network, whatever
                // is granted (attack sandbox-C12).
                let is_open = !host.is_forbidden() && !host.is_local();
                let mut rules = self.network.iter();
                is_open
                    && rules.any(|rule| rule.access >= *access && rule.hosts.matches(host, *port))
            }
            Action::Run(program) => match &self.programs {
                Programs::Any => true,
                Programs::Only(programs) => {
                    programs.contains(program) || (self.utilities && utilities::contain(program))
                }
            },
            Action::Variable(name) => self.variables.allow(name),
            Action::Database { name, access } => self.databases.iter().any(|rule| {
                rule.access >= *access && rule.name.as_ref().is_none_or(|known| known == name)
            }),
            Action::Mcp(name) => match &self.mcp {
                Servers::Any => true,
                Servers::Only(servers) => servers.contains(name),
            },
            Action::Desktop => self.desktop,
        }
    }
}

impl FileScope {
    /// Whether the rule names this location of secrets, which is the only way to open it.
    pub fn names(&self, place: &str) -> bool {
        match self {
            FileScope::Everything => false,
            FileScope::Pattern(pattern) => pattern.named_secret() == Some(place),
        }
    }

    fn reaches(&self, path: &RootedPath) -> bool {
        let within = match self {
            FileScope::Everything => true,
            FileScope::Pattern(pattern) => pattern.matches(path),
        };
        within && secret_place(path.root, &path.parts).is_none_or(|place| self.names(place))
    }
}

impl Variables {
    /// Whether a variable of the parent process is passed on, in addition to those that always are.
    pub fn allow(&self, name: &str) -> bool {
        if crate::scope::is_control(name) {
            return false;
        }
        self.named.iter().any(|known| known.as_str() == name)
            || (self.all_plain && !crate::scope::is_secret(name))
    }
}

/// Whether a name matches a component of [`Protected::AnyDepth`].
pub fn is_named(name: &str, wanted: &str) -> bool {
    match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.len() > start.len() && name.starts_with(start),
        (None, None) => name == wanted,
    }
}

impl Protected {
    /// The location as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Protected::BelowHome(place)
            | Protected::AnyDepth(place)
            | Protected::Machine(place) => place,
        }
    }

    /// Whether it contains a path. The home directory of an absolute path is unknown here, so
    /// locations below a home directory match at any depth.
    pub fn contains(self, path: &RootedPath) -> bool {
        let wanted: Vec<&str> = self.as_str().trim_start_matches('/').split('/').collect();
        let row = |window: &[String]| {
            window.iter().zip(&wanted).all(|(name, wanted)| is_named(name, wanted))
        };
        match (self, path.root) {
            (Protected::BelowHome(_), PathRoot::Working)
            | (Protected::Machine(_), PathRoot::Working | PathRoot::Home) => false,
            (Protected::BelowHome(_), PathRoot::Home)
            | (Protected::Machine(_), PathRoot::Absolute) => {
                path.parts.get(..wanted.len()).is_some_and(row)
            }
            (Protected::BelowHome(_), PathRoot::Absolute) | (Protected::AnyDepth(_), _) => {
                path.parts.windows(wanted.len()).any(row)
            }
        }
    }
}
