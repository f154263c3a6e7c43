//! What a skill says about itself: its description, its permissions, the tools it asks for.

use std::borrow::Cow;

use prowess_format::document::Form;
use prowess_format::permission::Permission;
use prowess_format::read_bytes;

/// What the main file declares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    /// The name.
    pub(crate) name: Option<String>,
    /// The description, in lower case.
    pub(crate) description: String,
    /// The permissions; `None` if it has no such field.
    pub(crate) permissions: Option<Vec<Permission>>,
}

impl Manifest {
    /// Reads the main file.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut text = Cow::Borrowed("");
        let checked = read_bytes(bytes, &mut text, Form::Markdown);
        let skill = &checked.skill;
        let has = |key: &str| checked.document.root.entries.iter().any(|entry| &*entry.key == key);
        Self {
            name: skill.name.as_ref().map(|name| name.value.clone()),
            description: skill
                .description
                .as_ref()
                .map(|text| text.value.to_lowercase())
                .unwrap_or_default(),
            permissions: (has("permissions") || !skill.permissions.is_empty()).then(|| {
                skill.permissions.iter().map(|permission| permission.value.clone()).collect()
            }),
        }
    }
}
