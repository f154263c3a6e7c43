//! Agent manifests (GAIA §9): AGENT.yaml or gaia-agent.yaml, which names the skills an agent is made of.

mod sets;

use std::fmt;

use serde_json::Value;

use crate::diagnostic::{Diagnostic, Findings, Severity};
use crate::dialect::{self, common};
use crate::document::yaml::{Mapping, Node};
use crate::document::{Document, FrontMatter};
use crate::formats;
use crate::rules;
use crate::shape::{self, ANY_MAP, Field, Shape, TEXT, UnknownFields};
use crate::skill::{OptionalText, SkillDependency, Tool, ToolKind};
use crate::span::Spanned;
use crate::specification::{GAIA, GAIA_IMPLEMENTATION};

pub use sets::{ActiveSkills, SetChosenBy, SkillSetError};

/// File names of manifests.
pub const FILE_NAMES: &[&str] = &["AGENT.yaml", "gaia-agent.yaml"];

/// A manifest with its diagnostics.
#[derive(Debug)]
pub struct CheckedManifest {
    /// The model.
    pub manifest: AgentManifest,
    /// The diagnostics, sorted by position.
    pub diagnostics: Vec<Diagnostic>,
}

/// An agent: its skills, its own tools and the model it needs.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AgentManifest {
    /// The agent's name.
    pub name: OptionalText,
    /// Its version.
    pub version: OptionalText,
    /// What it does.
    pub description: OptionalText,
    /// The skills it is made of.
    pub skills: Vec<SkillDependency>,
    /// The model it needs.
    pub model: AgentModel,
    /// The agent's own tools, which are not shared (§9.3).
    pub tools: Vec<Tool>,
    /// Named sets of skills of which one is active at a time (GAIX-18).
    pub skill_sets: Vec<SkillSet>,
    /// The set to use if none is chosen.
    pub default_set: OptionalText,
    /// Other fields.
    pub extra: Vec<(String, Value)>,
}

/// The model that an agent needs (§9.1).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AgentModel {
    /// The model by name.
    pub default: OptionalText,
    /// The minimum model size, such as `>=7B`.
    pub minimum: OptionalText,
    /// The minimum context window, such as `>=32K`.
    pub context: OptionalText,
}

/// A named set of skills.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillSet {
    /// Its name.
    pub name: Spanned<String>,
    /// Its skills.
    pub skills: Vec<SkillDependency>,
}

const SKILL: &[Field] = &[
    Field::new("name", TEXT, GAIA.at("9.1"), "Name of the skill.").required(),
    Field::new(
        "version",
        Shape::Format(&formats::RANGE),
        GAIA.at("10.2"),
        "Version range; any version if absent.",
    )
    .rule(&rules::INVALID_RANGE),
    Field::new("required", Shape::Boolean, GAIA.at("9.1"), "Whether the agent fails without it.")
        .default("true"),
];

/// `name@range` is the short form (R17).
const SKILLS: Shape = Shape::List {
    item: &Shape::Either(&[Shape::Format(&formats::DEPENDENCY), Shape::Map(SKILL)]),
    least: 0,
    most: 1000,
};

const MODEL: &[Field] = &[
    Field::new("default", TEXT, GAIA.at("9.1"), "The model by name."),
    Field::new("minimum", Shape::Format(&formats::SIZE), GAIA.at("9.1"), "Minimum model size."),
    Field::new("context", Shape::Format(&formats::SIZE), GAIA.at("9.1"), "Minimum context window."),
];

const FIELDS: &[Field] = &[
    Field::new("name", TEXT, GAIA.at("9.1"), "The agent's name.").required(),
    Field::new("version", Shape::Format(&formats::VERSION), GAIA.at("9.1"), "SemVer version.")
        .rule(&rules::INVALID_VERSION),
    Field::new("description", TEXT, GAIA.at("9.1"), "What the agent does."),
    Field::new("skills", SKILLS, GAIA.at("9.1"), "Skills by name and version range.")
        .default("[]")
        .rule(&rules::INVALID_DEPENDENCY),
    Field::new(
        "model",
        Shape::Either(&[Shape::Map(MODEL), TEXT]),
        GAIA.at("9.1"),
        "The model it needs; text is a model name.",
    ),
    Field::new(
        "tools",
        Shape::List { item: &Shape::Map(dialect::GAIA_TOOL), least: 0, most: 1000 },
        GAIA.at("9.3"),
        "The agent's own tools.",
    ),
    Field::new(
        "skill_sets",
        Shape::MapOf(&SKILLS),
        GAIA_IMPLEMENTATION.whole(),
        "Named sets of skills, one of which is active.",
    )
    .rule(&rules::INVALID_DEPENDENCY),
    Field::new(
        "default_set",
        TEXT,
        GAIA_IMPLEMENTATION.whole(),
        "The set to use if none is chosen.",
    ),
    Field::new(
        "default_skill_set",
        TEXT,
        GAIA_IMPLEMENTATION.whole(),
        "Another name for `default_set`.",
    ),
    Field::new("metadata", ANY_MAP, GAIA_IMPLEMENTATION.whole(), "Any further keys and values."),
];

/// The fields of a manifest, for the reference.
pub fn fields() -> &'static [Field] {
    FIELDS
}

/// Reads and checks the text of a manifest.
pub fn check(text: &str) -> CheckedManifest {
    let mut findings = Findings::default();
    let document = Document::yaml(text, &mut findings);
    let manifest = read(&document.root);
    if document.front_matter != FrontMatter::Broken {
        shape::check(FIELDS, &document.root, document.opening, "", &mut findings);
        check_duplicates(&manifest, &mut findings);
        check_default_set(&manifest, &mut findings);
        check_sets(&manifest, &mut findings);
    }
    let mut diagnostics = findings.into_sorted();
    // Skills are repaired because thousands of published ones need it. The skills of an agent must
    // not be guessed.
    for repaired in diagnostics.iter_mut().filter(|found| *found.rule == rules::REPAIRED_YAML) {
        repaired.severity = Severity::Error;
        repaired.strict = Severity::Error;
    }
    CheckedManifest { manifest, diagnostics }
}

/// The JSON Schema (2020-12) of a manifest.
pub fn schema() -> Value {
    let mut schema = shape::schema(FIELDS, UnknownFields::Kept);
    schema["$schema"] = Value::from("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = Value::from("GAIA agent manifest");
    schema
}

fn read(root: &Mapping<'_>) -> AgentManifest {
    let model = root.get("model");
    let model_field =
        |key: &str| model.and_then(Node::mapping).and_then(|model| common::text(model, key));
    let tools = root.get("tools").and_then(Node::sequence).unwrap_or_default();
    let sets = root.get("skill_sets").and_then(Node::mapping);
    AgentManifest {
        name: common::text(root, "name"),
        version: common::text(root, "version"),
        description: common::text(root, "description"),
        skills: dialect::skill_dependencies(root.get("skills")),
        model: AgentModel {
            default: model_field("default").or_else(|| model.and_then(common::spanned)),
            minimum: model_field("minimum"),
            context: model_field("context"),
        },
        tools: tools
            .iter()
            .filter_map(Node::mapping)
            .filter_map(|tool| dialect::gaia_tool(tool, ToolKind::Python))
            .collect(),
        skill_sets: sets
            .map(|sets| sets.entries.as_slice())
            .unwrap_or_default()
            .iter()
            .map(|entry| SkillSet {
                name: Spanned::new(entry.key.to_string(), entry.key_span),
                skills: dialect::skill_dependencies(Some(&entry.value)),
            })
            .collect(),
        // GAIA's own agents write the longer name.
        default_set: common::text(root, "default_set")
            .or_else(|| common::text(root, "default_skill_set")),
        extra: common::rest(
            root,
            &FIELDS
                .iter()
                .map(|field| field.name)
                .filter(|name| *name != "metadata")
                .collect::<Vec<_>>(),
        ),
    }
}

/// Reports a skill that is listed twice: it has two ranges, of which only one could apply.
fn check_duplicates(manifest: &AgentManifest, findings: &mut Findings) {
    let sets = manifest.skill_sets.iter().map(|set| set.skills.as_slice());
    for skills in std::iter::once(manifest.skills.as_slice()).chain(sets) {
        for (at, skill) in skills.iter().enumerate() {
            if skills[..at].iter().any(|earlier| earlier.name == skill.name) {
                let message = format!("`{}` is listed twice", skill.name.value);
                findings.push(
                    rules::INVALID_DEPENDENCY
                        .at(skill.name.span, message)
                        .help("keep one entry and put both ranges into it, separated by a comma"),
                );
            }
        }
    }
    for (at, tool) in manifest.tools.iter().enumerate() {
        if manifest.tools[..at].iter().any(|earlier| earlier.name == tool.name) {
            let message = format!("the tool `{}` is declared twice", tool.name.value);
            findings.push(
                rules::DUPLICATE_TOOL.at(tool.name.span, message).help("rename one of the two"),
            );
        }
    }
}

fn check_default_set(manifest: &AgentManifest, findings: &mut Findings) {
    let Some(default) = &manifest.default_set else { return };
    if manifest.skill_sets.iter().any(|set| set.name == *default) {
        return;
    }
    let known: Vec<&str> = manifest.skill_sets.iter().map(|set| set.name.as_str()).collect();
    let help = if known.is_empty() {
        "declare it under `skill_sets:`".to_owned()
    } else {
        format!("write {}", crate::text::alternatives(&known))
    };
    findings.push(
        rules::NOT_A_CHOICE
            .at(default.span, format!("there is no skill set `{}`", default.value))
            .help(help),
    );
}

/// Reports a set that repeats a skill of `skills:`, which then has two ranges, and a set that adds
/// nothing (GAIX-18).
fn check_sets(manifest: &AgentManifest, findings: &mut Findings) {
    for set in &manifest.skill_sets {
        if set.skills.is_empty() {
            findings.push(
                rules::INVALID_DEPENDENCY
                    .at(set.name.span, format!("the skill set `{}` has no skills", set.name.value))
                    .help("name at least one skill, or remove the set"),
            );
        }
        for skill in &set.skills {
            if manifest.skills.iter().any(|always| always.name == skill.name) {
                let message =
                    format!("`{}` is already under `skills:`, for every set", skill.name.value);
                findings.push(
                    rules::INVALID_DEPENDENCY
                        .at(skill.name.span, message)
                        .help("keep only one of the two"),
                );
            }
        }
    }
    if let (Some(first), None) = (manifest.skill_sets.first(), &manifest.default_set) {
        let finding = rules::MISSING_FIELD
            .at(first.name.span, "there are skill sets but no `default_set`")
            .help(format!("write `default_set: {}`, or another one", first.name.value));
        // A default is optional if a set is always named.
        findings.push(Diagnostic { severity: Severity::Warning, ..finding });
    }
}

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeError {
    text: String,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = crate::text::shorten(&self.text, 40);
        write!(f, "`{shown}` is not a number, optionally followed by `K`, `M` or `B`")
    }
}

impl std::error::Error for SizeError {}

/// Parses a minimum: `>=7B` is 7,000,000,000, `>=32K` is 32,000. Reads exactly what
/// [`formats::SIZE`] accepts.
///
/// Suffixes are powers of a thousand: a window of 32,768 tokens and one of 32,000 are both sold as
/// "32K", and a minimum must accept either. Units of memory are exact: `GB` and `MB` are powers of
/// 1,000, `GiB` and `MiB` of 1,024.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let error = || SizeError { text: text.to_owned() };
    (formats::SIZE.check)(text).map_err(|_| error())?;
    let number = text.trim().trim_start_matches(['>', '=']).trim();
    let end = number
        .find(|character: char| !(character.is_ascii_digit() || character == '.'))
        .unwrap_or(number.len());
    let (number, unit) = number.split_at(end);
    let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1_000,
        "m" | "mb" => 1_000_000,
        "b" | "gb" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return Err(error()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(unit));
    // Twelve decimal places are enough for the largest unit.
    let part: String = fraction.chars().chain("000000000000".chars()).take(12).collect();
    let part = part.parse::<u128>().map_err(|_| error())? * u128::from(unit) / 1_000_000_000_000;
    whole.and_then(|whole| whole.checked_add(u64::try_from(part).ok()?)).ok_or_else(error)
}
