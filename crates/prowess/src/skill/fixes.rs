//! Applies safe fixes to a file without changing any other byte.

use std::fs;
use std::path::Path;

use prowess_engine::DirectoryFiles;
use prowess_files::atomic;
use prowess_format::diagnostic::{Diagnostic, Edit, FixSafety, Severity, apply_edits};
use prowess_format::dialect::Dialect;
use prowess_format::document::Form;
use prowess_format::manifest;
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::{ReadOptions, check};

use crate::error::Error;
use crate::skill::check_report::Source;
use crate::skill::skill_ref;
use crate::skill::skill_writer;

/// The most rounds of fixes: one fix may uncover another problem.
const ROUNDS: usize = 8;

/// A file after its fixes.
pub(crate) struct Fixed {
    /// How many problems were fixed.
    pub(crate) problems: usize,
    /// The new content of the file.
    pub(crate) text: String,
}

/// Applies the safe fixes and writes the file; `None` if there are none.
pub(crate) fn fix(
    source: &Source<'_>,
    dialect: Option<&'static Dialect>,
) -> Result<Option<Fixed>, Error> {
    // Text that is not UTF-8 was read with replacement characters: writing it back would lose bytes.
    let Ok(original) = std::str::from_utf8(source.bytes) else { return Ok(None) };
    let files = source.directory.map(DirectoryFiles::new);
    let directory_name = source.directory_name();
    let place = SkillLocation {
        directory: directory_name.as_deref(),
        files: files.as_ref().map(|files| files as &dyn SkillFiles),
    };
    let check_text = |text: &str| match source.form {
        Form::Yaml => manifest::check(text).diagnostics,
        form => check(text, ReadOptions { form, dialect, place }).diagnostics,
    };
    let mut text = original.to_owned();
    let mut problems = 0;
    let mut found = check_text(&text);
    for _ in 0..ROUNDS {
        let (edits, count) = choose(&found);
        if count == 0 {
            break;
        }
        let candidate = apply_edits(&text, &edits);
        let after = check_text(&candidate);
        // A fix that adds errors is a bug of ours; the file stays as it is.
        if candidate == text || errors(&after) > errors(&found) {
            break;
        }
        text = candidate;
        found = after;
        problems += count;
    }
    if problems == 0 {
        return Ok(None);
    }
    let is_link = fs::symlink_metadata(source.path).is_ok_and(|data| data.file_type().is_symlink());
    if is_link {
        let shown = skill_ref::shown(source.path);
        return Err(Error::failed(format!("`{shown}` is a symbolic link, so it was not fixed"))
            .hint("run `prowess check --fix` on the file that it points to"));
    }
    replace(source.path, text.as_bytes())?;
    Ok(Some(Fixed { problems, text }))
}

fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}

/// The edits of the safe fixes that don't overlap; a fix that overlaps another waits for the next round.
fn choose(diagnostics: &[Diagnostic]) -> (Vec<Edit>, usize) {
    let mut chosen: Vec<Edit> = Vec::new();
    let mut count = 0;
    for diagnostic in diagnostics {
        let Some(fix) = diagnostic.fix.as_ref().filter(|fix| fix.safety == FixSafety::Safe) else {
            continue;
        };
        if diagnostic.file.is_some() {
            continue;
        }
        let touches = |edit: &Edit| {
            chosen
                .iter()
                .any(|other| edit.span.start <= other.span.end && other.span.start <= edit.span.end)
        };
        if fix.edits.iter().all(|edit| chosen.contains(edit)) {
            count += 1;
        } else if !fix.edits.iter().any(touches) {
            chosen.extend(fix.edits.iter().cloned());
            count += 1;
        }
    }
    (chosen, count)
}

/// Replaces a file's content atomically and keeps its permissions.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source: std::io::Error| Error::io("write", path, &source);
    let permissions = fs::metadata(path).map_err(failed)?.permissions();
    if permissions.readonly() {
        let shown = skill_ref::shown(path);
        return Err(Error::failed(format!("cannot write `{shown}`: it is read-only"))
            .hint(format!("make it writable with `chmod u+w {shown}`")));
    }
    atomic::write(path, bytes, skill_writer::ORDINARY).map_err(failed)
}
