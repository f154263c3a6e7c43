//! File grants: patterns to folders of this machine, with what is never opened left out of them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_format::text::visible;
use prowess_policy::scope::{PathPattern, PathRoot};
use prowess_policy::spec::FileScope;
use prowess_policy::{GrantEffect, SandboxSpec};
use prowess_sandbox::{FileAccess, FileGrant};

use super::grant;
use super::protect::{self, ProtectedPath, Protection};
use super::uses::Uses;
use crate::planted::PlantedScan;
use crate::world::World;

/// The most folders and files that grants are taken apart into.
const MAX_GRANTS: usize = 8192;
/// Top-level folders that are no files of anybody.
const NOT_FILES: &[&str] = &["proc", "sys", "dev", "run", "boot", "lost+found", "tmp"];
/// Top-level folders of the system. No grant of "everything" makes them writable, because the programs that are granted
/// lie there (attack sandbox-B11).
pub(super) const SYSTEM: &[&str] =
    &["usr", "etc", "opt", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix"];

/// Files of `/etc` that a run has of its own: who it is, and how it finds others.
const OWN_FILES: &[&str] =
    &["passwd", "group", "hosts", "resolv.conf", "nsswitch.conf", "ld.so.cache", "localtime"];

/// Why files can't be opened to a tool.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A link on the way (attack sandbox-A05).
    #[error("the grant `{grant}` goes through the symbolic link `{}`: name the folder it points to", .link.display())]
    Link {
        /// The grant.
        grant: String,
        /// The link.
        link: PathBuf,
    },
    /// A link where something has to be protected.
    #[error("`{}` is a symbolic link, so it can't be protected: replace it with a file or folder, or don't grant write access there", .link.display())]
    ProtectedLink {
        /// The link.
        link: PathBuf,
    },
    /// A pattern that reaches into places of secrets.
    #[error("the grant `{grant}` includes `{}`, which no pattern may include: name a folder", .place.display())]
    TooWide {
        /// The grant.
        grant: String,
        /// The place.
        place: PathBuf,
    },
    /// A new file or folder in a folder that is not there: only what is granted is made (attack sandbox-A26).
    #[error("the grant `{grant}` is for something in `{}`, which does not exist: create that folder first (`mkdir -p`)", .folder.display())]
    NoFolder {
        /// The grant.
        grant: String,
        /// The folder.
        folder: PathBuf,
    },
    /// Too many pieces.
    #[error("the grants expand to more than {MAX_GRANTS} files and folders: narrow them")]
    TooMany,
    /// A folder can't be listed.
    #[error("cannot list `{}`: {source}", .path.display())]
    List {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What is opened.
#[derive(Debug)]
pub(super) struct OpenedFiles {
    pub(super) grants: Vec<FileGrant>,
    pub(super) warnings: Vec<String>,
    /// Names that are not there yet and may become folders.
    new_names: Vec<PathBuf>,
    /// What to look at after the run.
    pub(super) planted_scan: PlantedScan,
}

/// Lowers all file rules of a spec.
pub(super) fn open(
    allowed: &SandboxSpec,
    world: &World,
    skill_directory: Option<&Path>,
) -> Result<OpenedFiles, FileError> {
    let mut opened = OpenedFiles::new();
    let place = FileContext { world, skill_directory, uses: &Uses::new(world) };
    for (scope, access) in rules(allowed) {
        open_rule(scope, access, place, &mut opened)?;
    }
    let written: Vec<PathBuf> = opened
        .grants
        .iter()
        .filter(|grant| grant.access == FileAccess::Write)
        .map(|grant| grant.path.clone())
        .chain(opened.new_names.iter().cloned())
        .collect();
    // Without writing nothing has to be looked for, and that is most runs of most tools.
    let inner = if written.is_empty() {
        protect::ProtectedPaths::default()
    } else {
        protect::inside(&written, place.uses)
    };
    if let Some(link) = inner.links.first() {
        return Err(FileError::ProtectedLink { link: link.clone() });
    }
    opened.planted_scan = PlantedScan {
        folders: written,
        fixed: inner.places.iter().cloned().chain(skill_directory.map(Path::to_owned)).collect(),
        repositories: inner.repositories,
        absent: inner.absent,
        is_complete: inner.warning.is_none(),
        home: world.home.clone(),
        settings: place.uses.common_settings(),
        started: SystemTime::now(),
    };
    // A home is opened piece by piece, and a piece may be a folder of PATH.
    opened.grants.retain(|grant| {
        let is_inside = || inner.places.iter().any(|place| grant.path.starts_with(place));
        grant.access != FileAccess::Write || !is_inside()
    });
    opened.grants.extend(inner.places.iter().map(|place| grant(place, FileAccess::Read)));
    opened.warnings.extend(inner.warning);
    if opened.grants.len() > MAX_GRANTS {
        return Err(FileError::TooMany);
    }
    Ok(opened)
}

impl OpenedFiles {
    fn new() -> Self {
        Self {
            grants: Vec::new(),
            warnings: Vec::new(),
            new_names: Vec::new(),
            planted_scan: PlantedScan::nothing(),
        }
    }
}

/// All file rules of a spec.
fn rules(allowed: &SandboxSpec) -> impl Iterator<Item = (&FileScope, FileAccess)> {
    let reading = allowed.read.iter().map(|scope| (scope, FileAccess::Read));
    reading.chain(allowed.write.iter().map(|scope| (scope, FileAccess::Write)))
}

/// What rules are looked at against.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileContext<'h> {
    pub(super) world: &'h World,
    pub(super) skill_directory: Option<&'h Path>,
    pub(super) uses: &'h Uses<'h>,
}

/// What one rule would open, without looking for what is protected inside. Nothing is made.
pub(super) fn look(
    scope: &FileScope,
    access: FileAccess,
    here: FileContext<'_>,
) -> Result<Vec<FileGrant>, FileError> {
    let mut opened = OpenedFiles::new();
    open_rule(scope, access, here, &mut opened)?;
    Ok(opened.grants)
}

/// What becomes of a rule for files. The policy asks here before it decides, and what is opened is compared with it once
/// more: one place knows.
pub(super) fn effect_of(
    scope: &FileScope,
    access: FileAccess,
    here: FileContext<'_>,
) -> GrantEffect {
    let FileScope::Pattern(pattern) = scope else { return GrantEffect::AsGranted };
    let base = base(pattern, here.world);
    let guards = protect::guards(scope, here.uses);
    let less = closing(pattern, &base, access, &guards, here);
    match less {
        Some(GrantEffect::ReadOnly(why)) if !base.exists() => return GrantEffect::Never(why),
        Some(less) => return less,
        None => {}
    }
    // Of a whole home nobody should be asked less because it is empty today.
    if access != FileAccess::Write || !base.exists() || pattern.is_broad() {
        return GrantEffect::AsGranted;
    }
    let is_written = |grant: &FileGrant| grant.access == FileAccess::Write;
    match look(scope, access, here) {
        Ok(opened) if !opened.iter().any(is_written) => {
            GrantEffect::ReadOnly(nothing_writable_in(&base))
        }
        // Why a run is refused is told where it is refused.
        Ok(_) | Err(_) => GrantEffect::AsGranted,
    }
}

/// Said of a folder in which only protected places are.
pub(super) fn nothing_writable_in(base: &Path) -> String {
    let base = base.display();
    format!("{base} contains nothing that a tool may change, and nothing new may be created in it")
}

/// What keeps a pattern from being opened as it says, as a whole.
fn closing(
    pattern: &PathPattern,
    base: &Path,
    access: FileAccess,
    guards: &[ProtectedPath],
    here: FileContext<'_>,
) -> Option<GrantEffect> {
    let writes = access == FileAccess::Write;
    if let Some(folder) = here.skill_directory.filter(|folder| writes && base.starts_with(folder)) {
        let folder = folder.display();
        return Some(GrantEffect::Never(format!(
            "{folder} is the skill itself and stays read-only"
        )));
    }
    let guard = |kind| {
        let mut guards = guards.iter();
        guards.find(move |guard: &&ProtectedPath| {
            guard.kind == kind && base.starts_with(&guard.place)
        })
    };
    if let Some(guard) = guard(Protection::Closed) {
        let verb = if writes { "change" } else { "read" };
        let (place, why) = (guard.place.display(), guard.why);
        return Some(GrantEffect::Never(format!("no tool may {verb} {place}, because {why}")));
    }
    if !writes {
        return None;
    }
    if let Some((row, why)) = protect::row_around(&names_below_top(base, pattern, here.world)) {
        return Some(GrantEffect::ReadOnly(format!("no tool may change `{row}`, because {why}")));
    }
    if let Some(guard) = guard(Protection::ReadOnly) {
        let (place, why) = (guard.place.display(), guard.why);
        return Some(GrantEffect::ReadOnly(format!("no tool may change {place}, because {why}")));
    }
    let used = here.uses.of(&[base.to_owned()], &BTreeSet::new());
    used.iter().find(|it| it.closes(base)).map(|it| GrantEffect::ReadOnly(it.why.clone()))
}

/// The names of a place below the folder that its grant is written for.
fn names_below_top<'b>(base: &'b Path, pattern: &PathPattern, world: &World) -> Vec<&'b OsStr> {
    let top = match pattern.root() {
        PathRoot::Absolute if base.starts_with(&world.working_directory) => {
            world.working_directory.as_path()
        }
        _ => root(pattern, world),
    };
    base.strip_prefix(top).unwrap_or(base).iter().collect()
}

fn open_rule(
    scope: &FileScope,
    access: FileAccess,
    here: FileContext<'_>,
    opened: &mut OpenedFiles,
) -> Result<(), FileError> {
    let guards = protect::guards(scope, here.uses);
    let mut work = Opener { guards: &guards, opened, here };
    match scope {
        FileScope::Everything => work.everything(access),
        FileScope::Pattern(pattern) => work.pattern(pattern, access),
    }
}

/// The place that a pattern begins at.
pub(super) fn base(pattern: &PathPattern, world: &World) -> PathBuf {
    let mut base = root(pattern, world).to_owned();
    base.extend(pattern.literal_prefix());
    base
}

struct Opener<'o> {
    guards: &'o [ProtectedPath],
    opened: &'o mut OpenedFiles,
    here: FileContext<'o>,
}

impl Opener<'_> {
    /// Every folder at the top but those of the kernel; those of the system for reading.
    fn everything(&mut self, access: FileAccess) -> Result<(), FileError> {
        for path in children(Path::new("/"))? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if NOT_FILES.contains(&name) {
                continue;
            }
            let access = if SYSTEM.contains(&name) { FileAccess::Read } else { access };
            self.tree(&path, access)?;
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &PathPattern, access: FileAccess) -> Result<(), FileError> {
        let prefix = pattern.literal_prefix();
        let base = straight_down(root(pattern, self.here.world), prefix, pattern)?;
        match closing(pattern, &base, access, self.guards, self.here) {
            None => {}
            // The policy has been told before, and gives no such rule: only what has changed since is met here.
            Some(
                GrantEffect::ReadOnly(why) | GrantEffect::Never(why) | GrantEffect::Partly(why),
            ) => {
                self.opened.warnings.push(format!("`{pattern}` is not opened: {}", visible(&why)));
                return Ok(());
            }
            Some(GrantEffect::AsGranted) => {}
        }
        if access == FileAccess::Write
            && let Some(folder) = missing_parent(&base)
        {
            let (grant, folder) = (pattern.to_string(), folder.to_owned());
            return Err(FileError::NoFolder { grant, folder });
        }
        if !pattern.is_tree() {
            let rest = pattern.parts()[prefix.len()..].join("/");
            return self.filtered(&base, &rest, pattern, access);
        }
        let is_folder = pattern.parts().len() > prefix.len();
        match (base.exists(), access, is_folder) {
            (true, _, _) => self.tree(&base, access),
            // Attack sandbox-A26: exactly this folder is made.
            (false, FileAccess::Write, true) => {
                self.opened.grants.push(FileGrant { create: true, ..grant(&base, access) });
                Ok(())
            }
            // A name that is not there yet: a file or a folder of that name may appear beside the others, and nothing else.
            (false, FileAccess::Write, false) => match (base.parent(), base.file_name()) {
                (Some(folder), Some(name)) => {
                    // A checked path holds no other wildcards than `*` and `?`, and a prefix none at all.
                    let name = name.to_string_lossy();
                    self.filtered(folder, &name, pattern, access)?;
                    self.filtered(folder, &format!("{name}/**"), pattern, access)?;
                    self.opened.new_names.push(base);
                    Ok(())
                }
                _ => Ok(()),
            },
            (false, FileAccess::Read | FileAccess::Execute, _) => Ok(()),
        }
    }

    /// What matches below a folder. The sandbox does the matching, so nothing that is guarded may match at all.
    fn filtered(
        &mut self,
        base: &Path,
        rest: &str,
        pattern: &PathPattern,
        access: FileAccess,
    ) -> Result<(), FileError> {
        let reached = self.guards.iter().find(|guard| {
            (guard.kind == Protection::Closed || access == FileAccess::Write)
                && (base.starts_with(&guard.place)
                    || guard.place.strip_prefix(base).is_ok_and(|inner| may_reach(rest, inner)))
        });
        if let Some(guard) = reached {
            let place = guard.place.clone();
            return Err(FileError::TooWide { grant: pattern.to_string(), place });
        }
        if self.is_of_skill(base, access) {
            return Ok(());
        }
        let create = access == FileAccess::Write;
        let pattern = Some(rest.to_owned());
        self.opened.grants.push(FileGrant { pattern, create, ..grant(base, access) });
        Ok(())
    }

    /// The skill's folder has a grant of its own, which is never one for writing (attack sandbox-A11).
    fn is_of_skill(&mut self, base: &Path, access: FileAccess) -> bool {
        let own = self.here.skill_directory.is_some_and(|folder| base.starts_with(folder));
        if own && access == FileAccess::Write {
            let base = base.display();
            let warning = format!("`{base}` belongs to the skill itself and stays read-only");
            self.opened.warnings.push(warning);
        }
        own
    }

    /// A folder with everything below it, less what is guarded. Where something is guarded below, the folder is opened
    /// piece by piece: a place that does not exist yet can't be made then either.
    fn tree(&mut self, base: &Path, access: FileAccess) -> Result<(), FileError> {
        if self.opened.grants.len() > MAX_GRANTS {
            return Err(FileError::TooMany);
        }
        if self.is_of_skill(base, access) {
            return Ok(());
        }
        if base == Path::new("/etc") {
            return self.etc(access);
        }
        let guard = self.guards.iter().find(|guard| guard.place == base);
        match guard.map(|guard| guard.kind) {
            Some(Protection::Closed) => return Ok(()),
            Some(Protection::ReadOnly) if access == FileAccess::Write => {
                return self.tree(base, FileAccess::Read);
            }
            Some(Protection::ReadOnly) | None => {}
        }
        let below = self.guards.iter().any(|guard| {
            guard.place != base
                && guard.place.starts_with(base)
                && match guard.kind {
                    Protection::Closed => access == FileAccess::Write || guard.place.exists(),
                    Protection::ReadOnly => access == FileAccess::Write,
                }
        });
        if !below || !base.is_dir() {
            self.opened.grants.push(grant(base, access));
            return Ok(());
        }
        for child in children(base)? {
            self.tree(&child, access)?;
        }
        Ok(())
    }

    /// `/etc` piece by piece, because a run has some of these files of its own.
    fn etc(&mut self, access: FileAccess) -> Result<(), FileError> {
        for child in children(Path::new("/etc"))? {
            let name = child.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !OWN_FILES.contains(&name) {
                self.tree(&child, access)?;
            }
        }
        Ok(())
    }
}

/// What is granted and not there, in words.
pub(super) fn absent(allowed: &SandboxSpec, world: &World) -> Vec<String> {
    let words = |(scope, access): (&FileScope, FileAccess)| {
        let FileScope::Pattern(pattern) = scope else { return None };
        let prefix = pattern.literal_prefix();
        let base = base(pattern, world);
        if base.exists() {
            return None;
        }
        let shown = base.display().to_string();
        let shown = visible(&shown);
        let is_name = pattern.is_tree() && pattern.parts().len() == prefix.len();
        Some(match (access, missing_parent(&base)) {
            (FileAccess::Read | FileAccess::Execute, _) => {
                format!("{shown} does not exist, so nothing can be read there")
            }
            (FileAccess::Write, Some(folder)) => {
                let folder = folder.display().to_string();
                let folder = visible(&folder);
                format!(
                    "{shown} can't be created, because {folder} does not exist: create that first"
                )
            }
            (FileAccess::Write, None) if is_name => {
                format!("{shown} does not exist yet: a file or folder of that name may be created")
            }
            (FileAccess::Write, None) => format!(
                "{shown} does not exist yet: that folder is created, and kept if it is not empty"
            ),
        })
    };
    rules(allowed).filter_map(words).collect()
}

fn root<'w>(pattern: &PathPattern, world: &'w World) -> &'w Path {
    match pattern.root() {
        PathRoot::Home => &world.home,
        PathRoot::Working => &world.working_directory,
        PathRoot::Absolute => Path::new("/"),
    }
}

/// The folder that something new would be in, where that is missing too.
fn missing_parent(base: &Path) -> Option<&Path> {
    base.parent().filter(|folder| !base.exists() && !folder.is_dir())
}

/// A path below a root, if no part of it is a link: what is granted has to be what is read.
fn straight_down(
    root: &Path,
    parts: &[String],
    pattern: &PathPattern,
) -> Result<PathBuf, FileError> {
    let mut path = root.to_owned();
    for part in parts {
        path.push(part);
        if fs::symlink_metadata(&path).is_ok_and(|data| data.is_symlink()) {
            return Err(FileError::Link { grant: pattern.to_string(), link: path });
        }
    }
    Ok(path)
}

/// What is in a folder, less links, which could point anywhere; sorted.
fn children(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let failed = |source| FileError::List { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a pattern may match a place, something in it, or a folder above it. In doubt it may.
fn may_reach(pattern: &str, place: &Path) -> bool {
    let mut names = place.iter().map(|name| name.to_string_lossy());
    for part in pattern.split('/') {
        if part == "**" {
            return true;
        }
        match names.next() {
            Some(name) if name_matches(part, &name) => {}
            Some(_) => return false,
            // The pattern goes on inside the place.
            None => return true,
        }
    }
    // The pattern ends at the place or above it; above it only a folder could match, which brings all that is in it.
    true
}

fn name_matches(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let mut reachable = vec![false; name.len() + 1];
    reachable[0] = true;
    for wanted in pattern.chars() {
        let mut next = vec![false; name.len() + 1];
        if wanted == '*' {
            let mut open = false;
            for (at, reached) in reachable.iter().enumerate() {
                open |= reached;
                next[at] = open;
            }
        } else {
            for (at, character) in name.iter().enumerate() {
                next[at + 1] = reachable[at] && (wanted == '?' || wanted == *character);
            }
        }
        reachable = next;
    }
    reachable[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_not_writable_with_everything() {
        let mut opened = OpenedFiles::new();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let world = World::at(folder.path(), folder.path(), OsStr::new(""), Vec::new());
        let world = world.expect("a world");
        let here = FileContext { world: &world, skill_directory: None, uses: &Uses::new(&world) };
        Opener { guards: &[], opened: &mut opened, here }
            .everything(FileAccess::Write)
            .expect("the root can be listed");
        let access = |path: &str| {
            let found = opened.grants.iter().find(|grant| grant.path == Path::new(path));
            found.map(|grant| grant.access)
        };
        assert_eq!(access("/usr"), Some(FileAccess::Read));
        assert_eq!(access("/etc/passwd"), None, "a run has its own");
        assert_eq!(access("/proc"), None);
        assert!(opened.grants.iter().any(|grant| grant.access == FileAccess::Write));
    }

    #[test]
    fn patterns_reach_what_they_may_match() {
        for (pattern, place, expected) in [
            ("*.csv", ".ssh", false),
            ("*", ".ssh", true),
            (".*", ".ssh", true),
            (".ssh/*.pub", ".ssh", true),
            ("notes/*.md", ".ssh", false),
            ("**/*.md", ".config/gh", true),
            (".config", ".config/gh", true),
            (".config/*/x", ".config/gh", true),
            (".config/fish/x", ".config/gh", false),
            ("?ssh", ".ssh", true),
        ] {
            assert_eq!(may_reach(pattern, Path::new(place)), expected, "{pattern} {place}");
        }
    }
}
