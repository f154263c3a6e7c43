//! Skills in the folders of agents: put there, shared, exchanged, taken away, and never anybody else's.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use insta::assert_snapshot;
use prowess_files::faults::{self, Exchange, Fault};
use prowess_package::name::SkillName;
use prowess_store::agents::{self, Agent};
use prowess_store::placement::{
    Placement, PlacementChange, PlacementError, PlacementForm, PlacementMode, PlacementOwners,
    PlacementRequest, RemovedPlacement, apply, apply_all, placed, plan, undo, undo_all,
};
use prowess_store::places::{Places, Scope};

use crate::home::Home;

pub(crate) fn name(text: &str) -> SkillName {
    text.parse().expect("a name")
}

pub(crate) fn named(ids: &str) -> Vec<&'static Agent> {
    ids.split_whitespace().map(|id| agents::by_id(id).expect("an agent of the table")).collect()
}

/// A skill of the project's store with a file that is executable.
pub(crate) fn installed(home: &Home) {
    home.skill(".prowess/skills/deploy");
    let script = home.write(".prowess/skills/deploy/scripts/run.sh", "#!/bin/sh\necho hi\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("a mode can be set");
}

fn place_as(
    home: &Home,
    agents: &str,
    mode: PlacementMode,
) -> Result<Vec<Placement>, PlacementError> {
    let directory = home.path(".prowess/skills/deploy");
    let request = PlacementRequest {
        skill: &name("deploy"),
        directory: &directory,
        agents: &named(agents),
        scope: Scope::Project,
        mode,
    };
    let planned = plan(&home.places, &request);
    let applied = apply(&home.places, &request);
    if let (Ok(planned), Ok(applied)) = (&planned, &applied) {
        assert_eq!(planned, applied, "what was announced is what was done");
    }
    applied
}

fn place(home: &Home, agents: &str) -> Vec<Placement> {
    place_as(home, agents, PlacementMode::AsSeen).expect("it can be placed")
}

fn take(home: &Home, agents: &str) -> Vec<RemovedPlacement> {
    let agents = named(agents);
    let owners =
        if agents.is_empty() { PlacementOwners::All } else { PlacementOwners::Only(&agents) };
    undo(&home.places, Scope::Project, &name("deploy"), owners).expect("it can be taken away")
}

/// Everything below the project but our own store, one line each.
pub(crate) fn tree(home: &Home) -> String {
    fn walk(folder: &Path, prefix: &str, text: &mut String) {
        let mut entries: Vec<_> =
            fs::read_dir(folder).expect("a folder can be listed").flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().expect("it has a kind");
            if path == ".prowess" {
                continue;
            }
            if kind.is_symlink() {
                let target = fs::read_link(entry.path()).expect("a link leads somewhere");
                let _ = writeln!(text, "{path} -> {}", target.display());
            } else if kind.is_dir() {
                let _ = writeln!(text, "{path}/");
                walk(&entry.path(), &format!("{path}/"), text);
            } else {
                let mode = entry.metadata().expect("it has a mode").permissions().mode() & 0o777;
                let _ = writeln!(text, "{path} {mode:o}");
            }
        }
    }
    let mut text = String::new();
    walk(&home.path(""), "", &mut text);
    text
}

fn record(home: &Home) -> String {
    fs::read_to_string(home.path(".prowess/placements.json")).expect("the list was written")
}

#[test]
fn agents_that_see_links_get_one_and_those_that_share_a_folder_share_it() {
    let home = Home::new();
    installed(&home);
    let placements = place(&home, "claude-code codex zed");
    assert_eq!(placements.len(), 2);
    assert_snapshot!(tree(&home), @r"
    .agents/
    .agents/skills/
    .agents/skills/deploy -> ../../.prowess/skills/deploy
    .claude/
    .claude/skills/
    .claude/skills/deploy -> ../../.prowess/skills/deploy
    ");
    assert_snapshot!(record(&home), @r#"
    {
      "version": 1,
      "placements": [
        {
          "skill": "deploy",
          "path": ".agents/skills/deploy",
          "link": "../../.prowess/skills/deploy",
          "owners": [
            "codex",
            "zed"
          ]
        },
        {
          "skill": "deploy",
          "path": ".claude/skills/deploy",
          "link": "../../.prowess/skills/deploy",
          "owners": [
            "claude-code"
          ]
        }
      ],
      "folders": [
        ".agents",
        ".agents/skills",
        ".claude",
        ".claude/skills"
      ]
    }
    "#);
    // Twice is once.
    let before = (tree(&home), record(&home));
    let again = place(&home, "claude-code codex zed");
    assert!(again.iter().all(|placement| placement.change == PlacementChange::Keep));
    assert_eq!((tree(&home), record(&home)), before);
    // One owner leaves, the other keeps it; the last one takes the folders along.
    assert_snapshot!(format!("{:?}", take(&home, "codex")[0].how), @r#"StillNeeded(["zed"])"#);
    assert!(home.path(".agents/skills/deploy").is_symlink());
    take(&home, "");
    assert_eq!(tree(&home), "");
    assert!(home.path(".prowess/skills/deploy/SKILL.md").is_file(), "the skill itself stays");
    assert_eq!(take(&home, ""), []);
}

#[test]
fn an_agent_that_does_not_see_links_gets_a_copy_and_so_does_who_shares_its_folder() {
    let home = Home::new();
    installed(&home);
    place(&home, "codex");
    assert!(home.path(".agents/skills/deploy").is_symlink());
    let placements = place(&home, "cursor");
    assert_eq!(placements[0].change, PlacementChange::Replace);
    assert_eq!(placements[0].owners, ["codex", "cursor"]);
    let why = placements[0].why.as_deref().expect("it is a copy");
    assert!(why.starts_with("Cursor is reported not to see links"), "{why}");
    assert_snapshot!(tree(&home), @r"
    .agents/
    .agents/skills/
    .agents/skills/deploy/
    .agents/skills/deploy/SKILL.md 644
    .agents/skills/deploy/scripts/
    .agents/skills/deploy/scripts/run.sh 755
    ");
    // What running a skill leaves behind is not a change, and is not copied.
    home.write(".agents/skills/deploy/__pycache__/x.pyc", "cache");
    assert_eq!(place(&home, "cursor")[0].change, PlacementChange::Keep);
    // An update of the skill is an update of the copy.
    home.write(".prowess/skills/deploy/notes.md", "new\n");
    assert_eq!(place(&home, "cursor")[0].change, PlacementChange::Replace);
    assert!(home.path(".agents/skills/deploy/notes.md").is_file());
    assert!(!home.path(".agents/skills/deploy/__pycache__").exists());
    take(&home, "");
    assert_eq!(tree(&home), "");
}

#[test]
fn links_and_copies_can_be_asked_for() {
    let home = Home::new();
    installed(&home);
    let form = |mode| place_as(&home, "cursor", mode).expect("placed")[0].form.clone();
    assert!(matches!(form(PlacementMode::Link), PlacementForm::Link(_)));
    assert!(matches!(form(PlacementMode::Copy), PlacementForm::Copy(_)));
    take(&home, "");
    let claude = |mode| place_as(&home, "claude-code", mode).expect("placed")[0].form.clone();
    assert!(matches!(claude(PlacementMode::Copy), PlacementForm::Copy(_)));
    // Whoever asked for a copy keeps it until a link is asked for.
    assert!(matches!(claude(PlacementMode::AsSeen), PlacementForm::Copy(_)));
    assert!(matches!(claude(PlacementMode::Link), PlacementForm::Link(_)));
}

#[test]
fn where_the_file_system_has_no_links_there_is_a_copy() {
    const NOT_PERMITTED: i32 = 1;
    let apply_at = |home: &Home, fault| {
        let directory = home.path(".prowess/skills/deploy");
        let request = PlacementRequest {
            skill: &name("deploy"),
            directory: &directory,
            agents: &named("claude-code"),
            scope: Scope::Project,
            mode: PlacementMode::AsSeen,
        };
        faults::with(fault, Exchange::Real, || apply(&home.places, &request))
    };
    let home = Home::new();
    installed(&home);
    let (_, steps) = apply_at(&home, None);
    let symlink = steps.iter().position(|step| step.starts_with("symlink"));
    let symlink = symlink.expect("a link was made");
    let home = Home::new();
    installed(&home);
    let (placed, _) = apply_at(&home, Some((symlink, Fault::FailOnce(NOT_PERMITTED))));
    let placement = placed.expect("there is another way").remove(0);
    assert!(matches!(placement.form, PlacementForm::Copy(_)));
    assert_eq!(placement.why.as_deref(), Some("the file system has no links"));
    assert!(home.path(".claude/skills/deploy/scripts/run.sh").is_file());
    take(&home, "");
    assert_eq!(tree(&home), "");
}

#[test]
fn what_somebody_else_made_is_never_replaced_or_removed() {
    let check = |what: &str, prepare: &dyn Fn(&Home)| {
        let home = Home::new();
        installed(&home);
        prepare(&home);
        let before = tree(&home);
        // The second agent could be served, and is not: all or nothing.
        let error = place_as(&home, "claude-code kiro-cli", PlacementMode::AsSeen);
        let error = home.without_paths(&error.expect_err(what).to_string());
        assert_eq!(tree(&home), before, "{what}");
        assert_eq!(take(&home, ""), [], "{what}");
        assert_eq!(tree(&home), before, "{what}");
        error
    };
    let folder = |home: &Home| {
        home.skill(".claude/skills/deploy");
    };
    assert_snapshot!(check("a folder", &folder), @"`.claude/skills/deploy` is a folder, which prowess does not manage: move or rename it");
    let link = |home: &Home| home.link(".claude/skills/deploy", "../../elsewhere");
    assert_snapshot!(check("a link", &link), @"`.claude/skills/deploy` is a link to `../../elsewhere`, which prowess does not manage: move or rename it");
    let file = |home: &Home| {
        home.write(".claude/skills/deploy", "a file");
    };
    assert_snapshot!(check("a file", &file), @"`.claude/skills/deploy` is a file, which prowess does not manage: move or rename it");
}

#[test]
fn the_same_link_of_somebody_else_is_fine_and_stays_theirs() {
    let home = Home::new();
    installed(&home);
    home.link(".claude/skills/deploy", "../../.prowess/skills/deploy");
    let before = tree(&home);
    assert_eq!(place(&home, "claude-code")[0].change, PlacementChange::Theirs);
    assert_eq!(take(&home, ""), []);
    assert_eq!(tree(&home), before);
}

#[test]
fn what_was_changed_since_is_left_to_who_changed_it() {
    for (agents, change) in [
        ("cursor", "edit"),
        ("cursor", "add"),
        ("cursor", "remove"),
        ("cursor", "link inside"),
        ("claude-code", "other link"),
        ("claude-code", "own folder"),
    ] {
        let home = Home::new();
        installed(&home);
        let placement = place(&home, agents).remove(0);
        let path = placement.path.clone();
        match change {
            "edit" => fs::write(path.join("SKILL.md"), "mine").expect("written"),
            "add" => fs::write(path.join("mine.md"), "mine").expect("written"),
            "remove" => fs::remove_file(path.join("scripts/run.sh")).expect("removed"),
            "link inside" => symlink("/etc", path.join("etc")).expect("linked"),
            "other link" => {
                fs::remove_file(&path).expect("removed");
                symlink("../../mine", &path).expect("linked");
            }
            _ => {
                fs::remove_file(&path).expect("removed");
                fs::create_dir(&path).expect("made");
                fs::write(path.join("SKILL.md"), "mine").expect("written");
            }
        }
        let before = tree(&home);
        let refused = place_as(&home, agents, PlacementMode::AsSeen);
        assert!(matches!(refused, Err(PlacementError::Occupied { .. })), "{change}: {refused:?}");
        let undone = take(&home, "");
        assert_eq!(format!("{:?}", undone[0].how), "Changed", "{change}");
        assert_eq!(tree(&home), before, "{change}");
        assert_eq!(placed(&home.places, Scope::Project).expect("a list"), [], "{change}");
    }
    let home = Home::new();
    installed(&home);
    fs::remove_file(&place(&home, "claude-code")[0].path).expect("removed");
    assert_eq!(format!("{:?}", take(&home, "")[0].how), "Missing");
}

#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    let check = |link: &str, target: &str| {
        let home = Home::new();
        installed(&home);
        fs::create_dir_all(home.path("/victim/skills")).expect("a folder can be made");
        fs::create_dir_all(home.path("~/.ssh")).expect("a folder can be made");
        home.link(link, home.path(target));
        let before = (tree(&home), listing(&home.path("/victim")), listing(&home.path("~/.ssh")));
        let error = place_as(&home, "claude-code", PlacementMode::Copy).expect_err("it leads out");
        assert!(matches!(error, PlacementError::Leaves { .. }), "{error}");
        let after = (tree(&home), listing(&home.path("/victim")), listing(&home.path("~/.ssh")));
        assert_eq!(after, before);
    };
    // Attack registry-B14: a repository that somebody else wrote.
    check(".claude", "/victim");
    check(".claude/skills", "/victim/skills");
    check(".claude/skills", "~/.ssh");
    // A link that stays inside is how people share folders.
    let home = Home::new();
    installed(&home);
    fs::create_dir_all(home.path(".agents/skills")).expect("a folder can be made");
    home.link(".claude/skills", "../.agents/skills");
    let placements = place(&home, "claude-code codex");
    assert_eq!(placements.len(), 1, "two folders that are one");
    assert_eq!(placements[0].owners, ["claude-code", "codex"]);
    take(&home, "");
    assert!(!home.path(".agents/skills/deploy").is_symlink());
    // Our own folder of a project may be planted as well.
    let home = Home::new();
    home.skill("/elsewhere/skills/deploy");
    home.link(".prowess", home.path("/elsewhere"));
    let error = place_as(&home, "claude-code", PlacementMode::Link).expect_err("it leads out");
    assert!(matches!(error, PlacementError::Leaves { .. }), "{error}");
    assert_eq!(listing(&home.path("/elsewhere")), ["skills"]);
}

/// Attack registry-B14: a folder becomes a link between the look and the write.
#[test]
fn a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere() {
    const ROUNDS: usize = 100;
    let home = Home::in_memory();
    installed(&home);
    let (victim, real, aside) =
        (home.path("/victim"), home.path(".claude/skills"), home.path(".claude/aside"));
    fs::create_dir_all(&victim).expect("a folder can be made");
    fs::create_dir_all(&real).expect("a folder can be made");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::rename(&real, &aside);
                let _ = symlink(&victim, &real);
                let _ = fs::remove_file(&real);
                let _ = fs::rename(&aside, &real);
            }
        });
        for round in 0..ROUNDS {
            // Either may fail; neither may get out.
            let mode = if round % 2 == 0 { PlacementMode::Copy } else { PlacementMode::Link };
            let directory = home.path(".prowess/skills/deploy");
            let request = PlacementRequest {
                skill: &name("deploy"),
                directory: &directory,
                agents: &named("claude-code"),
                scope: Scope::Project,
                mode,
            };
            let _ = apply(&home.places, &request);
            let _ = undo(&home.places, Scope::Project, &name("deploy"), PlacementOwners::All);
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(listing(&victim), [""; 0]);
}

fn listing(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder can be listed").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_list_that_names_other_places_is_refused_whole() {
    let check = |path: &str, skill: &str, folders: &str| {
        let home = Home::new();
        installed(&home);
        let victim = home.skill("~/precious/deploy");
        home.link("~/precious/link", "deploy");
        let row = format!(
            r#"{{"skill": "{skill}", "path": "{path}", "link": "deploy", "owners": ["claude-code"]}}"#
        );
        let text = format!(r#"{{"version": 1, "placements": [{row}], "folders": {folders}}}"#);
        home.write(".prowess/placements.json", &text);
        let before = tree(&home);
        let error = undo(&home.places, Scope::Project, &name("deploy"), PlacementOwners::All);
        let error = error.expect_err("the list is wrong");
        assert!(matches!(error, PlacementError::Record { .. }), "{error}");
        assert!(place_as(&home, "claude-code", PlacementMode::AsSeen).is_err());
        assert_eq!(tree(&home), before);
        assert!(victim.join("SKILL.md").is_file() && home.path("~/precious/link").is_symlink());
        home.without_paths(&error.to_string())
    };
    // Attack registry-B13.
    check("../precious/link", "deploy", "[]");
    check(".claude/skills/../../../precious/link", "deploy", "[]");
    check("/etc/deploy", "deploy", "[]");
    check(".claude/skills/other", "deploy", "[]");
    check(".claude/skills/../deploy", "..", "[]");
    check(".claude/skills/deploy", "deploy", r#"["../precious"]"#);
    assert_snapshot!(check("src/deploy", "deploy", "[]"), @"`.prowess/placements.json` is invalid: `placements[0]`: `src/deploy` is not `deploy` in an agent's folder; correct it, or remove it and the placements that it lists");
    let home = Home::new();
    installed(&home);
    for (text, told) in [
        ("{", "EOF"),
        ("{}", "`version` is missing"),
        (r#"{"version": 2, "placements": []}"#, "version 2"),
        (r#"{"version": 1}"#, "`placements` is not a list"),
    ] {
        home.write(".prowess/placements.json", text);
        let error = place_as(&home, "claude-code", PlacementMode::AsSeen).expect_err("it is wrong");
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn a_user_has_folders_of_their_own() {
    let mut home = Home::new();
    home.skill("~/.local/share/prowess/skills/deploy");
    home.places.variables.insert("CLAUDE_CONFIG_DIR".to_owned(), home.path("/claude"));
    fs::create_dir(home.path("/claude")).expect("a folder can be made");
    let directory = home.path("~/.local/share/prowess/skills/deploy");
    let place = |places: &Places, agents: &str, scope| {
        let (skill, agents) = (&name("deploy"), &named(agents));
        let mode = PlacementMode::AsSeen;
        apply(places, &PlacementRequest { skill, directory: &directory, agents, scope, mode })
    };
    let placements = place(&home.places, "codex claude-code", Scope::User).expect("placed");
    assert_eq!(placements.len(), 2);
    let link = |path: &str| fs::read_link(home.path(path)).expect("a link");
    let codex = link("~/.agents/skills/deploy");
    assert_eq!(codex, Path::new("../../.local/share/prowess/skills/deploy"));
    let claude = link("/claude/skills/deploy");
    assert_eq!(claude, Path::new("../../home/.local/share/prowess/skills/deploy"));
    let error = place(&home.places, "eve", Scope::User).expect_err("it has none");
    assert_snapshot!(error, @"Eve has no folder of the user: place the skill in a project");
    undo(&home.places, Scope::User, &name("deploy"), PlacementOwners::All).expect("taken away");
    assert!(!home.path("~/.agents").exists() && !home.path("/claude/skills").exists());
    home.places.project = None;
    let nowhere = place(&home.places, "codex", Scope::Project);
    assert!(matches!(nowhere, Err(PlacementError::NoProject)));
}

#[test]
fn a_skill_that_is_not_there_or_holds_links_is_not_placed() {
    let home = Home::new();
    assert!(place_as(&home, "claude-code", PlacementMode::AsSeen).is_err());
    installed(&home);
    symlink("/etc/passwd", home.path(".prowess/skills/deploy/passwd")).expect("linked");
    let error = place_as(&home, "cursor", PlacementMode::AsSeen).expect_err("it holds a link");
    assert!(matches!(error, PlacementError::Copy { .. }), "{error}");
    assert_eq!(tree(&home), "");
}

#[test]
fn whoever_places_at_the_same_time_waits_and_nothing_is_lost() {
    let home = Home::in_memory();
    installed(&home);
    let ids = ["claude-code", "codex", "cursor", "kiro-cli", "roo", "zed"];
    std::thread::scope(|scope| {
        for id in ids {
            let home = &home;
            scope.spawn(move || {
                let directory = home.path(".prowess/skills/deploy");
                let request = PlacementRequest {
                    skill: &name("deploy"),
                    directory: &directory,
                    agents: &named(id),
                    scope: Scope::Project,
                    mode: PlacementMode::AsSeen,
                };
                apply(&home.places, &request).expect("it can be placed")
            });
        }
    });
    let list = placed(&home.places, Scope::Project).expect("a list");
    let mut owners: Vec<&str> =
        list.iter().flat_map(|it| it.owners.iter().map(String::as_str)).collect();
    owners.sort_unstable();
    assert_eq!(owners, ids);
    let shared = list.iter().find(|it| it.owners.contains(&"cursor".to_owned()));
    assert!(matches!(shared.expect("it is there").form, PlacementForm::Copy(_)));
    take(&home, "");
    assert_eq!(tree(&home), "");
}

/// Every write, link, sync and rename fails once, alone and with all later ones: then there is the old state or the new
/// one, nobody else's things are untouched, and the next call and `undo` find everything.
#[test]
fn whatever_step_fails_the_old_state_or_the_new_one_is_there() {
    const DISK_FULL: i32 = 28;
    let both: &[Fault] = &[Fault::FailOnce(DISK_FULL), Fault::FailFrom(DISK_FULL)];
    for (exchange, kinds) in [(Exchange::Real, both), (Exchange::Missing, &both[..1])] {
        let mut at = 0;
        loop {
            let mut reached = 0;
            for &fault in kinds {
                let home = Home::in_memory();
                installed(&home);
                home.skill(".claude/skills/theirs");
                home.skill(".agents/skills/theirs");
                place(&home, "codex");
                let before = tree(&home);
                let wished = "claude-code cursor kiro-cli";
                let (result, steps) = faults::with(Some((at, fault)), exchange, || {
                    let directory = home.path(".prowess/skills/deploy");
                    let request = PlacementRequest {
                        skill: &name("deploy"),
                        directory: &directory,
                        agents: &named(wished),
                        scope: Scope::Project,
                        mode: PlacementMode::AsSeen,
                    };
                    apply(&home.places, &request)
                });
                reached = steps.len();
                let after = tree(&home);
                if result.is_err() && fault == Fault::FailOnce(DISK_FULL) {
                    assert_eq!(after, before, "{at} {exchange:?}: {steps:?}");
                }
                for theirs in [".claude/skills/theirs", ".agents/skills/theirs"] {
                    assert!(home.path(theirs).join("SKILL.md").is_file());
                }
                place(&home, wished);
                let whole = tree(&home);
                assert!(!whole.contains("staging"), "{at} {exchange:?} {fault:?}: {whole}");
                assert!(whole.contains(".kiro/skills/deploy ->"), "{whole}");
                take(&home, "");
                let left = tree(&home);
                assert!(!left.contains("deploy"), "{at} {exchange:?} {fault:?}: {left}\n{steps:?}");
            }
            if reached <= at {
                break;
            }
            at += 1;
        }
        assert!(at > 10, "there were steps to fail");
    }
}

/// Skills of the project's store.
fn many(home: &Home, count: usize) -> Vec<SkillName> {
    let names: Vec<SkillName> = (0..count).map(|number| name(&format!("skill-{number}"))).collect();
    for skill in &names {
        home.skill(&format!(".prowess/skills/{skill}"));
    }
    names
}

fn place_many(
    home: &Home,
    skills: &[SkillName],
    agents: &str,
) -> Result<Vec<Result<Vec<Placement>, PlacementError>>, PlacementError> {
    let agents = named(agents);
    let folders: Vec<_> =
        skills.iter().map(|skill| home.path(&format!(".prowess/skills/{skill}"))).collect();
    let requests: Vec<PlacementRequest<'_>> = skills
        .iter()
        .zip(&folders)
        .map(|(skill, directory)| PlacementRequest {
            skill,
            directory,
            agents: &agents,
            scope: Scope::Project,
            mode: PlacementMode::AsSeen,
        })
        .collect();
    apply_all(&home.places, &requests)
}

/// Placing and removing hundreds of skills is as much work for each as for one: the list of all of them is written as
/// often for twelve as for four.
#[test]
fn placing_many_is_linear() {
    let counted = |count: usize| {
        let home = Home::new();
        let skills = many(&home, count);
        let agents = "claude-code codex cursor";
        let (placed, placing) =
            faults::with(None, Exchange::Real, || place_many(&home, &skills, agents));
        assert!(placed.expect("the list is fine").iter().all(Result::is_ok));
        let names = skills.iter().collect();
        let (undone, undoing) = faults::with(None, Exchange::Real, || {
            undo_all(&home.places, Scope::Project, &names, PlacementOwners::All)
        });
        // Two of the three share a folder.
        assert_eq!(undone.expect("it can be taken away").len(), 2 * count);
        assert_eq!(tree(&home), "");
        let lists = |steps: &[String]| {
            steps.iter().filter(|step| step.starts_with("rename placements.json")).count()
        };
        ((placing.len(), undoing.len()), (lists(&placing), lists(&undoing)))
    };
    let ((place_4, undo_4), lists_4) = counted(4);
    let ((place_8, undo_8), _) = counted(8);
    let ((place_12, undo_12), lists_12) = counted(12);
    assert_eq!(lists_4, lists_12, "the list is written as often for many as for few");
    assert!(lists_12.0 > 0 && lists_12.1 > 0, "and it is written at all");
    assert_eq!(place_12 - place_8, place_8 - place_4);
    assert_eq!(undo_12 - undo_8, undo_8 - undo_4);
}

#[test]
fn one_of_many_that_fails_keeps_no_other_from_its_place() {
    let home = Home::new();
    let skills = many(&home, 3);
    home.skill(".claude/skills/skill-1");
    let outcomes = place_many(&home, &skills, "claude-code codex").expect("the list is fine");
    let is_placed: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(is_placed, [true, false, true]);
    assert_snapshot!(tree(&home), @"
    .agents/
    .agents/skills/
    .agents/skills/skill-0 -> ../../.prowess/skills/skill-0
    .agents/skills/skill-2 -> ../../.prowess/skills/skill-2
    .claude/
    .claude/skills/
    .claude/skills/skill-0 -> ../../.prowess/skills/skill-0
    .claude/skills/skill-1/
    .claude/skills/skill-1/SKILL.md 644
    .claude/skills/skill-2 -> ../../.prowess/skills/skill-2
    ");
    let known: Vec<String> = placed(&home.places, Scope::Project)
        .expect("a list")
        .iter()
        .map(|it| it.skill.to_string())
        .collect();
    assert_eq!(known, ["skill-0", "skill-2", "skill-0", "skill-2"]);
}

/// Two requests for one place are fulfilled one after the other: the second sees what the first has made.
#[test]
fn wishes_may_meet_at_a_place() {
    let home = Home::new();
    installed(&home);
    let (skill, directory) = (name("deploy"), home.path(".prowess/skills/deploy"));
    let (codex, zed) = (named("codex"), named("zed"));
    let request = |agents| PlacementRequest {
        skill: &skill,
        directory: &directory,
        agents,
        scope: Scope::Project,
        mode: PlacementMode::AsSeen,
    };
    let outcomes =
        apply_all(&home.places, &[request(&codex), request(&zed)]).expect("the list is fine");
    let changes: Vec<PlacementChange> =
        outcomes.iter().map(|outcome| outcome.as_ref().expect("it is placed")[0].change).collect();
    assert_eq!(changes, [PlacementChange::Make, PlacementChange::Keep]);
    let known = placed(&home.places, Scope::Project).expect("a list");
    assert_eq!(known.len(), 1);
    assert_eq!(known[0].owners, ["codex", "zed"]);
}

/// Each step of placing several fails once: every skill is there for all its agents or for none, as its answer says.
#[test]
fn each_of_many_is_placed_whole_or_not_at_all() {
    const DISK_FULL: i32 = 28;
    let mut at = 0;
    loop {
        let home = Home::in_memory();
        let skills = many(&home, 2);
        let fault = Some((at, Fault::FailOnce(DISK_FULL)));
        let (result, steps) = faults::with(fault, Exchange::Real, || {
            place_many(&home, &skills, "claude-code cursor")
        });
        let there = tree(&home);
        for (number, skill) in skills.iter().enumerate() {
            let is_there =
                |folder: &str| home.path(&format!("{folder}/{skill}/SKILL.md")).is_file();
            let is_placed = result.as_ref().is_ok_and(|outcomes| outcomes[number].is_ok());
            let folders = [".claude/skills", ".agents/skills"].map(is_there);
            assert_eq!(folders, [is_placed; 2], "{at}: {there}\n{steps:?}");
        }
        assert!(!there.contains("staging"), "{at}: {there}\n{steps:?}");
        if steps.len() <= at {
            break;
        }
        at += 1;
    }
    assert!(at > 15, "there were steps to fail");
}
