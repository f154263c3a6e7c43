//! Files that clients drop: each has a finding, and where one is safe, a fix.

use insta::assert_snapshot;
use prowess_format::client::{self, CLIENTS, ClientOutcome};
use prowess_format::diagnostic::{FixSafety, Severity, apply_edits};
use prowess_format::document::FrontMatter;
use prowess_format::rules::SkillLocation;
use prowess_format::{Checked, ReadOptions, check};

use crate::Fixture;

const FIELDS: &str = "name: desk\ndescription: Tidy a desk\n";

/// The findings, and the start of the text after the fix: `safe` or `likely`.
fn told(text: &str) -> String {
    let checked = check(text, ReadOptions::DETECT);
    let mut told = crate::shown(text, &checked.diagnostics, false);
    for found in &checked.diagnostics {
        let Some(fix) = &found.fix else { continue };
        let fixed = apply_edits(text, &fix.edits);
        let again = check(&fixed, ReadOptions::DETECT);
        assert_eq!(again.skill.name_text(), Some("desk"), "{fixed}");
        assert!(again.diagnostics.iter().all(|later| later.rule != found.rule), "{fixed}");
        let safety = if fix.safety == FixSafety::Safe { "safe" } else { "likely" };
        told.push_str(&format!("{safety}: {:?}\n", fixed));
    }
    told
}

#[test]
fn front_matter_that_no_client_sees_is_reported_and_fixed() {
    assert_snapshot!(told(&format!("----\n{FIELDS}----\nText\n")));
    assert_snapshot!(told(&format!("———\n{FIELDS}———\nText\n")));
    assert_snapshot!(told(&format!("--- yaml\n{FIELDS}---\nText\n")));
    assert_snapshot!(told(&format!("\u{200b}---\n{FIELDS}---\nText\n")));
    assert_snapshot!(told("+++\nname = \"desk\"\ndescription = \"Tidy a desk\"\n+++\nText\n"));
    assert_snapshot!(told("+++\n[table]\nname = \"desk\"\n+++\nText\n"));
    assert_snapshot!(told(&format!("```yaml\n---\n{FIELDS}---\n```\nText\n")));
    assert_snapshot!(told(&format!("```markdown\n---\n{FIELDS}---\nText\n```\n")));
    assert_snapshot!(told(&format!("```\n{FIELDS}```\nText\n")));
    assert_snapshot!(told(&format!("{FIELDS}---\nText\n")));
    assert_snapshot!(told(&format!("{FIELDS}\nText\n")));
    assert_snapshot!(told(&format!("# Desk\n\n---\n{FIELDS}---\nText\n")));
    assert_snapshot!(told(&format!("  ---\n  {}  ---\nText\n", FIELDS.replace("\nd", "\n  d"))));
    assert_snapshot!(told(&format!("\n\n---\n{FIELDS}---\nText\n")));
    assert_snapshot!(told("\n\n---\nname: desk\ndescription: Tidy a desk\n# Desk\n"));
    assert_snapshot!(told(""));
    assert_snapshot!(told("# Desk\n\nKeep it tidy.\n"));
}

#[test]
fn a_text_about_front_matter_has_none() {
    for text in [
        "# How to write a skill\n\n```yaml\n---\nname: x\ndescription: y\n---\n```\n",
        "Some text\n\n---\n\nMore text: with a colon\n\n---\n\nThe end\n",
        "name: only a name\n\nText\n",
        "```python\nname: int = 1\n```\n",
        "+1 for this\n",
    ] {
        let codes = crate::codes(&check(text, ReadOptions::DETECT).diagnostics);
        assert_eq!(codes, ["missing-front-matter"], "{text}");
    }
}

#[test]
fn strict_makes_it_an_error_unless_the_user_asks_for_prose() {
    for text in ["", "Text\n", "----\nname: desk\ndescription: x\n----\nText\n"] {
        let found = check(text, ReadOptions::DETECT).diagnostics;
        let severities: Vec<_> = found.iter().map(|found| (found.severity, found.strict)).collect();
        assert_eq!(severities, [(Severity::Warning, Severity::Error)], "{text}");
    }
    assert_eq!(crate::strict_problems_as("Text\n", "prose"), "");
}

/// The findings with the one that `check` adds about clients.
fn warned(checked: &Checked<'_>, directory: Option<&str>) -> bool {
    checked.diagnostics.iter().any(|found| found.severity >= Severity::Warning)
        || client::silent_drop(checked, "SKILL.md", directory).is_some()
}

#[test]
fn no_file_that_a_client_drops_passes_without_a_warning() {
    let mut dropped = 0;
    let mut law = |name: &str, checked: &Checked<'_>, directory: Option<&str>| {
        let drops = CLIENTS.iter().filter(|client| client.strict.is_none()).any(|client| {
            let verdict = client::verdict(checked, "SKILL.md", directory, client);
            verdict.outcome == ClientOutcome::Dropped
        });
        dropped += usize::from(drops);
        assert!(!drops || warned(checked, directory), "{name} is dropped and nothing says so");
    };
    for fixture in Fixture::all().iter().filter(|fixture| !fixture.name.ends_with(".json")) {
        fixture.check(None, |_, checked| law(&fixture.name, checked, fixture.directory()));
    }
    for path in prowess_testkit::corpus()
        .map(|corpus| prowess_testkit::files_below(&corpus, &crate::is_skill_file))
        .unwrap_or_default()
    {
        let bytes = prowess_testkit::bytes(&path);
        let directory = path.parent().and_then(|folder| folder.file_name()?.to_str());
        let place = SkillLocation { directory, files: None };
        let options = ReadOptions { place, ..ReadOptions::DETECT };
        let mut text = std::borrow::Cow::Borrowed("");
        let checked = prowess_format::check_bytes(&bytes, &mut text, options);
        law(&path.display().to_string(), &checked, directory);
    }
    assert!(dropped > 40, "only {dropped} files are dropped by a client");
}

#[test]
fn the_clients_that_drop_a_file_are_named() {
    let options = |directory| ReadOptions {
        place: SkillLocation { directory, files: None },
        ..ReadOptions::DETECT
    };
    let cases = [
        ("---\ndescription: Tidy a desk\n---\nText\n", "Gemini CLI drops this file"),
        (
            "---\rname: desk\rdescription: Tidy a desk\r---\rText\r",
            "Codex and Gemini CLI drop this file",
        ),
    ];
    for (text, message) in cases {
        let checked = check(text, options(Some("desk")));
        assert_eq!(checked.document.front_matter, FrontMatter::Read);
        let found = client::silent_drop(&checked, "SKILL.md", Some("desk"));
        assert_eq!(found.map(|found| found.message).as_deref(), Some(message));
    }
    let clean = check("---\nname: desk\ndescription: Tidy a desk\n---\nText\n", options(None));
    assert_eq!(client::silent_drop(&clean, "SKILL.md", None), None);
}
