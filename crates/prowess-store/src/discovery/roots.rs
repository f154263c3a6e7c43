//! Where skills are looked for, and in which order (R24).

use std::path::PathBuf;

use crate::agents::{self, Agent};
use crate::places::{Places, Scope};

/// A folder of skills.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// What kind of folder it is.
    pub kind: RootKind,
    /// Where it is.
    pub path: PathBuf,
    /// For whom its skills are; `None` for folders of the whole machine.
    pub scope: Option<Scope>,
    /// The agents that look there.
    pub agents: Vec<&'static Agent>,
    /// The systems other than agents that keep skills there.
    pub systems: Vec<&'static str>,
}

/// What kind of folder it is, in the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RootKind {
    /// Our own, of the project.
    Project,
    /// Our own, of the user.
    User,
    /// What comes with the program.
    Bundled,
    /// A folder of agents.
    Agent,
    /// A folder of another system.
    System,
}

impl RootKind {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            RootKind::Project => "project",
            RootKind::User => "user",
            RootKind::Bundled => "bundled",
            RootKind::Agent => "agent",
            RootKind::System => "system",
        }
    }

    /// Whether skills are installed there. All other folders are only looked at (GAIX-21).
    pub fn is_writable(self) -> bool {
        match self {
            RootKind::Project | RootKind::User => true,
            RootKind::Bundled | RootKind::Agent | RootKind::System => false,
        }
    }

    /// Whether a skill there may be a link to a folder: people link skills into the folders of agents, and our own
    /// stores hold what was unpacked and nothing else.
    pub(crate) fn follows_links(self) -> bool {
        match self {
            RootKind::Agent | RootKind::System => true,
            RootKind::Project | RootKind::User | RootKind::Bundled => false,
        }
    }
}

/// Folders of systems that are no agents of the table: GAIA §7.1, GIB "Overview", AFL §1 ("Storage Layout"), and the
/// stores of skillrt (what its documentation says and what its code does) and skillli.
const SYSTEMS: &[(&str, &str)] = &[
    ("Agent Flow", "data/skills"),
    ("Agent Flow", "backend/data/skills"),
    ("GAIA", "${GAIA_CONFIG_DIR:-~/.gaia}/skills"),
    ("gibb.eri.sh", "${XDG_CONFIG_HOME:-~/.config}/gibberish/skills"),
    ("skillrt", "~/.skillrt/skills"),
    ("skillrt", "${XDG_DATA_HOME:-~/.local/share}/skillrt/skills"),
    ("skillli", "~/.skillli/skills"),
];

/// Every folder in which skills may be, in the order of precedence; one that several look at stands once.
pub fn roots(places: &Places) -> Vec<Root> {
    let mut roots: Vec<Root> = Vec::new();
    let mut add = |kind,
                   path: PathBuf,
                   scope,
                   agent: Option<&'static Agent>,
                   system: Option<&'static str>| {
        let known = roots.iter().position(|root| root.path == path);
        let at = known.unwrap_or_else(|| {
            roots.push(Root { kind, path, scope, agents: Vec::new(), systems: Vec::new() });
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
