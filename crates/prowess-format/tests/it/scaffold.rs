//! `prowess new`: every scaffold passes the strictest check of its dialect.

use prowess_format::diagnostic::Severity;
use prowess_format::dialect::{self, Dialect};
use prowess_format::python::{PythonError, PythonModule};
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::scaffold::scaffold;
use prowess_format::{ReadOptions, check, form_of};

/// The files of a scaffold, so that references to them are found.
struct Files<'f>(&'f [(String, String)]);

impl SkillFiles for Files<'_> {
    fn exists(&self, path: &str) -> bool {
        self.0.iter().any(|(file, _)| file == path.trim_start_matches("./"))
    }
    fn python(&self) -> Option<&Result<PythonModule, PythonError>> {
        None
    }
}

/// What the strict check of the main file says, warnings and errors only.
fn problems(name: &str, dialect: &'static Dialect, named: bool) -> Vec<String> {
    let files = scaffold(name, dialect);
    let (path, text) = &files[0];
    let place = SkillLocation { directory: Some(name), files: Some(&Files(&files)) };
    let options = ReadOptions { form: form_of(path), dialect: named.then_some(dialect), place };
    let checked = check(text, options);
    assert_eq!(checked.skill.dialect.id, dialect.id, "the scaffold is read in its own dialect");
    let serious = checked.diagnostics.iter().filter(|found| found.strict >= Severity::Warning);
    serious.map(|found| format!("{} {}", found.rule.name, found.message)).collect()
}

#[test]
fn every_scaffold_passes_the_strict_check_of_its_dialect() {
    for dialect in dialect::ALL {
        for name in [
            "notes",
            "my-first-skill",
            "class",
            "a-name-of-exactly-sixty-four-characters-for-which-no-reader-balk",
        ] {
            // A text without front matter is valid prose, and most clients drop it: only who asks for prose passes.
            let ways = if dialect.id == "prose" { &[true][..] } else { &[true, false][..] };
            for &named in ways {
                assert_eq!(problems(name, dialect, named), [""; 0], "{} {name}", dialect.id);
            }
        }
    }
}

#[test]
fn a_name_that_no_dialect_allows_is_written_as_its_slug() {
    for dialect in
        dialect::ALL.iter().filter(|dialect| !matches!(dialect.id, "prose" | "tool-pack"))
    {
        let files = scaffold("My First_Skill!", dialect);
        assert!(files[0].1.contains("name: my-first-skill\n"), "{}: {}", dialect.id, files[0].1);
    }
}

#[test]
fn a_digit_first_becomes_a_name_and_a_function_that_gaia_takes() {
    let gaia = dialect::by_id("gaia").unwrap();
    let files = scaffold("7zip", gaia);
    assert!(files[0].1.contains("name: skill-7zip\n"));
    assert!(files[1].1.contains("def skill_7zip("));
}

#[test]
fn scaffolds_bring_the_files_they_speak_of() {
    let paths: Vec<String> = dialect::ALL
        .iter()
        .map(|dialect| {
            let files = scaffold("notes", dialect);
            let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
            format!("{}: {}", dialect.id, paths.join(" "))
        })
        .collect();
    insta::assert_snapshot!(paths.join("\n"), @r"
    agent-skills: SKILL.md
    claude-code: SKILL.md
    skillli: SKILL.md references/basics.md
    gibberish: SKILL.md scripts/greet.sh
    gaia: SKILL.md tools.py
    agent-flow: SKILL.md
    skillrt: SKILL.md
    openclaw: SKILL.md
    tool-pack: notes.tool.json
    prose: SKILL.md
    ");
}
