//! Skills on disk for the scanner: which folders are skills, and their files, read without following links.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_core::{Problem, ProblemKind};
use prowess_scan::{
    FileMode, Finding, KnownBad, MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES, ScanFile, ScanReport,
    scan_update, scan_with,
};

use crate::{CheckSettings, path_problem, shown};

/// How deep folders are looked into.
const MAX_DEPTH: usize = 32;
/// The most entries that are looked at to find skills.
const MAX_ENTRIES: usize = 200_000;
/// Folders that hold what tools have put there.
const SKIPPED: &[&str] = &[".git", ".hg", ".svn"];

/// A skill that was scanned.
#[derive(Debug)]
pub struct ScannedSkill {
    /// Its folder; of a lone file, that file.
    pub path: PathBuf,
    /// Its files, as far as they were read.
    pub files: Vec<ReadFile>,
    /// What was found, without what the project allows.
    pub report: ScanReport,
    /// How many findings the project allows.
    pub allowed: usize,
}

/// A file in memory.
#[derive(Debug)]
pub struct ReadFile {
    /// Its path below the skill's folder.
    pub path: String,
    /// Its content, up to the limit.
    pub bytes: Vec<u8>,
    mode: FileMode,
}

/// The folders below a path that are skills: those with a `SKILL.md`, outermost first. A lone Markdown file is one; any other
/// file, and what is neither a file nor a folder, is none.
pub fn skill_folders(root: &Path) -> Result<Vec<PathBuf>, Problem> {
    let metadata = fs::metadata(root).map_err(|source| path_problem("read", root, &source))?;
    if !metadata.is_dir() {
        let is_main = root.file_name().is_some_and(|name| name == "SKILL.md");
        let is_markdown = root.extension().is_some_and(|extension| {
            ["md", "mdx", "mdc", "markdown"]
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known))
        });
        if !metadata.is_file() || !is_markdown {
            return Ok(Vec::new());
        }
        let folder = prowess_files::atomic::folder_of(root);
        return Ok(vec![if is_main { folder.to_owned() } else { root.to_owned() }]);
    }
    let mut found = Vec::new();
    let mut pending = vec![(root.to_owned(), 0)];
    let mut entries = 0;
    while let Some((folder, depth)) = pending.pop() {
        if folder.join("SKILL.md").symlink_metadata().is_ok_and(|main| !main.is_dir()) {
            found.push(folder);
            continue;
        }
        if depth >= MAX_DEPTH {
            continue;
        }
        let listing =
            fs::read_dir(&folder).map_err(|source| path_problem("list", &folder, &source))?;
        for entry in listing.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                let message = format!("`{}` has more than {MAX_ENTRIES} files", shown(root));
                return Err(Problem::new("too-many-files", ProblemKind::InvalidInput, message));
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name();
            if is_folder && !SKIPPED.iter().any(|skipped| name == *skipped) {
                pending.push((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What a scan is compared with.
#[derive(Clone, Copy, Debug)]
pub struct ScanBasis<'b> {
    /// The settings of the project, which may allow findings.
    pub settings: Option<&'b CheckSettings>,
    /// Files that are known to be malicious.
    pub known_bad: &'b KnownBad,
    /// The folder of an older version, whose abilities are no news.
    pub before: Option<&'b Path>,
}

/// Scans a folder or a lone file. Links are not followed.
pub fn scan_path(path: &Path, settings: Option<&CheckSettings>) -> Result<ScannedSkill, Problem> {
    let basis = ScanBasis { settings, known_bad: &KnownBad::default(), before: None };
    scan_path_with(path, &basis)
}

/// Scans a folder or a lone file like [`scan_path`], and compares it with what is known.
pub fn scan_path_with(path: &Path, basis: &ScanBasis<'_>) -> Result<ScannedSkill, Problem> {
    let files = files_of(path)?;
    let report = match basis.before {
        Some(before) => {
            let old = files_of(before)?;
            scan_update(&views(&old), &views(&files), basis.known_bad)
        }
        None => scan_with(&views(&files), basis.known_bad),
    };
    Ok(finish(path.to_owned(), files, report, basis.settings))
}

fn files_of(path: &Path) -> Result<Vec<ReadFile>, Problem> {
    let mut files = Vec::new();
    let metadata = fs::metadata(path).map_err(|source| path_problem("read", path, &source))?;
    if metadata.is_dir() {
        let mut left = MAX_TOTAL_BYTES + MAX_FILE_BYTES;
        collect(path, "", 0, &mut left, &mut files)?;
    } else {
        let bytes =
            read(path, MAX_FILE_BYTES + 1).map_err(|source| path_problem("read", path, &source))?;
        files.push(ReadFile { path: "SKILL.md".to_owned(), bytes, mode: FileMode::Plain });
    }
    Ok(files)
}

fn views(files: &[ReadFile]) -> Vec<ScanFile<'_>> {
    files
        .iter()
        .map(|file| ScanFile { path: &file.path, bytes: &file.bytes, mode: file.mode })
        .collect()
}

fn finish(
    path: PathBuf,
    files: Vec<ReadFile>,
    mut report: ScanReport,
    settings: Option<&CheckSettings>,
) -> ScannedSkill {
    let before = report.findings.len();
    if let Some(settings) = settings {
        // What a skill says about itself allows nothing: the settings are those of the project around it.
        let is_allowed = |finding: &Finding| {
            settings.allows_finding(finding.rule.rule.name, &path.join(&finding.file), &path)
        };
        report.findings.retain(|finding| !is_allowed(finding));
    }
    let allowed = before - report.findings.len();
    ScannedSkill { path, files, report, allowed }
}

fn collect(
    folder: &Path,
    prefix: &str,
    depth: usize,
    left: &mut usize,
    files: &mut Vec<ReadFile>,
) -> Result<(), Problem> {
    let listing = fs::read_dir(folder).map_err(|source| path_problem("list", folder, &source))?;
    let mut entries: Vec<_> = listing.flatten().collect();
    entries.sort_by_key(|entry| (entry.file_name() != "SKILL.md", entry.file_name()));
    for entry in entries {
        if files.len() > MAX_FILES {
            return Ok(());
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let Ok(kind) = entry.file_type() else { continue };
        let unread = |reason| ReadFile {
            path: path.clone(),
            bytes: Vec::new(),
            mode: FileMode::Unread(reason),
        };
        if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let bytes = target.to_string_lossy().into_owned().into_bytes();
            files.push(ReadFile { path, bytes, mode: FileMode::Link });
        } else if kind.is_dir() {
            if depth >= MAX_DEPTH {
                files.push(unread("it is nested too deep"));
            } else if !SKIPPED.contains(&name.as_str()) {
                collect(&entry.path(), &format!("{path}/"), depth + 1, left, files)?;
            }
        } else if !kind.is_file() {
            files.push(unread("it is neither a file nor a folder"));
        } else if *left == 0 {
            files.push(unread("the skill is too large"));
        } else {
            let most = (MAX_FILE_BYTES + 1).min(*left);
            match read(&entry.path(), most) {
                Ok(bytes) => {
                    *left -= bytes.len();
                    let mode =
                        if is_executable(&entry) { FileMode::Executable } else { FileMode::Plain };
                    files.push(ReadFile { path, bytes, mode });
                }
                Err(_) => files.push(unread("it can't be read")),
            }
        }
    }
    Ok(())
}

fn read(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_executable(entry: &fs::DirEntry) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    entry.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}
