//! The first page of a skill.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use prowess_format::document::Form;
use serde::Deserialize;

use super::load::Loaded;
use super::{Frame, Part};
use crate::app::AppState;
use crate::pages::card::count;
use crate::pages::chart::Chart;
use crate::pages::layout::Layout;
use crate::pages::links::{encode, publisher};
use crate::pages::markdown::{self, Rendered};
use crate::pages::permission_words::PermissionRow;
use crate::pages::response::{PageResult, page};
use crate::pages::visitor::Visitor;
use crate::pages::words::{capitalised, counted, size};
use crate::query::TrustLine;
use crate::store::VersionState;

/// The first page of a skill.
#[derive(Debug, Template)]
#[template(path = "page/skill/overview.html")]
pub(crate) struct OverviewPage {
    pub(crate) layout: Layout,
    pub(crate) frame: Frame,
    pub(crate) permissions: Vec<PermissionRow>,
    /// What the lines mean for this kind of skill.
    pub(crate) permission_note: &'static str,
    /// How to install it; empty if it can't be installed.
    pub(crate) commands: Vec<InstallCommand>,
    /// Why it can't be installed.
    pub(crate) no_install: Option<String>,
    pub(crate) trust: Vec<TrustLineView>,
    /// `62 of 100`.
    pub(crate) score: Option<String>,
    pub(crate) readme: Rendered,
    pub(crate) chart: Option<Chart>,
    pub(crate) details: Vec<Detail>,
    pub(crate) tags: Vec<(String, String)>,
    /// Markdown for a badge in a README.
    pub(crate) badge: BadgeView,
    pub(crate) report: String,
}

/// A command with the agents that it installs for.
#[derive(Clone, Debug)]
pub(crate) struct InstallCommand {
    pub(crate) id: String,
    pub(crate) label: &'static str,
    pub(crate) command: String,
    /// Where the files go.
    pub(crate) note: &'static str,
}

/// A reason to trust a skill, or not to.
#[derive(Clone, Debug)]
pub(crate) struct TrustLineView {
    /// The class of the line in the style sheet.
    pub(crate) class: &'static str,
    pub(crate) icon: &'static str,
    /// `Passed`, `Not established`, `Failed` or `Not checked`.
    pub(crate) word: &'static str,
    pub(crate) text: String,
    /// Its points, such as `15 of 20`.
    pub(crate) points: String,
    /// Where the evidence is.
    pub(crate) address: Option<String>,
}

/// What a trust line says, by its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustState {
    Passed,
    NotEstablished,
    Failed,
    NotChecked,
}

impl TrustState {
    pub(crate) fn class(self) -> &'static str {
        match self {
            TrustState::Passed => "passed",
            TrustState::NotEstablished => "not-established",
            TrustState::Failed => "failed",
            TrustState::NotChecked => "not-checked",
        }
    }

    pub(crate) fn icon(self) -> &'static str {
        match self {
            TrustState::Passed => "circle-check",
            TrustState::NotEstablished => "triangle-alert",
            TrustState::Failed => "octagon-alert",
            TrustState::NotChecked => "circle-dashed",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            TrustState::Passed => "Passed",
            TrustState::NotEstablished => "Not established",
            TrustState::Failed => "Failed",
            TrustState::NotChecked => "Not checked",
        }
    }
}

/// A line of the details.
#[derive(Clone, Debug)]
pub(crate) struct Detail {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    pub(crate) address: Option<String>,
    /// Whether it is shown in the fixed-width font.
    pub(crate) is_code: bool,
}

/// A badge and its Markdown.
#[derive(Clone, Debug)]
pub(crate) struct BadgeView {
    pub(crate) address: String,
    pub(crate) alternative: String,
    pub(crate) markdown: String,
}

/// The commands for a skill: any agent first, then the most used ones.
pub(crate) fn install_commands(
    skill: &str,
    version: Option<&str>,
    is_experimental: bool,
) -> Vec<InstallCommand> {
    const AGENTS: [(&str, &str, &str); 6] = [
        ("", "Any agent", "Installs it for prowess run and prowess mcp."),
        ("claude-code", "Claude Code", "Also links it into ~/.claude/skills."),
        ("codex", "Codex", "Also links it into ~/.agents/skills."),
        ("cursor", "Cursor", "Also copies it into ~/.cursor/skills."),
        ("github-copilot", "GitHub Copilot", "Also copies it into ~/.copilot/skills."),
        ("openclaw", "OpenClaw", "Also links it into ~/.openclaw/skills."),
    ];
    let reference =
        version.map_or_else(|| skill.to_owned(), |version| format!("{skill}@{version}"));
    // GAIA §4.3: an experimental skill is only installed with the flag.
    let flag = if is_experimental { " --allow-experimental" } else { "" };
    let command = |(id, label, note): &(&str, &'static str, &'static str)| {
        let agent = if id.is_empty() { String::new() } else { format!(" --agent {id}") };
        InstallCommand {
            id: if id.is_empty() { "any".to_owned() } else { (*id).to_owned() },
            label,
            command: format!("prowess install {reference}{agent}{flag}"),
            note,
        }
    };
    AGENTS.iter().map(command).collect()
}

/// What a page of a version can be asked for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct VersionQuery {
    /// The version; the newest if it is missing.
    #[serde(default)]
    pub(crate) version: String,
}

/// The page of the newest version.
pub(crate) async fn get_skill(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, None).await?;
    page(&visitor, &OverviewPage::new(&visitor, &loaded))
}

/// The page of a version.
pub(crate) async fn get_version(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name, version)): Path<(String, String, String)>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, Some(&version)).await?;
    let mut response = page(&visitor, &OverviewPage::new(&visitor, &loaded))?;
    // Attack registry-D20: the page says why, and its status says what every other route says.
    if loaded.chosen.revoked.is_some() {
        *response.status_mut() = StatusCode::GONE;
    }
    Ok(response)
}

impl OverviewPage {
    fn new(visitor: &Visitor, loaded: &Loaded) -> Self {
        let (view, chosen) = (&loaded.view, &loaded.chosen);
        let facts = &chosen.facts;
        let frame = loaded.frame(Part::Overview);
        let mut text = Cow::Borrowed("");
        let skill =
            prowess_format::read_bytes(chosen.manifest.as_bytes(), &mut text, Form::Markdown).skill;
        let is_newest = view.card.version == loaded.version();
        let pinned = (!is_newest).then(|| loaded.version());
        let no_install = match (&chosen.revoked, chosen.state) {
            (Some(_), _) => Some("A revoked version can't be installed.".to_owned()),
            (None, VersionState::Visible) => None,
            (None, _) => {
                Some("This version is not visible yet, so it can't be installed.".to_owned())
            }
        };
        let is_experimental = chosen.tier != "verified" && chosen.tier != "community";
        let days: Vec<u64> =
            view.downloads_per_day.iter().map(|day| count(day.downloads)).collect();
        let last_day = view.downloads_per_day.last().map_or(0, |day| day.day);
        let badge = format!("{}/-/badge.svg", loaded.links.latest());
        let public_url = &visitor.visit.public_url;
        let title = match &pinned {
            Some(version) => format!("{} {version}", loaded.id),
            None => loaded.full_name(),
        };
        OverviewPage {
            layout: loaded.layout(visitor, Part::Overview, title),
            permissions: loaded.permissions.clone(),
            permission_note: note(&facts.kind),
            commands: install_commands(&loaded.full_name(), pinned.as_deref(), is_experimental),
            no_install,
            trust: trust_lines(loaded),
            score: score(loaded),
            readme: markdown::render(&skill.body, &view.card.name, &loaded.links),
            chart: Chart::new("install", &days, last_day),
            details: details(loaded),
            tags: facts
                .tags
                .iter()
                .map(|tag| (tag.clone(), format!("/search?tag={}", encode(tag))))
                .collect(),
            badge: BadgeView {
                alternative: format!("Prowess: {} {}", view.card.version, view.card.tier),
                markdown: format!(
                    "[![Prowess]({public_url}{badge})]({public_url}{})",
                    loaded.links.latest()
                ),
                address: badge,
            },
            report: format!("{}/-/report", loaded.links.latest()),
            frame,
        }
    }
}

/// What the lines about permissions mean for a kind of skill.
fn note(kind: &str) -> &'static str {
    match kind {
        "tools" => {
            "This is what it declares. A run gets nothing else, and what is risky is asked about first."
        }
        "prompt" => {
            "It is a prompt for a model. It runs nothing itself; what an agent does with the answer is up to the agent."
        }
        _ => {
            "It contains instructions. An agent follows them with its own rights, so this lists what its text and its \
             scripts name, not a limit."
        }
    }
}

/// The sum of the trust lines.
pub(crate) fn score(loaded: &Loaded) -> Option<String> {
    loaded.view.trust.as_ref().map(|trust| format!("{} of {}", trust.points, trust.possible))
}

/// Why to trust the version, line by line, each with its evidence.
pub(crate) fn trust_lines(loaded: &Loaded) -> Vec<TrustLineView> {
    let security = loaded.links.tab("security");
    let lines = loaded.view.trust.as_ref().map(|trust| trust.lines.as_slice()).unwrap_or_default();
    let view = |line: &TrustLine| {
        let state = if !line.checked {
            TrustState::NotChecked
        } else if line.points == line.possible {
            TrustState::Passed
        } else if line.subject == "scan" && line.points == 0 {
            TrustState::Failed
        } else {
            TrustState::NotEstablished
        };
        let address = match line.subject {
            "signature" | "audit" => format!("{security}#signatures"),
            "scan" => format!("{security}#scan"),
            "provenance" => format!("{security}#provenance"),
            "permissions" => match loaded.earlier() {
                Some(before) => {
                    loaded.links.compare(&before.version.to_string(), &loaded.version())
                }
                None => format!("{security}#asks"),
            },
            "publisher" => publisher(&loaded.view.card.namespace),
            "ratings" => loaded.links.tab("reviews"),
            _ => loaded.links.page(),
        };
        TrustLineView {
            class: state.class(),
            icon: state.icon(),
            word: state.word(),
            text: capitalised(&line.text),
            points: format!("{} of {}", line.points, line.possible),
            address: Some(address),
        }
    };
    lines.iter().map(view).collect()
}

fn details(loaded: &Loaded) -> Vec<Detail> {
    let (chosen, facts) = (&loaded.chosen, &loaded.chosen.facts);
    let text = |label, value: String| Detail { label, value, address: None, is_code: false };
    let mut details = vec![
        text("Licence", facts.license.clone().unwrap_or_else(|| "none stated".to_owned())),
        text("Kind", format!("{}, dialect {}", facts.kind, facts.dialect)),
        text("Size", format!("{}, {}", size(chosen.size), counted(chosen.files.len(), "file"))),
        text("Published by", chosen.publisher.clone()),
    ];
    if !facts.authors.is_empty() {
        details.push(text("Authors", facts.authors.join(", ")));
    }
    if !facts.compatibility.is_empty() {
        details.push(text("Works with", facts.compatibility.join(", ")));
    }
    details.push(Detail {
        label: "Category",
        value: capitalised(&facts.category),
        address: Some(format!("/search?category={}", encode(&facts.category))),
        is_code: false,
    });
    if chosen.revoked.is_none() && chosen.state == VersionState::Visible {
        details.push(Detail {
            label: "Package",
            value: format!("{}-{}.tar.gz", loaded.id.name, chosen.version),
            address: Some(loaded.links.download(&loaded.version())),
            is_code: false,
        });
    }
    details.push(Detail {
        label: "SHA-256",
        value: chosen.sha256.clone(),
        address: None,
        is_code: true,
    });
    details
}
