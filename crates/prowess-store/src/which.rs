//! Which copy of a skill each agent loads, why, and what that costs.
//!
//! An agent's rule is cited if it is known; otherwise the result is unknown. Costs are estimates of four characters per
//! token.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_format::client::{self, ClientOutcome};
use prowess_format::{ReadOptions, check_bytes, form_of};

use crate::agents::{
    self, Agent, AgentRules, BudgetLimit, CatalogueBudget, Collision, LinkSupport, NamingRule,
    SearchFolder,
};
use crate::discovery::{
    DiscoverOptions, FoundSkill, ScanCache, Scanner, folder_name, read_bounded,
};
use crate::places::{Places, Scope};

/// Options of the query.
#[derive(Clone, Copy, Debug)]
pub struct WhichOptions<'o> {
    /// The folders to start from.
    pub places: &'o Places,
    /// The current time, see [`DiscoverOptions::now`].
    pub now: SystemTime,
    /// The cache between runs.
    pub memory: ScanCache<'o>,
    /// The name of the skill.
    pub name: &'o str,
    /// The agents.
    pub agents: AgentSelection<'o>,
    /// The context window of the model in tokens, if known.
    pub context_tokens: Option<u64>,
}

/// The agents to report.
#[derive(Clone, Copy, Debug)]
pub enum AgentSelection<'o> {
    /// The agents that are in use on this machine.
    Present,
    /// These agents.
    Named(&'o [&'static Agent]),
}

/// How an agent sees a skill.
#[derive(Clone, Debug)]
pub struct AgentView {
    /// The agent.
    pub agent: &'static Agent,
    /// The rules by which it chooses; `None` if they are unknown.
    pub rules: Option<&'static AgentRules>,
    /// The copies in its folders, in order of precedence.
    pub copies: Vec<AgentCopy>,
    /// The copies that it loads.
    pub loads: LoadedCopies,
    /// The cost of the first loaded copy in its catalogue.
    pub cost: Option<CatalogueCost>,
}

/// The copies that an agent loads under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadedCopies {
    /// None.
    Nothing,
    /// One copy, by index.
    One(usize),
    /// Several copies, which are all offered.
    Several,
    /// One of several copies; which one is not documented.
    Unknown,
}

/// A copy in a folder of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCopy {
    /// Its folder, as the agent reaches it.
    pub directory: PathBuf,
    /// Its folder with symbolic links resolved.
    pub real: PathBuf,
    /// The agent's own term for the folder that contains it.
    pub folder: &'static str,
    /// The scope of that folder; `None` for one of the whole machine.
    pub scope: Option<Scope>,
    /// The declared version.
    pub version: Option<String>,
    /// Whether it is loaded.
    pub fate: CopyOutcome,
    /// Warnings of the agent about the file, which it loads nevertheless.
    pub remarks: Vec<String>,
}

/// Whether a copy is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyOutcome {
    /// It is loaded.
    Loaded,
    /// It is loaded under another name.
    LoadedAs(String),
    /// Another copy takes precedence, by index.
    Behind(usize),
    /// It is the same folder as another copy, by index.
    Same(usize),
    /// The agent rejects the file, with the reasons.
    Dropped(Vec<String>),
    /// The agent does not find it, with the reason.
    Unseen(String),
    /// Not documented.
    Unknown,
}

/// The estimated cost of a skill in a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueCost {
    /// The tokens of its entry.
    pub tokens: u64,
    /// Number of characters of its description that are always truncated.
    pub cut: usize,
    /// The tokens of all entries of the catalogue.
    pub catalogue: u64,
    /// The number of entries.
    pub entries: usize,
    /// The size limit of the catalogue in tokens.
    pub room: u64,
}

impl CatalogueCost {
    /// Whether the catalogue exceeds its limit, so that descriptions are truncated or omitted.
    pub fn overflows(&self) -> bool {
        self.catalogue > self.room
    }

    /// The cost of the skill, in thousandths of the limit.
    pub fn thousandths(&self) -> u64 {
        (self.tokens * 1000).checked_div(self.room).unwrap_or(u64::MAX)
    }
}

/// The estimated number of characters per token.
const CHARACTERS_OF_A_TOKEN: u64 = 4;

/// Reports how each agent sees a skill, in the order of the agents.
pub fn which(options: &WhichOptions<'_>) -> Vec<AgentView> {
    let agents = match options.agents {
        AgentSelection::Present => agents::present(options.places),
        AgentSelection::Named(agents) => agents.to_vec(),
    };
    let mut shelves = AgentFolders {
        scanner: Scanner::new(&DiscoverOptions {
            places: options.places,
            now: options.now,
            memory: options.memory,
        }),
        folders: HashMap::new(),
    };
    let views = agents.into_iter().map(|agent| view(options, agent, &mut shelves)).collect();
    shelves.scanner.finish();
    views
}

/// The folders that were searched, each once.
struct AgentFolders {
    scanner: Scanner,
    folders: HashMap<PathBuf, Vec<FoundSkill>>,
}

impl AgentFolders {
    fn skills(&mut self, folder: &Path) -> &[FoundSkill] {
        let scanner = &mut self.scanner;
        self.folders.entry(folder.to_owned()).or_insert_with(|| {
            scanner.scan(folder, true).map(|scanned| scanned.skills).unwrap_or_default()
        })
    }
}

/// A folder of an agent on this machine.
struct SkillFolder {
    path: PathBuf,
    folder: SearchFolder,
    /// The nested project folder that contains it, if it is not the project's root.
    nested: Option<String>,
}

fn view(
    options: &WhichOptions<'_>,
    agent: &'static Agent,
    shelves: &mut AgentFolders,
) -> AgentView {
    let rules = agent.rules();
    let seen = AgentVision { agent, rules, name: options.name };
    let mut copies = Vec::new();
    let mut nested = Vec::new();
    let mut catalogue = Catalogue::default();
    for shelf in shelves_of(agent, options.places) {
        for found in shelves.skills(&shelf.path) {
            catalogue.add(rules, found);
            if !seen.is_meant(found) {
                continue;
            }
            copies.push(seen.copy(&shelf, found));
            nested.push(shelf.nested.clone());
        }
    }
    let loads = decide(rules, options.name, &mut copies, &nested);
    let first = copies.iter().position(|copy| matches!(copy.fate, CopyOutcome::Loaded));
    let budget = rules.and_then(|rules| rules.budget);
    let cost = first.zip(budget).and_then(|(first, budget)| {
        catalogue.cost(&copies[first].directory, &budget, options.context_tokens)
    });
    AgentView { agent, rules, copies, loads, cost }
}

/// The folders of an agent, in order of precedence.
fn shelves_of(agent: &Agent, places: &Places) -> Vec<SkillFolder> {
    let Some(rules) = agent.rules() else {
        let usual = [(Scope::Project, "project"), (Scope::User, "user")];
        let usual = usual.into_iter().filter_map(|(scope, title)| {
            let template = agent.folder(scope)?;
            let folder = SearchFolder { template, scope: Some(scope), title, downwards: false };
            Some(SkillFolder { path: places.locate(template)?.path, folder, nested: None })
        });
        return usual.collect();
    };
    let mut shelves = Vec::new();
    for folder in rules.folders {
        if !folder.downwards {
            let found = places.locate(folder.template);
            shelves.extend(found.map(|at| SkillFolder {
                path: at.path,
                folder: *folder,
                nested: None,
            }));
            continue;
        }
        for at in places.locate_downwards(folder.template) {
            let depth = Path::new(folder.template).components().count();
            let holder = at.path.ancestors().nth(depth).unwrap_or(&at.path);
            let below = holder.strip_prefix(&at.anchor).unwrap_or(Path::new(""));
            let nested = Some(below.display().to_string()).filter(|below| !below.is_empty());
            shelves.push(SkillFolder { path: at.path, folder: *folder, nested });
        }
    }
    shelves
}

/// The criteria by which an agent finds copies.
struct AgentVision<'n> {
    agent: &'static Agent,
    rules: Option<&'static AgentRules>,
    name: &'n str,
}

impl AgentVision<'_> {
    /// Whether the agent would find a skill under the name.
    fn is_meant(&self, found: &FoundSkill) -> bool {
        match self.rules {
            Some(rules) => called(rules.names, found) == comparable(rules.names, self.name),
            // The agent's naming rule is not documented.
            None => found.name == self.name || folder_name(&found.directory) == self.name,
        }
    }

    fn copy(&self, place: &SkillFolder, found: &FoundSkill) -> AgentCopy {
        let unseen = self.unseen(place, found);
        let (dropped, remarks) = self.verdict(found);
        let fate = match (unseen, dropped) {
            (Some(why), _) => CopyOutcome::Unseen(why),
            (None, true) => CopyOutcome::Dropped(remarks.clone()),
            (None, false) => CopyOutcome::Unknown,
        };
        AgentCopy {
            directory: found.directory.clone(),
            real: found.real.clone(),
            folder: place.folder.title,
            scope: place.folder.scope,
            version: found.summary.version.clone(),
            remarks: if dropped { Vec::new() } else { remarks },
            fate,
        }
    }

    /// The reason why the agent does not find a copy.
    fn unseen(&self, place: &SkillFolder, found: &FoundSkill) -> Option<String> {
        let title = self.agent.title;
        let sees_links =
            place.folder.scope.map_or(LinkSupport::Unknown, |scope| self.agent.sees_links(scope));
        if sees_links == LinkSupport::No && found.directory.is_symlink() {
            let source = self.agent.links.source.unwrap_or_default();
            return Some(format!("it is a link, which {title} is reported not to see ({source})"));
        }
        let below =
            found.directory.strip_prefix(&place.path).map_or(1, |below| below.components().count());
        let depth = self.rules?.depth.filter(|depth| below > *depth)?;
        Some(format!("it is {below} folders deep, but {title} only searches {depth}"))
    }

    /// Whether the agent rejects the file, and its remarks.
    fn verdict(&self, found: &FoundSkill) -> (bool, Vec<String>) {
        let client = self.rules.and_then(|rules| rules.client).and_then(client::by_id);
        let Some(client) = client else { return (false, Vec::new()) };
        let bytes = match read_bounded(&found.file) {
            Ok(bytes) => bytes,
            Err(error) => return (true, vec![format!("the file can't be read: {error}")]),
        };
        let file_name = found.file.file_name().unwrap_or_default().to_string_lossy();
        let options = ReadOptions { form: form_of(&file_name), ..ReadOptions::DETECT };
        let mut text = Cow::Borrowed("");
        let checked = check_bytes(&bytes, &mut text, options);
        let directory = folder_name(&found.directory);
        let verdict = client::verdict(&checked, &file_name, Some(&directory), client);
        (verdict.outcome == ClientOutcome::Dropped, verdict.reasons)
    }
}

/// Decides the outcome of every undecided copy.
fn decide(
    rules: Option<&'static AgentRules>,
    name: &str,
    copies: &mut [AgentCopy],
    nested: &[Option<String>],
) -> LoadedCopies {
    let mut first_at: HashMap<PathBuf, usize> = HashMap::new();
    let mut rivals = Vec::new();
    for (number, copy) in copies.iter_mut().enumerate() {
        if copy.fate != CopyOutcome::Unknown {
            continue;
        }
        match first_at.get(&copy.real) {
            Some(&first) => copy.fate = CopyOutcome::Same(first),
            None => {
                first_at.insert(copy.real.clone(), number);
                rivals.push(number);
            }
        }
    }
    let [first, others @ ..] = rivals.as_slice() else { return LoadedCopies::Nothing };
    if others.is_empty() {
        copies[*first].fate = CopyOutcome::Loaded;
        return LoadedCopies::One(*first);
    }
    match rules.map_or(Collision::Unknown, |rules| rules.collision) {
        Collision::Unknown => LoadedCopies::Unknown,
        Collision::AllStay => {
            for rival in &rivals {
                copies[*rival].fate = CopyOutcome::Loaded;
            }
            LoadedCopies::Several
        }
        Collision::FirstWins => {
            copies[*first].fate = CopyOutcome::Loaded;
            let keeps_names = rules.is_some_and(|rules| rules.nested_names);
            let mut loads = LoadedCopies::One(*first);
            for rival in others {
                copies[*rival].fate = match nested[*rival].as_ref().filter(|_| keeps_names) {
                    Some(folder) => {
                        loads = LoadedCopies::Several;
                        CopyOutcome::LoadedAs(format!("{folder}:{name}"))
                    }
                    None => CopyOutcome::Behind(*first),
                };
            }
            loads
        }
    }
}

/// The name of a skill for an agent, normalised for comparison.
fn called(names: NamingRule, found: &FoundSkill) -> String {
    match names {
        NamingRule::Directory => comparable(names, &folder_name(&found.directory)),
        NamingRule::Declared => comparable(names, &found.name),
    }
}

fn comparable(names: NamingRule, name: &str) -> String {
    match names {
        NamingRule::Declared => name.to_owned(),
        NamingRule::Directory => {
            let counts = |letter: &char| !letter.is_whitespace() && !is_invisible(*letter);
            name.to_lowercase().chars().filter(counts).collect()
        }
    }
}

/// Whether a character has zero width.
fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// The entries of an agent's catalogue.
#[derive(Default)]
struct Catalogue {
    names: HashSet<String>,
    /// Folder, characters without the description, characters of the description.
    entries: Vec<(PathBuf, usize, usize)>,
}

impl Catalogue {
    fn add(&mut self, rules: Option<&'static AgentRules>, found: &FoundSkill) {
        let Some(rules) = rules else { return };
        // Most errors of `check` don't exclude a skill from a catalogue; a file that is not text is excluded.
        let is_text = !found.summary.dialect.is_empty();
        let Some(budget) = rules.budget.filter(|_| is_text) else { return };
        let name = called(rules.names, found);
        let length = name.chars().count();
        let is_new = self.names.insert(name);
        if rules.collision == Collision::FirstWins && !is_new {
            return;
        }
        // `- NAME: DESCRIPTION`, and ` (file: PATH)` if the path is listed.
        let path = if budget.lists_path { found.file.as_os_str().len() + 9 } else { 0 };
        let description = found.summary.description.as_deref().unwrap_or_default().chars().count();
        self.entries.push((found.directory.clone(), length + 4 + path, description));
    }

    fn cost(
        &self,
        directory: &Path,
        budget: &CatalogueBudget,
        context: Option<u64>,
    ) -> Option<CatalogueCost> {
        let shown = |description: usize| {
            budget.description.map_or(description, |most| description.min(most))
        };
        let tokens = |around: usize, description: usize| {
            ((around + shown(description)) as u64).div_ceil(CHARACTERS_OF_A_TOKEN)
        };
        let (_, around, description) = self.entries.iter().find(|(at, ..)| at == directory)?;
        let share = |context: u64| context * budget.thousandths / 1000;
        let room = match (context, budget.unknown_context) {
            (Some(context), _) => share(context),
            (None, BudgetLimit::OfContext(usual)) => share(usual),
            (None, BudgetLimit::Characters(characters)) => characters / CHARACTERS_OF_A_TOKEN,
        };
        Some(CatalogueCost {
            tokens: tokens(*around, *description),
            cut: description - shown(*description),
            catalogue: self.entries.iter().map(|(_, around, text)| tokens(*around, *text)).sum(),
            entries: self.entries.len(),
            room,
        })
    }
}
