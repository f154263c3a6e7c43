//! Writes the files of a skill atomically.

use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use prowess_files::atomic::{self, Durability, Existing, FileMode, WriteOptions, folder_of};
use prowess_format::formats;
use prowess_format::text::slug;
use tempfile::TempDir;

use crate::error::Error;
use crate::skill::skill_ref;

/// A file to write.
pub(crate) struct NewFile {
    /// The path, relative to the skill's folder.
    pub(crate) path: String,
    /// The content.
    pub(crate) content: Content,
}

/// The content of a new file.
pub(crate) enum Content {
    /// A text.
    Text(String),
    /// A copy of another file, with its permissions.
    Copy(PathBuf),
}

impl NewFile {
    /// Text files, from paths and texts.
    pub(crate) fn texts(files: Vec<(String, String)>) -> Vec<Self> {
        files.into_iter().map(|(path, text)| Self { path, content: Content::Text(text) }).collect()
    }
}

/// Whether existing files may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overwrite {
    /// The user passed `--force`.
    Allowed,
    Refused,
}

/// A finished folder beside its target, which is moved there at the end.
pub(crate) struct Staged {
    folder: TempDir,
    target: PathBuf,
    files: Vec<String>,
    arrival: Arrival,
}

/// How a finished folder gets to a target that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// Its files go beside the others that are there.
    Joins,
    /// It takes the place of the whole folder.
    Replaces,
}

/// The folder that a skill is written to: `output` itself if it has the skill's name, otherwise a folder of that name in it.
///
/// Agents look for a skill in a folder of its name (R4).
pub(crate) fn skill_folder(output: &Path, name: Option<&str>) -> PathBuf {
    let Some(name) = name else { return output.to_owned() };
    // A name that is not a safe path component is turned into one.
    let is_safe = [&formats::UNICODE_NAME, &formats::DOTTED_NAME]
        .iter()
        .any(|format| (format.check)(name).is_ok());
    let name = if is_safe { name.to_owned() } else { slug(name) };
    if skill_ref::directory_name(output).is_some_and(|directory| directory == name) {
        output.to_owned()
    } else {
        output.join(name)
    }
}

/// Options for the user's own files: permissions are kept, and the file is not synced to disk.
pub(crate) const ORDINARY: WriteOptions = WriteOptions {
    mode: FileMode::Ordinary,
    existing: Existing::Replace,
    durability: Durability::Deferred,
};

/// Writes a file atomically. Links are followed, and permissions are kept.
pub(crate) fn whole_file(output: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source: std::io::Error| Error::io("write", output, &source);
    let target = follow_links(output);
    // A pipe or a device is written to, as a shell does, and not replaced.
    if target.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        let mut there = fs::OpenOptions::new().write(true).open(&target).map_err(failed)?;
        return there.write_all(bytes).map_err(failed);
    }
    let folder = folder_of(&target);
    if !folder.is_dir() {
        let missing = Error::not_found(format!("the folder `{}` does not exist", folder.display()));
        return Err(missing.hint(format!("create it with `mkdir -p {}`", folder.display())));
    }
    atomic::write(&target, bytes, ORDINARY).map_err(failed)
}

/// The target of a path after following links; it need not exist.
pub(crate) fn follow_links(output: &Path) -> PathBuf {
    const MOST_LINKS: usize = 40; // What Linux follows.
    let mut path = output.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        // A link to a file that does not exist yet.
        let Ok(target) = fs::read_link(&path) else { return path };
        path = folder_of(&path).join(target);
    }
    output.to_owned()
}

/// Writes all files into a temporary folder beside the target.
pub(crate) fn stage(
    target: &Path,
    files: &[NewFile],
    overwrite: Overwrite,
) -> Result<Staged, Error> {
    refuse_collisions(target, files, overwrite)?;
    stage_files(target, files, Arrival::Joins)
}

/// Writes all files into a temporary folder beside a target that will hold them and nothing else.
///
/// A folder that exists is only replaced if that is allowed and each of its files is replaced by one of the new ones: what
/// comes from elsewhere is neither mixed in nor deleted.
pub(crate) fn stage_alone(
    target: &Path,
    files: &[NewFile],
    overwrite: Overwrite,
) -> Result<Staged, Error> {
    let shown = skill_ref::shown(target);
    if target.is_symlink() {
        return Err(Error::failed(format!("`{shown}` is a symbolic link"))
            .hint("choose another folder, or remove the link"));
    }
    if target.is_file() {
        return Err(is_a_file(target));
    }
    let is_empty = fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    if target.exists() && !is_empty {
        if overwrite == Overwrite::Refused {
            return Err(Error::failed(format!("`{shown}` already exists"))
                .hint("choose another folder, or add `--force` to replace it"));
        }
        let there = prowess_library::migration::list_files(target);
        let mut kept =
            there.files.iter().filter(|path| !files.iter().any(|file| file.path == **path));
        let other = kept.next().or(there.omitted.first().map(|omitted| &omitted.path));
        if let Some(other) = other {
            return Err(Error::failed(format!(
                "`{shown}` holds files that are not from this skill, such as `{other}`"
            ))
            .hint("move the folder away, or choose another one"));
        }
    }
    stage_files(target, files, Arrival::Replaces)
}

fn stage_files(target: &Path, files: &[NewFile], arrival: Arrival) -> Result<Staged, Error> {
    let parent = existing_ancestor(target)?;
    let folder = temporary(parent).map_err(|source| Error::io("write into", parent, &source))?;
    let mut staged = Staged { folder, target: target.to_owned(), files: Vec::new(), arrival };
    for file in files {
        staged.write(file)?;
    }
    Ok(staged)
}

fn temporary(parent: &Path) -> std::io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".prowess-");
    // The folder itself becomes the skill's folder, so it gets the permissions of any new folder.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    builder.tempdir_in(parent)
}

impl Staged {
    /// The temporary folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&mut self, file: &NewFile) -> Result<(), Error> {
        let relative = Path::new(&file.path);
        let safe = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !safe || file.path.is_empty() {
            return Err(Error::failed(format!("`{}` is outside the skill's folder", file.path))
                .hint("nothing was written"));
        }
        let path = self.path().join(relative);
        let failed =
            |source: std::io::Error| Error::io("write", &self.target.join(relative), &source);
        fs::create_dir_all(folder_of(&path)).map_err(failed)?;
        match &file.content {
            Content::Text(text) => {
                fs::write(&path, text).map_err(failed)?;
                if text.starts_with("#!") {
                    make_executable(&path).map_err(failed)?;
                }
            }
            Content::Copy(from) => {
                fs::copy(from, &path).map_err(|source| Error::io("copy", from, &source))?;
            }
        }
        self.files.push(file.path.clone());
        Ok(())
    }

    /// Moves the files to the target, and returns their paths.
    pub(crate) fn commit(self) -> Result<Vec<PathBuf>, Error> {
        let Self { folder, target, files, arrival } = self;
        let failed = |source: std::io::Error| Error::io("write", &target, &source);
        fs::create_dir_all(folder_of(&target)).map_err(failed)?;
        if target.exists() && arrival == Arrival::Replaces {
            replace_folder(folder, &target).map_err(failed)?;
        } else if target.exists() {
            for file in &files {
                let to = target.join(file);
                fs::create_dir_all(folder_of(&to)).map_err(failed)?;
                fs::rename(folder.path().join(file), &to)
                    .map_err(|source| Error::io("write", &to, &source))?;
            }
        } else {
            fs::rename(folder.path(), &target).map_err(failed)?;
            // It was renamed, so there is nothing to clean up.
            let _ = folder.keep();
        }
        Ok(files.iter().map(|file| target.join(file)).collect())
    }
}

/// Puts a folder in the place of another. The old one is there until the new one is, and again if that fails.
fn replace_folder(folder: TempDir, target: &Path) -> std::io::Result<()> {
    let aside = temporary(folder_of(target))?;
    let old = aside.path().join("replaced");
    fs::rename(target, &old)?;
    if let Err(error) = fs::rename(folder.path(), target) {
        fs::rename(&old, target)?;
        return Err(error);
    }
    // It was renamed, so there is nothing to clean up. The old folder is deleted with `aside`.
    let _ = folder.keep();
    Ok(())
}

/// Refuses to replace existing files, unless it is allowed.
pub(crate) fn refuse_collisions(
    target: &Path,
    files: &[NewFile],
    overwrite: Overwrite,
) -> Result<(), Error> {
    if target.is_file() {
        return Err(is_a_file(target));
    }
    existing_ancestor(target)?;
    if overwrite == Overwrite::Allowed {
        return Ok(());
    }
    let taken = files.iter().map(|file| target.join(&file.path)).find(|path| path.exists());
    match taken {
        Some(path) => Err(Error::failed(format!("`{}` already exists", skill_ref::shown(&path)))
            .hint("choose another folder, or add `--force` to replace it")),
        None => Ok(()),
    }
}

/// The nearest parent folder that exists: no folder is created before all files are ready.
fn existing_ancestor(path: &Path) -> Result<&Path, Error> {
    let mut parent = folder_of(path);
    while !parent.exists() {
        parent = folder_of(parent);
    }
    if parent.is_dir() { Ok(parent) } else { Err(is_a_file(parent)) }
}

fn is_a_file(path: &Path) -> Error {
    Error::failed(format!("`{}` is a file, not a folder", skill_ref::shown(path)))
        .hint("name another folder, or move the file away")
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut permissions = fs::metadata(path)?.permissions();
    // Execute permission for everyone who has read permission.
    let mode = permissions.mode();
    permissions.set_mode(mode | ((mode & 0o444) >> 2));
    fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The files of a skill's folder by relative path, sorted. Links are left out, because they may point anywhere (NEG-15),
/// and so is the lock file beside a SKILL.md, which is never content (R25).
pub(crate) fn listing(directory: &Path) -> Vec<String> {
    /// The most files that are listed.
    const MOST: usize = 10_000;
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(relative) = open.pop() {
        let Ok(entries) = fs::read_dir(directory.join(&relative)) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path =
                if relative.is_empty() { name.clone() } else { format!("{relative}/{name}") };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && name != ".git" && name != "node_modules" => {
                    open.push(path);
                }
                Ok(kind) if kind.is_file() && !name.ends_with(".md.lock") && found.len() < MOST => {
                    found.push(path);
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}
