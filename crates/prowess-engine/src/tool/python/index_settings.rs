//! The user's settings of pip and uv about package indexes: variables, `pip.conf`, `uv.toml` and `.netrc`.
//!
//! The installer runs in a sandbox without these files, so they are read here. The settings of both tools are mapped to
//! the names of pip's options. Settings that would install elsewhere or build from source are ignored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess_files::atomic::{self, MAX_SMALL_FILE_BYTES};
use toml::{Table, Value};

use super::index::IndexError;
use crate::world::World;

/// Options by name, such as `extra-index-url`, each with its values.
pub(super) type Settings = BTreeMap<String, Vec<String>>;

/// The supported options of pip. Everything else keeps pip's default.
const PIP_OPTIONS: &[&str] = &[
    "index-url",
    "extra-index-url",
    "find-links",
    "no-index",
    "trusted-host",
    "cert",
    "client-cert",
    "constraint",
    "timeout",
    "default-timeout",
    "retries",
    "pre",
    "use-feature",
    "use-deprecated",
];

/// Variables of uv with the corresponding option and the separator of values.
const UV_VARIABLES: &[(&str, &str, Option<char>)] = &[
    ("UV_DEFAULT_INDEX", "index-url", None),
    ("UV_INDEX_URL", "index-url", None),
    ("UV_INDEX", "extra-index-url", Some(' ')),
    ("UV_EXTRA_INDEX_URL", "extra-index-url", Some(' ')),
    ("UV_FIND_LINKS", "find-links", Some(',')),
    ("UV_NO_INDEX", "no-index", None),
    ("UV_INSECURE_HOST", "trusted-host", Some(' ')),
    ("UV_CONSTRAINT", "constraint", Some(' ')),
    ("UV_NATIVE_TLS", "system-certs", None),
    ("UV_SYSTEM_CERTS", "system-certs", None),
    ("UV_INDEX_STRATEGY", "index-strategy", None),
    ("UV_PRERELEASE", "prerelease", None),
    ("UV_RESOLUTION", "resolution", None),
    ("UV_EXCLUDE_NEWER", "exclude-newer", None),
    ("UV_HTTP_TIMEOUT", "http-timeout", None),
    ("UV_HTTP_RETRIES", "http-retries", None),
];

/// Keys of `uv.toml` with the corresponding option.
const UV_KEYS: &[(&str, &str)] = &[
    ("index-url", "index-url"),
    ("extra-index-url", "extra-index-url"),
    ("find-links", "find-links"),
    ("no-index", "no-index"),
    ("allow-insecure-host", "trusted-host"),
    ("trusted-host", "trusted-host"),
    ("native-tls", "system-certs"),
    ("system-certs", "system-certs"),
    ("index-strategy", "index-strategy"),
    ("prerelease", "prerelease"),
    ("resolution", "resolution"),
    ("exclude-newer", "exclude-newer"),
];

/// Options for which uv falls back to pip's settings, each with related ones.
const SHARED: &[&str] = &["index-url", "extra-index-url", "find-links", "no-index", "trusted-host"];

/// The value of a non-empty environment variable.
pub(super) fn variable<'w>(world: &'w World, name: &str) -> Option<&'w str> {
    let mut variables = world.environment.iter();
    let found = variables.find(|(known, value)| known == name && !value.is_empty());
    found.map(|(_, value)| value.as_str())
}

/// Whether a boolean option is on.
pub(super) fn is_on(settings: &Settings, option: &str) -> bool {
    let value = settings.get(option).and_then(|values| values.first());
    value.is_some_and(|value| {
        !matches!(value.to_ascii_lowercase().as_str(), "0" | "no" | "false" | "off" | "n" | "f")
    })
}

/// The settings of pip. Variables override files, and later files override earlier ones.
pub(super) fn of_pip(world: &World, interpreter: &Path) -> Result<Settings, IndexError> {
    let mut settings = Settings::new();
    for file in pip_files(world, interpreter) {
        let Some(text) = read(&file)? else { continue };
        let sections = ini(&text);
        for section in ["global", "install"] {
            for (key, value) in
                sections.iter().filter(|(of, ..)| of == section).map(|it| (&it.1, &it.2))
            {
                set_pip(&mut settings, key, value);
            }
        }
    }
    for (name, value) in &world.environment {
        if let Some(key) = name.strip_prefix("PIP_") {
            set_pip(&mut settings, key, value);
        }
    }
    Ok(settings)
}

fn set_pip(settings: &mut Settings, key: &str, value: &str) {
    let key = key.to_ascii_lowercase().replace('_', "-");
    let key = key.trim_start_matches('-');
    // pip separates values by whitespace.
    let values: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
    if PIP_OPTIONS.contains(&key) && !values.is_empty() {
        settings.insert(key.to_owned(), values);
    }
}

/// The files that pip reads, in its order.
fn pip_files(world: &World, interpreter: &Path) -> Vec<PathBuf> {
    let named = variable(world, "PIP_CONFIG_FILE").map(PathBuf::from);
    if named.as_deref() == Some(Path::new("/dev/null")) {
        return Vec::new();
    }
    let mut files: Vec<PathBuf> =
        config_folders(world).into_iter().map(|folder| folder.join("pip/pip.conf")).collect();
    files.push(PathBuf::from("/etc/pip.conf"));
    if cfg!(target_os = "macos") {
        files.push(PathBuf::from("/Library/Application Support/pip/pip.conf"));
        files.push(world.home.join("Library/Application Support/pip/pip.conf"));
    }
    files.push(world.home.join(".pip/pip.conf"));
    files.push(config_home(world).join("pip/pip.conf"));
    let prefix = interpreter.parent().and_then(Path::parent);
    files.extend(prefix.map(|prefix| prefix.join("pip.conf")));
    files.extend(named);
    files
}

fn config_home(world: &World) -> PathBuf {
    let named = variable(world, "XDG_CONFIG_HOME").map(PathBuf::from);
    named.filter(|path| path.is_absolute()).unwrap_or_else(|| world.home.join(".config"))
}

/// The system's configuration folders, the most important last.
fn config_folders(world: &World) -> Vec<PathBuf> {
    let named = variable(world, "XDG_CONFIG_DIRS").unwrap_or("/etc/xdg");
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(named).filter(|path| path.is_absolute()).collect();
    folders.reverse();
    folders
}

fn read(path: &Path) -> Result<Option<String>, IndexError> {
    atomic::read_text(path, MAX_SMALL_FILE_BYTES)
        .map_err(|error| IndexError::new(format!("cannot read `{}`: {error}", path.display())))
}

/// Parses an INI file into sections, keys and values, like Python's `RawConfigParser`.
fn ini(text: &str) -> Vec<(String, String, String)> {
    let mut entries: Vec<(String, String, String)> = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with([' ', '\t'])
            && let Some((.., value)) = entries.last_mut()
        {
            value.push(' ');
            value.push_str(trimmed);
        } else if let Some(name) = trimmed.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
        } else if let Some((key, value)) = trimmed.split_once(['=', ':']) {
            entries.push((section.clone(), key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    entries
}

/// The settings of uv, with those of pip as a fallback.
pub(super) fn of_uv(world: &World, interpreter: &Path) -> Result<Settings, IndexError> {
    let mut settings = Settings::new();
    for (name, option, separator) in UV_VARIABLES {
        let Some(value) = variable(world, name) else { continue };
        let values: Vec<String> = match separator {
            Some(separator) => value.split(*separator).map(str::trim).map(str::to_owned).collect(),
            None => vec![value.trim().to_owned()],
        };
        let values = values.into_iter().filter(|value| !value.is_empty());
        let known = settings.entry((*option).to_owned()).or_default();
        if separator.is_some() || known.is_empty() {
            known.extend(values);
        }
    }
    for file in uv_files(world) {
        let Some(text) = read(&file)? else { continue };
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let reason = error.message();
            IndexError::new(format!("`{}` is not valid TOML: {reason}", file.display()))
        })?;
        add_toml(&mut settings, &table);
    }
    let of_pip = of_pip(world, interpreter)?;
    for option in SHARED {
        if !settings.contains_key(*option)
            && let Some(values) = of_pip.get(*option)
        {
            settings.insert((*option).to_owned(), values.clone());
        }
    }
    Ok(settings)
}

/// The files that uv reads outside of a project, the most important first.
fn uv_files(world: &World) -> Vec<PathBuf> {
    if variable(world, "UV_NO_CONFIG").is_some() {
        return Vec::new();
    }
    if let Some(named) = variable(world, "UV_CONFIG_FILE") {
        return vec![PathBuf::from(named)];
    }
    let mut files = vec![config_home(world).join("uv/uv.toml")];
    files.extend(config_folders(world).into_iter().rev().map(|folder| folder.join("uv/uv.toml")));
    files.push(PathBuf::from("/etc/uv/uv.toml"));
    files
}

/// Adds options of a file that are not set yet.
fn add_toml(settings: &mut Settings, table: &Table) {
    let mut found = Settings::new();
    let of_pip = table.get("pip").and_then(Value::as_table);
    for (key, option) in UV_KEYS {
        let value = of_pip.and_then(|of_pip| of_pip.get(*key)).or_else(|| table.get(*key));
        let values = match value {
            Some(Value::Array(items)) => items.iter().filter_map(plain).collect(),
            Some(value) => plain(value).into_iter().collect(),
            None => Vec::new(),
        };
        if !values.is_empty() {
            found.entry((*option).to_owned()).or_default().extend(values);
        }
    }
    for index in table.get("index").and_then(Value::as_array).into_iter().flatten() {
        let is = |key: &str| index.get(key).and_then(Value::as_bool) == Some(true);
        // An explicit index is only used for packages that a project assigns to it.
        let Some(url) = index.get("url").and_then(Value::as_str).filter(|_| !is("explicit")) else {
            continue;
        };
        let name = index.get("name").and_then(Value::as_str);
        let value = name.map_or_else(|| url.to_owned(), |name| format!("{name}={url}"));
        let option = if is("default") { "index-url" } else { "extra-index-url" };
        found.entry(option.to_owned()).or_default().push(value);
    }
    for (option, values) in found {
        settings.entry(option).or_insert(values);
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Boolean(value) => Some(value.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The user name and password for a host in `.netrc`, or those of `default`.
pub(super) fn netrc(world: &World, host: &str) -> Option<(String, String)> {
    let file = variable(world, "NETRC").map_or_else(|| world.home.join(".netrc"), PathBuf::from);
    let text = atomic::read_text(&file, MAX_SMALL_FILE_BYTES).ok().flatten()?;
    login_of(&text, host)
}

fn login_of(text: &str, host: &str) -> Option<(String, String)> {
    let mut words = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace);
    let (mut is_meant, mut login, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if is_meant && password.is_some() {
                    break;
                }
                is_meant = word == "default" || words.next() == Some(host);
                (login, password) = (None, None);
            }
            "login" if is_meant => login = words.next(),
            "password" if is_meant => password = words.next(),
            "login" | "password" | "account" => drop(words.next()),
            // A macro extends to an empty line, which is not visible here: the rest is ignored.
            "macdef" => break,
            _ => {}
        }
    }
    let password = password.filter(|_| is_meant)?;
    Some((login.unwrap_or_default().to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests;
