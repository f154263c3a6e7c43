//! Entries in settings of agents: what changed in the meantime is left alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use prowess_store::agents;
use prowess_store::mcp_settings::{SettingsAction, plan_install, plan_uninstall};
use prowess_store::places::Scope;

use crate::home::Home;

#[test]
fn a_file_that_changed_since_the_plan_is_left_alone() {
    let home = Home::new();
    let cursor = agents::by_id("cursor").expect("it is known");
    let path = home.write("~/.cursor/mcp.json", "{}\n");
    let plan = plan_install(cursor, Scope::User, &home.places, "prowess").expect("a plan");
    fs::write(&path, "{ }\n").expect("it can be written");
    let problem = plan.apply(&home.places).expect_err("it has changed");
    assert_eq!(problem.code, "settings-changed");
    fs::remove_file(&path).expect("it can be removed");
    assert_eq!(plan.apply(&home.places).expect_err("it is gone").code, "settings-changed");
    // One that was missing and is there now is left alone too.
    let plan = plan_install(cursor, Scope::User, &home.places, "prowess").expect("a plan");
    fs::write(&path, "{ }\n").expect("it can be written");
    assert_eq!(plan.apply(&home.places).expect_err("it is new").code, "settings-changed");
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "{ }\n");
}

#[test]
fn the_mode_stays_and_an_update_leads_back_to_the_beginning() {
    let home = Home::new();
    let codex = agents::by_id("codex").expect("it is known");
    let path = home.write("~/.codex/config.toml", "a = 1");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it can be set");
    for command in ["/old/prowess", "/new/prowess"] {
        let plan = plan_install(codex, Scope::User, &home.places, command).expect("a plan");
        plan.apply(&home.places).expect("it is written");
    }
    assert!(fs::read_to_string(&path).expect("it is there").contains("/new/prowess"));
    assert_eq!(path.metadata().expect("it is there").permissions().mode() & 0o777, 0o640);
    let plan = plan_uninstall(codex, Scope::User, &home.places).expect("a plan");
    assert_eq!(plan.action, SettingsAction::Remove);
    plan.apply(&home.places).expect("it is written");
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "a = 1");
}

#[test]
fn a_program_of_another_name_undoes_what_it_wrote() {
    let home = Home::new();
    let cursor = agents::by_id("cursor").expect("it is known");
    let path = home.write("~/.cursor/mcp.json", "{}\n");
    for action in [SettingsAction::Add, SettingsAction::Nothing] {
        let plan = plan_install(cursor, Scope::User, &home.places, "/opt/prowess-1.0");
        let plan = plan.expect("a plan");
        assert_eq!(plan.action, action);
        plan.apply(&home.places).expect("it is written");
    }
    let plan = plan_uninstall(cursor, Scope::User, &home.places).expect("a plan");
    plan.apply(&home.places).expect("it is written");
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "{}\n");
    // What somebody else wrote under the name is not removed.
    let other = "{\"mcpServers\": {\"prowess\": {\"command\": \"other\"}}}\n";
    fs::write(&path, other).expect("it can be written");
    let refused = plan_uninstall(cursor, Scope::User, &home.places);
    assert!(refused.is_err());
}
