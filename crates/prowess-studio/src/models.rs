//! Models of the studio: which ones users may choose, and what their tokens cost.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use prowess_core::{Model, ModelError, ModelErrorKind, Usage};
use prowess_engine::workflow::ModelLookup;
use prowess_models::ModelSettings;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Maximum number of models that stay open.
const MAX_OPEN: usize = 256;
/// Maximum length of a model's name.
const MAX_NAME: usize = 200;

/// What a million tokens cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Price {
    pub(crate) input: f64,
    pub(crate) output: f64,
}

impl Price {
    /// What a use costs.
    pub(crate) fn of(self, usage: Usage) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no run has 2^52 tokens")]
        let tokens = |number: u64| number as f64 / 1e6;
        tokens(usage.input) * self.input + tokens(usage.output) * self.output
    }
}

/// The list of models that administrators edit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ModelList {
    /// The model that runs use without a choice.
    #[serde(default)]
    pub(crate) default: Option<String>,
    /// The currency of the prices, as a code such as `USD`.
    #[serde(default)]
    pub(crate) currency: Option<String>,
    /// The models that users may choose. An empty list allows every model of every provider.
    #[serde(default)]
    pub(crate) models: Vec<ListedModel>,
}

/// A model in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ListedModel {
    /// `PROVIDER/NAME`.
    pub(crate) id: String,
    /// The price of a million tokens of input.
    #[serde(default)]
    pub(crate) input_price: Option<f64>,
    /// The price of a million tokens of output.
    #[serde(default)]
    pub(crate) output_price: Option<f64>,
}

/// The models of this machine.
#[derive(Clone)]
pub(crate) struct Models {
    inner: Arc<Inner>,
}

struct Inner {
    environment: Vec<(String, String)>,
    config: PathBuf,
    open: Mutex<HashMap<String, Arc<dyn Model>>>,
    list: Mutex<ModelList>,
}

impl Models {
    pub(crate) fn new(environment: Vec<(String, String)>, config: PathBuf) -> Self {
        let inner = Inner { environment, config, open: Mutex::default(), list: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// The list as it is now.
    pub(crate) fn list(&self) -> ModelList {
        self.inner.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the list.
    pub(crate) fn set_list(&self, list: ModelList) {
        *self.inner.list.lock().unwrap_or_else(PoisonError::into_inner) = list;
    }

    /// The settings of the machine.
    pub(crate) fn settings(&self) -> Result<ModelSettings, ModelError> {
        ModelSettings::load(&self.inner.environment, &self.inner.config)
    }

    /// Whether a provider's key is there, where it needs one.
    pub(crate) fn has_key(&self, provider: &prowess_models::Provider) -> bool {
        provider.has_key(&self.inner.environment).unwrap_or(false)
    }

    pub(crate) fn environment(&self) -> &[(String, String)] {
        &self.inner.environment
    }

    /// The price of a model, if it is known.
    pub(crate) fn price(&self, id: &str) -> Option<Price> {
        let list = self.list();
        let listed = list.models.iter().find(|listed| listed.id == id)?;
        Some(Price { input: listed.input_price?, output: listed.output_price? })
    }

    /// The name of the model that a choice means.
    pub(crate) fn name_of(&self, wanted: Option<&str>) -> Option<String> {
        let default = || self.list().default;
        let configured = || self.settings().ok()?.model.map(|(name, _)| name);
        wanted.map(str::to_owned).or_else(default).or_else(configured)
    }

    /// Opens a model that users may choose.
    pub(crate) fn open(&self, wanted: Option<&str>) -> Result<Arc<dyn Model>, ModelError> {
        let list = self.list();
        if let Some(name) = wanted {
            let is_listed = list.models.is_empty()
                || list.default.as_deref() == Some(name)
                || list.models.iter().any(|listed| listed.id == name);
            if !is_listed || name.len() > MAX_NAME {
                let shown = prowess_format::text::shorten(name, 100);
                return Err(ModelError::new(
                    ModelErrorKind::NotConfigured,
                    format!("`{shown}` is not among the models of this studio"),
                ));
            }
        }
        let name = wanted.map(str::to_owned).or(list.default);
        let key = name.clone().unwrap_or_default();
        let mut open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = open.get(&key) {
            return Ok(Arc::clone(model));
        }
        let model =
            prowess_models::choose(name.as_deref(), &self.inner.environment, &self.inner.config)?;
        let model: Arc<dyn Model> = Arc::from(model);
        // Users name models freely where no list says which.
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        open.insert(key, Arc::clone(&model));
        Ok(model)
    }
}

impl ModelLookup for Models {
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn Model>, ModelError> {
        self.open(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_models_can_be_chosen() {
        let models = Models::new(Vec::new(), PathBuf::from("/nonexistent"));
        let listed = |id: &str| ListedModel {
            id: id.to_owned(),
            input_price: Some(2.0),
            output_price: Some(8.0),
        };
        models.set_list(ModelList { models: vec![listed("ollama/a")], ..ModelList::default() });
        assert!(models.open(Some("ollama/a")).is_ok());
        let Err(error) = models.open(Some("ollama/b")) else { panic!("it is not listed") };
        assert_eq!(error.message, "`ollama/b` is not among the models of this studio");
        let price = models.price("ollama/a").expect("a price");
        let cost = price.of(Usage { input: 500_000, output: 250_000 });
        assert!((cost - 3.0).abs() < 1e-9, "{cost}");
        assert_eq!(models.price("ollama/b"), None);
    }
}
