//! What a registry stores about a version: the facts of its files, read once when it is published.
//!
//! They are untrusted text of bounded length. Nothing in them raises trust: tier and badge are columns of their own.

use std::collections::BTreeSet;

use prowess_capabilities::{Capability, SkillFile, of_files};
use prowess_format::dialect::Dialect;
use prowess_format::skill::{Parameter, Skill, Tool};
use prowess_package::tree::Tree;
use prowess_policy::grants;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum length of a description (R1).
pub const MAX_DESCRIPTION_CHARACTERS: usize = 1024;
/// Maximum length of any other text, in characters.
const MAX_TEXT_CHARACTERS: usize = 300;
/// Maximum length of a list.
const MAX_ITEMS: usize = 64;
/// Maximum number of tags (SKL layer 3).
const MAX_TAGS: usize = 20;
/// Maximum number of capabilities that are stored.
const MAX_CAPABILITIES: usize = 300;
/// Maximum size of a default value, as JSON.
const MAX_DEFAULT_BYTES: usize = 1_000;

/// The categories of SKL layer 3; anything else is `other`.
pub const CATEGORIES: &[&str] =
    &["creative", "data", "development", "devops", "enterprise", "other"];

/// Agents that a skill may name in `compatibility`, and the words that mean them.
const AGENTS: &[(&str, &[&str])] = &[
    ("claude-code", &["claude"]),
    ("codex", &["codex"]),
    ("copilot", &["copilot"]),
    ("cursor", &["cursor"]),
    ("gaia", &["gaia"]),
    ("gemini-cli", &["gemini"]),
    ("goose", &["goose"]),
    ("openclaw", &["openclaw", "clawdbot", "moltbot"]),
    ("opencode", &["opencode"]),
    ("windsurf", &["windsurf"]),
];

/// The facts of a version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VersionFacts {
    /// The description.
    pub description: String,
    /// `instructions`, `prompt`, `tools` or `prose`.
    pub kind: String,
    /// The dialect that explains most of the file.
    pub dialect: String,
    /// Authors, as written.
    pub authors: Vec<String>,
    /// The licence, as written.
    pub license: Option<String>,
    /// The home page, an `https:` URL; unverified.
    pub homepage: Option<String>,
    /// The source repository, an `https:` URL; unverified unless the provenance names the same (attack registry-A11).
    pub repository: Option<String>,
    /// Tags in lower case.
    pub tags: Vec<String>,
    /// One of [`CATEGORIES`].
    pub category: String,
    /// What the author says it works with.
    pub compatibility: Vec<String>,
    /// The agents that `compatibility` and the dialect name.
    pub agents: Vec<String>,
    /// The tier that the file claims. It can lower the attested one and never raises it (R19).
    pub claimed_tier: Option<String>,
    /// Its tools.
    pub tools: Vec<ToolFacts>,
    /// Inputs of a prompt.
    pub inputs: Vec<ParameterFacts>,
    /// What it asks for, as permissions in their canonical spelling: declared and implied ones.
    pub permissions: Vec<String>,
    /// Permissions that can't be granted, with the reason.
    pub invalid_permissions: Vec<String>,
    /// What it needs: programs, variables, packages, servers, operating systems.
    pub requirements: RequirementFacts,
    /// The skills it depends on.
    pub dependencies: Vec<DependencyFacts>,
    /// What its text and scripts can make an agent do.
    pub capabilities: Vec<CapabilityFacts>,
    /// Capabilities beyond those listed.
    pub more_capabilities: usize,
    /// How many hooks it has.
    pub hooks: usize,
    /// How many quizzes it has.
    pub quizzes: usize,
    /// How many errors and warnings `check` reports.
    pub warnings: Vec<String>,
}

/// A tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolFacts {
    /// The name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// How it runs: `command`, `python`, `handler`, `mcp_tool`.
    pub kind: String,
    /// The command template.
    pub command: Option<String>,
    /// Its parameters.
    pub parameters: Vec<ParameterFacts>,
}

/// A parameter of a tool, or an input of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParameterFacts {
    /// The name.
    pub name: String,
    /// The declared type.
    pub kind: String,
    /// Whether a value must be given.
    pub required: bool,
    /// What it is for.
    pub description: Option<String>,
    /// The default value.
    pub default: Option<Value>,
}

/// What a skill needs to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequirementFacts {
    /// Programs on PATH.
    pub programs: Vec<String>,
    /// Environment variables.
    pub variables: Vec<String>,
    /// Python packages.
    pub python_packages: Vec<String>,
    /// Node packages.
    pub node_packages: Vec<String>,
    /// MCP servers.
    pub mcp_servers: Vec<String>,
    /// Operating systems.
    pub systems: Vec<String>,
}

/// A dependency on another skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DependencyFacts {
    /// The namespace; that of the skill if it names none.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The range, as written.
    pub range: String,
    /// Whether the skill fails without it.
    pub required: bool,
}

/// One thing that the skill can make an agent do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CapabilityFacts {
    /// The kind, such as `command` or `host`.
    pub kind: String,
    /// What exactly.
    pub text: String,
    /// More about it.
    pub note: Option<String>,
    /// The file.
    pub file: String,
    /// The line, from one.
    pub line: usize,
}

/// A file of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileFacts {
    /// The path below the skill's folder.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The SHA-256, 64 hexadecimal digits.
    pub sha256: String,
    /// Whether it is executable.
    pub executable: bool,
    /// Whether it is text: UTF-8 without NUL.
    pub is_text: bool,
}

impl VersionFacts {
    /// Reads the facts of a skill. `namespace` is that of dependencies that name none.
    pub fn read(skill: &Skill, tree: &Tree, namespace: &str, warnings: Vec<String>) -> Self {
        let set = grants::of(skill);
        let permissions: BTreeSet<String> =
            set.grants().iter().map(|grant| cut(&grant.to_string())).collect();
        let found = of_files(tree.files().map(|(path, file)| SkillFile {
            path: path.as_str(),
            bytes: &file.bytes,
            is_executable: file.executable,
        }));
        let compatibility = texts(skill.compatibility.iter().map(|text| text.as_str()));
        Self {
            description: skill.description.as_ref().map_or(String::new(), |text| {
                text.as_str().chars().take(MAX_DESCRIPTION_CHARACTERS).collect()
            }),
            kind: skill.kind.as_str().to_owned(),
            dialect: dialect_name(skill.dialect),
            authors: texts(skill.authors.iter().map(|text| text.as_str())),
            license: skill.license.as_ref().map(|text| cut(text.as_str())),
            homepage: skill.homepage.as_ref().and_then(|text| web_address(text.as_str())),
            repository: skill.repository.as_ref().and_then(|text| web_address(text.as_str())),
            tags: tags(skill),
            category: category(skill),
            agents: agents(skill, &compatibility),
            compatibility,
            claimed_tier: skill.security_tier.as_ref().map(|text| cut(text.as_str())),
            tools: skill.tools.iter().take(MAX_ITEMS).map(ToolFacts::of).collect(),
            inputs: skill.inputs.iter().take(MAX_ITEMS).map(ParameterFacts::of).collect(),
            permissions: permissions.into_iter().take(MAX_ITEMS * 4).collect(),
            invalid_permissions: texts(set.refusals().iter().map(ToString::to_string)),
            requirements: RequirementFacts::of(skill),
            dependencies: dependencies(skill, namespace),
            more_capabilities: found.len().saturating_sub(MAX_CAPABILITIES),
            capabilities: found.iter().take(MAX_CAPABILITIES).map(CapabilityFacts::of).collect(),
            hooks: skill.hooks.len(),
            quizzes: skill.quiz.len(),
            warnings: texts(warnings),
        }
    }
}

impl ToolFacts {
    fn of(tool: &Tool) -> Self {
        Self {
            name: cut(tool.name.as_str()),
            description: cut(&tool.description),
            kind: tool.kind.as_str().to_owned(),
            command: tool.command.as_ref().map(|text| cut(text.as_str())),
            parameters: tool.parameters.iter().take(MAX_ITEMS).map(ParameterFacts::of).collect(),
        }
    }
}

impl ParameterFacts {
    fn of(parameter: &Parameter) -> Self {
        let is_short = |value: &&Value| value.to_string().len() <= MAX_DEFAULT_BYTES;
        Self {
            name: cut(parameter.name.as_str()),
            kind: cut(parameter.kind.as_str()),
            required: parameter.required,
            description: parameter.description.as_deref().map(cut),
            default: parameter.default.as_ref().filter(is_short).cloned(),
        }
    }
}

impl RequirementFacts {
    fn of(skill: &Skill) -> Self {
        let needs = &skill.requirements;
        let programs = needs.programs.iter().chain(&needs.any_programs);
        Self {
            programs: texts(programs.map(|text| text.as_str())),
            variables: texts(needs.env_vars.iter().map(|text| text.as_str())),
            python_packages: texts(needs.python_packages.iter().map(|text| text.as_str())),
            node_packages: texts(needs.node_packages.iter().map(|text| text.as_str())),
            mcp_servers: texts(needs.mcp_servers.iter().map(|text| text.as_str())),
            systems: texts(needs.os.iter().map(|text| text.as_str())),
        }
    }
}

impl CapabilityFacts {
    fn of(capability: &Capability) -> Self {
        Self {
            kind: capability.kind.as_str().to_owned(),
            text: cut(&capability.text),
            note: capability.note.as_deref().map(cut),
            file: cut(&capability.file),
            line: capability.line,
        }
    }
}

impl FileFacts {
    /// The facts of all files, in the order of their paths.
    pub fn of_tree(tree: &Tree) -> Vec<Self> {
        let files = tree.files().map(|(path, file)| Self {
            path: path.as_str().to_owned(),
            size: file.bytes.len() as u64,
            sha256: file.digest().to_string(),
            executable: file.executable,
            is_text: !file.bytes.contains(&0) && std::str::from_utf8(&file.bytes).is_ok(),
        });
        files.collect()
    }
}

/// The name of a dialect, as in URLs and facets.
fn dialect_name(dialect: &Dialect) -> String {
    dialect.id.to_owned()
}

fn tags(skill: &Skill) -> Vec<String> {
    let tags = skill.tags.iter().map(|tag| cut(tag.as_str().trim()).to_lowercase());
    let tags: BTreeSet<String> = tags.filter(|tag| !tag.is_empty()).collect();
    tags.into_iter().take(MAX_TAGS).collect()
}

fn category(skill: &Skill) -> String {
    let declared = skill.category.as_ref().map(|text| text.as_str().trim().to_lowercase());
    let known = CATEGORIES.iter().find(|known| declared.as_deref() == Some(**known));
    (*known.unwrap_or(&"other")).to_owned()
}

fn agents(skill: &Skill, compatibility: &[String]) -> Vec<String> {
    let written = compatibility.join(" ").to_lowercase();
    let dialect = dialect_name(skill.dialect);
    let names = |(agent, words): &&(&str, &[&str])| {
        dialect == *agent || words.iter().any(|word| written.contains(word))
    };
    AGENTS.iter().filter(names).map(|(agent, _)| (*agent).to_owned()).collect()
}

fn dependencies(skill: &Skill, namespace: &str) -> Vec<DependencyFacts> {
    let listed = skill.requirements.skills.iter().take(MAX_ITEMS);
    listed
        .map(|dependency| {
            let written = dependency.name.as_str();
            let written = written.strip_prefix('@').unwrap_or(written);
            let (owner, name) = written.split_once('/').unwrap_or((namespace, written));
            DependencyFacts {
                namespace: owner.to_owned(),
                name: name.to_owned(),
                range: dependency.range.clone(),
                required: dependency.required,
            }
        })
        .collect()
}

/// A link that a page may show: `https:` and nothing else, without a user name (attacks registry-D10 and D12).
fn web_address(text: &str) -> Option<String> {
    let address = url::Url::parse(text.trim()).ok()?;
    let is_plain = address.username().is_empty() && address.password().is_none();
    let is_short = address.as_str().len() <= MAX_TEXT_CHARACTERS;
    (address.scheme() == "https" && is_plain && is_short).then(|| address.to_string())
}

fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
    texts.into_iter().take(MAX_ITEMS).map(|text| cut(text.as_ref())).collect()
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARACTERS).collect()
}
