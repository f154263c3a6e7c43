//! Options that several verbs about installed skills share.

use clap::{Args, ValueEnum};
use prowess_format::text::closest;
use prowess_library::packages::{AgentTargets, PackageManager, agent_by_id};
use prowess_store::agents::Agent;
use prowess_store::placement::PlacementMode;
use prowess_store::places::Scope;
use prowess_store::review::InstallPermissions;
use prowess_store::suspicion::AllowedRules;

use crate::error::Error;

/// The format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The store that a verb is about. Without a choice, a project that has a lock file is used, else the user's own store.
#[derive(Args, Clone, Copy)]
pub(crate) struct ScopeOption {
    /// Use the project's skills in `.prowess/`; makes any folder a project
    #[arg(long)]
    project: bool,
    /// Use your own skills, also inside a project that has a lock file
    #[arg(long, conflicts_with = "project")]
    user: bool,
}

impl ScopeOption {
    /// The options of a verb that describes them in its own words.
    pub(crate) fn new(project: bool, user: bool) -> Self {
        Self { project, user }
    }

    /// The option that the user gave.
    pub(crate) fn flag(self) -> Option<&'static str> {
        match self.asked()? {
            Scope::Project => Some("--project"),
            Scope::User => Some("--user"),
        }
    }

    /// The store that the user asks for.
    pub(crate) fn asked(self) -> Option<Scope> {
        match self {
            Self { project: true, .. } => Some(Scope::Project),
            Self { user: true, .. } => Some(Scope::User),
            Self { .. } => None,
        }
    }
}

/// What the user allows in advance.
#[derive(Args, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct PermissionOptions {
    /// Install skills that no trusted publisher has signed
    #[arg(long)]
    allow_experimental: bool,
    /// Replace a signed version with one that is not signed
    #[arg(long)]
    allow_unsigned: bool,
    /// Replace a skill of another owner or from another source
    #[arg(long)]
    replace_owner: bool,
    /// Install a skill that this rule of `prowess scan` blocks (repeatable); the lock
    /// file says so
    #[arg(long, value_name = "RULE", value_parser = scan_rule)]
    allow_blocked: Vec<&'static str>,
    /// Answer yes to all questions
    #[arg(short, long)]
    yes: bool,
}

impl PermissionOptions {
    /// Whether all questions are answered with yes.
    pub(crate) fn yes(&self) -> bool {
        self.yes
    }

    /// The permissions as the package manager takes them.
    pub(crate) fn permissions(&self) -> InstallPermissions {
        let mut blocked = AllowedRules::NONE;
        for rule in &self.allow_blocked {
            blocked.insert(rule);
        }
        InstallPermissions {
            experimental: self.allow_experimental,
            unsigned: self.allow_unsigned,
            replace_owner: self.replace_owner,
            blocked,
        }
    }
}

/// The name of a rule of the scanner.
fn scan_rule(text: &str) -> Result<&'static str, String> {
    if let Some(rule) = prowess_scan::rule_by_name(text) {
        return Ok(rule.rule.name);
    }
    let known = prowess_scan::RULES.iter().map(|rule| rule.rule.name);
    Err(match closest(text, known) {
        Some(similar) => format!("no rule has this name; did you mean `{similar}`?"),
        None => "no rule has this name; `prowess explain` lists all rules".to_owned(),
    })
}

/// How skills are fetched.
#[derive(Args, Clone)]
pub(crate) struct FetchOptions {
    /// Don't use the network
    #[arg(long)]
    pub(crate) offline: bool,
    /// Ignore releases of a registry that are younger: `36h`, `7d`
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) min_age: Option<u64>,
}

/// Seconds of `90m`, `36h`, `7d`.
fn age(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number followed by `m`, `h` or `d`, such as `7d`".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(seconds)).ok_or_else(wrong)
}

/// The agents that get installed skills.
#[derive(Args, Clone)]
pub(crate) struct AgentOptions {
    /// Put the skills into the folders of these agents: `claude-code,codex,cursor`
    #[arg(long = "agent", value_name = "AGENT", value_delimiter = ',')]
    agents: Vec<String>,
    /// Put them into the folder of every agent on this machine
    #[arg(long, conflicts_with = "agents")]
    all_agents: bool,
    /// Copy them, even where an agent follows links
    #[arg(long)]
    copy: bool,
}

impl AgentOptions {
    /// Whether the user has said nothing about agents.
    pub(crate) fn are_open(&self) -> bool {
        self.agents.is_empty() && !self.all_agents && !self.copy
    }

    /// The agents, resolved before anything is installed: a typing error is reported first.
    pub(crate) fn targets(
        &self,
        packages: &PackageManager,
        scope: Scope,
    ) -> Result<AgentTargets, Error> {
        let chosen = if self.all_agents {
            let present = packages.present_agents(scope);
            if present.is_empty() {
                return Err(Error::not_found("there is no agent on this machine")
                    .hint("name an agent with `--agent`, such as `--agent codex`"));
            }
            present
        } else {
            let agents = self.agents.iter().map(|id| agent_by_id(id).map_err(Error::from));
            agents.collect::<Result<Vec<&'static Agent>, Error>>()?
        };
        if chosen.is_empty() && self.copy {
            return Err(Error::usage(
                "`--copy` is about the folders of agents, and no agent is named",
            )
            .hint("add `--agent AGENT` or `--all-agents`"));
        }
        let mode = if self.copy { PlacementMode::Copy } else { PlacementMode::AsSeen };
        Ok(if chosen.is_empty() {
            AgentTargets::Existing
        } else {
            AgentTargets::Also(chosen, mode)
        })
    }
}
