//! Packages in environments of their own.

use std::fs;
use std::process::Command;

use prowess_core::{Event, RunOutcome};
use serde_json::{Value, json};

use super::scene::Scene;

/// Makes packages as files in a folder: a wheel, and one that exists as source only.
const MAKE: &str = r#"
import io, sys, tarfile, zipfile
folder = sys.argv[1]
info = "words_of_wisdom-1.2.0.dist-info"
with zipfile.ZipFile(f"{folder}/words_of_wisdom-1.2.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("wisdom.py", "def say(): return 'less is more'\n")
    wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: words-of-wisdom\nVersion: 1.2.0\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", f"wisdom.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
with tarfile.open(f"{folder}/runs_at_install-1.0.tar.gz", "w:gz") as source:
    for name, text in {
        "setup.py": f"open('{folder}/marker', 'w')\nfrom setuptools import setup\nsetup(name='runs-at-install', version='1.0')\n",
        "PKG-INFO": "Metadata-Version: 2.1\nName: runs-at-install\nVersion: 1.0\n",
    }.items():
        entry = tarfile.TarInfo(f"runs_at_install-1.0/{name}")
        entry.size = len(text)
        source.addfile(entry, io.BytesIO(text.encode()))
"#;

/// A skill that needs a package, and a folder with packages instead of an index.
fn needing(package: &str, body: &str) -> Scene {
    let mut scene = Scene::with(&format!("requirements:\n  dependencies: [\"{package}\"]\n"), body);
    let folder = scene.root.join("wheels");
    fs::create_dir(&folder).expect("it can be made");
    let made = Command::new("/usr/bin/python3").args(["-I", "-c", MAKE]).arg(&folder).status();
    assert!(made.expect("Python is there").success());
    let folder = folder.display().to_string();
    scene.variables.extend([
        ("PATH".to_owned(), scene.path.clone()),
        ("PIP_NO_INDEX".to_owned(), "1".to_owned()),
        ("PIP_FIND_LINKS".to_owned(), folder),
        // The user's own settings for other places must not matter.
        ("PIP_TARGET".to_owned(), "/nowhere".to_owned()),
        ("PIP_NO_BINARY".to_owned(), ":all:".to_owned()),
        ("PYTHONPATH".to_owned(), "/nowhere".to_owned()),
    ]);
    scene
}

const SAY: &str = "import wisdom, sys\nreturn [wisdom.say(), 'pip' in sys.modules]";

fn environment(scene: &Scene) -> std::path::PathBuf {
    let [name] = scene.environments().try_into().expect("there is one environment");
    scene.root.join("home/.local/share/prowess/venvs").join(name)
}

#[test]
fn a_package_is_installed_once_and_found_inside() {
    let scene = needing("words-of-wisdom>=1.0", SAY);
    let (envelope, events) = scene.call("go", &Value::Null).expect("it starts");
    assert_eq!(envelope.parsed, Some(json!(["less is more", false])), "{envelope:#?}");
    let told = events.iter().find_map(|event| match event {
        Event::Thought(thought) => thought.message.clone(),
        _ => None,
    });
    let told = told.expect("it says what takes so long");
    assert!(told.starts_with("installing words-of-wisdom>=1.0 for Python 3."), "{told}");
    let place = environment(&scene);
    // GAIA §7.1: what was asked for, and what came of it.
    let text = |name: &str| fs::read_to_string(place.join(name)).expect("it is written");
    assert_eq!(text("requirements.in"), "words-of-wisdom>=1.0\n");
    assert_eq!(text("requirements.txt"), "words-of-wisdom==1.2.0\n");
    // Nothing is left to be looked up.
    fs::remove_dir_all(scene.root.join("wheels")).expect("it is ours");
    let (envelope, events) = scene.call("go", &Value::Null).expect("it starts");
    assert_eq!(envelope.parsed, Some(json!(["less is more", false])));
    assert!(!events.iter().any(|event| matches!(event, Event::Thought(_))), "{events:?}");
}

#[test]
fn without_packages_there_is_no_environment() {
    let scene = Scene::body("return 1");
    assert_eq!(scene.returned(), json!(1));
    assert_eq!(scene.environments(), Vec::<String>::new());
}

#[test]
fn two_at_once_build_one_environment() {
    let scene = needing("words-of-wisdom", SAY);
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..2).map(|_| scope.spawn(|| scene.returned())).collect();
        for call in calls {
            assert_eq!(call.join().expect("it ends"), json!(["less is more", false]));
        }
    });
    environment(&scene);
}

#[test]
fn a_package_that_is_not_there_leaves_nothing() {
    let scene = needing("no-such-package==1.0", "return 1");
    let (envelope, _) = scene.call("go", &Value::Null).expect("it was allowed");
    assert_eq!((envelope.outcome, envelope.exit_code), (RunOutcome::Refused, 125));
    let error = envelope.error.expect("it is told");
    let start = "`probe` can't be loaded (step 4 of 7, install the Python packages): `pip install` failed:\n";
    assert!(error.starts_with(start), "{error}");
    assert!(error.contains("No matching distribution found for no-such-package==1.0"), "{error}");
    assert_eq!(scene.environments(), Vec::<String>::new());
}

#[test]
fn source_is_never_built() {
    // Building would run the package's own code, outside any walls.
    let scene = needing("runs-at-install", "return 1");
    let (envelope, _) = scene.call("go", &Value::Null).expect("it was allowed");
    assert!(envelope.error.expect("it is told").contains("No matching distribution"));
    assert!(!scene.root.join("wheels/marker").exists());
    assert_eq!(scene.environments(), Vec::<String>::new());
}

#[test]
fn a_list_that_would_do_more_is_refused_unread() {
    let scene = needing("--index-url=http://127.0.0.1:1/", "return 1");
    let error = scene.call("go", &Value::Null).expect_err("it is no package").to_string();
    assert!(error.ends_with("is not a package that can be installed: it is an option"), "{error}");
    assert_eq!(scene.environments(), Vec::<String>::new());
}

#[test]
fn what_an_interrupted_installation_left_is_cleared_away() {
    let scene = needing("words-of-wisdom", SAY);
    assert_eq!(scene.returned(), json!(["less is more", false]));
    let place = environment(&scene);
    fs::remove_file(place.join("requirements.txt")).expect("it is ours");
    fs::create_dir(place.with_extension("new")).expect("it can be made");
    fs::write(place.with_extension("new").join("half"), "").expect("it can be written");
    assert_eq!(scene.returned(), json!(["less is more", false]));
    assert!(environment(&scene).join("requirements.txt").is_file());
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
fn uv_is_used_where_it_is() {
    let Some(uv) = std::env::var_os("PROWESS_UV") else {
        eprintln!("SKIPPED: PROWESS_UV is not set, `cargo xtask test` sets it");
        return;
    };
    let mut scene = needing("words-of-wisdom", SAY);
    let bin = scene.root.join("bin");
    fs::create_dir(&bin).expect("it can be made");
    std::os::unix::fs::symlink(uv, bin.join("uv")).expect("it can be linked");
    scene.path = format!("{}:{}", bin.display(), scene.path);
    // What pip was told about indexes counts for uv; settings for other places must not matter.
    scene.variables.push(("UV_TARGET".to_owned(), "/nowhere".to_owned()));
    scene.variables.push(("UV_NO_BINARY".to_owned(), "1".to_owned()));
    assert_eq!(scene.returned(), json!(["less is more", false]));
    let place = environment(&scene);
    let settings = fs::read_to_string(place.join("pyvenv.cfg")).expect("it is an environment");
    assert!(settings.contains("\nuv = "), "uv has made it: {settings}");
    let exact = fs::read_to_string(place.join("requirements.txt")).expect("what was installed");
    assert_eq!(exact, "words-of-wisdom==1.2.0\n");
    // Source would be built with all rights of the user, by uv as by pip.
    let source = Scene { path: scene.path.clone(), ..needing("runs-at-install", "return 1") };
    let error = source.error();
    assert!(error.contains("runs-at-install"), "{error}");
    assert!(!source.root.join("wheels/marker").exists(), "nothing of it ran");
    // What uv was told itself counts more.
    let mut own = Scene { path: scene.path.clone(), ..needing("words-of-wisdom", SAY) };
    own.variables.push(("UV_FIND_LINKS".to_owned(), own.root.join("home").display().to_string()));
    let error = own.error();
    assert!(error.contains("words-of-wisdom"), "{error}");
}

#[test]
fn no_name_leads_out_of_the_folder_of_environments() {
    // NEG-1: whatever a skill is called, what is prepared for it lies in our own folders.
    let scene = needing("words-of-wisdom>=1.0", SAY);
    let file = scene.root.join("probe/SKILL.md");
    let text = fs::read_to_string(&file).expect("it is there");
    let outside = |scene: &Scene| {
        let ours = ["home/.local/share/prowess", "home/.cache/prowess"];
        let all = prowess_testkit::files_below(&scene.root, &|_| true);
        let foreign = all
            .into_iter()
            .filter(|file| !ours.iter().any(|folder| file.starts_with(scene.root.join(folder))));
        foreign.collect::<Vec<_>>()
    };
    let before = outside(&scene);
    let mut ran = 0;
    for name in ["../../../x", "/../x", "a/../../../b", "\"..\""] {
        fs::write(&file, text.replacen("name: probe", &format!("name: {name}"), 1))
            .expect("it is ours");
        let called = scene.call("go", &Value::Null);
        ran += usize::from(called.is_ok_and(|(envelope, _)| envelope.is_success()));
        let loaded = scene.load(&mut prowess_engine::ToolRegistry::default());
        assert!(outside(&scene) == before, "{name}: {loaded:?} {:?}", outside(&scene));
    }
    // A check refuses such names. The engine does not depend on it: they all ran, in one environment.
    assert_eq!(ran, 4);
    assert_eq!(scene.environments().len(), 1);
}
