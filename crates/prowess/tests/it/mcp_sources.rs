//! `prowess install mcp:SERVER`: skills that an MCP server publishes, from servers of our own and from hostile ones.

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::{Value, json};

use crate::scene;

/// A project whose `.mcp.json` has this program as the server `docs`, and the skills of our own server.
fn with_server(server: &Value) -> Scene {
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("repo/.mcp.json", json!({ "mcpServers": { "docs": server } }).to_string())
        .file("repo/hostile.py", include_str!("mcp_sources/hostile.py"))
        .file(
            "repo/served/notes/SKILL.md",
            "---\nname: notes\ndescription: Keeps notes. Use for notes.\n---\n\n# Notes\n\nRead `references/how to.md`.\n",
        )
        .file("repo/served/notes/references/how to.md", "Write them down.\n")
        .file("repo/served/notes/picture.bin", [0_u8, 159, 146, 150])
        .file(
            "repo/served/plans/SKILL.md",
            "---\nname: plans\ndescription: Makes plans. Use for plans.\n---\n\n# Plans\n",
        )
        .inside("repo")
}

/// Our own server, over standard streams, in the sandbox of the client.
fn own() -> Scene {
    with_server(&json!({ "command": env!("CARGO_BIN_EXE_prowess"), "args": ["mcp", "served"] }))
}

fn install(scene: &Scene, what: &str) -> (Option<i32>, String) {
    let all = ["install", what, "--user", "--allow-experimental", "--yes", "--format", "json"];
    let output = scene.output(&all, "");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), format!("{}{said}", String::from_utf8_lossy(&output.stdout)))
}

#[test]
fn a_skill_of_a_server_is_installed_locked_verified_and_updated() {
    let scene = own();
    let (code, shown) = install(&scene, "mcp:docs/notes");
    assert_eq!(code, Some(0), "{shown}");
    let data = scene.path().join("home/.local/share/prowess");
    let skill = data.join("skills/notes");
    let read = |path: &str| std::fs::read(skill.join(path)).expect("a file");
    assert_eq!(read("references/how to.md"), b"Write them down.\n");
    assert_eq!(read("picture.bin"), [0, 159, 146, 150]);
    let listed = scene.run("list --user --format json");
    assert!(listed.contains("notes"), "{listed}");
    let info = scene.run("info notes");
    assert!(info.contains("mcp:docs"), "{info}");
    assert!(scene.run("verify notes --user").contains("exit 0"));
    assert!(scene.run("update notes --user --yes --allow-experimental").contains("exit 0"));
    // The server publishes something else: an update takes it, after a look.
    let text = "---\nname: notes\ndescription: Keeps other notes. Use for notes.\n---\n\n# Notes\n";
    std::fs::write(scene.path().join("repo/served/notes/SKILL.md"), text).expect("written");
    let updated = scene.run("update notes --user --yes --allow-experimental");
    assert!(updated.contains("exit 0"), "{updated}");
    assert_eq!(read("SKILL.md"), text.as_bytes());
}

#[test]
fn several_skills_have_to_be_chosen_and_unknown_ones_are_named() {
    let scene = own();
    let (code, shown) = install(&scene, "mcp:docs/nothing");
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("publishes no skill `nothing`"), "{shown}");
    assert!(shown.contains("`notes`, `plans`"), "{shown}");
    let (code, shown) = install(&scene, "mcp:nobody/notes");
    assert_ne!(code, Some(0), "{shown}");
    assert!(shown.contains("is not configured"), "{shown}");
    // Nobody has agreed that the server starts.
    let output = scene.output(&["install", "mcp:docs/notes", "--user", "--dry-run"], "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("approv"), "{said}");
}

#[test]
fn what_a_hostile_server_publishes_is_not_installed() {
    for behaviour in [
        "digest",
        "size",
        "front-matter",
        "escape",
        "dynamic",
        "many",
        "heavy",
        "endless",
        "hang-up",
        "no-extension",
        "markup",
    ] {
        let server = json!({ "command": "python3", "args": ["hostile.py", behaviour] });
        let scene = with_server(&server);
        let (code, shown) = install(&scene, "mcp:docs/evil");
        assert_ne!(code, Some(0), "{behaviour}: {shown}");
        assert!(!scene.path().join("home/.local/share/prowess/skills/evil").exists(), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{behaviour}: {shown:?}");
        let all = ["install", "mcp:docs/evil", "--user", "--allow-experimental", "--yes"];
        let output = scene.output(&all, "");
        assert_snapshot!(behaviour, String::from_utf8_lossy(&output.stderr));
    }
    // The same server without malice.
    let server = json!({ "command": "python3", "args": ["hostile.py", "harmless"] });
    let (code, shown) = install(&with_server(&server), "mcp:docs/evil");
    assert_eq!(code, Some(0), "{shown}");
}
