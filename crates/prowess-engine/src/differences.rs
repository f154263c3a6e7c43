//! What has changed in a skill since it was approved: which files, by how much, and the text of it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use prowess_policy::approval::{ApprovalChange, FileChange, VoidReason};
use prowess_policy::scope::{PathRoot, secret_place};
use prowess_policy::{FileHashes, RunRequest};
use sha2::{Digest as _, Sha256};
use similar::TextDiff;

use crate::approvals::ApprovalStore;
use crate::digest::hexadecimal;

/// A larger file is told to have changed, and not how.
pub(crate) const MAX_FILE_BYTES: u64 = 128 << 10;
/// All copies of one skill.
const MAX_SKILL_BYTES: u64 = 1 << 20;
/// All differences of one question.
const MAX_DIFF_BYTES: usize = 64 << 10;
/// Lines around a change.
const CONTEXT: usize = 3;
/// Comparing takes no longer; what is shown then is right, but not the shortest difference.
const MAX_TIME: Duration = Duration::from_millis(200);

/// A file that is not as it was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDifference {
    /// What happened to it.
    pub change: FileChange,
    /// Its size when it was approved, if a copy was kept.
    pub size_before: Option<u64>,
    /// Its size now.
    pub size_now: Option<u64>,
    /// The difference as unified text, where both sides are small texts.
    pub text: Option<String>,
}

/// Compares the files of a request with those that were approved. The approved texts come from the store.
pub(crate) fn since(
    changed: &ApprovalChange,
    request: &RunRequest,
    store: &dyn ApprovalStore,
) -> Vec<FileDifference> {
    let (VoidReason::Files(changes), Some(folders)) = (&changed.void, request.folders()) else {
        return Vec::new();
    };
    let place = Path::new(&folders.skill);
    let mut room = MAX_DIFF_BYTES;
    let difference = |change: &FileChange| {
        let path = change.path();
        let before = content_hash(&changed.files, path).and_then(|hash| store.kept_text(hash));
        let (now, size_now) = match change {
            FileChange::Removed(_) => (Some(String::new()), None),
            FileChange::Changed(_) | FileChange::Added(_) => {
                let file = file_of(place, path);
                let size = std::fs::symlink_metadata(&file).ok().map(|data| data.len());
                (small_text(&file).map(|(text, _)| text), size)
            }
        };
        let size_before = before.as_ref().map(|text| text.len() as u64);
        let before = match change {
            FileChange::Added(_) => Some(String::new()),
            FileChange::Changed(_) | FileChange::Removed(_) => before,
        };
        let text = before.zip(now).map(|(before, now)| unified(path, &before, &now));
        let text = text.filter(|text| text.len() <= room);
        room -= text.as_ref().map_or(0, String::len);
        FileDifference { change: change.clone(), size_before, size_now, text }
    };
    changes.iter().map(difference).collect()
}

/// Keeps the small text files of an approved skill, so that a later change can be shown. What no longer is what was approved
/// is left out, and so are files with keys.
pub(crate) fn keep(request: &RunRequest, files: &FileHashes, store: &dyn ApprovalStore) {
    let Some(folders) = request.folders() else { return };
    let place = Path::new(&folders.skill);
    let mut taken = 0;
    for path in files.keys() {
        let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        let Some(approved) = content_hash(files, path) else { continue };
        if secret_place(PathRoot::Working, &parts).is_some() {
            continue;
        }
        let Some((text, hash)) = small_text(&file_of(place, path)) else { continue };
        taken += text.len() as u64;
        if taken > MAX_SKILL_BYTES {
            return;
        }
        if hash == approved {
            store.keep_text(approved, &text);
        }
    }
}

/// The hash of a file's content; `None` for links.
fn content_hash<'f>(files: &'f FileHashes, path: &str) -> Option<&'f str> {
    let (kind, hash) = files.get(path)?.split_once(' ')?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (matches!(kind, "f" | "x") && is_hash).then_some(hash)
}

/// A skill is a folder, or one file.
fn file_of(place: &Path, path: &str) -> std::path::PathBuf {
    if place.is_dir() { place.join(path) } else { place.to_owned() }
}

/// A small text file with the hash of what was read.
fn small_text(file: &Path) -> Option<(String, String)> {
    if !std::fs::symlink_metadata(file).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > MAX_FILE_BYTES || bytes.contains(&0) {
        return None;
    }
    let hash = hexadecimal(&Sha256::digest(&bytes));
    Some((String::from_utf8(bytes).ok()?, hash))
}

fn unified(path: &str, before: &str, now: &str) -> String {
    let difference = TextDiff::configure().timeout(MAX_TIME).diff_lines(before, now);
    let text = difference
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&format!("{path} (approved)"), &format!("{path} (now)"))
        .to_string();
    // Only its mode has changed.
    if text.is_empty() { format!("{path}: the content is the same\n") } else { text }
}
