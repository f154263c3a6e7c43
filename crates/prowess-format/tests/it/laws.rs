//! Laws: what holds for any input, tried on generated ones and on every fixture.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use prowess_format::command;
use prowess_format::convert::{convert, facets};
use prowess_format::diagnostic::{Findings, Severity};
use prowess_format::dialect::{self, Dialect};
use prowess_format::document::{Document, Form};
use prowess_format::emit::{YamlWriter, scalar};
use prowess_format::permission::{DOMAINS, Level, Permission};
use prowess_format::skill::{
    OpenClaw, Outputs, Parameter, Requirements, Runtime, Sampling, Skill, SkillDependency, Tool,
    ToolKind,
};
use prowess_format::span::{Span, Spanned};
use prowess_format::template::tighten;
use prowess_format::text::slug;
use prowess_format::tool_output::OutputShape;
use prowess_format::{Checked, ReadOptions, check, form_of};
use serde_json::{Map, Value};

use super::Fixture;

/// A failing case is printed in full, so nothing needs to be kept on disk.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Pieces that mean something to YAML, Markdown, JSON, a shell or a template, and some that mean nothing.
const PIECES: &[&str] = &[
    ": ",
    ":",
    " #",
    "#",
    "'",
    "\"",
    "\\",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "- ",
    "? ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "1.0",
    "1e3",
    "0x1F",
    "0o7",
    ".inf",
    "2024-01-02",
    "true",
    "yes",
    "no",
    "null",
    "~",
    "=",
    "<<",
    "@",
    "*",
    "&",
    "!",
    "%",
    "|",
    ">",
    "|-",
    "`",
    "---",
    "...",
    "--- ",
    "{{x}}",
    "${x}",
    "$(id)",
    "; rm -rf /",
    "word",
    "two words",
    " ",
    "  ",
    "é",
    "漢字",
    "😀",
    "\u{feff}",
    "\u{2028}",
    "\u{2029}",
    "\u{85}",
    "\u{a0}",
    "\u{200b}",
    "\u{202e}",
    "\u{7f}",
    "\u{1b}",
    "\u{1}",
    "###",
    "| a |",
    "```",
];

/// Any text at all, with a taste for trouble.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![8 => select(PIECES).prop_map(str::to_owned), 2 => any::<char>().prop_map(String::from)];
    vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

/// A text that a field can hold: readers trim values and take blank ones for absent.
fn text() -> impl Strategy<Value = String> {
    any_text()
        .prop_map(|text| text.trim().to_owned())
        .prop_filter("not blank", |text| !text.is_empty())
}

/// A text without a comma, for lists that some dialects write in one line.
fn tag() -> impl Strategy<Value = String> {
    text()
        .prop_map(|text| text.replace(',', ";").trim().to_owned())
        .prop_filter("not blank", |text| !text.is_empty())
}

fn word() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9]{0,7}"
}

/// Any JSON value but null, which means "absent" in front matter.
fn json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
    ];
    let leaf =
        prop_oneof![any::<bool>().prop_map(Value::from), number, any_text().prop_map(Value::from),];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let map = vec((any_text(), inner.clone()), 0..4)
            .prop_map(|entries| Value::Object(entries.into_iter().collect()));
        prop_oneof![vec(inner, 0..4).prop_map(Value::from), map]
    })
}

/// Lines that look like front matter, sound or not.
fn yaml_like() -> impl Strategy<Value = String> {
    const KEYS: &[&str] = &[
        "name",
        "description",
        "version",
        "tags",
        "tools",
        "permissions",
        "inputs",
        "metadata",
        "  nested",
        "- item",
        "requires",
        "hooks",
        "quiz",
        "model",
        "x",
        "\tx",
        "? k",
        "&a b",
        "*a",
        "<<",
        "\"q\"",
        "modes",
        "runtime",
    ];
    let line = (
        select(KEYS),
        select(&[": ", ":", " : ", ":\n  ", ": |\n  ", ": >-\n  ", ""][..]),
        any_text(),
    );
    let line = line.prop_map(|(key, separator, value)| format!("{key}{separator}{value}\n"));
    (
        select(&["---\n", "\n---\n", "\u{feff}---\n", "--- \n", "", "---js\n"][..]),
        vec(line, 0..8),
        select(&["---\n", "---", " ---\n", "", "...\n"][..]),
        any_text(),
    )
        .prop_map(|(open, lines, close, body)| format!("{open}{}{close}{body}", lines.concat()))
}

/// Reads a text in every way there is; places and findings have to fit it.
fn read_in_every_way(text: &str) {
    let all = dialect::ALL.iter().copied().map(Some).chain([None]);
    for dialect in all {
        for form in [Form::Markdown, Form::Json, Form::Yaml] {
            let checked = check(text, ReadOptions { form, dialect, ..ReadOptions::DETECT });
            for diagnostic in &checked.diagnostics {
                assert!(text.get(diagnostic.span.range()).is_some(), "{diagnostic:?} in {text:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>()) {
        read_in_every_way(&text);
    }

    #[test]
    fn anything_like_front_matter_is_read_without_a_panic(text in yaml_like()) {
        read_in_every_way(&text);
    }
}

fn read_yaml_entry(yaml: &str) -> Option<Value> {
    let mut findings = Findings::default();
    let document = Document::yaml(yaml, &mut findings);
    let value = document.root.entry("key").map(|entry| entry.value.to_json());
    value.filter(|_| document.root.entries.len() == 1)
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_written_scalar_reads_back_as_the_same_text(text in any_text()) {
        let yaml = format!("key: {}\n", scalar(&text));
        prop_assert_eq!(read_yaml_entry(&yaml), Some(Value::from(text)), "{}", yaml);
    }

    #[test]
    fn a_written_value_reads_back_as_the_same_value(value in json()) {
        let mut yaml = YamlWriter::new();
        yaml.value("key", &value);
        prop_assert_eq!(read_yaml_entry(yaml.as_str()), Some(value), "{}", yaml.as_str());
    }

    #[test]
    fn a_list_of_texts_reads_back_as_the_same_list(texts in vec(any_text(), 1..5)) {
        let mut yaml = YamlWriter::new();
        yaml.texts("key", &spanned_all(&texts));
        prop_assert_eq!(read_yaml_entry(yaml.as_str()), Some(Value::from(texts)), "{}", yaml.as_str());
    }
}

/// What differs between two skills, line by line.
fn differences(expected: &Skill, found: &Skill) -> String {
    let (expected, found) = (format!("{expected:#?}"), format!("{found:#?}"));
    let pairs = expected.lines().zip(found.lines());
    let differing =
        pairs.filter(|(expected, found)| expected != found && !expected.contains("span:"));
    let lines = differing
        .take(5)
        .map(|(expected, found)| format!("{}  became  {}", expected.trim(), found.trim()));
    lines.collect::<Vec<_>>().join("\n")
}

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::default())
}

fn spanned_all(texts: &[String]) -> Vec<Spanned<String>> {
    texts.iter().cloned().map(spanned).collect()
}

/// Values for the fields of a skill; each dialect takes those it has a place for.
#[derive(Clone, Debug)]
struct Draft {
    texts: Vec<Option<String>>,
    lists: Vec<Vec<String>>,
    flags: Vec<Option<bool>>,
    parameters: Vec<Parameter>,
    values: Vec<Option<Value>>,
    metadata: Vec<(String, Value)>,
    extra: Vec<(String, Value)>,
    words: Vec<String>,
    number: i64,
    body: String,
}

fn draft() -> impl Strategy<Value = Draft> {
    let entries = |prefix: &'static str| {
        vec((word(), json()), 0..3).prop_map(move |entries| {
            let unique: BTreeMap<String, Value> = entries
                .into_iter()
                .map(|(key, value)| (format!("{prefix}-{key}"), value))
                .collect();
            unique.into_iter().collect::<Vec<_>>()
        })
    };
    let first = (
        vec(option::of(text()), 14),
        vec(vec(tag(), 0..3), 8),
        vec(option::of(any::<bool>()), 6),
        vec(parameter(), 0..3),
        vec(option::of(json()), 3),
    );
    (first, entries("m"), entries("x"), vec(word(), 6), 1..300_i64, any_text()).prop_map(
        |((texts, lists, flags, parameters, values), metadata, extra, words, number, body)| {
            let mut seen = Vec::new();
            let parameters = parameters
                .into_iter()
                .filter(|parameter| {
                    let new = !seen.contains(&parameter.name.value);
                    seen.push(parameter.name.value.clone());
                    new
                })
                .collect();
            let body = format!("\n{body}\n");
            Draft { texts, lists, flags, parameters, values, metadata, extra, words, number, body }
        },
    )
}

fn parameter() -> impl Strategy<Value = Parameter> {
    (
        text(),
        select(&["string", "integer", "boolean"][..]),
        any::<bool>(),
        option::of(text()),
        option::of(json()),
    )
        .prop_map(|(name, kind, required, description, default)| Parameter {
            name: spanned(name),
            kind: spanned(kind.to_owned()),
            required,
            description,
            default,
            ..Parameter::default()
        })
}

impl Draft {
    fn text(&self, at: usize) -> Option<Spanned<String>> {
        self.texts[at].clone().map(spanned)
    }

    fn list(&self, at: usize) -> Vec<Spanned<String>> {
        spanned_all(&self.lists[at])
    }

    /// At most one text, for dialects that join several.
    fn single(&self, at: usize) -> Vec<Spanned<String>> {
        self.list(at).into_iter().take(1).collect()
    }

    fn words(&self, from: usize) -> Vec<Spanned<String>> {
        spanned_all(&self.words[from..from + 2])
    }

    fn flag(&self, at: usize) -> Option<Spanned<bool>> {
        self.flags[at].map(spanned)
    }

    fn tool(&self, kind: ToolKind) -> Tool {
        Tool {
            name: spanned(self.words[0].clone()),
            description: self.texts[9].clone().unwrap_or_default(),
            kind,
            parameters: self.parameters.clone(),
            parameters_declared: true,
            command: None,
            handler: None,
            returns: None,
            atomic: None,
            output_shape: None,
            extra: Vec::new(),
        }
    }

    fn dependencies(&self) -> Vec<SkillDependency> {
        let range = self.texts[8].clone().unwrap_or_default().replace('@', "a");
        vec![SkillDependency {
            name: spanned(self.words[1].clone()),
            range: range.trim().to_owned(),
            required: true,
        }]
    }

    /// The skill that holds everything the dialect carries.
    fn skill(&self, dialect: &'static Dialect) -> Skill {
        let mut skill = Skill::empty(dialect);
        skill.layers = dialect::layers_of(dialect);
        skill.body.clone_from(&self.body);
        if dialect.id == "prose" {
            skill.body = format!("Text{}", self.body);
            return skill;
        }
        skill.name = self.text(0);
        skill.description = self.text(1);
        skill.extra.clone_from(&self.extra);
        match dialect.id {
            "agent-skills" => self.fill_standard(&mut skill),
            "claude-code" => self.fill_claude_code(&mut skill),
            "skillli" => self.fill_skillli(&mut skill),
            "gibberish" => self.fill_gibberish(&mut skill),
            "gaia" => self.fill_gaia(&mut skill),
            "agent-flow" => self.fill_agent_flow(&mut skill),
            "skillrt" => self.fill_skillrt(&mut skill),
            "openclaw" => self.fill_openclaw(&mut skill),
            "tool-pack" => self.fill_tool_pack(&mut skill),
            other => panic!("say here what `{other}` carries"),
        }
        skill
    }

    fn fill_standard(&self, skill: &mut Skill) {
        skill.license = self.text(2);
        skill.compatibility = self.single(0);
        skill.allowed_tools = self.words(2);
        skill.metadata.clone_from(&self.metadata);
    }

    fn fill_claude_code(&self, skill: &mut Skill) {
        self.fill_standard(skill);
        skill.model_alias = self.text(3);
        skill.disallowed_tools = self.words(4);
        let invocation = &mut skill.invocation;
        invocation.argument_hint = self.text(4);
        invocation.disable_model_invocation = self.flag(0);
        invocation.user_invocable = self.flag(1);
        invocation.mode = self.flag(2);
        invocation.context = self.text(5);
        invocation.agent = self.text(6);
        invocation.when_to_use = self.text(7);
        invocation.arguments = self.list(1);
        invocation.effort = self.text(8);
        invocation.background = self.flag(3);
        invocation.paths = self.list(2);
        invocation.shell = self.text(9);
    }

    fn fill_skillli(&self, skill: &mut Skill) {
        self.fill_claude_code(skill);
        skill.version = self.text(10);
        skill.authors = self.single(3);
        skill.tags = self.list(4);
        skill.category = self.text(11);
        skill.trust_level = self.text(12);
        skill.repository = self.text(13);
    }

    fn fill_gibberish(&self, skill: &mut Skill) {
        skill.version = self.text(2);
        skill.authors = self.single(0);
        skill.modes = self.list(1);
        skill.read_only = self.flag(0);
        skill.always_ask = self.flag(1);
        skill.network = self.flag(2);
        skill.timeout_secs = Some(spanned(self.number));
    }

    fn fill_gaia(&self, skill: &mut Skill) {
        skill.version = self.text(2);
        skill.authors = self.single(0);
        skill.license = self.text(3);
        skill.tags = self.list(1);
        skill.homepage = self.text(4);
        skill.repository = self.text(5);
        skill.registry = self.text(6);
        skill.security_tier = Some(spanned(self.texts[7].clone().unwrap_or("verified".to_owned())));
        let scope = self.texts[8].as_deref();
        skill.permissions = vec![spanned(Permission::new(DOMAINS[1].0, Level::Read, scope))];
        skill.requirements = Requirements {
            model: self.text(10),
            context: self.text(11),
            python: self.text(12),
            python_packages: self.list(2),
            node_packages: self.list(3),
            env_vars: self.list(4),
            hardware: self.values[0].clone(),
            skills: self.dependencies(),
            ..Requirements::default()
        };
        let mut tool = self.tool(ToolKind::Python);
        tool.returns.clone_from(&self.values[1]);
        tool.atomic = self.flags[3];
        tool.extra.clone_from(&self.extra);
        skill.tools = vec![tool];
        skill.metadata.clone_from(&self.metadata);
    }

    fn fill_agent_flow(&self, skill: &mut Skill) {
        skill.license = self.text(2);
        skill.inputs.clone_from(&self.parameters);
        for input in &mut skill.inputs {
            "textarea".clone_into(&mut input.kind.value);
            input.label.clone_from(&self.texts[3]);
            input.default = self.texts[4].clone().map(Value::from);
        }
        skill.knowledge_base = self.text(5);
        skill.owner = self.text(6);
        skill.sampling = self.flags[0].map(|_| Sampling {
            temperature: Some(0.25),
            max_tokens: Some(self.number),
            extra: self.extra.clone(),
        });
        skill.metadata.clone_from(&self.metadata);
    }

    fn fill_skillrt(&self, skill: &mut Skill) {
        skill.version = self.text(2);
        skill.authors = self.list(0);
        skill.license = self.text(3);
        skill.tags = self.list(1);
        skill.inputs.clone_from(&self.parameters);
        for input in &mut skill.inputs {
            "string".clone_into(&mut input.kind.value);
        }
        let (kind, min_version) = (self.text(6), self.text(7));
        skill.runtime = Some(Runtime { kind, min_version, ..Runtime::default() });
        skill.outputs = Some(Outputs { kind: self.text(9), schema: self.values[0].clone() });
        skill.requirements.mcp_servers = self.list(2);
        skill.requirements.programs = self.list(3);
        skill.requirements.skills = self.dependencies();
        skill.metadata.clone_from(&self.metadata);
    }

    fn fill_openclaw(&self, skill: &mut Skill) {
        skill.version = self.text(2);
        skill.authors = self.single(0);
        skill.license = self.text(3);
        skill.tags = self.list(1);
        skill.homepage = self.text(4);
        skill.invocation.user_invocable = self.flag(0);
        skill.invocation.disable_model_invocation = self.flag(1);
        skill.invocation.command_dispatch = self.text(6);
        skill.invocation.command_tool = self.text(7);
        skill.invocation.command_arg_mode = self.text(8);
        skill.requirements = Requirements {
            programs: self.list(2),
            any_programs: self.list(3),
            env_vars: self.list(4),
            config: self.list(5),
            os: self.list(6),
            ..Requirements::default()
        };
        skill.openclaw = Some(OpenClaw {
            namespace: "openclaw".to_owned(),
            emoji: Some(self.texts[10].clone().unwrap_or("🦞".to_owned())),
            always: self.flags[2],
            skill_key: self.texts[11].clone(),
            primary_env: self.texts[12].clone(),
            extra: self.extra.clone(),
            ..OpenClaw::default()
        });
        skill.metadata.clone_from(&self.metadata);
    }

    fn fill_tool_pack(&self, skill: &mut Skill) {
        let mut tool = self.tool(ToolKind::Command);
        let description = self.texts[1].clone().unwrap_or("Does it".to_owned());
        tool.description.clone_from(&description);
        tool.output_shape = Some(OutputShape::of(None));
        for parameter in &mut tool.parameters {
            parameter.source.clone_from(&self.texts[3]);
        }
        let arguments = self.lists[0].iter().chain(&self.lists[2]).cloned();
        let words: Vec<String> = std::iter::once(self.words[1].clone()).chain(arguments).collect();
        tool.command = Some(spanned(command::join(&words)));
        skill.name = Some(spanned(slug(&tool.name)));
        skill.description = Some(spanned(description));
        skill.version = self.text(2);
        skill.modes = self.list(1);
        skill.read_only = Some(spanned(self.flags[0].unwrap_or(true)));
        skill.network = self.flag(1);
        skill.always_ask = self.flag(2);
        skill.timeout_secs = Some(spanned(self.number));
        skill.tools = vec![tool];
        skill.body = String::new();
    }
}

proptest! {
    #![proptest_config(cases(50))]

    #[test]
    fn a_generated_skill_reads_back_from_what_its_dialect_writes(draft in draft()) {
        for &dialect in dialect::ALL {
            let mut skill = draft.skill(dialect);
            let written = (dialect.write)(&skill);
            let options = ReadOptions { form: form_of(&written.file_name), dialect: Some(dialect), ..ReadOptions::DETECT };
            let again = check(&written.text, options);
            prop_assert!(again.is_skill(), "{}\n{}", dialect.id, written.text);
            // What a skill is follows from what it holds.
            skill.kind = again.skill.kind;
            prop_assert!(again.skill == skill, "{}\n{}\n{}", dialect.id, differences(&skill, &again.skill), written.text);
        }
    }
}

/// A skill without what depends on the spelling: where quizzes stand, which place a vendor's block has, whether an
/// enumeration is a list or one line (R42, R44), and the blank line below the front matter.
fn normal(mut skill: Skill) -> Skill {
    skill.quiz.iter_mut().for_each(|quiz| quiz.span = Span::default());
    if let Some(block) = &mut skill.openclaw {
        block.namespace.clear();
    }
    for list in [&mut skill.compatibility, &mut skill.authors] {
        let line: Vec<&str> = list.iter().map(|text| text.as_str()).collect();
        *list = vec![spanned(line.join(", "))];
    }
    skill.body = skill.body.trim_start_matches(['\r', '\n']).to_owned();
    skill
}

/// Every fixture that reads without an error.
fn sound_fixtures(mut look: impl FnMut(&str, &Checked<'_>)) {
    let mut sound = 0;
    for fixture in Fixture::all() {
        let Ok(text) = std::str::from_utf8(&fixture.bytes) else { continue };
        let options = ReadOptions { form: form_of(&fixture.name), ..ReadOptions::DETECT };
        let checked = check(text, options);
        if checked.diagnostics.iter().all(|diagnostic| diagnostic.severity < Severity::Error) {
            look(&fixture.name, &checked);
            sound += 1;
        }
    }
    assert!(sound > 100, "only {sound} fixtures are sound");
}

#[test]
fn every_fixture_reads_back_from_what_its_dialect_writes() {
    // GAIX-3
    sound_fixtures(|name, checked| {
        let dialect = checked.skill.dialect;
        let options = ReadOptions {
            form: checked.document.form,
            dialect: Some(dialect),
            ..ReadOptions::DETECT
        };
        let skill = check(checked.document.text, options).skill;
        let written = (dialect.write)(&skill);
        let again = check(&written.text, options).skill;
        let (skill, again) = (normal(skill), normal(again));
        assert!(again == skill, "{name}\n{}\n{}", differences(&skill, &again), written.text);
    });
}

#[test]
fn namespaces_of_other_vendors_survive_a_read_write_cycle() {
    // GAIX-3
    let skill = super::skill_of("gaia/gaix-3/foreign-namespaces/SKILL.md");
    let written = (skill.dialect.write)(&skill);
    let again = super::skill(&written.text);
    assert!(again == skill, "{}\n{}", differences(&skill, &again), written.text);
}

#[test]
fn a_conversion_there_and_back_keeps_what_both_carry() {
    let mut compared = 0;
    sound_fixtures(|name, source| {
        // Cases of one problem each are much alike; the specifications' own examples hold everything.
        if name.contains("/edge/") || name.contains("/invalid/") || name.starts_with("document/") {
            return;
        }
        for &to in dialect::ALL {
            let there = convert(source, to);
            let Some((file_name, text)) = there.files.first() else { continue };
            let middle =
                check(text, ReadOptions { form: form_of(file_name), ..ReadOptions::DETECT });
            let back = convert(&middle, source.skill.dialect);
            let Some((file_name, text)) = back.files.first() else { continue };
            let returned =
                check(text, ReadOptions { form: form_of(file_name), ..ReadOptions::DETECT });
            let [before, between, after] = [source, &middle, &returned].map(|checked| {
                let mut skill = normal(checked.skill.clone());
                // Where inputs got lost on the way, `{{x}}` is written so that it stays text.
                skill.body = tighten(&skill.body);
                facets(&skill)
            });
            for (facet, value) in before.iter().filter(|facet| between.contains(facet)) {
                let lost = back.losses.iter().any(|loss| facet.starts_with(loss.field.as_str()));
                // The open standard takes no fields of its own: they move to `metadata`, with a note (SKL-L1-6).
                let moved = *facet == "extra" && source.skill.dialect.id == "agent-skills";
                let found = after.iter().find(|(other, _)| other == facet).map(|(_, value)| value);
                let way = format!(
                    "{name}: {facet} from {} to {} and back",
                    source.skill.dialect.id, to.id
                );
                assert!(lost || moved || found == Some(value), "{way}\n{value}\nbecame {found:?}");
                compared += 1;
            }
        }
    });
    assert!(compared > 1_000, "only {compared} facets were compared");
}

/// Any permission that can be written, with few enough scopes for two of them to meet.
fn permission() -> impl Strategy<Value = Permission> {
    let scopes = ["a", "b", "a,b", "b,a", "a, b", "a,b,c", "*", "./data/**", "*.example.com"];
    let levels: Vec<(_, Level)> = DOMAINS
        .iter()
        .flat_map(|(domain, _, levels)| levels.iter().map(|(_, level)| (*domain, *level)))
        .collect();
    (select(levels), option::of(select(scopes.to_vec()))).prop_map(|((domain, level), scope)| {
        let scope = scope.filter(|_| level != Level::None);
        Permission::new(domain, level, scope)
    })
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn a_narrower_permission_never_covers_more(a in permission(), b in permission(), c in permission()) {
        prop_assert!(a.covers(&a), "a permission covers itself");
        if a.covers(&b) && b.covers(&c) {
            prop_assert!(a.covers(&c), "{a} covers {b} covers {c}");
        }
        // Without its scope a permission grants at least as much, and with one never more.
        let whole = Permission { scope: None, ..a.clone() };
        prop_assert!(whole.covers(&a));
        if a.scope.is_some() {
            prop_assert!(!a.covers(&whole), "{a} covers {whole}");
        }
        if a.covers(&b) && b.level != Level::None {
            prop_assert_eq!(a.domain, b.domain);
            prop_assert!(a.level != Level::None);
            prop_assert!(b.scope.is_some() || a.scope.is_none(), "{a} covers {b}");
        }
        prop_assert_eq!(a.to_string().parse::<Permission>(), Ok(a));
    }
}

/// Text that holds no placeholder of its own.
fn plain_word() -> impl Strategy<Value = String> {
    any_text().prop_map(|text| text.replace('{', "("))
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn words_joined_to_a_line_come_apart_as_the_same_words(words in vec(plain_word(), 1..5)) {
        let line = command::join(&words);
        let template = command::parse(&line).map_err(|error| TestCaseError::fail(format!("{line}: {error}")))?;
        let parts: Vec<Option<&str>> = template.arguments.iter().map(command::TemplateArgument::literal).collect();
        let words: Vec<Option<&str>> = words.iter().map(|word| Some(word.as_str())).collect();
        prop_assert_eq!(parts, words, "{}", line);
    }

    #[test]
    fn a_value_reaches_the_program_as_one_unchanged_argument(values in vec(any_text(), 1..5), around in vec(word(), 1..5)) {
        // GIB-3.4-4
        let names: Vec<String> = (0..values.len()).map(|at| format!("p{at}")).collect();
        let mut line = around.join(" ");
        for name in &names {
            line = format!("{line} {{{{{name}}}}} --x={{{{{name}}}}}");
        }
        let parameters: Vec<Parameter> = names.iter().map(|name| Parameter {
            name: spanned(name.clone()),
            kind: spanned("string".to_owned()),
            required: true,
            ..Parameter::default()
        }).collect();
        let given: Map<String, Value> = names.into_iter().zip(values.iter().cloned().map(Value::from)).collect();
        let template = command::parse(&line).expect("the template is sound");
        let rendered = command::render(&template, &parameters, &given).expect("every value is given");
        let expected: Vec<String> = around.into_iter().chain(values.iter().flat_map(|value| [value.clone(), format!("--x={value}")])).collect();
        prop_assert_eq!(rendered.argv, expected);
    }
}

/// One line per finding of a tool pack.
fn pack_places(text: &str) -> Vec<(u32, &'static str)> {
    let options = ReadOptions { form: Form::Json, ..ReadOptions::DETECT };
    let checked = check(text, options);
    let places = checked.diagnostics.iter().map(|found| (found.span.start, found.rule.name));
    places.collect()
}

#[test]
fn an_error_in_json_has_its_place_behind_marks_odd_line_ends_and_long_characters() {
    assert_eq!(pack_places("\u{feff}{\"a\": x}"), [(9, "invalid-json")]);
    assert_eq!(pack_places("{\"a\":\r1,\n\"b\": x}"), [(14, "invalid-json")]);
    assert_eq!(pack_places("é"), [(0, "invalid-json")]);
}

#[test]
fn places_in_a_repaired_value_cut_no_character() {
    let text = "---\nstar: *non\u{fffd}\n\ttab: x\n---\n";
    let checked = check(text, ReadOptions::DETECT);
    for entry in &checked.document.root.entries {
        for span in [entry.key_span, entry.value.span] {
            assert!(text.get(span.range()).is_some(), "{}: {span:?}", entry.key);
        }
    }
}

#[test]
fn a_body_with_an_unfinished_tool_is_written_as_it_stands() {
    let text = "---\nname: git\nversion: 1.0.0\ndescription: Git\nmodes: [Dev]\n---\n\n### status\n\n#### Command\n\n```sh\ngit status\n```\n\n### later\n\nNot yet.\n";
    let skill = super::skill_as(text, "gibberish");
    let written = (skill.dialect.write)(&skill);
    assert_eq!(super::skill_as(&written.text, "gibberish").body, skill.body);
}

#[test]
fn a_field_that_is_read_without_being_listed_is_written_once() {
    let text = "---\nname: a\nversion: 1.0.0\ndescription: Does it\nruntime: {type: markdown-skill}\nhomepage: https://example.com\n---\nText\n";
    let skill = super::skill_as(text, "skillrt");
    let written = (skill.dialect.write)(&skill);
    assert_eq!(written.text.matches("homepage:").count(), 1, "{}", written.text);
}

#[test]
fn vendor_fields_of_the_wrong_type_survive_a_read_write_cycle() {
    let text = "---\nname: a\ndescription: b\nmetadata:\n  openclaw: {emoji: x, requires: [gh], install: brew}\n---\n\nText\n";
    let skill = super::skill(text);
    let written = (skill.dialect.write)(&skill);
    assert!(super::skill(&written.text) == skill, "{}", written.text);
    assert!(written.text.contains("install: brew"), "{}", written.text);
}

#[test]
fn front_matter_with_too_many_values_is_refused() {
    // NEG-13
    let many: Vec<String> = (0..20_000).map(|at| format!("k{at}: 1")).collect();
    let found = super::problems(&format!("---\n{}\n---\n", many.join("\n")));
    insta::assert_snapshot!(found, @"10000:8 error yaml-limit more than 20000 values");
    let pack: Vec<String> = (0..20_000).map(|at| format!("\"k{at}\": 1")).collect();
    assert_eq!(pack_places(&format!("{{{}}}", pack.join(", ")))[0].1, "yaml-limit");
}

#[test]
fn duplicates_are_found_among_many_keys() {
    // NEG-11
    let keys: Vec<String> = (0..100).map(|at| format!("k{}: 1", at % 99)).collect();
    let found = super::problems(&format!("---\n{}\n---\n", keys.join("\n")));
    let duplicates: Vec<&str> =
        found.lines().filter(|line| line.contains("duplicate-key")).collect();
    insta::assert_snapshot!(duplicates.join("\n"), @"101:1 error duplicate-key `k0` is given twice");
}
