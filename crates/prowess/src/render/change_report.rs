//! What a verb that changes a store tells: lines for people, or one object for programs that also says what went wrong.

use prowess_store::install::InstallError;
use prowess_store::source::{SourceError, SourceErrorKind};
use serde_json::{Map, Value, json};

use crate::commands::Outcome;
use crate::commands::install::Format;
use crate::error::{Error, ErrorKind};
use crate::store::packages::install_failed;
use crate::terminal::printer::{Printer, inline};
use crate::terminal::signals;

/// What there is to tell of a change, whether it worked or not.
pub(crate) struct Report {
    /// For whom.
    pub(crate) format: Format,
    object: Map<String, Value>,
    failures: Vec<(String, Error)>,
}

/// Does something that changes a store, and tells what became of it, to programs in one object whether it worked or not.
/// `before` is what the object says when nothing was done.
pub(crate) fn changing(
    format: Format,
    before: Value,
    printer: &mut Printer,
    work: impl FnOnce(&mut Report, &mut Printer) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    signals::listen(printer);
    let mut report = Report::new(format, printer);
    report.put(before);
    let result = work(&mut report, printer);
    report.finish(result, printer)
}

impl Report {
    /// A report for people or for programs.
    pub(crate) fn new(format: Format, printer: &mut Printer) -> Self {
        if format == Format::Json {
            printer.keep_warnings();
        }
        Self { format, object: Map::new(), failures: Vec::new() }
    }

    /// Whether people read it.
    pub(crate) fn is_text(&self) -> bool {
        self.format == Format::Text
    }

    /// Fields of the object.
    pub(crate) fn put(&mut self, fields: Value) {
        if let Value::Object(fields) = fields {
            self.object.extend(fields);
        }
    }

    /// A skill that could not be had, while others can. `done` is what was not done with it, such as "updated".
    pub(crate) fn fail(&mut self, name: &str, done: &str, error: &InstallError) {
        let told = install_failed(error);
        let already_named = told.message.starts_with(&format!("`{name}` "));
        let message = match error {
            InstallError::Refused { reason, .. } => {
                format!("`{}` was not {done}: {reason}", inline(name))
            }
            _ if already_named => told.message.clone(),
            _ => format!("`{}` was not {done}: {}", inline(name), told.message),
        };
        let kind = match told.kind {
            ErrorKind::Refused => ErrorKind::Refused,
            _ => ErrorKind::Failed,
        };
        let failed = Error { kind, message, ..Error::failed("") };
        let failed = match error {
            // What helps against a typing error does not help here: nobody has typed this place.
            InstallError::Source(SourceError {
                kind: SourceErrorKind::NotFound | SourceErrorKind::Unreachable,
                ..
            }) => failed.hint(if done == "imported" {
                "install it by hand, from where it is published".to_owned()
            } else {
                format!(
                    "`prowess remove {name}` if it is gone for good, or install it from elsewhere"
                )
            }),
            _ => told.hints.into_iter().fold(failed, Error::hint),
        };
        self.failures.push((name.to_owned(), failed));
    }

    /// Whether something could not be had.
    pub(crate) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Everything is looked at anew.
    pub(crate) fn forget_failures(&mut self) {
        self.failures.clear();
    }

    /// Ends the report. Failures of single skills come last, where they are seen, and decide about the exit code.
    pub(crate) fn finish(
        mut self,
        result: Result<Outcome, Error>,
        printer: &mut Printer,
    ) -> Result<Outcome, Error> {
        let mut errors: Vec<Error> = Vec::new();
        let listed: Vec<Value> = self
            .failures
            .iter()
            .map(|(name, error)| {
                let mut failure = wire(error);
                failure["name"] = name.as_str().into();
                failure
            })
            .collect();
        errors.extend(self.failures.drain(..).map(|(_, error)| error));
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error) => {
                self.object.insert("error".to_owned(), wire(&error));
                errors.push(error);
                Outcome::Fine
            }
        };
        if self.format == Format::Json {
            self.object.insert("failures".to_owned(), listed.into());
            self.object.insert("warnings".to_owned(), json!(printer.kept_warnings()));
            printer.json(&Value::Object(self.object));
        }
        let is_refused = errors.iter().any(|error| error.kind == ErrorKind::Refused);
        let Some(mut last) = errors.pop() else { return Ok(outcome) };
        for error in &errors {
            printer.error(error);
        }
        if is_refused {
            last.kind = ErrorKind::Refused;
        }
        Err(last)
    }
}

/// A failure for programs.
fn wire(error: &Error) -> Value {
    json!({
        "message": error.message,
        "hints": error.hints,
        "exit_code": error.kind.exit_code(),
    })
}
