//! A running registry with users, and packages to publish.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use prowess_blobs::{Bucket, BucketSettings};
use prowess_http::{AddressFilter, Authorities, ClientOptions, ProxySetting};
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::{Tree, TreeFile};
use prowess_registry::blobs::BlobKind;
use prowess_registry::host::{HostOptions, add_user, new_token};
use prowess_registry::{Registry, RegistryParts, app};
use prowess_server::accounts::{NewUser, Role};
use prowess_server::http::{ServeOptions, Shutdown, serve};
use prowess_server::tokens::Scope;
use prowess_testkit::s3::{BUCKET, PrivateS3};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;

/// How long a test waits for something that has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A cluster of Postgres: every scene gets a database of its own there. Without it, every scene has its own file of SQLite.
pub(crate) const CLUSTER: &str = "PROWESS_TEST_POSTGRES";

/// The address of an S3-compatible storage: every scene gets a prefix of its own there. Without it, every scene has a folder.
pub(crate) const STORAGE: &str = "PROWESS_TEST_S3";

/// A registry that runs until it is dropped.
pub(crate) struct Scene {
    pub(crate) registry: Registry,
    pub(crate) address: SocketAddr,
    pub(crate) data: PathBuf,
    options: HostOptions,
    client: reqwest::Client,
    shutdown: Shutdown,
    _folder: tempfile::TempDir,
}

/// A response that was read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}: {}", self.status, self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The code of a problem document.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Scene {
    /// Starts an empty registry.
    pub(crate) async fn start() -> Self {
        Self::with_settings("").await
    }

    /// Starts an empty registry with the text of a `registry.toml`.
    pub(crate) async fn with_settings(settings: &str) -> Self {
        Self::with_database(settings, database()).await
    }

    /// Starts an empty registry on a new database of Postgres.
    pub(crate) async fn on_postgres(url: String) -> Self {
        Self::with_database("", Some(url)).await
    }

    async fn with_database(settings: &str, database: Option<String>) -> Self {
        Self::on(settings, database, std::env::var(STORAGE).ok()).await
    }

    /// Starts an empty registry on a database, and in a bucket of the storage with this address.
    pub(crate) async fn on(
        settings: &str,
        database: Option<String>,
        storage: Option<String>,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        std::fs::create_dir(&data).expect("a folder");
        let settings = match storage {
            Some(endpoint) => in_bucket(settings, &endpoint, &unique()),
            None => settings.to_owned(),
        };
        std::fs::write(data.join("registry.toml"), settings).expect("settings");
        let options =
            HostOptions { data, database, storage: None, upstream: None, public_url: None };
        Self::serve(options.registry().await.expect("a registry"), options, folder).await
    }

    /// Restores a backup into a new registry, in a bucket of the storage with this address, and starts it.
    pub(crate) async fn restored(backup: &Path, storage: Option<String>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        std::fs::create_dir(&data).expect("a folder");
        // Settings that are there stay: they say how the bucket is reached.
        let settings = storage.map(|endpoint| in_bucket("", &endpoint, &unique()));
        std::fs::write(data.join("registry.toml"), settings.unwrap_or_default()).expect("settings");
        let options = HostOptions {
            data,
            database: database(),
            storage: None,
            upstream: None,
            public_url: None,
        };
        let (database, blobs) = (options.database().await, options.blobs());
        let (database, blobs) = (database.expect("a database"), blobs.expect("a storage"));
        let restored =
            prowess_registry::backup::restore(&database, &blobs, &options.data, backup).await;
        restored.expect("it is restored");
        drop(database);
        Self::serve(options.registry().await.expect("a registry"), options, folder).await
    }

    /// Starts an empty registry that mirrors another.
    pub(crate) async fn mirror_of(upstream: &str, settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        std::fs::create_dir(&data).expect("a folder");
        std::fs::write(data.join("registry.toml"), settings).expect("settings");
        let options = HostOptions {
            data,
            database: database(),
            storage: None,
            upstream: Some(upstream.to_owned()),
            public_url: None,
        };
        Self::serve(options.registry().await.expect("a registry"), options, folder).await
    }

    /// Cuts off the object of a package in the bucket.
    pub(crate) async fn damage(&self, storage: &PrivateS3, sha256: Sha256Digest) {
        let url = self.registry.settings().storage.clone().expect("a bucket");
        let settings = BucketSettings {
            endpoint: Some(storage.endpoint()),
            access_key_id: Some("test".to_owned()),
            secret_access_key: Some("test".to_owned()),
            ..BucketSettings::default()
        };
        let bucket = Bucket::open(url.parse().expect("an address"), &settings);
        let known = self.registry.blobs().get(BlobKind::Package, sha256).await.expect("an object");
        let key = prowess_registry::blobs::key(BlobKind::Package, sha256);
        let half = known.slice(..known.len() / 2);
        bucket.expect("a bucket").write(&key, half).await.expect("it is written");
    }

    /// Starts another node on the database and the storage of this one, with a search index of its own.
    pub(crate) async fn another_node(&self) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let parts = RegistryParts {
            server: self.options.server().await.expect("a server"),
            blobs: self.options.blobs().expect("a storage"),
            search_folder: folder.path().join("search"),
            settings: self.options.settings().expect("settings"),
        };
        let registry = Registry::open(parts).await.expect("a registry");
        Self::serve(registry, self.options.clone(), folder).await
    }

    async fn serve(registry: Registry, options: HostOptions, folder: tempfile::TempDir) -> Self {
        registry.start();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shutdown = Shutdown::new();
        let (router, server) = (app::router(&registry), registry.server().clone());
        let stop = shutdown.clone();
        tokio::spawn(async move {
            serve(listener, router, &server, ServeOptions::default(), stop)
                .await
                .expect("it serves");
        });
        let http = ClientOptions {
            authorities: Authorities::None,
            proxy: ProxySetting::None,
            addresses: AddressFilter::All,
            connect_timeout: PATIENCE,
        };
        let client = prowess_http::client(http).expect("a client");
        let data = options.data.clone();
        Self { registry, address, data, options, client, shutdown, _folder: folder }
    }

    /// Adds a user and returns a token with all rights.
    pub(crate) async fn user(&self, name: &str) -> String {
        self.user_with_role(name, Role::User).await
    }

    /// Adds an administrator.
    pub(crate) async fn administrator(&self, name: &str) -> String {
        self.user_with_role(name, Role::Admin).await
    }

    async fn user_with_role(&self, name: &str, role: Role) -> String {
        let new = NewUser { username: name.parse().expect("a name"), role, password: None };
        add_user(self.registry.server(), self.registry.settings(), new).await.expect("a user");
        self.token(name, &["*"]).await
    }

    /// Makes a token with scopes.
    pub(crate) async fn token(&self, user: &str, scopes: &[&str]) -> String {
        let scopes: Vec<Scope> = scopes.iter().map(|it| it.parse().expect("a scope")).collect();
        let secret = new_token(self.registry.server(), user, "test", scopes, None).await;
        secret.expect("a token").expose().to_owned()
    }

    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
    ) -> RequestBuilder {
        let request = self.client.request(method, format!("http://{}{path}", self.address));
        match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.expect("a response");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.expect("a body").to_vec();
        Answer { status, headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path, None)).await
    }

    pub(crate) async fn get_as(&self, path: &str, token: &str) -> Answer {
        self.send(self.request(Method::GET, path, Some(token))).await
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: &Value,
    ) -> Answer {
        let request = self.request(method, path, Some(token));
        let request = request.header("content-type", "application/json").body(body.to_string());
        self.send(request).await
    }

    /// Uploads a package.
    pub(crate) async fn publish(
        &self,
        token: Option<&str>,
        namespace: &str,
        package: &[u8],
    ) -> Answer {
        let boundary = "test-boundary";
        let mut body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"namespace\"\r\n\r\n{namespace}\r\n--{boundary}\r\n\
             Content-Disposition: form-data; name=\"package\"; filename=\"p\"\r\n\r\n"
        )
        .into_bytes();
        body.extend_from_slice(package);
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let request = self.request(Method::POST, "/api/v1/skills", token);
        let kind = format!("multipart/form-data; boundary={boundary}");
        self.send(request.header("content-type", kind).body(body)).await
    }

    /// Publishes a skill that has to be accepted.
    pub(crate) async fn publish_ok(&self, token: &str, namespace: &str, package: &[u8]) -> Value {
        let answer = self.publish(Some(token), namespace, package).await;
        assert_eq!(answer.status, StatusCode::CREATED.as_u16(), "{}", answer.text());
        answer.json()
    }

    /// Waits until a condition holds.
    pub(crate) async fn until<F: Future<Output = bool>>(
        &self,
        what: &str,
        condition: impl Fn() -> F,
    ) {
        let started = Instant::now();
        while !condition().await {
            assert!(started.elapsed() < PATIENCE, "{what} does not happen");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The bytes of the stored packages. In a folder they are plain files.
    pub(crate) async fn packages(&self) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        if self.registry.blobs().name() == "s3" {
            for object in self.registry.blobs().list().await.expect("a list") {
                let bytes = self.registry.blobs().get(object.kind, object.sha256).await;
                found.push(bytes.expect("an object").to_vec());
            }
            return found;
        }
        let mut open = vec![self.data.join("packages")];
        while let Some(folder) = open.pop() {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for entry in entries {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    found.push(std::fs::read(path).expect("a file"));
                }
            }
        }
        found
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.shutdown.request();
        self.registry.stop();
    }
}

/// A new database of the cluster, if the tests run on one.
fn database() -> Option<String> {
    let cluster = std::env::var(CLUSTER).ok()?;
    Some(prowess_testkit::postgres::create_database(&cluster, &unique()))
}

/// A name that no other scene has.
fn unique() -> String {
    static SCENES: AtomicUsize = AtomicUsize::new(0);
    let number = SCENES.fetch_add(1, Ordering::Relaxed);
    format!("scene_{}_{number}", std::process::id())
}

/// Settings with a prefix of their own in the bucket of a storage.
pub(crate) fn in_bucket(settings: &str, endpoint: &str, prefix: &str) -> String {
    format!(
        "storage = \"s3://{BUCKET}/{prefix}\"\n{settings}\n[s3]\nendpoint = \"{endpoint}\"\n\
         access_key_id = \"test\"\nsecret_access_key = \"test\"\n"
    )
}

/// A package with these files.
pub(crate) fn package_of(files: &[(&str, &str)]) -> Vec<u8> {
    let files = files.iter().map(|(path, text)| {
        let file =
            TreeFile { bytes: text.as_bytes().to_vec(), executable: path.starts_with("scripts/") };
        (path.parse().expect("a path"), file)
    });
    pack(&Tree::from_files(files, &PackageLimits::PACKAGE).expect("a tree"))
}

/// The text of a skill's `SKILL.md`.
pub(crate) fn manifest(name: &str, version: &str, more: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Says how the weather is in a place\nversion: {version}\nlicense: MIT\n{more}---\n\n\
         # {name}\n\nAsk for a place and say how the weather is there.\n"
    )
}

/// A package with a `SKILL.md` only.
pub(crate) fn skill(name: &str, version: &str) -> Vec<u8> {
    package_of(&[("SKILL.md", &manifest(name, version, ""))])
}

/// The SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    prowess_package::digest::Sha256Digest::of(bytes).to_string()
}
