//! The same condition has the same exit code in every verb, and the help says which verbs there are.

use prowess_testkit::Scene;

use crate::{machine, skill};

const MANIFEST: &str =
    "---\nname: greet\nversion: 1.0.0\ndescription: Does one thing well\n---\n\n# greet\n";
const ASKS: &str = "---\nname: asks\nversion: 1.0.0\ndescription: Runs git for you\npermissions:\n  - shell:execute:git\n---\n\n# asks\n";

fn prepared() -> Scene {
    let scene = machine()
        .file("work/greet/SKILL.md", MANIFEST)
        .file("work/asks/SKILL.md", ASKS)
        .file("work/page.txt", "A page.\n");
    for before in ["new demo", "key new mine", "kb new papers", "pack greet --output greet.tar.gz"]
    {
        let said = scene.run(before);
        assert!(said.starts_with("exit 0"), "{before}: {said}");
    }
    let said = scene.run("convert greet --to claude-code --output out");
    assert!(said.starts_with("exit 0"), "{said}");
    scene
}

#[track_caller]
fn check(scene: &Scene, code: u8, verbs: &[&str]) {
    let start = format!("exit {code}\n");
    let wrong: Vec<String> = verbs
        .iter()
        .map(|verb| (verb, scene.run(verb)))
        .filter(|(_, said)| !said.starts_with(&start))
        .map(|(verb, said)| format!("{verb}: {said}"))
        .collect();
    assert!(wrong.is_empty(), "expected {code}:\n{}", wrong.join("\n"));
}

#[test]
fn what_exists_already_is_one() {
    let verbs = [
        "new demo",
        "key new mine",
        "kb new papers",
        "pack greet --output greet.tar.gz",
        "convert greet --to claude-code --output out",
    ];
    check(&prepared(), 1, &verbs);
}

#[test]
fn a_path_that_does_not_exist_is_three() {
    let verbs = [
        "check ./no/where",
        "show ./no/where",
        "convert ./no/where --to gaia",
        "migrate ./no/where",
        "render ./no/where",
        "run ./no/where",
        "policy ./no/where",
        "prompt ./no/where",
        "pack ./no/where",
        "sign ./no/where --key mine",
        "install ./no/where",
        "install --import no.json",
        "agent check ./no/where",
        "agent install ./no/where",
        "agent tools ./no/where",
        "workflow check no.json",
        "workflow run no.json",
        "trust add no.pub",
        "kb add papers no.txt",
    ];
    check(&prepared(), 3, &verbs);
}

#[test]
fn a_name_that_nobody_knows_is_three() {
    let verbs = [
        "show nobody",
        "run nobody",
        "policy nobody",
        "update nobody",
        "outdated nobody",
        "remove nobody",
        "info nobody",
        "which nobody",
        "verify nobody",
        "lock",
        "install",
        "key export nobody",
        "key remove nobody",
        "sign greet --key nobody",
        "trust remove nobody",
        "approvals revoke nobody",
        "kb info nobody",
        "kb search nobody word",
        "kb remove nobody",
        "workflow resume nobody",
        "explain nobody",
        "man nobody",
    ];
    check(&prepared(), 3, &verbs);
}

#[test]
fn what_is_refused_or_nobody_can_be_asked_about_is_four() {
    let scene = prepared();
    let verbs = [
        "install ./greet",
        "install ./asks --allow-experimental",
        "kb remove papers",
        "key remove mine",
        "key new locked --passphrase",
    ];
    check(&scene, 4, &verbs);
    // Two skills, of which one needs the other.
    let requirement = "requirements:\n  skills:\n    - name: greet\n---\n\n";
    let needs = MANIFEST.replace("greet", "top").replace("---\n\n", requirement);
    let scene = scene.file("work/top/SKILL.md", needs);
    let said = scene.run("install ./greet ./top --allow-experimental --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    let needed = scene.run("info greet");
    assert!(needed.contains("needed by  top"), "{needed}");
    check(&scene, 4, &["remove greet"]);
}

#[test]
fn an_unknown_option_is_two() {
    let verbs: Vec<String> =
        verbs(&prepared()).iter().map(|verb| format!("{verb} --no-such-option")).collect();
    assert!(verbs.len() > 30, "{verbs:?}");
    check(&prepared(), 2, &verbs.iter().map(String::as_str).collect::<Vec<_>>());
}

/// The verbs that the help lists.
fn verbs(scene: &Scene) -> Vec<String> {
    let help = scene.stdout("--help");
    let groups = help.split("Usage:").nth(1).and_then(|rest| rest.split("Options:").next());
    let is_verb = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let lines = groups.expect("the groups").lines().filter(is_verb);
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_overview_is_grouped() {
    let scene = crate::scene().file("greet/SKILL.md", skill("greet"));
    let long = scene.stdout("--help");
    let short = scene.stdout("-h");
    let bare = scene.run("");
    assert!(bare.starts_with("exit 2\n--- stderr\n"), "{bare}");
    for help in [&long, &short, &bare] {
        let at = |title: &str| {
            help.find(&format!("\n{title}:\n")).unwrap_or_else(|| panic!("{title}: {help}"))
        };
        let places = ["Write", "Run", "Packages", "Trust", "More"].map(at);
        assert!(places.is_sorted(), "{help}");
        assert!(!help.contains("Commands:") && !help.contains("generate-docs"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
    let verbs = verbs(&scene);
    for verb in ["install", "check", "run", "trust", "man"] {
        assert_eq!(verbs.iter().filter(|known| *known == verb).count(), 1, "{verb}");
    }
    // The same groups in the manual page.
    let page = scene.stdout("man");
    for title in ["Write", "Run", "Packages", "Trust", "More"] {
        assert!(page.contains(&format!(".SS {title}\n")), "{page}");
    }
}

/// Verbs that print something else than a report: the thing itself, a script, a page, the log of a server, or that a token
/// was saved or deleted.
const NOT_REPORTS: &[&str] = &["schema", "completions", "man", "serve", "login", "logout"];

/// Verbs whose parts report, or which speak a protocol.
const PARTS: &[&str] =
    &["workflow", "kb", "agent", "approvals", "key", "mcp", "owner", "registry", "runs", "trust"];

#[test]
fn every_verb_that_reports_does_so_as_json() {
    let scene = crate::scene();
    for verb in verbs(&scene) {
        if NOT_REPORTS.contains(&verb.as_str()) || PARTS.contains(&verb.as_str()) {
            continue;
        }
        let help = scene.stdout(&format!("{verb} --help"));
        assert!(help.contains("--format <FORMAT>"), "{verb}");
    }
}

#[test]
fn a_skill_that_clients_load_is_not_called_broken() {
    // The open standard allows 1,024 characters in a description; Claude Code takes more.
    let long =
        format!("---\nname: review\ndescription: {}\n---\n\nRead it.\n", "word ".repeat(240));
    let scene = machine()
        .file("home/.claude/skills/review/SKILL.md", long)
        .file("home/.claude/skills/empty/SKILL.md", "");
    let listed: serde_json::Value =
        serde_json::from_str(&scene.stdout("list --format json")).expect("JSON");
    let state = |name: &str| {
        let skills = listed["skills"].as_array().expect("a list").iter();
        let found = skills.clone().find(|skill| skill["name"] == name).expect("it is listed");
        (found["state"].clone(), found["loaded_by"].to_string())
    };
    assert_eq!(state("empty").0, "broken");
    let (review, loaded_by) = state("review");
    assert!(review == "errors" && loaded_by.contains("claude-code"), "{listed}");
}
