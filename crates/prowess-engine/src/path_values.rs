//! Values that name files and folders: they mean what they mean where the user is, wherever the run works.
//!
//! A relative value becomes relative to the working directory of the run where it lies in it, and absolute elsewhere. Either
//! way the tool finds the file. Where the user is in the working directory, a value stays as it was typed.

use std::path::{Component, Path, PathBuf};

use prowess_format::skill::{Parameter, Tool};
use serde_json::{Map, Value};

use crate::world::World;

/// Types of parameters whose values are paths.
const PATH_TYPES: &[&str] = &["path", "file"];
/// Names of text parameters whose values are paths.
const PATH_NAMES: &[&str] = &["file", "path", "dir", "folder"];
/// How names of such parameters may end.
const PATH_SUFFIXES: &[&str] = &["_file", "_path", "_dir"];
/// Types that are text.
const TEXT_TYPES: &[&str] = &["string", "str", "text"];

/// Values of a call, and what of them lies outside of the working directory.
#[derive(Clone, Debug, PartialEq)]
pub struct PathValues {
    /// The values as the tool gets them.
    pub values: Map<String, Value>,
    /// Files and folders that the user names and that are there, as absolute paths without links.
    pub outside: Vec<PathBuf>,
}

/// Whether the values of a parameter are paths.
pub fn is_path_parameter(parameter: &Parameter) -> bool {
    let (name, kind) = (parameter.name.as_str(), parameter.kind.as_str());
    let is_text = kind.is_empty() || TEXT_TYPES.contains(&kind);
    let has_name =
        PATH_NAMES.contains(&name) || PATH_SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    PATH_TYPES.contains(&kind) || (is_text && has_name)
}

/// Resolves the paths among values that a user has typed.
pub fn resolve_paths(tool: &Tool, mut values: Map<String, Value>, world: &World) -> PathValues {
    let mut outside = Vec::new();
    for parameter in tool.parameters.iter().filter(|parameter| is_path_parameter(parameter)) {
        let Some(Value::String(text)) = values.get_mut(parameter.name.as_str()) else { continue };
        if !is_path(text) {
            continue;
        }
        // Links are followed once it is known where the file is.
        let real = world.current.join(&*text).canonicalize().ok();
        outside.extend(real.filter(|real| !real.starts_with(&world.working_directory)));
        if let Some(resolved) = resolved(text, world) {
            *text = resolved;
        }
    }
    PathValues { values, outside }
}

/// Whether a text can be a path: not empty, not standard input, not a URL, no home of the shell's.
fn is_path(text: &str) -> bool {
    let is_url = || {
        text.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty()
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        })
    };
    !text.is_empty() && text != "-" && !text.contains('\0') && !text.starts_with('~') && !is_url()
}

/// The value that means in the working directory what `text` means where the user is; `None` if it is the same.
fn resolved(text: &str, world: &World) -> Option<String> {
    if Path::new(text).is_absolute() || world.current == world.working_directory {
        return None;
    }
    let joined = without_dots(&world.current, Path::new(text));
    let path = match joined.strip_prefix(&world.working_directory) {
        Ok(inside) if inside.as_os_str().is_empty() => PathBuf::from("."),
        Ok(inside) => inside.to_owned(),
        Err(_) => joined,
    };
    let mut resolved = path.to_str()?.to_owned();
    // Not an option of the program.
    if resolved.starts_with('-') {
        resolved.insert_str(0, "./");
    }
    // A slash at the end can matter, as in `rsync`.
    if text.ends_with('/') && !resolved.ends_with('/') {
        resolved.push('/');
    }
    Some(resolved)
}

/// A path below a folder without `.` and `..`. Where `..` follows a link, it is the parent of what the link leads to.
fn without_dots(folder: &Path, path: &Path) -> PathBuf {
    let mut result = folder.to_owned();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                if let Ok(real) = result.canonicalize() {
                    result = real;
                }
                result.pop();
            }
            Component::Normal(name) => result.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_mean_what_they_mean_where_the_user_is() {
        let scene = tempfile::tempdir().expect("a temporary folder");
        let root = scene.path().canonicalize().expect("it is there");
        for folder in ["home", "repo/.git", "repo/sub/deep", "other"] {
            std::fs::create_dir_all(root.join(folder)).expect("it can be made");
        }
        std::fs::write(root.join("repo/.git/HEAD"), "ref: x\n").expect("it can be written");
        std::fs::write(root.join("other/a.txt"), "").expect("it can be written");
        let world = |current: &str| {
            let (home, current) = (root.join("home"), root.join(current));
            World::at(&home, &current, std::ffi::OsStr::new(""), Vec::new()).expect("a world")
        };
        let shown = |text: String| text.replace(root.to_str().expect("text"), "ROOT");
        for (current, value, expected) in [
            ("repo", "./a.txt", "./a.txt"),
            ("repo/sub", "a.txt", "sub/a.txt"),
            ("repo/sub", "./a.txt", "sub/a.txt"),
            ("repo/sub", "../a.txt", "a.txt"),
            ("repo/sub", "../-n", "./-n"),
            ("repo/sub", "-n", "sub/-n"),
            ("repo/sub", "..", "."),
            ("repo/sub", "deep/", "sub/deep/"),
            ("repo/sub", "../../other/a.txt", "ROOT/other/a.txt"),
            ("repo/sub", "/etc/hosts", "/etc/hosts"),
            ("repo/sub", "-", "-"),
            ("repo/sub", "", ""),
            ("repo/sub", "https://example.com/a", "https://example.com/a"),
            ("other", "a.txt", "ROOT/other/a.txt"),
            ("home", "a.txt", "a.txt"),
        ] {
            let world = world(current);
            let text = if is_path(value) { resolved(value, &world) } else { None };
            let given = shown(text.unwrap_or_else(|| value.to_owned()));
            assert_eq!(given, expected, "{value} in {current}");
        }
    }
}
