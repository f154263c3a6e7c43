//! The files that a program sees: a tree of entries by path, and the steps that build it.
//!
//! Paths inside are those of the host, so that arguments keep their meaning. Nothing is created on
//! the host: a mount point is either on a tmpfs or already exists.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::sys;
use crate::error::SandboxError;

/// An entry of the view.
#[derive(Clone, Debug)]
enum Entry {
    /// A file or folder of the host.
    Host { source: PathBuf, rights: Rights },
    /// A folder of the host under an overlay, which takes what is written.
    Overlay(Staged),
    /// A folder of an overlay, mounted over itself so that it can't be moved; with its path on the
    /// host.
    Pin(PathBuf),
    /// A folder that only contains other entries.
    Folder,
    /// A folder in memory.
    Memory { size: u64, mode: u32, attributes: u64 },
    /// The processes of the sandbox.
    Processes,
    /// A symbolic link.
    Link(PathBuf),
    /// A read-only file in memory.
    Text(Vec<u8>),
    /// An empty file in place of one of the host.
    Hidden,
}

/// A folder of the host and the folders of its overlay.
#[derive(Clone, Debug)]
struct Staged {
    source: PathBuf,
    upper: PathBuf,
    work: PathBuf,
}

impl Entry {
    /// The path on the host of an entry that shows a part of it.
    fn source(&self) -> Option<&Path> {
        match self {
            Entry::Host { source, .. } | Entry::Pin(source) => Some(source),
            Entry::Overlay(staged) => Some(&staged.source),
            _ => None,
        }
    }
}

/// The access to a part of the host, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rights {
    /// Reading data.
    Read,
    /// Reading libraries, which are mapped as code.
    Library,
    /// An image of the system.
    Image,
    /// Reading and executing.
    Execute,
    /// A device such as /dev/null.
    Device,
    /// Reading and writing.
    Write,
}

impl Rights {
    fn attributes(self) -> u64 {
        let always = sys::MOUNT_NOSUID;
        match self {
            Rights::Read => always | sys::MOUNT_RDONLY | sys::MOUNT_NODEV | sys::MOUNT_NOEXEC,
            Rights::Library | Rights::Image | Rights::Execute => {
                always | sys::MOUNT_RDONLY | sys::MOUNT_NODEV
            }
            Rights::Device => always | sys::MOUNT_NOEXEC,
            Rights::Write => always | sys::MOUNT_NODEV | sys::MOUNT_NOEXEC,
        }
    }
}

/// A bind mount of a part of the host.
#[derive(Debug)]
pub(super) struct Bind {
    /// Its path on the host, free of symbolic links.
    pub(super) source: CString,
    /// Device and inode when the plan was made.
    pub(super) identity: (u64, u64),
    /// Attributes of the mount.
    pub(super) attributes: u64,
    /// The access.
    pub(super) rights: Rights,
    /// Whether it is a folder.
    pub(super) is_folder: bool,
    /// Whether its owner appears as the user inside.
    pub(super) owned: bool,
    /// The overlay that is mounted in its place, over it.
    pub(super) overlay: Option<OverlayLayers>,
}

/// The folders of an overlay besides the one that it is mounted over.
#[derive(Debug)]
pub(super) struct OverlayLayers {
    /// The folder that contains both, free of symbolic links.
    pub(super) folder: CString,
    /// Its device and inode.
    pub(super) identity: (u64, u64),
    /// The name of the upper layer.
    pub(super) upper: CString,
    /// The name of the working folder.
    pub(super) work: CString,
}

/// One step of building the tree; paths are relative to the new root.
#[derive(Debug)]
pub(super) enum Step {
    Folder(CString),
    Text(CString, Vec<u8>),
    Link {
        target: CString,
        at: CString,
    },
    Attach {
        bind: usize,
        at: CString,
    },
    /// Mounts the empty file of the new root over a file.
    Cover(CString),
    /// Mounts a folder over itself.
    Pin(CString),
    Memory {
        at: CString,
        size: CString,
        mode: CString,
        attributes: u64,
    },
    Processes(CString),
}

/// The tree of entries.
#[derive(Debug, Default)]
pub(super) struct View {
    entries: BTreeMap<PathBuf, Entry>,
}

/// Maximum number of entries of a view; more are refused, not truncated (attack sandbox-A27).
const MAX_ENTRIES: usize = 16_384;

impl View {
    pub(super) fn memory(&mut self, path: &str, size: u64, mode: u32) {
        let attributes = sys::MOUNT_NOSUID | sys::MOUNT_NODEV | sys::MOUNT_NOEXEC;
        self.entries.insert(PathBuf::from(path), Entry::Memory { size, mode, attributes });
    }

    /// Adds a folder, even if it stays empty.
    pub(super) fn folder(&mut self, path: &Path) {
        self.entries.entry(path.to_owned()).or_insert(Entry::Folder);
    }

    pub(super) fn processes(&mut self, path: &str) {
        self.entries.insert(PathBuf::from(path), Entry::Processes);
    }

    pub(super) fn link(&mut self, path: &Path, target: &Path) {
        self.entries.entry(path.to_owned()).or_insert_with(|| Entry::Link(target.to_owned()));
    }

    pub(super) fn text(&mut self, path: &Path, bytes: &[u8]) {
        self.entries.insert(path.to_owned(), Entry::Text(bytes.to_owned()));
    }

    /// Hides a file of the host, whatever is granted.
    pub(super) fn hide(&mut self, path: &Path) {
        self.entries.insert(path.to_owned(), Entry::Hidden);
    }

    /// Adds a part of the host; the stronger of two grants for the same path applies.
    pub(super) fn host(&mut self, path: &Path, source: &Path, rights: Rights) {
        let entry = Entry::Host { source: source.to_owned(), rights };
        match self.entries.get_mut(path) {
            Some(Entry::Host { rights: known, .. }) if *known >= rights => {}
            // Everything in it can be written, but not for real.
            Some(Entry::Overlay(_)) => {}
            Some(known) => *known = entry,
            None => drop(self.entries.insert(path.to_owned(), entry)),
        }
    }

    /// Adds a folder of the host whose writes go to the upper layer of an overlay.
    pub(super) fn overlay(&mut self, path: &Path, upper: &Path, work: &Path) {
        let [source, upper, work] = [path, upper, work].map(Path::to_owned);
        self.entries.insert(path.to_owned(), Entry::Overlay(Staged { source, upper, work }));
    }

    /// The overlays, whose rules are set by path.
    pub(super) fn overlays(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().filter_map(|(path, entry)| match entry {
            Entry::Overlay(_) => Some(path.as_path()),
            _ => None,
        })
    }

    /// Whether a path is visible, as an entry or below a folder of the host.
    pub(super) fn shows(&self, path: &Path) -> bool {
        path.ancestors().any(|above| match self.entries.get(above) {
            Some(entry) => match entry.source() {
                Some(source) => path
                    .strip_prefix(above)
                    .is_ok_and(|rest| rest.as_os_str().is_empty() || source.join(rest).exists()),
                None => above == path,
            },
            None => false,
        })
    }

    /// Whether a path is in a folder of the host, where nothing may be created.
    pub(super) fn is_below_host(&self, path: &Path) -> bool {
        self.nearest_above(path).is_some_and(|(_, entry)| entry.source().is_some())
    }

    /// The parts of the host below a path, relative to it, and whether each is a folder.
    pub(super) fn mount_points_below(&self, path: &Path) -> Vec<(PathBuf, bool)> {
        self.entries
            .range(path.to_owned()..)
            .take_while(|(place, _)| place.starts_with(path))
            .filter(|(place, _)| *place != path)
            .filter_map(|(place, entry)| {
                let is_folder = match entry {
                    Entry::Host { source, .. } => fs::symlink_metadata(source).ok()?.is_dir(),
                    Entry::Folder | Entry::Overlay(_) | Entry::Pin(_) => true,
                    _ => return None,
                };
                Some((place.strip_prefix(path).ok()?.to_owned(), is_folder))
            })
            .collect()
    }

    /// Text files on a tmpfs, whose rules are set by path.
    pub(super) fn texts(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().filter_map(|(path, entry)| match entry {
            Entry::Text(_) => Some(path.as_path()),
            _ => None,
        })
    }

    /// Mounts the parent folders of read-only paths inside a writable folder: otherwise they could
    /// be renamed to bypass the protection (attack sandbox-A10).
    fn pin(&mut self) {
        let mut pins = Vec::new();
        for (path, entry) in &self.entries {
            if matches!(entry, Entry::Host { rights: Rights::Write, .. } | Entry::Overlay(_)) {
                continue;
            }
            for folder in path.ancestors().skip(1) {
                if self.entries.contains_key(folder) {
                    continue;
                }
                // The replacement of a granted folder, if there is one, instead of the folder.
                let Some((above, holder)) = self.nearest_above(folder) else { continue };
                let below = folder.strip_prefix(above).unwrap_or(folder);
                match holder {
                    Entry::Host { source, rights: Rights::Write } => {
                        let (source, rights) = (source.join(below), Rights::Write);
                        pins.push((folder.to_owned(), Entry::Host { source, rights }));
                    }
                    // The folder of the host must not become visible.
                    Entry::Overlay(Staged { source, .. }) | Entry::Pin(source) => {
                        pins.push((folder.to_owned(), Entry::Pin(source.join(below))));
                    }
                    _ => {}
                }
            }
        }
        for (folder, pin) in pins {
            let is_folder = |source| fs::symlink_metadata(source).is_ok_and(|data| data.is_dir());
            if pin.source().is_some_and(is_folder) {
                self.entries.insert(folder, pin);
            }
        }
    }

    /// The nearest entry above a path.
    fn nearest_above<'v>(&'v self, path: &'v Path) -> Option<(&'v Path, &'v Entry)> {
        path.ancestors()
            .skip(1)
            .find_map(|above| self.entries.get(above).map(|entry| (above, entry)))
    }

    /// Removes empty folders below folders of the host, which already contain them.
    fn drop_covered_folders(&mut self) {
        let covered: Vec<PathBuf> = self
            .entries
            .iter()
            .filter(|(path, entry)| {
                matches!(entry, Entry::Folder)
                    && path.ancestors().skip(1).any(|above| {
                        self.entries.get(above).is_some_and(|it| it.source().is_some())
                    })
            })
            .map(|(path, _)| path.clone())
            .collect();
        for path in covered {
            self.entries.remove(&path);
        }
    }

    /// The steps that build the tree, and the parts of the host that they mount.
    pub(super) fn steps(mut self) -> Result<(Vec<Step>, Vec<Bind>), SandboxError> {
        self.drop_covered_folders();
        self.pin();
        if self.entries.len() > MAX_ENTRIES {
            return Err(SandboxError::Invalid(format!(
                "{} files and folders are granted one by one, at most {MAX_ENTRIES} can be",
                self.entries.len()
            )));
        }
        let mut steps = Vec::new();
        let mut binds = Vec::new();
        let mut made: std::collections::BTreeSet<PathBuf> = std::collections::BTreeSet::new();
        for (path, entry) in &self.entries {
            // The nearest mount above determines where the mount point comes from.
            let cover = self.nearest_above(path);
            let in_host = cover.and_then(|(above, entry)| {
                let rest = path.strip_prefix(above).unwrap_or(path);
                Some(entry.source()?.join(rest))
            });
            match &in_host {
                Some(place) => {
                    if fs::symlink_metadata(place).is_err()
                        || !matches!(
                            entry,
                            Entry::Host { .. }
                                | Entry::Overlay(_)
                                | Entry::Pin(_)
                                | Entry::Text(_)
                                | Entry::Hidden
                        )
                    {
                        // The mount point does not exist, and nothing may be created on the host.
                        continue;
                    }
                }
                // Nothing around it is shown.
                None if matches!(entry, Entry::Hidden) => continue,
                None => {
                    let mut missing: Vec<&Path> = path
                        .ancestors()
                        .skip(1)
                        .take_while(|above| {
                            cover.is_none_or(|(cover, _)| *above != cover)
                                && above.parent().is_some()
                        })
                        .filter(|above| !made.contains(*above))
                        .collect();
                    missing.reverse();
                    for folder in missing {
                        made.insert(folder.to_owned());
                        steps.push(Step::Folder(inside(folder)?));
                    }
                }
            }
            let at = inside(path)?;
            match entry {
                Entry::Host { source, rights } => {
                    let bind = Bind::new(source, *rights)?;
                    if in_host.is_none() {
                        made.insert(path.clone());
                        steps.push(if bind.is_folder {
                            Step::Folder(at.clone())
                        } else {
                            Step::Text(at.clone(), Vec::new())
                        });
                    }
                    steps.push(Step::Attach { bind: binds.len(), at });
                    binds.push(bind);
                }
                Entry::Overlay(Staged { source, upper, work }) => {
                    let mut bind = Bind::new(source, Rights::Write)?;
                    bind.overlay = Some(OverlayLayers::new(upper, work)?);
                    if in_host.is_none() {
                        made.insert(path.clone());
                        steps.push(Step::Folder(at.clone()));
                    }
                    steps.push(Step::Attach { bind: binds.len(), at });
                    binds.push(bind);
                }
                Entry::Pin(_) => steps.push(Step::Pin(at)),
                Entry::Hidden => steps.push(Step::Cover(at)),
                Entry::Folder => {
                    made.insert(path.clone());
                    steps.push(Step::Folder(at));
                }
                Entry::Memory { size, mode, attributes } => {
                    made.insert(path.clone());
                    steps.push(Step::Folder(at.clone()));
                    steps.push(Step::Memory {
                        at,
                        size: text(&size.to_string())?,
                        mode: text(&format!("{mode:o}"))?,
                        attributes: *attributes,
                    });
                }
                Entry::Processes => {
                    made.insert(path.clone());
                    steps.push(Step::Folder(at.clone()));
                    steps.push(Step::Processes(at));
                }
                Entry::Link(target) => steps.push(Step::Link { target: c_path(target)?, at }),
                Entry::Text(bytes) => {
                    if in_host.is_some() {
                        return Err(SandboxError::Invalid(format!(
                            "`{}` can't be replaced inside a folder of the host",
                            path.display()
                        )));
                    }
                    steps.push(Step::Text(at, bytes.clone()));
                }
            }
        }
        Ok((steps, binds))
    }
}

impl Bind {
    fn new(source: &Path, rights: Rights) -> Result<Self, SandboxError> {
        let path = c_path(source)?;
        let refuse = |reason: &str| refuse(source, reason);
        let handle = open(&path, source)?;
        let identity = identity(&handle, source)?;
        drop(handle);
        let data = fs::symlink_metadata(source).map_err(|error| refuse(&error.to_string()))?;
        if (data.dev(), data.ino()) != identity {
            return Err(refuse("it changed while it was checked"));
        }
        let kind = data.file_type();
        if !kind.is_dir() && !kind.is_file() && rights != Rights::Device {
            return Err(refuse("it is neither a file nor a folder"));
        }
        Ok(Self {
            source: path,
            identity,
            attributes: rights.attributes(),
            rights,
            is_folder: kind.is_dir(),
            // An image that only its owner may execute needs an id-mapped mount too.
            owned: matches!(rights, Rights::Read | Rights::Write | Rights::Execute)
                || (rights == Rights::Image && data.mode() & 0o005 != 0o005),
            overlay: None,
        })
    }

    /// Its path on the host.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(std::ffi::OsStr::from_bytes(self.source.as_bytes()))
    }

    /// Opens the same inode that was checked. Handles are not kept open: there may be thousands of
    /// binds (attack sandbox-A27).
    pub(super) fn open(&self) -> Result<OwnedFd, SandboxError> {
        let handle = open(&self.source, &self.path())?;
        if identity(&handle, &self.path())? != self.identity {
            return Err(refuse(&self.path(), "it changed while it was checked"));
        }
        Ok(handle)
    }
}

impl OverlayLayers {
    fn new(upper: &Path, work: &Path) -> Result<Self, SandboxError> {
        let invalid = || {
            let upper = upper.display();
            SandboxError::Invalid(format!(
                "the folders of the overlay at `{upper}` are not next to each other"
            ))
        };
        let parts = |path: &Path| {
            let name = Path::new(path.file_name()?).to_owned();
            Some((path.parent()?.to_owned(), name))
        };
        let (folder, upper_name) = parts(upper).ok_or_else(invalid)?;
        let (other, work_name) = parts(work).ok_or_else(invalid)?;
        if folder != other {
            return Err(invalid());
        }
        let path = c_path(&folder)?;
        let identity = identity(&open(&path, &folder)?, &folder)?;
        let (upper, work) = (c_path(&upper_name)?, c_path(&work_name)?);
        Ok(Self { folder: path, identity, upper, work })
    }
}

fn refuse(path: &Path, reason: &str) -> SandboxError {
    SandboxError::Grant { path: path.to_owned(), reason: reason.to_owned() }
}

/// Opens a path without following links.
#[allow(unsafe_code, reason = "a descriptor changes hands")]
fn open(path: &CStr, shown: &Path) -> Result<OwnedFd, SandboxError> {
    let handle = sys::open_path(path).map_err(|errno| match errno {
        libc::ELOOP => refuse(shown, "a part of it is a symbolic link, which could point anywhere"),
        libc::ENOENT => refuse(shown, "it no longer exists"),
        errno => refuse(shown, &std::io::Error::from_raw_os_error(errno).to_string()),
    })?;
    // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(handle) })
}

/// Device and inode.
fn identity(handle: &OwnedFd, shown: &Path) -> Result<(u64, u64), SandboxError> {
    sys::identity(handle.as_raw_fd()).map_err(|_| refuse(shown, "its metadata can't be read"))
}

/// The path as a C string.
pub(super) fn c_path(path: &Path) -> Result<CString, SandboxError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        SandboxError::Invalid(format!("a path contains a NUL byte: `{}`", path.display()))
    })
}

/// The path below the new root.
fn inside(path: &Path) -> Result<CString, SandboxError> {
    c_path(path.strip_prefix("/").unwrap_or(path))
}

fn text(value: &str) -> Result<CString, SandboxError> {
    CString::new(value)
        .map_err(|_| SandboxError::Invalid("a number contains a NUL byte".to_owned()))
}
