//! `prowess convert`: every dialect to every other, with an honest list of losses.

use std::fmt::Write as _;

use prowess_format::convert::{Conversion, convert, facets};
use prowess_format::diagnostic::Severity;
use prowess_format::dialect::{self, Dialect};
use prowess_format::document::Form;
use prowess_format::skill::Skill;
use prowess_format::{Checked, ReadOptions, check, form_of};

use serde_json::{Value, json};

use crate::{Fixture, named};

/// Converts a text whose dialect is detected.
fn converted(text: &str, to: &str) -> Conversion {
    convert(&check(text, ReadOptions::DETECT), named(to))
}

/// Converts a fixture where it lies.
fn converted_fixture(path: &str, to: &'static Dialect) -> Conversion {
    Fixture::open(path).check(None, |_, checked| convert(checked, to))
}

/// Files, losses and notes as a person would want to read them.
fn report(conversion: &Conversion) -> String {
    let mut report = String::new();
    for (path, text) in &conversion.files {
        let _ = write!(report, "=== {path}\n{text}");
    }
    report + &losses(conversion)
}

fn losses(conversion: &Conversion) -> String {
    let mut report = String::new();
    for loss in &conversion.losses {
        let _ = writeln!(report, "loss {}: {}", loss.field, loss.detail);
    }
    for note in &conversion.notes {
        let _ = writeln!(report, "note {note}");
    }
    report
}

/// The errors of a conversion's files, read in the dialect they were written for.
fn errors(conversion: &Conversion, to: &'static Dialect) -> Vec<String> {
    let mut errors = Vec::new();
    for (path, text) in &conversion.files {
        if path != "tools.py" {
            let options =
                ReadOptions { form: form_of(path), dialect: Some(to), ..ReadOptions::DETECT };
            let checked = check(text, options);
            let serious =
                checked.diagnostics.iter().filter(|found| found.severity == Severity::Error);
            errors.extend(serious.map(|found| format!("{} {}", found.rule.name, found.message)));
        }
    }
    errors
}

fn has_errors(checked: &Checked<'_>) -> bool {
    !checked.is_skill() || checked.diagnostics.iter().any(|found| found.severity == Severity::Error)
}

/// The specifications' own examples, one or more of each dialect.
const EXAMPLES: &[&str] = &[
    "agent-skills/layer-1/hello-world/SKILL.md",
    "claude-code/template-claude-code/my-skill/SKILL.md",
    "skillli/template-quiz/api-onboarding/SKILL.md",
    "gibberish/8.1/git/SKILL.md",
    "gaia/2.1/web-search/SKILL.md",
    "agent-flow/11.2/code-review/SKILL.md",
    "skillrt/4-fragment/every-field/SKILL.md",
    "openclaw/OC-4/requires-everything/SKILL.md",
    "openclaw/section-8/shelf-search/SKILL.md",
    "tool-pack/page_outline/page_outline.tool.json",
    "prose/3.1/finding-uk-train-times/SKILL.md",
];

#[test]
fn losses_of_every_example_in_every_dialect() {
    for path in EXAMPLES {
        let mut table = String::new();
        for to in dialect::ALL {
            let conversion = converted_fixture(path, to);
            let _ = write!(table, "--- {}\n{}", to.id, losses(&conversion));
        }
        let name = path.rsplit_once('/').map_or(*path, |(folder, _)| folder);
        insta::assert_snapshot!(format!("losses_{}", name.replace(['/', '.'], "_")), table);
    }
}

/// The errors of every conversion of a valid skill. Of the dialects that are for tools, gibberish says so.
fn errors_everywhere(name: &str, checked: &Checked<'_>) -> usize {
    if has_errors(checked) {
        return 0;
    }
    for to in dialect::ALL {
        let mut errors = errors(&convert(checked, to), to);
        errors.retain(|error| to.id != "gibberish" || error != "no-tools no tool is defined");
        assert_eq!(errors, [""; 0], "{name} to {}", to.id);
    }
    dialect::ALL.len()
}

#[test]
fn whatever_is_valid_stays_valid_in_every_other_dialect() {
    let fixtures = Fixture::all();
    let seen: usize = fixtures
        .iter()
        .map(|fixture| fixture.check(None, |_, checked| errors_everywhere(&fixture.name, checked)))
        .sum();
    assert!(seen > 2_000, "only {seen} conversions");
}

#[test]
fn real_skills_stay_valid_in_every_other_dialect() {
    let Some(corpus) = prowess_testkit::corpus() else { return };
    let is_skill = |name: &str| name.to_lowercase().ends_with(".md");
    // Every fourth: neighbours are much alike.
    for path in prowess_testkit::files_below(&corpus, &is_skill).iter().step_by(4) {
        let bytes = prowess_testkit::bytes(path);
        let mut text = std::borrow::Cow::Borrowed("");
        let checked = prowess_format::check_bytes(&bytes, &mut text, ReadOptions::DETECT);
        errors_everywhere(&path.display().to_string(), &checked);
    }
}

#[test]
fn whatever_is_wrong_can_still_be_converted() {
    for fixture in Fixture::all() {
        fixture.check(None, |_, checked| {
            for to in dialect::ALL.iter().filter(|_| has_errors(checked)) {
                let conversion = convert(checked, to);
                let nothing = conversion.files.is_empty();
                assert!(checked.is_skill() || nothing, "{} to {}", fixture.name, to.id);
            }
        });
    }
}

#[test]
fn a_skill_in_its_own_dialect_is_returned_byte_for_byte() {
    for fixture in Fixture::all() {
        fixture.check(None, |text, checked| {
            if checked.is_skill() {
                let conversion = convert(checked, checked.skill.dialect);
                assert_eq!(conversion.files.len(), 1, "{}", fixture.name);
                assert_eq!(conversion.files[0].1, text, "{}", fixture.name);
                assert!(conversion.losses.is_empty() && conversion.notes.is_empty());
            }
        });
    }
}

/// What a skill says, without what goes without saying: the defaults that no dialect needs to write down.
fn said(skill: &Skill) -> Vec<(&'static str, Value)> {
    let unsaid = [
        ("network", json!(false)),
        ("read_only", json!(false)),
        ("always_ask", json!(false)),
        ("modes", json!(["Global"])),
        ("timeout_secs", json!(30)),
        ("invocation.user_invocable", json!(true)),
        ("invocation.disable_model_invocation", json!(false)),
        ("invocation.mode", json!(false)),
        ("invocation.background", json!(false)),
        ("invocation.command_arg_mode", json!("raw")),
        ("openclaw.always", json!(false)),
        ("runtime.type", json!("markdown-skill")),
        ("version", json!("0.0.0")),
        ("security_tier", json!("experimental")),
    ];
    let mut said = facets(skill);
    for (name, value) in &mut said {
        match (*name, value) {
            ("permissions", Value::Array(grants)) => {
                grants
                    .retain(|grant| grant.as_str().is_some_and(|grant| !grant.ends_with(":none")));
            }
            // The two widgets for text are one type elsewhere (R13).
            ("inputs", Value::Array(inputs)) => {
                for input in inputs {
                    if input["type"] == "textarea" || input["type"] == "text" {
                        input["type"] = json!("string");
                    }
                }
            }
            // A list here, one line there (R42, R44).
            ("compatibility" | "authors", texts) => {
                let words: Vec<&str> =
                    texts.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                *texts = json!(words.join(", "));
            }
            ("body", Value::String(body)) => *body = prowess_format::template::tighten(body.trim()),
            _ => {}
        }
    }
    said.retain(|facet| !unsaid.contains(facet) && facet.1 != json!([]));
    said
}

/// Reads the first file of a conversion as anybody would.
fn read_back(conversion: &Conversion) -> Option<Skill> {
    let (path, text) = conversion.files.first()?;
    Some(check(text, ReadOptions { form: form_of(path), ..ReadOptions::DETECT }).skill)
}

/// What neither step lists as lost, moved or changed is there again, as it was.
#[test]
fn there_and_back_keeps_what_both_carry() {
    // The document layer's fixtures are one plain skill in many spellings.
    for fixture in Fixture::all().iter().filter(|fixture| !fixture.name.starts_with("document/")) {
        fixture.check(None, |_, checked| {
            if has_errors(checked) {
                return;
            }
            for to in dialect::ALL.iter().filter(|to| ***to != *checked.skill.dialect) {
                let there = convert(checked, to);
                // Several tools become several packs, which are several skills.
                let Some((path, text)) = there.files.first().filter(|_| there.files.len() == 1)
                else {
                    continue;
                };
                let options =
                    ReadOptions { form: form_of(path), dialect: Some(to), ..ReadOptions::DETECT };
                let back = convert(&check(text, options), checked.skill.dialect);
                let Some(skill) = read_back(&back) else { continue };
                let now = said(&skill);
                let lost = |facet: &str| {
                    let mut losses = there.losses.iter().chain(&back.losses);
                    losses.any(|loss| {
                        loss.field.starts_with(facet)
                            || (facet == "extra" && !loss.field.contains('.'))
                    })
                };
                for (facet, value) in said(&checked.skill) {
                    // A migrated skill is experimental, and a pack's text is written anew.
                    // Without the namespace that counts, the next one counts (OC-1).
                    let reset = (facet == "security_tier" && to.id == "openclaw")
                        || (facet == "metadata" && lost("openclaw"))
                        || (facet == "body" && to.id == "tool-pack");
                    let new = now
                        .iter()
                        .find(|(name, _)| *name == facet)
                        .map_or(&Value::Null, |(_, new)| new);
                    assert!(
                        reset || lost(facet) || holds(new, &value),
                        "{} via {}: {facet} {value} became {new}",
                        fixture.name,
                        to.id
                    );
                }
            }
        });
    }
}

/// Whether everything that `value` says is there: a map may have more entries.
fn holds(now: &Value, value: &Value) -> bool {
    match (now, value) {
        (Value::Object(now), Value::Object(value)) => {
            value.iter().all(|(key, value)| now.get(key) == Some(value))
        }
        _ => now == value,
    }
}

/// Unknown fields go along with their comments, and the source's own line breaks stay.
#[test]
fn unknown_fields_keep_their_comments() {
    let text = "---\nname: note-taker\ndescription: Takes notes.\n# Who looks after it.\nteam: desk # ask there first\n\n# A list,\n# for no reader that is known here.\nshelves:\n  - one   # the upper\n  - two\ninputs:\n  - {name: topic, type: text}\n---\n\nNotes on {{topic}}.\n";
    insta::assert_snapshot!(report(&converted(text, "skillrt")), @r"
    === SKILL.md
    ---
    name: note-taker
    version: 0.0.0
    description: Takes notes.
    runtime:
      type: markdown-skill
    inputs:
      - name: topic
        type: string
    # Who looks after it.
    team: desk # ask there first
    # A list,
    # for no reader that is known here.
    shelves:
      - one   # the upper
      - two
    ---

    Notes on {{topic}}.
    note the source has no version: `0.0.0` is used instead
    ");
    let windows = converted(&text.replace('\n', "\r\n"), "skillrt");
    assert!(!windows.files[0].1.replace("\r\n", "").contains('\n'));
}

#[test]
fn prompts_carry_their_inputs_both_ways() {
    let flow = "---\nname: summary\ndescription: Sums up.\ninputs:\n  - name: article\n    label: Article\n    type: textarea\n    required: true\n  - name: style\n    type: text\n    default: short\nmodel: {temperature: 0.2}\n---\n\nSum up {{article}} in a {{style}} way.\n";
    insta::assert_snapshot!(report(&converted(flow, "skillrt")), @r"
    === SKILL.md
    ---
    name: summary
    version: 0.0.0
    description: Sums up.
    runtime:
      type: markdown-skill
    inputs:
      - name: article
        label: Article
        type: string
        required: true
      - name: style
        type: string
        default: short
    ---

    Sum up {{article}} in a {{style}} way.
    loss sampling.temperature: `temperature` can't be carried: skillrt has no place for it
    note the source has no version: `0.0.0` is used instead
    ");
    let procedure = "---\nname: summary\nversion: 1.2.0\ndescription: Sums up.\ninputs:\n  - {name: article, type: string, required: true}\n  - {name: count, type: number, default: 3}\n---\n\nSum up {{ article }} in {{ count }} lines, not {{{ x }}}.\n";
    insta::assert_snapshot!(report(&converted(procedure, "agent-flow")), @r#"
    === SKILL.md
    ---
    name: summary
    description: Sums up.
    inputs:
      - name: article
        type: text
        required: true
      - name: count
        type: text
        default: "3"
    metadata:
      version: 1.2.0
    ---

    Sum up {{article}} in {{count}} lines, not {{{ x }}}.
    loss inputs.count.type: the input `count` changes its type from `number` to `text`
    note kept in `metadata`: version
    "#);
}

/// Braces that mean nothing in the source mean nothing in the target.
#[test]
fn braces_in_instructions_stay_text_in_a_prompt() {
    let text = "---\nname: templates\ndescription: About templates.\n---\n\nWrite `{{name}}` where the name goes.\n";
    insta::assert_snapshot!(report(&converted(text, "agent-flow")), @r"
    === SKILL.md
    ---
    name: templates
    description: About templates.
    ---

    Write `{{ name }}` where the name goes.
    note `{{x}}` without an input is written as `{{ x }}`, which stays text
    ");
}

// TP-5
#[test]
fn a_tool_pack_becomes_a_skill_and_the_same_pack_again() {
    let packs = Fixture::all().into_iter().filter(|fixture| form_of(&fixture.name) == Form::Json);
    let mut seen = 0;
    for fixture in packs {
        fixture.check(None, |_, checked| {
            if has_errors(checked) {
                return;
            }
            let skill = convert(checked, named("gibberish"));
            let fields: Vec<&str> = skill
                .losses
                .iter()
                .map(|loss| loss.field.as_str())
                .filter(|field| field.starts_with("tools"))
                .collect();
            // GIB §3.2 knows no capitals in a tool's name.
            if fixture.name.contains("upper-case") {
                return;
            }
            assert_eq!(fields, [""; 0], "{}", fixture.name);
            let back = convert(&check(&skill.files[0].1, ReadOptions::DETECT), named("tool-pack"));
            let again = read_back(&back).expect("one pack");
            assert_eq!(again.tools, checked.skill.tools, "{}", fixture.name);
            seen += 1;
        });
    }
    assert!(seen > 10);
}

// TP-5
#[test]
fn texts_that_markdown_would_change_survive_in_a_tool_pack() {
    let pack = r#"{"name": "odd", "description": "Uses *stars* and <b>tags</b>", "parameters": {"x": {"type": "string", "description": "one | two `three` (default: not this)", "default": "a, b", "enum": ["a, b", "c"], "source": "context.url"}, "list": {"type": "array", "default": ["a", "b,c"]}}, "command": {"program": "echo", "args": ["{{x}}", "two words", "{{list}}"], "env": {"LC_ALL": "C"}, "cwd": "/tmp"}}"#;
    let checked = check(pack, ReadOptions { form: Form::Json, ..ReadOptions::DETECT });
    let skill = convert(&checked, named("gibberish"));
    insta::assert_snapshot!(report(&skill), @r#"
    === SKILL.md
    ---
    name: odd
    version: 0.0.0
    description: Uses *stars* and <b>tags</b>
    read_only: true
    x-tool-pack:
      odd:
        env:
          LC_ALL: C
        cwd: /tmp
        description: Uses *stars* and <b>tags</b>
        parameters:
          x:
            enum:
              - a, b
              - c
            source: context.url
            description: "one | two `three` (default: not this)"
          list:
            default:
              - a
              - b,c
    ---

    ### odd

    Uses *stars* and <b>tags</b>

    #### Parameters

    | Name | Type | Required | Description |
    |------|------|----------|-------------|
    | x | string | no | one \| two `three` (default: not this) (default: a, b) |
    | list | array | no | (default: a, b,c) |

    #### Command

    ```bash
    echo {{x}} 'two words' {{list}}
    ```
    note the source has no version: `0.0.0` is used instead
    "#);
    let back = convert(&check(&skill.files[0].1, ReadOptions::DETECT), named("tool-pack"));
    assert_eq!(read_back(&back).map(|skill| skill.tools), Some(checked.skill.tools));
}

// TP-5
#[test]
fn a_skill_with_several_tools_gives_a_pack_for_each() {
    let conversion = converted_fixture("gibberish/8.1/git/SKILL.md", named("tool-pack"));
    let paths: Vec<&str> = conversion.files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["git_status.tool.json", "git_log.tool.json", "git_diff.tool.json"]);
    assert!(!conversion.losses.iter().any(|loss| loss.field.starts_with("tools")));
}

#[test]
fn prose_gets_its_name_and_description_from_the_text() {
    let conversion = converted(
        "# Finding Train Times!\n\nLook at the board\nfirst.\n\nThen ask.\n",
        "agent-skills",
    );
    insta::assert_snapshot!(report(&conversion), @r"
    === SKILL.md
    ---
    name: finding-train-times
    description: Look at the board first.
    ---

    # Finding Train Times!

    Look at the board
    first.

    Then ask.
    note the name `finding-train-times` comes from the first heading
    note the description comes from the first paragraph
    ");
    let empty = converted("", "agent-skills");
    insta::assert_snapshot!(report(&empty), @"note nothing is written: there is no description, and no text to take one from");
}

#[test]
fn names_and_versions_take_the_form_that_the_target_wants() {
    let text = "---\nname: My Weather_Notes\ndescription: Notes.\nversion: v2.1\nmetadata:\n  openclaw: {emoji: \"x\"}\n---\n\nNotes.\n";
    insta::assert_snapshot!(report(&converted(text, "skillli")), @r"
    === SKILL.md
    ---
    name: my-weather-notes
    description: Notes.
    metadata:
      version: 2.1.0
      openclaw:
        emoji: x
    ---

    Notes.
    loss name: `My Weather_Notes` is written as `my-weather-notes`
    loss version: `v2.1` is written as `2.1.0`
    note without `--dialect skillli` the file is read as openclaw, because of fields that it still contains
    note kept under `metadata.openclaw`, which only OpenClaw reads: emoji
    ");
}

/// GAIA's own fields go where its implementation reads them, and come back from there.
#[test]
fn gaia_fields_are_kept_in_metadata_and_come_back() {
    let there = converted_fixture("gaia/2.1/web-search/SKILL.md", named("agent-skills"));
    insta::assert_snapshot!(report(&there), @r#"
    === SKILL.md
    ---
    name: web-search
    description: Search the web using Brave Search API
    license: MIT
    metadata:
      version: 1.0.0
      author: AMD
      tags: search, web, brave
      repository: https://github.com/amd/gaia-skills
      homepage: https://github.com/amd/gaia-skills/tree/main/web-search
      gaia:
        security_tier: verified
        permissions:
          - network:read
          - filesystem:none
        requirements:
          model: ">=7B"
          context: ">=8K"
          python: ">=3.10"
          dependencies:
            - requests>=2.31
          node_dependencies:
            - "@brave/brave-search-mcp-server"
          env_vars:
            - BRAVE_API_KEY
          hardware:
            npu: optional
            gpu_vram: ">=0GB"
        tools:
          - name: search_web
            description: Search the web for current information
            parameters:
              query:
                type: string
                required: true
              max_results:
                type: integer
                required: false
                default: 5
            returns:
              type: object
            atomic: false
      registry: https://registry.amd-gaia.ai
    ---

    # Web Search Skill

    Search the web for current information using the Brave Search API.
    loss tools: the tool can't be carried: agent-skills has no tools; declared under `metadata.gaia`, which only GAIA reads
    note comments in the front matter are not copied: 6 lines
    note without `--dialect agent-skills` the file is read as gaia, because of fields that it still contains
    note kept in `metadata`: registry
    note kept under `metadata.gaia`, which only GAIA reads: security tier, permissions, smallest model, smallest context window, Python version, Python packages, Node packages, environment variables, hardware hint
    "#);
    let back = convert(&check(&there.files[0].1, crate::options("agent-skills")), named("gaia"));
    insta::assert_snapshot!(report(&back), @r#"
    === SKILL.md
    ---
    name: web-search
    version: 1.0.0
    description: Search the web using Brave Search API
    author: AMD
    license: MIT
    permissions:
      - network:read
      - filesystem:none
    requirements:
      model: ">=7B"
      context: ">=8K"
      python: ">=3.10"
      dependencies:
        - requests>=2.31
      node_dependencies:
        - "@brave/brave-search-mcp-server"
      env_vars:
        - BRAVE_API_KEY
      hardware:
        npu: optional
        gpu_vram: ">=0GB"
    tools:
      - name: search_web
        description: Search the web for current information
        parameters:
          query:
            type: string
            required: true
          max_results:
            type: integer
            required: false
            default: 5
        returns:
          type: object
        atomic: false
    security_tier: verified
    registry: https://registry.amd-gaia.ai
    tags: [search, web, brave]
    homepage: https://github.com/amd/gaia-skills/tree/main/web-search
    repository: https://github.com/amd/gaia-skills
    ---

    # Web Search Skill

    Search the web for current information using the Brave Search API.
    "#);
}

/// A grant that can't be said exactly is left out: writing it would widen it.
#[test]
fn permissions_are_never_widened() {
    let text = "---\nname: grants\nversion: 1.0.0\ndescription: Grants.\npermissions:\n  - network:read:api.example.com\n  - network:write:db.example.com\n  - filesystem:read:./in/**\n  - filesystem:read:./both/**\n  - filesystem:write:./both/**\n  - env:read:HOME\n  - shell:execute:git\nsecurity_tier: experimental\ntools: []\n---\n\nText.\n";
    insta::assert_snapshot!(report(&converted(text, "skillrt")), @r"
    === SKILL.md
    ---
    name: grants
    version: 1.0.0
    description: Grants.
    runtime:
      type: markdown-skill
    permissions:
      network:
        - db.example.com
      filesystem:
        - ./both/**
      env:
        - HOME
    ---

    Text.
    loss permissions: `network:read:api.example.com`, `filesystem:read:./in/**`, `shell:execute:git` can't be expressed in skillrt, so it is not granted
    ");
}

#[test]
fn a_field_with_another_meaning_is_not_misread() {
    let text = "---\nname: modes\nversion: 1.0.0\ndescription: Modes.\nmode: fast\npermissions: [\"network:none\"]\ntools: []\nsecurity_tier: experimental\n---\n\nText.\n";
    insta::assert_snapshot!(report(&converted(text, "claude-code")), @r"
    === SKILL.md
    ---
    name: modes
    description: Modes.
    metadata:
      version: 1.0.0
      gaia:
        permissions:
          - network:none
      mode: fast
    ---

    Text.
    loss mode: `mode` can't be carried: claude-code has no place for it
    note `mode` is not a field of claude-code: it went to `metadata`
    note without `--dialect claude-code` the file is read as gaia, because of fields that it still contains
    ");
}

#[test]
fn a_value_that_nobody_understands_is_not_lost_in_silence() {
    let text = "---\nname: modes\ndescription: Modes.\nmode: fast\nargument-hint: \"[what]\"\n---\n\nText.\n";
    insta::assert_snapshot!(losses(&converted(text, "skillli")), @r"loss mode: `mode` is not understood in the source, so it can't be carried");
}

#[test]
fn a_file_that_cannot_be_read_gives_nothing() {
    let conversion = converted("---\n- a list\n---\n", "gaia");
    assert!(conversion.files.is_empty());
    insta::assert_snapshot!(losses(&conversion), @"note the file can't be read, so there is nothing to convert");
}

/// Lines that front matter is made of, sensible ones and others.
const LINES: &[&str] = &[
    "name: a",
    "name: \"Ä b/c\"",
    "version: v1",
    "description: |\n  two\n  lines",
    "description: 7",
    "# a comment",
    "inputs:\n  - {name: x, type: text}\n  - {name: y, type: number, default: [1]}",
    "tools:\n  - {name: t, parameters: {p: {type: object}}}",
    "tools: [1, {name: null}]",
    "permissions: [\"network:read\", \"shell:execute:a,b\"]",
    "permissions: {network: [\"*\"]}",
    "metadata: {gaia: {tools: [{name: q}]}, openclaw: {requires: {bins: [sh]}}, version: 2}",
    "metadata: []",
    "actions:\n  - {name: \"a b\", handler: \"../x.py:y\"}",
    "network: true",
    "x: &anchor [1, 2]",
    "y: *anchor",
    "quiz: {questions: [{question: q, options: [{label: l}]}]}",
    "hooks: {PreToolUse: [{hooks: [{type: command}]}]}",
    "model: {temperature: 1}",
    "? complex",
    "  - odd",
    "\"quoted key\": v",
    "<<: {a: 1}",
];

const BODIES: &[&str] = &[
    "",
    "\n# Title\n\nText {{x}} and {{ z }}.\n",
    "\n### tool_name\n\n#### Command\n\n```bash\necho {{x}}\n```\n",
    "\n### setup\n\n{baseDir}\n\n#### Parameters\n\nNone\n",
    "\r\nText\r\n",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
    /// Any text can be converted to any dialect and migrated; what comes out can be read.
    #[test]
    fn any_text_is_converted_without_panic(
        lines in proptest::collection::vec(proptest::sample::select(LINES), 0..8),
        body in proptest::sample::select(BODIES),
        noise in "\\PC{0,12}",
    ) {
        let text = format!("---\n{}\n{noise}\n---\n{body}", lines.join("\n"));
        let checked = check(&text, ReadOptions::DETECT);
        for to in dialect::ALL {
            let conversion = convert(&checked, to);
            if let Some(skill) = read_back(&conversion) {
                proptest::prop_assert!(!facets(&skill).is_empty() || skill.body.is_empty());
            }
        }
        prowess_format::migrate::migrate(&checked, &["x.py".to_owned()], None);
    }
}
