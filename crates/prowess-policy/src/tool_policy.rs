//! Policy records, one per tool (GIB §7.3).

use prowess_format::skill::Skill;

/// The source of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolSource {
    /// A skill by name.
    Skill(String),
}

/// The policy record of a tool, for hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPolicy {
    /// The tool.
    pub name: String,
    /// May run without approval.
    pub read_only: bool,
    /// Asks even when read-only.
    pub always_ask: bool,
    /// The source.
    pub source: ToolSource,
}

/// The policy records of a skill's tools; `name` is the effective name (R3).
pub fn tool_policies(skill: &Skill, name: &str) -> Vec<ToolPolicy> {
    let read_only = skill.read_only.as_ref().is_some_and(|flag| flag.value);
    let always_ask = skill.always_ask.as_ref().is_some_and(|flag| flag.value);
    let record = |tool: &prowess_format::skill::Tool| ToolPolicy {
        name: tool.name.value.clone(),
        read_only,
        always_ask,
        source: ToolSource::Skill(name.to_owned()),
    };
    skill.tools.iter().map(record).collect()
}
