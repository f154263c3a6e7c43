//! Runs schemathesis, which tests a server against its own description, from `PyPI`. `cargo xtask test` installs it.

use std::path::PathBuf;
use std::process::Command;

/// The program; `cargo xtask test` sets it.
const VARIABLE: &str = "PROWESS_SCHEMATHESIS";
/// How many cases there are for each operation and phase: a check, not a search.
const EXAMPLES: u32 = 5;

/// What is tested.
#[derive(Clone, Debug)]
pub struct ApiUnderTest {
    /// The address of the description.
    pub description: String,
    /// A token for the requests.
    pub token: String,
    /// Checks that the API can't meet, each with its reason in the test.
    pub excluded_checks: Vec<&'static str>,
    /// Operations that end the session of the test or have no end themselves, as regular expressions of paths.
    pub excluded_paths: Vec<&'static str>,
}

/// The program, if it is installed; otherwise says that the test was skipped.
#[expect(clippy::print_stderr, reason = "a test that was skipped must say so")]
pub fn schemathesis() -> Option<PathBuf> {
    let found = std::env::var_os(VARIABLE).map(PathBuf::from);
    if found.is_none() {
        eprintln!("SKIPPED: `{VARIABLE}` is not set (`cargo xtask test` sets it)");
    }
    found
}

/// Tests an API, the same cases each time; panics with the report if it finds a failure.
pub fn run(program: &std::path::Path, api: &ApiUnderTest) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(program);
    command.args(["run", &api.description, "--no-color", "--generation-deterministic"]);
    command.args(["--no-shrink", "--warnings", "off"]);
    command.args(["--suppress-health-check", "all", "--phases", "examples,coverage,fuzzing"]);
    command.args(["--max-examples", &EXAMPLES.to_string(), "--request-timeout", "20"]);
    command.args(["--max-redirects", "0"]);
    command.args(["--header", &format!("Authorization:Bearer {}", api.token)]);
    if !api.excluded_checks.is_empty() {
        command.args(["--exclude-checks", &api.excluded_checks.join(",")]);
    }
    for path in &api.excluded_paths {
        command.args(["--exclude-path-regex", path]);
    }
    command.current_dir(folder.path()).env("HOME", folder.path()).env("NO_PROXY", "127.0.0.1");
    let output = command.output().expect("schemathesis starts");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}
