//! OpenClaw: the shape of published skills, and that of seed 001 §8. Migration is tested elsewhere.

use insta::assert_snapshot;
use prowess_format::skill::{SkillKind, ToolKind};

use crate::{Fixture, problems, problems_as, shown, skill, skill_as, skill_of};

/// A skill with these lines in its front matter.
fn with(fields: &str) -> String {
    format!("---\nname: weather\ndescription: Note the weather\n{fields}---\n\n# Weather\n")
}

fn texts(texts: &[prowess_format::span::Spanned<String>]) -> Vec<&str> {
    texts.iter().map(|text| text.as_str()).collect()
}

/// The findings of a fixture where it lies.
fn found(path: &str) -> String {
    Fixture::open(path).check(None, |text, checked| shown(text, &checked.diagnostics, false))
}

// OC-1
#[test]
fn the_first_namespace_wins_and_nothing_is_merged() {
    let order = ["openclaw", "clawdbot", "clawdis", "moltbot"];
    for (at, namespace) in order.iter().enumerate() {
        // Written in the opposite order, so that the place does not decide.
        let lines: String = order[at..]
            .iter()
            .rev()
            .map(|name| ["  ", name, ": {emoji: ", name, "}\n"].concat())
            .collect();
        let skill = skill(&with(&format!("metadata:\n{lines}")));
        assert_eq!(skill.dialect.id, "openclaw");
        let block = skill.openclaw.expect("a block");
        assert_eq!(
            (block.namespace.as_str(), block.emoji.as_deref()),
            (*namespace, Some(*namespace))
        );
        // The others are kept, but not read.
        assert_eq!(skill.metadata.len(), order.len() - at - 1);
    }
    let two = skill(&with(
        "metadata:\n  moltbot: {always: true, requires: {bins: [jq]}}\n  clawdbot: {requires: {env: [KEY]}}\n",
    ));
    assert_eq!(two.openclaw.as_ref().and_then(|block| block.always), None);
    assert_eq!(
        (texts(&two.requirements.programs), texts(&two.requirements.env_vars)),
        (vec![], vec!["KEY"])
    );
}

// OC-2
#[test]
fn vendor_fields_are_found_without_their_namespace() {
    for path in ["fields-at-top-level", "fields-under-metadata", "hoisted-clawdis"] {
        let skill = skill_of(&format!("openclaw/OC-2/{path}/SKILL.md"));
        assert_eq!(skill.dialect.id, "openclaw", "{path}");
        assert_eq!(texts(&skill.requirements.programs), ["curl"], "{path}");
        assert_eq!(skill.openclaw.and_then(|block| block.emoji).as_deref(), Some("🌦️"), "{path}");
        assert_eq!(skill.extra, [], "{path}");
    }
    assert_snapshot!(problems(&with("metadata:\n  openclaw: yes please\n")), @"5:13 warning wrong-type `metadata.openclaw` is text, expected a map");
}

// OC-3
#[test]
fn metadata_may_be_json5_on_one_line_or_several() {
    for metadata in [
        "{\"openclaw\": {\"emoji\": \"x\", \"requires\": {\"bins\": [\"curl\"]}}}",
        "{ openclaw: { emoji: 'x', requires: { bins: [\"curl\",], }, }, }",
        "\n  {\n    \"openclaw\":\n      {\n        \"emoji\": \"x\",\n        \"requires\": { \"bins\": [\"curl\"] },\n      },\n  }",
    ] {
        let text = with(&format!("metadata: {metadata}\n"));
        assert_eq!(problems(&text), "", "{text}");
        assert_eq!(texts(&skill(&text).requirements.programs), ["curl"], "{text}");
    }
    for repaired in [
        "{ // why\n  openclaw: { emoji: x, /* how */ requires: { bins: [curl] } } }",
        "'{\"openclaw\": {\"requires\": {\"bins\": [\"curl\"]}}}'",
    ] {
        let text = with(&format!("metadata: {repaired}\n"));
        let skill = skill(&text);
        assert_eq!(
            (skill.dialect.id, texts(&skill.requirements.programs)),
            ("openclaw", vec!["curl"]),
            "{text}"
        );
        assert!(problems(&text).contains("warning repaired-yaml"), "{text}");
    }
}

#[test]
fn gates_are_read() {
    let skill = skill_of("openclaw/OC-4/requires-everything/SKILL.md");
    let wanted = &skill.requirements;
    assert_eq!(texts(&wanted.programs), ["curl", "jq"]);
    assert_eq!(texts(&wanted.any_programs), ["bat", "cat"]);
    assert_eq!(texts(&wanted.env_vars), ["WEATHER_API_KEY"]);
    assert_eq!(texts(&wanted.config), ["channels.weather.enabled", "browser.enabled"]);
    assert_eq!(texts(&wanted.os), ["linux", "darwin", "win32"]);
    let block = skill.openclaw.as_ref().expect("a block");
    assert_eq!(
        (block.skill_key.as_deref(), block.primary_env.as_deref()),
        (Some("weather"), Some("WEATHER_API_KEY"))
    );
    assert_eq!(block.env_vars.len(), 2);
    let kept: Vec<&str> = block.extra.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(kept, ["nix", "config"]);
    let always = skill_of("openclaw/OC-4/always/SKILL.md");
    assert_eq!(always.openclaw.and_then(|block| block.always), Some(true));
}

// OC-5
#[test]
fn install_entries_are_kept_and_unknown_kinds_reported() {
    let known = skill_of("openclaw/OC-5/install-known-kinds/SKILL.md");
    let kinds: Vec<_> = known
        .openclaw
        .iter()
        .flat_map(|block| &block.install)
        .map(|install| install.kind.as_str())
        .collect();
    assert_eq!(kinds, ["brew", "node", "go", "uv", "download"]);
    assert_eq!(found("openclaw/OC-5/install-known-kinds/SKILL.md"), "");
    let rare = with(
        "metadata:\n  openclaw:\n    install:\n      - {kind: pip, package: x}\n      - {kind: shell, command: curl x}\n      - {label: y}\n",
    );
    let installs = skill(&rare).openclaw.expect("a block").install;
    assert_eq!(installs[1].entry, serde_json::json!({ "kind": "shell", "command": "curl x" }));
    assert_snapshot!(problems(&rare), @r"
    7:16 warning unknown-install-kind the install kind `pip` is not one of OpenClaw's
    8:16 warning unknown-install-kind the install kind `shell` is not one of OpenClaw's
    9:9 warning unknown-install-kind an install entry without a kind
    ");
    assert_snapshot!(found("openclaw/OC-5/install-download-unpinned/SKILL.md"), @r"
    8:30 warning unpinned-download the download can't be verified: it has no digest
    8:30 warning unpinned-download the download can't be verified: it uses plain HTTP
    8:30 warning unpinned-download the download can't be verified: its `targetDir` contains `..`
    ");
}

// OC-6
#[test]
fn an_unquoted_colon_is_read_with_a_warning() {
    let text = with("").replace("Note the weather", "Use when: asked about: weather");
    assert_eq!(skill(&text).description_or(""), "Use when: asked about: weather");
    assert_snapshot!(problems(&text), @"3:14 warning repaired-yaml a value with a special character must be quoted");
}

// OC-8
#[test]
fn names_and_versions_are_normalised_with_a_note() {
    let name = |name: &str| {
        problems_as(&with("").replace("name: weather", &format!("name: {name}")), "openclaw")
    };
    assert_snapshot!(name("My Weather_Notes"), @"2:7 info name-not-canonical `My Weather_Notes` is installed and published as `my-weather-notes`");
    assert_snapshot!(name("WeatherTools"), @"2:7 info name-not-canonical `WeatherTools` is installed and published as `weathertools`");
    let version = |version: &str| problems_as(&with(&format!("version: {version}\n")), "openclaw");
    assert_eq!(version("1.2.3"), "");
    assert_snapshot!(version("v2.1"), @"4:10 info version-not-semver `v2.1` is treated as `2.1.0`");
    assert_snapshot!(version("\"3\""), @"4:10 info version-not-semver `3` is treated as `3.0.0`");
    assert_snapshot!(version("2026.02.11"), @"4:10 info version-not-semver `2026.02.11` is treated as `2026.2.11`");
    assert_snapshot!(version("latest"), @"4:10 warning version-not-semver `latest` is not a version and is treated as `0.0.0`");
}

// OC-10
#[test]
fn commands_dispatched_to_a_tool_survive_writing() {
    let skill = skill_of("openclaw/OC-10/command-dispatch/SKILL.md");
    let invocation = &skill.invocation;
    let values =
        [&invocation.command_dispatch, &invocation.command_tool, &invocation.command_arg_mode];
    let values: Vec<_> = values.into_iter().flatten().map(|text| text.as_str()).collect();
    assert_eq!(values, ["tool", "weather_note", "raw"]);
    let written = (skill.dialect.write)(&skill).text;
    let again = skill_as(&written, "openclaw");
    assert_eq!(again.invocation, skill.invocation, "{written}");
    assert_eq!(again.openclaw, skill.openclaw, "{written}");
    assert_snapshot!(problems(&with("command-dispatch: tool\nmetadata: {openclaw: {emoji: x}}\n")), @"4:1 warning missing-field `command-dispatch` is given without `command-tool`");
    assert_snapshot!(problems(&with("command-dispatch: tool\ncommand-tool: x\ncommand-arg-mode: cooked\n")), @"6:19 warning not-a-choice `command-arg-mode` is `cooked`, expected `raw`");
}

#[test]
fn the_older_shape_is_read() {
    let skill = skill_of("openclaw/section-8/shelf-search/SKILL.md");
    assert_eq!((skill.dialect.id, skill.kind), ("openclaw", SkillKind::Tools));
    assert_eq!(skill.version_or_default(), "1.3.0");
    assert_eq!(skill.network.as_ref().map(|flag| flag.value), Some(true));
    assert_eq!(texts(&skill.requirements.python_packages), ["requests>=2.31", "beautifulsoup4"]);
    let tools: Vec<_> = skill
        .tools
        .iter()
        .map(|tool| (tool.name.as_str(), tool.kind, tool.parameters.len()))
        .collect();
    assert_eq!(tools, [("search", ToolKind::Handler, 2), ("fetch", ToolKind::Handler, 1)]);
    let both = skill_of("openclaw/section-8/version-and-claw-version/SKILL.md");
    assert_eq!(both.version_or_default(), "0.9.0");
}

#[test]
fn handlers_that_can_not_be_called_are_reported() {
    for path in [
        "handler-outside",
        "handler-missing-file",
        "handler-javascript",
        "handler-without-function",
        "actions-empty",
        "action-without-handler",
        "network-text",
    ] {
        let found = found(&format!("openclaw/section-8/{path}/SKILL.md"));
        assert!(found.contains("warning") || found.contains("error"), "{path}: {found}");
    }
    assert_snapshot!(found("openclaw/section-8/handler-outside/SKILL.md"), @"9:14 error unusable-handler `../shelf-search/handlers/search.py` leaves the skill directory");
    assert_snapshot!(found("openclaw/section-8/handler-missing-file/SKILL.md"), @"9:14 warning unusable-handler `handlers/none.py` does not exist");
    assert_snapshot!(found("openclaw/section-8/handler-javascript/SKILL.md"), @"9:14 warning unusable-handler `handlers/search.js` is not Python, so it has to be migrated by hand");
    assert_snapshot!(found("openclaw/section-8/handler-without-function/SKILL.md"), @"9:14 warning unusable-handler `handlers/search.py` names no function; `search` is assumed");
    assert_snapshot!(found("openclaw/section-8/actions-empty/SKILL.md"), @"8:1 warning no-tools no tool is defined");
}

struct MachineFacts {
    os: &'static str,
    has: &'static [&'static str],
}

impl prowess_format::eligibility::MachineFacts for MachineFacts {
    fn os(&self) -> &str {
        self.os
    }
    fn has_program(&self, name: &str) -> bool {
        self.has.contains(&name)
    }
    fn has_variable(&self, name: &str) -> bool {
        self.has.contains(&name)
    }
    fn has_setting(&self, path: &str) -> bool {
        self.has.contains(&path)
    }
    fn server_problem(&self, _: &str) -> Option<String> {
        None
    }
}

#[test]
fn requirements_gate_a_skill_and_always_skips_all_but_the_system() {
    // OC-4
    let missing = |block: &str, os: &'static str, has: &'static [&'static str]| -> Vec<String> {
        let text = format!(
            "---\nname: a\ndescription: b\nmetadata: {{\"openclaw\": {block}}}\n---\n\nBody\n"
        );
        let missing =
            prowess_format::eligibility::missing(&skill(&text), &MachineFacts { os, has });
        missing.iter().map(ToString::to_string).collect()
    };
    let gates = "{\"os\": [\"macos\"], \"requires\": {\"bins\": [\"git\"], \"anyBins\": [\"npm\", \"pnpm\"], \"env\": [\"KEY\"], \"config\": [\"browser.enabled\"]}}";
    assert_eq!(
        missing(gates, "linux", &[]),
        [
            "it runs only on `macos`",
            "the program `git` is not on PATH",
            "none of `npm`, `pnpm` is on PATH",
            "the variable `KEY` is not set",
            "the setting `browser.enabled` is off",
        ]
    );
    assert!(missing(gates, "darwin", &["git", "pnpm", "KEY", "browser.enabled"]).is_empty());
    let always = "{\"always\": true, \"os\": [\"linux\"], \"requires\": {\"bins\": [\"git\"]}}";
    assert!(missing(always, "linux", &[]).is_empty());
    assert_eq!(missing(always, "darwin", &[]), ["it runs only on `linux`"]);
}
