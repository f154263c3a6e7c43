//! What a process on the fresh machine sees: where home is, which programs exist, how registries are reached.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::link;

/// The folders that the packages of an operating system install programs to.
const SYSTEM_FOLDERS: &[&str] = &["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Environment variables that are kept, by their exact names.
const KEPT: &[&str] = &[
    "CARGO_NET_GIT_FETCH_WITH_CLI",
    "CI",
    "CURL_CA_BUNDLE",
    "LANG",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_COLOR",
    "NPM_CONFIG_REGISTRY",
    "PIP_CERT",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_EXTRA_INDEX_URL",
    "PIP_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
];

/// Beginnings of the names of variables that are kept.
const KEPT_PREFIXES: &[&str] = &["CARGO_HTTP_", "CARGO_REGISTRIES_", "CARGO_SOURCE_", "LC_"];

/// Kept in capital and small letters.
const PROXIES: &[&str] = &["http_proxy", "https_proxy", "all_proxy", "no_proxy"];

/// Tables of cargo's settings that say how packages are downloaded. The others (linkers, wrappers, target folders) are
/// what a developer added to the machine.
const CARGO_TABLES: &[&str] = &["source", "registries", "registry", "http", "net"];

/// Settings of package managers in the home folder: the variable that names the file, and where it is if not set.
const SETTINGS: &[(&str, &[&str])] = &[
    ("PIP_CONFIG_FILE", &[".config/pip/pip.conf", ".pip/pip.conf"]),
    ("NPM_CONFIG_USERCONFIG", &[".npmrc"]),
];

/// The environment of a fresh machine.
pub(super) struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Creates an empty home folder and an empty `CARGO_HOME` in `folder`.
    pub(super) fn new(folder: &Path, toolchain: &Path) -> Result<Environment> {
        let home = folder.join("home");
        let cargo_home = home.join(".cargo");
        let programs = cargo_home.join("bin");
        fs::create_dir_all(&programs)
            .with_context(|| format!("could not create `{}`", programs.display()))?;
        let real_home = env::home_dir();
        let real_cargo_home = env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| real_home.as_ref().map(|home| home.join(".cargo")));
        if let Some(real) = &real_cargo_home {
            carry_settings(real, &cargo_home)?;
            let rustup = real.join("bin/rustup");
            if rustup.exists() {
                link(&rustup, &programs.join("rustup"))?;
            }
        }

        let mut variables: Vec<(OsString, OsString)> =
            env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_kept)).collect();
        let mut set = |name: &str, value: OsString| variables.push((name.into(), value));
        set("HOME", home.into());
        set("PATH", path(&programs, toolchain)?);
        set("CARGO_HOME", cargo_home.into());
        // The toolchain is what a fresh machine does have.
        let rustup_home = env::var_os("RUSTUP_HOME")
            .map(PathBuf::from)
            .or(real_home.as_ref().map(|home| home.join(".rustup")));
        if let Some(rustup_home) = rustup_home {
            set("RUSTUP_HOME", rustup_home.into());
        }
        for (name, files) in SETTINGS {
            let given = env::var_os(name).map(PathBuf::from);
            let usual = real_home.iter().flat_map(|home| files.iter().map(|file| home.join(file)));
            if let Some(file) = given.into_iter().chain(usual).find(|file| file.is_file()) {
                set(name, file.into());
            }
        }
        Ok(Environment { variables })
    }

    /// Replaces the whole environment of a command, and finds its program in it.
    pub(super) fn apply(&self, command: &mut Command) {
        command.env_clear().envs(self.variables.iter().cloned());
    }
}

fn path(programs: &Path, toolchain: &Path) -> Result<OsString> {
    let system = SYSTEM_FOLDERS.iter().map(PathBuf::from);
    let folders = [programs.to_owned(), toolchain.to_owned()].into_iter().chain(system);
    env::join_paths(folders).context("the toolchain's folder can't be part of PATH")
}

/// Writes what cargo's settings say about registries to another `CARGO_HOME`.
fn carry_settings(from: &Path, to: &Path) -> Result<()> {
    for name in ["config.toml", "config"] {
        let Ok(text) = fs::read_to_string(from.join(name)) else {
            continue;
        };
        let file = to.join("config.toml");
        return fs::write(&file, registry_settings(&text))
            .with_context(|| format!("could not write `{}`", file.display()));
    }
    Ok(())
}

pub(super) fn is_kept(variable: &str) -> bool {
    KEPT.contains(&variable)
        || KEPT_PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
        || PROXIES.iter().any(|proxy| variable.eq_ignore_ascii_case(proxy))
}

/// The tables of cargo's settings that say how packages are downloaded, and only these.
pub(super) fn registry_settings(config: &str) -> String {
    let mut kept = String::new();
    let mut in_table = false;
    let mut keep = false;
    for line in config.lines() {
        let trimmed = line.trim_start();
        if let Some(header) = trimmed.strip_prefix('[') {
            in_table = true;
            keep = is_carried(header.trim_start_matches('['));
        } else if !in_table && trimmed.contains('=') {
            // A dotted key above the first table.
            keep = is_carried(trimmed);
        }
        if keep {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Whether a dotted key, with anything after it, begins with one of the tables that are carried over.
fn is_carried(key: &str) -> bool {
    let first = key.trim_start().trim_start_matches(['"', '\'']);
    let end = first.find(|character: char| !character.is_ascii_alphanumeric() && character != '-');
    CARGO_TABLES.contains(&&first[..end.unwrap_or(first.len())])
}
