//! Finds the skills on a machine: in our own stores, in the folders of agents, and in those of other systems.
//!
//! Discovery implies no trust. Code that runs, signs or approves a skill reads its files again.

mod cache;
mod roots;
mod scan;
mod summary;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_package::name::SkillName;

use crate::agents::{Agent, LinkSupport};
use crate::metadata::NAME_RULE;
use crate::places::Places;

pub use cache::{FILE_NAME as CACHE_FILE_NAME, program_stamp};
pub use roots::{RootKind, SkillRoot, roots};
pub use summary::{SkillFileError, SkillSummary};

pub(crate) use scan::{Scanner, read_bounded};

/// Options of a search.
#[derive(Clone, Copy, Debug)]
pub struct DiscoverOptions<'o> {
    /// The folders to start from.
    pub places: &'o Places,
    /// The current time: a file that has just changed could change again with the same timestamp, so it is not cached.
    pub now: SystemTime,
    /// The cache between runs.
    pub memory: ScanCache<'o>,
}

/// The cache of unchanged files.
#[derive(Clone, Copy, Debug)]
pub enum ScanCache<'o> {
    /// No cache: every file is read.
    None,
    /// A file in the cache folder, which can be deleted at any time.
    Kept {
        /// The program that wrote it, see [`program_stamp`]. Another version may read the same files differently.
        stamp: &'o str,
    },
}

/// The skills that were found, and problems.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The folders that were searched, in order of precedence. Missing ones are omitted.
    pub roots: Vec<SkillRoot>,
    /// The skills, in the order of their roots and paths.
    pub skills: Vec<FoundSkill>,
    /// Paths that could not be searched, and why.
    pub notes: Vec<DiscoveryNote>,
}

/// A skill that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundSkill {
    /// The effective name: the declared one, or else that of its folder (R3).
    pub name: String,
    /// Its folder, as it was reached.
    pub directory: PathBuf,
    /// Its folder with symbolic links resolved.
    pub real: PathBuf,
    /// Its main file with symbolic links resolved.
    pub file: PathBuf,
    /// The index of the root that contains it.
    pub root: usize,
    /// The summary of its main file.
    pub summary: SkillSummary,
    /// The index of the skill that takes precedence, if any.
    pub shadowed_by: Option<usize>,
    /// Other paths to the same folder: links to it, and roots that are the same folder.
    pub also_at: Vec<OtherPath>,
}

/// A path to a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherPath {
    /// The folder, as it was reached.
    pub directory: PathBuf,
    /// The index of the root that contains it.
    pub root: usize,
}

impl FoundSkill {
    /// Whether it can't be used (GAIX-20).
    pub fn is_broken(&self) -> bool {
        self.summary.is_broken()
    }

    /// The name of its folder, if its declared name can't be installed. In a store that is the name that the user gave
    /// it.
    pub fn name_by_folder(&self) -> Option<SkillName> {
        let own = self.summary.name.as_deref()?;
        if own.parse::<SkillName>().is_ok() {
            return None;
        }
        self.directory.file_name()?.to_str()?.parse().ok()
    }

    /// In a store, a skill has the name under which it was installed, so an invalid declared name is no longer an
    /// error.
    fn in_store(mut self) -> Self {
        if let Some(name) = self.name_by_folder() {
            self.name = name.to_string();
            self.summary.errors.retain(|problem| problem.rule != NAME_RULE);
        }
        self
    }
}

/// A path that was not searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryNote {
    /// The path.
    pub path: PathBuf,
    /// The reason, with advice.
    pub why: String,
}

impl Listing {
    /// The skill that a name refers to.
    pub fn find(&self, name: &str) -> Option<&FoundSkill> {
        self.skills
            .iter()
            .find(|found| found.name == name && found.shadowed_by.is_none() && !found.is_broken())
    }

    /// The skills that can't be used.
    pub fn broken(&self) -> impl Iterator<Item = &FoundSkill> {
        self.skills.iter().filter(|found| found.is_broken())
    }

    /// The agents in whose folders a skill is, sorted by id. Agents that are reported not to see links are omitted if
    /// it is a link. [`crate::which`] tells which copy an agent loads.
    pub fn seen_by(&self, found: &FoundSkill) -> Vec<&'static Agent> {
        let own = OtherPath { directory: found.directory.clone(), root: found.root };
        let mut agents: Vec<&'static Agent> = Vec::new();
        for way in [own].iter().chain(&found.also_at) {
            let root = &self.roots[way.root];
            let is_link = way.directory.is_symlink();
            let sees = |agent: &Agent| {
                let links =
                    root.scope.map_or(LinkSupport::Unknown, |scope| agent.sees_links(scope));
                !is_link || links != LinkSupport::No
            };
            agents.extend(root.agents.iter().filter(|agent| sees(agent)));
        }
        agents.sort_by_key(|agent| agent.id);
        agents.dedup();
        agents
    }
}

/// Searches all roots.
///
/// A copy in an earlier root takes precedence over one of the same name in a later root. A broken skill does not occupy
/// its name: it is listed, and the next copy takes precedence (GAIX-20).
pub fn discover(options: &DiscoverOptions<'_>) -> Listing {
    let mut scanner = Scanner::new(options);
    let mut listing = Listing { roots: Vec::new(), skills: Vec::new(), notes: Vec::new() };
    let mut at: HashMap<PathBuf, usize> = HashMap::new();
    for root in roots(options.places) {
        let Some(inside) = scanner.scan(&root.path, root.kind.follows_links()) else { continue };
        let number = listing.roots.len();
        listing.notes.extend(inside.notes);
        for skill in inside.skills {
            let skill = match root.kind {
                RootKind::Project | RootKind::User => skill.in_store(),
                RootKind::Bundled | RootKind::Agent | RootKind::System => skill,
            };
            match at.get(&skill.real) {
                Some(&known) => {
                    let way = OtherPath { directory: skill.directory, root: number };
                    listing.skills[known].also_at.push(way);
                }
                None => {
                    at.insert(skill.real.clone(), listing.skills.len());
                    listing.skills.push(FoundSkill { root: number, ..skill });
                }
            }
        }
        listing.roots.push(root);
    }
    scanner.finish();
    find_shadows(&mut listing.skills);
    listing
}

fn find_shadows(skills: &mut [FoundSkill]) {
    let mut first: HashMap<String, usize> = HashMap::new();
    for (number, skill) in skills.iter_mut().enumerate() {
        if skill.is_broken() {
            continue;
        }
        match first.get(&skill.name) {
            Some(&winner) => skill.shadowed_by = Some(winner),
            None => {
                first.insert(skill.name.clone(), number);
            }
        }
    }
}

/// The name of a skill's folder. Some systems use `NAME/VERSION/SKILL.md`, where the parent folder has the name.
pub(crate) fn folder_name(directory: &Path) -> String {
    let name = |path: &Path| {
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let own = name(directory);
    let is_version =
        own.split('.').count() == 3 && own.starts_with(|first: char| first.is_ascii_digit());
    match directory.parent().map(name).filter(|above| is_version && !above.is_empty()) {
        Some(above) => above,
        None => own,
    }
}
