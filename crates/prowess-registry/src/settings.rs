//! Settings of a registry, from `registry.toml`.

use std::fmt;

use serde::Deserialize;

/// What an administrator can change. Unknown settings are errors: a misspelt limit must not be no limit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RegistrySettings {
    /// The address under which clients reach the registry, for links and `.well-known`.
    pub public_url: Option<String>,
    /// The name that pages show.
    pub title: String,
    /// The skill of `.well-known/skills/default/skill.md`, as `namespace/name`; the most downloaded one otherwise.
    pub default_skill: Option<String>,
    /// Whether everybody may make an account.
    pub open_registration: bool,
    /// How many new names a user may publish within `new_name_seconds`.
    pub new_names: u32,
    /// The length of that time.
    pub new_name_seconds: u32,
    /// For how long the name of a deleted skill stays with its publisher, in seconds.
    pub cool_down_seconds: i64,
    /// Skills with so many downloads are protected against similar names.
    pub popular_downloads: i64,
    /// Accounts younger than this have no weight in ratings.
    pub new_account_seconds: i64,
    /// Skills of accounts younger than this are held for review; 0 holds none.
    pub hold_account_seconds: i64,
    /// The issuers whose CI runs may publish without a stored token, such as `https://gitlab.example`.
    pub trusted_issuers: Vec<String>,
    /// For how long an index is valid, in seconds.
    pub index_seconds: i64,
    /// The registry that this one mirrors, such as `https://skills.example`.
    pub upstream: Option<String>,
    /// For how long what the mirrored registry said counts, in seconds. A revocation there is followed within this time.
    pub upstream_seconds: u32,
    /// For how long a node may work on a publication before another takes it over, in seconds.
    pub job_seconds: u32,
    /// The storage of packages, such as `s3://skills`; the data folder otherwise.
    pub storage: Option<String>,
    /// How the bucket of the storage is reached.
    pub s3: S3Settings,
}

/// How a bucket is reached. The usual `AWS_…` variables win.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct S3Settings {
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
impl fmt::Debug for S3Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("S3Settings")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("allow_http", &self.allow_http)
            .finish_non_exhaustive()
    }
}

impl Default for RegistrySettings {
    fn default() -> Self {
        const DAY: i64 = 86_400;
        Self {
            public_url: None,
            default_skill: None,
            title: "Prowess registry".to_owned(),
            open_registration: false,
            new_names: 5,
            new_name_seconds: 600,
            cool_down_seconds: 30 * DAY,
            popular_downloads: 10,
            new_account_seconds: 0,
            hold_account_seconds: 0,
            trusted_issuers: Vec::new(),
            index_seconds: 7 * DAY,
            upstream: None,
            upstream_seconds: 10,
            job_seconds: 120,
            storage: None,
            s3: S3Settings::default(),
        }
    }
}

/// A file that is not valid.
#[derive(Debug, thiserror::Error)]
#[error("`registry.toml` is not valid: {0}")]
pub struct SettingsError(String);

impl RegistrySettings {
    /// Reads the text of `registry.toml`.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        toml::from_str(text).map_err(|error| SettingsError(error.message().to_owned()))
    }
}
