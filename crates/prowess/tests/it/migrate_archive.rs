//! `prowess migrate --batch` on a tree like the public archive of OpenClaw skills: `skills/OWNER/NAME`.

use std::collections::BTreeSet;

use prowess_testkit::Scene;
use serde_json::Value;

use crate::scene;

/// The registry's entry of a skill, as the archive has it.
fn entry(owner: &str, slug: &str, version: &str) -> String {
    format!(
        r#"{{"owner": "{owner}", "slug": "{slug}", "displayName": "A name", "latest": {{"version": "{version}", "publishedAt": 1769886515124}}, "history": []}}"#
    )
}

/// A skill of the archive with its entry.
fn with_skill(scene: Scene, path: &str, text: &str) -> Scene {
    let (owner, slug) = path.split_once('/').expect("OWNER/NAME");
    scene
        .file(&format!("skills/{path}/SKILL.md"), text)
        .file(&format!("skills/{path}/_meta.json"), entry(owner, slug, "1.2.3"))
}

fn described(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Says {name}\n---\n\n# A heading\n\nSay it.\n")
}

/// Migrates `skills` to `new`, and returns the report.
fn report(scene: &Scene, more: &str) -> Value {
    let output = scene.stdout(&format!("migrate skills --batch --output new --format json{more}"));
    serde_json::from_str(&output).expect("the report is JSON")
}

fn skill<'r>(report: &'r Value, source: &str) -> &'r Value {
    let skills = report["skills"].as_array().expect("a list");
    let found = skills.iter().find(|skill| {
        skill["source"].as_str().is_some_and(|shown| shown.starts_with(&format!("skills/{source}")))
    });
    found.unwrap_or_else(|| panic!("{source} is not in {report:#}"))
}

fn review(skill: &Value) -> String {
    let items = skill["review"].as_array().expect("a list");
    let lines = items.iter().map(|item| {
        format!(
            "{}: {}\n",
            item["what"].as_str().expect("a text"),
            item["why"].as_str().expect("a text")
        )
    });
    lines.collect()
}

#[test]
fn skills_without_readable_front_matter_are_migrated_as_what_they_are() {
    let unclosed = "---\nname: unclosed\ndescription: Never closed\n\n# Heading\n\nText.\n";
    let cases: &[(&str, &str, &str)] = &[
        // Source, text, and what the result says.
        ("ann/prose", "# A tool\n\nSays what it does.\n", "description: Says what it does."),
        ("ann/marked", "\u{feff}# A tool\n\nBehind a mark.\n", "description: Behind a mark."),
        ("ann/ruler", "---\n\n# A tool\n\nBelow a ruler.\n\n---\n\nMore: text\n", "Below a ruler."),
        (
            "ann/formatted",
            "---\n\n## name: formatted\nversion: 1.0.0\n\n# Formatted\n\nText.\n",
            "description: Text.",
        ),
        ("ann/unclosed", unclosed, "description: Never closed"),
        (
            "ann/empty-map",
            "---\n---\n\n# A tool\n\nWithout fields.\n",
            "description: Without fields.",
        ),
        (
            "ann/half",
            "---\nname: half\ndescription: {{what}}\n---\n\n# Half\n\nText.\n",
            "name: half",
        ),
        (
            "ann/dashes",
            "----\nname: dashes\ndescription: Four of them\n----\n\n# D\n",
            "description: Four of them",
        ),
        (
            "ann/below",
            "# Title\n\n---\nname: below\ndescription: Further down\n---\n\nText.\n",
            "description: Further down",
        ),
        ("ann/colon", "---\nname: colon\ndescription: Two: colons\n---\n\n# C\n", "Two: colons"),
    ];
    let scene = cases.iter().fold(scene(), |scene, (path, text, _)| with_skill(scene, path, text));
    let wide: Vec<u8> = "\u{feff}---\nname: wide\ndescription: Zwölf\n---\n\n# W\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let scene = scene.file("skills/ann/wide/SKILL.md", wide);
    let report = report(&scene, "");
    assert_eq!(report["migrated"], cases.len() + 1, "{report:#}");
    assert!(scene.text("new/wide/SKILL.md").contains("description: Zwölf\n"));
    for (path, text, wanted) in cases {
        let name = path.trim_start_matches("ann/");
        let written = scene.text(&format!("new/{name}/SKILL.md"));
        assert!(written.contains(wanted), "{path}\n{written}");
        assert!(written.contains(&format!("name: {name}\n")), "{path}\n{written}");
        assert!(written.contains("version: 1.2.3\n"), "{path}\n{written}");
        // Not a line of the instructions is lost.
        let body = text.rsplit("---").next().expect("a part").trim();
        let last = body.lines().last().unwrap_or_default();
        assert!(written.contains(last), "{path}\n{written}");
    }
    assert!(review(skill(&report, "ann/prose")).contains("front matter: the source has none"));
    assert!(review(skill(&report, "ann/unclosed")).contains("the front matter is never closed"));
    assert!(scene.run("check new --dialect gaia").starts_with("exit 0"));
}

#[test]
fn a_name_of_several_owners_is_kept_below_each() {
    let scene = with_skill(scene(), "ann/weather", &described("weather"))
        .file("skills/ann/weather/ann.txt", "of ann");
    let scene = with_skill(scene, "bob/weather", &described("weather"))
        .file("skills/bob/weather/bob.txt", "of bob");
    let scene = with_skill(scene, "bob/forecast", &described("weather"));
    let scene = with_skill(scene, "eve/ann", &described("ann"));
    let scene = with_skill(scene, "eve/Shouting_Name", &described("Shouting Name"));
    let scene = with_skill(scene, "eve/tianqi", &described("天气"));
    let before = report(&scene, "");
    assert_eq!(before["migrated"], 6, "{before:#}");
    let folders: BTreeSet<String> = scene
        .files()
        .lines()
        .filter(|path| path.starts_with("new/") && !path.ends_with("_meta.json"))
        .map(str::to_owned)
        .collect();
    let expected = [
        "new/ann/weather/SKILL.md",
        "new/ann/weather/ann.txt",
        "new/bob/forecast/SKILL.md",
        "new/bob/weather/SKILL.md",
        "new/bob/weather/bob.txt",
        "new/eve/ann/SKILL.md",
        "new/shouting-name/SKILL.md",
        "new/tianqi/SKILL.md",
    ];
    assert_eq!(folders, expected.map(str::to_owned).into());
    // The name is the folder's, because one owner has it twice.
    assert!(scene.text("new/bob/forecast/SKILL.md").contains("name: forecast\n"));
    assert!(review(skill(&before, "bob/forecast")).contains("is called `forecast`"));
    assert_eq!(skill(&before, "ann/weather")["owner"], "ann");
    // Again: nothing is replaced unasked, and each is replaced by itself only.
    let again = report(&scene, "");
    assert_eq!((&again["migrated"], &again["skipped"]), (&Value::from(0), &Value::from(6)));
    assert!(
        skill(&again, "eve/ann")["reason"].as_str().expect("a reason").contains("already exists")
    );
    let forced = report(&scene, " --force");
    assert_eq!(forced["migrated"], 6, "{forced:#}");
    let files: Vec<String> = scene.files().lines().map(str::to_owned).collect();
    assert_eq!(
        files
            .iter()
            .filter(|path| path.starts_with("new/") && !path.ends_with("_meta.json"))
            .count(),
        expected.len()
    );
}

#[test]
fn a_folder_of_somebody_else_is_neither_mixed_nor_deleted() {
    let scene = with_skill(scene(), "ann/weather", &described("weather"))
        .file("new/weather/SKILL.md", "of another author")
        .file("new/weather/secret.py", "of another author");
    for force in ["", " --force"] {
        let report = report(&scene, force);
        assert_eq!(report["skipped"], 1, "{report:#}");
        let files = scene.files();
        assert_eq!(scene.text("new/weather/SKILL.md"), "of another author", "{force}");
        assert!(files.contains("new/weather/secret.py") && !files.contains(".prowess-"), "{files}");
    }
    // The same for one skill.
    for force in ["", " --force"] {
        let said = scene.run(&format!("migrate skills/ann/weather --output new{force}"));
        assert!(said.starts_with("exit 1"), "{said}");
        assert_eq!(scene.text("new/weather/SKILL.md"), "of another author", "{force}");
    }
    let reason = report(&scene, " --force");
    let reason = skill(&reason, "ann/weather")["reason"].as_str().expect("a reason").to_owned();
    assert_eq!(
        reason,
        "`new/weather` holds files that are not from this skill, such as `secret.py`"
    );
}

#[test]
fn every_skip_has_its_reason_and_its_source() {
    let conflict = "---\nname: torn\n<<<<<<< ours\ndescription: One\n=======\ndescription: Two\n>>>>>>> theirs\n---\n\n# T\n";
    let scene = with_skill(scene(), "ann/fine", &described("fine"));
    let scene = with_skill(scene, "ann/torn", conflict);
    let scene = with_skill(scene, "ann/empty", "");
    let scene = with_skill(scene, "ann/blank", "---\nname: blank\n---\n\n \n");
    let scene =
        with_skill(scene, "ann/list", "---\n[{name: list, actions: [{name: search\n---\n\n# L\n");
    let scene = with_skill(scene, "ann/binary", "\0\0\0\u{1}\0");
    let scene = scene.file("skills/ann/agent/AGENT.yaml", "id: a\nname: A\n");
    let report = report(&scene, "");
    assert_eq!(
        (&report["total"], &report["migrated"]),
        (&Value::from(7), &Value::from(1)),
        "{report:#}"
    );
    for (source, reason) in [
        ("ann/torn", "line 3: an unresolved merge conflict"),
        ("ann/empty", "it has neither a description nor instructions"),
        ("ann/blank", "it has neither a description nor instructions"),
        ("ann/list", "the front matter can't be read: line 2"),
        ("ann/binary", "line 1: "),
        ("ann/agent", "it is an agent manifest, not a skill"),
    ] {
        let skill = skill(&report, source);
        assert_eq!(skill["status"], "skipped", "{skill}");
        let told = skill["reason"].as_str().expect("a reason");
        assert!(told.starts_with(reason), "{source}: {told}");
    }
    let text = scene.run("migrate skills/ann/fine/SKILL.md --batch --dry-run");
    assert!(text.contains("is a file, not a folder of skills"), "{text}");
    let text = scene.run("migrate skills --batch --dry-run");
    assert!(
        text.contains("skipped skills/ann/torn/SKILL.md: line 3: an unresolved merge conflict\n"),
        "{text}"
    );
    assert!(
        text.starts_with("exit 1") && text.contains("migrated 1 of 7 skills, 6 skipped"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn links_and_files_that_cannot_be_read_are_reported_and_not_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let scene = with_skill(scene(), "ann/fine", &described("fine"))
        .file("outside.txt", "a secret")
        .file("skills/ann/fine/node_modules/x.js", "x")
        .file("skills/ann/fine/data.bin", vec![0; 3 << 20]);
    let scene = with_skill(scene, "ann/unreadable", &described("unreadable"))
        .file("skills/ann/unreadable/key.txt", "x");
    let place = |path: &str| scene.path().join(path);
    symlink(place("outside.txt"), place("skills/ann/fine/link.txt")).expect("a link");
    symlink(place("skills/ann/fine"), place("skills/ann/alias")).expect("a link");
    std::fs::create_dir(place("skills/ann/leaving")).expect("a folder");
    symlink(place("outside.txt"), place("skills/ann/leaving/SKILL.md")).expect("a link");
    let locked = place("skills/ann/unreadable/key.txt");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).expect("a mode");
    let is_readable = std::fs::read(&locked).is_ok(); // By root.
    let report = report(&scene, "");
    let fine = skill(&report, "ann/fine");
    assert_eq!(fine["status"], "migrated");
    let items = review(fine);
    assert!(items.contains("link.txt: it is left out: it is a symbolic link\n"), "{items}");
    assert!(items.contains("node_modules: it is left out: it is not part of a skill\n"), "{items}");
    assert!(!place("new/fine/link.txt").exists() && place("new/fine/data.bin").exists());
    for (source, reason) in [("ann/alias", "symbolic link"), ("ann/leaving", "symbolic link")] {
        let reason_told = skill(&report, source)["reason"].as_str().expect("a reason");
        assert!(reason_told.contains(reason), "{source}: {reason_told}");
    }
    if !is_readable {
        // One file fails: the skill is skipped, and nothing of it is there.
        assert_eq!(skill(&report, "ann/unreadable")["status"], "skipped");
        assert!(!place("new/unreadable").exists());
    }
    assert!(!scene.files().contains(".prowess-"), "{}", scene.files());
}

#[test]
fn the_registry_says_which_version_was_published() {
    let versioned = described("a").replace("---\n\n", "version: 9.0.0\n---\n\n");
    let scene = with_skill(scene(), "ann/a", &versioned);
    let scene = with_skill(scene, "ann/b", &described("b"))
        .file("skills/ann/b/_meta.json", entry("mallory", "b", "2.5"));
    let scene = with_skill(scene, "ann/c", &described("c"))
        .file("skills/ann/c/_meta.json", "{\"version\": [1]}");
    let report = report(&scene, "");
    for (name, version) in [("a", "1.2.3"), ("b", "2.5.0"), ("c", "0.0.0")] {
        let text = scene.text(&format!("new/{name}/SKILL.md"));
        assert!(text.contains(&format!("version: {version}\n")), "{text}");
    }
    let items = review(skill(&report, "ann/a"));
    assert!(items.contains("version: the file says `9.0.0`, `_meta.json` `1.2.3`"), "{items}");
    assert!(items.contains("it was published by `ann`"), "{items}");
    // The archive's folder is the registry's word; a file in it can say anything.
    let other = skill(&report, "ann/b");
    assert_eq!(other["owner"], "ann");
    assert!(review(other).contains("owner: `_meta.json` says `mallory`"), "{}", review(other));
}

#[test]
fn skills_of_other_dialects_are_converted_and_gaia_skills_copied() {
    let scene = scene()
        .copy("examples/git-insights", "skills/ann/git-insights")
        .copy("fixtures/gaia/2.1/web-search", "skills/ann/web-search");
    let original = scene.text("skills/ann/web-search/SKILL.md");
    let report = report(&scene, " --validate");
    assert_eq!(report["migrated"], 2, "{report:#}");
    assert_eq!(skill(&report, "ann/git-insights")["status"], "converted");
    assert_eq!(skill(&report, "ann/web-search")["status"], "copied");
    assert_eq!(scene.text("new/web-search/SKILL.md"), original);
    assert!(scene.text("new/git-insights/SKILL.md").contains("git-insights"));
}

/// The real archive is not part of the repository; the corpus has a sample of it, chosen for its oddities.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#[test]
fn nearly_all_real_skills_are_migrated() {
    let Some(corpus) = prowess_testkit::corpus() else {
        eprintln!("SKIPPED: the corpus is missing beside the repository");
        return;
    };
    let output = scene().stdout(&format!(
        "migrate {} --batch --dry-run --validate --format json",
        corpus.display()
    ));
    let report: Value = serde_json::from_str(&output).expect("the report is JSON");
    let (total, migrated) = (report["total"].as_u64(), report["migrated"].as_u64());
    let (total, migrated) = (total.expect("a number"), migrated.expect("a number"));
    assert!(total > 350 && migrated * 100 >= total * 99, "{migrated} of {total}");
    for skill in report["skills"].as_array().expect("a list") {
        let is_told = skill["status"] != "skipped" || skill["reason"].is_string();
        assert!(is_told && skill["source"].is_string(), "{skill}");
    }
}
