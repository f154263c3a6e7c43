//! Pages made from the code: the reference, completions and manual pages.

use crate::scene;

#[test]
fn the_reference_is_the_same_every_time() {
    let scene = scene();
    let _ = scene.run("generate-docs one");
    let _ = scene.run("generate-docs two");
    let pages: Vec<String> = scene
        .files()
        .lines()
        .filter_map(|path| path.strip_prefix("one/"))
        .map(str::to_owned)
        .collect();
    assert!(pages.len() > 100);
    for page in &pages {
        let text = scene.text(&format!("one/{page}"));
        assert_eq!(text, scene.text(&format!("two/{page}")), "{page}");
        assert!(!text.contains('\r') && text.ends_with('\n'), "{page}");
    }
    for page in [
        "cli.md",
        "diagnostics/index.md",
        "diagnostics/invalid-name.md",
        "dialects/gaia.md",
        "schemas/gaia.json",
    ] {
        assert!(pages.iter().any(|known| known == page), "{page}");
    }
}

#[test]
fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = scene().stdout(&format!("completions {shell}"));
        assert!(script.contains("prowess") && script.contains("PROWESS_COMPLETE"), "{shell}");
    }
}

/// What a shell offers for the last of these words.
fn completed(scene: &prowess_testkit::Scene, words: &[&str]) -> Vec<String> {
    let words = [&["--", "prowess"], words].concat();
    let output = scene
        .command(&words)
        .env("PROWESS_COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 2).to_string())
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn names_of_skills_agents_and_clients_are_completed() {
    let scene = crate::machine().file("work/greet/SKILL.md", crate::skill("greet"));
    assert!(scene.run("install ./greet --allow-experimental").starts_with("exit 0"));
    let verbs = completed(&scene, &["c"]);
    assert!(
        verbs.contains(&"check".to_owned()) && verbs.contains(&"convert".to_owned()),
        "{verbs:?}"
    );
    let all = completed(&scene, &[""]);
    assert!(!all.contains(&"generate-docs".to_owned()), "hidden verbs are not offered: {all:?}");
    for verb in ["update", "remove", "info", "which", "outdated"] {
        assert_eq!(completed(&scene, &[verb, "gr"]), ["greet"], "{verb}");
    }
    assert_eq!(completed(&scene, &["verify", "gr"]), ["greet", "greet/"]);
    assert_eq!(completed(&scene, &["install", "--agent", "codex,claude"]), ["codex,claude-code"]);
    assert_eq!(completed(&scene, &["check", "--for", "gem"]), ["gemini"]);
}

#[test]
fn manual_pages_are_written_for_every_verb() {
    let scene = scene();
    assert!(scene.run("man --output pages").starts_with("exit 0"));
    let files = scene.files();
    assert!(
        files.contains("pages/prowess.1") && files.contains("pages/prowess-check.1"),
        "{files}"
    );
    assert!(!files.contains("generate-docs") && !files.contains("help"), "{files}");
    let footer = concat!("\"prowess ", env!("CARGO_PKG_VERSION"), "\"");
    for (page, title) in [("man", ".TH prowess 1 "), ("man check", ".TH prowess-check 1 ")] {
        let text = scene.stdout(page);
        let line = text.lines().find(|line| line.starts_with(".TH")).unwrap_or_default();
        assert!(line.starts_with(title) && line.contains(footer), "{line}");
        assert!(!text.contains("prowess\\-help"), "{page}");
    }
    for verb in ["help", "generate-docs", "nothing"] {
        assert!(scene.run(&format!("man {verb}")).starts_with("exit 3"), "{verb}");
    }
}

#[test]
fn every_attack_in_the_table_has_a_test() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/design/installing.md")).expect("a page");
    let sources: String = prowess_testkit::files_below(&root.join("crates"), &|name| {
        std::path::Path::new(name).extension().is_some_and(|extension| extension == "rs")
    })
    .iter()
    .map(|file| String::from_utf8_lossy(&prowess_testkit::bytes(file)).into_owned())
    .collect();
    for number in 1..=24 {
        let start = format!("| registry-C{number} ");
        let row = page.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("registry-C{number} is not in the table"));
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().expect("a column");
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{row}");
        for name in names {
            assert!(
                sources.contains(&format!("fn {name}(")),
                "registry-C{number}: there is no test `{name}`"
            );
        }
    }
}

/// Files of library crates that name a flag or a verb of the terminal in a string, and why they may.
const NAMING_FLAGS: &[(&str, &str)] = &[
    ("prowess-format/src/client.rs", "what each client makes of a file is a report of `check`"),
    ("prowess-format/src/convert.rs", "a note about the dialect that has to be named"),
    ("prowess-format/src/migrate.rs", "a report of `migrate`"),
    ("prowess-library/src/file.rs", "several tool packs in one folder"),
    ("prowess-package/src/tar_format.rs", "an option of tar"),
    ("prowess-registry/src/backup.rs", "where a damaged package is explained"),
    ("prowess-registry/src/manage/keys.rs", "which file a publisher has to upload"),
    ("prowess-registry/src/publish/check.rs", "the next step of a publisher on another machine"),
    ("prowess-sandbox/src/linux/host.rs", "the AppArmor profile that `doctor` prints"),
    ("prowess-sandbox/src/linux/mod.rs", "the AppArmor profile that `doctor` prints"),
    ("prowess-sandbox/src/linux/probe.rs", "the output of `doctor` belongs to a bug report"),
    ("prowess-sources/src/git/place.rs", "a hostile address that looks like an option"),
    ("prowess-sources/src/registry/account.rs", "where a missing token is saved"),
    ("prowess-store/src/composition.rs", "diagnostics of `agent check`"),
    ("prowess-store/src/reference.rs", "a hostile address that looks like an option"),
    ("prowess-store/src/review.rs", "a question about a skill with errors"),
    ("prowess-trust/src/error.rs", "where a missing key is added"),
    ("prowess-trust/src/key_file.rs", "where a missing key is made"),
    ("prowess-trust/src/material.rs", "forms of public keys"),
    ("prowess-trust/src/trust_store/file.rs", "where the trust store is shown"),
];

#[test]
fn libraries_name_no_flags_and_no_verbs() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_source = |name: &str| {
        let path = std::path::Path::new(name);
        path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs"
    };
    let mut naming = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(&crates).expect("a folder of crates") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.starts_with("prowess-") || name == "prowess-testkit" {
            continue;
        }
        for file in prowess_testkit::files_below(&path.join("src"), &is_source) {
            let text = String::from_utf8_lossy(&prowess_testkit::bytes(&file)).into_owned();
            let names_one = |line: &str| {
                let line = line.trim_start();
                let is_string = line.contains('"') && !line.starts_with("//");
                is_string
                    && (line.contains("`prowess ") || line.replace("`---", "").contains("`--"))
            };
            if text.lines().any(names_one) {
                let below = file.strip_prefix(&crates).expect("a file of a crate");
                naming.insert(below.to_string_lossy().into_owned());
            }
        }
    }
    // A library's error offers remedies as values; `render/problem_text.rs` turns them into flags and verbs.
    let allowed = NAMING_FLAGS.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(naming, allowed);
}

/// Every page of the reference, which includes the help texts and the pages of `prowess explain`.
#[test]
fn the_reference_contains_no_internal_codes() {
    let scene = scene();
    let _ = scene.run("generate-docs out");
    let folder = scene.path().join("out");
    let pages = prowess_testkit::files_below(&folder, &|_| true);
    assert!(pages.len() > 100);
    for page in pages {
        let text = String::from_utf8(prowess_testkit::bytes(&page)).expect("a page is UTF-8");
        let codes = prowess_testkit::internal_codes(&text);
        assert!(codes.is_empty(), "{}: {codes:?}", page.display());
    }
}

/// Every finding in every fixture, as `prowess check` prints it.
#[test]
fn printed_findings_contain_no_internal_codes() {
    let fixtures = prowess_testkit::fixtures();
    let printed = scene().stdout(&format!("check --format json {}", fixtures.display()));
    let printed: serde_json::Value = serde_json::from_str(&printed).expect("the report is JSON");
    let mut texts = Vec::new();
    messages(&printed, &mut texts);
    assert!(texts.len() > 500, "{}", texts.len());
    for text in texts {
        let codes = prowess_testkit::internal_codes(text);
        assert!(codes.is_empty(), "{codes:?} in {text}");
    }
}

/// The values of all `message`, `help` and `title` keys.
fn messages<'v>(value: &'v serde_json::Value, texts: &mut Vec<&'v str>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| messages(item, texts)),
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(text) if ["message", "help", "title"].contains(&key.as_str()) => {
                        texts.push(text);
                    }
                    _ => messages(value, texts),
                }
            }
        }
        _ => {}
    }
}
