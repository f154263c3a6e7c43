//! The changes of a run that has ended: reviewed, accepted or left to wait, and written as a patch.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use prowess_core::{
    ChangeDecision, ChangedFile, ChangesState, Envelope, Problem, RunChanges, RunOutcome,
};
use prowess_engine::World;
use prowess_engine::changes::{self, AcceptPattern, ChangesError};

use crate::error::Error;
use crate::render::changes_text;
use crate::run::change_options::ChangeOptions;
use crate::run::tool_run::ask_about_changes;
use crate::terminal::confirm;
use crate::terminal::printer::Printer;

/// How a run was asked for.
pub(crate) struct ChangeRequest<'r> {
    pub(crate) options: &'r ChangeOptions,
    pub(crate) accept: Vec<AcceptPattern>,
    /// Whether the patterns are remembered for the skill.
    pub(crate) remember: bool,
    pub(crate) world: &'r World,
}

/// Parses the patterns of `--accept`.
pub(crate) fn patterns(texts: &[String], world: &World) -> Result<Vec<AcceptPattern>, Error> {
    let parse = |text: &String| AcceptPattern::parse(text, &world.current);
    let patterns: Result<_, _> = texts.iter().map(parse).collect();
    patterns.map_err(|error| {
        Error::usage(format!("invalid `--accept`: {error}"))
            .hint("write a path or a pattern, such as `.npmrc` or `.vscode/**`")
    })
}

/// The folder that paths in patches are relative to: the root of the repository around the current folder.
pub(crate) fn patch_folder(world: &World) -> &Path {
    if world.falls_back_to_home() { &world.current } else { &world.working_directory }
}

impl ChangeRequest<'_> {
    /// Decides about the changes of a run, and puts what became of them into its result.
    pub(crate) fn settle(
        &self,
        envelope: &mut Envelope,
        printer: &mut Printer,
    ) -> Result<(), Error> {
        let Some(run) = envelope.changes.as_deref().cloned() else { return Ok(()) };
        if run.state == ChangesState::Pending && !self.options.is_dry_run() {
            self.decide(&run, envelope, printer)?;
        }
        if let Some(path) = self.options.patch() {
            self.write_patch(&run, path)?;
        }
        Ok(())
    }

    fn decide(
        &self,
        run: &RunChanges,
        envelope: &mut Envelope,
        printer: &mut Printer,
    ) -> Result<(), Error> {
        // Changes of a tool that failed wait, unless they were asked for.
        let is_asked_for = envelope.outcome == RunOutcome::Refused
            || (self.options.is_review() && envelope.is_success());
        let is_final = |file: &ChangedFile| {
            matches!(file.decision, ChangeDecision::Refuse | ChangeDecision::Conflict)
        };
        if let Some(file) = run.changes.iter().find(|file| is_final(file)) {
            let is_conflict = file.decision == ChangeDecision::Conflict;
            if is_conflict && envelope.is_success() {
                (envelope.outcome, envelope.exit_code) = (RunOutcome::Failed, 1);
                envelope.error = Some(changes_text::not_applied(file));
            }
            changes::refuse(envelope, changes_text::not_applied(file));
            return Ok(());
        }
        if !is_asked_for {
            return Ok(());
        }
        let open: Vec<&ChangedFile> = run
            .changes
            .iter()
            .filter(|file| file.decision == ChangeDecision::Ask && !self.accepts(&file.path))
            .collect();
        let is_approved = if self.options.is_review() {
            // `--yes` approves the run. Who asks for a review wants to see what it has changed.
            run.changes.is_empty() || self.review(run, &open, printer)?
        } else {
            open.is_empty() || ask(&open, run, printer)
        };
        if !is_approved {
            let message = match open.first() {
                Some(file) => changes_text::not_applied(file),
                None => "its changes were not approved".to_owned(),
            };
            changes::refuse(envelope, message);
            return Ok(());
        }
        // Asked about or in the patterns.
        match changes::accept(&self.world.state, envelope, &|_| true) {
            Ok(()) => {}
            Err(ChangesError::Apply(error)) => {
                changes::refuse(envelope, format!("its changes were not applied: {error}"));
                envelope.outcome = RunOutcome::Failed;
                envelope.exit_code = 1;
                return Ok(());
            }
            Err(error) => return Err(failed(error)),
        }
        if self.remember && !self.accept.is_empty() {
            changes::remember(&self.world.state, &run.run, &self.accept).map_err(failed)?;
        }
        Ok(())
    }

    fn accepts(&self, path: &Path) -> bool {
        self.accept.iter().any(|pattern| pattern.covers(path))
    }

    /// Shows everything and asks.
    fn review(
        &self,
        run: &RunChanges,
        open: &[&ChangedFile],
        printer: &mut Printer,
    ) -> Result<bool, Error> {
        if !confirm::can_ask(printer) {
            return Ok(false);
        }
        let diff = patch_text(self.world, &run.run)?;
        printer.talk_report(|colour| changes_text::diff(&diff, colour));
        printer.talk_report(|_| changes_text::list(&run.changes));
        let question = match open.len() {
            0 => "Apply these changes? [y]es / [N]o: ",
            _ => "Apply all of these changes, also those marked with `?`? [y]es / [N]o: ",
        };
        Ok(ask_about_changes(|| confirm::confirm(question, printer)))
    }

    fn write_patch(&self, run: &RunChanges, path: &Path) -> Result<(), Error> {
        let path: PathBuf = self.world.current.join(path);
        let write = || -> Result<(), ChangesError> {
            let mut out = BufWriter::new(File::create(&path)?);
            if run.state != ChangesState::None {
                let folder = patch_folder(self.world);
                changes::write_patch(&self.world.state, &run.run, folder, &mut out)?;
            }
            Ok(out.flush()?)
        };
        write().map_err(|error| match error {
            ChangesError::Io(source) => Error::io("write", &path, &source),
            error => failed(error),
        })
    }
}

/// Shows what needs a decision and asks.
fn ask(open: &[&ChangedFile], run: &RunChanges, printer: &mut Printer) -> bool {
    if !confirm::can_ask(printer) {
        return false;
    }
    let open: Vec<ChangedFile> = open.iter().map(|file| (*file).clone()).collect();
    printer.talk_report(|_| changes_text::list(&open));
    let question = match run.changes.len() - open.len() {
        0 => "Apply these changes? [y]es / [N]o: ".to_owned(),
        others => format!("Apply these changes and {others} ordinary ones? [y]es / [N]o: "),
    };
    ask_about_changes(|| confirm::confirm(&question, printer))
}

/// The changes of a run as a patch, as far as it is text.
fn patch_text(world: &World, run: &str) -> Result<String, Error> {
    let mut bytes = Vec::new();
    changes::write_patch(&world.state, run, patch_folder(world), &mut bytes).map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn failed(error: ChangesError) -> Error {
    Problem::from(error).into()
}
