//! What others have written against the protocol: its official test suite, its Inspector, and its SDK for Python.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{is_running, project, wait_until};
use crate::quiz::with_tides;

/// The scenarios of the skills extension (SEP-2640), with the number of their checks.
const SKILLS: [(&str, usize); 3] = [
    ("sep-2640-skills-enumeration", 32),
    ("sep-2640-skills-manifest", 6),
    ("sep-2640-skills-directory", 7),
];

/// The scenarios of the skills extension for clients.
const CLIENT: [&str; 4] = [
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
];

/// A server that ends with the test, also with one that fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "says that it did not run")]
fn the_official_suite_finds_no_failure() {
    let Some(folder) = std::env::var_os("PROWESS_MCP_CONFORMANCE").map(PathBuf::from) else {
        eprintln!("SKIPPED: PROWESS_MCP_CONFORMANCE is not set, `cargo xtask test` sets it");
        return;
    };
    // The suite looks at the first skill only, which has to have a folder.
    let scene = project();
    let mut server = Ended(
        scene
            .command(&["mcp", "skills/notes", "--http", "127.0.0.1:0", "--conformance-fixtures"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts"),
    );
    let mut line = String::new();
    let errors = server.0.stderr.take().expect("a pipe");
    BufReader::new(errors).read_line(&mut line).expect("a line");
    let url = format!("http://{}", line.split_once("http://").expect("the address").1.trim());
    let server = ["server", "--url", &url];
    for (scenario, checks) in SKILLS {
        let (is_fine, text) =
            suite(&folder, scene.path(), &[&server, &only(scenario)[..]].concat());
        let all = format!("Passed: {checks}/{checks}, 0 failed, 0 warnings");
        assert!(is_fine && text.contains(&all), "{scenario}: {text}");
    }
    let required = ["--requirements", "2026-07-28"];
    let (is_fine, text) = suite(&folder, scene.path(), &[&server[..], &required].concat());
    assert!(is_fine, "{text}");
}

/// Runs the suite, and gives whether it is content and what it says.
fn suite(folder: &Path, place: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(folder.join("node_modules/node/bin/node"))
        .arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(arguments)
        .current_dir(place)
        .output()
        .expect("the suite runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// The options for one scenario, whatever requirement set it is in.
fn only(scenario: &str) -> [&str; 5] {
    ["--scenario", scenario, "--spec-version", "2026-07-28", "--force"]
}

#[test]
#[expect(clippy::print_stderr, reason = "says that it did not run")]
fn the_official_suite_finds_no_failure_of_the_client() {
    let Some(folder) = std::env::var_os("PROWESS_MCP_CONFORMANCE").map(PathBuf::from) else {
        eprintln!("SKIPPED: PROWESS_MCP_CONFORMANCE is not set, `cargo xtask test` sets it");
        return;
    };
    let scene = project();
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/client.py");
    let command = format!("python3 {driver} {}", env!("CARGO_BIN_EXE_prowess"));
    for scenario in CLIENT {
        let client = ["client", "--command", &command];
        let (is_fine, text) =
            suite(&folder, scene.path(), &[&client[..], &only(scenario)].concat());
        // A scenario that was never entered has no check that could fail.
        let all = "Passed: 1/1, 0 failed, 0 warnings";
        assert!(is_fine && text.contains(all), "{scenario}: {text}");
    }
}

/// What the Inspector prints about a method of a server with the skills of the scene.
fn inspect(folder: &Path, node: &Path, place: &Path, method: &[&str]) -> Value {
    let launcher = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let output = Command::new(node.join("node_modules/node/bin/node"))
        .arg(folder.join(launcher))
        .args(["--cli", env!("CARGO_BIN_EXE_prowess"), "mcp", "skills", "--method"])
        .args(method)
        .env("HOME", place.join("home"))
        .current_dir(place.join("repo"))
        .output()
        .expect("the Inspector runs");
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{method:?}: {error}: {said}"))
}

#[test]
#[expect(clippy::print_stderr, reason = "says that it did not run")]
fn the_inspector_lists_reads_and_calls() {
    let [Some(folder), Some(node)] = ["PROWESS_MCP_INSPECTOR", "PROWESS_MCP_CONFORMANCE"]
        .map(|name| std::env::var_os(name).map(PathBuf::from))
    else {
        eprintln!("SKIPPED: PROWESS_MCP_INSPECTOR is not set, `cargo xtask test` sets it");
        return;
    };
    let scene = project();
    let inspect = |method: &[&str]| inspect(&folder, &node, scene.path(), method);
    let names = |list: &Value, key: &str| -> Vec<String> {
        let items = list[key].as_array().expect("a list").iter();
        items.map(|item| item["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(
        names(&inspect(&["tools/list"]), "tools"),
        ["nap__nap", "notes__all_notes", "say__say"]
    );
    assert_eq!(names(&inspect(&["resources/list"]), "resources"), ["nap", "notes", "say"]);
    let uri = "skill://notes/references/how.md";
    let read = inspect(&["resources/read", "--uri", uri]);
    assert_eq!(read["contents"][0]["text"], "Write them down.\n");
    assert_eq!(names(&inspect(&["prompts/list"]), "prompts"), Vec::<String>::new());
    // It has no forms, so the call is refused with the command for a person.
    let called = ["tools/call", "--tool-name", "say__say", "--tool-arg", "text=hi"];
    let refused = inspect(&called);
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused.to_string().contains("`prowess run "), "{refused}");
}

#[test]
#[expect(clippy::print_stderr, reason = "says that it did not run")]
fn the_sdk_for_python_goes_the_whole_way() {
    let Some(python) = std::env::var_os("PROWESS_MCP_PYTHON") else {
        eprintln!("SKIPPED: PROWESS_MCP_PYTHON is not set, `cargo xtask test` sets it");
        return;
    };
    let endless = "---\nname: rest\nversion: 1.0.0\ndescription: For tests\npermissions: [\"shell:execute:sleep\"]\n---\n\n### rest\n\nRests.\n\n#### Command\n\n```bash\nsleep 3629\n```\n";
    let scene = with_tides(project()).file("repo/skills/rest/SKILL.md", endless);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/session.py");
    let output = Command::new(python)
        .args([script, env!("CARGO_BIN_EXE_prowess"), "skills"])
        .env("HOME", scene.path().join("home"))
        .current_dir(scene.path().join("repo"))
        .output()
        .expect("Python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r"
    tools nap__nap notes__all_notes quiz_answer quiz_next rest__rest say__say tides__table
    read Write them down.
    withheld True
    quiz True
    open True
    refused True
    approved hi True
    cancelled True
    tools nap__nap notes__all_notes quiz_answer quiz_next rest__rest say__tell tides__table
    gone there is no tool `say__say`
    ");
    wait_until("the cancelled tool has ended", || !is_running("3629"));
}
