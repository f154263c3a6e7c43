//! A registry with the example skills, so that the first search and the first page have something to show.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::server::Server;
use crate::{process, terminal};

/// The user who publishes the examples.
const USER: &str = "prowess-examples";
/// More new names than the usual limit allows, so that all examples can be published at once.
const SETTINGS: &str = "title = \"Example skills\"\nnew_names = 100\n";

/// Starts a registry and publishes what is not there yet. It ends when the value is dropped.
pub(super) fn start(prowess: &Path, root: &Path, examples: &[PathBuf]) -> Result<Server> {
    let data = root.join("target/registry");
    fs::create_dir_all(&data).context("could not create the folder of the registry")?;
    fs::write(data.join("registry.toml"), SETTINGS).context("could not write its settings")?;
    if !data.join("registry.db").exists() {
        let mut command = process::command(prowess);
        process::run(command.args(["registry", "user", "add", USER, "--data"]).arg(&data))?;
    }
    let mut command = process::command(prowess);
    let output =
        command.args(["registry", "token", "new", "--user", USER, "--data"]).arg(&data).output()?;
    if !output.status.success() {
        bail!("no token: {}", String::from_utf8_lossy(&output.stderr));
    }
    let token = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let server = Server::start(
        process::command(prowess)
            .args(["registry", "serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(&data),
    )?;
    for example in examples.iter().filter(|example| example.join("SKILL.md").is_file()) {
        publish(prowess, &server, &token, example)?;
    }
    server.check_health()?;
    terminal::say(&format!("The registry is at http://{}; try:", server.address));
    terminal::say(&format!("  PROWESS_REGISTRY=http://{} prowess search review", server.address));
    Ok(server)
}

fn publish(prowess: &Path, server: &Server, token: &str, example: &Path) -> Result<()> {
    let mut command = process::command(prowess);
    command.args(["publish", "--yes", "--quiet"]).arg(example);
    command.env("PROWESS_REGISTRY", format!("http://{}", server.address));
    let output = command.env("PROWESS_TOKEN", token).output().context("could not publish")?;
    let told = String::from_utf8_lossy(&output.stderr);
    // An earlier start has published it.
    if output.status.success() || told.contains("is published already") {
        return Ok(());
    }
    bail!("`{}` was not published: {told}", example.display())
}
