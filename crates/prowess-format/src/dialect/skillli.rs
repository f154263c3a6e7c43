//! skillli: registry fields at the top level or in `metadata` (layer 3) and quiz gates (layer 4).

use serde_json::{Map, Value};

use super::{
    DescriptionLimit, Dialect, Limit, NameStyle, agent_skills, claude_code, common, limit,
};
use crate::diagnostic::{Findings, Severity};
use crate::document::Document;
use crate::document::yaml::{Mapping, Node};
use crate::emit::{WrittenSkill, YamlWriter};
use crate::formats;
use crate::rules;
use crate::shape::{Field, Shape, TEXT, UnknownFields};
use crate::skill::{Quiz, QuizBranch, QuizOption, QuizQuestion, Skill};
use crate::span::Spanned;
use crate::specification::{SKILLLI, Section};

pub(super) static DIALECT: Dialect = Dialect {
    id: "skillli",
    title: "skillli",
    about: "The open standard with registry fields and quiz gates.",
    specification: SKILLLI.whole(),
    bases: &["claude-code", "agent-skills"],
    fields: FIELDS,
    unknown: UnknownFields::Kept,
    name: NameStyle::Kebab,
    directory: Some((Severity::Error, Severity::Error)),
    description: DescriptionLimit {
        most: 1024,
        severity: (Severity::Error, Severity::Error),
        section: STANDARD_SECTION,
        is_cut: false,
    },
    limits: LIMITS,
    affinity,
    read,
    check,
    refine,
    write,
};

const STANDARD_SECTION: Section = SKILLLI.at("Agent Skills Open Standard");
const REGISTRY_SECTION: Section = SKILLLI.at("Skillli Registry Extensions");
const QUIZ_SECTION: Section = SKILLLI.at("Interactive / Branching Skills");

/// The registry's categories (layer 3).
pub(crate) const CATEGORIES: &[&str] =
    &["development", "creative", "enterprise", "data", "devops", "other"];
/// The registry's badges (layer 3).
pub(crate) const TRUST_LEVELS: &[&str] = &["community", "verified", "official"];

const TAG: Shape = Shape::Format(&formats::TAG);
const TAG_LIST: Shape = Shape::Format(&formats::TAG_LIST);

const BRANCH: &[Field] = &[
    Field::new("goto", TEXT, QUIZ_SECTION, "A section of the body, such as `## Setup Steps`."),
    Field::new("load-skill", TEXT, QUIZ_SECTION, "Another skill by name."),
    Field::new("load-reference", TEXT, QUIZ_SECTION, "A file of the skill."),
    Field::new("message", TEXT, QUIZ_SECTION, "A message for the agent or the user."),
];

const OPTION: &[Field] = &[
    Field::new("label", TEXT, QUIZ_SECTION, "Text of the choice.").required(),
    Field::new("correct", Shape::Boolean, QUIZ_SECTION, "Whether the choice is correct.")
        .default("false"),
];

const QUESTION: &[Field] = &[
    Field::new("question", TEXT, QUIZ_SECTION, "The question.").required(),
    Field::new(
        "options",
        Shape::List { item: &Shape::Map(OPTION), least: 2, most: 6 },
        QUIZ_SECTION,
        "Two to six choices.",
    )
    .required()
    .rule(&rules::QUIZ_OPTION_COUNT),
    Field::new("explanation", TEXT, QUIZ_SECTION, "Shown after answering."),
    Field::new("on-correct", Shape::Map(BRANCH), QUIZ_SECTION, "After a right answer."),
    Field::new("on-incorrect", Shape::Map(BRANCH), QUIZ_SECTION, "After a wrong answer."),
];

const QUIZ: &[Field] = &[
    Field::new("title", TEXT, QUIZ_SECTION, "Heading."),
    Field::new("description", TEXT, QUIZ_SECTION, "Purpose."),
    Field::new("gate", Shape::Boolean, QUIZ_SECTION, "Must be passed before the body is shown.")
        .default("false"),
    Field::new(
        "passing-score",
        Shape::Number { from: 0.0, to: 100.0 },
        QUIZ_SECTION,
        "Percentage needed to pass.",
    )
    .default("100")
    .rule(&rules::QUIZ_PASSING_SCORE),
    Field::new(
        "questions",
        Shape::List { item: &Shape::Map(QUESTION), least: 1, most: 1000 },
        QUIZ_SECTION,
        "At least one.",
    )
    .required()
    .rule(&rules::QUIZ_WITHOUT_QUESTIONS),
];

const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Format(&formats::NAME),
        STANDARD_SECTION,
        "Identifier; must equal the directory name, which is the default.",
    )
    .rule(&rules::INVALID_NAME),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        STANDARD_SECTION,
        "What the skill does and when to use it.",
    )
    .required()
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new("version", Shape::Format(&formats::VERSION), REGISTRY_SECTION, "Package version.")
        .default("\"0.0.0\"")
        .rule(&rules::INVALID_VERSION),
    Field::new("author", TEXT, REGISTRY_SECTION, "GitHub user or organisation.").default("unknown"),
    Field::new(
        "tags",
        Shape::Either(&[TAG_LIST, Shape::List { item: &TAG, least: 1, most: 20 }]),
        REGISTRY_SECTION,
        "1 to 20 tags of 1 to 50 characters, as a list or separated by commas.",
    )
    .default("[]")
    .rule(&rules::INVALID_TAGS),
    Field::new("category", Shape::Choice(CATEGORIES), REGISTRY_SECTION, "Category.")
        .default("other")
        .rule(&rules::INVALID_CATEGORY),
    Field::new(
        "trust-level",
        Shape::Choice(TRUST_LEVELS),
        REGISTRY_SECTION,
        "The badge the author claims; a claim grants nothing.",
    )
    .default("community")
    .rule(&rules::INVALID_TRUST_LEVEL),
    Field::new("repository", Shape::Format(&formats::URL), REGISTRY_SECTION, "Source repository.")
        .rule(&rules::INVALID_URL),
    Field::new("homepage", Shape::Format(&formats::URL), REGISTRY_SECTION, "Home page.")
        .rule(&rules::INVALID_URL),
    Field::new(
        "min-skillli-version",
        Shape::Format(&formats::VERSION),
        REGISTRY_SECTION,
        "Minimum client version.",
    )
    .rule(&rules::INVALID_VERSION),
    Field::new("checksum", TEXT, REGISTRY_SECTION, "SHA-256 of the package, set by publishing."),
    Field::new(
        "quiz",
        Shape::Either(&[
            Shape::Map(QUIZ),
            Shape::List { item: &Shape::Map(QUIZ), least: 1, most: 100 },
        ]),
        QUIZ_SECTION,
        "One quiz block or several.",
    ),
];

const LIMITS: &[Limit] = &[
    limit("name", "1 to 64 characters", STANDARD_SECTION),
    limit("description", "1 to 1,024 characters", STANDARD_SECTION),
    limit("tags", "1 to 20, each 1 to 50 characters", REGISTRY_SECTION),
    limit("quiz options", "2 to 6", QUIZ_SECTION),
    limit("passing-score", "0 to 100", QUIZ_SECTION),
    limit(
        "SKILL.md",
        "500 lines or 5,000 tokens recommended",
        SKILLLI.at("Progressive Disclosure"),
    ),
];

/// Registry fields that are also allowed in `metadata`.
const REGISTRY: &[&str] = &[
    "version",
    "author",
    "tags",
    "category",
    "trust-level",
    "repository",
    "homepage",
    "min-skillli-version",
    "checksum",
];

/// Words that published skills of every kind use, in the front matter or in the open standard's `metadata`.
const COMMON_WORDS: &[&str] = &["version", "author", "tags", "repository", "homepage"];

fn affinity(document: &Document<'_>) -> u32 {
    let root = &document.root;
    let metadata = root.get("metadata").and_then(Node::mapping);
    let maps = || [Some(root), metadata].into_iter().flatten();
    let own = ["trust-level", "min-skillli-version"];
    let strong = own.iter().filter(|key| maps().any(|map| map.has(key))).count();
    // The open standard's own example has `metadata.author` and `metadata.version`: only fields at the top level need this
    // layer to explain them.
    let weak = COMMON_WORDS.iter().filter(|key| root.has(key)).count();
    // One of the six categories is a word like any other, unless most of the registry's fields are beside it.
    let category = maps().any(|map| {
        map.get("category").and_then(Node::text).is_some_and(|word| CATEGORIES.contains(&word))
            && COMMON_WORDS.iter().filter(|key| map.has(key)).count() >= 3
    });
    let quiz = if root.has("quiz") { 60 } else { 0 } + if category { 20 } else { 0 };
    quiz + u32::try_from(strong * 20 + weak).unwrap_or(0)
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    let root = &document.root;
    read_registry(root, skill);
    // SKL-L3-1: the top level wins, so `metadata` comes second.
    read_metadata(root, skill);
    common::fill(&mut skill.name, common::text(root, "name"));
    common::fill(&mut skill.description, common::text(root, "description"));
    common::fill_list(&mut skill.quiz, quizzes(root));
}

/// Checks registry fields in `metadata`, which are used if the top level lacks them (SKL-L3-1).
fn check(document: &Document<'_>, findings: &mut Findings) {
    let Some(metadata) = document.root.get("metadata").and_then(Node::mapping) else { return };
    let nested: Vec<Field> = FIELDS
        .iter()
        .filter(|field| REGISTRY.contains(&field.name) && !document.root.has(field.name))
        .copied()
        .collect();
    crate::shape::check(&nested, metadata, document.opening, "metadata", findings);
}

/// Refines the schema: each registry field in `metadata` is used if the top level lacks it.
fn refine(schema: &mut Value) {
    let alternatives = REGISTRY.iter().map(|field| {
        let property = schema["properties"][*field].clone();
        let at_top = serde_json::json!({ "required": [field], "properties": { (*field): { "not": { "type": "null" } } } });
        serde_json::json!({ "if": at_top, "else": { "properties": { "metadata": { "properties": { (*field): property } } } } })
    });
    schema["allOf"] = Value::Array(alternatives.collect());
}

/// Reads the registry's fields in `metadata`.
fn read_metadata(root: &Mapping<'_>, skill: &mut Skill) {
    if let Some(metadata) = root.get("metadata").and_then(Node::mapping) {
        read_registry(metadata, skill);
        forget_metadata(skill, REGISTRY);
    }
}

/// Removes what was read from `metadata`, so that it is not kept twice.
pub(super) fn forget_metadata(skill: &mut Skill, keys: &[&str]) {
    skill.metadata.retain(|(key, value)| !keys.contains(&key.as_str()) || value.is_object());
}

fn read_registry(mapping: &Mapping<'_>, skill: &mut Skill) {
    common::fill(&mut skill.version, common::text(mapping, "version"));
    common::fill_list(&mut skill.authors, common::texts(mapping, "author"));
    common::fill_list(&mut skill.tags, common::comma_texts(mapping, "tags"));
    common::fill(&mut skill.category, common::text(mapping, "category"));
    common::fill(&mut skill.trust_level, common::text(mapping, "trust-level"));
    common::fill(&mut skill.repository, common::text(mapping, "repository"));
    common::fill(&mut skill.homepage, common::text(mapping, "homepage"));
    common::fill(&mut skill.min_client_version, common::text(mapping, "min-skillli-version"));
    common::fill(&mut skill.checksum, common::text(mapping, "checksum"));
}

/// The quizzes that front matter declares.
pub(crate) fn quizzes(root: &Mapping<'_>) -> Vec<Quiz> {
    let Some(node) = root.get("quiz") else { return Vec::new() };
    match node.sequence() {
        Some(items) => items.iter().filter_map(quiz).collect(),
        None => quiz(node).into_iter().collect(),
    }
}

fn quiz(node: &Node<'_>) -> Option<Quiz> {
    let mapping = node.mapping()?;
    let questions = mapping.get("questions").and_then(Node::sequence).unwrap_or_default();
    Some(Quiz {
        title: common::text(mapping, "title").map(|text| text.value),
        description: common::text(mapping, "description").map(|text| text.value),
        gate: common::boolean(mapping, "gate").is_some_and(|gate| gate.value),
        passing_score: mapping.get("passing-score").and_then(Node::number).unwrap_or(100.0),
        questions: questions.iter().filter_map(Node::mapping).filter_map(question).collect(),
        span: node.span,
    })
}

fn question(mapping: &Mapping<'_>) -> Option<QuizQuestion> {
    let options = mapping.get("options").and_then(Node::sequence).unwrap_or_default();
    Some(QuizQuestion {
        question: common::text(mapping, "question")?,
        options: options
            .iter()
            .filter_map(Node::mapping)
            .map(|option| QuizOption {
                label: common::text(option, "label").map(|text| text.value).unwrap_or_default(),
                correct: common::boolean(option, "correct").is_some_and(|value| value.value),
            })
            .collect(),
        explanation: common::text(mapping, "explanation").map(|text| text.value),
        on_correct: branch(mapping, "on-correct"),
        on_incorrect: branch(mapping, "on-incorrect"),
    })
}

fn branch(mapping: &Mapping<'_>, key: &str) -> QuizBranch {
    let Some(branch) = mapping.get(key).and_then(Node::mapping) else {
        return QuizBranch::default();
    };
    QuizBranch {
        goto: common::text(branch, "goto"),
        load_skill: common::text(branch, "load-skill"),
        load_reference: common::text(branch, "load-reference"),
        message: common::text(branch, "message"),
    }
}

fn write(skill: &Skill) -> WrittenSkill {
    let mut yaml = YamlWriter::new();
    agent_skills::write_layer(skill, &mut yaml);
    claude_code::write_layer(skill, &mut yaml);
    if !skill.quiz.is_empty() {
        yaml.value("quiz", &Value::Array(skill.quiz.iter().map(write_quiz).collect()));
    }
    write_metadata(skill, &mut yaml);
    common::finish(skill, yaml)
}

/// Writes the `metadata` map with the registry fields, which is where the open standard requires
/// them.
pub(super) fn write_metadata(skill: &Skill, yaml: &mut YamlWriter) {
    let mut metadata: Map<String, Value> = Map::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            metadata.insert(key.to_owned(), Value::String(value));
        }
    };
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    put("version", text(&skill.version));
    put("author", common::joined(&skill.authors));
    put("tags", common::joined(&skill.tags));
    put("category", text(&skill.category));
    put("trust-level", text(&skill.trust_level));
    put("repository", text(&skill.repository));
    put("homepage", text(&skill.homepage));
    put("min-skillli-version", text(&skill.min_client_version));
    put("checksum", text(&skill.checksum));
    for (key, value) in &skill.metadata {
        metadata.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if let Some((namespace, block)) = super::openclaw::foreign_block(skill) {
        metadata.entry(namespace).or_insert(block);
    }
    if !metadata.is_empty() {
        yaml.value("metadata", &Value::Object(metadata));
    }
}

fn write_quiz(quiz: &Quiz) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    if let Some(title) = &quiz.title {
        put("title", Value::String(title.clone()));
    }
    if let Some(description) = &quiz.description {
        put("description", Value::String(description.clone()));
    }
    put("gate", Value::Bool(quiz.gate));
    put("passing-score", number(quiz.passing_score));
    put("questions", Value::Array(quiz.questions.iter().map(write_question).collect()));
    Value::Object(map)
}

fn number(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "a whole percentage between 0 and 100")]
    if value.fract() == 0.0 { Value::from(value as i64) } else { Value::from(value) }
}

fn write_question(question: &QuizQuestion) -> Value {
    let mut map = Map::new();
    map.insert("question".to_owned(), Value::String(question.question.value.clone()));
    let options = question.options.iter().map(|option| {
        let mut map = Map::new();
        map.insert("label".to_owned(), Value::String(option.label.clone()));
        if option.correct {
            map.insert("correct".to_owned(), Value::Bool(true));
        }
        Value::Object(map)
    });
    map.insert("options".to_owned(), Value::Array(options.collect()));
    if let Some(explanation) = &question.explanation {
        map.insert("explanation".to_owned(), Value::String(explanation.clone()));
    }
    for (key, branch) in
        [("on-correct", &question.on_correct), ("on-incorrect", &question.on_incorrect)]
    {
        let pairs = [
            ("goto", &branch.goto),
            ("load-skill", &branch.load_skill),
            ("load-reference", &branch.load_reference),
            ("message", &branch.message),
        ];
        let entries: Map<String, Value> = pairs
            .into_iter()
            .filter_map(|(key, text)| {
                Some((key.to_owned(), Value::String(text.as_ref()?.value.clone())))
            })
            .collect();
        if !entries.is_empty() {
            map.insert(key.to_owned(), Value::Object(entries));
        }
    }
    Value::Object(map)
}
