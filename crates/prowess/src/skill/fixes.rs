//! Applies fixes to a file without changing any other byte.

use std::fs;
use std::path::Path;

use prowess_files::atomic;
use prowess_format::ReadOptions;
use prowess_format::diagnostic::{Diagnostic, FixSafety};
use prowess_format::dialect::Dialect;
use prowess_format::document::Document;
use prowess_format::document::Form;
use prowess_format::fix::{self, FixedText};
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::suppress;
use prowess_library::PackagedFiles;

use crate::error::Error;
use crate::skill::check_report::Source;
use crate::skill::skill_ref;
use crate::skill::skill_writer;

/// Applies the fixes that are at least as safe as `least` and writes the file; `None` if there are none.
pub(crate) fn fix(
    source: &Source<'_>,
    dialect: Option<&'static Dialect>,
    least: FixSafety,
) -> Result<Option<FixedText>, Error> {
    // Text that is not UTF-8 was read with replacement characters: writing it back would lose bytes.
    let Ok(original) = std::str::from_utf8(source.bytes) else { return Ok(None) };
    let files = source.directory.map(PackagedFiles::new);
    let directory_name = source.directory_name();
    let place = SkillLocation {
        directory: directory_name.as_deref(),
        files: files.as_ref().map(|files| files as &dyn SkillFiles),
    };
    let allowed = if source.form == Form::Markdown {
        suppress::allowed(&Document::markdown(original, &mut Default::default())).rules
    } else {
        Vec::new()
    };
    let is_disabled =
        |found: &Diagnostic| source.disabled.contains(&found.rule) || allowed.contains(&found.rule);
    let options = ReadOptions { form: source.form, dialect, place };
    let Some(fixed) = fix::fix(original, options, least, &is_disabled) else { return Ok(None) };
    let is_link = fs::symlink_metadata(source.path).is_ok_and(|data| data.file_type().is_symlink());
    if is_link {
        let shown = skill_ref::shown(source.path);
        return Err(Error::failed(format!("`{shown}` is a symbolic link, so it was not fixed"))
            .hint("run `prowess check --fix` on the file that it points to"));
    }
    replace(source.path, fixed.text.as_bytes())?;
    Ok(Some(fixed))
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
