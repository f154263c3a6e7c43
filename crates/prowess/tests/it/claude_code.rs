//! Claude Code's documented semantics through the binary, one row per clause.

use prowess_testkit::Scene;
use serde_json::Value;

use crate::scene;

fn skill(front_matter: &str, body: &str) -> Scene {
    let text =
        format!("---\nname: demo\ndescription: Does one thing\n{front_matter}---\n\n{body}\n");
    scene().file("demo/SKILL.md", text)
}

/// The text of a rendering.
fn text(scene: &Scene, arguments: Option<&str>) -> String {
    let mut all = vec!["render", "demo", "--format", "json", "--session", "s-1"];
    all.extend(arguments.iter().flat_map(|text| ["--arguments", text]));
    let output = scene.output(&all, "");
    let json: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let text = json["text"].as_str().expect("a text").to_owned();
    let place = scene.path().canonicalize().expect("it is there");
    text.replace(&place.display().to_string(), "[SCENE]")
}

/// SKL-L2-6, OC-9
#[test]
fn each_clause_about_substitutions() {
    let named = "arguments: [issue, branch]\n";
    // Front matter, body, arguments, text.
    let rows: &[(&str, &str, Option<&str>, &str)] = &[
        // `$ARGUMENTS` is all of it, as typed.
        ("", "Fix $ARGUMENTS now", Some("12  \"a b\""), "Fix 12  \"a b\" now"),
        // Appended where no placeholder receives an argument.
        ("", "Fix it", Some("12"), "Fix it\n\nARGUMENTS: 12"),
        ("", "Fix it", None, "Fix it"),
        ("", "Fix $3", Some("12"), "Fix $3\n\nARGUMENTS: 12"),
        // Positions from 0, quoted as in a shell.
        ("", "$ARGUMENTS[0]/$ARGUMENTS[1]", Some("a b"), "a/b"),
        ("", "$0/$1", Some("\"hello world\" second"), "hello world/second"),
        ("", "$0 '$1'", Some("it\\'s 'a b'"), "it's 'a b'"),
        // A missing position stays as written, a missing name becomes empty.
        ("", "$0 costs $5", Some("tea"), "tea costs $5"),
        ("", "$0 $ARGUMENTS[7]", Some("tea"), "tea $ARGUMENTS[7]"),
        (named, "$issue on $branch", Some("12 main"), "12 on main"),
        (named, "[$issue][$branch]", Some("12"), "[12][]"),
        ("arguments: issue branch\n", "$issue/$branch", Some("12 main"), "12/main"),
        // A name that is not declared is text, also as the beginning of a longer one.
        (named, "$other $issues $issue", Some("12"), "$other $issues 12"),
        // One backslash escapes positions, `ARGUMENTS` and declared names only; two stay, and the value follows.
        ("", "\\$1.00 \\$ARGUMENTS $0", Some("x"), "$1.00 $ARGUMENTS x"),
        (named, "\\$issue \\$HOME $0", Some("x"), "$issue \\$HOME x"),
        ("", "\\\\$0", Some("x"), "\\\\x"),
        ("", "\\${CLAUDE_SESSION_ID} $0", Some("x"), "\\s-1 x"),
        // One pass: a value is never looked at again.
        ("", "$0 $1", Some("'$1' '$0'"), "$1 $0"),
        (
            "",
            "$0",
            Some("'!`id` ${CLAUDE_SESSION_ID} {baseDir}'"),
            "!`id` ${CLAUDE_SESSION_ID} {baseDir}",
        ),
        // Variables of the host.
        ("", "${CLAUDE_SESSION_ID}", None, "s-1"),
        ("effort: high\n", "${CLAUDE_EFFORT}", None, "high"),
        ("", "${CLAUDE_EFFORT}", None, "${CLAUDE_EFFORT}"),
        ("", "${CLAUDE_SKILL_DIR}/x", None, "[SCENE]/demo/x"),
        ("", "${CLAUDE_PROJECT_DIR}/x", None, "[SCENE]/x"),
        ("", "run {baseDir}/x.sh", None, "run [SCENE]/demo/x.sh"),
        // Those of a plugin stay as written in a skill that is in none.
        ("", "${CLAUDE_PLUGIN_ROOT}", None, "${CLAUDE_PLUGIN_ROOT}"),
        // Commands only at the start of a line or after a space.
        ("", "KEY=!`id` and !`id`", None, "KEY=!`id` and [not run: `id`]"),
        ("", "!`id $0`", Some("x"), "[not run: `id x`]"),
    ];
    for (front_matter, body, arguments, expected) in rows {
        let scene = skill(front_matter, body);
        assert_eq!(text(&scene, *arguments), *expected, "{front_matter}{body} with {arguments:?}");
    }
}

#[test]
fn a_skill_of_a_plugin_knows_its_root() {
    let body = "---\nname: demo\ndescription: Does one thing\n---\n\n${CLAUDE_PLUGIN_ROOT}/lib ${CLAUDE_PLUGIN_DATA}\n";
    let scene = scene()
        .file("plugin/.claude-plugin/plugin.json", "{\"name\": \"p\"}")
        .file("plugin/skills/demo/SKILL.md", body);
    let output = scene.output(&["render", "plugin/skills/demo"], "");
    let place = scene.path().canonicalize().expect("it is there");
    let text =
        String::from_utf8_lossy(&output.stdout).replace(&place.display().to_string(), "[SCENE]");
    assert_eq!(text, "[SCENE]/plugin/lib ${CLAUDE_PLUGIN_DATA}\n");
    let output = scene.output(&["render", "plugin/skills/demo", "--effort", "max"], "");
    assert!(output.status.success());
}

/// SKL-L2-1
#[test]
fn every_documented_field_is_known_and_booleans_have_eight_spellings() {
    let fields = [
        "when_to_use: When it rains",
        "argument-hint: \"[issue]\"",
        "arguments: issue branch",
        "disable-model-invocation: true",
        "user-invocable: false",
        "allowed-tools: Read Grep",
        "disallowed-tools: Write",
        "model: sonnet",
        "effort: xhigh",
        "context: fork",
        "agent: Explore",
        "background: false",
        "hooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: date",
        "paths: src/**, docs/**",
        "shell: bash",
        "metadata:\n  team: a",
        "license: MIT",
        "compatibility: Needs git",
    ];
    let scene = skill(&format!("{}\n", fields.join("\n")), "Text.");
    let checked = scene.run("check demo --dialect claude-code --format concise");
    assert!(checked.starts_with("exit 0"), "{checked}");
    assert!(!checked.contains("unknown-field"), "{checked}");
    for (written, expected) in [
        ("true", true),
        ("yes", true),
        ("On", true),
        ("1", true),
        ("false", false),
        ("NO", false),
        ("off", false),
        ("0", false),
    ] {
        let scene = skill(&format!("background: {written}\ncontext: fork\n"), "Text.");
        let checked = scene.run("check demo --format concise");
        assert!(checked.starts_with("exit 0"), "{written}: {checked}");
        let checked = scene.run("check demo --format concise");
        assert!(checked.starts_with("exit 0"), "{written}: {checked}");
        let output = scene.output(&["render", "demo", "--format", "json"], "");
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(json["subagent"]["background"], expected, "{written}");
    }
}

/// OC-10
#[test]
fn the_fields_of_a_dispatched_command_are_kept_and_shown() {
    let fields = "command-dispatch: tool\ncommand-tool: browser\ncommand-arg-mode: raw\n";
    let scene = skill(fields, "Text.");
    let shown = scene.run("show demo");
    for line in ["command dispatch", "command tool", "command arg mode", "browser", "raw"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let converted = scene.run("convert demo --to openclaw --output out");
    assert!(converted.starts_with("exit 0"), "{converted}");
    let text = scene.text("out/demo/SKILL.md");
    for line in fields.lines() {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// SKL-L2-5
#[test]
fn the_fields_of_this_client_survive_reading_and_writing() {
    let fields = "argument-hint: \"[issue]\"\ncontext: fork\nagent: Explore\nmodel: sonnet\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: date\n";
    let scene = skill(fields, "Text.");
    let converted = scene.run("convert demo --to claude-code --output out");
    assert!(converted.starts_with("exit 0"), "{converted}");
    let text = scene.text("out/demo/SKILL.md");
    for line in [
        "argument-hint: ",
        "[issue]",
        "context: fork",
        "agent: Explore",
        "model: sonnet",
        "command: date",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn the_listing_is_cut_where_the_client_cuts_it() {
    let long = "Formats tables of numbers. ".repeat(50);
    let text = format!(
        "---\nname: demo\ndescription: {}\nwhen_to_use: {}\n---\n\nText.\n",
        long.chars().take(1000).collect::<String>().trim(),
        long.trim()
    );
    let scene = scene().file("demo/SKILL.md", text);
    let checked = scene.run("check demo --for claude-code");
    assert!(checked.contains("shows only the first 1536"), "{checked}");
}

#[test]
fn patterns_of_tools_are_checked_and_never_open_the_sandbox() {
    let scene = skill("allowed-tools: Bash(git:* push) Write(docs/**) Bash(git *)\n", "Text.");
    let checked = scene.run("check demo --format concise");
    assert_eq!(checked.matches("invalid-tool-pattern").count(), 2, "{checked}");
    for verb in ["show", "policy"] {
        let shown = scene.run(&format!("{verb} demo"));
        assert!(shown.contains("Bash(git *)"), "{verb}: {shown}");
    }
}

/// OC-13
#[test]
fn the_fingerprint_of_the_hub_can_be_compared() {
    let text = "---\nname: demo\ndescription: Does one thing\n---\n\nText.\n";
    let scene =
        crate::machine().file("source/demo/SKILL.md", text).file("source/demo/a.txt", "a\n");
    let scene = scene.inside("source");
    let output = scene.output(&["info", "./demo", "--format", "json"], "");
    let json: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let fingerprint = json["copies"][0]["clawhub_fingerprint"].as_str().expect("a fingerprint");
    // SHA-256 of `a.txt:HASH\nSKILL.md:HASH`, made with sha256sum.
    assert_eq!(fingerprint, "ac1118b29deeea957f87b37d3446a4a076f01b3bb91db3c8b461e79a482aad2c");
}

/// GAIX-2
#[test]
fn a_bare_standard_skill_is_instructions_without_permissions() {
    let scene = skill("", "Text.");
    let output = scene.output(&["show", "demo", "--format", "json"], "");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["kind"], "instructions", "{json}");
    assert_eq!(json["tools"], serde_json::json!([]), "{json}");
    assert_eq!(json["permissions"], serde_json::json!([]), "{json}");
    let output = scene.output(&["show", "demo"], "");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(!shown.contains("permission"), "{shown}");
}

/// GAIX-21
#[test]
fn skills_in_folders_of_agents_are_read_and_never_changed() {
    let text = |name| format!("---\nname: {name}\ndescription: Does one thing\n---\n\nText.\n");
    let mine = "home/.claude/skills/demo/SKILL.md";
    let of_project = "work/.claude/skills/other/SKILL.md";
    let scene = crate::machine()
        .file(mine, text("demo"))
        .file(of_project, text("other"))
        .file("source/demo/SKILL.md", text("demo"));
    let listed = scene.run("list");
    assert!(listed.contains("demo") && listed.contains("other"), "{listed}");
    for (verb, exit) in [
        ("remove demo --yes", 3),
        ("remove other --project --yes", 3),
        ("update demo", 3),
        ("update other --project", 3),
        ("update --all", 0),
        ("install ../source/demo --yes --allow-experimental", 0),
        ("remove demo --yes", 0),
    ] {
        let ended = scene.run(verb);
        assert!(ended.starts_with(&format!("exit {exit}")), "{verb}: {ended}");
        for (path, name) in [(mine, "demo"), (of_project, "other")] {
            let file = scene.path().join(path);
            assert_eq!(std::fs::read_to_string(&file).ok(), Some(text(name)), "{verb}: {path}");
            let folder = file.parent().and_then(std::path::Path::parent).expect("a folder");
            assert_eq!(std::fs::read_dir(folder).expect("it is there").count(), 1, "{verb}");
        }
    }
}

/// SRT-CLI-1
#[test]
fn the_verbs_of_the_studio_exist() {
    let prompt = "---\nname: poem\ndescription: Writes a poem\ninputs:\n  - name: topic\n    type: string\n    required: true\n---\n\nWrite about {{topic}}.\n";
    let scene = crate::machine().file("work/poem/SKILL.md", prompt);
    assert!(scene.run("validate poem").starts_with("exit 0"), "{}", scene.run("validate poem"));
    let installed = scene.run("install ./poem --yes --allow-experimental --agent claude-code");
    assert!(installed.starts_with("exit 0"), "{installed}");
    for verb in ["info poem", "list", "where poem"] {
        let shown = scene.run(verb);
        assert!(shown.starts_with("exit 0") && shown.contains("poem"), "{verb}: {shown}");
    }
    // Inputs are read before a model is looked for.
    let unknown = scene.run("run poem --inputs {\"topci\":1}");
    assert!(unknown.contains("did you mean `topic`?"), "{unknown}");
    let no_model = scene.run("run poem --inputs {\"topic\":\"rain\"}");
    assert!(no_model.starts_with("exit 125"), "{no_model}");
}
