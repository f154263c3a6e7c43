//! What scripts do against what a skill declares, what an update adds, and commands that no skill may start.

#![cfg(target_os = "linux")]

use prowess_testkit::Scene;
use serde_json::Value;

use crate::run::probe;
use crate::{machine, scene};

fn skill(permissions: &str) -> String {
    format!(
        "---\nname: it\ndescription: Does one thing well\n{permissions}---\n\n# It\n\nRun the script.\n"
    )
}

/// The findings of `undeclared-capability` as severity and message.
fn undeclared(permissions: &str, script: &str) -> Vec<(String, String)> {
    let scene = scene().file("it/SKILL.md", skill(permissions)).file("it/scripts/run.py", script);
    findings(&scene, "it", "undeclared-capability")
}

fn findings(scene: &Scene, arguments: &str, rule: &str) -> Vec<(String, String)> {
    let said = scene.run(&format!("scan --no-tools --format json {arguments}"));
    let start = said.find('{').unwrap_or_else(|| panic!("no JSON: {said}"));
    let mut values = serde_json::Deserializer::from_str(&said[start..]).into_iter::<Value>();
    let value = values.next().expect("a value").expect("JSON");
    let text = |found: &Value, key: &str| found[key].as_str().unwrap_or_default().to_owned();
    let found = value["skills"][0]["findings"].as_array().cloned().unwrap_or_default();
    let of_rule = found.iter().filter(|found| found["rule"] == rule);
    of_rule.map(|found| (text(found, "severity"), text(found, "message"))).collect()
}

const POST: &str = "import requests\nrequests.post('https://api.example.com/x', json={'a': 1})\n";

/// GAIX-16
#[test]
fn code_is_held_to_the_declared_permissions() {
    for (permissions, script, expected) in [
        (
            "permissions: [\"filesystem:read\"]\n",
            POST,
            "sends data over the network that `permissions` does not declare",
        ),
        (
            "permissions: [\"network:read\"]\n",
            POST,
            "sends data over the network at a higher level than `permissions` declares",
        ),
        (
            "permissions: [\"network:none\"]\n",
            POST,
            "sends data over the network that `permissions` denies",
        ),
        (
            "permissions: [\"network:write:*.example.org\"]\n",
            POST,
            "sends data over the network outside of the scope in `permissions`",
        ),
        (
            "permissions: [\"filesystem:write:./output/**\"]\n",
            "open('/srv/notes.txt', 'w').write('x')\n",
            "writes files outside of the scope in `permissions`",
        ),
        (
            "permissions: [\"filesystem:read\"]\n",
            "open('notes.txt', 'w').write('x')\n",
            "writes files at a higher level than `permissions` declares",
        ),
        (
            "permissions: [\"shell:execute:git\"]\n",
            "import subprocess\nsubprocess.run(['docker', 'ps'])\n",
            "starts programs outside of the scope in `permissions`",
        ),
        (
            "permissions: [\"filesystem:read\"]\n",
            "import os\nprint(os.environ['ACME_TOKEN'])\n",
            "reads environment variables that `permissions` does not declare",
        ),
        (
            "permissions: [\"database:read\"]\n",
            "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('DELETE FROM t')\n",
            "changes a database at a higher level than `permissions` declares",
        ),
        (
            "permissions: [\"desktop:none\"]\n",
            "import pyautogui\npyautogui.click(1, 2)\n",
            "controls the desktop that `permissions` denies",
        ),
    ] {
        let found = undeclared(permissions, script);
        let wanted = ("high".to_owned(), expected.to_owned());
        assert!(found.contains(&wanted), "{permissions}{script}: {found:?}");
    }
    // What is declared is no finding, and what nothing uses is a note.
    let declared = "permissions: [\"network:write:*.example.com\", \"database:read\"]\n";
    assert_eq!(
        undeclared(declared, POST),
        [("info".to_owned(), "declares `database:read`, which no script uses".to_owned())]
    );
}

/// GAIX-25: the table holds for the scanner.
#[test]
fn the_scanner_names_commands_that_no_skill_may_start() {
    let scene = scene()
        .file("it/SKILL.md", skill(""))
        .file("it/run.sh", "gh api -XDELETE repos/owner/name\ngh issue list\n");
    let found = findings(&scene, "it", "refused-command");
    let message = "starts `gh api -X`, which sends a request that changes data on the server";
    assert_eq!(found, [("medium".to_owned(), message.to_owned())]);
}

/// GAIX-25: the table holds for runs, and a user who names the program overrules it.
#[test]
fn a_run_of_a_refused_command_ends_before_it_starts() {
    let scene = |command: &str| {
        let scene = probe("read_only: true\n", &[("go", &[], command)])
            .script("bin/gh", "#!/bin/sh\necho \"gh $*\"\n");
        let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", scene.path().display());
        scene.variable("PATH", &path)
    };
    let refused = scene("gh api -XDELETE repos/owner/name");
    let said = refused.run("run ../skills/probe/go --yes");
    assert!(said.starts_with("exit 125\n"), "{said}");
    assert!(
        said.contains("`gh api -X`, which sends a request that changes data on the server"),
        "{said}"
    );
    let said = refused.run("run ../skills/probe/go --yes --allow shell:execute:gh");
    assert!(said.starts_with("exit 0\n") && said.contains("gh api -XDELETE"), "{said}");
    let allowed = scene("gh issue list");
    let said = allowed.run("run ../skills/probe/go --yes");
    assert!(said.starts_with("exit 0\n") && said.contains("gh issue list"), "{said}");
}

#[test]
fn what_an_update_adds_is_compared_with_the_old_version() {
    let scene = scene()
        .file("old/SKILL.md", skill(""))
        .file("old/run.py", "print('hello')\n")
        .file("new/SKILL.md", skill(""))
        .file("new/run.py", POST);
    assert_eq!(findings(&scene, "new", "new-capability"), []);
    let found = findings(&scene, "new --since old", "new-capability");
    let message = "sends data over the network, which the installed version does not";
    assert_eq!(found, [("high".to_owned(), message.to_owned())]);
    assert_eq!(findings(&scene, "new --since new", "new-capability"), []);
}

/// E12 of the attacks on registries: an update that does more is a question, and not a silent change.
#[test]
fn an_update_that_sends_data_is_asked_about() {
    let versioned =
        |version: &str| skill("").replace("name: it\n", &format!("name: it\nversion: {version}\n"));
    let scene = machine()
        .file("work/it/SKILL.md", versioned("1.0.0"))
        .file("work/it/run.py", "print('hello')\n");
    let said = scene.run("install ./it --allow-experimental --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    let scene = scene.file("work/it/SKILL.md", versioned("1.0.1")).file("work/it/run.py", POST);
    let said = scene.run("install ./it --allow-experimental");
    assert!(!said.starts_with("exit 0") && said.contains("new-capability"), "{said}");
}

/// A list of known malicious files is a skill: it counts once a trusted key vouches for it.
#[test]
fn a_signed_list_blocks_known_files_and_an_unsigned_one_does_not() {
    // SHA-256 of `print('hello')` and a line break.
    let digest = "03e693d9f2f687e0f40e36a8df7fcb4d1c22974012b7c2a55c000eb30f305824";
    let list = "---\nname: known-bad\nversion: 1.0.0\ndescription: Digests of malicious files\n---\n\n# Known bad\n";
    let scene = machine()
        .file("work/it/SKILL.md", skill(""))
        .file("work/it/run.py", "print('hello')\n")
        .file("work/known-bad/SKILL.md", list)
        .file("work/known-bad/known-bad.txt", format!("# files\n{digest} a test\n"));
    let said = scene.run("install ./known-bad --allow-experimental --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(findings(&scene, "it", "known-malware"), [], "nobody vouches for the list");
    for command in ["key new release", "sign known-bad --key release"] {
        let said = scene.run(command);
        assert!(said.starts_with("exit 0"), "{command}: {said}");
    }
    let key = scene.stdout("key export release");
    let scene = scene.file("work/release.pub", key);
    for command in ["trust add release.pub", "install ./known-bad --yes"] {
        let said = scene.run(command);
        assert!(said.starts_with("exit 0"), "{command}: {said}");
    }
    let found = findings(&scene, "it", "known-malware");
    assert_eq!(
        found,
        [("critical".to_owned(), "is a file that is known to be malicious".to_owned())]
    );
    let said = scene.run("install ./it --allow-experimental --yes");
    assert!(said.starts_with("exit 4") && said.contains("known-malware"), "{said}");
}
