//! The folder of all knowledge bases, and its implementation of [`Retriever`].

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_core::{BoxFuture, Passage, Query, RetrieveError, Retriever};
use prowess_files::atomic::sync_folder;
use prowess_files::private::private_folder;

use crate::base::{KnowledgeBase, create_data, data_folder};
use crate::blocking;
use crate::embed::Embedder;
use crate::error::BaseError;
use crate::name::BaseName;
use crate::open_bases::{OpenBases, OpenLimits};
use crate::settings::{self, BaseSettings};
use crate::writer::{self, BaseWriter};

/// The knowledge bases of a folder. Clones share the open ones.
#[derive(Clone)]
pub struct KnowledgeBases {
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    embedder: Option<Arc<dyn Embedder>>,
    open: Mutex<OpenBases>,
}

impl KnowledgeBases {
    /// Opens the knowledge bases of a folder, which need not exist yet.
    pub fn open(root: &Path) -> Self {
        let open = Mutex::new(OpenBases::new(OpenLimits::USUAL));
        Self { shared: Arc::new(Shared { root: root.to_owned(), embedder: None, open }) }
    }

    /// Sets the embedder for the knowledge bases that were created with it.
    #[must_use]
    pub fn asking(&self, embedder: Arc<dyn Embedder>) -> Self {
        let open = Mutex::new(OpenBases::new(OpenLimits::USUAL));
        let root = self.shared.root.clone();
        Self { shared: Arc::new(Shared { root, embedder: Some(embedder), open }) }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.shared.root
    }

    /// The names of all knowledge bases, sorted.
    pub fn names(&self) -> Result<Vec<BaseName>, BaseError> {
        let root = self.root();
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(BaseError::io("list", root)(error)),
        };
        let names = entries.flatten().filter(|entry| entry.path().is_dir());
        // Folders with invalid names, such as `.embedders`, are skipped.
        let mut names: Vec<BaseName> =
            names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// Creates an empty knowledge base, atomically.
    pub fn create(&self, name: &BaseName, settings: &BaseSettings) -> Result<(), BaseError> {
        let root = self.root();
        let folder = root.join(name.as_str());
        let exists = || BaseError::Exists { name: name.to_string() };
        if folder.exists() {
            return Err(exists());
        }
        // Documents may be private.
        private_folder(root).map_err(BaseError::io("create", root))?;
        let half = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(root)
            .map_err(BaseError::io("create", root))?;
        create_data(&data_folder(half.path(), 1), settings)?;
        settings::write(half.path(), settings, 1)?;
        match fs::rename(half.path(), &folder) {
            Ok(()) => sync_folder(root).map_err(BaseError::io("write", root)),
            Err(_) if folder.exists() => Err(exists()),
            Err(error) => Err(BaseError::io("create", &folder)(error)),
        }
    }

    /// Opens a knowledge base for reading.
    pub fn base(&self, name: &BaseName) -> Result<Arc<KnowledgeBase>, BaseError> {
        if let Some(base) = self.open_bases().get(name) {
            return Ok(base);
        }
        // Without the lock, so that searches in other knowledge bases need not wait. The first one is kept.
        let opened =
            Arc::new(KnowledgeBase::open(self.root(), name, self.shared.embedder.clone())?);
        let mut open = self.open_bases();
        if let Some(base) = open.get(name) {
            return Ok(base);
        }
        open.insert(name.clone(), Arc::clone(&opened));
        Ok(opened)
    }

    fn open_bases(&self) -> MutexGuard<'_, OpenBases> {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the only writer of a knowledge base. If another process writes, calls `on_wait` and waits for it.
    pub fn writer(&self, name: &BaseName, on_wait: impl FnOnce()) -> Result<BaseWriter, BaseError> {
        BaseWriter::open(self.root(), name, self.shared.embedder.clone(), on_wait)
    }

    /// Deletes a knowledge base, after waiting for its writer.
    pub fn remove(&self, name: &BaseName, on_wait: impl FnOnce()) -> Result<(), BaseError> {
        let folder = self.root().join(name.as_str());
        if !folder.is_dir() {
            return Err(BaseError::Missing { name: name.to_string() });
        }
        let lock = writer::lock(&folder, on_wait)?;
        self.open_bases().remove(name);
        // Renamed in one step; the deletion may be interrupted.
        let grave = tempfile::Builder::new()
            .prefix(".gone-")
            .tempdir_in(self.root())
            .map_err(BaseError::io("create", self.root()))?;
        fs::rename(&folder, grave.path().join("base")).map_err(BaseError::io("remove", &folder))?;
        drop(lock);
        grave.close().map_err(BaseError::io("remove", &folder))
    }

    /// Replaces a knowledge base by another one, which then has its name. Searches of the old one may fail while this
    /// happens; nothing is lost if the process ends in between, because the old one is removed last.
    pub fn replace(&self, name: &BaseName, by: &BaseName) -> Result<(), BaseError> {
        let (folder, new) = (self.root().join(name.as_str()), self.root().join(by.as_str()));
        let lock = writer::lock(&folder, || ())?;
        let mut open = self.open_bases();
        let grave = tempfile::Builder::new()
            .prefix(".gone-")
            .tempdir_in(self.root())
            .map_err(BaseError::io("replace", self.root()))?;
        fs::rename(&folder, grave.path().join("base"))
            .map_err(BaseError::io("replace", &folder))?;
        fs::rename(&new, &folder).map_err(BaseError::io("replace", &folder))?;
        open.remove(name);
        open.remove(by);
        drop(open);
        sync_folder(self.root()).map_err(BaseError::io("write", self.root()))?;
        drop(lock);
        grave.close().map_err(BaseError::io("remove", &folder))
    }

    /// Finds the passages of a knowledge base that match a query best. It is reopened if it is rewritten meanwhile.
    pub fn search_now(&self, base: &str, query: &Query) -> Result<Vec<Passage>, BaseError> {
        let name: BaseName =
            base.parse().map_err(|_| BaseError::Missing { name: base.to_owned() })?;
        let open = self.base(&name)?;
        match open.search(query) {
            Err(_) if !open.data.is_dir() => self.base(&name)?.search(query),
            found => found,
        }
    }
}

impl Retriever for KnowledgeBases {
    fn search<'r>(
        &'r self,
        base: &'r str,
        query: &'r Query,
    ) -> BoxFuture<'r, Result<Vec<Passage>, RetrieveError>> {
        let (bases, name, query) = (self.clone(), base.to_owned(), query.clone());
        blocking::search(base, move || bases.search_now(&name, &query))
    }
}
