//! `prowess mcp install` and `uninstall`: the settings of agents.

use std::fs;

use insta::assert_snapshot;
use prowess_store::mcp_settings::all;
use prowess_store::places::Scope;
use prowess_testkit::Scene;
use serde_json::Value;

use crate::machine;

/// What was printed, with a name for the program under test, whose path differs between machines.
fn run(scene: &Scene, arguments: &str) -> String {
    scene.run(arguments).replace(env!("CARGO_BIN_EXE_prowess"), "[PROWESS]")
}

fn json(scene: &Scene, path: &str) -> Value {
    serde_json::from_str(&scene.text(path)).expect("it is JSON")
}

const CURSOR: &str =
    "{\n  // mine\n  \"mcpServers\": {\n    \"db\": { \"command\": \"db\" }, // keep\n  },\n}\n";
const CODEX: &str = "model = \"x\" # fast\n\n[mcp_servers.db]\ncommand = \"db\"\n";

#[test]
fn entries_are_shown_added_and_removed_again() {
    let scene =
        machine().file("home/.cursor/mcp.json", CURSOR).file("home/.codex/config.toml", CODEX);
    let install = "mcp install --agent claude-code,codex,cursor";
    assert_snapshot!(run(&scene, &format!("{install} --dry-run")));
    let refused = run(&scene, install);
    assert!(refused.starts_with("exit 4"), "{refused}");
    assert_eq!(scene.text("home/.cursor/mcp.json"), CURSOR);

    assert!(run(&scene, &format!("{install} --yes")).starts_with("exit 0"));
    let claude = &json(&scene, "home/.claude.json")["mcpServers"]["prowess"];
    assert_eq!(claude["command"], env!("CARGO_BIN_EXE_prowess"));
    assert_eq!(claude["args"], serde_json::json!(["mcp"]));
    assert!(scene.text("home/.codex/config.toml").starts_with(CODEX));
    // Again: nothing to do, and nothing to ask.
    assert_snapshot!(run(&scene, install), @"
    exit 0
    --- stderr
    Claude Code: already in `~/.claude.json`
    Codex: already in `~/.codex/config.toml`
    Cursor: already in `~/.cursor/mcp.json`
    ");

    assert_snapshot!(run(&scene, "mcp uninstall --yes"));
    assert_eq!(scene.text("home/.cursor/mcp.json"), CURSOR);
    assert_eq!(scene.text("home/.codex/config.toml"), CODEX);
    assert!(!scene.path().join("home/.claude.json").exists());
    assert!(run(&scene, "mcp uninstall").contains("no settings have the entry"));
}

#[test]
fn every_documented_agent_gets_an_entry_and_loses_it() {
    for scope in [Scope::Project, Scope::User] {
        let scene = machine();
        let before = scene.files();
        let agents = all().iter().filter(|settings| settings.scope == scope);
        let agents: Vec<&str> = agents.map(|settings| settings.agent).collect();
        assert!(agents.len() >= 12, "{agents:?}");
        let project = if scope == Scope::Project { " --project" } else { "" };
        let options = format!("--agent {}{project} --yes --format json", agents.join(","));
        let installed = scene.stdout(&format!("mcp install {options}"));
        let installed: Value = serde_json::from_str(&installed).expect("it is JSON");
        for change in installed["changes"].as_array().expect("changes") {
            assert_eq!((&change["action"], &change["applied"]), (&"add".into(), &true.into()));
            let text =
                fs::read_to_string(change["file"].as_str().expect("a path")).expect("a file");
            assert!(text.contains("prowess") && text.contains("mcp"), "{text}");
        }
        assert!(run(&scene, &format!("mcp uninstall {options}")).starts_with("exit 0"));
        let after = scene.files();
        let ours = |line: &&str| !line.contains("mcp-settings") && !line.contains(".local");
        let others =
            |files: &str| files.lines().filter(ours).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(others(&after), others(&before));
    }
}

#[test]
fn a_project_has_the_files_that_its_agents_read() {
    let scene = machine();
    let agents =
        "--agent claude-code,codex,cursor,gemini-cli,opencode,github-copilot --project --yes";
    assert!(run(&scene, &format!("mcp install {agents}")).starts_with("exit 0"));
    let start = |file: &str, key: &str| json(&scene, file)[key]["prowess"]["args"][0].clone();
    assert_eq!(start("work/.mcp.json", "mcpServers"), "mcp");
    assert_eq!(start("work/.cursor/mcp.json", "mcpServers"), "mcp");
    assert_eq!(start("work/.gemini/settings.json", "mcpServers"), "mcp");
    assert_eq!(start("work/.vscode/mcp.json", "servers"), "mcp");
    assert_eq!(json(&scene, "work/opencode.json")["mcp"]["prowess"]["command"][1], "mcp");
    assert!(scene.text("work/.codex/config.toml").contains("[mcp_servers.prowess]"));
}

#[test]
fn an_agreement_is_asked_for_on_a_terminal() {
    let scene = machine();
    let arguments = ["mcp", "install", "--agent", "cursor"];
    let no = scene.run_on_terminal(&arguments, "n\n");
    assert!(no.contains("Change this file?") && no.contains("was not changed"), "{no}");
    assert!(!scene.path().join("home/.cursor/mcp.json").exists());
    let yes = scene.run_on_terminal(&arguments, "y\n");
    assert!(yes.contains("added to `~/.cursor/mcp.json`"), "{yes}");
}

#[test]
fn what_others_wrote_since_stays() {
    let scene = machine().file("home/.cursor/mcp.json", "{}\n");
    let _ = run(&scene, "mcp install --agent cursor --yes");
    let text = scene
        .text("home/.cursor/mcp.json")
        .replace("{\"mcpServers\"", "{\"theme\": 1, \"mcpServers\"");
    let scene = scene.file("home/.cursor/mcp.json", text);
    assert!(run(&scene, "mcp uninstall --agent cursor --yes").starts_with("exit 0"));
    assert_eq!(scene.text("home/.cursor/mcp.json"), "{\"theme\": 1}\n");
}

#[test]
fn files_that_can_not_be_edited_are_left_alone_and_do_not_stop_the_others() {
    let broken = "{ \"mcpServers\": ";
    let other = "{\"mcpServers\": {\"prowess\": {\"command\": \"other\"}}}";
    let scene = machine()
        .file("home/.claude.json", broken)
        .file("home/.gemini/settings.json", other)
        .file("home/real.json", "{}");
    std::os::unix::fs::symlink("../real.json", scene.path().join("home/.cursor/mcp.json"))
        .expect("a link");
    assert_snapshot!(run(&scene, "mcp install --agent claude-code,gemini-cli,cursor,codex --yes"));
    assert_eq!(scene.text("home/.claude.json"), broken);
    assert_eq!(scene.text("home/.gemini/settings.json"), other);
    assert_eq!(scene.text("home/real.json"), "{}");
    assert!(scene.text("home/.codex/config.toml").contains("[mcp_servers.prowess]"));
}

#[test]
fn wrong_arguments_are_explained() {
    let scene = machine();
    assert_snapshot!(run(&scene, "mcp install --agent claud-code"));
    assert_snapshot!(run(&scene, "mcp install --agent pi"));
    assert_snapshot!(run(&scene, "mcp install --agent windsurf --project --yes"));
    assert!(run(&scene, "mcp install --agent").starts_with("exit 2"));
}
