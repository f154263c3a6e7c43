//! What each client makes of small files, and that every fixture has a verdict.

use std::fmt::Write as _;

use insta::assert_snapshot;
use prowess_format::client::{self, CLIENTS, ClientOutcome};
use prowess_format::rules::SkillLocation;
use prowess_format::{Checked, ReadOptions, check, check_bytes, form_of};

const DIRECTORY: &str = "demo";

fn checked(text: &str) -> Checked<'_> {
    let place = SkillLocation { directory: Some(DIRECTORY), files: None };
    check(text, ReadOptions { place, ..ReadOptions::DETECT })
}

/// One letter for each client: `+` loads, `~` without its description, `-` dropped.
fn row(text: &str, file_name: &str) -> String {
    let checked = checked(text);
    let letter =
        |client| match client::verdict(&checked, file_name, Some(DIRECTORY), client).outcome {
            ClientOutcome::Loads => '+',
            ClientOutcome::LoadsWithoutDescription => '~',
            ClientOutcome::Dropped => '-',
        };
    CLIENTS.iter().map(|client| letter(client)).collect()
}

/// The reasons of one client.
fn reasons(text: &str, id: &str) -> String {
    let client = client::by_id(id).expect("the client is known");
    let verdict = client::verdict(&checked(text), "SKILL.md", Some(DIRECTORY), client);
    let mut shown = verdict.outcome.phrase().to_owned();
    for reason in verdict.reasons {
        _ = write!(shown, "\n- {reason}");
    }
    shown
}

#[test]
fn each_client_has_its_own_verdict() {
    let long = "x".repeat(1025);
    let very_long = "x ".repeat(800);
    let name = "n".repeat(65);
    let cases: Vec<(&str, String)> = vec![
        ("good", "---\nname: demo\ndescription: d\n---\nb\n".to_owned()),
        ("no front matter", "# Demo\n\nText.\n".to_owned()),
        ("never closed", "---\nname: demo\ndescription: d\n\n# Demo\n".to_owned()),
        ("byte order mark", "\u{feff}---\nname: demo\ndescription: d\n---\nb\n".to_owned()),
        ("carriage returns alone", "---\rname: demo\rdescription: d\r---\rb\r".to_owned()),
        (
            "carriage returns and line feeds",
            "---\r\nname: demo\r\ndescription: d\r\n---\r\nb\r\n".to_owned(),
        ),
        ("blank line first", "\n---\nname: demo\ndescription: d\n---\nb\n".to_owned()),
        ("blank behind the opening fence", "--- \nname: demo\ndescription: d\n---\nb\n".to_owned()),
        ("colon in a value", "---\nname: demo\ndescription: do: this\n---\nb\n".to_owned()),
        (
            "colon over two lines",
            "---\nname: demo\ndescription: one\n\n  Keywords: two\n---\nb\n".to_owned(),
        ),
        (
            "broken in another field",
            "---\nname: demo\ndescription: |\n  d\nhint: [a] [b]\n---\nb\n".to_owned(),
        ),
        ("no name", "---\ndescription: d\n---\nb\n".to_owned()),
        ("name is a number", "---\nname: 12\ndescription: d\n---\nb\n".to_owned()),
        ("name of 65 characters", format!("---\nname: {name}\ndescription: d\n---\nb\n")),
        ("other name than the directory", "---\nname: other\ndescription: d\n---\nb\n".to_owned()),
        ("no description", "---\nname: demo\n---\nb\n".to_owned()),
        (
            "description of 1,025 characters",
            format!("---\nname: demo\ndescription: {long}\n---\nb\n"),
        ),
        (
            "description of 1,599 characters",
            format!("---\nname: demo\ndescription: {very_long}\n---\nb\n"),
        ),
        ("metadata is text", "---\nname: demo\ndescription: d\nmetadata: x\n---\nb\n".to_owned()),
        (
            "description twice",
            "---\nname: demo\ndescription: d\ndescription: e\n---\nb\n".to_owned(),
        ),
        ("unknown field", "---\nname: demo\ndescription: d\ncolour: red\n---\nb\n".to_owned()),
        (
            "only the user may start it",
            "---\nname: demo\ndescription: d\ndisable-model-invocation: true\n---\nb\n".to_owned(),
        ),
        ("front matter is a list", "---\n- a\n- b\n---\nb\n".to_owned()),
    ];
    let mut table =
        format!("{} (+ loads, ~ without its description, - dropped)\n", client::ids().join(", "));
    for (what, text) in &cases {
        _ = writeln!(table, "{} {what}", row(text, "SKILL.md"));
    }
    for file_name in ["skill.md", "Skill.md", "SKILLS.md"] {
        _ = writeln!(table, "{} called {file_name}", row(&cases[0].1, file_name));
    }
    assert_snapshot!(table, @"
    claude-code, codex, gemini, openclaw, agent-skills (+ loads, ~ without its description, - dropped)
    +++++ good
    ~---- no front matter
    ~---- never closed
    +---+ byte order mark
    +--++ carriage returns alone
    +++++ carriage returns and line feeds
    ~---- blank line first
    ++-++ blank behind the opening fence
    +-++- colon in a value
    ~-++- colon over two lines
    +-+~- broken in another field
    ++-+- no name
    +-++- name is a number
    +-++- name of 65 characters
    ++++- other name than the directory
    ~---- no description
    +-++- description of 1,025 characters
    +-++- description of 1,599 characters
    +-++- metadata is text
    +-++- description twice
    ++++- unknown field
    ~++~- only the user may start it
    ~---- front matter is a list
    ----+ called skill.md
    ----- called Skill.md
    ----- called SKILLS.md
    ");
}

#[test]
fn a_reason_names_the_cause_and_the_next_step() {
    let broken = "---\nname: demo\ndescription: do: this\n---\nb\n";
    assert_snapshot!(reasons(broken, "codex"), @"
    is dropped
    - the front matter is not valid YAML (line 3), and Codex skips such a file: run `prowess check --fix`
    ");
    assert_snapshot!(reasons(broken, "gemini"), @"
    loads
    - the front matter is not valid YAML (line 3), and Gemini CLI reads it line by line: run `prowess check --fix`
    ");
    assert_snapshot!(reasons(broken, "claude-code"), @"
    loads
    - the front matter is not valid YAML (line 3); Claude Code reads the value as if it were quoted, but other clients do not: run `prowess check --fix`
    ");
    assert_snapshot!(reasons("---\ncolour: red\n---\nb\n", "gemini"), @"
    is dropped
    - `name` is missing, and Gemini CLI does not fall back to the directory name: add `name`
    - `description` is missing, and Gemini CLI skips such a skill: add `description`
    ");
    assert_snapshot!(reasons("---\nname: Demo\ndescription: d\ncolour: red\n---\nb\n", "agent-skills"), @"
    is dropped
    - `name` is not a name of lower-case letters, digits and single hyphens: it contains upper-case letters: did you mean `demo`?
    - `colour` is not a field of Agent Skills open standard: remove it, or put it under `metadata`
    ");
    let long = format!(
        "---\nname: demo\ndescription: {}\nwhen_to_use: {}\n---\nb\n",
        "d".repeat(1000),
        "w".repeat(600)
    );
    assert_snapshot!(reasons(&long, "claude-code"), @"
    loads
    - the description with `when_to_use` has 1600 characters, but Claude Code shows only the first 1536: put the important part first
    ");
    let block = "---\nname: demo\ndescription: |\n  d\nhint: [a] [b]\n---\nb\n";
    assert_snapshot!(reasons(block, "openclaw"), @"
    loads without its description
    - the front matter is not valid YAML (line 5), and OpenClaw reads it line by line: run `prowess check --fix`
    - the description begins on the next line, but OpenClaw then reads only `|`: write it on one line
    ");
    assert_snapshot!(reasons("# Demo\n\nText.\n", "claude-code"), @"
    loads without its description
    - there is no front matter, and the first paragraph is used as the description: begin the file with `---`, `name`, `description` and `---`
    ");
    assert_snapshot!(reasons("---\nname: demo\ndescription: d\ndisable-model-invocation: true\n---\nb\n", "openclaw"), @"
    loads without its description
    - `disable-model-invocation` hides the description from the model: only the user can invoke the skill, by name
    ");
}

#[test]
fn bytes_that_are_not_text_are_dropped_where_the_client_insists() {
    let mut text = std::borrow::Cow::Borrowed("");
    let checked =
        check_bytes(b"---\nname: demo\ndescription: \xff\n---\n", &mut text, ReadOptions::DETECT);
    let outcome =
        |id| client::verdict(&checked, "SKILL.md", None, client::by_id(id).expect("known")).outcome;
    assert_eq!(outcome("codex"), ClientOutcome::Dropped);
    assert_eq!(outcome("gemini"), ClientOutcome::Loads);
}

#[test]
fn a_file_too_large_for_openclaw_is_dropped_there_only() {
    let text = format!("---\nname: demo\ndescription: d\n---\n{}\n", "word ".repeat(60_000));
    assert_eq!(row(&text, "SKILL.md"), "+++-+");
}

#[test]
fn every_fixture_has_a_verdict_from_every_client() {
    let mut verdicts = 0;
    for path in prowess_testkit::files_below(&prowess_testkit::fixtures(), &|_| true) {
        let bytes = prowess_testkit::bytes(&path);
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let directory =
            path.parent().and_then(|path| path.file_name()).and_then(|name| name.to_str());
        let mut text = std::borrow::Cow::Borrowed("");
        let options = ReadOptions { form: form_of(file_name), ..ReadOptions::DETECT };
        let checked = check_bytes(&bytes, &mut text, options);
        for client in CLIENTS {
            let verdict = client::verdict(&checked, file_name, directory, client);
            assert!(
                verdict.outcome == ClientOutcome::Loads || !verdict.reasons.is_empty(),
                "{}: {} gives no reason",
                path.display(),
                client.id
            );
            verdicts += 1;
        }
    }
    assert!(verdicts > 1000, "only {verdicts} verdicts");
}
