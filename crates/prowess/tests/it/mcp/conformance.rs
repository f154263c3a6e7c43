//! What others have written against the protocol: its official test suite, and its SDK for Python.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::project;

/// The scenarios of the skills extension (SEP-2640), with the number of their checks.
const SKILLS: [(&str, usize); 3] = [
    ("sep-2640-skills-enumeration", 32),
    ("sep-2640-skills-manifest", 6),
    ("sep-2640-skills-directory", 7),
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
    let suite = |arguments: &[&str]| {
        let output = Command::new(folder.join("node_modules/node/bin/node"))
            .arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
            .args(["server", "--url", &url])
            .args(arguments)
            .current_dir(scene.path())
            .output()
            .expect("the suite runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), text)
    };
    for (scenario, checks) in SKILLS {
        let arguments = ["--scenario", scenario, "--spec-version", "2026-07-28", "--force"];
        let (is_fine, text) = suite(&arguments);
        let all = format!("Passed: {checks}/{checks}, 0 failed, 0 warnings");
        assert!(is_fine && text.contains(&all), "{scenario}: {text}");
    }
    let (is_fine, text) = suite(&["--requirements", "2026-07-28"]);
    assert!(is_fine, "{text}");
}

#[test]
#[expect(clippy::print_stderr, reason = "says that it did not run")]
fn the_sdk_for_python_lists_reads_asks_and_runs() {
    let Some(python) = std::env::var_os("PROWESS_MCP_PYTHON") else {
        eprintln!("SKIPPED: PROWESS_MCP_PYTHON is not set, `cargo xtask test` sets it");
        return;
    };
    let scene = project();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/session.py");
    let output = Command::new(python)
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_prowess"))
        .env("HOME", scene.path().join("home"))
        .current_dir(scene.path().join("repo"))
        .output()
        .expect("Python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        text,
        "tools nap__nap notes__all_notes say__say\nread Write them down.\ndeclined True\nanswered hi\n"
    );
}
