//! The `tools.py` of scaffolds and migrated skills matches its declarations.

use prowess_format::diagnostic::Severity;
use prowess_format::migrate::{Migration, migrate};
use prowess_format::rules::SkillLocation;
use prowess_format::scaffold::scaffold;
use prowess_format::{ReadOptions, check, dialect};

use crate::{Directory, problems};

/// The errors of a migrated skill with its functions.
fn errors(migration: &Migration) -> Vec<String> {
    let tools = migration.files.iter().find(|(path, _)| path == "tools.py");
    let directory = Directory { python: tools.map(|(_, text)| prowess_python::read(text)) };
    let place = SkillLocation { directory: Some(&migration.name), files: Some(&directory) };
    let checked = check(&migration.files[0].1, ReadOptions { place, ..ReadOptions::DETECT });
    let errors = checked.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| format!("{} {}", found.rule.name, found.message)).collect()
}

// GAIA-8.2-4
#[test]
fn migrated_tools_match_their_declarations() {
    let root = prowess_testkit::fixtures().join("openclaw");
    let mut wrappers = 0;
    for path in
        prowess_testkit::files_below(&root, &|name| name.to_lowercase().starts_with("skill"))
    {
        let Ok(text) = String::from_utf8(prowess_testkit::bytes(&path)) else { continue };
        let checked = check(&text, ReadOptions::DETECT);
        if !checked.is_skill() {
            continue;
        }
        let migration = migrate(&checked, &["handlers/search.py".to_owned()], Some("shelf"));
        wrappers += usize::from(migration.files.len() == 2);
        assert_eq!(errors(&migration), [""; 0], "{}", path.display());
    }
    assert!(wrappers > 8, "only {wrappers} of them have tools");
}

// GAIA-8.2-4
#[test]
fn unusual_action_names_become_matching_python() {
    let names = [
        "class",
        "a-b",
        "1st",
        "_",
        "héllo",
        "tool",
        "_call",
        "None",
        "print",
        "über-größe",
        "",
        "a b",
    ];
    for action in names {
        for parameter in names {
            let text = format!(
                "---\nname: odd\nclaw_version: 1.0.0\ndescription: Odd.\nactions:\n  - name: \"{action}\"\n    description: \"a \\\"quoted\\\" \\\\ text\"\n    handler: handlers/a.py:run\n    parameters:\n      \"{parameter}\": {{type: int, default: 3}}\n      other: {{type: string, required: true}}\n---\n\nText.\n"
            );
            let migration =
                migrate(&check(&text, ReadOptions::DETECT), &["handlers/a.py".to_owned()], None);
            assert_eq!(
                errors(&migration),
                [""; 0],
                "{action} {parameter}\n{}",
                migration.files[0].1
            );
        }
    }
}

#[test]
fn the_scaffold_of_gaia_matches_its_declaration() {
    for name in ["notes", "class", "7zip"] {
        let files = scaffold(name, dialect::by_id("gaia").unwrap());
        let directory = if name == "7zip" { "skill-7zip" } else { name };
        assert_eq!(problems(&files[0].1, Some(&files[1].1), directory), "");
    }
}
