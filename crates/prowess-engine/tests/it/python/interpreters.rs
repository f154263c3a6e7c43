//! Finding the Python to run in.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::scene::Scene;

fn system_python() -> PathBuf {
    Path::new("/usr/bin/python3").canonicalize().expect("Python is needed for its tools")
}

const WHERE: &str = "import sys\nreturn [sys.executable, sys.base_prefix]";

#[test]
fn a_version_that_is_not_there_is_told_before_anything_runs() {
    let scene = Scene::with("requirements:\n  python: \">=3.99\"\n", "return 1");
    let error = scene.call("go", &Value::Null).expect_err("there is none");
    let text = error.to_string();
    let start = "`probe` can't be loaded (step 4 of 7, install the Python packages): it needs Python >=3.99, but there is only 3.";
    assert!(text.starts_with(start), "{text}");
    assert_eq!(error.exit_code(), 125);
    let remedies = error.remedies();
    assert!(remedies[0].to_string().contains("uv python install"), "{remedies:?}");
    let mut scene = scene;
    scene.path = "/nowhere".to_owned();
    let error = scene.call("go", &Value::Null).expect_err("there is none");
    assert!(error.to_string().ends_with("there is no `python3` on PATH"), "{error}");
}

#[test]
fn what_a_version_manager_starts_is_found() {
    let mut scene = Scene::body(WHERE);
    let shim = scene.root.join("shims/python3");
    scene.write("shims/python3", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n");
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).expect("it is ours");
    scene.path = scene.root.join("shims").display().to_string();
    assert_eq!(scene.returned(), json!([system_python(), "/usr"]));
}

#[test]
fn an_interpreter_with_a_folder_of_its_own_works() {
    // As `uv` and `pyenv` install them: below the home, with a library beside the image.
    let mut scene = Scene::body(&format!("import json, ssl, sqlite3\n{WHERE}"));
    let prefix = scene.root.join("home/.pythons/3");
    fs::create_dir_all(prefix.join("bin")).expect("it can be made");
    fs::create_dir_all(prefix.join("lib")).expect("it can be made");
    let system = system_python();
    let name = system.file_name().expect("it has a name");
    let own = prefix.join("bin").join(name);
    fs::copy(&system, &own).expect("it can be copied");
    symlink(name, prefix.join("bin/python3")).expect("a link can be made");
    symlink(Path::new("/usr/lib").join(name), prefix.join("lib").join(name)).expect("a link");
    scene.path = prefix.join("bin").display().to_string();
    assert_eq!(scene.returned(), json!([own, prefix]));
}

#[test]
fn an_answer_is_asked_for_once() {
    let scene = Scene::body("return 1");
    assert_eq!(scene.returned(), json!(1));
    let known = scene.root.join("home/.cache/prowess/interpreters.json");
    let before = fs::metadata(&known).and_then(|data| data.modified()).expect("it is remembered");
    assert_eq!(scene.returned(), json!(1));
    let after = fs::metadata(&known).and_then(|data| data.modified()).expect("it is still there");
    assert_eq!(before, after);
    // Nonsense is asked for again.
    fs::write(&known, "{\"version\": 1, \"interpreters\": {\"x\": 7}}").expect("it is ours");
    assert_eq!(scene.returned(), json!(1));
}
