//! Models by name, each opened once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use prowess_core::{Model, ModelError};

/// Models that have been opened, by the name they were asked for; `None` is the configured one.
pub struct ModelCache {
    environment: Vec<(String, String)>,
    config: PathBuf,
    opened: Mutex<HashMap<Option<String>, Arc<dyn Model>>>,
}

impl std::fmt::Debug for ModelCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelCache").finish_non_exhaustive()
    }
}

impl ModelCache {
    /// A cache over variables and the folder with settings.
    pub fn new(environment: Vec<(String, String)>, config: PathBuf) -> Self {
        Self { environment, config, opened: Mutex::default() }
    }

    /// The model of a name such as `provider/name`; without one the configured model.
    pub fn open(&self, name: Option<&str>) -> Result<Arc<dyn Model>, ModelError> {
        let key = name.map(str::to_owned);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = opened.get(&key) {
            return Ok(Arc::clone(model));
        }
        let model: Arc<dyn Model> =
            Arc::from(prowess_models::choose(name, &self.environment, &self.config)?);
        opened.insert(key, Arc::clone(&model));
        Ok(model)
    }
}
