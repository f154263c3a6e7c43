//! Explains a decision in plain words, line by line (`prowess policy REF`).

use std::fmt::{self, Write as _};

use prowess_format::permission::{Domain, Level};
use prowess_format::text::visible;

use crate::approval::date;
use crate::decision::{AllowReason, ApprovalQuestion, Case, Decision, Frequency};
use crate::grant::{Grant, GrantScope, GrantSource};
use crate::request::RunFolders;
use crate::scope::{HostScope, PathPattern};
use crate::spec::SandboxSpec;
use crate::trust::Origin;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// Whether it runs.
    Verdict,
    /// How far it is trusted.
    Trust,
    /// Its location and working directory.
    Place,
    /// Something it may do.
    May,
    /// Something it may not do.
    MayNot,
    /// Why the user is asked.
    Asks,
    /// Why it does not run.
    Refused,
    /// What applies on this machine.
    Note,
    /// How much it may use.
    Limit,
}

/// One line of an explanation: safe for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The kind of line.
    pub kind: LineKind,
    /// The text.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The effect of a grant on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantEffect {
    /// It is available completely.
    AsGranted,
    /// A part of it is not available, for this reason.
    Partly(String),
    /// It is available for reading only, for this reason.
    ReadOnly(String),
    /// It is not available, for this reason.
    Never(String),
}

/// Explains a decision.
pub fn explain(decision: &Decision) -> Vec<Line> {
    explain_with_effects(decision, &|_| GrantEffect::AsGranted)
}

/// Explains a decision on a machine that can't provide all grants completely, so that the user
/// does not approve something that won't happen.
pub fn explain_with_effects(
    decision: &Decision,
    effect_of: &dyn Fn(&Grant) -> GrantEffect,
) -> Vec<Line> {
    let case = decision.case();
    let mut lines = vec![line(LineKind::Verdict, verdict(decision)), trust_line(case)];
    if let Decision::Deny(denied) = decision {
        // Listing what it could do would only distract from the reason for the denial.
        let reasons = denied.reasons.iter().map(|reason| format!("refused, because {reason}"));
        lines.extend(reasons.map(|text| line(LineKind::Refused, text)));
        return lines;
    }
    lines.extend(folder_lines(case));
    lines.extend(grouped(case, effect_of));
    lines.extend(may_not(&case.grants).map(|text| line(LineKind::MayNot, text.to_owned())));
    lines.push(line(LineKind::Limit, limits(&case.spec)));
    if let Decision::Ask(question) = decision {
        lines.extend(asks(question));
    }
    lines
}

fn line(kind: LineKind, text: String) -> Line {
    Line { kind, text }
}

fn verdict(decision: &Decision) -> String {
    let case = decision.case();
    let name = format!("{}/{}", case.request.skill, case.request.tool);
    let name = visible(&name).into_owned();
    match decision {
        Decision::Allow(allowed) => match allowed.by {
            AllowReason::NothingToAsk => format!("`{name}` runs without asking"),
            AllowReason::Approved { .. } => format!("`{name}` runs, because you have approved it"),
            AllowReason::Answered => format!("`{name}` runs, because you approved it now"),
            AllowReason::InAdvance => format!("`{name}` runs, because it was approved in advance"),
        },
        Decision::Ask(question) if question.can_be_remembered() => {
            format!("`{name}` asks before it runs")
        }
        Decision::Ask(_) => format!("`{name}` asks before every run"),
        Decision::Deny(_) => format!("`{name}` does not run"),
    }
}

fn trust_line(case: &Case) -> Line {
    let origin = match case.trust.origin() {
        Origin::Bundled => "it is bundled with prowess",
        Origin::Local => "it is a local file",
        Origin::Downloaded if case.trust.is_signed() => "it was downloaded and is signed",
        Origin::Downloaded => "it was downloaded and is not signed",
    };
    let mut text = format!("tier {}: {origin}", case.tier);
    if let Some(claimed) = case.trust.claimed().filter(|claimed| *claimed > case.tier) {
        let _ = write!(text, "; its claim to be {claimed} is ignored");
    }
    if let Some(badge) = case.trust.badge() {
        let _ = write!(text, "; the registry calls it {}", badge.as_str());
    }
    line(LineKind::Trust, text)
}

/// Shows the folders of a request: without them an approval can't be judged, because `./` is
/// different in every project.
fn folder_lines(case: &Case) -> Vec<Line> {
    let Some(RunFolders { skill, project }) = &case.request.folders else { return Vec::new() };
    let home = if case.request.in_home { ", which is your home" } else { "" };
    vec![
        line(LineKind::Place, format!("the skill is {}", visible(skill))),
        line(LineKind::Place, format!("the working directory is {}{home}", visible(project))),
    ]
}

/// Groups grants that allow the same into one line with the first of their sources. The reason why
/// a grant is not completely available follows it, once.
fn grouped(case: &Case, effect_of: &dyn Fn(&Grant) -> GrantEffect) -> Vec<Line> {
    let mut known: Vec<String> = Vec::new();
    let (mut may, mut closed) = (Vec::new(), Vec::new());
    for grant in &case.grants {
        let words = words(grant);
        if known.contains(&words) {
            continue;
        }
        let text = format!("{words}, because {}", because(grant, case));
        known.push(words);
        let not_opened = match effect_of(grant) {
            GrantEffect::AsGranted => {
                may.push(line(LineKind::May, text));
                continue;
            }
            GrantEffect::Partly(why) | GrantEffect::ReadOnly(why) => {
                may.push(line(LineKind::May, text));
                line(LineKind::MayNot, why)
            }
            GrantEffect::Never(why) => {
                let grant = grant.to_string();
                let text = format!("gets no access from `{}`: {why}", visible(&grant));
                line(LineKind::MayNot, text)
            }
        };
        if !closed.contains(&not_opened) {
            closed.push(not_opened);
        }
    }
    may.extend(closed);
    may.extend(case.unavailable.iter().map(|grant| line(LineKind::MayNot, grant.to_string())));
    may
}

fn because(grant: &Grant, case: &Case) -> String {
    let tier = case.tier;
    match grant.source() {
        // R52: the author of `/**` meant the whole machine, and the reader should know that it is
        // narrowed.
        GrantSource::Declared(text) if was_everything(grant) => format!(
            "the skill declares `{}`, which is limited to this at tier {tier}",
            visible(text)
        ),
        GrantSource::Declared(text) => format!("the skill declares `{}`", visible(text)),
        GrantSource::Command(program) => format!("its command starts `{}`", visible(program)),
        GrantSource::WorkingDirectory => "commands run in the working directory".to_owned(),
        GrantSource::NetworkFlag => "the skill declares that it needs the network".to_owned(),
        GrantSource::Required(what, name) => {
            format!("the skill requires the {what} `{}`", visible(name))
        }
        GrantSource::Input(_) => "an input names it".to_owned(),
        GrantSource::User(_) if case.request.remembers => {
            "granted by you until the skill changes".to_owned()
        }
        GrantSource::User(_) => "granted by you for this run".to_owned(),
        GrantSource::Remembered(_, at) => format!("granted by you on {}", date(*at)),
    }
}

/// Whether a narrowed grant was declared for all files.
fn was_everything(grant: &Grant) -> bool {
    let (GrantSource::Declared(text), GrantScope::Path(_)) = (grant.source(), grant.scope()) else {
        return false;
    };
    let declared = Grant::parse(text, grant.source()).unwrap_or_default();
    declared.iter().any(|grant| *grant.scope() == GrantScope::All)
}

/// Describes what a grant allows, as the rest of a sentence about the tool.
fn words(grant: &Grant) -> String {
    let changes = grant.level() == Level::Write;
    let scope = grant.scope().to_string();
    let scope = visible(&scope);
    match (grant.domain(), grant.scope()) {
        (Domain::Filesystem, GrantScope::Path(path)) => {
            format!("may {} {}", if changes { "write files" } else { "read files" }, place(path))
        }
        (Domain::Filesystem, _) if changes => "may write files anywhere".to_owned(),
        (Domain::Filesystem, _) => "may read files anywhere".to_owned(),
        (Domain::Network, GrantScope::Host(host)) => {
            let what = if changes { "send any request" } else { "fetch" };
            let to = if changes { "to" } else { "from" };
            let hosts = match &host.host {
                HostScope::Any => "any host".to_owned(),
                HostScope::Below(domain) => format!("{domain} and the hosts below it"),
                HostScope::Exact(name) => name.to_string(),
            };
            let port = host.port.map_or_else(String::new, |port| format!(" on port {port}"));
            format!("may {what} {to} {hosts}{port}")
        }
        (Domain::Network, _) => "may use the network".to_owned(),
        (Domain::Shell, GrantScope::Program(program)) if program.is_interpreter() => {
            format!("may run `{scope}`, which runs arbitrary code")
        }
        (Domain::Shell, GrantScope::Program(_)) => format!("may run `{scope}`"),
        (Domain::Shell, _) => "may run every program".to_owned(),
        (Domain::Desktop, _) => "may control mouse, keyboard and screen".to_owned(),
        (Domain::Mcp, GrantScope::Name(_)) => format!("may connect to the MCP server `{scope}`"),
        (Domain::Mcp, _) => "may connect to every MCP server".to_owned(),
        (Domain::Env, GrantScope::Variable(_)) => format!("may read the variable `{scope}`"),
        (Domain::Env, _) => "may read every variable that is not secret".to_owned(),
        (Domain::Database, GrantScope::Name(_)) => {
            format!("may {} the database `{scope}`", if changes { "change" } else { "read" })
        }
        (Domain::Database, _) => {
            format!("may {} every database", if changes { "change" } else { "read" })
        }
    }
}

fn place(path: &PathPattern) -> String {
    let shown = path.to_string();
    let shown = visible(&shown);
    match shown.strip_suffix("/**") {
        Some(".") => "in the working directory".to_owned(),
        Some("~") => "in your home".to_owned(),
        Some(folder) if path.is_tree() => format!("below {folder}"),
        _ if path.is_tree() => format!("at {shown}"),
        _ => format!("matching {shown}"),
    }
}

fn may_not(grants: &[Grant]) -> impl Iterator<Item = &'static str> {
    Domain::all().filter(|domain| !grants.iter().any(|grant| grant.domain() == *domain)).map(
        |domain| match domain {
            Domain::Filesystem => "may not access files outside the skill",
            Domain::Network => "may not use the network",
            Domain::Shell => "may not run other programs",
            Domain::Desktop => "may not control mouse, keyboard or screen",
            Domain::Mcp => "may not connect to MCP servers",
            Domain::Env => "may not read your environment variables",
            Domain::Database => "may not use databases",
        },
    )
}

fn asks(question: &ApprovalQuestion) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(changed) = &question.changed {
        lines.push(line(LineKind::Asks, format!("asks again, because {changed}")));
    }
    for reason in question.shown_reasons() {
        let every = match reason.frequency {
            Frequency::EveryRun => "asks every time",
            Frequency::UntilApproved => "asks",
        };
        lines.push(line(LineKind::Asks, format!("{every}, because {reason}")));
    }
    lines
}

fn limits(spec: &SandboxSpec) -> String {
    let limits = &spec.limits;
    let mut parts = vec![format!("{} s", limits.wall_secs)];
    parts.extend(limits.cpu_secs.map(|secs| format!("{secs} s of CPU time")));
    parts.extend(limits.memory_bytes.map(|bytes| format!("{} of memory", size(bytes))));
    parts.extend(limits.processes.map(|count| format!("{count} processes")));
    parts.extend(limits.network_bytes.map(|bytes| format!("{} of traffic", size(bytes))));
    let rate = limits.network_bytes_per_sec;
    parts.extend(rate.map(|bytes| format!("{} of traffic per second", size(bytes))));
    parts.push(format!("{} of output", size(limits.output_bytes)));
    if !spec.write.is_empty() {
        let (bytes, entries) = (size(limits.written_bytes), limits.written_entries);
        parts.push(format!("{bytes} and {entries} files added to folders"));
    }
    format!("at most {}", parts.join(", "))
}

fn size(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    if bytes >= 1024 * MIB && bytes.is_multiple_of(1024 * MIB) {
        format!("{} GiB", bytes / (1024 * MIB))
    } else {
        format!("{} MiB", bytes / MIB)
    }
}
