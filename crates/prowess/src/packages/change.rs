//! Carrying out a change in a terminal: showing it, asking, applying it and reporting what was done.

use prowess_library::packages::{
    ChangeGoal, ChangeReport, ChangeRequest, Decision, PackageManager, PreparedChange,
};
use prowess_package::name::SkillName;
use prowess_store::install::InstallStep;
use serde_json::{Value, json};

use super::sources::SourceSession;
use crate::commands::Outcome;
use crate::error::Error;
use crate::render::change_report::Report;
use crate::render::{change_text, placement_text, problem_text};
use crate::terminal::confirm::confirm;
use crate::terminal::printer::{Channel, Printer, inline, visible_lines};

/// How a change is carried out.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct ChangeOptions {
    /// Show it, and write nothing.
    pub(crate) dry_run: bool,
    /// Answer yes to all questions.
    pub(crate) yes: bool,
    /// Show the difference of the texts.
    pub(crate) diff: bool,
    /// Install the other skills of a source without the unavailable ones.
    pub(crate) skip_unavailable: bool,
}

/// Prepares a change, shows it, asks, applies it and reports it.
pub(crate) fn carry_out(
    packages: &PackageManager,
    request: &ChangeRequest,
    sources: &SourceSession,
    options: ChangeOptions,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let is_restore = matches!(request.goal, ChangeGoal::Restore);
    let done = packages.change(request, &sources.as_sources(), |change| {
        report.set_failures(&change.failures);
        if is_restore {
            report.put(json!({
                "unknown": change.unlisted.iter().map(SkillName::as_str).collect::<Vec<&str>>(),
            }));
        }
        Deciding { packages, options, report, printer }.decide(change)
    })?;
    match done {
        Some(done) => finish(&done, packages, report, printer),
        None => Ok(Outcome::Fine),
    }
}

/// A change that is shown to somebody who decides.
struct Deciding<'d> {
    packages: &'d PackageManager,
    options: ChangeOptions,
    report: &'d mut Report,
    printer: &'d mut Printer,
}

impl Deciding<'_> {
    fn decide(&mut self, change: &mut PreparedChange) -> Result<Decision, Error> {
        self.settle_unavailable(change)?;
        self.warn(change);
        self.report.put(change.to_json());
        let ChangeOptions { dry_run, yes, .. } = self.options;
        // Nobody is asked about something that was not shown, not even when the result is JSON.
        let is_asked = change.needs_consent() && !yes && !dry_run;
        if !change.is_empty() {
            self.show_steps(change, is_asked);
        }
        if self.options.diff {
            self.show_differences(change);
        }
        if dry_run {
            self.show_destinations(change)?;
        }
        if let Some(problem) = change.refusal() {
            return Err(problem.into());
        }
        change.check_destinations()?;
        if dry_run {
            self.end_dry_run(change);
            return Ok(Decision::Stop);
        }
        if !is_asked {
            return Ok(Decision::Apply);
        }
        match confirm("Install it? [y]es / [N]o: ", self.printer) {
            Some(true) => Ok(Decision::ApplyAsShown),
            Some(false) => Err(Error::refused("nothing was installed, because you did not agree")),
            None => {
                let error = Error::refused("confirmation is needed, but this is not a terminal")
                    .hint("read the questions with `--dry-run`, then agree with `--yes`");
                let differs = change.plan.steps.iter().any(|step| {
                    step.difference.as_ref().is_some_and(|difference| !difference.files.is_empty())
                });
                Err(if differs && !self.options.diff {
                    error.hint("`--diff` prints how the texts differ from what is installed")
                } else {
                    error
                })
            }
        }
    }

    /// If some of several skills are unavailable, shows all of them and asks whether to install the others.
    fn settle_unavailable(&mut self, change: &mut PreparedChange) -> Result<(), Error> {
        let plan = &mut change.plan;
        if plan.unavailable.is_empty() {
            return Ok(());
        }
        let others = plan.steps.len() + plan.unchanged.len();
        if self.options.skip_unavailable && others > 0 {
            plan.skip_unavailable();
            return Ok(());
        }
        let page = change_text::unavailable(&plan.unavailable, self.printer.width(Channel::Err));
        self.printer.talk_report(|_| page);
        let name =
            |skill: &prowess_store::install::UnavailableSkill| format!("`{}`", inline(&skill.name));
        let names: Vec<String> = plan.unavailable.iter().map(name).collect();
        self.report.put(change.to_json());
        let message = format!(
            "{} of {} skills can't be installed: {}",
            names.len(),
            names.len() + others,
            names.join(", ")
        );
        if others == 0 {
            return Err(Error::failed(message));
        }
        if !self.options.dry_run && self.report.is_text() {
            let question = format!("Install the other {others} without them? [y]es / [N]o: ");
            match confirm(&question, self.printer) {
                Some(true) => {
                    change.plan.skip_unavailable();
                    return Ok(());
                }
                Some(false) => {
                    let message = "nothing was installed, because you did not agree";
                    return Err(Error::refused(message));
                }
                None => {}
            }
        }
        Err(Error::failed(message).hint(format!("`--skip-broken` installs the other {others}")))
    }

    fn warn(&mut self, change: &PreparedChange) {
        for note in &change.notes {
            let hints = problem_text::hints(&note.remedies);
            let parts: Vec<&str> = [note.message.as_str()]
                .into_iter()
                .chain(hints.iter().map(String::as_str))
                .collect();
            self.printer.warning(&inline(&parts.join("; ")));
        }
        for note in &change.plan.notes {
            self.printer.warning(note);
        }
        for name in &change.unlisted {
            self.printer.warning(&format!("`{name}` is installed but not in the lock file"));
        }
    }

    fn show_steps(&mut self, change: &PreparedChange, is_asked: bool) {
        let ChangeOptions { dry_run, .. } = self.options;
        let plan = &change.plan;
        let is_told = self.report.is_text()
            && (dry_run || change.needs_consent() || !self.printer.is_quiet());
        if !is_asked && !is_told {
            return;
        }
        let width = self.printer.width(Channel::Err);
        // A restored skill without questions was reviewed when it was installed.
        let is_news = |step: &&InstallStep| dry_run || !step.is_restored || !step.review.is_clear();
        let page: String = plan
            .steps
            .iter()
            .filter(is_news)
            .map(|step| change_text::step(step, plan.keeps_files(step), width))
            .collect();
        self.printer.talk_report(|_| page);
    }

    fn show_differences(&mut self, change: &PreparedChange) {
        let differences = change.text_differences();
        if self.report.is_text() {
            for (_, difference) in &differences {
                self.printer.report(&visible_lines(difference));
            }
        }
        let wire: serde_json::Map<String, Value> = differences
            .into_iter()
            .map(|(name, difference)| (name.to_string(), difference.into()))
            .collect();
        self.report.put(json!({ "diff": wire }));
    }

    fn show_destinations(&mut self, change: &PreparedChange) -> Result<(), Error> {
        let destinations = change.destinations()?;
        let wire: Vec<Value> = destinations.iter().map(placement_text::destination_json).collect();
        self.report.put(json!({ "destinations": wire }));
        if self.report.is_text() {
            for destination in &destinations {
                let places = self.packages.places();
                self.printer.say(&placement_text::destination(destination, places));
            }
        }
        Ok(())
    }

    fn end_dry_run(&mut self, change: &PreparedChange) {
        if !self.report.is_text() {
            return;
        }
        if change.is_empty() && !self.report.has_failures() {
            self.printer.say("already up to date");
        }
        for line in change_text::newer(&change.plan) {
            self.printer.note(&line);
        }
        if !change.is_empty() {
            self.printer.note("nothing was written");
        }
    }
}

/// Reports a change that was applied.
fn finish(
    done: &ChangeReport,
    packages: &PackageManager,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    printer.stands("what was installed stays");
    report.set_names(done.change.names());
    let plan = &done.change.plan;
    for note in &done.notes {
        printer.warning(note);
    }
    report.put(done.to_json());
    if report.is_text() {
        if done.installed.is_empty() && !report.has_failures() {
            printer.say("already up to date");
        }
        for change in &done.installed {
            printer.say(&change_text::installed(change));
        }
        for line in plan.steps.iter().filter_map(|step| change_text::new_range(step, plan)) {
            printer.say(&line);
        }
        placement_text::say(&done.placed, packages.places(), printer);
        for line in change_text::newer(plan) {
            printer.note(&line);
        }
    }
    for recipe in plan.steps.iter().filter_map(change_text::recipes) {
        printer.note(&recipe);
    }
    placement_text::finish(&done.placed, packages.places(), printer)?;
    Ok(Outcome::Fine)
}
