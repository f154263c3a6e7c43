//! A skill that a verb makes something of: it is read, and refused when it has errors.

use std::borrow::Cow;

use prowess_engine::DirectoryFiles;
use prowess_format::diagnostic::Severity;
use prowess_format::dialect::Dialect;
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::{Checked, ReadOptions, check_bytes};

use crate::error::Error;
use crate::skill::check_report;
use crate::skill::skill_ref::Loaded;
use crate::terminal::printer::Printer;

/// Reads a file and hands it on, unless it has errors; then they are printed. `done` is what the verb does with a
/// skill, such as "converted".
pub(crate) fn sound<T>(
    loaded: &Loaded,
    dialect: Option<&'static Dialect>,
    done: &str,
    printer: &mut Printer,
    make: impl FnOnce(&Checked<'_>) -> T,
) -> Result<T, Error> {
    all_sound(std::slice::from_ref(loaded), dialect, done, printer, |checked| make(&checked[0]))
}

/// The same for files that belong together: one with errors stops them all.
pub(crate) fn all_sound<T>(
    loaded: &[Loaded],
    dialect: Option<&'static Dialect>,
    done: &str,
    printer: &mut Printer,
    make: impl FnOnce(Vec<Checked<'_>>) -> T,
) -> Result<T, Error> {
    let files: Vec<Option<DirectoryFiles<'_>>> =
        loaded.iter().map(|loaded| loaded.directory.as_deref().map(DirectoryFiles::new)).collect();
    let mut texts: Vec<Cow<'_, str>> = loaded.iter().map(|_| Cow::Borrowed("")).collect();
    let mut checked = Vec::with_capacity(loaded.len());
    for ((loaded, files), text) in loaded.iter().zip(&files).zip(&mut texts) {
        // The result gets a directory of its own, so it does not matter what this one is called.
        let place = SkillLocation {
            directory: None,
            files: files.as_ref().map(|files| files as &dyn SkillFiles),
        };
        let read =
            check_bytes(&loaded.bytes, text, ReadOptions { form: loaded.form, dialect, place });
        if read.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            check_report::print_problems(loaded, dialect, printer);
            return Err(Error::failed(format!("`{}` has errors and was not {done}", loaded.shown))
                .hint("correct them first, or try `prowess check --fix`"));
        }
        checked.push(read);
    }
    Ok(make(checked))
}
