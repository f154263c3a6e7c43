//! Settings that administrators change while the studio runs.

use std::sync::{Arc, PoisonError, RwLock};

use prowess_server::database::{Database, DatabaseError, values};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::models::ModelList;

const NAME: &str = "studio";

/// The settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct StoredSettings {
    #[serde(default)]
    pub(crate) models: ModelList,
    /// Tokens that a user may use per day; no limit when absent.
    #[serde(default)]
    pub(crate) tokens_per_day: Option<i64>,
}

/// The settings in the database.
#[derive(Clone)]
pub(crate) struct Settings {
    database: Database,
    cached: Arc<RwLock<StoredSettings>>,
}

impl Settings {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, cached: Arc::default() }
    }

    /// The settings as this server knows them. Another server's change is noticed by [`read`](Self::read).
    pub(crate) fn cached(&self) -> StoredSettings {
        self.cached.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn remember(&self, settings: StoredSettings) {
        *self.cached.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    pub(crate) fn read_blocking(&self) -> Result<StoredSettings, DatabaseError> {
        self.database.read_blocking(|connection| {
            let sql = "SELECT value FROM studio_settings WHERE name = ?1";
            let row = connection.query_optional(sql, &values![NAME])?;
            row.map_or(Ok(StoredSettings::default()), |row| Ok(parse(&row.get::<String>("value")?)))
        })
    }

    pub(crate) async fn read(&self) -> Result<StoredSettings, DatabaseError> {
        let settings = self.clone();
        tokio::task::spawn_blocking(move || settings.read_blocking())
            .await
            .unwrap_or(Err(DatabaseError::Closed))
    }

    pub(crate) async fn write(&self, settings: &StoredSettings) -> Result<(), DatabaseError> {
        let text = serde_json::to_string(settings).expect("settings are JSON");
        self.database
            .write(move |transaction| {
                let sql = "INSERT INTO studio_settings (name, value) VALUES (?1, ?2) \
                           ON CONFLICT (name) DO UPDATE SET value = excluded.value";
                transaction.execute(sql, &values![NAME, text.clone()])?;
                Ok(())
            })
            .await
    }
}

/// Settings of another version keep what is still known.
fn parse(text: &str) -> StoredSettings {
    serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::error!(%error, "the settings in the database are not valid, the usual ones are used");
        StoredSettings::default()
    })
}
