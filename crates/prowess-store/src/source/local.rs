//! Skills on this machine: a folder, a folder with several skills, a `SKILL.md`, or an archive.

use std::fs::File;
use std::io::{self, Cursor, Read as _};
use std::path::{Path, PathBuf};

use prowess_files::folder::{EntryKind, Folder};
use prowess_format::text::visible;
use prowess_package::content::{FileRole, MANIFEST, role_of, role_of_folder};
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_package::path::PackagePath;
use prowess_package::tree::{Tree, TreeError, TreeFile, named};
use prowess_package::unpack::{UnpackError, UnpackOptions, unpack_to_memory};

use super::find::{
    FoundFolder, MOST_DEPTH, MOST_MANIFEST_BYTES, declared_name, distinct, skill_folders,
};
use super::{FetchedFiles, Offer, Offers, Pinned, Source, SourceError, SourceErrorKind};
use crate::reference::Reference;

/// The maximum number of folders that are searched for skills.
const MOST_FOLDERS: usize = 10_000;

/// The source for paths.
#[derive(Debug, Clone)]
pub struct Local {
    /// The base of relative paths.
    pub current_folder: PathBuf,
    /// The folder that `~` refers to.
    pub home: Option<PathBuf>,
    /// The size limits for a skill.
    pub limits: PackageLimits,
}

impl Source for Local {
    fn offers(&self, reference: &Reference) -> Result<Offers, SourceError> {
        let Reference::Path(path) = reference else {
            return Err(SourceError::new(
                SourceErrorKind::Unusable,
                format!("`{reference}` is not a local path"),
            ));
        };
        let path = self.absolute(path)?;
        let metadata = std::fs::metadata(&path).map_err(|error| cannot_read(&path, &error))?;
        if metadata.is_dir() {
            return folder_offers(&path);
        }
        self.file_offers(&path)
    }

    fn fetch(&self, name: &str, pinned: &Pinned) -> Result<FetchedFiles, SourceError> {
        match pinned {
            Pinned::Folder { path } => {
                // A missing folder is reported here, where the message can be more specific than an error from
                // reading its files.
                std::fs::metadata(path).map_err(|error| cannot_read(Path::new(path), &error))?;
                let read = Tree::read_foreign(Path::new(path), &self.limits)
                    .map_err(|error| not_usable(path, &error))?;
                Ok(FetchedFiles { tree: read.tree, notes: withheld(path, &read.withheld) })
            }
            Pinned::File { location, sha256 } if !location.contains("://") => {
                let bytes = self.read_file(Path::new(location))?;
                let found = format!("sha256:{}", Sha256Digest::of(&bytes));
                if found != *sha256 {
                    return Err(SourceError::new(
                        SourceErrorKind::Mismatch,
                        format!(
                            "`{location}` has changed: its digest is {found}, expected {sha256}"
                        ),
                    )
                    .advice(format!(
                        "install it again from `{location}` if the change is intended"
                    )));
                }
                tree_of_file(location, bytes, &self.limits)
            }
            _ => Err(SourceError::new(
                SourceErrorKind::Unusable,
                format!("`{name}` comes from {pinned}, which is not a local path"),
            )),
        }
    }
}

impl Local {
    fn absolute(&self, path: &Path) -> Result<PathBuf, SourceError> {
        let expanded = match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.current_folder.join(path),
        };
        // The lock file records the path with symbolic links resolved.
        std::fs::canonicalize(&expanded).map_err(|error| cannot_read(path, &error))
    }

    fn file_offers(&self, path: &Path) -> Result<Offers, SourceError> {
        let bytes = self.read_file(path)?;
        let location = recordable(path.to_owned())?;
        // The files next to a `SKILL.md` belong to the skill if the folder has its name. A `SKILL.md` in a downloads
        // folder is installed alone.
        if path.file_name().is_some_and(|name| name == MANIFEST)
            && let Some(folder) = path.parent()
            && let Some(folder_name) = folder.file_name().and_then(|name| name.to_str())
        {
            let name = declared_name(&bytes, folder_name);
            if name == folder_name {
                let pinned = Pinned::Folder { path: recordable(folder.to_owned())? };
                return Ok(Offers { skills: vec![offer(name, pinned)], notes: Vec::new() });
            }
        }
        let sha256 = format!("sha256:{}", Sha256Digest::of(&bytes));
        let stem = path.file_stem().map_or("", |stem| stem.to_str().unwrap_or_default()).to_owned();
        let fetched = tree_of_file(&location, bytes, &self.limits)?;
        let name = declared_name(fetched.tree.manifest(), &stem);
        let skills = vec![offer(name, Pinned::File { location, sha256 })];
        Ok(Offers { skills, notes: fetched.notes })
    }

    fn read_file(&self, path: &Path) -> Result<Vec<u8>, SourceError> {
        let most = self.limits.archive_bytes;
        let bytes = read_start(path, most + 1).map_err(|error| cannot_read(path, &error))?;
        if bytes.len() as u64 > most {
            return Err(SourceError::new(
                SourceErrorKind::Unusable,
                format!("`{}` is larger than {} MiB", path.display(), most >> 20),
            ));
        }
        Ok(bytes)
    }
}

/// The skills in a folder and its subfolders.
fn folder_offers(path: &Path) -> Result<Offers, SourceError> {
    let opened = Folder::open(path).map_err(|error| cannot_read(path, &error))?;
    let mut walk = Walk { walked: 0, manifests: Vec::new(), closed: Vec::new() };
    walk.look_into(&opened, "", 0)
        .map_err(|(inside, error)| cannot_read(&path.join(inside), &error))?;
    let Walk { walked, manifests, closed } = walk;
    let mut found = Vec::new();
    for folder in skill_folders(manifests.iter().map(String::as_str)) {
        let whole = if folder.is_empty() { path.to_owned() } else { path.join(folder) };
        let place = whole.to_string_lossy().into_owned();
        let manifest = read_start(&whole.join(MANIFEST), MOST_MANIFEST_BYTES)
            .map_err(|error| cannot_read(&whole.join(MANIFEST), &error))?;
        found.push(FoundFolder {
            folder: folder.to_owned(),
            name: declared_name(&manifest, &place),
        });
    }
    if found.is_empty() {
        if let Some(closed) = closed.first() {
            let denied = io::Error::from(io::ErrorKind::PermissionDenied);
            return Err(cannot_read(&path.join(closed), &denied));
        }
        return Err(no_skill(path));
    }
    let (found, mut notes) = distinct(found);
    if walked > MOST_FOLDERS {
        notes.push(format!(
            "`{}` has more than {MOST_FOLDERS} folders; the rest was not searched",
            path.display()
        ));
    }
    if let Some(first) = closed.first() {
        let more = match closed.len() {
            1 => String::new(),
            2 => " and 1 other folder".to_owned(),
            count => format!(" and {} other folders", count - 1),
        };
        notes.push(format!(
            "no permission to search `{}`{more} for skills",
            visible(&path.join(first).display().to_string())
        ));
    }
    let mut skills = Vec::new();
    for skill in found {
        let whole =
            if skill.folder.is_empty() { path.to_owned() } else { path.join(&skill.folder) };
        let path = recordable(whole)?;
        skills.push(offer(skill.name, Pinned::Folder { path }));
    }
    Ok(Offers { skills, notes })
}

/// The files in an archive, or a single `SKILL.md`, distinguished by their first bytes. `place` is for messages.
pub fn tree_of_file(
    place: &str,
    bytes: Vec<u8>,
    limits: &PackageLimits,
) -> Result<FetchedFiles, SourceError> {
    let refused = |why: &dyn std::fmt::Display| {
        SourceError::new(SourceErrorKind::Unusable, format!("`{}`: {why}", visible(place)))
    };
    if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(b"PK") {
        let options = UnpackOptions { limits: *limits, name: None };
        let (_, tree) = unpack_to_memory(Cursor::new(bytes), &options).map_err(|error| {
            let is_name = matches!(error, UnpackError::Name(_) | UnpackError::Nameless);
            let refused = refused(&error);
            // An archive is a package, whose format includes the name.
            if is_name {
                refused.advice("unpack it, and install the folder under another name")
            } else {
                refused
            }
        })?;
        return Ok(FetchedFiles { tree, notes: Vec::new() });
    }
    if let Some(kind) = other_archive(&bytes) {
        return Err(refused(&format!(
            "this is {kind}, but only `.tar.gz` and `.zip` are supported"
        ))
        .advice("unpack it and install the folder, or ask for a `.tar.gz`"));
    }
    if !bytes.trim_ascii_start().starts_with(b"---") && !bytes.starts_with(b"\xef\xbb\xbf---") {
        return Err(refused(
            &"this is neither an archive nor a `SKILL.md`, which begins with `---`",
        ));
    }
    let path: PackagePath = MANIFEST.parse().map_err(|error| refused(&error))?;
    let file = TreeFile { bytes, executable: false };
    let tree = Tree::from_files([(path, file)], limits).map_err(|error| refused(&error))?;
    Ok(FetchedFiles { tree, notes: Vec::new() })
}

/// The format of an unsupported archive, detected by its first bytes.
fn other_archive(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(usize, &[u8], &str); 6] = [
        (0, b"\xfd7zXZ\0", "compressed with xz"),
        (0, b"BZh", "compressed with bzip2"),
        (0, b"\x28\xb5\x2f\xfd", "compressed with zstd"),
        (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (0, b"Rar!", "a RAR archive"),
        (257, b"ustar", "an uncompressed tar archive"),
    ];
    let is_it = |(at, magic, _): &&(usize, &[u8], &str)| {
        bytes.get(*at..).is_some_and(|bytes| bytes.starts_with(magic))
    };
    KINDS.iter().find(is_it).map(|(_, _, kind)| *kind)
}

/// A search for manifests.
struct Walk {
    walked: usize,
    /// The paths of the manifests found.
    manifests: Vec<String>,
    /// Folders without read permission.
    closed: Vec<String>,
}

impl Walk {
    /// Searches a folder. An error includes the path where it occurred.
    fn look_into(
        &mut self,
        folder: &Folder,
        prefix: &str,
        depth: usize,
    ) -> Result<(), (String, io::Error)> {
        self.walked += 1;
        if self.walked > MOST_FOLDERS {
            return Ok(());
        }
        let entries = folder.entries().map_err(|error| (prefix.to_owned(), error))?;
        let is_manifest = |entry: &prowess_files::folder::FolderEntry| {
            entry.kind == EntryKind::File && entry.name == MANIFEST.as_bytes()
        };
        if entries.iter().any(is_manifest) {
            // Everything below belongs to this skill.
            let separator = if prefix.is_empty() { "" } else { "/" };
            self.manifests.push(format!("{prefix}{separator}{MANIFEST}"));
            return Ok(());
        }
        if depth == MOST_DEPTH {
            return Ok(());
        }
        for entry in entries {
            // A skill below a name that is not UTF-8 can't be installed.
            let Ok(name) = std::str::from_utf8(&entry.name) else { continue };
            if entry.kind != EntryKind::Folder || role_of_folder(name) == FileRole::Litter {
                continue;
            }
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            let inner = match folder.folder(name) {
                Ok(inner) => inner,
                // Another user's folder, or one that was removed in the meantime.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.closed.push(path);
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err((path, error)),
            };
            self.look_into(&inner, &path, depth + 1)?;
        }
        Ok(())
    }
}

fn offer(name: String, pinned: Pinned) -> Offer {
    Offer { name, pinned, owner: None, published: None }
}

fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn recordable(path: PathBuf) -> Result<String, SourceError> {
    path.into_os_string().into_string().map_err(|path| {
        let shown = path.to_string_lossy().into_owned();
        SourceError::new(
            SourceErrorKind::Unusable,
            format!(
                "the path `{}` is not UTF-8, so the lock file can't record it",
                visible(&shown)
            ),
        )
        .advice("rename the folder")
    })
}

/// The note about files that are left out, if there are any.
pub fn withheld(place: &str, paths: &[String]) -> Vec<String> {
    if paths.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "hidden files and links of `{}` are not installed: {}",
        visible(place),
        named(paths)
    )]
}

/// The note about hidden files that belong to the skill because a signature covers them, if there are any.
pub fn covered_note(name: &str, tree: &Tree) -> Option<String> {
    let hidden = tree.files().filter(|(path, _)| role_of(path) != FileRole::Content);
    let hidden: Vec<String> = hidden.map(|(path, _)| path.as_str().to_owned()).collect();
    (!hidden.is_empty()).then(|| {
        format!(
            "`{}` has hidden files, which are kept because its signature covers them: {}",
            visible(name),
            named(&hidden)
        )
    })
}

fn no_skill(folder: &Path) -> SourceError {
    let place = folder.display().to_string();
    let place = visible(&place);
    // A dialect of its own, whose files are not in a folder per skill.
    if let Some(pack) = tool_pack(folder) {
        return SourceError::new(
            SourceErrorKind::NotFound,
            format!("`{place}` contains the tool pack `{}` but no `{MANIFEST}`", visible(&pack)),
        )
        .advice(format!(
            "only skills with a `{MANIFEST}` can be installed: convert the tool pack first"
        ));
    }
    if let Some(name) = misspelt_manifest(folder) {
        return SourceError::new(
            SourceErrorKind::NotFound,
            format!("`{place}` contains `{name}` but no `{MANIFEST}`, so agents do not load it"),
        )
        .advice(format!("rename it to `{MANIFEST}`"));
    }
    SourceError::new(
        SourceErrorKind::NotFound,
        format!("there is no `{MANIFEST}` in `{place}` or its subfolders"),
    )
    .advice(format!("name a folder that contains a `{MANIFEST}`"))
}

/// The first file in a folder that is a tool pack.
fn tool_pack(folder: &Path) -> Option<String> {
    names_in(folder).find(|name| name.ends_with(".tool.json"))
}

/// The first file in a folder whose name is similar to that of a manifest.
fn misspelt_manifest(folder: &Path) -> Option<String> {
    let is_similar = |name: &String| {
        name.eq_ignore_ascii_case(MANIFEST) || name.eq_ignore_ascii_case("SKILLS.md")
    };
    names_in(folder).find(is_similar)
}

/// The names in a folder; empty if it can't be read.
fn names_in(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FOLDERS);
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

fn cannot_read(path: &Path, error: &io::Error) -> SourceError {
    let shown = path.display().to_string();
    let shown = visible(&shown);
    match error.kind() {
        io::ErrorKind::NotFound => {
            let spelling = "check the spelling; a path is relative to the current folder";
            let could_be_domain = !shown.contains('/') && !shown.starts_with('.');
            let hint = if could_be_domain && shown.contains('.') {
                format!("{spelling}, and a domain is written `https://{shown}`")
            } else {
                spelling.to_owned()
            };
            SourceError::new(SourceErrorKind::NotFound, format!("`{shown}` does not exist"))
                .advice(hint)
        }
        io::ErrorKind::PermissionDenied => SourceError::new(
            SourceErrorKind::Denied,
            format!("cannot read `{shown}`: permission denied"),
        )
        .advice("check its permissions, or name the folder of one skill"),
        _ => SourceError::new(
            SourceErrorKind::Unreachable,
            format!("cannot read `{shown}`: {error}"),
        ),
    }
}

fn not_usable(place: &str, error: &TreeError) -> SourceError {
    SourceError::new(SourceErrorKind::Unusable, format!("`{}`: {error}", visible(place)))
}
