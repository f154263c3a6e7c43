//! Applies safe fixes to a file and leaves every other byte alone.

use std::fs;
use std::path::Path;

use prowess_engine::DirectoryFiles;
use prowess_files::whole;
use prowess_format::diagnostic::{Diagnostic, Edit, Safety, Severity, apply_edits};
use prowess_format::dialect::Dialect;
use prowess_format::document::Form;
use prowess_format::manifest;
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::{ReadOptions, check};

use crate::error::Error;
use crate::skill::check_report::Source;
use crate::skill::skill_ref;
use crate::skill::skill_writer;

/// A fix may uncover another; this often the file is looked at again.
const ROUNDS: usize = 8;

/// A file after its fixes.
pub(crate) struct Fixed {
    /// How many problems were fixed.
    pub(crate) problems: usize,
    /// What the file holds now.
    pub(crate) text: String,
}

/// Applies what is safe and writes the file; `None` when there was nothing to do.
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
    let look = |text: &str| match source.form {
        Form::Yaml => manifest::check(text).diagnostics,
        form => check(text, ReadOptions { form, dialect, place }).diagnostics,
    };
    let mut text = original.to_owned();
    let mut problems = 0;
    let mut found = look(&text);
    for _ in 0..ROUNDS {
        let (edits, count) = choose(&found);
        if count == 0 {
            break;
        }
        let candidate = apply_edits(&text, &edits);
        let after = look(&candidate);
        // A fix that makes things worse is a mistake of ours, and the author keeps the file.
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

/// The edits of safe fixes, each fix whole or not at all: a fix that touches another waits for the next round.
fn choose(diagnostics: &[Diagnostic]) -> (Vec<Edit>, usize) {
    let mut chosen: Vec<Edit> = Vec::new();
    let mut count = 0;
    for diagnostic in diagnostics {
        let Some(fix) = diagnostic.fix.as_ref().filter(|fix| fix.safety == Safety::Safe) else {
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

/// Replaces a file's content at one stroke, its permissions kept: readers see the old text or the new, never half of one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |source: std::io::Error| Error::io("write", path, &source);
    let permissions = fs::metadata(path).map_err(failed)?.permissions();
    if permissions.readonly() {
        let shown = skill_ref::shown(path);
        return Err(Error::failed(format!("cannot write `{shown}`: it is read-only"))
            .hint(format!("make it writable with `chmod u+w {shown}`")));
    }
    whole::write(path, bytes, skill_writer::ORDINARY).map_err(failed)
}
