//! Skills in the folders of agents, for people.

use std::collections::BTreeMap;

use prowess_library::packages::PlacementReport;
use prowess_store::placement::{
    Placement, PlacementChange, PlacementDestination, PlacementForm, RemovalOutcome,
    RemovedPlacement,
};
use prowess_store::places::Places;
use serde_json::{Value, json};

use super::inventory_text::shown;
use crate::error::Error;
use crate::terminal::printer::Printer;

/// A place that a skill would get.
pub(crate) fn destination(destination: &PlacementDestination, places: &Places) -> String {
    let place = shown(places, &destination.path);
    let form = if destination.is_copy { "as a copy" } else { "as a link" };
    let (skill, owners) = (&destination.skill, destination.owners.join(", "));
    match &destination.in_the_way {
        Some(what) => format!(
            "{skill} would be placed in {place} for {owners}, but {what} that we did not place is in the way"
        ),
        None => format!("{skill} would be placed in {place} {form}, for {owners}"),
    }
}

/// A place that a skill would get, for programs.
pub(crate) fn destination_json(destination: &PlacementDestination) -> Value {
    json!({
        "name": destination.skill.as_str(),
        "path": destination.path.display().to_string(),
        "agents": destination.owners,
        "form": if destination.is_copy { "copy" } else { "link" },
        "in_the_way": destination.in_the_way,
    })
}

/// Reports where skills were placed.
pub(crate) fn say(report: &PlacementReport, places: &Places, printer: &mut Printer) {
    for placement in &report.placements {
        printer.say(&line(placement, places));
    }
    // Once for all of them: with hundreds of skills nobody reads it again and again.
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let is_new = |placement: &&Placement| match placement.change {
        PlacementChange::Make | PlacementChange::Replace => true,
        PlacementChange::Keep | PlacementChange::Theirs => false,
    };
    for placement in report.placements.iter().filter(is_new) {
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

fn line(placement: &Placement, places: &Places) -> String {
    let place = shown(places, &placement.path);
    let owners = placement.owners.join(", ");
    let form = match &placement.form {
        PlacementForm::Link(_) => "as a link",
        PlacementForm::Copy(_) => "as a copy",
    };
    let skill = &placement.skill;
    match placement.change {
        PlacementChange::Make => format!("placed {skill} in {place} {form}, for {owners}"),
        PlacementChange::Replace => {
            format!("placed {skill} in {place} again {form}, for {owners}")
        }
        PlacementChange::Keep => format!("{skill} is in {place} already, for {owners}"),
        PlacementChange::Theirs => {
            format!("{skill} is in {place} already, by a link that somebody else made")
        }
    }
}

/// Fails if something could not be placed, and warns of places that were left alone.
pub(crate) fn finish(
    report: &PlacementReport,
    places: &Places,
    printer: &mut Printer,
) -> Result<(), Error> {
    for path in &report.left_alone {
        let place = shown(places, path);
        printer.warning(&format!(
            "`{place}` was changed after it was placed, so it is yours and was not renewed"
        ));
    }
    let mut failures = report.failures.iter();
    let Some(first) = failures.next() else { return Ok(()) };
    for other in failures {
        printer.warning(&other.message);
    }
    Err(Error::from(first.clone())
        .hint("what was installed stays; run the command again to place it"))
}

/// Reports what was removed from the folders of agents.
pub(crate) fn say_removed(removed: &[RemovedPlacement], places: &Places, printer: &mut Printer) {
    for RemovedPlacement { skill, path, how } in removed {
        let place = shown(places, path);
        match how {
            RemovalOutcome::Removed => printer.say(&format!("removed {skill} from {place}")),
            RemovalOutcome::Changed => printer.warning(&format!(
                "`{place}` was changed after it was placed, so it is yours and stays"
            )),
            RemovalOutcome::StillNeeded(_) | RemovalOutcome::Missing => {}
        }
    }
}
