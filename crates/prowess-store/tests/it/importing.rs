//! Lock files of other tools.

use std::fmt::Write as _;

use insta::assert_snapshot;
use proptest::prelude::*;
use proptest::{collection, sample};
use prowess_store::import::{self, ImportError, ImportedLock, LockKind};

use crate::home::Home;

fn told(imported: &ImportedLock) -> String {
    let mut text = format!("{:?} by {}\n", imported.kind, imported.kind.tool());
    for skill in &imported.skills {
        let owner = skill.owner.as_deref().map_or_else(String::new, |owner| format!("@{owner}/"));
        let version = skill.version.as_deref().unwrap_or("-");
        let _ = writeln!(text, "{owner}{} {version} from {:?}", skill.name, skill.source);
        for hash in &skill.hashes {
            let _ = writeln!(text, "  {:?} {}", hash.over, hash.text);
        }
        for (key, value) in [
            ("requested", &skill.requested),
            ("installed", &skill.installed_at),
            ("pinned", &skill.pinned),
        ] {
            if let Some(value) = value {
                let _ = writeln!(text, "  {key} {value}");
            }
        }
        for (key, value) in &skill.extra {
            let _ = writeln!(text, "  also {key}: {value}");
        }
    }
    for (key, value) in &imported.extra {
        let _ = writeln!(text, "also {key}: {value}");
    }
    for note in &imported.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn imported(file: &str, json: &str) -> String {
    let home = Home::new();
    let path = home.write(file, json);
    match import::read(&path) {
        Ok(imported) => told(&imported),
        Err(error) => home.without_paths(&error.to_string()),
    }
}

#[test]
fn the_lock_of_a_project_by_the_skills_cli() {
    let text = imported(
        "skills-lock.json",
        r#"{"version": 1, "skills": {
            "deploy": {"source": "acme/skills", "sourceUrl": "https://github.com/acme/skills.git", "ref": "v2",
                "sourceType": "github", "skillPath": "skills/deploy/SKILL.md", "computedHash": "10b13c", "via": "pack"},
            "single-md": {"source": "127.0.0.1", "sourceUrl": "http://127.0.0.1:18081", "sourceType": "well-known",
                "computedHash": "10b13c", "wellKnownDigest": "sha256:f56a"},
            "near": {"source": "./near", "sourceType": "local", "computedHash": "77"},
            "odd": {"source": "left-pad", "sourceType": "node_modules", "computedHash": "88"}}}"#,
    );
    assert_snapshot!(text, @r#"
    SkillsProject by the skills CLI
    deploy - from Git { repository: "https://github.com/acme/skills.git", reference: Some("v2"), path: Some("skills/deploy/SKILL.md") }
      SkillsCli 10b13c
      also via: "pack"
    single-md - from WellKnown("http://127.0.0.1:18081")
      SkillsCli 10b13c
      WellKnown sha256:f56a
    near - from Local("./near")
      SkillsCli 77
    odd - from Other { kind: "node_modules", text: "left-pad" }
      SkillsCli 88
    "#);
}

#[test]
fn the_lock_of_a_user_by_the_skills_cli_and_gh() {
    let text = imported(
        "~/.agents/.skill-lock.json",
        r#"{"version": 3, "skills": {"deploy": {"source": "acme/skills", "sourceType": "github",
            "sourceUrl": "https://github.com/acme/skills", "skillFolderHash": "4b825dc", "pinnedRef": "v1.2.0",
            "installedAt": "2026-03-15T10:30:00Z", "updatedAt": "2026-03-16T10:30:00Z"}},
            "dismissed": {}, "lastSelectedAgents": ["codex"]}"#,
    );
    assert_snapshot!(text, @r#"
    SkillsUser by the skills CLI
    deploy - from Git { repository: "https://github.com/acme/skills", reference: None, path: None }
      GitTree 4b825dc
      installed 2026-03-15T10:30:00Z
      pinned v1.2.0
      also updatedAt: "2026-03-16T10:30:00Z"
    also dismissed: {}
    also lastSelectedAgents: ["codex"]
    "#);
}

#[test]
fn the_lock_of_clawhub_with_the_origins_beside_the_skills() {
    // OC-12
    let home = Home::new();
    let lock = home.write(
        ".clawhub/lock.json",
        r#"{"version": 1, "skills": {
            "@alice/weather": {"version": "1.2.0", "installedAt": 1773570600000, "ownerHandle": "alice", "pinned": true, "pinReason": "breaks"},
            "old-one": {"version": "0.1.0", "installedAt": 1773570600000},
            "@bob/swapped": {"version": "1.0.0", "installedAt": 1},
            "@eve/../../../../etc": {"version": "1.0.0", "installedAt": 1},
            "wrong": {"version": "1.0.0", "installedAt": 1}}}"#,
    );
    let origin = |folder: &str, slug: &str, owner: &str, version: &str| {
        let text = format!(
            r#"{{"version": 1, "registry": "https://registry.example", "slug": "{slug}", "ownerHandle": "{owner}",
                "installedVersion": "{version}", "installedAt": 1773570600000, "fingerprint": "11d75106"}}"#
        );
        home.write(&format!("{folder}/.clawhub/origin.json"), &text);
    };
    origin("skills/@alice/weather", "weather", "alice", "1.2.1");
    origin("skills/old-one", "old-one", "carol", "0.1.0");
    origin("skills/@bob/swapped", "other", "bob", "1.0.0");
    home.write("skills/wrong/.clawhub/origin.json", "{");
    let imported = import::read(&lock).expect("it can be read");
    assert_snapshot!(home.without_paths(&told(&imported)), @r#"
    ClawHub by ClawHub
    @alice/weather 1.2.0 from Registry(Some("https://registry.example"))
      ClawHub 11d75106
      installed 1773570600000 ms since 1970
      pinned breaks
    @carol/old-one 0.1.0 from Registry(Some("https://registry.example"))
      ClawHub 11d75106
      installed 1773570600000 ms since 1970
    @bob/swapped 1.0.0 from Registry(None)
      installed 1 ms since 1970
    @eve/../../../../etc 1.0.0 from Registry(None)
      installed 1 ms since 1970
    wrong 1.0.0 from Registry(None)
      installed 1 ms since 1970
    note: `weather`: the lock file says version 1.2.0, but its `origin.json` says 1.2.1
    note: `swapped`: its `origin.json` is about `other` and was ignored
    note: `wrong`: `skills/wrong/.clawhub/origin.json`: line 1, column 1: invalid JSON
    "#);
    // A name that is a way somewhere can be read, and never installed.
    let names = imported.skills.iter().map(|skill| skill.canonical_name().is_ok());
    assert_eq!(names.collect::<Vec<_>>(), [true, true, true, false, true]);
    let alone = import::read(&home.path("skills/old-one/.clawhub/origin.json"));
    assert_eq!(alone.expect("it can be read").skills[0].version.as_deref(), Some("0.1.0"));
}

#[test]
fn both_shapes_of_gaias_lock() {
    let text = imported(
        "~/.gaia/skills/skill-lock.json",
        r#"{"version": 1, "skills": {"web-search": {"version": "1.2.0", "integrity": "sha256-abc123...",
            "security_tier": "verified", "installed_at": "2026-03-15T10:30:00Z", "dependencies_hash": "sha256-def456..."}}}"#,
    );
    assert_snapshot!(text, @r#"
    Gaia by GAIA
    web-search 1.2.0 from Unknown
      Archive sha256-abc123...
      Dependencies sha256-def456...
      installed 2026-03-15T10:30:00Z
      also security_tier: "verified"
    "#);
    let text = imported(
        "~/.gaia/skills/skill-lock.json",
        r#"{"schema_version": 1, "generated_at": "2026-07-30T12:00:00+00:00", "skills": {
            "web-research": {"name": "web-research", "version": "1.2.0", "requested": "^1.0", "source": "hub",
                "hub_url": "https://hub.example", "artifact_sha256": "aa", "artifact_filename": "web-research-1.2.0.zip",
                "content_digest": "sha256:bb", "claimed_tier": "community", "installed_tier": "community",
                "signature": {"signed": true}, "permissions": ["network:read:*.brave.com"],
                "installed_at": "2026-07-30T12:00:00+00:00", "path": "/home/me/.gaia/skills/web-research"},
            "notes": {"name": "notes", "version": "0.1.0", "source": "captured", "origin": "https://example.com/x.md", "captured": true},
            "own": {"name": "own", "version": "0.1.0", "source": "local", "path": "/home/me/own"}}}"#,
    );
    assert_snapshot!(text, @r#"
    GaiaHub by GAIA
    web-research 1.2.0 from Registry(Some("https://hub.example"))
      Archive aa
      GaiaContent sha256:bb
      requested ^1.0
      installed 2026-07-30T12:00:00+00:00
      also artifact_filename: "web-research-1.2.0.zip"
      also claimed_tier: "community"
      also installed_tier: "community"
      also signature: {"signed":true}
      also permissions: ["network:read:*.brave.com"]
      also path: "/home/me/.gaia/skills/web-research"
    notes 0.1.0 from Other { kind: "captured", text: "https://example.com/x.md" }
      also captured: true
    own 0.1.0 from Local("/home/me/own")
    also generated_at: "2026-07-30T12:00:00+00:00"
    "#);
}

#[test]
fn a_wrong_file_is_an_error_with_its_place() {
    let check =
        |file: &str, json: &str, told: &str| assert_eq!(imported(file, json), told, "{json}");
    let project = "skills-lock.json";
    check(project, "{\n  \"version\": 1,\n}", "`skills-lock.json`: line 3, column 1: invalid JSON");
    check(project, "[]", "`skills-lock.json`: line 1: expected an object, found a list");
    check(project, "{}", "`skills-lock.json`: version: expected 1");
    check(project, r#"{"version": 1}"#, "`skills-lock.json`: skills: is missing");
    check(
        project,
        r#"{"version": 7, "skills": {}}"#,
        "`skills-lock.json`: version: the file has version 7, but this program supports version 1: update prowess",
    );
    check(
        project,
        r#"{"version": 1, "skills": []}"#,
        "`skills-lock.json`: skills: expected an object, found a list",
    );
    check(
        project,
        r#"{"version": 1, "skills": {"a": 1}}"#,
        "`skills-lock.json`: skills.a: expected an object, found a number",
    );
    check(
        project,
        r#"{"version": 1, "skills": {"a": {"source": 1}}}"#,
        "`skills-lock.json`: skills.a.source: expected text, found a number",
    );
    check(
        project,
        r#"{"version": 1, "skills": {"a": {"source": "x"}}}"#,
        "`skills-lock.json`: skills.a.sourceType: is missing",
    );
    check(
        ".clawhub/lock.json",
        r#"{"version": 1, "skills": {"a": {"pinned": "yes"}}}"#,
        "`.clawhub/lock.json`: skills.a.pinned: expected true or false, found text",
    );
    check(
        "~/x/skill-lock.json",
        r#"{"schema_version": 1, "skills": {"a": {"name": "b", "version": "1"}}}"#,
        "`~/x/skill-lock.json`: skills.a.name: is `b`, but the entry is `a`",
    );
    check(
        "other.json",
        "{}",
        "`other.json` is not a supported lock file: expected `skills-lock.json`, `.skill-lock.json`, `.clawhub/lock.json`, `origin.json` or `skill-lock.json`",
    );
    let home = Home::new();
    let missing = import::read(&home.path(project));
    assert!(matches!(missing, Err(ImportError::Read { .. })));
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        (0_u64..4).prop_map(Into::into),
        "[a-z@/.]{0,8}".prop_map(Into::into),
    ];
    let keys = sample::select(vec![
        "version",
        "schema_version",
        "skills",
        "name",
        "slug",
        "source",
        "sourceType",
        "ref",
        "computedHash",
        "installedAt",
        "pinned",
        "a",
        "registry",
        "origin",
        "path",
    ]);
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            collection::vec((keys.clone(), inner), 0..6).prop_map(|fields| {
                let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
                serde_json::Value::Object(fields.collect())
            }),
        ]
    })
}

proptest! {
    /// Whatever a file holds, it is read or refused with a place, and nothing that it says is lost.
    #[test]
    fn nothing_makes_an_importer_panic(mut file in any_json(), versioned in any::<bool>()) {
        if let (true, Some(fields)) = (versioned, file.as_object_mut()) {
            fields.insert("version".to_owned(), 1.into());
            fields.insert("schema_version".to_owned(), 1.into());
        }
        for kind in [
            LockKind::SkillsProject,
            LockKind::SkillsUser,
            LockKind::ClawHub,
            LockKind::ClawHubOrigin,
            LockKind::Gaia,
            LockKind::GaiaHub,
        ] {
            match import::parse(kind, &file.to_string()) {
                Ok(imported) => {
                    // An origin is about one skill, whatever else its file holds.
                    let skills = file["skills"].as_object().filter(|_| !matches!(kind, LockKind::ClawHubOrigin));
                    let known = skills.map_or(1, serde_json::Map::len);
                    prop_assert_eq!(imported.skills.len(), known);
                }
                Err(problem) => prop_assert!(!problem.place.is_empty() && !problem.why.is_empty()),
            }
        }
    }
}

#[test]
fn lock_files_are_found_where_their_tools_put_them() {
    let home = Home::new();
    for file in [
        "skills-lock.json",
        ".clawhub/lock.json",
        "~/.agents/.skill-lock.json",
        "~/.gaia/skills/skill-lock.json",
    ] {
        home.write(file, "{}");
    }
    let found = import::find(&home.places);
    let found: Vec<String> = found.iter().map(|path| home.shown(path)).collect();
    assert_eq!(
        found,
        [
            "skills-lock.json",
            ".clawhub/lock.json",
            "~/.agents/.skill-lock.json",
            "~/.gaia/skills/skill-lock.json"
        ]
    );
}
