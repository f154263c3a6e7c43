//! Keys on the command line: what a tool is given without seeing it, and what nobody gets to read.

use insta::assert_snapshot;
use prowess_testkit::Scene;

use crate::scene;

const KEY: &str = "ghp_0123456789abcdefXYZ";

/// A skill with one tool that runs a command, under these permissions.
fn probe(front_matter: &str, command: &str) -> Scene {
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file(
            "skills/probe/SKILL.md",
            format!("---\nname: probe\nversion: 1.0.0\ndescription: Looks around\n{front_matter}---\n\n### show\n\nShows.\n\n#### Command\n\n```bash\n{command}\n```\n"),
        )
        .inside("repo")
        .variable("API_TOKEN", KEY)
}

#[test]
fn a_key_is_shown_in_no_format() {
    // Attack sandbox-F05.
    let scene = probe("permissions: [\"env:read:API_TOKEN\"]\n", "printenv API_TOKEN");
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 0
    --- stdout
    [redacted: API_TOKEN]
    ");
    for format in ["json", "events"] {
        let shown = scene.run(&format!("run ../skills/probe --yes --format {format}"));
        assert!(shown.contains("[redacted: API_TOKEN]"), "{shown}");
        assert!(!shown.contains("0123456789"), "{shown}");
    }
}

#[test]
fn a_bound_credential_is_not_in_the_environment() {
    // Attack sandbox-F06.
    let scene = probe("permissions: [\"network:read:api.example.com\"]\n", "printenv API_TOKEN");
    let shown = scene.stdout("run ../skills/probe --yes --credential API_TOKEN=api.example.com");
    assert_eq!(shown.trim_end().len(), KEY.len(), "{shown}");
    assert!(!shown.contains("0123456789") && !shown.contains("ghp"), "{shown}");
}

#[test]
fn what_can_not_be_bound_is_told() {
    let scene = probe("", "printenv API_TOKEN");
    let run = |credential: &str| {
        let shown = scene.run(&format!("run ../skills/probe --yes --credential {credential}"));
        let home = scene.path().canonicalize().expect("it is there");
        shown.replace(&home.display().to_string(), "")
    };
    assert_snapshot!(run("API_TOKEN=api.example.com"), @r#"
    exit 125
    --- stderr
    error: the credential `API_TOKEN` is for `api.example.com`, which the tool has no network grant for
    hint: the skill has to declare the host, as in `permissions: ["network:read:api.example.com"]`
    "#);
    assert_snapshot!(run("API_TOKEN"), @"
    exit 2
    --- stderr
    error: `API_TOKEN` is not a credential binding: write `NAME=HOST`, such as `GITHUB_TOKEN=api.github.com`
    ");
    assert_snapshot!(run("OTHER=api.example.com"), @"
    exit 125
    --- stderr
    error: the credential `OTHER` has no value: the variable is not set, and there is no file `[SCENE]/home/.config/prowess/credentials/OTHER`
    hint: set `OTHER`, or write the value into `[SCENE]/home/.config/prowess/credentials/OTHER` and `chmod 600` it
    ");
    assert_snapshot!(run("API_TOKEN=*.example.com"), @"
    exit 2
    --- stderr
    error: `API_TOKEN` can't be bound to `*.example.com`: a credential belongs to one host with a name
    ");
}

#[test]
fn a_missing_server_is_told_before_anything_happens() {
    // SRT-4.6-3
    let front = "dependencies:\n  mcp-servers: [github]\n";
    let scene = probe(front, "touch made");
    let run = |scene: &Scene| {
        let root = scene.path().canonicalize().expect("it is there");
        scene.run("run ../skills/probe --yes").replace(&root.display().to_string(), "")
    };
    assert_snapshot!(run(&scene), @"
    exit 127
    --- stderr
    error: `probe` can't run here: the MCP server `github` is not configured: add it to `[SCENE]/repo/.mcp.json`
    hint: install or set what is missing; nothing has been started
    ");
    assert!(!scene.path().join("repo/made").exists());
    let server = r#"{"mcpServers": {"github": {"command": "no-such-server"}}}"#;
    let scene = scene.file("repo/.mcp.json", server);
    assert_snapshot!(run(&scene), @"
    exit 127
    --- stderr
    error: `probe` can't run here: the MCP server `github` starts `no-such-server`, which is not on PATH (in `[SCENE]/repo/.mcp.json`)
    hint: install or set what is missing; nothing has been started
    ");
    assert!(!scene.path().join("repo/made").exists());
    let server = r#"{"mcpServers": {"github": {"command": "env"}}}"#;
    let scene = scene.file("repo/.mcp.json", server);
    let shown = run(&scene);
    assert!(scene.path().join("repo/made").exists(), "{shown}");
}

#[test]
fn a_wrapper_that_names_no_server_is_not_answered_by_a_model() {
    let text = "---\nname: wrap\nversion: 0.1.0\ndescription: Wraps one tool\nruntime:\n  type: mcp-tool\ndependencies:\n  mcp-servers: [github, gitlab]\ninputs:\n  - name: text\n    type: string\n---\n\nCall `github.search`.\n";
    let server = r#"{"mcpServers": {"github": {"command": "env"}, "gitlab": {"command": "env"}}}"#;
    let scene = probe("", "true").file("skills/wrap/SKILL.md", text).file("repo/.mcp.json", server);
    assert_snapshot!(scene.run("run ../skills/wrap --input text=hi --yes"));
}

#[test]
fn servers_are_found_where_each_agent_keeps_them() {
    // SRT-4.6-3
    for (file, text) in [
        ("repo/.codex/config.toml", "[mcp_servers.github]\ncommand = \"env\"\n"),
        ("repo/.vscode/mcp.json", "{ // mine\n\"servers\": {\"github\": {\"command\": \"env\"},}}"),
        ("repo/.kimi-code/mcp.json", r#"{"mcpServers": {"github": {"command": "env"}}}"#),
        ("repo/kilo.json", r#"{"mcp": {"github": {"type": "local", "command": ["env", "x"]}}}"#),
        ("home/.rovodev/mcp.json", r#"{"mcpServers": {"github": {"url": "https://a.test/mcp"}}}"#),
        ("home/.config/goose/config.yaml", "extensions:\n  github:\n    cmd: env\n"),
    ] {
        let scene =
            probe("dependencies:\n  mcp-servers: [github]\n", "touch made").file(file, text);
        let shown = scene.run("run ../skills/probe --yes");
        assert!(scene.path().join("repo/made").exists(), "{shown}");
    }
}
