//! A process that is killed while it places a skill, or takes one away.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use prowess_files::faults::{self, Exchange, Fault};
use prowess_store::placement::{
    PlacementError, PlacementMode, PlacementOwners, PlacementRequest, apply, undo,
};
use prowess_store::places::{Places, Scope};

use crate::home::Home;
use crate::placing::{installed, name, named, tree};

const TOP: &str = "PROWESS_PLACING_TOP";
const ACTION: &str = "PROWESS_PLACING_ACTION";
const STEP: &str = "PROWESS_PLACING_STEP";
const EXCHANGE: &str = "PROWESS_PLACING_EXCHANGE";

fn act(places: &Places, action: &str) -> Result<(), PlacementError> {
    if action == "undo" {
        return undo(places, Scope::Project, &name("deploy"), PlacementOwners::All).map(|_| ());
    }
    let directory = places.store(Scope::Project).expect("there is a project").join("deploy");
    let request = PlacementRequest {
        skill: &name("deploy"),
        directory: &directory,
        agents: &named(action),
        scope: Scope::Project,
        mode: PlacementMode::AsSeen,
    };
    apply(places, &request).map(|_| ())
}

/// Makes a link into a copy, and makes a link in a folder that is not there.
const PLACE: &str = "claude-code cursor";

/// A project with the skill in one folder, and skills of somebody else.
fn seeded() -> Home {
    let home = Home::in_memory();
    installed(&home);
    home.skill(".agents/skills/theirs");
    act(&home.places, "codex").expect("it can be placed");
    home
}

/// The process that is killed. Its parent is [`killed_anywhere_nothing_is_lost_or_left`].
#[test]
#[ignore = "kills its process; another test starts it"]
fn victim() {
    let variable = |name| std::env::var(name).expect("the parent sets it");
    let places = Home::places_in(&PathBuf::from(variable(TOP)));
    let exchange = if variable(EXCHANGE) == "Real" { Exchange::Real } else { Exchange::Missing };
    let fault = (variable(STEP).parse().expect("a number"), Fault::Kill);
    let (result, _) = faults::with(Some(fault), exchange, || act(&places, &variable(ACTION)));
    panic!("it was not killed: {result:?}");
}

fn kill(home: &Home, action: &str, step: usize, exchange: Exchange) {
    let output = Command::new(std::env::current_exe().expect("this is a program"))
        .args(["--exact", "placing_killed::victim", "--ignored", "--nocapture"])
        .env(TOP, home.outside())
        .env(ACTION, action)
        .env(STEP, step.to_string())
        .env(EXCHANGE, format!("{exchange:?}"))
        .output()
        .expect("it can be started");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.signal(), Some(9), "{action} {step}: {told}");
}

/// Whether what an agent sees under the name is the whole skill.
fn is_whole(deploy: &Path) -> bool {
    deploy.join("SKILL.md").is_file()
        && fs::read(deploy.join("scripts/run.sh")).is_ok_and(|text| text.ends_with(b"hi\n"))
}

#[test]
fn killed_anywhere_nothing_is_lost_or_left() {
    for exchange in [Exchange::Real, Exchange::Missing] {
        for action in [PLACE, "undo"] {
            let undisturbed = seeded();
            let (result, steps) = faults::with(None, exchange, || act(&undisturbed.places, action));
            result.expect("nothing disturbs it");
            assert!(steps.len() > 5, "{steps:?}");
            for (step, what) in steps.iter().enumerate() {
                let home = seeded();
                kill(&home, action, step, exchange);
                let shown = format!("{action} {exchange:?} {step}: {what}");
                let deploy = home.path(".agents/skills/deploy");
                let is_there = deploy.symlink_metadata().is_ok();
                assert!(!is_there || is_whole(&deploy), "{shown}: half a skill");
                if action == PLACE && exchange == Exchange::Real {
                    assert!(is_there, "{shown}: what was there is there, old or new");
                }
                assert!(home.path(".agents/skills/theirs/SKILL.md").is_file(), "{shown}");
                // Whatever is done next finds everything.
                if step % 2 == 0 {
                    act(&home.places, PLACE).unwrap_or_else(|error| panic!("{shown}: {error}"));
                    for folder in [".agents/skills/deploy", ".claude/skills/deploy"] {
                        assert!(is_whole(&home.path(folder)), "{shown}: {folder}");
                    }
                }
                act(&home.places, "undo").unwrap_or_else(|error| panic!("{shown}: {error}"));
                assert_eq!(
                    tree(&home),
                    ".agents/\n.agents/skills/\n.agents/skills/theirs/\n\
                     .agents/skills/theirs/SKILL.md 644\n",
                    "{shown}"
                );
                assert!(
                    is_whole(&home.path(".prowess/skills/deploy")),
                    "{shown}: the skill itself"
                );
            }
        }
    }
}
