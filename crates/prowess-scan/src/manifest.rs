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
    /// The variables that it says it needs.
    pub(crate) variables: Vec<String>,
    /// The tools of the agent that it asks for; `None` if it has no such field.
    pub(crate) allowed_tools: Option<Vec<String>>,
    /// The commands of its tools, each as written.
    pub(crate) commands: Vec<String>,
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
            variables: skill.requirements.env_vars.iter().map(|name| name.value.clone()).collect(),
            allowed_tools: has("allowed-tools")
                .then(|| skill.allowed_tools.iter().map(|tool| tool.value.clone()).collect()),
            commands: skill
                .tools
                .iter()
                .filter_map(|tool| tool.command.as_ref().map(|command| command.value.clone()))
                .collect(),
        }
    }
}
