//! `prowess verify` and `lock --check`: whether installed skills are what was installed.

use insta::assert_snapshot;

use crate::packages::{STORE, home, key_id, manifest, sign, steady, trust};

#[test]
fn every_kind_of_drift_is_told() {
    let scene = ["changed", "gone", "older", "signed"].iter().fold(home(), |scene, name| {
        scene.file(&format!("{name}/SKILL.md"), manifest(name, "1.0.0", ""))
    });
    sign(&scene, "signed", "release");
    trust(&scene, "release", "root");
    let said = scene.run("install ./changed ./gone ./older ./signed --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_snapshot!(steady(&scene.run("lock --check")), @"
    exit 0
    --- stdout
    changed 1.0.0: as installed, experimental, not signed
    gone 1.0.0: as installed, experimental, not signed
    older 1.0.0: as installed, experimental, not signed
    signed 1.0.0: as installed, verified, signed by [HEX], trusted as root
    --- stderr
    using your own skills in `~/.local/share/prowess`
    ");
    let skills = format!("{STORE}/skills");
    let scene = scene
        .file(&format!("{skills}/changed/added.txt"), "x")
        .file(&format!("{skills}/older/SKILL.md"), manifest("older", "0.9.0", ""))
        .file(&format!("{skills}/stranger/SKILL.md"), manifest("stranger", "1.0.0", ""));
    std::fs::remove_dir_all(scene.path().join(&skills).join("gone")).expect("it is there");
    std::fs::remove_file(scene.path().join(&skills).join("signed/SIGNATURE.json"))
        .expect("it is there");
    assert_snapshot!(steady(&scene.run("lock --check")), @"
    exit 1
    --- stdout
    changed 1.0.0: not as installed
      content: its files differ from the installed ones (added: `added.txt`)
    gone 1.0.0: not as installed
      presence: it is in the lock file but not on disk
    older 1.0.0: not as installed
      content: its files differ from the installed ones (changed: `SKILL.md`)
      version: version 1.0.0 was installed, but it declares `older` 0.9.0
    signed 1.0.0: not as installed
      content: its files differ from the installed ones (removed: `SIGNATURE.json`)
      tier: it was installed as verified, but its signatures now prove experimental
    stranger: not as installed
      unlocked: it is on disk but not in the lock file
    --- stderr
    using your own skills in `~/.local/share/prowess`
    hint: `prowess install` restores what the lock file says
    hint: what is not in the lock file was not installed: remove its folder, or install it with `prowess install FOLDER`
    ");
    assert_snapshot!(steady(&scene.run("verify changed --format json")), @r#"
    exit 1
    --- stdout
    {
      "scope": "user",
      "scope_reason": "no_project_lock",
      "store": "[SCENE]/home/.local/share/prowess",
      "ok": false,
      "skills": [
        {
          "name": "changed",
          "version": "1.0.0",
          "security_tier": "experimental",
          "drift": [
            {
              "kind": "content",
              "message": "its files differ from the installed ones (added: `added.txt`)"
            }
          ],
          "signatures": [],
          "warnings": []
        }
      ]
    }
    --- stderr
    note: `changed` is the installed skill; there is also a path (`./changed`)
    "#);
    assert!(scene.run("verify nobody").starts_with("exit 3"));
    // The lock puts all of it back, and leaves alone what it does not know.
    assert_snapshot!(scene.run("install"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    warning: `stranger` is installed but not in the lock file
    installed changed 1.0.0
    installed gone 1.0.0
    installed older 1.0.0
    installed signed 1.0.0
    ");
    assert_snapshot!(steady(&scene.run("verify signed")), @"
    exit 0
    --- stdout
    signed 1.0.0: as installed, verified, signed by [HEX], trusted as root
    --- stderr
    note: `signed` is the installed skill; there is also a path (`./signed`)
    using your own skills in `~/.local/share/prowess`
    ");
}

#[test]
fn an_empty_store_has_nothing_to_verify() {
    assert_snapshot!(home().run("verify"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    note: nothing is installed
    ");
    assert_snapshot!(home().run("lock"), @"
    exit 3
    --- stderr
    error: there is no lock file `[SCENE]/home/.local/share/prowess/skill-lock.json`
    hint: it is written by `prowess install`
    ");
    assert_snapshot!(home().run("lock --check --project"), @"
    exit 3
    --- stderr
    error: there is no lock file `[SCENE]/.prowess/skill-lock.json`
    hint: it is written by `prowess install`
    ");
}

#[test]
fn a_signed_skill_that_was_changed_does_not_run() {
    // GAIX-26.
    let tool = "\n## Tools\n\n### say\n\nSays it\n\n#### Command\n\n```bash\necho hi\n```\n";
    let scene = ["signed", "plain"].iter().fold(home(), |scene, name| {
        let text = format!("{}{tool}", manifest(name, "1.0.0", "read_only: true\n"));
        scene.file(&format!("sources/{name}/SKILL.md"), text)
    });
    sign(&scene, "sources/signed", "release");
    trust(&scene, "release", "root");
    let said = scene.run("install ./sources/signed ./sources/plain --allow-experimental --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    let said = scene.run("run signed/say --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    let scene = ["signed", "plain"].iter().fold(scene, |scene, name| {
        let text = format!("{}{tool}\nMore.\n", manifest(name, "1.0.0", "read_only: true\n"));
        scene.file(&format!("{STORE}/skills/{name}/SKILL.md"), text)
    });
    assert_snapshot!(steady(&scene.run("run signed/say --yes")), @"
    exit 125
    --- stderr
    error: `signed` was signed, and is not what was installed: its files differ from the installed ones (changed: `SKILL.md`); the signature `SIGNATURE.json` is invalid: files changed after signing: `SKILL.md` has changed
    hint: `prowess install --user` restores what the lock file lists
    ");
    // Nobody has vouched for the other one, so it is asked about like any file.
    let said = scene.run("run plain/say --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    let said = scene.run("policy plain/say");
    assert!(said.contains("tier experimental"), "{said}");
}

#[test]
fn a_revoked_key_that_still_counts_is_told() {
    // Attack registry-C15: what was here before counts, with a warning.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign(&scene, "greet", "release");
    trust(&scene, "release", "publisher");
    assert!(scene.run("install ./greet").starts_with("exit 0"));
    let id = key_id(&scene, "release");
    let revoke = format!("trust remove {id} --revoked 2126-01-01T00:00:00Z");
    assert!(scene.run(&revoke).starts_with("exit 0"));
    assert_snapshot!(steady(&scene.run("verify")), @"
    exit 0
    --- stdout
    greet 1.0.0: as installed, community, signed by [HEX], trusted as publisher
    --- stderr
    using your own skills in `~/.local/share/prowess`
    warning: `greet`: the key `[HEX]` of the signature `SIGNATURE.json` was revoked at [TIME]; this signature was there before
    ");
    // From before it was installed on, nothing of it counts.
    assert!(
        scene
            .run(&format!("trust remove {id} --revoked 2020-01-01T00:00:00Z"))
            .starts_with("exit 0")
    );
    assert_snapshot!(steady(&scene.run("verify")), @"
    exit 1
    --- stdout
    greet 1.0.0: not as installed
      signature: the signature `SIGNATURE.json` is invalid: the key `[HEX]` was revoked at [TIME]
      tier: it was installed as community, but its signatures now prove experimental
    --- stderr
    using your own skills in `~/.local/share/prowess`
    hint: don't use a skill with an invalid signature; ask its author, or uninstall it with `prowess remove`
    ");
}

#[test]
fn the_next_step_is_one_that_helps() {
    let scene = home()
        .inside("work")
        .file("work/.git/HEAD", "ref: refs/heads/main\n")
        .file("work/greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign_in(&scene, "greet");
    assert!(scene.run("install ./greet --project").starts_with("exit 0"));
    // Nothing is to be put back when a key counts no longer.
    let id = key_id(&scene, "release");
    assert!(scene.run(&format!("trust remove {id}")).starts_with("exit 0"));
    assert_snapshot!(steady(&scene.run("verify --project")), @"
    exit 1
    --- stdout
    greet 1.0.0: not as installed
      tier: it was installed as community, but its signatures now prove experimental
    --- stderr
    using the project's skills in `[SCENE]/work/.prowess`
    hint: `prowess trust list` shows whose signatures count; trust the key with `prowess trust add`, or uninstall the skill with `prowess remove`
    ");
    trust(&scene, "release", "publisher");
    // In a project the command is another one.
    let scene = scene.file("work/.prowess/skills/greet/more.txt", "x");
    assert_snapshot!(steady(&scene.run("verify --project")), @"
    exit 1
    --- stdout
    greet 1.0.0: not as installed
      content: its files differ from the installed ones (added: `more.txt`)
      signature: the signature `SIGNATURE.json` is invalid: files changed after signing: `more.txt` was not signed
      tier: it was installed as community, but its signatures now prove experimental
    --- stderr
    using the project's skills in `[SCENE]/work/.prowess`
    hint: `prowess install --project` restores what the lock file says
    ");
    std::fs::remove_file(scene.path().join("work/.prowess/skills/greet/more.txt"))
        .expect("it is there");
    // A lock file that contradicts itself.
    let lock = scene.text("work/.prowess/skill-lock.json");
    let lock: Vec<String> = lock
        .lines()
        .map(|line| match line.split_once("\"integrity\": \"sha256-") {
            Some((before, _)) => {
                format!("{before}\"integrity\": \"sha256-{}=\",", "A".repeat(43))
            }
            None => line.to_owned(),
        })
        .collect();
    let scene = scene.file("work/.prowess/skill-lock.json", lock.join("\n"));
    assert_snapshot!(steady(&scene.run("verify --project")), @"
    exit 1
    --- stdout
    greet 1.0.0: not as installed
      content: its files don't match the `integrity` digest in the lock file
    --- stderr
    using the project's skills in `[SCENE]/work/.prowess`
    hint: `prowess install --project` restores what the lock file says
    ");
}

/// Makes a key, signs a folder with it and trusts it.
fn sign_in(scene: &prowess_testkit::Scene, folder: &str) {
    sign(scene, folder, "release");
    trust(scene, "release", "publisher");
}

#[test]
fn a_list_believes_no_file() {
    let scene = ["changed", "gone", "raised", "signed"].iter().fold(home(), |scene, name| {
        scene.file(&format!("{name}/SKILL.md"), manifest(name, "1.0.0", ""))
    });
    sign(&scene, "changed", "release");
    sign(&scene, "signed", "release");
    trust(&scene, "release", "publisher");
    let said = scene.run("install ./changed ./gone ./raised ./signed --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    let lock = format!("{STORE}/skill-lock.json");
    let raised = scene.text(&lock).replace("\"experimental\"", "\"verified\"");
    let scene = scene.file(&lock, raised).file(&format!("{STORE}/skills/changed/more.txt"), "x");
    std::fs::remove_dir_all(scene.path().join(STORE).join("skills/gone")).expect("it is there");
    assert_snapshot!(scene.run("list"), @"
    exit 4
    --- stdout
    changed  1.0.0  experimental  changed  ~/.local/share/prowess/skills/changed
    raised   1.0.0  experimental  ok       ~/.local/share/prowess/skills/raised
    signed   1.0.0  community     ok       ~/.local/share/prowess/skills/signed
    gone     1.0.0  -             missing  ~/.local/share/prowess/skills/gone
    --- stderr
    looking everywhere; to install and update, this folder uses your own skills in `~/.local/share/prowess`
    hint: `prowess verify` says what is not as it was installed, and what to do
    ");
    let list: serde_json::Value =
        serde_json::from_str(&scene.stdout("list --format json")).expect("JSON");
    let states: Vec<&str> = list["skills"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|skill| skill["state"].as_str())
        .collect();
    assert_eq!(states, ["changed", "ok", "ok", "missing"]);
}

#[test]
fn every_way_to_a_signed_skill_that_was_changed_is_refused() {
    // GAIX-26: whoever reaches the skill, by whatever way, gets the same answer.
    let tool = "\n## Tools\n\n### say\n\nSays it\n\n#### Command\n\n```bash\necho hi\n```\n";
    let text = format!("{}{tool}", manifest("signed", "1.0.0", "read_only: true\n"));
    let depends = "---\nname: asks\nversion: 1.0.0\ndescription: Asks\nruntime: {type: markdown-skill}\ninputs:\n  - name: topic\n    type: string\n    required: true\ndependencies:\n  skills: [\"signed@^1\"]\n---\n\nAbout {{topic}}.\n";
    let node = |kind: &str| {
        format!(
            r#"{{"nodes": [{{"id": "start", "type": "start"}}, {{"id": "a", "type": "{kind}", "data": {{"skillName": "signed", "toolName": "say", "skill": "signed", "tool": "say"}}}}, {{"id": "end", "type": "end"}}], "edges": [{{"source": "start", "target": "a"}}, {{"source": "a", "target": "end"}}]}}"#
        )
    };
    let agent = "name: desk\nversion: 0.3.0\ndescription: A desk\nskills:\n  - name: signed\n";
    let scene = home()
        .file("sources/signed/SKILL.md", &text)
        .file("asks/SKILL.md", depends)
        .file("skill.json", node("skill"))
        .file("desk/AGENT.yaml", agent);
    sign(&scene, "sources/signed", "release");
    trust(&scene, "release", "root");
    let said = scene.run("install ./sources/signed --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    let folder = format!("{STORE}/skills/signed");
    let ways = [
        "run signed/say --yes".to_owned(),
        "run signed --yes".to_owned(),
        format!("run {folder}/say --yes"),
        format!("run {folder}/SKILL.md --yes"),
        "policy signed".to_owned(),
        "policy signed/say --format json".to_owned(),
        "show signed".to_owned(),
        "show signed --format json".to_owned(),
        "render signed/say".to_owned(),
        "prompt signed".to_owned(),
        format!("prompt {folder}"),
        "agent tools desk/AGENT.yaml".to_owned(),
        "workflow check skill.json".to_owned(),
        "workflow run skill.json --yes".to_owned(),
        "run asks --input topic=tea".to_owned(),
    ];
    let refusal = "`signed` was signed, and is not what was installed";
    for way in &ways {
        let said = scene.run(way);
        assert!(!said.contains(refusal), "{way}: {said}");
    }
    let scene = scene.file(&format!("{folder}/SKILL.md"), format!("{text}\nMore.\n"));
    for way in &ways {
        let said = scene.run(way);
        assert!(!said.starts_with("exit 0"), "{way}: {said}");
        assert!(said.contains(refusal), "{way}: {said}");
    }
}
