//! What a skill can do on a machine, in sentences, the worst first.
//!
//! The requests are those that `prowess-policy` reads from the skill, so the page says what a run would ask for. A skill of
//! instructions runs nothing itself: an agent follows it with the agent's own rights, and what its text and its scripts would
//! make the agent do is listed instead, from `prowess-capabilities`.

use std::collections::BTreeSet;

use prowess_capabilities::{Capability, CapabilityKind};
use prowess_format::permission::{Domain, Level as PermissionLevel};
use prowess_format::text::visible_line;
use prowess_policy::scope::{PathPattern, PathRoot, Program};
use prowess_policy::{Grant, GrantScope, GrantSet};

use super::words::counted;

/// How much harm a permission allows. The order is that of the page, from the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RiskLevel {
    /// Runs programs, sends data, reads secrets.
    High,
    /// Changes files here, reads from sites.
    Medium,
    /// Reads files here.
    Low,
    /// Nothing: an absence that is worth a line.
    None,
}

impl RiskLevel {
    /// The word on the page.
    pub(crate) fn word(self) -> &'static str {
        match self {
            RiskLevel::High => "High",
            RiskLevel::Medium => "Medium",
            RiskLevel::Low => "Low",
            RiskLevel::None => "None",
        }
    }

    /// The class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            RiskLevel::High => "high",
            RiskLevel::Medium => "medium",
            RiskLevel::Low => "low",
            RiskLevel::None => "none",
        }
    }

    /// The class of a pill.
    pub(crate) fn pill(self) -> &'static str {
        match self {
            RiskLevel::High => "danger",
            RiskLevel::Medium => "warn",
            RiskLevel::Low | RiskLevel::None => "none",
        }
    }

    /// The icon.
    pub(crate) fn icon(self) -> &'static str {
        match self {
            RiskLevel::High => "octagon-alert",
            RiskLevel::Medium => "triangle-alert",
            RiskLevel::Low => "eye",
            RiskLevel::None => "circle-dashed",
        }
    }
}

/// One line of what a skill can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PermissionRow {
    /// The sentence, without the names.
    pub(crate) sentence: String,
    /// The programs, hosts, paths or variables.
    pub(crate) names: Vec<String>,
    /// How many names are not listed.
    pub(crate) more: usize,
    pub(crate) level: RiskLevel,
    /// The version since which the skill asks for it, if the one before did not.
    pub(crate) new_in: Option<String>,
}

/// How many names a line has.
const MAX_NAMES: usize = 12;
/// The longest name, in characters.
const MAX_NAME_CHARACTERS: usize = 120;

impl PermissionRow {
    fn new(level: RiskLevel, sentence: impl Into<String>) -> Self {
        PermissionRow { sentence: sentence.into(), names: Vec::new(), more: 0, level, new_in: None }
    }

    fn with_names(mut self, names: impl IntoIterator<Item = String>) -> Self {
        let names: BTreeSet<String> = names.into_iter().collect();
        self.more = names.len().saturating_sub(MAX_NAMES);
        self.names = names.iter().take(MAX_NAMES).map(|name| shown(name)).collect();
        self
    }

    /// The line as text, as a comparison of versions and a description for search engines need it.
    pub(crate) fn text(&self) -> String {
        if self.names.is_empty() {
            return self.sentence.clone();
        }
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        format!("{}: {}{more}", self.sentence, self.names.join(", "))
    }
}

fn shown(name: &str) -> String {
    let visible = visible_line(name);
    let mut short: String = visible.chars().take(MAX_NAME_CHARACTERS).collect();
    if short.len() < visible.len() {
        short.push('…');
    }
    short
}

/// The lines of a skill, the worst first; absences last.
pub(crate) fn rows(
    grants: &GrantSet,
    capabilities: &[Capability],
    runs_itself: bool,
) -> Vec<PermissionRow> {
    let mut rows = Vec::new();
    let grants = grants.grants();
    shell(grants, &mut rows);
    network(grants, &mut rows);
    variables(grants, &mut rows);
    files(grants, &mut rows);
    others(grants, &mut rows);
    if !runs_itself {
        agent(capabilities, &mut rows);
    }
    for sentence in absences(grants, capabilities, runs_itself) {
        rows.push(PermissionRow::new(RiskLevel::None, sentence));
    }
    rows.sort_by_key(|row| row.level);
    rows
}

/// What a skill does not ask for. Instructions have the agent's own rights, so nothing is said about what is possible, only
/// about what they name; and nothing if something that they install or run could name more.
fn absences(grants: &[Grant], capabilities: &[Capability], runs_itself: bool) -> Vec<&'static str> {
    let has = |domain: Domain| grants.iter().any(|grant| grant.domain() == domain);
    let names = |kind: CapabilityKind| capabilities.iter().any(|found| found.kind == kind);
    let is_open = names(CapabilityKind::Recipe) || names(CapabilityKind::Rest);
    let candidates: &[(bool, &str)] = if runs_itself {
        &[
            (has(Domain::Network), "No network access"),
            (has(Domain::Shell), "No programs"),
            (has(Domain::Env), "No secrets or variables"),
            (has(Domain::Filesystem), "No files"),
        ]
    } else if is_open {
        &[]
    } else {
        &[
            (has(Domain::Network) || names(CapabilityKind::Host), "Names no sites"),
            (
                has(Domain::Shell)
                    || names(CapabilityKind::Program)
                    || names(CapabilityKind::Command)
                    || names(CapabilityKind::Script),
                "Names no programs",
            ),
            (has(Domain::Env) || names(CapabilityKind::Variable), "Names no variables"),
        ]
    };
    candidates.iter().filter(|(is_there, _)| !is_there).map(|(_, sentence)| *sentence).collect()
}

/// The highest level of some lines.
pub(crate) fn worst(rows: &[PermissionRow]) -> RiskLevel {
    rows.iter().map(|row| row.level).min().unwrap_or(RiskLevel::None)
}

/// Marks the lines that an earlier version did not have.
pub(crate) fn mark_new(rows: &mut [PermissionRow], before: &[PermissionRow], version: &str) {
    for row in rows.iter_mut().filter(|row| row.level != RiskLevel::None) {
        if before.iter().all(|old| old.text() != row.text()) {
            row.new_in = Some(version.to_owned());
        }
    }
}

fn shell(grants: &[Grant], rows: &mut Vec<PermissionRow>) {
    let programs: Vec<&Grant> = of(grants, Domain::Shell).collect();
    if programs.is_empty() {
        return;
    }
    if programs.iter().any(|grant| grant.is_unscoped()) {
        rows.push(PermissionRow::new(RiskLevel::High, "Run any program"));
        return;
    }
    let names: BTreeSet<String> = programs
        .iter()
        .filter_map(|grant| match grant.scope() {
            GrantScope::Program(program) => Some(program_name(program)),
            _ => None,
        })
        .collect();
    let sentence = format!("Run {}", counted(names.len(), "program"));
    rows.push(PermissionRow::new(RiskLevel::High, sentence).with_names(names));
}

fn program_name(program: &Program) -> String {
    match program {
        Program::Named(name) | Program::At(name) => name.clone(),
        Program::Own(path) => format!("{path} (of the skill)"),
    }
}

fn network(grants: &[Grant], rows: &mut Vec<PermissionRow>) {
    for (level, risk, verb) in [
        (PermissionLevel::Write, RiskLevel::High, "Send data to"),
        (PermissionLevel::Read, RiskLevel::Medium, "Read from"),
    ] {
        let hosts: Vec<String> = of(grants, Domain::Network)
            .filter(|grant| grant.level() == level)
            .filter_map(|grant| match grant.scope() {
                GrantScope::Host(host) => Some((host.is_any(), host.to_string())),
                GrantScope::All => Some((true, "*".to_owned())),
                _ => None,
            })
            .map(|(is_any, host)| if is_any { "*".to_owned() } else { host })
            .collect();
        if hosts.is_empty() {
            continue;
        }
        if hosts.iter().any(|host| host == "*") {
            rows.push(PermissionRow::new(risk, format!("{verb} any site")));
            continue;
        }
        let distinct = hosts.iter().collect::<BTreeSet<_>>().len();
        rows.push(
            PermissionRow::new(risk, format!("{verb} {}", counted(distinct, "site")))
                .with_names(hosts),
        );
    }
}

fn variables(grants: &[Grant], rows: &mut Vec<PermissionRow>) {
    let variables: Vec<&Grant> = of(grants, Domain::Env).collect();
    if variables.iter().any(|grant| grant.is_unscoped()) {
        rows.push(PermissionRow::new(RiskLevel::High, "Read every environment variable"));
        return;
    }
    let names: BTreeSet<String> = variables
        .iter()
        .filter_map(|grant| match grant.scope() {
            GrantScope::Variable(name) => Some(name.to_string()),
            _ => None,
        })
        .collect();
    if !names.is_empty() {
        let sentence = format!("Read {}", counted(names.len(), "variable"));
        rows.push(PermissionRow::new(RiskLevel::High, sentence).with_names(names));
    }
}

fn files(grants: &[Grant], rows: &mut Vec<PermissionRow>) {
    for level in [PermissionLevel::Write, PermissionLevel::Read] {
        let mut inside = false;
        let mut everywhere = false;
        let mut outside = Vec::new();
        for grant in of(grants, Domain::Filesystem).filter(|grant| grant.level() == level) {
            match grant.scope() {
                GrantScope::Path(path) if is_inside(path) => inside = true,
                GrantScope::Path(path) if !path.is_everything() => outside.push(path.to_string()),
                _ => everywhere = true,
            }
        }
        let is_write = level == PermissionLevel::Write;
        let verb = if is_write { "Change files" } else { "Read files" };
        let (far, near) = if is_write {
            (RiskLevel::High, RiskLevel::Medium)
        } else {
            (RiskLevel::Medium, RiskLevel::Low)
        };
        if everywhere {
            rows.push(PermissionRow::new(RiskLevel::High, format!("{verb} anywhere")));
            continue;
        }
        if !outside.is_empty() {
            rows.push(
                PermissionRow::new(far, format!("{verb} outside the working folder"))
                    .with_names(outside),
            );
        }
        if inside {
            let ending = if is_write { ", asks each time" } else { "" };
            rows.push(PermissionRow::new(near, format!("{verb} in the working folder{ending}")));
        }
    }
}

fn is_inside(path: &PathPattern) -> bool {
    path.root() == PathRoot::Working
}

fn others(grants: &[Grant], rows: &mut Vec<PermissionRow>) {
    let names = |domain, level| -> Vec<String> {
        of(grants, domain)
            .filter(|grant| grant.level() == level)
            .filter_map(|grant| match grant.scope() {
                GrantScope::Name(name) => Some(name.clone()),
                _ => None,
            })
            .collect()
    };
    let any = |domain, level| of(grants, domain).any(|grant| grant.level() == level);
    if any(Domain::Database, PermissionLevel::Write) {
        let names = names(Domain::Database, PermissionLevel::Write);
        rows.push(
            PermissionRow::new(RiskLevel::High, "Change data in databases").with_names(names),
        );
    }
    if any(Domain::Database, PermissionLevel::Read) {
        let names = names(Domain::Database, PermissionLevel::Read);
        rows.push(PermissionRow::new(RiskLevel::Medium, "Read from databases").with_names(names));
    }
    if any(Domain::Mcp, PermissionLevel::Connect) {
        let names = names(Domain::Mcp, PermissionLevel::Connect);
        rows.push(PermissionRow::new(RiskLevel::Medium, "Use your MCP servers").with_names(names));
    }
    if any(Domain::Desktop, PermissionLevel::Control) {
        let sentence = "Control the mouse and the keyboard, and see the screen";
        rows.push(PermissionRow::new(RiskLevel::High, sentence));
    }
}

fn of(grants: &[Grant], domain: Domain) -> impl Iterator<Item = &Grant> {
    grants.iter().filter(move |grant| grant.domain() == domain)
}

fn agent(capabilities: &[Capability], rows: &mut Vec<PermissionRow>) {
    for (kind, level, sentence) in [
        (CapabilityKind::Tool, RiskLevel::High, "Let the agent use tools without asking you"),
        (CapabilityKind::Hook, RiskLevel::High, "Run at events of the agent"),
        (CapabilityKind::Command, RiskLevel::High, "Run commands when the skill is loaded"),
        (CapabilityKind::Recipe, RiskLevel::High, "Have software installed"),
        (CapabilityKind::Script, RiskLevel::Medium, "Have the agent run its scripts"),
        (CapabilityKind::Program, RiskLevel::Medium, "Have the agent run programs"),
        (CapabilityKind::Host, RiskLevel::Medium, "Have the agent contact sites"),
        (CapabilityKind::Variable, RiskLevel::Medium, "Have the agent read variables"),
        (CapabilityKind::Rest, RiskLevel::High, "More than this page can list"),
    ] {
        let names: Vec<String> = capabilities
            .iter()
            .filter(|found| found.kind == kind)
            .map(|found| found.text.clone())
            .collect();
        if !names.is_empty() {
            rows.push(PermissionRow::new(level, sentence).with_names(names));
        }
    }
}

#[cfg(test)]
mod tests;
