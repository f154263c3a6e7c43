//! Putting installed skills where agents look, for the verbs that install, update and remove.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use prowess_package::name::SkillName;
use prowess_store::agents::{self, Agent};
use prowess_store::placement::{
    self, Change, Destination, Form, Manner, Owners, Placement, PlacementError, Undone, UndoneHow,
    Wish,
};
use prowess_store::places::Scope;
use prowess_store::store::Store;
use serde_json::{Value, json};

use crate::error::Error;
use crate::store::packages::Packages;
use crate::store::survey::{self, shown};
use crate::terminal::printer::Printer;

/// Which agents should find a skill.
#[derive(Args, Clone)]
pub(crate) struct AgentOptions {
    /// Put the skills where these agents look: `claude-code,codex,cursor`
    #[arg(long = "agent", value_name = "AGENT", value_delimiter = ',')]
    agents: Vec<String>,
    /// Put them where every agent on this machine looks
    #[arg(long, conflicts_with = "agents")]
    all_agents: bool,
    /// Put copies there, also where an agent sees links
    #[arg(long)]
    copy: bool,
}

/// For whom skills are placed once they are installed.
pub(crate) struct Placing<'p> {
    packages: &'p Packages,
    scope: Scope,
    whom: Whom,
}

enum Whom {
    /// Those for whom they were placed earlier. What is a copy has to be made anew after an update.
    AsBefore,
    /// These as well.
    These(Vec<&'static Agent>, Manner),
}

/// What was placed, and what could not be.
#[derive(Default)]
pub(crate) struct Placed {
    placements: Vec<Placement>,
    /// What was placed earlier and changed by somebody since: it is theirs and stays.
    left_alone: Vec<String>,
    failures: Vec<PlacementError>,
}

/// Whether there is something that was not there before.
fn is_new(change: Change) -> bool {
    match change {
        Change::Make | Change::Replace => true,
        Change::Keep | Change::Theirs => false,
    }
}

impl AgentOptions {
    /// For whom to place, known before anything is installed: a typing error should not be told afterwards.
    pub(crate) fn placing<'p>(
        &self,
        packages: &'p Packages,
        scope: Scope,
    ) -> Result<Placing<'p>, Error> {
        let chosen = if self.all_agents {
            let has_folder = |agent: &&Agent| agent.locate(scope, &packages.places).is_some();
            let present = agents::present(&packages.places).into_iter();
            let present: Vec<&'static Agent> = present.filter(has_folder).collect();
            if present.is_empty() {
                return Err(Error::not_found("there is no agent on this machine")
                    .hint("name the one that you want with `--agent`, such as `--agent codex`"));
            }
            present
        } else {
            self.agents.iter().map(|id| survey::agent(id)).collect::<Result<_, Error>>()?
        };
        if chosen.is_empty() && self.copy {
            return Err(Error::usage("`--copy` says how skills get to agents, and none is named")
                .hint("add `--agent AGENT` or `--all-agents`"));
        }
        let manner = if self.copy { Manner::Copy } else { Manner::AsSeen };
        let whom = if chosen.is_empty() { Whom::AsBefore } else { Whom::These(chosen, manner) };
        Ok(Placing { packages, scope, whom })
    }
}

impl<'p> Placing<'p> {
    /// For those for whom the skills were placed earlier.
    pub(crate) fn as_before(packages: &'p Packages, scope: Scope) -> Self {
        Self { packages, scope, whom: Whom::AsBefore }
    }

    /// Looks whether skills can be placed, before they are installed: what is occupied by somebody else is told while
    /// nothing has changed. Places of earlier are no reason: what is somebody else's by now is left alone.
    pub(crate) fn check(&self, store: &Store, names: &BTreeSet<SkillName>) -> Result<(), Error> {
        let Whom::These(agents, manner) = &self.whom else { return Ok(()) };
        let folders: Vec<(&SkillName, PathBuf)> =
            names.iter().map(|name| (name, store.skill_path(name))).collect();
        let (scope, manner) = (self.scope, *manner);
        let wishes: Vec<Wish<'_>> = folders
            .iter()
            .map(|(skill, directory)| Wish { skill, directory, agents, scope, manner })
            .collect();
        placement::check(&self.packages.places, scope, &wishes)
            .map_err(|error| failed(&error).hint("nothing was installed or placed"))
    }

    /// Where skills would be placed, and what is in the way. Nothing is written.
    pub(crate) fn preview(
        &self,
        store: &Store,
        names: &BTreeSet<SkillName>,
    ) -> Result<Vec<Destination>, Error> {
        let Whom::These(agents, manner) = &self.whom else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for name in names {
            let directory = store.skill_path(name);
            let (scope, manner) = (self.scope, *manner);
            let wish = Wish { skill: name, directory: &directory, agents, scope, manner };
            let found = placement::destinations(&self.packages.places, &wish);
            all.extend(found.map_err(|error| failed(&error))?);
        }
        Ok(all)
    }

    /// A line about each place that skills would get, for people.
    pub(crate) fn preview_lines(&self, destinations: &[Destination]) -> Vec<String> {
        let line = |destination: &Destination| {
            let place = shown(&self.packages.places, &destination.path);
            let as_what = if destination.is_copy { "as a copy" } else { "as a link" };
            let (skill, owners) = (&destination.skill, destination.owners.join(", "));
            match &destination.in_the_way {
                Some(what) => format!(
                    "{skill} would go to {place} for {owners}, where there is {what} that is not ours"
                ),
                None => format!("{skill} would be placed in {place} {as_what}, for {owners}"),
            }
        };
        destinations.iter().map(line).collect()
    }

    /// Places installed skills. One that can't be placed keeps no other from it.
    pub(crate) fn place(&self, store: &Store, names: &BTreeSet<SkillName>) -> Placed {
        let mut placed = Placed::default();
        let earlier = self.owners(names).unwrap_or_else(|error| {
            placed.failures.push(error);
            BTreeMap::new()
        });
        let scope = self.scope;
        let folders: Vec<(&SkillName, PathBuf)> =
            names.iter().map(|name| (name, store.skill_path(name))).collect();
        // Place by place: one that is somebody else's by now keeps no other from being renewed.
        let mut renewals = Vec::new();
        for (skill, directory) in &folders {
            for agents in earlier.get(*skill).into_iter().flatten() {
                let manner = Manner::AsSeen;
                renewals.push(Wish { skill, directory, agents, scope, manner });
            }
        }
        for outcome in self.apply(&renewals, &mut placed.failures) {
            match outcome {
                Ok(placements) => placed
                    .placements
                    .extend(placements.into_iter().filter(|placement| is_new(placement.change))),
                Err(PlacementError::Occupied { path, .. }) => {
                    placed.left_alone.push(shown(&self.packages.places, &path));
                }
                Err(error) => placed.failures.push(error),
            }
        }
        if let Whom::These(agents, manner) = &self.whom {
            let manner = *manner;
            let wishes: Vec<Wish<'_>> = folders
                .iter()
                .map(|(skill, directory)| Wish { skill, directory, agents, scope, manner })
                .collect();
            for outcome in self.apply(&wishes, &mut placed.failures) {
                match outcome {
                    Ok(placements) => placed.placements.extend(placements),
                    Err(error) => placed.failures.push(error),
                }
            }
        }
        placed
    }

    /// Places all at once: what was placed is one list, and is written for all of them together.
    fn apply(
        &self,
        wishes: &[Wish<'_>],
        failures: &mut Vec<PlacementError>,
    ) -> Vec<Result<Vec<Placement>, PlacementError>> {
        if wishes.is_empty() {
            return Vec::new();
        }
        placement::apply_all(&self.packages.places, wishes).unwrap_or_else(|error| {
            failures.push(error);
            Vec::new()
        })
    }

    /// For whom skills were placed earlier, place by place. Without a project there is no list of one.
    fn owners(
        &self,
        names: &BTreeSet<SkillName>,
    ) -> Result<BTreeMap<SkillName, Vec<Vec<&'static Agent>>>, PlacementError> {
        let mut owners: BTreeMap<SkillName, Vec<Vec<&'static Agent>>> = BTreeMap::new();
        let recorded = match placement::placed(&self.packages.places, self.scope) {
            Err(PlacementError::NoProject) => return Ok(owners),
            recorded => recorded?,
        };
        for known in recorded.into_iter().filter(|known| names.contains(&known.skill)) {
            let agents = known.owners.iter().filter_map(|id| agents::by_id(id));
            owners.entry(known.skill).or_default().push(agents.collect());
        }
        Ok(owners)
    }
}

impl Placed {
    /// Says what is where.
    pub(crate) fn say(&self, placing: &Placing<'_>, printer: &mut Printer) {
        for placement in &self.placements {
            let place = shown(&placing.packages.places, &placement.path);
            let owners = placement.owners.join(", ");
            let as_what = match &placement.form {
                Form::Link(_) => "as a link",
                Form::Copy(_) => "as a copy",
            };
            let skill = &placement.skill;
            printer.say(&match placement.change {
                Change::Make => format!("placed {skill} in {place} {as_what}, for {owners}"),
                Change::Replace => {
                    format!("placed {skill} in {place} again {as_what}, for {owners}")
                }
                Change::Keep => format!("{skill} is in {place} already, for {owners}"),
                Change::Theirs => {
                    format!("{skill} is in {place} already, by a link that somebody else made")
                }
            });
        }
        // Once for all of them: with hundreds of skills nobody reads it again and again.
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for placement in self.placements.iter().filter(|placement| is_new(placement.change)) {
            if let Some(why) = &placement.why {
                *reasons.entry(why).or_default() += 1;
            }
        }
        for (why, count) in reasons {
            printer.note(&match count {
                1 => format!("it is a copy, because {why}"),
                count => format!("{count} of them are copies, because {why}"),
            });
        }
    }

    /// The same for programs.
    pub(crate) fn wire(&self) -> Vec<Value> {
        let placements = self.placements.iter();
        placements
            .map(|placement| {
                json!({
                    "name": placement.skill.as_str(),
                    "path": placement.path.display().to_string(),
                    "agents": placement.owners,
                    "form": match &placement.form {
                        Form::Link(_) => "link",
                        Form::Copy(_) => "copy",
                    },
                    "change": match placement.change {
                        Change::Make => "made",
                        Change::Replace => "replaced",
                        Change::Keep => "kept",
                        Change::Theirs => "theirs",
                    },
                })
            })
            .collect()
    }

    /// What could not be placed, for programs.
    pub(crate) fn wire_failures(&self) -> Vec<String> {
        self.failures.iter().map(ToString::to_string).collect()
    }

    /// Fails when something could not be placed.
    pub(crate) fn finish(self, printer: &mut Printer) -> Result<(), Error> {
        for theirs in &self.left_alone {
            let what = "has been changed since it was placed, so it is yours and was not renewed";
            printer.warning(&format!("`{theirs}` {what}"));
        }
        let mut failures = self.failures.iter();
        let Some(first) = failures.next() else { return Ok(()) };
        for other in failures {
            printer.warning(&other.to_string());
        }
        Err(failed(first).hint("what was installed stays; the same command again places it"))
    }
}

/// Takes skills out of the folders of agents, before they go from the store: a link that leads nowhere would stay.
pub(crate) fn take_away<'n>(
    packages: &Packages,
    scope: Scope,
    names: impl Iterator<Item = &'n SkillName>,
    printer: &mut Printer,
) -> Result<(), Error> {
    let names: BTreeSet<&SkillName> = names.collect();
    let undone = match placement::undo_all(&packages.places, scope, &names, Owners::All) {
        Err(PlacementError::NoProject) => return Ok(()),
        undone => undone.map_err(|error| failed(&error))?,
    };
    for Undone { skill, path, how } in undone {
        let place = shown(&packages.places, &path);
        match how {
            UndoneHow::Removed => printer.say(&format!("took {skill} out of {place}")),
            UndoneHow::Changed => printer.warning(&format!(
                "`{place}` has been changed since it was placed, so it stays and is yours"
            )),
            UndoneHow::StillNeeded(_) | UndoneHow::Missing => {}
        }
    }
    Ok(())
}

/// A placement that failed, with the code that says why.
fn failed(error: &PlacementError) -> Error {
    let message = error.to_string();
    match error {
        PlacementError::Occupied { .. }
        | PlacementError::Leaves { .. }
        | PlacementError::Record { .. } => Error::refused(message),
        PlacementError::NoProject | PlacementError::NoFolder { .. } => Error::usage(message),
        PlacementError::Copy { .. } | PlacementError::Disk { .. } => Error::failed(message),
    }
}
