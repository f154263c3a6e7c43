//! Running other programs: where the workspace is, which cargo to use, and an echo of every command.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::terminal::{self, Style};

/// The folder of the root `Cargo.toml`.
pub(crate) fn workspace_root() -> PathBuf {
    // `cargo run` names the manifest it runs; the compile-time value serves a binary started by hand.
    let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir.parent().map_or_else(|| manifest_dir.clone(), Path::to_owned)
}

/// Where cargo writes, honouring `CARGO_TARGET_DIR`.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace_root().join("target"), |dir| workspace_root().join(dir))
}

/// A command that runs in the workspace root.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace_root());
    // `cargo run` describes this package to us in the environment. Build scripts that watch those
    // variables would run again on every switch between `cargo build` and `cargo xtask`.
    for (name, _) in env::vars_os() {
        let described = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_")
                || name.starts_with("CARGO_MANIFEST_")
                || name == "CARGO_PRIMARY_PACKAGE"
        });
        if described {
            command.env_remove(name);
        }
    }
    command
}

/// The cargo that started us, so that every step uses one toolchain.
pub(crate) fn cargo() -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Shows the command, runs it with our own stdin, stdout and stderr, and fails when it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("{}", terminal::paint_stderr(Style::Dim, &format!("   $ {}", describe(command))));
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` failed: {status}", describe(command));
    }
    Ok(())
}

/// Whether the command can be started and succeeds; what it prints is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().map_err(|source| not_started(command, source))
}

fn not_started(command: &Command, source: std::io::Error) -> anyhow::Error {
    let program = command.get_program().to_string_lossy().into_owned();
    if source.kind() == ErrorKind::NotFound {
        return anyhow::anyhow!("`{program}` is not installed, or not on the PATH");
    }
    anyhow::Error::new(source).context(format!("could not start `{program}`"))
}

/// The command as a person would type it: variables set for it first, paths below the root made relative.
pub(crate) fn describe(command: &Command) -> String {
    let root = format!("{}/", workspace_root().display());
    let mut line = String::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            let _ = write!(line, "{}={} ", name.to_string_lossy(), quote(&value.to_string_lossy()));
        }
    }
    let program = Path::new(command.get_program());
    let is_cargo = program.file_stem().is_some_and(|stem| stem == "cargo");
    let program = if is_cargo { "cargo".into() } else { program.to_string_lossy() };
    line.push_str(&quote(program.strip_prefix(&root).unwrap_or(&program)));
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let _ = write!(line, " {}", quote(argument.strip_prefix(&root).unwrap_or(&argument)));
    }
    line
}

fn quote(word: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "-_=./:,+@%".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[derive(Clone, Copy)]
pub(crate) enum Profile {
    Dev,
    /// Compiles quickly and runs well enough; see `Cargo.toml`.
    Start,
    Release,
}

/// Builds the `prowess` binary and says where it is.
pub(crate) fn build_prowess(profile: Profile) -> Result<PathBuf> {
    let mut cargo = cargo();
    cargo.args(["build", "--package", "prowess", "--bin", "prowess"]);
    let folder = match profile {
        Profile::Dev => "debug",
        Profile::Start => {
            cargo.args(["--profile", "start"]);
            "start"
        }
        Profile::Release => {
            cargo.arg("--release");
            "release"
        }
    };
    run(&mut cargo)?;
    let binary = target_dir().join(folder).join(format!("prowess{}", env::consts::EXE_SUFFIX));
    binary.is_file().then_some(()).with_context(|| {
        format!("cargo built no `{}`; is another target folder configured?", binary.display())
    })?;
    Ok(binary)
}

#[cfg(test)]
mod tests;
