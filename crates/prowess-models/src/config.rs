//! The part of `config.toml` about models.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::{Table, Value};

use crate::provider::ProviderKind;
use prowess_settings::parse_config;

/// The settings of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) model: Option<String>,
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
}

/// The settings of a provider in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderConfig {
    pub(crate) kind: Option<ProviderKind>,
    pub(crate) base_url: Option<String>,
    pub(crate) key_env: Option<String>,
    pub(crate) key_file: Option<String>,
    pub(crate) connect: Option<Duration>,
    pub(crate) first_token: Option<Duration>,
    pub(crate) stall: Option<Duration>,
    pub(crate) omits_temperature: bool,
}

/// Maximum timeout in seconds: a day.
const LONGEST: i64 = 86_400;

/// Parses the text of the file; the error is a phrase. Settings that are not about models are ignored.
pub(crate) fn read(text: &str) -> Result<Config, String> {
    let table = parse_config(text)?;
    let mut config = Config::default();
    if let Some(model) = table.get("model") {
        config.model = Some(string("model", model)?);
    }
    let Some(providers) = table.get("providers") else { return Ok(config) };
    let providers =
        providers.as_table().ok_or("`providers` must be a table such as `[providers.work]`")?;
    for (name, fields) in providers {
        let place = format!("providers.{name}");
        if name.is_empty() || name.contains('/') {
            return Err(format!("`{place}`: the name of a provider can't contain `/`"));
        }
        let fields = fields.as_table().ok_or_else(|| format!("`{place}` must be a table"))?;
        let provider = provider(&place, fields)?;
        config.providers.insert(name.clone(), provider);
    }
    Ok(config)
}

fn provider(place: &str, fields: &Table) -> Result<ProviderConfig, String> {
    let mut provider = ProviderConfig::default();
    for (name, value) in fields {
        let place = format!("{place}.{name}");
        match name.as_str() {
            "kind" => {
                provider.kind = Some(match string(&place, value)?.as_str() {
                    "openai" => ProviderKind::OpenAi,
                    "anthropic" => ProviderKind::Anthropic,
                    other => {
                        return Err(format!(
                            "`{place}` is `{other}`, expected `openai` or `anthropic`"
                        ));
                    }
                });
            }
            "base_url" => provider.base_url = Some(string(&place, value)?),
            "key_env" => provider.key_env = Some(string(&place, value)?),
            "key_file" => provider.key_file = Some(string(&place, value)?),
            "key" | "api_key" | "token" => {
                return Err(format!(
                    "`{place}`: keys don't belong in this file, use `key_env` or `key_file`"
                ));
            }
            "connect_timeout_secs" => provider.connect = Some(seconds(&place, value)?),
            "first_token_timeout_secs" => provider.first_token = Some(seconds(&place, value)?),
            "stall_timeout_secs" => provider.stall = Some(seconds(&place, value)?),
            "omit" => {
                let list = value.as_array().ok_or_else(|| format!("`{place}` must be a list"))?;
                for entry in list {
                    match string(&place, entry)?.as_str() {
                        "temperature" => provider.omits_temperature = true,
                        other => {
                            return Err(format!(
                                "`{place}` lists `{other}`, but only `temperature` can be omitted"
                            ));
                        }
                    }
                }
            }
            _ => return Err(format!("`{place}` is not a setting")),
        }
    }
    if provider.key_env.is_some() && provider.key_file.is_some() {
        return Err(format!("`{place}` has both `key_env` and `key_file`: choose one"));
    }
    Ok(provider)
}

fn string(place: &str, value: &Value) -> Result<String, String> {
    let text = value.as_str().ok_or_else(|| format!("`{place}` must be a string"))?;
    Ok(text.trim().to_owned())
}

fn seconds(place: &str, value: &Value) -> Result<Duration, String> {
    let number = value.as_integer().filter(|seconds| (1..=LONGEST).contains(seconds));
    let number = number.and_then(|seconds| u64::try_from(seconds).ok());
    number
        .map(Duration::from_secs)
        .ok_or_else(|| format!("`{place}` must be a number of seconds from 1 to {LONGEST}"))
}
