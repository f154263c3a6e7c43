//! Skills with `runtime.type: mcp-tool`: one tool of a configured MCP server, through the real binary.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::{Value, json};

use crate::scene;

const TOKEN: &str = "a-token-of-this-test";

/// A skill that calls the tool `say` of the server `local`.
fn wrapper(more: &str) -> String {
    format!(
        "---\nname: wrap\nversion: 0.1.0\ndescription: Says something.\nruntime:\n  type: mcp-tool\n  tool: say\ninputs:\n  - name: text\n    type: string\n    required: true\ndependencies:\n  mcp-servers: [local]\n{more}---\n\nSays a text.\n"
    )
}

/// A project with a server that behaves in one way, and the skill.
fn project(behaviour: &str, more: &str) -> Scene {
    let server = json!({ "command": "python3", "args": ["server.py", behaviour] });
    with_server(&server, more)
}

fn with_server(server: &Value, more: &str) -> Scene {
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("repo/server.py", include_str!("mcp_tools/server.py"))
        .file("repo/.mcp.json", json!({ "mcpServers": { "local": server } }).to_string())
        .file("skills/wrap/SKILL.md", wrapper(more))
        .file("skills/wrap/private.txt", "of the skill\n")
        .inside("repo")
}

fn run(scene: &Scene) -> (Value, Option<i32>) {
    let arguments = ["run", "../skills/wrap", "--input", "text=hi", "--yes", "--format", "json"];
    let output = scene.output(&arguments, "");
    let envelope = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    (envelope, output.status.code())
}

/// SRT-4.3-1, SRT-4.6-3
#[test]
fn the_one_tool_of_a_server_is_called() {
    let scene = project("echo", "");
    let (envelope, code) = run(&scene);
    assert_eq!(code, Some(0), "{envelope}");
    assert_eq!(envelope["output"], "hi\n");
    assert_eq!(envelope["parsed"], json!({ "said": "hi" }));
    let events = scene.run("run ../skills/wrap --input text=hi --yes --format events");
    assert!(events.contains(r#""event":"done""#), "{events}");
    // The question has the command of the server, and what it may access.
    let asked = scene.run_on_terminal(&["run", "../skills/wrap", "--input", "text=hi"], "n\n");
    assert!(asked.contains("python3 server.py echo"), "{asked}");
    assert!(asked.contains("MCP server `local`"), "{asked}");
    assert!(asked.contains("is configured in"), "{asked}");
}

#[test]
fn nobody_asked_and_other_settings_ask_again() {
    let scene = project("echo", "");
    let arguments = ["run", "../skills/wrap", "--input", "text=hi"];
    assert_eq!(scene.output(&arguments, "").status.code(), Some(125));
    let shown = scene.run_on_terminal(&arguments, "y\n");
    assert!(shown.contains("hi"), "{shown}");
    assert_eq!(scene.output(&arguments, "").status.code(), Some(0));
    // The repository changes what the name means.
    let other = json!({ "mcpServers": { "local": { "command": "python3", "args": ["server.py", "echo", "x"] } } });
    std::fs::write(scene.path().join("repo/.mcp.json"), other.to_string()).expect("written");
    assert_eq!(scene.output(&arguments, "").status.code(), Some(125));
}

#[test]
fn values_have_their_types_and_a_result_its_schema() {
    let text = "---\nname: wrap\nversion: 0.1.0\ndescription: Says something.\nruntime:\n  type: mcp-tool\n  server: local\n  tool: say\ninputs:\n  - name: count\n    type: number\n    required: true\n  - name: deep\n    type: json\n  - name: loud\n    type: boolean\n    default: true\noutputs:\n  type: json\n  schema:\n    type: object\n    required: [count]\n    properties:\n      count: { type: number, maximum: 5 }\n---\n\nSays.\n";
    let scene = project("types", "").file("skills/wrap/SKILL.md", text);
    let call = |count: &str| {
        let deep = r#"deep={"a":[1]}"#;
        let count = format!("count={count}");
        let all = [
            "run",
            "../skills/wrap",
            "--input",
            &count,
            "--input",
            deep,
            "--yes",
            "--format",
            "json",
        ];
        let output = scene.output(&all, "");
        let envelope: Value = serde_json::from_slice(&output.stdout).expect("an envelope");
        (envelope, output.status.code())
    };
    let (envelope, code) = call("3");
    assert_eq!(code, Some(0), "{envelope}");
    assert_eq!(envelope["parsed"], json!({ "count": 3, "deep": { "a": [1] }, "loud": true }));
    let (envelope, code) = call("7");
    assert_eq!(code, Some(1), "{envelope}");
    assert_eq!(envelope["outcome"], "invalid_output");
    assert_eq!(call("many").1, Some(2));
}

/// G05: the server runs in a sandbox of its own, with nothing of the skill.
#[test]
fn a_server_sees_the_working_directory_and_nothing_of_the_skill() {
    let scene = scene();
    let skill = scene.path().join("skills/wrap/private.txt").display().to_string();
    let home = scene.path().join("home/secret.txt").display().to_string();
    let server = json!({
        "command": "python3",
        "args": ["server.py", "look", "server.py", skill, home],
        "env": { "SERVER_MODE": "test", "LD_PRELOAD": "/tmp/x.so" },
    });
    let scene = scene
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .variable("SKILL_KEY", "not-for-the-server")
        .file("home/secret.txt", "secret\n")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("repo/server.py", include_str!("mcp_tools/server.py"))
        .file("repo/.mcp.json", json!({ "mcpServers": { "local": server } }).to_string())
        .file("skills/wrap/SKILL.md", wrapper("permissions:\n  env: [SKILL_KEY]\n"))
        .file("skills/wrap/private.txt", "of the skill\n")
        .inside("repo");
    let (envelope, code) = run(&scene);
    assert_eq!(code, Some(0), "{envelope}");
    let seen = &envelope["parsed"];
    assert_eq!(seen["files"], json!([true, null, null]), "{seen}");
    assert_eq!(seen["written"], false);
    let variables: Vec<&str> =
        seen["variables"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(variables.contains(&"SERVER_MODE"), "{variables:?}");
    assert!(
        !variables.contains(&"SKILL_KEY") && !variables.contains(&"LD_PRELOAD"),
        "{variables:?}"
    );
}

#[test]
fn secrets_of_the_settings_appear_nowhere() {
    const CANARY: &str = "sk-canary-4711-do-not-show";
    let server = json!({
        "command": "python3", "args": ["server.py", "secret"],
        "env": { "SERVER_TOKEN": "${REAL_TOKEN}" },
    });
    let scene = with_server(&server, "").variable("REAL_TOKEN", CANARY);
    for format in ["json", "events", "text"] {
        let shown =
            scene.run(&format!("run ../skills/wrap --input text=hi --yes --format {format}"));
        assert!(shown.contains("token"), "{shown}");
        assert!(!shown.contains(CANARY), "{shown}");
    }
    let asked = scene.run_on_terminal(&["run", "../skills/wrap", "--input", "text=hi"], "n\n");
    assert!(!asked.contains(CANARY), "{asked}");
    let listed = scene.run("mcp servers --format json");
    assert!(listed.contains("python3 server.py secret") && !listed.contains(CANARY), "{listed}");
}

#[test]
fn a_server_that_misbehaves_gets_an_error_and_leaves_nothing_running() {
    for (behaviour, code, expected) in [
        ("error", 1, "the tool `say` of the MCP server `local` failed: the repository is archived"),
        ("die", 1, "the MCP server `local` closed the connection"),
        ("large", 1, "the MCP server `local` sent a message of more than 8 MiB"),
        ("flood", 1, "the MCP server `local` sent a message of more than 8 MiB"),
        (
            "later",
            1,
            "the MCP server `local` wants to ask you something, which is not possible here",
        ),
    ] {
        let (envelope, exit) = run(&project(behaviour, ""));
        assert_eq!(envelope["error"].as_str(), Some(expected), "{behaviour}: {envelope}");
        assert_eq!(exit, Some(code), "{behaviour}");
    }
    let (envelope, code) = run(&project("garbage", ""));
    assert_eq!((envelope["output"].as_str(), code), (Some("fine\n"), Some(0)), "{envelope}");
    // What a server asks its client is declined.
    let (envelope, _) = run(&project("ask", ""));
    let output = envelope["output"].as_str().unwrap_or_default();
    assert!(output.contains("decline") || output.contains("-32"), "{envelope}");
}

#[test]
fn what_is_missing_is_said_before_anything_starts() {
    let unknown = project("echo", "")
        .file("skills/wrap/SKILL.md", wrapper("").replace("tool: say", "tool: shout"));
    assert_snapshot!("unknown-tool", unknown.run("run ../skills/wrap --input text=hi --yes"));
    let not_configured = project("echo", "").file("repo/.mcp.json", "{}");
    assert_snapshot!(
        "not-configured",
        not_configured.run("run ../skills/wrap --input text=hi --yes")
    );
    for (name, server) in [
        ("no-program", json!({ "command": "no-such-program" })),
        ("no-variable", json!({ "command": "python3", "args": ["${NOT_SET}"] })),
        ("input", json!({ "command": "python3", "env": { "KEY": "${input:key}" } })),
        ("sse", json!({ "type": "sse", "url": "https://mcp.example/sse" })),
        ("clear-text", json!({ "url": "http://mcp.example/mcp?key=secret" })),
        ("nothing-there", json!({ "url": "http://127.0.0.1:1/mcp" })),
    ] {
        let shown = with_server(&server, "").run("run ../skills/wrap --input text=hi --yes");
        assert_snapshot!(name, shown);
    }
}

#[test]
fn servers_are_listed_and_asked_only_on_demand() {
    let other = "[mcp_servers.remote]\nurl = \"https://user:pw@mcp.example/mcp?key=secret\"\n[mcp_servers.broken]\n";
    let scene = project("echo", "").file("home/.codex/config.toml", other);
    assert_snapshot!("servers", scene.run("mcp servers"));
    assert_snapshot!("servers-connected", scene.run("mcp servers local --connect --yes"));
    assert_snapshot!("servers-refused", scene.run("mcp servers local --connect"));
    assert_snapshot!("servers-unknown", scene.run("mcp servers nobody"));
    let pages = project("pages", "");
    assert!(pages.run("mcp servers local --connect --yes").contains("exit 0"));
}

/// A server of our own over HTTP, which ends with the test.
struct HttpServer(Child);

impl HttpServer {
    /// Starts it for a folder of skills, and gives its URL.
    fn start(scene: &Scene) -> (Self, String) {
        let mut process = scene
            .command(&["mcp", "served", "--http", "127.0.0.1:0"])
            .env("PROWESS_MCP_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let errors = process.stderr.take().expect("a pipe");
        BufReader::new(errors).read_line(&mut line).expect("a line");
        let address = line.split_whitespace().find(|word| word.starts_with("http://"));
        let address = address.expect("the address").to_owned();
        (Self(process), address)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_remote_server_is_called_with_the_headers_of_its_settings() {
    let tool = "---\nname: say\nversion: 1.0.0\ndescription: For tests\npermissions: [\"shell:execute:echo\"]\n---\n\n### say\n\nSays it.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | yes | What to say |\n\n#### Command\n\n```bash\necho {{text}}\n```\n";
    let scene = project("echo", "").file("repo/served/say/SKILL.md", tool);
    let approved = scene.run_on_terminal(&["run", "served/say/say", "--input", "text=x"], "y\n");
    assert!(approved.contains('x'), "{approved}");
    let (_server, url) = HttpServer::start(&scene);
    let configure = |token: &str| {
        let server =
            json!({ "url": url, "headers": { "Authorization": format!("Bearer {token}") } });
        let settings = json!({ "mcpServers": { "local": server } }).to_string();
        std::fs::write(scene.path().join("repo/.mcp.json"), settings).expect("written");
        let skill = wrapper("").replace("tool: say", "tool: say__say");
        std::fs::write(scene.path().join("skills/wrap/SKILL.md"), skill).expect("written");
    };
    configure(TOKEN);
    let (envelope, code) = run(&scene);
    assert_eq!((envelope["output"].as_str(), code), (Some("hi\n"), Some(0)), "{envelope}");
    configure("another-token-than-that");
    let (envelope, code) = run(&scene);
    assert_eq!(code, Some(1), "{envelope}");
    let error = envelope["error"].as_str().unwrap_or_default();
    assert_eq!(error, "the MCP server `local` refuses access (status 401)");
    assert!(!envelope.to_string().contains("another-token-than-that"), "{envelope}");
}

/// A server that gives every connection the same response; its URL.
fn responding(response: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(response.as_bytes());
        }
    });
    url
}

#[test]
fn a_remote_server_that_is_none_is_said_to_be_none() {
    for (response, expected) in [
        (
            "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest?key=secret\r\nContent-Length: 0\r\n\r\n",
            "the MCP server `local` redirects to `http://169.254.169.254/latest?…`, which is not followed",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<h1>",
            "the MCP server `local` responded with something other than MCP; check its URL",
        ),
        (
            "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
            "the MCP server `local` answered with status 500",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            "the MCP server `local` answered with invalid JSON-RPC",
        ),
    ] {
        let scene = with_server(&json!({ "url": responding(response) }), "");
        let (envelope, code) = run(&scene);
        assert_eq!(envelope["error"].as_str(), Some(expected), "{envelope}");
        assert_eq!(code, Some(1));
    }
}

/// A server of somebody else's making, over both transports. Imports of its SDK take seconds on a busy machine.
#[test]
#[expect(clippy::print_stderr, reason = "says that it did not run")]
fn a_server_of_the_sdk_for_python_is_called() {
    let Some(python) = std::env::var_os("PROWESS_MCP_PYTHON") else {
        eprintln!("SKIPPED: PROWESS_MCP_PYTHON is not set, `cargo xtask test` sets it");
        return;
    };
    let python = python.into_string().expect("a path in UTF-8");
    let server = json!({ "command": python, "args": ["sdk_server.py", "stdio"] });
    let scene = with_server(&server, "")
        .file("repo/sdk_server.py", include_str!("mcp_tools/sdk_server.py"));
    let (envelope, code) = run(&scene);
    assert_eq!((&envelope["parsed"], code), (&json!({ "said": "hi" }), Some(0)), "{envelope}");

    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let process = std::process::Command::new(&python)
        .args(["sdk_server.py", "http", &address.port().to_string()])
        .current_dir(scene.path().join("repo"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("Python starts");
    let _server = HttpServer(process);
    let until = Instant::now() + Duration::from_mins(1);
    while TcpStream::connect(address).is_err() {
        assert!(Instant::now() < until, "the server does not listen");
        std::thread::sleep(Duration::from_millis(100));
    }
    let settings = json!({ "mcpServers": { "local": { "url": format!("http://{address}/mcp") } } });
    std::fs::write(scene.path().join("repo/.mcp.json"), settings.to_string()).expect("written");
    let (envelope, code) = run(&scene);
    assert_eq!((&envelope["parsed"], code), (&json!({ "said": "hi" }), Some(0)), "{envelope}");
}
