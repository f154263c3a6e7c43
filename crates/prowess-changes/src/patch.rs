//! Changes as a patch that `git apply` takes.
//!
//! Folders have no place in such a patch, so empty ones are left out. Binary files are written in git's own encoding, with
//! the names of their objects, without which git refuses them.

mod binary;
mod sha1;

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

use crate::change::{Change, ChangeSet, EntryKind, EntryVersion};

/// Lines around a change.
const CONTEXT: usize = 3;
/// Maximum time to look for the smallest difference of a file; then a larger one is written.
const MAX_TIME: Duration = Duration::from_secs(2);
/// How many bytes are searched for a zero, which makes a file binary, as git does.
const SNIFFED: usize = 8000;

/// The two sides of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What was there.
    Before,
    /// What the run has made of it.
    After,
}

/// Reads the content of one side of a change: the bytes of a file.
pub type ReadContent<'r> = dyn FnMut(&Change, Side) -> io::Result<Vec<u8>> + 'r;

/// What a patch could not take.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PatchReport {
    /// The number of changes in the patch.
    pub written: usize,
    /// Files that are too large, by their path in the patch.
    pub omitted: Vec<PathBuf>,
}

/// Options of a patch.
#[derive(Clone, Copy, Debug)]
pub struct PatchOptions<'p> {
    /// The folder that the paths of each layer begin with.
    pub prefixes: &'p [PathBuf],
    /// Maximum size of a file.
    pub max_file_bytes: u64,
}

/// Writes a patch.
pub fn write(
    set: &ChangeSet,
    options: PatchOptions<'_>,
    content: &mut ReadContent<'_>,
    out: &mut dyn Write,
) -> io::Result<PatchReport> {
    let mut report = PatchReport::default();
    for change in &set.changes {
        let is_file =
            |version: &&EntryVersion| matches!(version.entry, EntryKind::File | EntryKind::Link);
        let before = change.before.as_ref().filter(is_file);
        let after = change.after.as_ref().filter(is_file);
        if before.is_none() && after.is_none() {
            continue;
        }
        let prefix = options.prefixes.get(change.layer).map_or(Path::new(""), PathBuf::as_path);
        let path = prefix.join(&change.path);
        let is_large = |version: Option<&EntryVersion>| {
            version.is_some_and(|version| version.bytes > options.max_file_bytes)
        };
        if is_large(before) || is_large(after) {
            report.omitted.push(path);
            continue;
        }
        let mut side = |version: Option<&EntryVersion>, side: Side| match version {
            None => Ok(Vec::new()),
            Some(EntryVersion { target: Some(target), .. }) => {
                Ok(target.as_os_str().as_bytes().to_vec())
            }
            Some(_) => content(change, side),
        };
        let file = FilePatch {
            path: &path,
            old: before.map(git_mode),
            new: after.map(git_mode),
            old_bytes: &side(before, Side::Before)?,
            new_bytes: &side(after, Side::After)?,
        };
        file.write(out)?;
        report.written += 1;
    }
    Ok(report)
}

/// The mode of a file as git knows it.
fn git_mode(version: &EntryVersion) -> &'static str {
    match version.entry {
        EntryKind::Link => "120000",
        _ if version.mode & 0o100 != 0 => "100755",
        _ => "100644",
    }
}

struct FilePatch<'f> {
    path: &'f Path,
    old: Option<&'static str>,
    new: Option<&'static str>,
    old_bytes: &'f [u8],
    new_bytes: &'f [u8],
}

impl FilePatch<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (old_name, new_name) = (quoted("a/", self.path), quoted("b/", self.path));
        let has_same_bytes = self.old_bytes == self.new_bytes;
        if self.old == self.new && has_same_bytes {
            // Git does not know the other permissions.
            return Ok(());
        }
        line(out, &[b"diff --git ", &old_name, b" ", &new_name])?;
        match (self.old, self.new) {
            (None, Some(mode)) => line(out, &[b"new file mode ", mode.as_bytes()])?,
            (Some(mode), None) => line(out, &[b"deleted file mode ", mode.as_bytes()])?,
            (Some(old), Some(new)) if old != new => {
                line(out, &[b"old mode ", old.as_bytes()])?;
                line(out, &[b"new mode ", new.as_bytes()])?;
            }
            _ => {}
        }
        if is_binary(self.old_bytes) || is_binary(self.new_bytes) {
            let (old, new) = (object(self.old, self.old_bytes), object(self.new, self.new_bytes));
            if !has_same_bytes {
                line(out, &[b"index ", old.as_bytes(), b"..", new.as_bytes()])?;
                binary::write(out, self.new_bytes, self.old_bytes)?;
            }
            return Ok(());
        }
        if has_same_bytes {
            return Ok(());
        }
        let nothing: &[u8] = b"/dev/null";
        line(out, &[b"--- ", if self.old.is_some() { &old_name } else { nothing }])?;
        line(out, &[b"+++ ", if self.new.is_some() { &new_name } else { nothing }])?;
        self.hunks(out)
    }

    fn hunks(&self, out: &mut dyn Write) -> io::Result<()> {
        let (old, new) = (lines(self.old_bytes), lines(self.new_bytes));
        let deadline = Some(Instant::now() + MAX_TIME);
        let steps = similar::capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
        for group in similar::group_diff_ops(steps, CONTEXT) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let old_range = range(first.old_range().start, last.old_range().end);
            let new_range = range(first.new_range().start, last.new_range().end);
            line(out, &[format!("@@ -{old_range} +{new_range} @@").as_bytes()])?;
            for step in &group {
                if let DiffOp::Equal { old_index, len, .. } = *step {
                    write_lines(out, b" ", &old[old_index..old_index + len])?;
                } else {
                    write_lines(out, b"-", &old[step.old_range()])?;
                    write_lines(out, b"+", &new[step.new_range()])?;
                }
            }
        }
        Ok(())
    }
}

fn line(out: &mut dyn Write, parts: &[&[u8]]) -> io::Result<()> {
    for part in parts {
        out.write_all(part)?;
    }
    out.write_all(b"\n")
}

fn write_lines(out: &mut dyn Write, sign: &[u8], lines: &[&[u8]]) -> io::Result<()> {
    for text in lines {
        out.write_all(sign)?;
        out.write_all(text)?;
        if !text.ends_with(b"\n") {
            out.write_all(b"\n\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}

/// The name of a file's object; zeros for none.
fn object(mode: Option<&str>, bytes: &[u8]) -> String {
    mode.map_or_else(|| "0".repeat(40), |_| sha1::blob(bytes))
}

/// The lines of a file with their ends.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The lines of a hunk: the first one and their number.
fn range(start: usize, end: usize) -> String {
    let count = end - start;
    // An empty range names the line before it.
    let first = if count == 0 { start } else { start + 1 };
    format!("{first},{count}")
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(SNIFFED).any(|byte| *byte == 0)
}

/// A path as git writes it: quoted if it has unusual bytes.
fn quoted(prefix: &str, path: &Path) -> Vec<u8> {
    let bytes = [prefix.as_bytes(), path.as_os_str().as_bytes()].concat();
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) && !b"\"\\".contains(byte);
    // A blank ends a name in some versions.
    if bytes.iter().all(|byte| is_plain(byte) && *byte != b' ') {
        return bytes;
    }
    let mut text = b"\"".to_vec();
    for byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            byte if is_plain(&byte) => text.push(byte),
            byte => text.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    text.push(b'"');
    text
}
