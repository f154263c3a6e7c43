//! `prowess explain`: prints the page of a rule.

use std::fmt::Write as _;

use clap::Args;
use prowess_engine::workflow;
use prowess_format::diagnostic::Rule;
use prowess_format::rules;
use prowess_format::text::closest;
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::options::Format;
use crate::terminal::printer::Printer;

/// Explain what a finding means and what to do about it
///
/// Prints the page of one rule: what it checks, why that is a problem, and an
/// example. The code is the word in square brackets in the output of
/// `prowess check`. Without a code, all rules are listed with a summary.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess explain name-directory-mismatch
  prowess explain | grep permission")]
pub(crate) struct Arguments {
    /// The code of a rule, such as `invalid-name`
    code: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let Some(code) = &arguments.code else {
        match arguments.format {
            Format::Text => printer.report(&list()),
            Format::Json => {
                printer.json(&json!({ "rules": all_rules().map(wire).collect::<Vec<Value>>() }));
            }
        }
        return Ok(Outcome::Fine);
    };
    let Some(rule) = all_rules().find(|rule| rule.name == code) else {
        let known = all_rules().map(|rule| rule.name);
        let error = Error::not_found(format!("there is no rule `{code}`"));
        return Err(match closest(code, known) {
            Some(similar) => error.hint(format!("did you mean `{similar}`?")),
            None => error.hint("`prowess explain` lists all rules"),
        });
    };
    match arguments.format {
        Format::Text => printer.report(&page(rule)),
        Format::Json => {
            let mut value = wire(rule);
            value["page"] = text(rule).into();
            printer.json(&value);
        }
    }
    Ok(Outcome::Fine)
}

/// The rules about skills, about workflows, and of the scanner.
pub(crate) fn all_rules() -> impl Iterator<Item = &'static Rule> {
    let scan = prowess_scan::RULES.iter().map(|rule| &rule.rule);
    rules::ALL.iter().chain(workflow::RULES).copied().chain(scan)
}

fn wire(rule: &Rule) -> Value {
    json!({
        "code": rule.name,
        "severity": rule.severity.as_str(),
        "strict": rule.strict.as_str(),
        "since": rule.since,
        "summary": rule.summary(),
    })
}

/// The page with its title.
pub(crate) fn page(rule: &Rule) -> String {
    format!("# {}\n\n{}\n\n{}\n", rule.name, severities(rule), text(rule))
}

/// The page as Markdown, with the sections of the specifications that the rule enforces.
pub(crate) fn text(rule: &Rule) -> String {
    // The lines come from a doc comment and keep the space after the slashes.
    let lines: Vec<&str> =
        rule.page.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let mut page = lines.join("\n").trim().to_owned();
    if !rule.sections.is_empty() {
        page.push_str("\n\n## Specification\n");
        let sections = rule.sections.iter().map(|section| format!("- {}", section.link()));
        page.push_str(&sections.collect::<Vec<_>>().join("\n"));
    }
    page
}

fn severities(rule: &Rule) -> String {
    if let Some(rule) = prowess_scan::rule_by_name(rule.name) {
        let (severity, category) = (rule.severity, rule.category.as_str());
        return format!(
            "A rule of `prowess scan`. Severity: {severity}. Category: {category}. Since {}.",
            rule.rule.since
        );
    }
    let severity = rule.severity.as_str();
    let strict = rule.strict.as_str();
    if severity == strict {
        format!("Severity: {severity}. Since {}.", rule.since)
    } else {
        format!("Severity: {severity}; {strict} with `--strict`. Since {}.", rule.since)
    }
}

fn list() -> String {
    let width = all_rules().map(|rule| rule.name.len()).max().unwrap_or_default();
    all_rules().fold(String::new(), |mut list, rule| {
        let _ = writeln!(list, "{:width$}  {}", rule.name, rule.summary());
        list
    })
}
