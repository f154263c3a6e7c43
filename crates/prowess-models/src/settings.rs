//! Settings about models: environment variables and `config.toml` combined, and the choice of a model.

use std::path::{Path, PathBuf};

use prowess_core::{ModelError, ModelErrorKind, Remedy};

use crate::config::{self, Config, ProviderConfig};

use crate::provider::{self, BUILT_IN, BuiltIn, Provider, ProviderKind, SettingOrigin, Timeouts};
use prowess_settings::{CONFIG_FILE, KeySource, read_config, variable};

const MODEL_VARIABLE: &str = "PROWESS_MODEL";

/// All settings about models. It contains no keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSettings {
    /// The default model.
    pub model: Option<(String, SettingOrigin)>,
    /// All providers, built-in ones first.
    pub providers: Vec<Provider>,
    /// Environment variables that are set and make a provider usable.
    hinted: Vec<&'static str>,
    config_path: PathBuf,
}

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// The provider.
    pub provider: Provider,
    /// The name of the model at the provider.
    pub model: String,
    /// The origin of the choice.
    pub origin: SettingOrigin,
}

impl ModelSettings {
    /// Reads the file in the folder, if it exists, and combines it with the variables.
    pub fn load(variables: &[(String, String)], config_folder: &Path) -> Result<Self, ModelError> {
        let path = config_folder.join(CONFIG_FILE);
        let text = read_config(&path)
            .map_err(|why| not_configured(format!("cannot read `{}`: {why}", path.display())))?;
        Self::of(variables, text.as_deref(), config_folder)
    }

    /// Combines the text of the file with the variables.
    pub fn of(
        variables: &[(String, String)],
        config: Option<&str>,
        config_folder: &Path,
    ) -> Result<Self, ModelError> {
        let config_path = config_folder.join(CONFIG_FILE);
        let mut config = match config {
            None => Config::default(),
            Some(text) => config::read(text).map_err(|why| {
                not_configured(format!("`{}` is not valid: {why}", config_path.display()))
                    .advice("the guide on models lists the supported values")
            })?,
        };
        let folders = Folders { config: config_folder, home: variable(variables, "HOME") };
        let mut providers = Vec::new();
        for known in &BUILT_IN {
            let said = config.providers.remove(known.name).unwrap_or_default();
            providers.push(built_in(known, &said, variables, &folders)?);
        }
        for (name, said) in &config.providers {
            providers.push(own(name, said, &folders)?);
        }
        let model = match variable(variables, MODEL_VARIABLE) {
            Some(model) => {
                Some((model.to_owned(), SettingOrigin::Variable(MODEL_VARIABLE.to_owned())))
            }
            None => config.model.map(|model| (model, SettingOrigin::ConfigFile)),
        };
        let hinted = BUILT_IN.iter().filter(|known| {
            known.key_variable.is_some_and(|name| variable(variables, name).is_some())
        });
        Ok(Self { model, providers, hinted: hinted.map(|known| known.name).collect(), config_path })
    }

    /// Chooses a model.
    pub fn choose(&self, wanted: Option<&str>) -> Result<ModelChoice, ModelError> {
        let (text, origin) = match (wanted, &self.model) {
            (Some(wanted), _) => (wanted.trim(), SettingOrigin::Argument),
            (None, Some((model, origin))) => (model.as_str(), origin.clone()),
            (None, None) => return Err(self.nothing_chosen()),
        };
        let Some((name, model)) =
            text.split_once('/').filter(|(name, model)| !name.is_empty() && !model.is_empty())
        else {
            let mut error = not_configured(format!("`{text}` ({origin}) does not name a model"))
                .advice("write the provider before the name: `PROVIDER/NAME`");
            if self.providers.iter().any(|known| known.is_local && known.name == text) {
                error = error.remedy(Remedy::ListModels);
            }
            return Err(error);
        };
        let Some(provider) = self.providers.iter().find(|known| known.name == name) else {
            let names: Vec<&str> = self.providers.iter().map(|known| known.name.as_str()).collect();
            return Err(not_configured(format!("`{name}` ({origin}) is not a provider"))
                .advice(format!("available: {}", names.join(", ")))
                .advice(format!(
                    "to add it, write `[providers.{name}]` into `{}`",
                    self.config_path.display()
                )));
        };
        Ok(ModelChoice { provider: provider.clone(), model: model.to_owned(), origin })
    }

    fn nothing_chosen(&self) -> ModelError {
        let example = self.hinted.first().copied().unwrap_or("ollama");
        let [first, second] = self.ways_to_choose(&format!("{example}/NAME"));
        not_configured("no model is chosen").remedy(first).remedy(second).remedy(Remedy::ListModels)
    }

    /// Remedies that choose this model.
    pub fn ways_to_choose(&self, model: &str) -> [Remedy; 2] {
        let path = self.config_path.display();
        [
            Remedy::ChooseModel(model.to_owned()),
            Remedy::Advice(format!("or write `model = \"{model}\"` into `{path}`")),
        ]
    }
}

struct Folders<'f> {
    config: &'f Path,
    home: Option<&'f str>,
}

impl Folders<'_> {
    /// Resolves a path of the file: relative to the file, or to the home folder if it begins with `~/`.
    fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            _ => self.config.join(text),
        }
    }
}

fn built_in(
    known: &BuiltIn,
    said: &ProviderConfig,
    variables: &[(String, String)],
    folders: &Folders<'_>,
) -> Result<Provider, ModelError> {
    let from_variable =
        known.url_variable.and_then(|name| Some((name, variable(variables, name)?)));
    let (url, origin) = match (from_variable, &said.base_url) {
        (Some((name, text)), _) => {
            let url = if name == "OLLAMA_HOST" {
                provider::ollama_host(text)
            } else {
                provider::base_url(text)
            };
            // The value is not quoted: it may contain a key.
            let url = url.map_err(|why| {
                not_configured(format!("`{name}` is not a valid base URL: {why}"))
                    .advice("write it like `https://HOST/v1`")
            })?;
            (url, SettingOrigin::Variable(name.to_owned()))
        }
        (None, Some(text)) => (checked_url(known.name, text)?, SettingOrigin::ConfigFile),
        (None, None) => {
            let url = provider::base_url(known.base_url).expect("known addresses are addresses");
            (url, SettingOrigin::BuiltIn)
        }
    };
    let kind = said.kind.unwrap_or(known.kind);
    let url = match kind {
        ProviderKind::Anthropic => anthropic_url(url),
        ProviderKind::OpenAi => url,
    };
    let is_local = provider::is_loopback(&url);
    let key = match key_of(said, folders) {
        Some(key) => key,
        None => match known.key_variable {
            Some(name) => KeySource::Variable {
                name: name.to_owned(),
                // Another server at this URL may not require a key.
                is_needed: !known.is_local && origin == SettingOrigin::BuiltIn,
            },
            None => KeySource::None,
        },
    };
    Ok(Provider {
        name: known.name.to_owned(),
        kind,
        base_url: url,
        origin: if *said == ProviderConfig::default() { origin } else { said_by(origin) },
        key,
        is_local: known.is_local || is_local,
        timeouts: timeouts(said),
        omits_temperature: said.omits_temperature,
    })
}

/// The origin of a provider that the file configures: the file, unless a variable sets its URL.
fn said_by(origin: SettingOrigin) -> SettingOrigin {
    match origin {
        SettingOrigin::BuiltIn => SettingOrigin::ConfigFile,
        other => other,
    }
}

fn own(name: &str, said: &ProviderConfig, folders: &Folders<'_>) -> Result<Provider, ModelError> {
    let missing = |field: &str, example: &str| {
        not_configured(format!("`providers.{name}` in config.toml has no `{field}`"))
            .advice(format!("add `{field} = \"{example}\"`"))
    };
    let text = said.base_url.as_deref();
    let url = checked_url(name, text.ok_or_else(|| missing("base_url", "http://HOST:PORT/v1"))?)?;
    let kind = said.kind.ok_or_else(|| missing("kind", "openai"))?;
    let is_local = provider::is_loopback(&url);
    Ok(Provider {
        name: name.to_owned(),
        kind,
        base_url: match kind {
            ProviderKind::Anthropic => anthropic_url(url),
            ProviderKind::OpenAi => url,
        },
        origin: SettingOrigin::ConfigFile,
        key: key_of(said, folders).unwrap_or(KeySource::None),
        is_local,
        timeouts: timeouts(said),
        omits_temperature: said.omits_temperature,
    })
}

fn checked_url(name: &str, text: &str) -> Result<url::Url, ModelError> {
    provider::base_url(text).map_err(|why| {
        not_configured(format!(
            "`providers.{name}.base_url` in config.toml is not a valid URL: {why}"
        ))
        .advice("write it like `https://HOST/v1`")
    })
}

/// Adds `/v1`: programs for this API take the URL without it, so both forms are accepted.
fn anthropic_url(mut url: url::Url) -> url::Url {
    if !url.path().ends_with("/v1") {
        let path = format!("{}/v1", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    url
}

fn key_of(said: &ProviderConfig, folders: &Folders<'_>) -> Option<KeySource> {
    let variable = said.key_env.as_ref();
    let variable = variable.map(|name| KeySource::Variable { name: name.clone(), is_needed: true });
    variable.or_else(|| said.key_file.as_ref().map(|text| KeySource::File(folders.path(text))))
}

fn timeouts(said: &ProviderConfig) -> Timeouts {
    Timeouts {
        connect: said.connect.unwrap_or(Timeouts::USUAL.connect),
        first_token: said.first_token.unwrap_or(Timeouts::USUAL.first_token),
        stall: said.stall.unwrap_or(Timeouts::USUAL.stall),
    }
}

fn not_configured(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::NotConfigured, message)
}

#[cfg(test)]
mod tests;
