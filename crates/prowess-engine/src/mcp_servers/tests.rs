use std::ffi::OsStr;
use std::fs;

use super::{ServerTransport, find, problem};
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

/// The server `github` as it is started or connected to, with the names of its variables or headers.
fn read(file: &str, text: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("it is there");
    for (name, text) in [(file, text), ("repo/.git/HEAD", ""), ("home/a", "")] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
    let variables = vec![("TOKEN".to_owned(), "secret-value".to_owned())];
    let path = OsStr::new("/usr/bin:/bin");
    let world =
        World::at(&root.join("home"), &root.join("repo"), path, variables).expect("a world");
    let finder = Finder { search_path: &world.search_path, skill_directory: None };
    let found = find("github", &world, finder);
    let text = match found {
        Err(why) => why,
        Ok(server) => {
            let pairs = match &server.transport {
                ServerTransport::Program { variables, .. } => variables,
                ServerTransport::Http { headers, .. } => headers,
            };
            let pairs: Vec<String> =
                pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert!(!format!("{server:?}").contains("secret-value"));
            format!("{} {} [{}]", server.kind(), server.shown().join(" "), pairs.join(" "))
        }
    };
    text.replace(&root.display().to_string(), "")
}

#[test]
fn servers_are_read_as_each_agent_writes_them() {
    let json = "repo/.mcp.json";
    for (file, text, expected) in [
        (
            json,
            r#"{"mcpServers": {"github": {"command": "env", "args": ["-i", "${TOKEN}x"], "env": {"A": "${env:TOKEN}", "B": 1}}}}"#,
            "stdio env -i secret-valuex [A=secret-value B=1]",
        ),
        (
            json,
            r#"{"mcpServers": {"github": {"command": "env", "args": ["${NONE:-a b}", "${workspaceFolder}/x", "${userHome}"]}}}"#,
            "stdio env a b /repo/x /home []",
        ),
        (
            json,
            r#"{"mcpServers": {"github": {"url": "https://u:p@a.test/mcp?key=${TOKEN}", "headers": {"X": "Bearer ${TOKEN}"}}}}"#,
            "http https://a.test/mcp?… [X=Bearer secret-value]",
        ),
        (
            "repo/.codex/config.toml",
            "[mcp_servers.github]\nurl = \"https://a.test/mcp\"\nbearer_token_env_var = \"TOKEN\"\nhttp_headers = { X = \"1\" }\nenv_http_headers = { Y = \"TOKEN\" }\n",
            "http https://a.test/mcp [X=1 Authorization=Bearer secret-value Y=secret-value]",
        ),
        (
            "repo/opencode.json",
            r#"{"mcp": {"github": {"type": "local", "command": ["env", "x"], "environment": {"A": "{env:TOKEN}"}}}}"#,
            "stdio env x [A=secret-value]",
        ),
        (
            "home/.config/goose/config.yaml",
            "extensions:\n  github:\n    type: stdio\n    cmd: env\n    args: [x]\n    envs: {A: b}\n",
            "stdio env x [A=b]",
        ),
        (
            "repo/.kilo/kilo.json",
            r#"{"mcp": {"github": {"type": "remote", "url": "https://a.test/mcp"}}}"#,
            "http https://a.test/mcp []",
        ),
        (
            json,
            r#"{"mcpServers": {"github": {"command": "env", "args": ["${NONE}"]}}}"#,
            "needs the variable `NONE`, which is not set (in `/repo/.mcp.json`)",
        ),
        (
            json,
            r#"{"mcpServers": {"github": {"command": "env", "env": {"A": "${input:key}"}}}}"#,
            "wants the input `key`, which only its own agent can ask for (in `/repo/.mcp.json`)",
        ),
        (
            json,
            r#"{"mcpServers": {"github": {"command": "env", "args": [1]}}}"#,
            "has an argument that is not text (in `/repo/.mcp.json`)",
        ),
        (
            json,
            r#"{"mcpServers": {"github": {}}}"#,
            "has neither a command nor a URL (in `/repo/.mcp.json`)",
        ),
    ] {
        assert_eq!(read(file, text), expected, "{text}");
    }
}
