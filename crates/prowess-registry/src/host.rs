//! Opens a registry from its folder and options, as `prowess registry …` does.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::Problem;
use prowess_package::digest::Sha256Digest;
use prowess_server::accounts::{NewUser, Role, User};
use prowess_server::database::{Database, DatabaseError, DatabaseUrl};
use prowess_server::tokens::{NewApiToken, Scope};
use prowess_server::{Secret, Server, ServerOptions};

use crate::actor::Actor;
use crate::blobs::{BlobKind, Blobs, FolderBlobs};
use crate::error::RegistryError;
use crate::manage::ensure_own_namespace;
use crate::names::RESERVED_NAMESPACES;
use crate::registry::{OpenError, Registry, RegistryParts};
use crate::settings::{RegistrySettings, S3Settings, SettingsError};
use crate::store::{COMPONENT, MIGRATIONS};

/// The name of the server, which is also that of its cookie.
pub const NAME: &str = "prowess-registry";
/// The settings file in the data folder.
pub(crate) const SETTINGS: &str = "registry.toml";
/// The database in the data folder.
const DATABASE: &str = "registry.db";
/// The search index in the data folder.
const SEARCH: &str = "search";
/// The largest settings file.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// Problems that `doctor` lists.
const MAX_LISTED: usize = 50;

/// Where a registry is.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The data folder.
    pub data: PathBuf,
    /// The database; a file in the data folder by default.
    pub database: Option<String>,
    /// The storage of packages, such as `s3://skills`; that of `registry.toml` or the data folder by default.
    pub storage: Option<String>,
    /// The registry to mirror; that of `registry.toml` by default.
    pub upstream: Option<String>,
    /// The address under which clients reach the registry.
    pub public_url: Option<String>,
}

/// Why a registry can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The data folder can't be used.
    #[error("cannot use the data folder `{}`: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The settings are not valid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// An address is not valid.
    #[error("`{0}` is not an address, expected one such as `https://skills.example`")]
    Address(String),
    /// The storage of packages can't be used.
    #[error("{0}")]
    Storage(String),
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The registry itself.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// What `doctor` found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Versions whose archive was checked.
    pub versions: usize,
    /// Objects that no version names. They are swept after an hour.
    pub unnamed: usize,
    /// What is wrong, each a sentence without a full stop.
    pub problems: Vec<String>,
}

impl HostOptions {
    /// Whether somebody has made this registry. With a database elsewhere it is left to the database to say.
    pub fn exists(&self) -> bool {
        self.database.is_some() || self.data.join(DATABASE).is_file()
    }

    /// Opens the database and leaves its tables as they are.
    pub async fn database(&self) -> Result<Database, HostError> {
        self.prepare_folder()?;
        let url = match &self.database {
            Some(url) => url.parse::<DatabaseUrl>()?,
            None => DatabaseUrl::Sqlite(self.data.join(DATABASE)),
        };
        let database = tokio::task::spawn_blocking(move || Database::open(&url)).await;
        Ok(database.map_err(|_| DatabaseError::Panicked)??)
    }

    /// Opens accounts and tables: enough for commands that need neither packages nor the search.
    pub async fn server(&self) -> Result<Server, HostError> {
        let database = self.database().await?;
        let settings = self.settings()?;
        let mut options = ServerOptions::new(NAME, database);
        if let Some(address) = self.public_url.as_ref().or(settings.public_url.as_ref()) {
            let address = address.parse().map_err(|_| HostError::Address(address.clone()))?;
            options.public_url = Some(address);
        }
        let server = Server::start(options).await?;
        server.database().migrate(COMPONENT, MIGRATIONS).await?;
        Ok(server)
    }

    /// Opens the whole registry. Nothing runs in the background yet.
    pub async fn registry(&self) -> Result<Registry, HostError> {
        let server = self.server().await?;
        let parts = RegistryParts {
            server,
            blobs: self.blobs()?,
            search_folder: self.data.join(SEARCH),
            settings: self.settings()?,
        };
        Ok(Registry::open(parts).await?)
    }

    /// The storage of packages.
    pub fn blobs(&self) -> Result<Blobs, HostError> {
        let settings = self.settings()?;
        match self.storage.as_ref().or(settings.storage.as_ref()) {
            Some(url) => bucket(url, &settings.s3),
            None => Ok(Arc::new(FolderBlobs::new(&self.data))),
        }
    }

    /// The settings in the data folder.
    pub fn settings(&self) -> Result<RegistrySettings, HostError> {
        let path = self.data.join(SETTINGS);
        let text = prowess_files::atomic::read_text(&path, MAX_SETTINGS_BYTES)
            .map_err(|source| HostError::Folder { path, source })?;
        let mut settings = RegistrySettings::parse(&text.unwrap_or_default())?;
        if self.public_url.is_some() {
            settings.public_url.clone_from(&self.public_url);
        }
        if self.upstream.is_some() {
            settings.upstream.clone_from(&self.upstream);
        }
        Ok(settings)
    }

    /// The folder holds hashes of passwords and tokens, so that only its owner may enter it.
    fn prepare_folder(&self) -> Result<(), HostError> {
        let failed = |source| HostError::Folder { path: self.data.clone(), source };
        if self.data.is_dir() {
            return Ok(());
        }
        if let Some(parent) = self.data.parent().filter(|parent| *parent != Path::new("")) {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        prowess_files::private::private_folder(&self.data).map_err(failed)
    }
}

/// The storage of an address.
#[cfg(feature = "s3")]
fn bucket(url: &str, settings: &S3Settings) -> Result<Blobs, HostError> {
    use prowess_blobs::{Bucket, BucketSettings, BucketUrl};
    let S3Settings { endpoint, region, access_key_id, secret_access_key, allow_http } =
        settings.clone();
    let settings =
        BucketSettings { endpoint, region, access_key_id, secret_access_key, allow_http };
    let url: BucketUrl =
        url.parse().map_err(|error| HostError::Storage(format!("storage: {error}")))?;
    let bucket = Bucket::open(url, &settings);
    let bucket = bucket.map_err(|error| HostError::Storage(error.to_string()))?;
    Ok(Arc::new(crate::blobs::S3Blobs::new(bucket)))
}

/// The storage of an address.
#[cfg(not(feature = "s3"))]
fn bucket(url: &str, _: &S3Settings) -> Result<Blobs, HostError> {
    let message = format!("this build can't store packages in `{url}`: it has no support for S3");
    Err(HostError::Storage(message))
}

/// Adds a user together with their namespace. A user with a reserved name, such as `admin`, has none.
pub async fn add_user(
    server: &Server,
    settings: &RegistrySettings,
    new: NewUser,
) -> Result<User, Problem> {
    let user = server.accounts().add_user(new).await?;
    add_own_namespace(server, settings, &user).await?;
    Ok(user)
}

/// Whether a user has a namespace of their own: some names nobody may have.
pub fn has_own_namespace(user: &User) -> bool {
    !RESERVED_NAMESPACES.contains(&user.username.as_str())
}

/// Makes the namespace of a new user, unless its name is one that nobody may have.
pub(crate) async fn add_own_namespace(
    server: &Server,
    settings: &RegistrySettings,
    user: &User,
) -> Result<(), Problem> {
    if !has_own_namespace(user) {
        return Ok(());
    }
    let (actor, settings) = (actor_of(user), settings.clone());
    let now = server.clock().now().seconds();
    let added = server.database().write(move |transaction| {
        ensure_own_namespace(transaction, &actor, &actor.username, now, &settings)
    });
    added.await.map_err(problem)
}

/// Makes a token for a user, and returns its secret.
pub async fn new_token(
    server: &Server,
    username: &str,
    name: &str,
    scopes: Vec<Scope>,
    lifetime: Option<std::time::Duration>,
) -> Result<Secret, Problem> {
    let unknown = || {
        Problem::new(
            "no-such-user",
            prowess_core::ProblemKind::NotFound,
            format!("there is no user `{username}`"),
        )
    };
    let parsed = username.parse().map_err(|_| unknown())?;
    let user = server.accounts().user_by_name(&parsed).await?.ok_or_else(unknown)?;
    let new = NewApiToken { user_id: user.id, name: name.to_owned(), scopes, lifetime };
    let (_, secret) = server.tokens().create(new).await?;
    Ok(secret)
}

/// Checks the tables, the audit log and every archive.
pub async fn diagnose(server: &Server, blobs: &Blobs) -> Result<Diagnosis, RegistryError> {
    let rows = server.database().read(|connection| {
        connection.query(
            "SELECT s.namespace, s.name, v.version, v.sha256 FROM versions v JOIN skills s ON s.id = v.skill_id
             WHERE v.state IN ('visible', 'held', 'pending') AND s.state <> 'deleted' ORDER BY v.id",
            &[],
        )
    });
    let rows = rows.await?;
    let mut found = Diagnosis { versions: rows.len(), ..Diagnosis::default() };
    // A storage that is not there would be reported once for each version, after waiting for each.
    let checked = match blobs.check().await {
        Err(error) => {
            found.problems.push(error.to_string());
            &[]
        }
        Ok(()) => rows.as_slice(),
    };
    let is_reachable = found.problems.is_empty();
    let mut named = mirrored_packages(server).await?;
    for row in checked {
        let (namespace, name, version): (String, String, String) =
            (row.get("namespace")?, row.get("name")?, row.get("version")?);
        let sha256: String = row.get("sha256")?;
        let digest = crate::registry::digest(&sha256)?;
        named.insert(digest);
        if let Err(error) = blobs.get(BlobKind::Package, digest).await {
            found.problems.push(format!("`{namespace}/{name}` {version}: {error}"));
        }
    }
    let stored = if is_reachable { blobs.list().await? } else { Vec::new() };
    found.unnamed = stored
        .iter()
        .filter(|object| object.kind == BlobKind::Package && !named.contains(&object.sha256))
        .count();
    match server.audit().verify().await? {
        prowess_server::audit::AuditVerification::Intact { .. } => {}
        prowess_server::audit::AuditVerification::Broken { sequence } => {
            found.problems.push(format!("the audit log was changed at entry {sequence}"));
        }
    }
    found.problems.truncate(MAX_LISTED);
    Ok(found)
}

/// The packages that a mirror keeps.
async fn mirrored_packages(
    server: &Server,
) -> Result<std::collections::HashSet<Sha256Digest>, RegistryError> {
    let rows = server
        .database()
        .read(|connection| connection.query("SELECT sha256 FROM mirrored_packages", &[]));
    rows.await?.iter().map(|row| crate::registry::digest(&row.get::<String>("sha256")?)).collect()
}

/// The user as somebody who acts with all their rights.
pub fn actor_of(user: &User) -> Actor {
    Actor {
        user_id: user.id.clone(),
        username: user.username.to_string(),
        created: user.created_at.seconds(),
        is_administrator: user.role == Role::Admin,
        scopes: None,
        provenance: None,
    }
}

fn problem(error: RegistryError) -> Problem {
    let message = error.to_string();
    match error {
        RegistryError::Problem(problem) => problem,
        _ => Problem::new("failed", prowess_core::ProblemKind::Failed, message),
    }
}
