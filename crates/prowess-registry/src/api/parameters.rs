//! Parts of addresses and queries, checked.

use prowess_server::problem::{ProblemDocument, invalid_input};
use semver::Version;

use crate::error::RegistryError;
use crate::names::SkillId;

/// Maximum number of values of one parameter.
const MAX_VALUES: usize = 32;
/// Maximum length of a value, in bytes.
const MAX_VALUE_BYTES: usize = 300;

/// A skill in an address. What can't be a name does not exist: no query is needed to say so.
pub(super) fn skill(namespace: &str, name: &str) -> Result<SkillId, ProblemDocument> {
    let namespace = namespace.strip_prefix('@').unwrap_or(namespace);
    SkillId::new(namespace, name).map_err(|_| RegistryError::no_skill().into())
}

/// A version in an address.
pub(super) fn version(text: &str) -> Result<Version, ProblemDocument> {
    text.parse().map_err(|_| RegistryError::no_version().into())
}

/// A skill and a version.
pub(super) fn skill_version(
    (namespace, name, text): &(String, String, String),
) -> Result<(SkillId, Version), ProblemDocument> {
    Ok((skill(namespace, name)?, version(text)?))
}

/// The parameters of a query. A name can occur several times, and a value can be a list with commas.
pub(super) struct QueryParameters(Vec<(String, String)>);

impl QueryParameters {
    pub(super) fn parse(query: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn list(&self, name: &str) -> Result<Vec<String>, ProblemDocument> {
        let values = self.0.iter().filter(|(known, _)| known == name);
        let values = values.flat_map(|(_, value)| value.split(',')).map(str::trim);
        let values: Vec<String> =
            values.filter(|value| !value.is_empty()).map(str::to_owned).collect();
        if values.len() > MAX_VALUES || values.iter().any(|value| value.len() > MAX_VALUE_BYTES) {
            let message = format!(
                "`{name}` has at most {MAX_VALUES} values of at most {MAX_VALUE_BYTES} bytes"
            );
            return Err(invalid_input("invalid-parameter", message));
        }
        Ok(values)
    }

    /// A number within bounds (attack registry-D8).
    pub(super) fn number(
        &self,
        name: &str,
        usual: usize,
        least: usize,
        most: usize,
    ) -> Result<usize, ProblemDocument> {
        let Some(text) = self.text(name) else { return Ok(usual) };
        match text.parse::<usize>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => {
                let message = format!("`{name}` is a whole number from {least} to {most}");
                Err(invalid_input("invalid-parameter", message))
            }
        }
    }
}
