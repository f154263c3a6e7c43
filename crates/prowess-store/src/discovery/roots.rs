//! The folders that are searched for skills, in order of precedence (R24).

use std::path::PathBuf;

use crate::agents::{self, Agent};
use crate::places::{Places, Scope};

/// A folder of skills.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillRoot {
    /// The kind of folder.
    pub kind: RootKind,
    /// The path.
    pub path: PathBuf,
    /// Its scope; `None` for folders of the whole machine.
    pub scope: Option<Scope>,
    /// The agents that use it.
    pub agents: Vec<&'static Agent>,
    /// The other systems that use it.
    pub systems: Vec<&'static str>,
}

/// The kind of a folder, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RootKind {
    /// The project's own store.
    Project,
    /// The user's store.
    User,
    /// The skills that come with the program.
    Bundled,
    /// A folder of agents.
    Agent,
    /// A folder of another system.
    System,
}

impl RootKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            RootKind::Project => "project",
            RootKind::User => "user",
            RootKind::Bundled => "bundled",
            RootKind::Agent => "agent",
            RootKind::System => "system",
        }
    }

    /// Whether skills are installed there. All other folders are read-only (GAIX-21).
    pub fn is_writable(self) -> bool {
        match self {
            RootKind::Project | RootKind::User => true,
            RootKind::Bundled | RootKind::Agent | RootKind::System => false,
        }
    }

    /// Whether a skill there may be a symbolic link to a folder: users link skills into the folders of agents, while
    /// our own stores contain only unpacked files.
    pub(crate) fn follows_links(self) -> bool {
        match self {
            RootKind::Agent | RootKind::System => true,
            RootKind::Project | RootKind::User | RootKind::Bundled => false,
        }
    }
}

/// Folders of systems that are not in the table of agents: GAIA §7.1, GIB "Overview", AFL §1 ("Storage Layout"), and
/// the stores of skillrt (both the documented and the implemented one) and skillli.
const SYSTEMS: &[(&str, &str)] = &[
    ("Agent Flow", "data/skills"),
    ("Agent Flow", "backend/data/skills"),
    ("GAIA", "${GAIA_CONFIG_DIR:-~/.gaia}/skills"),
    ("gibb.eri.sh", "${XDG_CONFIG_HOME:-~/.config}/gibberish/skills"),
    ("skillrt", "~/.skillrt/skills"),
    ("skillrt", "${XDG_DATA_HOME:-~/.local/share}/skillrt/skills"),
    ("skillli", "~/.skillli/skills"),
];

/// All folders that may contain skills, in order of precedence; a shared one is listed once.
pub fn roots(places: &Places) -> Vec<SkillRoot> {
    let mut roots: Vec<SkillRoot> = Vec::new();
    let mut add = |kind,
                   path: PathBuf,
                   scope,
                   agent: Option<&'static Agent>,
                   system: Option<&'static str>| {
        let known = roots.iter().position(|root| root.path == path);
        let at = known.unwrap_or_else(|| {
            roots.push(SkillRoot { kind, path, scope, agents: Vec::new(), systems: Vec::new() });
            roots.len() - 1
        });
        let root = &mut roots[at];
        root.agents.extend(agent.filter(|agent| !root.agents.contains(agent)));
        root.systems.extend(system);
    };
    let own = [(RootKind::Project, Scope::Project), (RootKind::User, Scope::User)];
    for (kind, scope) in own {
        if let Some(store) = places.store(scope) {
            add(kind, store, Some(scope), None, None);
        }
    }
    if let Some(bundled) = &places.bundled {
        add(RootKind::Bundled, bundled.clone(), None, None, None);
    }
    for scope in [Some(Scope::Project), Some(Scope::User), None] {
        for agent in agents::all() {
            let usual = scope.and_then(|scope| agent.folder(scope));
            let known = agent.rules().map_or(&[][..], |rules| rules.folders);
            let known = known.iter().filter(|folder| folder.scope == scope).map(|it| it.template);
            for template in usual.into_iter().chain(known) {
                if let Some(found) = places.locate(template) {
                    add(RootKind::Agent, found.path, scope, Some(agent), None);
                }
            }
        }
    }
    for (system, template) in SYSTEMS {
        let in_project = !template.starts_with(['~', '$']);
        let scope = if in_project { Scope::Project } else { Scope::User };
        if let Some(found) = places.locate(template) {
            add(RootKind::System, found.path, Some(scope), None, Some(system));
        }
    }
    roots
}
