//! Writes a skill's files so that nobody ever sees half of them.

use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use prowess_files::whole::{self, Access, Durability, Existing, WriteOptions, folder_of};
use prowess_format::formats;
use prowess_format::text::slug;
use tempfile::TempDir;

use crate::error::Error;
use crate::skill::skill_ref;

/// A file to write.
pub(crate) struct NewFile {
    /// Its path, relative to the skill's folder.
    pub(crate) path: String,
    /// What it will hold.
    pub(crate) content: Content,
}

/// What a new file will hold.
pub(crate) enum Content {
    /// This text.
    Text(String),
    /// What another file holds, byte for byte, its permissions included.
    Copy(PathBuf),
}

impl NewFile {
    /// Files made of text.
    pub(crate) fn texts(files: Vec<(String, String)>) -> Vec<Self> {
        files.into_iter().map(|(path, text)| Self { path, content: Content::Text(text) }).collect()
    }
}

/// Whether files that are there may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overwrite {
    /// Only when the user said so.
    Allowed,
    /// Never.
    Refused,
}

/// A finished folder that waits beside its place.
pub(crate) struct Staged {
    folder: TempDir,
    target: PathBuf,
    files: Vec<String>,
}

/// The folder of a skill that the user wants in a folder: agents look for a skill in a folder of its name (R4), so it is
/// the folder itself where that has the name, and one below it otherwise.
pub(crate) fn skill_folder(output: &Path, name: Option<&str>) -> PathBuf {
    let Some(name) = name else { return output.to_owned() };
    // A name that is no safe part of a path becomes one.
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

/// For the user's own files: whoever could read one before can read it afterwards. Nobody waits for the disk, as with any
/// editor.
pub(crate) const ORDINARY: WriteOptions = WriteOptions {
    access: Access::Ordinary,
    existing: Existing::Replace,
    durability: Durability::Whenever,
};

/// The whole file or nothing. A link stays a link, and who could read the file before can read it afterwards.
pub(crate) fn whole_file(output: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source: std::io::Error| Error::io("write", output, &source);
    let target = behind_links(output);
    // A pipe or a device is written to, as a shell does it. A file in its place would take it away from everybody.
    if target.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        let mut there = fs::OpenOptions::new().write(true).open(&target).map_err(failed)?;
        return there.write_all(bytes).map_err(failed);
    }
    let folder = folder_of(&target);
    if !folder.is_dir() {
        let missing = Error::not_found(format!("the folder `{}` does not exist", folder.display()));
        return Err(missing.hint(format!("make it with `mkdir -p {}`", folder.display())));
    }
    whole::write(&target, bytes, ORDINARY).map_err(failed)
}

/// The file that a name leads to, which need not be there yet.
pub(crate) fn behind_links(output: &Path) -> PathBuf {
    const MOST_LINKS: usize = 40; // What Linux follows.
    let mut path = output.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        // A link to a file that is yet to be made.
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
    let place = existing_ancestor(target)?;
    let folder = temporary(place).map_err(|source| Error::io("write into", place, &source))?;
    let mut staged = Staged { folder, target: target.to_owned(), files: Vec::new() };
    for file in files {
        staged.write(file)?;
    }
    Ok(staged)
}

fn temporary(place: &Path) -> std::io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".prowess-");
    // The folder itself becomes the skill's folder, so it gets the permissions of any new folder.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    builder.tempdir_in(place)
}

impl Staged {
    /// Where the files are for now.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&mut self, file: &NewFile) -> Result<(), Error> {
        let relative = Path::new(&file.path);
        let safe = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !safe || file.path.is_empty() {
            return Err(Error::failed(format!("`{}` leads out of the skill's folder", file.path))
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

    /// Moves everything to its place, and says what is there now.
    pub(crate) fn commit(self) -> Result<Vec<PathBuf>, Error> {
        let Self { folder, target, files } = self;
        let failed = |source: std::io::Error| Error::io("write", &target, &source);
        fs::create_dir_all(folder_of(&target)).map_err(failed)?;
        if target.exists() {
            for file in &files {
                let to = target.join(file);
                fs::create_dir_all(folder_of(&to)).map_err(failed)?;
                fs::rename(folder.path().join(file), &to)
                    .map_err(|source| Error::io("write", &to, &source))?;
            }
        } else {
            fs::rename(folder.path(), &target).map_err(failed)?;
            // Its place is taken by name, and there is nothing left to clean up.
            let _ = folder.keep();
        }
        Ok(files.iter().map(|file| target.join(file)).collect())
    }
}

/// Refuses to replace what is there, unless it is allowed.
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
        Some(path) => Err(Error::failed(format!("`{}` exists already", skill_ref::shown(&path)))
            .hint("choose another folder, or add `--force` to replace it")),
        None => Ok(()),
    }
}

/// The nearest folder that is there: nothing is made before everything is ready.
fn existing_ancestor(path: &Path) -> Result<&Path, Error> {
    let mut place = folder_of(path);
    while !place.exists() {
        place = folder_of(place);
    }
    if place.is_dir() { Ok(place) } else { Err(is_a_file(place)) }
}

fn is_a_file(path: &Path) -> Error {
    Error::failed(format!("`{}` is a file, and a folder is needed there", skill_ref::shown(path)))
        .hint("name another folder, or move the file away")
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut permissions = fs::metadata(path)?.permissions();
    // Whoever may read a script may run it.
    let mode = permissions.mode();
    permissions.set_mode(mode | ((mode & 0o444) >> 2));
    fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Every file of a skill's folder, by relative path, sorted. Links are left out, because they may lead anywhere
/// (NEG-15), and so is the lock beside a SKILL.md, which is never content (R25).
pub(crate) fn listing(directory: &Path) -> Vec<String> {
    /// A folder with more files is no skill.
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
