//! Explains a decision in plain words, line by line (`prowess policy REF`).

use std::fmt::{self, Write as _};

use prowess_format::permission::{Domain, Level};
use prowess_format::text::visible;

use crate::approval::date;
use crate::decision::{AllowReason, ApprovalQuestion, Case, Decision, Frequency};
use crate::grant::{Grant, GrantScope, GrantSource};
use crate::request::RunFolders;
use crate::scope::{HostScope, PathPattern};
use crate::spec::{Programs, SandboxSpec};
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
    /// A whole domain that is closed to it, as in "may not use the network".
    Closed,
    /// Why the user is asked.
    Asks,
    /// A grant that needs the user's consent and is listed under what it may do.
    Consent,
    /// Why it does not run.
    Refused,
    /// What applies on this machine.
    Note,
    /// How much it may use, as far as it can matter to the user.
    Limit,
    /// The other limits.
    FurtherLimit,
}

/// One line of an explanation: safe for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The kind of line.
    pub kind: LineKind,
    /// The text.
    pub text: String,
    /// The text in fewer words, for a question that shows every grant once.
    pub short: Option<String>,
}

impl Line {
    /// Creates a line.
    pub fn new(kind: LineKind, text: String) -> Self {
        Self { kind, text, short: None }
    }

    /// The text in as few words as there are.
    pub fn short_text(&self) -> &str {
        self.short.as_deref().unwrap_or(&self.text)
    }
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

/// What scripts may start without a declaration, see [`crate::utilities`].
const UTILITIES: &str =
    "may run base utilities such as `sort`, `grep` and `tar`, because they add no access";

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
    if case.spec.utilities && case.spec.programs != Programs::Any {
        lines.push(line(LineKind::May, UTILITIES.to_owned()));
    }
    lines.extend(may_not(&case.grants).map(|text| line(LineKind::Closed, text.to_owned())));
    lines.push(line(LineKind::Limit, limits(&case.spec)));
    lines.push(line(LineKind::FurtherLimit, further_limits(&case.spec)));
    if let Decision::Ask(question) = decision {
        lines.extend(asks(question));
    }
    lines
}

fn line(kind: LineKind, text: String) -> Line {
    Line::new(kind, text)
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
    let mut groups: Vec<Group> = Vec::new();
    let mut closed = Vec::new();
    for grant in &case.grants {
        let words = words(grant);
        if known.contains(&words.to_string()) {
            continue;
        }
        known.push(words.to_string());
        let not_opened = match effect_of(grant) {
            GrantEffect::AsGranted => {
                Group::add(&mut groups, words, grant, case);
                continue;
            }
            GrantEffect::Partly(why) | GrantEffect::ReadOnly(why) => {
                Group::add(&mut groups, words, grant, case);
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
    let mut may: Vec<Line> = groups.iter().map(Group::line).collect();
    may.extend(closed);
    may.extend(case.unavailable.iter().map(|grant| line(LineKind::MayNot, grant.to_string())));
    may
}

/// Grants of one kind and one source, which are one line: "may run `git` and `sed`, because …".
struct Group {
    start: String,
    objects: Vec<String>,
    because: String,
    /// Whether the author's permission says the same as the words.
    is_declared: bool,
}

impl Group {
    fn line(&self) -> Line {
        let text = format!("{}, {}", self.words(), self.because);
        let short = self.is_declared.then(|| format!("{}, as it declares", self.words()));
        Line { short, ..line(LineKind::May, text) }
    }

    fn words(&self) -> String {
        let objects = match self.objects.as_slice() {
            [before @ .., last] if !before.is_empty() => {
                format!("{} and {last}", before.join(", "))
            }
            objects => objects.concat(),
        };
        format!("{}{objects}", self.start)
    }

    fn add(groups: &mut Vec<Group>, words: Words, grant: &Grant, case: &Case) {
        let because = because(grant, case);
        let is_same = |group: &&mut Group| {
            words.object.is_some()
                && !group.objects.is_empty()
                && (&group.start, &group.because) == (&words.start, &because)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.objects.extend(words.object),
            None => groups.push(Group {
                start: words.start,
                objects: words.object.into_iter().collect(),
                because,
                is_declared: matches!(grant.source(), GrantSource::Declared(_))
                    && !was_everything(grant),
            }),
        }
    }
}

/// What a grant allows, as the rest of a sentence about the tool.
struct Words {
    start: String,
    /// What can be listed with others of its kind.
    object: Option<String>,
}

impl Words {
    fn whole(text: impl Into<String>) -> Self {
        Self { start: text.into(), object: None }
    }

    fn of(start: &str, object: String) -> Self {
        Self { start: start.to_owned(), object: Some(object) }
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.start, self.object.as_deref().unwrap_or_default())
    }
}

/// Why a grant is there, as the end of a sentence.
fn because(grant: &Grant, case: &Case) -> String {
    let tier = case.tier;
    match grant.source() {
        // R52: the author of `/**` meant the whole machine, and the reader should know that it is
        // narrowed.
        GrantSource::Declared(text) if was_everything(grant) => format!(
            "because the skill declares `{}`, which is limited to this at tier {tier}",
            visible(text)
        ),
        GrantSource::Declared(text) => format!("because the skill declares `{}`", visible(text)),
        GrantSource::Command(program) => {
            format!("because its command starts `{}`", visible(program))
        }
        GrantSource::WorkingDirectory => "where commands run".to_owned(),
        GrantSource::NetworkFlag => {
            "because the skill declares that it needs the network".to_owned()
        }
        GrantSource::Required(what, name) => {
            format!("because the skill requires the {what} `{}`", visible(name))
        }
        GrantSource::Input(_) => "which an input names".to_owned(),
        GrantSource::User(_) if case.request.remembers() => {
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

/// Describes what a grant allows.
fn words(grant: &Grant) -> Words {
    let changes = grant.level() == Level::Write;
    let scope = grant.scope().to_string();
    let scope = visible(&scope);
    match (grant.domain(), grant.scope()) {
        (Domain::Filesystem, GrantScope::Path(path)) => {
            let what = if changes { "write files" } else { "read files" };
            Words::whole(format!("may {what} {}", place(path)))
        }
        (Domain::Filesystem, _) if changes => Words::whole("may write files anywhere"),
        (Domain::Filesystem, _) => Words::whole("may read files anywhere"),
        (Domain::Network, GrantScope::Host(host)) => {
            let start = if changes { "may send any request to " } else { "may fetch from " };
            let hosts = match &host.host {
                HostScope::Any => "any host".to_owned(),
                HostScope::Below(domain) => format!("{domain} and the hosts below it"),
                HostScope::Exact(name) => name.to_string(),
            };
            let port = host.port.map_or_else(String::new, |port| format!(" on port {port}"));
            Words::of(start, format!("{hosts}{port}"))
        }
        (Domain::Network, _) => Words::whole("may use the network"),
        (Domain::Shell, GrantScope::Program(program)) if program.is_interpreter() => {
            Words::whole(format!("may run `{scope}`, which runs arbitrary code"))
        }
        (Domain::Shell, GrantScope::Program(_)) => Words::of("may run ", format!("`{scope}`")),
        (Domain::Shell, _) => Words::whole("may run every program"),
        (Domain::Desktop, _) => Words::whole("may control mouse, keyboard and screen"),
        (Domain::Mcp, GrantScope::Name(_)) => {
            Words::whole(format!("may connect to the MCP server `{scope}`"))
        }
        (Domain::Mcp, _) => Words::whole("may connect to every MCP server"),
        (Domain::Env, GrantScope::Variable(_)) => {
            Words::whole(format!("may read the variable `{scope}`"))
        }
        (Domain::Env, _) => Words::whole("may read every variable that is not secret"),
        (Domain::Database, GrantScope::Name(_)) => {
            let what = if changes { "change" } else { "read" };
            Words::whole(format!("may {what} the database `{scope}`"))
        }
        (Domain::Database, _) => {
            let what = if changes { "change" } else { "read" };
            Words::whole(format!("may {what} every database"))
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
        let kind = if reason.is_plain_consent() { LineKind::Consent } else { LineKind::Asks };
        let every = match reason.frequency {
            Frequency::EveryRun => "asks every time",
            Frequency::UntilApproved => "asks",
        };
        lines.push(line(kind, format!("{every}, because {reason}")));
    }
    lines
}

/// The limits that a user may run into.
fn limits(spec: &SandboxSpec) -> String {
    let limits = &spec.limits;
    let mut parts = vec![format!("{} s", limits.wall_secs)];
    parts.extend(limits.memory_bytes.map(|bytes| format!("{} of memory", size(bytes))));
    if !spec.network.is_empty() {
        parts.extend(limits.network_bytes.map(|bytes| format!("{} of traffic", size(bytes))));
    }
    if !spec.write.is_empty() {
        parts.push(format!("{} added to folders", size(limits.written_bytes)));
    }
    format!("at most {}", parts.join(", "))
}

/// The limits that only a runaway tool reaches.
fn further_limits(spec: &SandboxSpec) -> String {
    let limits = &spec.limits;
    let mut parts = Vec::new();
    parts.extend(limits.cpu_secs.map(|secs| format!("{secs} s of CPU time")));
    parts.extend(limits.processes.map(|count| format!("{count} processes")));
    if !spec.network.is_empty() {
        let rate = limits.network_bytes_per_sec;
        parts.extend(rate.map(|bytes| format!("{} of traffic per second", size(bytes))));
    }
    parts.push(format!("{} of output", size(limits.output_bytes)));
    if !spec.write.is_empty() {
        parts.push(format!("{} files added to folders", limits.written_entries));
    }
    format!("also at most {}", parts.join(", "))
}

fn size(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    if bytes >= 1024 * MIB && bytes.is_multiple_of(1024 * MIB) {
        format!("{} GiB", bytes / (1024 * MIB))
    } else {
        format!("{} MiB", bytes / MIB)
    }
}
