//! What OpenClaw's registry says about a skill: the `_meta.json` beside it in the public archive.

use serde_json::Value;

/// The most bytes of a `_meta.json`; a long history of versions has some hundred kilobytes.
const MOST_BYTES: usize = 4 << 20;
/// The most characters of one of its values.
const MOST_CHARACTERS: usize = 200;

/// The registry's entry of a skill. A value that is missing, empty or not a text is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PublishedSkill {
    /// The account that published it.
    pub owner: Option<String>,
    /// Its name in the registry, which is the name of its directory in the archive.
    pub slug: Option<String>,
    /// The latest version.
    pub version: Option<String>,
}

impl PublishedSkill {
    /// Reads a `_meta.json`; `None` if it is not an object.
    ///
    /// The archive writes `latest.version`, the client of the registry `version`.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MOST_BYTES {
            return None;
        }
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let object = value.as_object()?;
        let text = |value: Option<&Value>| {
            let text = value?.as_str()?.trim();
            let fits = !text.is_empty() && text.chars().count() <= MOST_CHARACTERS;
            fits.then(|| text.to_owned())
        };
        let latest = object.get("latest").and_then(|latest| latest.get("version"));
        Some(Self {
            owner: text(object.get("owner").or_else(|| object.get("ownerHandle"))),
            slug: text(object.get("slug")),
            version: text(latest.or_else(|| object.get("version"))),
        })
    }
}
