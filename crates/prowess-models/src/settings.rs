//! Which model is meant: the variables and the file put together, and a choice out of it.

use std::path::{Path, PathBuf};

use prowess_core::{ModelError, ModelErrorKind, Remedy};

use crate::config::{self, Config, ProviderConfig};

use crate::provider::{self, BUILT_IN, BuiltIn, Kind, Origin, Provider, Timeouts};
use prowess_settings::{CONFIG_FILE, KeySource, read_config, variable};

const MODEL_VARIABLE: &str = "PROWESS_MODEL";

/// Everything that is configured about models. It holds no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The model that is meant when nobody names one.
    pub model: Option<(String, Origin)>,
    /// All providers, the ones that everybody knows first.
    pub providers: Vec<Provider>,
    /// What nobody understood, worth a line for the user.
    pub notes: Vec<String>,
    /// Variables that are set and would make a provider usable.
    hinted: Vec<&'static str>,
    config_path: PathBuf,
}

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The provider.
    pub provider: Provider,
    /// The model's name there.
    pub model: String,
    /// Who chose it.
    pub origin: Origin,
}

impl Settings {
    /// Reads the file in the folder, which need not exist, and puts it together with the variables.
    pub fn load(variables: &[(String, String)], config_folder: &Path) -> Result<Self, ModelError> {
        let path = config_folder.join(CONFIG_FILE);
        let text = read_config(&path)
            .map_err(|why| not_configured(format!("cannot read `{}`: {why}", path.display())))?;
        Self::of(variables, text.as_deref(), config_folder)
    }

    /// The same from the text of the file.
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
            Some(model) => Some((model.to_owned(), Origin::Variable(MODEL_VARIABLE.to_owned()))),
            None => config.model.map(|model| (model, Origin::ConfigFile)),
        };
        let hinted = BUILT_IN.iter().filter(|known| {
            known.key_variable.is_some_and(|name| variable(variables, name).is_some())
        });
        Ok(Self {
            model,
            providers,
            notes: config.notes,
            hinted: hinted.map(|known| known.name).collect(),
            config_path,
        })
    }

    /// The model that is meant.
    pub fn choose(&self, wanted: Option<&str>) -> Result<Choice, ModelError> {
        let (text, origin) = match (wanted, &self.model) {
            (Some(wanted), _) => (wanted.trim(), Origin::Argument),
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
                .advice(format!("there are {}", names.join(", ")))
                .advice(format!(
                    "another one needs `[providers.{name}]` in `{}`",
                    self.config_path.display()
                )));
        };
        Ok(Choice { provider: provider.clone(), model: model.to_owned(), origin })
    }

    fn nothing_chosen(&self) -> ModelError {
        let example = self.hinted.first().copied().unwrap_or("ollama");
        let [first, second] = self.ways_to_choose(&format!("{example}/NAME"));
        not_configured("no model is chosen").remedy(first).remedy(second).remedy(Remedy::ListModels)
    }

    /// The ways to choose this model.
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
    /// A path in the file is relative to it, and may begin with `~/`.
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
            // The value is not repeated: people put keys into addresses.
            let url = url.map_err(|why| {
                not_configured(format!("`{name}` is no base URL: {why}"))
                    .advice("write it like `https://HOST/v1`")
            })?;
            (url, Origin::Variable(name.to_owned()))
        }
        (None, Some(text)) => (checked_url(known.name, text)?, Origin::ConfigFile),
        (None, None) => {
            let url = provider::base_url(known.base_url).expect("known addresses are addresses");
            (url, Origin::BuiltIn)
        }
    };
    let kind = said.kind.unwrap_or(known.kind);
    let url = match kind {
        Kind::Anthropic => anthropic_url(url),
        Kind::OpenAi => url,
    };
    let is_local = provider::is_loopback(&url);
    let key = match key_of(said, folders) {
        Some(key) => key,
        None => match known.key_variable {
            Some(name) => KeySource::Variable {
                name: name.to_owned(),
                // Another server in the place of the known one may want none.
                is_needed: !known.is_local && origin == Origin::BuiltIn,
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

/// A provider that the file says something about comes from the file, unless a variable gave its address.
fn said_by(origin: Origin) -> Origin {
    match origin {
        Origin::BuiltIn => Origin::ConfigFile,
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
            Kind::Anthropic => anthropic_url(url),
            Kind::OpenAi => url,
        },
        origin: Origin::ConfigFile,
        key: key_of(said, folders).unwrap_or(KeySource::None),
        is_local,
        timeouts: timeouts(said),
        omits_temperature: said.omits_temperature,
    })
}

fn checked_url(name: &str, text: &str) -> Result<url::Url, ModelError> {
    provider::base_url(text).map_err(|why| {
        not_configured(format!("`providers.{name}.base_url` in config.toml is none: {why}"))
            .advice("write it like `https://HOST/v1`")
    })
}

/// Programs of this dialect take the address without `/v1`, so both are right.
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
