//! Measurements that an example of a crate makes, and what is made of them.

use std::process::Stdio;

use anyhow::{Result, ensure};

use crate::process::{self, command};

/// Builds an example and gives what it prints.
pub(super) fn run(package: &str, name: &str, arguments: &[&str]) -> Result<String> {
    process::run(command("cargo").args([
        "build",
        "--release",
        "--quiet",
        "--package",
        package,
        "--example",
        name,
    ]))?;
    let program = process::target_dir().join("release/examples").join(name);
    let output = command(program).args(arguments).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "measuring failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The number behind a name.
pub(super) fn figure(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
}

/// Whether a goal was reached, in words.
pub(super) fn goal(met: bool, what: &str) -> String {
    format!("{what}: {}", if met { "met" } else { "missed" })
}
