//! The seven steps of loading (GAIA §5.1).

use std::fs;

use prowess_engine::{Consent, LoadStep, PythonWorkers, ToolRegistry};
use serde_json::json;

use super::scene::{IMPORT, Scene, children};

fn two_tools() -> Scene {
    let python = format!(
        "{IMPORT}\n@tool\ndef go(text: str = ''):\n    \"\"\"Goes.\"\"\"\n    return 'gone'\n\n@tool\ndef stay(text: str = ''):\n    \"\"\"Stays.\"\"\"\n"
    );
    let mut scene = Scene::module("", &["go", "stay"], &python);
    scene.workers = PythonWorkers::new(2);
    scene
}

#[test]
fn a_skill_is_loaded_in_seven_steps() {
    // GAIA-5.1-1
    let scene = two_tools();
    let mut registry = ToolRegistry::default();
    assert_eq!(scene.load(&mut registry), Ok(vec!["probe/go".to_owned(), "probe/stay".to_owned()]));
    let names: Vec<&str> = registry.short_names().into_keys().collect();
    assert_eq!(names, ["go", "stay"]);
    // Both have the same rights, so that one worker is ready for both.
    assert_eq!(scene.workers.idle(), 1);
    assert_eq!(scene.returned(), json!("gone"));
    assert_eq!(scene.workers.idle(), 1);
}

/// Makes one step fail. What comes of the steps before it stays; of those behind it there is nothing.
fn stops_at(step: LoadStep, spoil: impl FnOnce(&mut Scene, &mut ToolRegistry)) -> String {
    let mut scene = two_tools();
    let mut registry = ToolRegistry::default();
    spoil(&mut scene, &mut registry);
    let before = registry.tools().count();
    let error = scene.load(&mut registry).expect_err("it is spoilt");
    assert_eq!(error.step, step, "{error}");
    assert_eq!(registry.tools().count(), before, "{error}");
    assert_eq!(scene.workers.idle(), 0, "{error}");
    assert_eq!(children(), 0, "{error}");
    assert_eq!(scene.environments(), Vec::<String>::new(), "{error}");
    error.to_string().replace(&scene.root.display().to_string(), "[root]")
}

fn replace(scene: &Scene, file: &str, old: &str, new: &str) {
    let path = format!("probe/{file}");
    let text = fs::read_to_string(scene.root.join(&path)).expect("it is there");
    assert!(text.contains(old), "{text}");
    scene.write(&path, text.replace(old, new));
}

#[test]
fn a_failure_leaves_nothing_of_later_steps() {
    // GAIA-5.1-1
    let mut told = Vec::new();
    told.push(stops_at(LoadStep::Resolve, |scene, _| {
        fs::remove_file(scene.root.join("probe/SKILL.md")).expect("it is ours");
    }));
    told.push(stops_at(LoadStep::Parse, |scene, _| {
        replace(scene, "SKILL.md", "version: 1.0.0", "version: [");
    }));
    told.push(stops_at(LoadStep::Permissions, |scene, _| scene.consent = Consent::None));
    told.push(stops_at(LoadStep::Dependencies, |scene, _| {
        let needs = "requirements: {dependencies: [no-such-package]}\ntools:";
        replace(scene, "SKILL.md", "tools:", needs);
        scene.variables.push(("PIP_NO_INDEX".to_owned(), "1".to_owned()));
    }));
    told.push(stops_at(LoadStep::Import, |scene, _| {
        replace(scene, "tools.py", IMPORT, &format!("{IMPORT}import no_such_module\n"));
    }));
    told.push(stops_at(LoadStep::Import, |scene, _| {
        replace(scene, "tools.py", "def go(", "def go((");
    }));
    told.push(stops_at(LoadStep::Import, |scene, _| {
        replace(scene, "tools.py", IMPORT, "import os\nos._exit(4)\ntool = None\n");
    }));
    // What can be seen without importing is seen before anything is installed.
    told.push(stops_at(LoadStep::Verify, |scene, _| {
        replace(scene, "tools.py", "def stay", "def leave");
        let needs = "requirements: {dependencies: [no-such-package]}\ntools:";
        replace(scene, "SKILL.md", "tools:", needs);
    }));
    told.push(stops_at(LoadStep::Verify, |scene, _| {
        replace(scene, "tools.py", IMPORT, "def tool(function): return function\n");
    }));
    told.push(stops_at(LoadStep::Register, |scene, registry| {
        let skill = scene.skill();
        let elsewhere = scene.root.join("elsewhere");
        registry.register(&skill, "probe", &elsewhere, &skill.tools[..1]).expect("it is empty");
    }));
    let told: Vec<String> =
        told.iter().map(|text| text.lines().take(2).collect::<Vec<_>>().join("\n")).collect();
    insta::assert_snapshot!(told.join("\n\n"), @"
    `[root]/probe` can't be loaded (step 1 of 7, find the skill's folder): there is no SKILL.md

    `probe` can't be loaded (step 2 of 7, read SKILL.md): `version` is a list, expected a SemVer version such as `1.0.0` (write a SemVer version such as `1.0.0`)

    `probe` can't be loaded (step 3 of 7, check the permissions): `probe/go` needs your approval: you have not approved it yet

    `probe` can't be loaded (step 4 of 7, install the Python packages): `pip install` failed:
      ERROR: Could not find a version that satisfies the requirement no-such-package (from versions: none)

    `probe` can't be loaded (step 5 of 7, import tools.py): ModuleNotFoundError: No module named 'no_such_module'

    `probe` can't be loaded (step 5 of 7, import tools.py): expected `)`, found `(` (fix the syntax at this position)

    `probe` can't be loaded (step 5 of 7, import tools.py): the tool ended its process with exit code 4

    `probe` can't be loaded (step 6 of 7, verify the tools): `tools.py` has no function `stay` (add `@tool` and `def stay(…)` to `tools.py`)

    `probe` can't be loaded (step 6 of 7, verify the tools): after the import `go`, `stay` are not decorated with `@tool` of `gaia.agents.base.tools`

    `probe` can't be loaded (step 7 of 7, register the tools): a skill `probe` is already loaded from `[root]/elsewhere`
    ");
}

#[test]
fn the_steps_have_numbers_and_names() {
    let all: Vec<String> =
        LoadStep::ALL.iter().map(|step| format!("{} {}", step.number(), step.name())).collect();
    insta::assert_snapshot!(all.join("\n"), @"
    1 find the skill's folder
    2 read SKILL.md
    3 check the permissions
    4 install the Python packages
    5 import tools.py
    6 verify the tools
    7 register the tools
    ");
}
