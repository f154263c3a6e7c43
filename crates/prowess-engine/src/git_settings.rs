//! Parses git configuration as git does: which settings are harmless in a repository that a tool has created, and which
//! refer to files that git executes or includes.
//!
//! Settings that are not understood or not known to be harmless count as dangerous: git adds new ones every year.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// Maximum size of a file. Typical ones have some hundred bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum depth of includes, as in git.
const MAX_DEPTH: usize = 10;
/// Maximum number of files per repository.
const MAX_FILES: usize = 64;

/// Settings of `gc` that are numbers, times and booleans.
const OF_GC: &[&str] = &[
    "aggressivedepth",
    "aggressivewindow",
    "auto",
    "autodetach",
    "autopacklimit",
    "bigpackthreshold",
    "cruftpacks",
    "logexpiry",
    "maxcruftsize",
    "packrefs",
    "pruneexpire",
    "reflogexpire",
    "reflogexpireunreachable",
    "rerereresolved",
    "rerereunresolved",
    "worktreepruneexpire",
    "writecommitgraph",
];
/// Settings of `pack` that are numbers and booleans.
const OF_PACK: &[&str] = &[
    "allowpackreuse",
    "compression",
    "deltacachelimit",
    "deltacachesize",
    "depth",
    "indexversion",
    "packsizelimit",
    "threads",
    "usebitmapboundarytraversal",
    "usebitmaps",
    "usesparse",
    "window",
    "windowmemory",
    "writebitmaphashcache",
    "writebitmaplookuptable",
    "writereverseindex",
];
/// Settings of `status`.
const OF_STATUS: &[&str] = &[
    "aheadbehind",
    "branch",
    "displaycommentprefix",
    "relativepaths",
    "renamelimit",
    "renames",
    "short",
    "showstash",
    "showuntrackedfiles",
    "submodulesummary",
];

/// One setting, such as `remote.origin.url`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The section in lower case, as git compares it.
    section: String,
    /// The subsection as written.
    subsection: Option<String>,
    /// The name in lower case.
    name: String,
    /// The value; `true` if none is written.
    value: String,
}

/// The configuration can't be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// Reads the settings of a file; none if it does not exist.
pub(crate) fn of_file(path: &Path) -> Result<Vec<Setting>, Unreadable> {
    let Ok(data) = fs::symlink_metadata(path) else { return Ok(Vec::new()) };
    // A link could lead elsewhere, and reading a pipe would block.
    if !data.is_file() || data.len() > MAX_BYTES {
        return Err(Unreadable);
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|_| Unreadable)?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|_| Unreadable)?;
    parse(&bytes)
}

/// Parses a configuration file by the rules of `git_config_from_file`.
fn parse(bytes: &[u8]) -> Result<Vec<Setting>, Unreadable> {
    let mut reader = Reader { bytes: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), at: 0 };
    let mut settings = Vec::new();
    let mut section: Option<(String, Option<String>)> = None;
    while let Some(byte) = reader.next() {
        match byte {
            b'#' | b';' => reader.skip_line(),
            b'[' => section = Some(reader.header()?),
            _ if is_space(byte) => {}
            _ if byte.is_ascii_alphabetic() => {
                let (section, subsection) = section.clone().ok_or(Unreadable)?;
                let (name, value) = reader.setting(byte)?;
                settings.push(Setting { section, subsection, name, value });
            }
            _ => return Err(Unreadable),
        }
    }
    Ok(settings)
}

fn is_space(byte: u8) -> bool {
    // Git's own table of whitespace has no form feeds and vertical tabs.
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn text(bytes: Vec<u8>) -> Result<String, Unreadable> {
    // Paths may contain other bytes, but settings of a tool don't need them.
    String::from_utf8(bytes).map_err(|_| Unreadable)
}

struct Reader<'r> {
    bytes: &'r [u8],
    at: usize,
}

impl Reader<'_> {
    /// The next byte, with CRLF as one line break.
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        if byte == b'\r' && self.bytes.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return Some(b'\n');
        }
        Some(byte)
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// Parses what follows `[`: `core]`, `remote "origin"]` or the deprecated `branch.main]`.
    fn header(&mut self) -> Result<(String, Option<String>), Unreadable> {
        let mut name = Vec::new();
        loop {
            match self.next().ok_or(Unreadable)? {
                b']' => {
                    let name = text(name)?;
                    return Ok(match name.split_once('.') {
                        Some((section, rest)) => (section.to_owned(), Some(rest.to_owned())),
                        None => (name, None),
                    });
                }
                byte if is_space(byte) => break,
                byte if is_of_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return Err(Unreadable),
            }
        }
        let mut byte = b' ';
        while byte != b'\n' && is_space(byte) {
            byte = self.next().ok_or(Unreadable)?;
        }
        if byte != b'"' {
            return Err(Unreadable);
        }
        let mut inner = Vec::new();
        loop {
            match self.next().ok_or(Unreadable)? {
                b'\n' => return Err(Unreadable),
                b'"' => break,
                b'\\' => inner.push(self.next().filter(|byte| *byte != b'\n').ok_or(Unreadable)?),
                byte => inner.push(byte),
            }
        }
        if self.next() != Some(b']') {
            return Err(Unreadable);
        }
        Ok((text(name)?, Some(text(inner)?)))
    }

    fn setting(&mut self, first: u8) -> Result<(String, String), Unreadable> {
        let mut name = vec![first.to_ascii_lowercase()];
        let mut byte = self.next();
        while let Some(part) = byte.filter(|byte| is_of_key(*byte)) {
            name.push(part.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, Some(b' ' | b'\t')) {
            byte = self.next();
        }
        let value = match byte {
            None | Some(b'\n') => "true".to_owned(),
            Some(b'=') => text(self.value()?)?,
            Some(_) => return Err(Unreadable),
        };
        Ok((text(name)?, value))
    }

    fn value(&mut self) -> Result<Vec<u8>, Unreadable> {
        let mut value = Vec::new();
        // Trailing whitespace only counts inside quotes.
        let mut length = 0;
        let mut is_quoted = false;
        loop {
            match self.next() {
                None | Some(b'\n') if is_quoted => return Err(Unreadable),
                None | Some(b'\n') => break,
                Some(b'#' | b';') if !is_quoted => {
                    self.skip_line();
                    break;
                }
                Some(byte) if is_space(byte) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                Some(b'"') => is_quoted = !is_quoted,
                Some(b'\\') => match self.next().ok_or(Unreadable)? {
                    b'\n' => continue,
                    b't' => value.push(b'\t'),
                    b'b' => value.push(0x08),
                    b'n' => value.push(b'\n'),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return Err(Unreadable),
                },
                Some(byte) => value.push(byte),
            }
            length = value.len();
        }
        value.truncate(length);
        Ok(value)
    }
}

impl Setting {
    /// The name for display.
    pub(crate) fn key(&self) -> String {
        let Self { section, subsection, name, .. } = self;
        match subsection {
            Some(subsection) => format!("{section}.{subsection}.{name}"),
            None => format!("{section}.{name}"),
        }
    }

    /// The path of the working tree, if this setting defines it.
    pub(crate) fn worktree(&self) -> Option<&str> {
        self.is("core", "worktree").then_some(self.value.as_str())
    }

    /// Whether it selects SHA-256 object names.
    pub(crate) fn is_sha256(&self) -> bool {
        self.is("extensions", "objectformat") && self.value.eq_ignore_ascii_case("sha256")
    }

    /// The merge strategy of a pending cherry-pick.
    pub(crate) fn strategy(&self) -> Option<&str> {
        self.is("options", "strategy").then_some(self.value.as_str())
    }

    /// Whether its value refers to a repository or a working tree. Nothing is executed because of it.
    fn names_work(&self) -> bool {
        self.worktree().is_some()
            || self.is("safe", "directory")
            || self.is("maintenance", "repo")
            || self.is("scalar", "repo")
            || self.is("gui", "recentrepo")
    }

    fn is(&self, section: &str, name: &str) -> bool {
        self.section == section && self.subsection.is_none() && self.name == name
    }

    /// Whether it can neither start a program nor refer git to other settings, whatever its value.
    pub(crate) fn is_harmless(&self) -> bool {
        let value = self.value.as_str();
        let among = |names: &[&str]| names.contains(&self.name.as_str());
        match (self.section.as_str(), self.subsection.is_some()) {
            ("core", false) if self.name == "fsmonitor" => {
                // True is git's built-in monitor; anything else is a program.
                ["true", "false"].contains(&value)
            }
            ("core", false) => among(&[
                "repositoryformatversion",
                "filemode",
                "bare",
                "logallrefupdates",
                "ignorecase",
                "precomposeunicode",
                "symlinks",
                "autocrlf",
                "eol",
                "safecrlf",
                "quotepath",
                "abbrev",
                "compression",
                "preloadindex",
                "untrackedcache",
                "sharedrepository",
                "bigfilethreshold",
                "longpaths",
                "sparsecheckout",
                "sparsecheckoutcone",
            ]),
            ("remote", true) => match self.name.as_str() {
                "url" | "pushurl" => is_plain_address(value),
                "fetch" | "push" | "tagopt" | "prune" | "prunetags" | "mirror" | "promisor"
                | "partialclonefilter" | "skipdefaultupdate" | "skipfetchall" => true,
                _ => false,
            },
            ("submodule", true) => match self.name.as_str() {
                "url" => is_plain_address(value),
                "update" => ["checkout", "rebase", "merge", "none"].contains(&value),
                "active" | "branch" | "ignore" | "path" | "fetchrecursesubmodules" | "shallow" => {
                    true
                }
                _ => false,
            },
            ("branch", true) => match self.name.as_str() {
                // The name of a remote, or a URL.
                "remote" | "pushremote" => is_plain_address(value),
                "merge" | "rebase" | "description" => true,
                _ => false,
            },
            ("branch", false) => among(&["autosetupmerge", "autosetuprebase", "sort"]),
            ("user", false) => among(&["name", "email"]),
            ("extensions", false) => match self.name.as_str() {
                "objectformat" | "compatobjectformat" | "refstorage" => {
                    value.chars().all(|character| character.is_ascii_alphanumeric())
                }
                "partialclone" => is_plain_address(value),
                "noop" | "preciousobjects" | "relativeworktrees" => true,
                _ => false,
            },
            ("submodule", false) => among(&["active", "recurse", "fetchjobs"]),
            ("lfs", false) => among(&["repositoryformatversion"]),
            ("pull", false) => among(&["rebase", "ff"]),
            ("push", false) => among(&["default", "autosetupremote", "followtags"]),
            ("fetch", false) => among(&["prune", "prunetags", "parallel"]),
            ("receive", false) => among(&["denycurrentbranch", "denynonfastforwards"]),
            ("init", false) => among(&["defaultbranch"]),
            // By name, because `gc.recentObjectsHook` is a program.
            ("gc", false) => among(OF_GC),
            ("pack", false) => among(OF_PACK),
            ("index", false) => among(&[
                "recordendofindexentries",
                "recordoffsettable",
                "sparse",
                "threads",
                "version",
                "skiphash",
            ]),
            ("feature", false) => among(&["experimental", "manyfiles"]),
            ("status", false) => among(OF_STATUS),
            // Whether a hint is shown, and in which colours: git never executes these values.
            ("advice" | "color", false) => true,
            _ => false,
        }
    }
}

/// Whether git fetches from an address itself and not through a remote helper (`ext::sh -c …`).
fn is_plain_address(address: &str) -> bool {
    !address.contains("::") && !address.starts_with('-')
}

/// A path that a setting refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedPath {
    /// The path: absolute, without `.` and `..`.
    pub(crate) path: PathBuf,
    /// Whether git uses it as soon as it exists, so that it matters even while it is missing.
    pub(crate) is_certain: bool,
    /// Whether it is a folder of hooks.
    pub(crate) is_folder: bool,
    /// The reason.
    pub(crate) why: String,
}

impl NamedPath {
    /// A file that git uses as soon as it exists.
    pub(crate) fn file(path: PathBuf, why: &str) -> Self {
        Self { path, is_certain: true, is_folder: false, why: why.to_owned() }
    }
}

/// The settings to read, and the bases of their paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'s> {
    /// The configuration files, including those of the user.
    pub(crate) files: &'s [PathBuf],
    /// The folder in which hooks and programs are started.
    pub(crate) top: &'s Path,
    /// The user's home.
    pub(crate) home: &'s Path,
}

/// All files and folders that settings refer to as something to execute or include. Conditions of includes are assumed
/// to be true.
pub(crate) fn named(
    sources: Sources<'_>,
    mut read: impl FnMut(&Path) -> Vec<Setting>,
) -> Vec<NamedPath> {
    let mut found: Vec<NamedPath> = Vec::new();
    let mut open: Vec<(PathBuf, usize)> =
        sources.files.iter().map(|file| (file.clone(), 0)).collect();
    let mut at = 0;
    while let Some((file, depth)) = open.get(at).cloned() {
        at += 1;
        for setting in read(&file) {
            if setting.names_work() {
                continue;
            }
            let why = format!("the setting `{}` names it", setting.key());
            let Setting { section, name, value, .. } = &setting;
            let is_include = ["include", "includeif"].contains(&section.as_str()) && name == "path";
            if is_include {
                let base = file.parent().unwrap_or(Path::new("/"));
                let Some(path) = resolve(value, base, sources.home) else { continue };
                if depth < MAX_DEPTH
                    && open.len() < MAX_FILES
                    && !open.iter().any(|(known, _)| *known == path)
                {
                    open.push((path.clone(), depth + 1));
                }
                found.push(NamedPath::file(path, &why));
            } else if setting.is("core", "hookspath") || setting.is("init", "templatedir") {
                // An empty value disables hooks.
                let path = resolve(value, sources.top, sources.home).filter(|_| !value.is_empty());
                found.extend(
                    path.map(|path| NamedPath { is_folder: true, ..NamedPath::file(path, &why) }),
                );
            } else if !setting.is_harmless() {
                found.extend(words(value).filter_map(|(word, is_first)| {
                    let path = resolve(word, sources.top, sources.home)?;
                    // A program without a slash is found through PATH, and most words are not programs.
                    let is_certain = is_first && word.contains('/');
                    Some(NamedPath { is_certain, ..NamedPath::file(path, &why) })
                }));
            }
        }
    }
    found
}

/// The words of a command that could be paths, approximately.
fn words(command: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_between = |character: char| {
        character.is_whitespace()
            || ['\'', '"', ';', '&', '|', '(', ')', '=', '!'].contains(&character)
    };
    let words = command.split(is_between).filter(|word| !word.is_empty());
    words.enumerate().map(|(at, word)| (word, at == 0))
}

/// Resolves a path as git does, lexically.
fn resolve(path: &str, base: &Path, home: &Path) -> Option<PathBuf> {
    // Commands are expanded by a shell.
    let in_home = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|start| path.strip_prefix(start));
    let path = match in_home {
        Some(rest) => home.join(rest),
        None => base.join(path),
    };
    normal(&path)
}

/// A path without `.` and `..`; `None` if it is not absolute.
pub(crate) fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => normal.push(part),
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
        }
    }
    normal.is_absolute().then_some(normal)
}

#[cfg(test)]
mod tests;
