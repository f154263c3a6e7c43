//! The tools of loaded skills by name (GAIA §5.2, R45).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess_format::skill::{Parameter, Skill, Tool};

/// A tool of a loaded skill.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredTool {
    /// The short name for models.
    pub name: String,
    /// The skill.
    pub skill: String,
    /// The version of the skill, if it has one.
    pub skill_version: Option<String>,
    /// The skill's folder.
    pub directory: PathBuf,
    /// What it does.
    pub description: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Whether it is a single step that needs no plan.
    pub atomic: bool,
}

impl RegisteredTool {
    /// The key, `<skill>/<tool>`.
    pub fn qualified_name(&self) -> String {
        format!("{}/{}", self.skill, self.name)
    }

    /// The name for MCP, `<skill>__<tool>`: names there contain no slash.
    pub fn mcp_name(&self) -> String {
        format!("{}__{}", self.skill, self.name)
    }
}

/// The error for two skills of the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a skill `{skill}` is already loaded from `{}`", .directory.display())]
pub struct DuplicateSkillError {
    /// The name.
    pub skill: String,
    /// The folder of the other one.
    pub directory: PathBuf,
}

/// The tools of loaded skills.
#[derive(Clone, Debug, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, RegisteredTool>,
}

impl ToolRegistry {
    /// Adds the tools of a skill, or replaces those of an earlier version in the same folder, atomically.
    pub fn register<'t>(
        &mut self,
        skill: &Skill,
        name: &str,
        directory: &Path,
        tools: impl IntoIterator<Item = &'t Tool>,
    ) -> Result<Vec<String>, DuplicateSkillError> {
        let version = skill.version.as_ref().map(|version| version.as_str());
        self.register_inline(name, version, directory, tools)
    }

    /// Adds tools that belong to no skill: those that an agent's manifest declares (GAIA §9.3) are registered under the
    /// agent's name.
    pub fn register_inline<'t>(
        &mut self,
        name: &str,
        version: Option<&str>,
        directory: &Path,
        tools: impl IntoIterator<Item = &'t Tool>,
    ) -> Result<Vec<String>, DuplicateSkillError> {
        let other = self.tools.values().find(|it| it.skill == name && it.directory != directory);
        if let Some(other) = other {
            return Err(DuplicateSkillError {
                skill: name.to_owned(),
                directory: other.directory.clone(),
            });
        }
        self.remove(name);
        let mut keys = Vec::new();
        for tool in tools {
            let tool = RegisteredTool {
                name: tool.name.value.clone(),
                skill: name.to_owned(),
                skill_version: version.map(str::to_owned),
                directory: directory.to_owned(),
                description: tool.description.clone(),
                parameters: tool.parameters.clone(),
                atomic: tool.atomic.unwrap_or(false),
            };
            keys.push(tool.qualified_name());
            self.tools.insert(tool.qualified_name(), tool);
        }
        Ok(keys)
    }

    /// Removes the tools of a skill; returns their number.
    pub fn remove(&mut self, skill: &str) -> usize {
        let before = self.tools.len();
        self.tools.retain(|_, tool| tool.skill != skill);
        before - self.tools.len()
    }

    /// All tools by their qualified names.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &RegisteredTool)> {
        self.tools.iter().map(|(key, tool)| (key.as_str(), tool))
    }

    /// The names for models: the short name of each tool, or its qualified name if two collide.
    pub fn short_names(&self) -> BTreeMap<&str, &RegisteredTool> {
        self.tools
            .iter()
            .map(|(key, tool)| {
                let alone = self.called(&tool.name).nth(1).is_none();
                (if alone { tool.name.as_str() } else { key.as_str() }, tool)
            })
            .collect()
    }

    /// Finds a tool by its qualified name, or by a unique short name.
    pub fn resolve(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.get(name).or_else(|| {
            let mut called = self.called(name);
            called.next().filter(|_| called.next().is_none())
        })
    }

    fn called<'r>(&'r self, name: &str) -> impl Iterator<Item = &'r RegisteredTool> {
        self.tools.values().filter(move |tool| tool.name == name)
    }
}

#[cfg(test)]
mod tests {
    use prowess_format::{ReadOptions, check};

    use super::*;

    fn register(
        registry: &mut ToolRegistry,
        skill: &str,
        tools: &[&str],
    ) -> Result<(), DuplicateSkillError> {
        register_at(registry, skill, &format!("/skills/{skill}"), tools)
    }

    fn register_at(
        registry: &mut ToolRegistry,
        skill: &str,
        directory: &str,
        tools: &[&str],
    ) -> Result<(), DuplicateSkillError> {
        let list: Vec<String> =
            tools.iter().map(|tool| format!("  - name: {tool}\n    description: d\n")).collect();
        let list = list.concat();
        let text = format!(
            "---\nname: {skill}\nversion: 1.2.3\ndescription: d\nauthor: a\nlicense: MIT\npermissions: [filesystem:none]\nsecurity_tier: experimental\ntools:\n{list}---\nBody\n"
        );
        let skill_read = check(&text, ReadOptions::DETECT).skill;
        registry.register(&skill_read, skill, Path::new(directory), &skill_read.tools).map(|_| ())
    }

    fn shown(registry: &ToolRegistry) -> Vec<(&str, String)> {
        let names = registry.short_names();
        names.into_iter().map(|(name, tool)| (name, tool.qualified_name())).collect()
    }

    #[test]
    fn two_skills_may_have_a_tool_of_one_name() {
        // GAIA-5.2-1
        let mut registry = ToolRegistry::default();
        register(&mut registry, "web-search", &["search_web", "fetch"]).expect("it is the first");
        let alone = [("fetch", "web-search/fetch"), ("search_web", "web-search/search_web")];
        assert_eq!(shown(&registry), alone.map(|(short, key)| (short, key.to_owned())));
        register(&mut registry, "other-search", &["search_web"]).expect("another name");
        let keys: Vec<&str> = registry.tools().map(|(key, _)| key).collect();
        assert_eq!(keys, ["other-search/search_web", "web-search/fetch", "web-search/search_web"]);
        // R45: the short name, unless two collide.
        let names: Vec<&str> = registry.short_names().into_keys().collect();
        assert_eq!(names, ["fetch", "other-search/search_web", "web-search/search_web"]);
        assert_eq!(registry.resolve("search_web"), None);
        assert_eq!(registry.resolve("fetch").expect("only one").skill, "web-search");
        let other = registry.resolve("other-search/search_web").expect("it is there");
        assert_eq!(
            (other.name.as_str(), other.mcp_name().as_str()),
            ("search_web", "other-search__search_web")
        );
        assert_eq!(other.skill_version.as_deref(), Some("1.2.3"));
        assert_eq!(registry.remove("web-search"), 2);
        assert_eq!(registry.resolve("search_web").expect("alone again").skill, "other-search");
    }

    #[test]
    fn a_skill_replaces_itself_and_nobody_else() {
        let mut registry = ToolRegistry::default();
        register(&mut registry, "a", &["x", "y"]).expect("it is the first");
        register(&mut registry, "a", &["x", "z"]).expect("the same folder");
        let names: Vec<&str> = registry.short_names().into_keys().collect();
        assert_eq!(names, ["x", "z"]);
        let taken = register_at(&mut registry, "a", "/elsewhere/a", &["w"]);
        assert_eq!(
            taken.expect_err("another folder").to_string(),
            "a skill `a` is already loaded from `/skills/a`"
        );
        assert_eq!(registry.tools().count(), 2);
    }
}
