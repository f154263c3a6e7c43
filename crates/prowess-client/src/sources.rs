//! Where skills come from: this machine, repositories, domains, registries.
//!
//! [`Sources`] is the door. It implements the store's [`Source`] for every kind of reference, and [`Sources::index`] is the
//! resolver's view of the registries. Nothing that was fetched is ever run, everything has a bound, and every digest that
//! a place promises is compared here.

mod address;
mod git;
mod web;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prowess_format::text::{shorten, visible};
use prowess_store::limits::Limits;
use prowess_store::reference::Reference;
use prowess_store::source::{Fetched, Local, Offers, Pinned, Source, SourceError};

use self::address::Addresses;
use self::git::Git;
use self::web::Web;
use crate::models::variable;

pub use self::git::Bounds as GitBounds;

/// What sources need to know.
pub struct SourceOptions {
    /// The variables of the process: proxies, tokens, and all that git looks at.
    pub variables: Vec<(String, String)>,
    /// What relative paths are relative to.
    pub current_folder: PathBuf,
    /// How much a skill may be.
    pub limits: Limits,
    /// How much a repository may be.
    pub git: GitBounds,
    /// Whether nothing may be asked over the network.
    pub offline: bool,
    /// Whether git may ask the user for a password.
    pub prompts: Prompts,
    /// Who is told how far a long fetch is.
    pub progress: Progress,
    /// How a pause is made that a server asks for.
    pub pause: Pause,
}

/// Whether somebody sits in front of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    /// Git and ssh may ask for names and passwords.
    Allowed,
    /// Whoever would ask fails instead.
    Never,
}

/// Waits for so long.
pub type Pause = Arc<dyn Fn(Duration) + Send + Sync>;

/// Who is told how far a long fetch is.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(&str) + Send + Sync>);

impl Progress {
    /// Tells this function, a line at a time.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Tells nobody.
    pub fn silent() -> Self {
        Self::new(|_| ())
    }

    fn tell(&self, line: &str) {
        if !line.is_empty() {
            (self.0)(&short(line));
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// All sources.
pub struct Sources {
    local: Local,
    git: Git,
    addresses: Addresses,
}

impl Sources {
    /// Gets ready. Nothing is asked yet.
    pub fn new(options: SourceOptions) -> Self {
        let home = variable(&options.variables, "HOME").map(PathBuf::from);
        let web = Arc::new(Web::new(&options.variables, options.offline, options.pause));
        Self {
            local: Local { current_folder: options.current_folder, home, limits: options.limits },
            git: Git::new(
                options.variables,
                options.prompts,
                options.offline,
                options.git,
                options.limits,
                options.progress,
            ),
            addresses: Addresses::new(Arc::clone(&web), options.limits),
        }
    }
}

impl Source for Sources {
    fn offers(&self, reference: &Reference) -> Result<Offers, SourceError> {
        match reference {
            Reference::Path(_) => self.local.offers(reference),
            Reference::Git(git) => self.git.offers(git),
            Reference::Address(address) => self.addresses.offers(address),
            Reference::Domain(_) | Reference::Named(_) => todo!(),
        }
    }

    fn fetch(&self, name: &str, pinned: &Pinned) -> Result<Fetched, SourceError> {
        match pinned {
            Pinned::Folder { .. } => self.local.fetch(name, pinned),
            Pinned::File { location, sha256 } if pinned.is_remote() => {
                self.addresses.fetch(location, sha256)
            }
            Pinned::File { .. } => self.local.fetch(name, pinned),
            Pinned::Git { url, commit, revision, folder } => {
                self.git.fetch(url, commit, revision.as_deref(), folder.as_ref())
            }
            Pinned::WellKnown { .. } | Pinned::Registry { .. } => todo!(),
        }
    }
}

/// A text of somebody else's, fit for a message.
pub(crate) fn short(text: &str) -> String {
    visible(&shorten(text, 160)).into_owned()
}
