//! The registry: one handle that every page, route and job shares.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use prowess_core::{Problem, ProblemKind};
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_package::tree::Tree;
use prowess_package::unpack::{UnpackOptions, unpack_to_memory};
use prowess_server::Server;
use prowess_server::database::{Database, DatabaseKind};
use prowess_server::oidc::CiIdentities;
use tokio::sync::{Notify, watch};

use crate::blobs::{BlobKind, Blobs, StorageCheck};
use crate::downloads::DownloadCounter;
use crate::error::{Outcome, RegistryError};
use crate::manage::identities;
use crate::mirror::{Mirror, UpstreamError};
use crate::search::{SearchError, SearchIndex};
use crate::settings::RegistrySettings;
use crate::store::{COMPONENT, MIGRATIONS};

/// Unpacked packages that stay in memory.
const CACHED_TREES: NonZeroUsize = NonZeroUsize::new(64).expect("it is not zero");
/// Larger packages are not kept.
const MAX_CACHED_BYTES: u64 = 1 << 20;

/// A registry. Clones share everything.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

struct Inner {
    server: Server,
    blobs: Blobs,
    search: SearchIndex,
    settings: RegistrySettings,
    trees: Mutex<LruCache<String, Arc<Tree>>>,
    downloads: DownloadCounter,
    identities: Option<CiIdentities>,
    mirror: Option<Mirror>,
    changed: Notify,
    stop: watch::Sender<bool>,
    started: Instant,
}

/// What a registry is made of.
pub struct RegistryParts {
    /// Accounts, limits, the audit log, the clock and the database.
    pub server: Server,
    /// The storage of packages.
    pub blobs: Blobs,
    /// The folder of the search index.
    pub search_folder: PathBuf,
    /// The settings.
    pub settings: RegistrySettings,
}

/// Why a registry does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database.
    #[error(transparent)]
    Database(#[from] prowess_server::database::DatabaseError),
    /// The search index.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The settings of trusted publishing.
    #[error("{}", .0.message)]
    Issuers(Problem),
    /// The registry to mirror.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
}

impl Registry {
    /// Opens a registry and brings its tables up to date. Nothing runs in the background until [`Registry::start`].
    pub async fn open(parts: RegistryParts) -> Result<Self, OpenError> {
        let RegistryParts { server, blobs, search_folder, settings } = parts;
        server.database().migrate(COMPONENT, MIGRATIONS).await?;
        let search = SearchIndex::open(&search_folder)?;
        let identities = identities(&server, &settings.trusted_issuers);
        let storage = Arc::new(StorageCheck::new(Arc::clone(&blobs)));
        server.health().add_check("storage", move || Arc::clone(&storage).run());
        let mirror = match &settings.upstream {
            Some(url) => Some(Mirror::new(url, settings.upstream_seconds)?),
            None => None,
        };
        let inner = Inner {
            mirror,
            identities: identities.map_err(OpenError::Issuers)?,
            downloads: DownloadCounter::new(),
            server,
            blobs,
            search,
            settings,
            trees: Mutex::new(LruCache::new(CACHED_TREES)),
            changed: Notify::new(),
            stop: watch::Sender::new(false),
            started: Instant::now(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Accounts, limits and the audit log.
    pub fn server(&self) -> &Server {
        &self.inner.server
    }

    /// The database.
    pub fn database(&self) -> &Database {
        self.inner.server.database()
    }

    /// `sqlite` or `postgres`.
    pub fn database_name(&self) -> &'static str {
        match self.database().kind() {
            DatabaseKind::Sqlite => "sqlite",
            DatabaseKind::Postgres => "postgres",
        }
    }

    /// The storage of packages.
    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// The search index of this node.
    pub fn search_index(&self) -> &SearchIndex {
        &self.inner.search
    }

    /// The settings.
    pub fn settings(&self) -> &RegistrySettings {
        &self.inner.settings
    }

    /// Now, in seconds since 1970.
    pub fn now(&self) -> i64 {
        self.inner.server.clock().now().seconds()
    }

    /// How long this node is up.
    pub fn uptime(&self) -> Duration {
        self.inner.started.elapsed()
    }

    /// The issuers whose CI runs may publish.
    pub(crate) fn identities(&self) -> Option<&CiIdentities> {
        self.inner.identities.as_ref()
    }

    /// The registry that this one mirrors.
    pub(crate) fn mirror(&self) -> Option<&Mirror> {
        self.inner.mirror.as_ref()
    }

    /// Downloads that are not counted yet.
    pub(crate) fn downloads(&self) -> &DownloadCounter {
        &self.inner.downloads
    }

    /// Wakes the search index after a change on this node.
    pub(crate) fn wake_search(&self) {
        self.inner.changed.notify_one();
    }

    pub(crate) fn changed(&self) -> &Notify {
        &self.inner.changed
    }

    /// Starts what runs in the background: publications that are not finished, the search index, downloads, and removing what
    /// is not needed any more.
    pub fn start(&self) {
        tokio::spawn(self.clone().follow_changes());
        tokio::spawn(self.clone().work_on_jobs());
        tokio::spawn(self.clone().write_downloads());
        tokio::spawn(self.clone().maintain());
    }

    /// Ends everything in the background.
    pub fn stop(&self) {
        self.inner.stop.send_replace(true);
    }

    /// Resolves when the registry is stopped.
    pub(crate) async fn stopped(&self) {
        let mut stop = self.inner.stop.subscribe();
        // The sender lives as long as `self`.
        let _ = stop.wait_for(|stop| *stop).await;
    }

    /// The files of a package. Small ones stay in memory for a while.
    pub(crate) async fn tree(&self, sha256: &str) -> Outcome<Arc<Tree>> {
        let known =
            self.inner.trees.lock().unwrap_or_else(PoisonError::into_inner).get(sha256).cloned();
        if let Some(tree) = known {
            return Ok(tree);
        }
        let digest = digest(sha256)?;
        let bytes = self.inner.blobs.get(BlobKind::Package, digest).await?;
        let unpacked = tokio::task::spawn_blocking(move || {
            let options = UnpackOptions { limits: PackageLimits::PACKAGE, name: None };
            unpack_to_memory(std::io::Cursor::new(bytes), &options)
        });
        let damaged = || {
            tracing::error!(%sha256, "a package in the storage can't be unpacked");
            RegistryError::of(
                "package-damaged",
                ProblemKind::Internal,
                "the package in the storage is damaged",
            )
        };
        let (_, tree) = unpacked.await.map_err(|_| damaged())?.map_err(|_| damaged())?;
        let tree = Arc::new(tree);
        let size: u64 = tree.files().map(|(_, file)| file.bytes.len() as u64).sum();
        if size <= MAX_CACHED_BYTES {
            let mut trees = self.inner.trees.lock().unwrap_or_else(PoisonError::into_inner);
            trees.put(sha256.to_owned(), Arc::clone(&tree));
        }
        Ok(tree)
    }
}

/// A digest that this registry wrote.
pub(crate) fn digest(sha256: &str) -> Outcome<Sha256Digest> {
    sha256.parse().map_err(|_| {
        RegistryError::of(
            "digest-damaged",
            ProblemKind::Internal,
            "a digest in the database is damaged",
        )
    })
}
