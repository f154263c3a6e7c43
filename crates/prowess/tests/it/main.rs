//! Drives the real binary and looks at everything it says and leaves behind.

mod agent;
mod agent_run;
mod check;
mod check_truth;
mod choosing;
mod claude_code;
mod cloning;
mod convert;
mod docs;
mod doctor;
mod embed;
mod exit_codes;
mod expectations;
mod explain;
mod failing;
mod fix;
mod formats;
#[cfg(target_os = "linux")]
mod guide;
mod guides;
#[cfg(target_os = "linux")]
mod hooks;
mod hostile_texts;
mod importing;
mod info;
mod injected_commands;
mod installing;
mod installing_odd;
mod kb;
mod kb_crash;
mod list;
mod logging;
mod mcp;
mod mcp_settings;
mod mcp_sources;
mod mcp_tools;
mod migrate;
mod migrate_archive;
mod models;
mod models_tls;
mod new;
mod offline;
mod overtaking;
mod packages;
mod packing;
mod placing;
mod projects;
mod prompt;
mod publishing;
mod question_screen;
mod quiz;
mod real_model;
mod reference;
mod references;
mod registry_nodes;
mod removing;
mod render;
mod reviewing;
mod run;
mod run_approvals;
mod run_arguments;
mod run_changes;
mod run_endings;
mod run_grants;
mod run_hostile_names;
mod run_limits;
mod run_messages;
mod run_output;
mod run_planted;
mod run_prompts;
mod run_python;
mod run_secrets;
mod run_standing;
mod run_tool_packs;
mod scanning;
mod scanning_capabilities;
mod scanning_opinions;
mod schema;
mod schema_validators;
mod scripts;
mod serving;
mod show;
mod signing;
mod tampering;
mod traces;
mod trawling;
mod updating;
mod usage;
mod verifying;
mod waiting;
mod which;
mod workflow;

use prowess_testkit::Scene;

/// An empty folder with the binary under test.
fn scene() -> Scene {
    Scene::new(env!("CARGO_BIN_EXE_prowess"))
}

/// A small skill of the open standard.
fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does one thing well\n---\n\n# {name}\n\nDo it.\n")
}

/// A machine with a home in which three agents are used, and a project.
fn machine() -> Scene {
    let scene =
        scene().home("home").inside("work").file("work/.git/HEAD", "ref: refs/heads/main\n");
    for agent in [".claude", ".codex", ".cursor"] {
        std::fs::create_dir_all(scene.path().join("home").join(agent)).expect("a folder");
    }
    scene
}
