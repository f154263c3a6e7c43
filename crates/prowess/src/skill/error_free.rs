//! Skills for verbs that need one without errors, such as `convert`.

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

/// Checks a file and passes it to `make`; if it has errors, they are printed and it is refused.
///
/// `done` is what the verb does with a skill, such as "converted".
pub(crate) fn with_checked<T>(
    loaded: &Loaded,
    dialect: Option<&'static Dialect>,
    done: &str,
    printer: &mut Printer,
    make: impl FnOnce(&Checked<'_>) -> T,
) -> Result<T, Error> {
    with_all_checked(std::slice::from_ref(loaded), dialect, done, printer, |checked| {
        make(&checked[0])
    })
}

/// Checks files that belong together and passes them to `make`; one with errors stops them all.
pub(crate) fn with_all_checked<T>(
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
        // The result gets a folder of its own, so the name of this one does not matter.
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
