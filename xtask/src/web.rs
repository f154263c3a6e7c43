//! `cargo xtask web`: builds, checks and tries the web app of `prowess serve`, which is written in TypeScript.

mod node;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

pub(crate) use self::node::{Node, find as node};
use crate::process;
use crate::test::install::Permission;
use crate::{terminal, usage};

pub(crate) const HELP: &str = "\
Build the web app of `prowess serve`, check it, or try it in a browser

Builds `web/studio` into `web/studio/dist`, which the next build of the binary embeds; a build without it serves a page
that names this command. Compresses the files and fails when a page's first load is larger than its budget. Node.js 20.19
or newer is taken from the PATH, else from npm or PyPI into the build folder; packages come from the lock files.

Usage: cargo xtask web [--check] [--e2e [NAME]] [--dev] [--no-install]

Options:
  --check        Check types, lints, formatting and the generated icons, and run the unit tests
  --e2e [NAME]   Build the app, the binary and a registry with sample skills, then run the journeys in Chromium, all or
                 those whose path contains NAME: `real` has the app on `prowess serve` with a scripted model, `studio` on a
                 server in memory with faults; screenshots are written to `target/e2e`
  --dev          Serve the app with live reload; requests to the API go to `PROWESS_STUDIO_URL`, by default
                 http://127.0.0.1:8787
  --no-install   Install nothing; a missing package is an error

Example: cargo xtask web --e2e chat
";

/// The example of `prowess-registry` that the registry's journeys go through.
const SAMPLE_REGISTRY: &str = "sample_registry";

#[derive(PartialEq, Eq, Debug)]
enum Task {
    Build,
    Check,
    Journeys { named: Option<String> },
    Serve,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (tasks, permission) = tasks(arguments)?;
    let node = node(permission)?;
    for task in &tasks {
        match task {
            Task::Build => {
                build(&node, permission)?;
            }
            Task::Check => check(&node, permission)?,
            Task::Journeys { named } => journeys(&node, permission, named.as_deref())?,
            Task::Serve => serve(&node, permission)?,
        }
    }
    Ok(())
}

fn tasks(arguments: &[String]) -> Result<(Vec<Task>, Permission)> {
    let mut tasks = Vec::new();
    let mut permission = Permission::Granted;
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--check" => tasks.push(Task::Check),
            "--e2e" => {
                let named = rest.next_if(|word| !word.starts_with('-')).cloned();
                tasks.push(Task::Journeys { named });
            }
            "--dev" => tasks.push(Task::Serve),
            "--no-install" => permission = Permission::Withheld,
            other => return Err(usage::unexpected(other)),
        }
    }
    if tasks.is_empty() {
        tasks.push(Task::Build);
    }
    Ok((tasks, permission))
}

fn studio() -> PathBuf {
    process::workspace_root().join("web/studio")
}

fn browser_tests() -> PathBuf {
    process::workspace_root().join("web/e2e")
}

/// Builds the app where Node.js is at hand, for a binary that is built next. The app is no reason to fail: a binary without it
/// serves a page that says how to build it.
pub(crate) fn build_where_possible() {
    terminal::heading("Building the studio's pages");
    let built = node(Permission::Withheld).and_then(|node| build(&node, Permission::Granted));
    if let Err(error) = built {
        terminal::say(&format!("The studio starts without its pages: {error:#}"));
    }
}

/// Builds the app and compresses it.
fn build(node: &Node, permission: Permission) -> Result<()> {
    let studio = studio();
    install_packages(node, &studio, permission)?;
    terminal::heading("Building the web app");
    process::run(node.script(&studio, "tools/icons.mjs").arg("--check"))?;
    process::run(&mut node.package_script(&studio, "build"))?;
    process::run(&mut node.script(&studio, "tools/finish.mjs"))
}

/// Everything about the app and the browser tests that needs neither a browser nor a server.
pub(crate) fn check(node: &Node, permission: Permission) -> Result<()> {
    let studio = studio();
    install_packages(node, &studio, permission)?;
    terminal::heading("Checking the web app");
    process::run(node.script(&studio, "tools/icons.mjs").arg("--check"))?;
    for script in ["check", "lint", "format:check", "test"] {
        process::run(&mut node.package_script(&studio, script))?;
    }
    Ok(())
}

/// The journeys, against the app and the registry that were just built.
pub(crate) fn journeys(node: &Node, permission: Permission, named: Option<&str>) -> Result<()> {
    build(node, permission)?;
    let folder = browser_tests();
    install_packages(node, &folder, permission)?;
    terminal::heading("Building the studio and the registry");
    let mut cargo = process::cargo();
    // In one build, so that both are made of the same crates.
    cargo.args(["build", "--package", "prowess", "--bin", "prowess"]);
    cargo.args(["--package", "prowess-registry", "--example", SAMPLE_REGISTRY]);
    process::run(&mut cargo)?;
    let built = process::target_dir().join("debug");
    let registry = built.join("examples").join(SAMPLE_REGISTRY);
    terminal::heading("Journeys in Chromium");
    let output = process::target_dir().join("e2e");
    fs::create_dir_all(&output)
        .with_context(|| format!("could not create `{}`", output.display()))?;
    let mut run = node.script(&folder, "run.mjs");
    run.env("PROWESS_SAMPLE_REGISTRY", registry);
    run.env("PROWESS_BINARY", built.join("prowess"));
    run.env("PROWESS_E2E_OUTPUT", output);
    if let Some(named) = named {
        run.arg(named);
    }
    process::run(&mut run)
}

fn serve(node: &Node, permission: Permission) -> Result<()> {
    let studio = studio();
    install_packages(node, &studio, permission)?;
    process::run(&mut node.package_script(&studio, "dev"))
}

/// `npm ci`, unless the installed packages are those of the lock file.
fn install_packages(node: &Node, folder: &Path, permission: Permission) -> Result<()> {
    let lock = folder.join("package-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("could not read `{}`", lock.display()))?;
    // Written after `npm ci` has finished, which empties the folder first: an interrupted one leaves no copy.
    let installed = folder.join("node_modules/.installed-lock.json");
    if fs::read(&installed).is_ok_and(|kept| kept == wanted) {
        return Ok(());
    }
    let mut npm = node.npm(folder);
    // Without a network the usual retries take minutes.
    npm.args(["ci", "--prefer-offline", "--no-progress", "--fetch-retries=1"]);
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    crate::test::install::install(&format!("the packages of web/{name}"), &mut npm, permission)?;
    fs::write(&installed, wanted)
        .with_context(|| format!("could not write `{}`", installed.display()))
}

#[cfg(test)]
mod tests;
