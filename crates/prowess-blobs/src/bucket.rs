//! A bucket, and what is done with objects in it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::ClientConfigKey;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
    RetryConfig,
};

use crate::connector::Connector;
use crate::error::BucketError;
use crate::url::BucketUrl;

/// How long an operation on one object may take, with everything that is repeated.
const OPERATION_TIMEOUT: Duration = Duration::from_mins(2);
/// How long a list may take.
const LIST_TIMEOUT: Duration = Duration::from_mins(30);
/// How long a check whether the bucket answers may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// How often and for how long a failed request is repeated.
const RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a bucket is and who we are there. What the usual `AWS_…` variables say wins.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BucketSettings {
    /// The address of the storage; that of Amazon's region otherwise.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The name of the access key.
    pub access_key_id: Option<String>,
    /// The access key itself.
    pub secret_access_key: Option<String>,
    /// Whether an endpoint outside this machine may be reached without TLS.
    pub allow_http: bool,
}

/// The key stays out of logs.
impl fmt::Debug for BucketSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BucketSettings")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("allow_http", &self.allow_http)
            .finish_non_exhaustive()
    }
}

/// What is known of an object without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its key, without the prefix of the bucket's address.
    pub key: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

/// Whether an object was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateResult {
    /// It was created.
    Created,
    /// There is an object of that key already; it was left as it is.
    Exists,
}

/// A bucket with the prefix of its address.
#[derive(Clone)]
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    url: BucketUrl,
}

impl Bucket {
    /// Reads the settings and the environment. Nothing is connected yet.
    pub fn open(url: BucketUrl, settings: &BucketSettings) -> Result<Self, BucketError> {
        let retry = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(3),
                base: 2.0,
            },
            max_retries: RETRIES,
            retry_timeout: RETRY_TIMEOUT,
        };
        let builder = with_settings(AmazonS3Builder::from_env(), settings);
        let endpoint = builder
            .get_config_value(&AmazonS3ConfigKey::S3Endpoint)
            .or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint));
        let allow_http = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
        let allow_http = settings.allow_http
            || builder.get_config_value(&allow_http).is_some_and(|value| value == "true");
        if let Some(endpoint) = endpoint {
            check_endpoint(&endpoint, allow_http)?;
        }
        let store = builder
            .with_bucket_name(&url.bucket)
            .with_allow_http(true)
            .with_retry(retry)
            .with_http_connector(Connector)
            .build()
            .map_err(|error| BucketError::Settings(error.to_string()))?;
        Ok(Self { store: Arc::new(store), url })
    }

    /// The address of the bucket.
    pub fn url(&self) -> &BucketUrl {
        &self.url
    }

    /// Creates an object, unless there is one of that key.
    pub async fn create(&self, key: &str, bytes: Bytes) -> Result<CreateResult, BucketError> {
        match self.put(key, bytes, PutMode::Create).await {
            Ok(()) => Ok(CreateResult::Created),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(CreateResult::Exists),
            Err(error) => Err(BucketError::of(key, &error)),
        }
    }

    /// Writes an object, also in place of another.
    pub async fn write(&self, key: &str, bytes: Bytes) -> Result<(), BucketError> {
        let written = self.put(key, bytes, PutMode::Overwrite).await;
        written.map_err(|error| BucketError::of(key, &error))
    }

    async fn put(&self, key: &str, bytes: Bytes, mode: PutMode) -> object_store::Result<()> {
        let path = self.path(key);
        let options = PutOptions { mode, ..PutOptions::default() };
        let put = self.store.put_opts(&path, PutPayload::from_bytes(bytes), options);
        let written = tokio::time::timeout(OPERATION_TIMEOUT, put).await;
        let late = |source| object_store::Error::Generic { store: "S3", source: Box::new(source) };
        written.map_err(late)?.map(|_| ())
    }

    /// Reads an object of at most `limit` bytes.
    pub async fn read(&self, key: &str, limit: u64) -> Result<Bytes, BucketError> {
        let path = self.path(key);
        within(OPERATION_TIMEOUT, async {
            let found = self.store.get(&path).await;
            collect(key, found.map_err(|error| BucketError::of(key, &error))?, limit).await
        })
        .await
    }

    /// What is known of an object; `None` if there is none.
    pub async fn info(&self, key: &str) -> Result<Option<ObjectInfo>, BucketError> {
        let path = self.path(key);
        within(OPERATION_TIMEOUT, async {
            match self.store.head(&path).await {
                Ok(meta) => Ok(self.described(&meta)),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(BucketError::of(key, &error)),
            }
        })
        .await
    }

    /// Deletes an object, if there is one.
    pub async fn delete(&self, key: &str) -> Result<(), BucketError> {
        let path = self.path(key);
        within(OPERATION_TIMEOUT, async {
            match self.store.delete(&path).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(BucketError::of(key, &error)),
            }
        })
        .await
    }

    /// All objects in a folder.
    pub async fn list(&self, folder: &str) -> Result<Vec<ObjectInfo>, BucketError> {
        let path = self.path(folder);
        within(LIST_TIMEOUT, async {
            let listed: Result<Vec<ObjectMeta>, _> =
                self.store.list(Some(&path)).try_collect().await;
            let listed = listed.map_err(|error| BucketError::of(folder, &error))?;
            Ok(listed.iter().filter_map(|meta| self.described(meta)).collect())
        })
        .await
    }

    /// Whether the bucket answers and lets us read it: asks for an object that need not exist.
    pub async fn check(&self) -> Result<(), BucketError> {
        let path = self.path("prowess-check");
        within(CHECK_TIMEOUT, async {
            // A list also finds out that the bucket is missing, which a read of an object can't tell.
            match self.store.list(Some(&path)).try_next().await {
                Ok(_) => Ok(()),
                Err(error) => Err(BucketError::of(&self.url.bucket, &error)),
            }
        })
        .await
    }

    fn path(&self, key: &str) -> Path {
        if self.url.prefix.is_empty() {
            Path::from(key)
        } else {
            Path::from(format!("{}/{key}", self.url.prefix))
        }
    }

    fn described(&self, meta: &ObjectMeta) -> Option<ObjectInfo> {
        let mut key = meta.location.as_ref();
        if !self.url.prefix.is_empty() {
            key = key.strip_prefix(self.url.prefix.as_str())?.strip_prefix('/')?;
        }
        Some(ObjectInfo {
            key: key.to_owned(),
            size: meta.size,
            modified: meta.last_modified.into(),
        })
    }
}

/// Adds the settings where the environment says nothing.
fn with_settings(builder: AmazonS3Builder, settings: &BucketSettings) -> AmazonS3Builder {
    let has_endpoint = builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint).is_some();
    let has_key = builder.get_config_value(&AmazonS3ConfigKey::AccessKeyId).is_some();
    let values = [
        (AmazonS3ConfigKey::Endpoint, settings.endpoint.as_ref().filter(|_| !has_endpoint)),
        (AmazonS3ConfigKey::Region, settings.region.as_ref()),
        // A key consists of both; half of each would be refused far away.
        (AmazonS3ConfigKey::AccessKeyId, settings.access_key_id.as_ref().filter(|_| !has_key)),
        (
            AmazonS3ConfigKey::SecretAccessKey,
            settings.secret_access_key.as_ref().filter(|_| !has_key),
        ),
    ];
    values.into_iter().fold(builder, |builder, (key, value)| match value {
        Some(value) if builder.get_config_value(&key).is_none() => {
            builder.with_config(key, value.as_str())
        }
        _ => builder,
    })
}

/// An endpoint without TLS shows packages and their access to the network, so it has to be this machine or be asked for.
fn check_endpoint(endpoint: &str, allow_http: bool) -> Result<(), BucketError> {
    let invalid = || BucketError::Settings(format!("`{endpoint}` is not the address of a storage"));
    let url: url::Url = endpoint.parse().map_err(|_| invalid())?;
    let is_local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => return Err(invalid()),
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_local || allow_http => Ok(()),
        "http" => Err(BucketError::Settings(format!(
            "`{endpoint}` has no TLS; use `https://`, or set `AWS_ALLOW_HTTP=true` if the network is yours"
        ))),
        _ => Err(invalid()),
    }
}

async fn collect(
    key: &str,
    found: object_store::GetResult,
    limit: u64,
) -> Result<Bytes, BucketError> {
    let size = found.range.end.saturating_sub(found.range.start);
    if size > limit {
        return Err(BucketError::TooLarge { key: key.to_owned(), size, limit });
    }
    found.bytes().await.map_err(|error| BucketError::of(key, &error))
}

async fn within<T>(
    time: Duration,
    work: impl Future<Output = Result<T, BucketError>>,
) -> Result<T, BucketError> {
    tokio::time::timeout(time, work).await.unwrap_or(Err(BucketError::Timeout(time)))
}
