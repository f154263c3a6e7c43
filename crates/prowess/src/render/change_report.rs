//! The report of a verb that changes a store: lines for people, or one JSON object that also says what failed.

use std::collections::BTreeSet;

use prowess_library::packages::SkillFailure;
use prowess_package::name::SkillName;
use serde_json::{Map, Value, json};

use crate::commands::Outcome;
use crate::error::{Error, ErrorKind};
use crate::packages::options::Format;
use crate::terminal::printer::Printer;
use crate::terminal::signals;

/// The report of a change, successful or not.
pub(crate) struct Report {
    /// The format.
    pub(crate) format: Format,
    object: Map<String, Value>,
    failures: Vec<(String, Error)>,
    names: BTreeSet<SkillName>,
}

/// Changes a store and reports the result; as JSON, one object in every case. `before` is the object when nothing was
/// done.
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
        Self { format, object: Map::new(), failures: Vec::new(), names: BTreeSet::new() }
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

    /// Remembers the skills that the change is about.
    pub(crate) fn set_names(&mut self, names: BTreeSet<SkillName>) {
        self.names = names;
    }

    /// The skills that are installed after the change.
    pub(crate) fn names(&self) -> BTreeSet<SkillName> {
        self.names.clone()
    }

    /// Replaces the skills that failed while others did not.
    pub(crate) fn set_failures(&mut self, failures: &[SkillFailure]) {
        let failure =
            |failure: &SkillFailure| (failure.name.clone(), Error::from(failure.problem.clone()));
        self.failures = failures.iter().map(failure).collect();
    }

    /// Whether a skill failed.
    pub(crate) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
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
