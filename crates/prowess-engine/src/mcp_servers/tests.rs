use std::ffi::OsStr;
use std::fs;

use super::problem;
use crate::programs::Finder;
use crate::world::World;

/// The problem with the server `github`, given these files.
fn check(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("it is there");
    for (name, text) in files.iter().chain(&[("repo/.git/HEAD", ""), ("home/a", "")]) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        let text = text.replace("{root}", &root.display().to_string());
        fs::write(path, text).expect("it can be written");
    }
    let path = OsStr::new("/usr/bin:/bin");
    let world =
        World::at(&root.join("home"), &root.join("repo"), path, Vec::new()).expect("a world");
    let finder = Finder { search_path: &world.search_path, skill_directory: None };
    let found = problem("github", &world, finder);
    found.unwrap_or_else(|| "there".to_owned()).replace(&root.display().to_string(), "")
}

#[test]
fn a_server_is_there_if_an_agent_has_it_and_it_can_be_started() {
    let claude = r#"{"projects": {"{root}/repo": {"mcpServers": {"github": {"command": "env"}}}}}"#;
    for (file, text) in [
        ("repo/.mcp.json", r#"{"mcpServers": {"github": {"command": "env", "args": ["x"]}}}"#),
        (
            "repo/.mcp.json",
            r#"{"mcpServers": {"github": {"type": "http", "url": "https://a.test/mcp"}}}"#,
        ),
        ("repo/.vscode/mcp.json", r#"{"servers": {"github": {"command": "/usr/bin/env"}}}"#),
        ("home/.claude.json", r#"{"mcpServers": {"github": {"command": "env"}}}"#),
        ("home/.claude.json", claude),
        (
            "home/.gemini/settings.json",
            r#"{"mcpServers": {"github": {"httpUrl": "https://a.test"}}}"#,
        ),
        (
            "repo/opencode.json",
            r#"{"mcp": {"github": {"type": "local", "command": ["env", "x"]}}}"#,
        ),
        ("repo/.mcp.json", r#"{"mcpServers": {"github": {"command": "${HOME}/server"}}}"#),
        (
            "repo/.vscode/mcp.json",
            "{ // mine\n\"servers\": {\"github\": {\"command\": \"env\",},},}",
        ),
        ("repo/.codex/config.toml", "[mcp_servers.github]\ncommand = \"env\"\n"),
        ("home/.codex/config.toml", "[mcp_servers.github]\nurl = \"https://a.test/mcp\"\n"),
        (
            "home/.config/goose/config.yaml",
            "extensions:\n  github:\n    type: stdio\n    cmd: env\n",
        ),
        ("repo/.amp/settings.json", r#"{"amp.mcpServers": {"github": {"command": "env"}}}"#),
    ] {
        assert_eq!(check(&[(file, text)]), "there", "{file}: {text}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told_with_what_to_do() {
    let nowhere = "is not configured: add it to `/repo/.mcp.json`";
    for (text, expected) in [
        ("", nowhere),
        ("{", nowhere),
        (r#"{"mcpServers": {"gitlab": {"command": "env"}}}"#, nowhere),
        (r#"{"mcpServers": [1]}"#, nowhere),
        (r#"{"servers": {"github": {"command": "env"}}}"#, nowhere),
        (
            r#"{"mcpServers": {"github": {"command": "no-such-program"}}}"#,
            "starts `no-such-program`, which is not on PATH (in `/repo/.mcp.json`)",
        ),
        (
            r#"{"mcpServers": {"github": {"command": "./server"}}}"#,
            "starts `./server`, which is not a program (in `/repo/.mcp.json`)",
        ),
        (
            r#"{"mcpServers": {"github": {"command": "env", "disabled": true}}}"#,
            "is disabled (in `/repo/.mcp.json`)",
        ),
        (
            r#"{"mcpServers": {"github": {}}}"#,
            "has neither a command nor a URL (in `/repo/.mcp.json`)",
        ),
    ] {
        assert_eq!(check(&[("repo/.mcp.json", text)]), expected, "{text}");
    }
    // One file that lists it is enough.
    let broken = r#"{"mcpServers": {"github": {"command": "no-such-program"}}}"#;
    let whole = r#"{"mcpServers": {"github": {"command": "env"}}}"#;
    assert_eq!(check(&[("repo/.mcp.json", broken), ("home/.claude.json", whole)]), "there");
}
