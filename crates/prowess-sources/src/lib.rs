//! Sources of skills: this machine, git repositories, domains, registries, MCP servers.
//!
//! [`Sources`] is the entry point. It implements the store's [`Source`] for every kind of reference, and its
//! [`Catalogue`] for registries. Nothing that was fetched is ever executed, everything has a limit, and every digest
//! that a source promises is verified here.

mod address;
mod archives;
mod git;
mod mcp;
mod registry;
mod web;
mod well_known;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prowess_format::text::{shorten, visible};
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_resolve::{Package, Release};
use prowess_store::reference::{NamedReference, Reference};
use prowess_store::source::{
    Catalogue, FetchedFiles, Local, Offer, Offers, Pinned, Source, SourceError,
};

use self::address::Addresses;
use self::archives::Archives;
use self::git::Git;
use self::mcp::ServerSkills;
use self::registry::RegistryClient;
use self::web::Web;
use self::well_known::WellKnown;
use prowess_settings::variable;

pub use self::git::Bounds as GitBounds;
pub use self::mcp::{ServerTalk, SkillServers};
pub use self::registry::{
    AccountReply, AccountRequest, AccountToken, REGISTRY_VARIABLE, Registries, Registry,
    RegistryKind, SearchHit, TOKEN_VARIABLE,
};
pub use self::well_known::{Missed, TRAWL_TIME, Trawl, Trawled};

/// Configuration of [`Sources`].
pub struct SourceOptions {
    /// The environment variables of the process: proxies, tokens, and the ones that git reads.
    pub variables: Vec<(String, String)>,
    /// The base of relative paths.
    pub current_folder: PathBuf,
    /// Size limits of a skill.
    pub limits: PackageLimits,
    /// Size limits of a git repository.
    pub git: GitBounds,
    /// The configured registries.
    pub registries: Registries,
    /// The folder for cached indexes and archives; without it they are fetched each time.
    pub cache_folder: Option<PathBuf>,
    /// Whether network access is forbidden.
    pub offline: bool,
    /// Whether git may ask the user for a password.
    pub prompts: Prompts,
    /// Receives the progress of long fetches.
    pub progress: Progress,
    /// Waits when a server asks for a pause.
    pub pause: Pause,
    /// The current time, for the expiry of registry indexes.
    pub now: SystemTime,
    /// Talks to configured MCP servers; without it, they are no source.
    pub servers: Option<Arc<dyn SkillServers>>,
}

/// Whether git may prompt on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    /// Git and ssh may ask for user names and passwords.
    Allowed,
    /// A prompt is an error.
    Never,
}

/// Waits for a duration.
pub type Pause = Arc<dyn Fn(Duration) + Send + Sync>;

/// Receives a line of progress, or `None` at the end of a fetch.
type Listener = dyn Fn(Option<&str>) + Send + Sync;

/// A receiver of progress messages.
#[derive(Clone)]
pub struct Progress(Arc<Listener>);

impl Progress {
    /// Calls this function with each line, and with `None` at the end of each fetch.
    pub fn new(tell: impl Fn(Option<&str>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Discards all messages.
    pub fn silent() -> Self {
        Self::new(|_| ())
    }

    fn tell(&self, line: &str) {
        if !line.is_empty() {
            (self.0)(Some(&short(line)));
        }
    }

    fn over(&self) {
        (self.0)(None);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// All sources of skills.
pub struct Sources {
    local: Local,
    git: Git,
    addresses: Addresses,
    well_known: WellKnown,
    registries: RegistryClient,
    servers: ServerSkills,
}

impl Sources {
    /// Creates the sources without any network access.
    pub fn new(options: SourceOptions) -> Self {
        let home = variable(&options.variables, "HOME").map(PathBuf::from);
        let progress = options.progress.clone();
        let web = Web::new(&options.variables, options.offline, options.pause, progress);
        let web = Arc::new(web);
        let archives = Archives::new(options.cache_folder.as_deref());
        Self {
            local: Local { current_folder: options.current_folder, home, limits: options.limits },
            registries: RegistryClient::new(
                Arc::clone(&web),
                options.limits,
                options.offline,
                options.variables.clone(),
                options.registries,
                options.cache_folder.as_deref(),
                options.now,
            ),
            git: Git::new(
                options.variables,
                options.prompts,
                options.offline,
                options.git,
                options.limits,
                options.progress,
                archives.clone(),
            ),
            addresses: Addresses::new(Arc::clone(&web), options.limits, archives.clone()),
            servers: ServerSkills::new(
                options.servers,
                options.limits,
                archives.clone(),
                options.offline,
            ),
            well_known: WellKnown::new(web, options.limits, archives),
        }
    }

    /// Returns a function that removes temporary files, for a process that is about to be terminated by a signal.
    pub fn tidy_up(&self) -> impl Fn() + Send + use<> {
        let scratches = self.git.scratches.clone();
        move || scratches.remove_all()
    }

    /// Asks many domains concurrently for the skill that each may publish (SKL-WK-1), with a time limit per domain.
    pub fn trawl(&self, domains: &[String], limit: Duration) -> Trawl {
        self.well_known.trawl(domains, limit)
    }

    /// Searches the default registry. Filters are parameters such as `tag`.
    pub fn search(
        &self,
        words: &str,
        filters: &[(&str, &str)],
        most: usize,
    ) -> Result<Vec<SearchHit>, SourceError> {
        self.registries.search(words, filters, most)
    }
}

impl Sources {
    /// The registry that a namespace belongs to, for requests of an account.
    pub fn registry(&self, namespace: Option<&SkillName>) -> Result<Registry, SourceError> {
        self.registries.of_namespace(namespace)
    }

    /// Sends a request of an account to a registry.
    pub fn account(
        &self,
        registry: &Registry,
        request: AccountRequest<'_>,
    ) -> Result<AccountReply, SourceError> {
        self.registries.account(registry, request)
    }

    /// Whether a variable or the settings give the token of a registry, so that a saved one is not used.
    pub fn has_configured_token(&self, registry: &Registry) -> bool {
        self.registries.has_configured_token(registry)
    }

    /// The file for the saved token of a registry.
    pub fn saved_token(&self, registry: &Registry) -> Option<PathBuf> {
        self.registries.registries.saved_token(registry)
    }
}

impl Catalogue for Sources {
    fn package(&self, named: &NamedReference) -> Result<Package, SourceError> {
        self.registries.package(named)
    }

    fn revoked(&self, name: &SkillName, pinned: &Pinned) -> Result<Option<String>, SourceError> {
        match pinned {
            Pinned::Registry { registry, namespace: Some(namespace), version, .. } => {
                self.registries.revoked(name, registry, namespace, version)
            }
            _ => Ok(None),
        }
    }

    fn releases(&self, package: &Package) -> Result<Vec<Release>, SourceError> {
        self.registries.releases(package)
    }

    fn offer(&self, package: &Package, version: &semver::Version) -> Result<Offer, SourceError> {
        self.registries.offer(package, version)
    }
}

impl Source for Sources {
    fn offers(&self, reference: &Reference) -> Result<Offers, SourceError> {
        match reference {
            Reference::Path(_) => self.local.offers(reference),
            Reference::Git(git) => self.git.offers(git),
            Reference::Address(address) => self.addresses.offers(address),
            Reference::Domain(domain) => self.well_known.offers(domain),
            Reference::Named(named) => self.registries.offers(named),
            Reference::Server(server) => self.servers.offers(server),
        }
    }

    fn fetch(&self, name: &str, pinned: &Pinned) -> Result<FetchedFiles, SourceError> {
        match pinned {
            Pinned::Folder { .. } => self.local.fetch(name, pinned),
            Pinned::File { location, sha256 } if pinned.is_remote() => {
                self.addresses.fetch(location, sha256)
            }
            Pinned::File { .. } => self.local.fetch(name, pinned),
            Pinned::Git { url, commit, revision, folder } => {
                self.git.fetch(url, commit, revision.as_deref(), folder.as_ref())
            }
            Pinned::WellKnown { url, digest, .. } => {
                self.well_known.fetch(name, url, digest.as_deref())
            }
            Pinned::Mcp { server, uri, digest } => self.servers.fetch(server, uri, digest),
            Pinned::Registry { registry, namespace, version, sha256 } => {
                self.registries.fetch(name, registry, namespace.as_ref(), version, sha256)
            }
        }
    }
}

/// Shortens and escapes untrusted text for a message.
pub(crate) fn short(text: &str) -> String {
    visible(&shorten(text, 160)).into_owned()
}
