//! `cargo xtask bench mcp`: `prowess mcp` beside a bare server on the same SDK.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use super::example::{self, goal};
use crate::process::{self, Profile, cargo, command};
use crate::{terminal, usage};

pub(crate) const SUMMARY: &str =
    "`prowess mcp` beside a bare server of the same SDK (`--debug`: without optimization)";

/// The first list of tools of 500 skills, in milliseconds.
const LIST_GOAL: f64 = 50.0;
/// A call of a command, beside a bare server that starts it in the same kind of sandbox.
const COMMAND_GOAL: f64 = 1.2;
/// A call of a warm Python function, beside a bare server with the same function behind a pipe.
const PYTHON_GOAL: f64 = 1.5;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let profile = match arguments {
        [] => Profile::Release,
        // Its figures say nothing; it shows that the measurement works.
        [option] if option == "--debug" => Profile::Dev,
        [other, ..] => return Err(usage::unexpected(other)),
    };
    terminal::heading("Serving 500 and 10,000 skills, and calling tools 1,000 times each, in turn");
    let text = measured(profile)?;
    let figure = |name: &str| {
        example::figure(&text, name).with_context(|| format!("the figure `{name}` is missing"))
    };
    let list = figure("first-list")? / 1000.0;
    println!(
        "first list of the tools of 500 skills   {list:.1} ms: {}",
        goal(list < LIST_GOAL, &format!("< {LIST_GOAL} ms"))
    );
    println!(
        "with the start of the server            {:.1} ms",
        figure("start-and-list")? / 1000.0
    );
    for (what, name, most) in [
        ("a call of a command", "command", COMMAND_GOAL),
        ("a call of a warm Python function", "python", PYTHON_GOAL),
    ] {
        let bare_name = format!("bare-{name}");
        let (ours, bare) = (figure(name)?, figure(&bare_name)?);
        println!(
            "{what:<39} {ours:.0} µs, by a bare server {bare:.0} µs: {}",
            goal(ours / bare <= most, &format!("{:.2} × bare, ≤ {most}", ours / bare))
        );
    }
    println!("memory with 10,000 skills               {:.0} MiB", figure("memory")?);
    Ok(())
}

/// Builds both servers, and gives what the example prints.
fn measured(profile: Profile) -> Result<String> {
    let prowess = process::build_prowess(profile)?;
    let (folder, options): (_, &[&str]) = match profile {
        Profile::Release => ("release", &["--release"]),
        Profile::Dev | Profile::Start => ("debug", &[]),
    };
    process::run(
        cargo()
            .args(["build", "--quiet", "--package", "prowess-mcp", "--example", "mcp_figures"])
            .args(options),
    )?;
    let program = process::target_dir().join(folder).join("examples/mcp_figures");
    let greeting = process::workspace_root().join("examples/greeting");
    let output = command(program).arg(prowess).arg(greeting).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "measuring failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
