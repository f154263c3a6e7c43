//! `prowess list`: the skills of this machine.

use std::fmt::Write as _;

use clap::Args;
use prowess_library::packages::{Inventory, MissingSkill, SkillState};
use prowess_policy::Tier;
use prowess_store::agents::{self, Agent};
use prowess_store::discovery::{FoundSkill, RootKind};
use prowess_store::places::{Places, Scope};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::Outcome;
use crate::error::Error;
use crate::packages::options::{Format, ScopeOption};
use crate::packages::scope::ScopedPackages;
use crate::render::inventory_text::{first_problem, problems, shown};
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// List the skills of this machine
///
/// First those that are installed in the project and for you, then those in the
/// folders of agents and of other systems, which are only looked at. Of several
/// skills with one name the first counts, and the others are shown as shadowed, or
/// as placed where they are copies that were put there for an agent. A skill that
/// can't be used is shown as broken, with the reason; one that has errors and that
/// clients load all the same as errors, with these clients; one that was signed and has
/// been changed since as changed; one that the lock file names and nobody finds as
/// missing.
///
/// The tier is told of skills that were installed, and is what signatures prove
/// now. `prowess verify` looks at the files of the others as well.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess list
  prowess list --project
  prowess list --user
  prowess list --agents
  prowess list --format json

Exit codes:
  0  all of them can be used
  4  some are broken, changed or missing")]
pub(crate) struct Arguments {
    /// Only those that are installed in the project
    #[arg(long)]
    project: bool,
    /// Only those that are installed for you
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// Show which agents find each skill
    #[arg(long)]
    agents: bool,
    /// Also show agents that are not on this machine, and every way to a skill
    #[arg(long)]
    all: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// On a terminal, a name or version that is longer than this and than half a line moves the rest of its own line only.
const WIDEST: usize = 28;

/// What one skill says about itself in a line.
struct Row {
    name: String,
    version: String,
    tier: &'static str,
    state: &'static str,
    place: String,
    details: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let scoped = ScopedPackages::open(ScopeOption::new(arguments.project, arguments.user))?;
    let packages = &scoped.packages;
    let places = packages.places();
    let inventory = packages.inventory();
    for warning in &inventory.warnings {
        printer.warning(warning);
    }
    let present = agents::present(places);
    let present = (!arguments.all).then_some(present.as_slice());
    let only = (arguments.project || arguments.user).then(|| scoped.scope());
    let is_meant = |found: &&FoundSkill| match (only, inventory.listing.roots[found.root].kind) {
        (None, _)
        | (Some(Scope::Project), RootKind::Project)
        | (Some(Scope::User), RootKind::User) => true,
        (Some(_), _) => false,
    };
    let skills: Vec<&FoundSkill> = inventory.listing.skills.iter().filter(is_meant).collect();
    let is_listed = |missing: &&MissingSkill| only.is_none_or(|only| missing.scope == only);
    let missing: Vec<&MissingSkill> = inventory.missing.iter().filter(is_listed).collect();
    match arguments.format {
        Format::Json => {
            let skills: Vec<Value> = skills
                .iter()
                .map(|&found| {
                    let agents = || inventory.agents(found, present);
                    wire(&inventory, found, arguments.agents.then(agents))
                })
                .chain(missing.iter().map(|missing| wire_missing(missing)))
                .collect();
            let notes: Vec<Value> = inventory
                .listing
                .notes
                .iter()
                .map(|note| json!({"path": note.path.display().to_string(), "message": note.why}))
                .collect();
            let mut object = packages.scope_json(scoped.choice);
            object["skills"] = skills.into();
            object["notes"] = notes.into();
            printer.json(&object);
        }
        Format::Text => {
            printer.say(&scoped.overview_line());
            for note in &inventory.listing.notes {
                let path = shown(places, &note.path);
                printer.warning(&format!("`{path}`: {}", note.why));
            }
            if skills.is_empty() && missing.is_empty() {
                printer.note("there are no skills here");
                printer.hint("`prowess install ./folder` installs one, `prowess new` makes one");
            }
            let rows: Vec<Row> = skills
                .iter()
                .map(|&found| row(places, &inventory, found, arguments, present))
                .chain(missing.iter().map(|missing| missing_row(places, missing)))
                .collect();
            printer.report(&table(&rows, printer.width(Channel::Out)));
        }
    }
    let has_broken = skills.iter().any(|found| inventory.state(found) == SkillState::Broken);
    let is_changed = |found: &&FoundSkill| inventory.state(found) == SkillState::Changed;
    let has_drifted = !missing.is_empty() || skills.iter().any(is_changed);
    if arguments.format == Format::Text && has_broken {
        printer.hint("`prowess check FOLDER` shows everything that is wrong with a broken skill");
    }
    if arguments.format == Format::Text && has_drifted {
        printer.hint("`prowess verify` says what is not as it was installed, and what to do");
    }
    Ok(if has_broken || has_drifted { Outcome::Broken } else { Outcome::Fine })
}

fn missing_row(places: &Places, missing: &MissingSkill) -> Row {
    Row {
        name: missing.name.to_string(),
        version: missing.version.clone(),
        tier: "-",
        state: SkillState::Missing.as_str(),
        place: shown(places, &missing.directory),
        details: Vec::new(),
    }
}

fn row(
    places: &Places,
    inventory: &Inventory,
    found: &FoundSkill,
    arguments: &Arguments,
    present: Option<&[&Agent]>,
) -> Row {
    let mut details = Vec::new();
    if let Some(problem) = first_problem(found) {
        details.push(match found.summary.loaded_by.as_slice() {
            [] => format!("broken: {problem}"),
            clients => format!("{problem}; loaded all the same by {}", clients.join(", ")),
        });
    }
    let state = inventory.state(found);
    let owners = inline(&inventory.placed_for(found).join(", ")).into_owned();
    // A copy of ours is no second opinion about a name: one line says all there is to say.
    if let Some(winner) = inventory.winner(found).filter(|_| state != SkillState::Placed) {
        details.push(format!("shadowed by {}", shown(places, &winner.directory)));
    }
    if !owners.is_empty() && state != SkillState::Placed {
        details.push(format!("a copy that was placed for {owners}"));
    }
    if arguments.all {
        let ways = found.also_at.iter();
        details.extend(ways.map(|way| format!("also at {}", shown(places, &way.directory))));
    }
    if arguments.agents {
        let agents = inventory.agents(found, present);
        let agents = if agents.is_empty() { "none".to_owned() } else { agents.join(", ") };
        details.push(format!("agents: {agents}"));
    }
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    Row {
        name: inline(&found.name).into_owned(),
        version: or_dash(inventory.version(found).map(|version| inline(&version).into_owned())),
        tier: inventory.tier(found).map_or("-", Tier::as_str),
        state: state.as_str(),
        place: match state {
            SkillState::Placed => format!("{}, for {owners}", shown(places, &found.directory)),
            _ => shown(places, &found.directory),
        },
        details,
    }
}

/// Every skill begins a line, and what else there is to say stands below it, further in. So `grep -v '^ '` gives one line
/// per skill.
fn table(rows: &[Row], width: Option<usize>) -> String {
    let most = width.map_or(usize::MAX, |width| WIDEST.max(width / 2));
    let widest = |column: fn(&Row) -> &str| {
        let widths = rows.iter().map(|row| column(row).width());
        widths.filter(|width| *width <= most).max().unwrap_or_default()
    };
    let columns: [fn(&Row) -> &str; 4] =
        [|row| &row.name, |row| &row.version, |row| row.tier, |row| row.state];
    let widths = columns.map(widest);
    let mut page = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, width) in columns.iter().zip(widths) {
            let text = column(row);
            let spaces = width.saturating_sub(text.width()) + 2;
            let _ = write!(line, "{text}{:spaces$}", "");
        }
        line.push_str(&row.place);
        let _ = writeln!(page, "{}", wrap(&line, 4, width));
        for detail in &row.details {
            let _ = writeln!(page, "{}", wrap(&format!("  {detail}"), 4, width));
        }
    }
    page
}

fn wire(inventory: &Inventory, found: &FoundSkill, agents: Option<Vec<&'static str>>) -> Value {
    let root = &inventory.listing.roots[found.root];
    let path = |path: &std::path::Path| path.display().to_string();
    let mut skill = json!({
        "name": found.name,
        "version": inventory.version(found),
        "description": found.summary.description,
        "dialect": found.summary.dialect,
        "security_tier": inventory.tier(found).map(Tier::as_str),
        "state": inventory.state(found).as_str(),
        "directory": path(&found.directory),
        "root": {
            "kind": root.kind.as_str(),
            "path": path(&root.path),
            "scope": root.scope.map(Scope::as_str),
        },
        "shadowed_by": inventory.winner(found).map(|winner| path(&winner.directory)),
        "also_at": found.also_at.iter().map(|way| path(&way.directory)).collect::<Vec<String>>(),
        "placed_for": inventory.placed_for(found),
        "problems": problems(found),
        "loaded_by": found.summary.loaded_by,
    });
    if let Some(agents) = agents {
        skill["agents"] = json!(agents);
    }
    skill
}

fn wire_missing(missing: &MissingSkill) -> Value {
    json!({
        "name": missing.name.as_str(),
        "version": missing.version,
        "state": SkillState::Missing.as_str(),
        "directory": missing.directory.display().to_string(),
    })
}
