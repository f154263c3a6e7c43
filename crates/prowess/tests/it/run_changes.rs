//! What a tool changes is applied as a whole, waits for a decision, or is undone.

#![cfg(target_os = "linux")]

use prowess_testkit::Scene;
use serde_json::Value;

use crate::run::probe;

const FRONT: &str = "permissions: [\"filesystem:write:./**\", \"shell:execute:rm,ln,mkdir\"]\n";

/// A project with one file, and a tool that runs a script in it.
fn scene(script: &str) -> Scene {
    probe(FRONT, &[("go", &[], "./go.sh")])
        .script("skills/probe/go.sh", format!("#!/bin/sh\nset -e\n{script}"))
        .file("repo/a", "old\n")
}

const ORDINARY: &str = "echo new > a\nmkdir d\necho x > d/b\n";
const OBEYED: &str = "echo new > a\necho x > .npmrc\n";

/// The envelope of a run, and its exit code.
fn run(scene: &Scene, options: &[&str]) -> (Value, i32) {
    let arguments = [&["run", "../skills/probe/go", "--yes", "--format", "json"], options].concat();
    let output = scene.output(&arguments, "");
    let code = output.status.code().expect("it exits");
    let text = String::from_utf8_lossy(&output.stdout);
    let envelope = serde_json::from_str(&text)
        .unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
    (envelope, code)
}

fn id(envelope: &Value) -> String {
    envelope["run"].as_str().expect("the changes are kept").to_owned()
}

fn is_there(scene: &Scene, path: &str) -> bool {
    std::fs::symlink_metadata(scene.path().join("repo").join(path)).is_ok()
}

/// A verb of `runs` with the id of a run: exit code and both outputs.
fn runs(scene: &Scene, verb: &str, envelope: &Value, options: &[&str]) -> (i32, String, String) {
    let id = id(envelope);
    let output = scene.output(&[&["runs", verb, &id], options].concat(), "");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().expect("it exits"), text(output.stdout), text(output.stderr))
}

#[test]
fn ordinary_changes_are_applied_listed_and_undone() {
    let scene = scene(ORDINARY);
    let (envelope, code) = run(&scene, &[]);
    assert_eq!((code, &envelope["changes_applied"]), (0, &Value::Bool(true)), "{envelope:#}");
    let changes = envelope["changes"].as_array().expect("a list");
    let top = scene.path().join("repo");
    let shown: Vec<String> = changes
        .iter()
        .map(|it| {
            let path = std::path::Path::new(it["path"].as_str().expect("a path"));
            let path = path.strip_prefix(&top).expect("in the project").display();
            assert_eq!(it["applied"], true);
            format!("{} {path} {}", it["kind"].as_str().expect("a kind"), it["bytes"])
        })
        .collect();
    assert_eq!(
        shown,
        ["changed a 4", "added d 4096", "added d/b 2"].map(|line| line.replace(" 4096", " 0"))
    );
    assert_eq!(scene.text("repo/a"), "new\n");
    let listed = scene.stdout("runs list");
    assert!(listed.contains(&id(&envelope)) && listed.contains("probe/go"), "{listed}");
    let (code, patch, _) = runs(&scene, "diff", &envelope, &[]);
    assert_eq!(code, 0);
    assert!(patch.contains("-old\n+new\n"), "{patch}");
    let (code, _, said) = runs(&scene, "undo", &envelope, &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, "d")), ("old\n", false));
    let (code, _, _) = runs(&scene, "undo", &envelope, &[]);
    assert_eq!(code, 1, "it is undone already");
}

#[test]
fn an_undo_of_what_others_have_changed_is_refused() {
    let scene = scene(ORDINARY);
    let (envelope, _) = run(&scene, &[]);
    let scene = scene.file("repo/a", "theirs\n");
    let (code, _, said) = runs(&scene, "undo", &envelope, &[]);
    assert_eq!(code, 1);
    assert!(said.contains("nothing was undone: `a`"), "{said}");
    assert_eq!(scene.text("repo/a"), "theirs\n");
    assert!(is_there(&scene, "d/b"));
}

#[test]
fn nothing_is_applied_until_everything_is_accepted() {
    let scene = scene(OBEYED);
    let (envelope, code) = run(&scene, &[]);
    assert_eq!((code, &envelope["changes_applied"]), (125, &Value::Bool(false)), "{envelope:#}");
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, ".npmrc")), ("old\n", false));
    let (code, _, said) = runs(&scene, "apply", &envelope, &[]);
    assert_eq!(code, 125, "{said}");
    assert!(said.contains(".npmrc` needs your decision"), "{said}");
    let (code, _, said) = runs(&scene, "apply", &envelope, &["--accept", "other"]);
    assert_eq!(code, 125, "{said}");
    let (code, _, said) = runs(&scene, "apply", &envelope, &["--accept", ".npmrc", "--remember"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, ".npmrc")), ("new\n", true));
    // It was remembered for this skill.
    runs(&scene, "undo", &envelope, &[]);
    let (envelope, code) = run(&scene, &[]);
    assert_eq!((code, &envelope["changes_applied"]), (0, &Value::Bool(true)), "{envelope:#}");
}

#[test]
fn accept_names_what_else_may_be_applied() {
    let scene = scene("echo x > .npmrc\nln -s /etc/passwd out\n");
    let (envelope, code) = run(&scene, &["--accept", ".npmrc"]);
    assert_eq!(code, 125, "the link leads out: {envelope:#}");
    assert!(!is_there(&scene, ".npmrc"));
    let (envelope, code) = run(&scene, &["--accept", ".npmrc", "--accept", "out"]);
    assert_eq!((code, &envelope["exit_code"]), (0, &Value::from(0)), "{envelope:#}");
    assert!(is_there(&scene, ".npmrc") && is_there(&scene, "out"));
}

#[test]
fn a_link_in_a_repository_is_never_accepted() {
    let scene = scene("ln -s ../../home/.profile .git/logs\n");
    let (envelope, code) = run(&scene, &["--accept", "**"]);
    assert_eq!(code, 125, "{envelope:#}");
    let (code, _, said) = runs(&scene, "apply", &envelope, &["--accept", "**"]);
    assert_eq!(code, 125);
    assert!(said.contains("is never applied"), "{said}");
    assert!(!is_there(&scene, ".git/logs"));
    let (code, _, _) = runs(&scene, "discard", &envelope, &[]);
    assert_eq!(code, 0);
    let (code, _, _) = runs(&scene, "show", &envelope, &[]);
    assert_eq!(code, 3, "it is forgotten");
}

#[test]
fn a_dry_run_leaves_a_patch() {
    let scene = scene(ORDINARY);
    let (envelope, code) = run(&scene, &["--dry-run", "--patch", "change.patch"]);
    assert_eq!((code, &envelope["changes_applied"]), (0, &Value::Bool(false)), "{envelope:#}");
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, "d")), ("old\n", false));
    let patch = scene.text("repo/change.patch");
    let applied = std::process::Command::new("git")
        .args(["apply", "change.patch"])
        .current_dir(scene.path().join("repo"))
        .status();
    assert!(applied.expect("there is git").success(), "{patch}");
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, "d/b")), ("new\n", true));
    // Somebody else, git, has changed the files: that is a conflict.
    let (code, _, said) = runs(&scene, "apply", &envelope, &[]);
    assert_eq!(code, 1, "{said}");
}

#[test]
fn a_review_without_a_terminal_applies_nothing() {
    let scene = scene(OBEYED);
    let (envelope, code) = run(&scene, &["--review"]);
    assert_eq!(code, 125, "{envelope:#}");
    assert!(!is_there(&scene, ".npmrc"));
    // `--yes` approves the run; the changes were to be seen.
    let scene = self::scene(ORDINARY);
    let (envelope, code) = run(&scene, &["--review"]);
    assert_eq!((code, &envelope["changes_applied"]), (125, &Value::Bool(false)), "{envelope:#}");
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, "d")), ("old\n", false));
    let (code, _, said) = runs(&scene, "apply", &envelope, &[]);
    assert_eq!((code, scene.text("repo/a").as_str()), (0, "new\n"), "{said}");
    // Where nothing has changed there is nothing to see.
    let (envelope, code) = run(&self::scene("cat a\n"), &["--review"]);
    assert_eq!((code, &envelope["changes_applied"]), (0, &Value::Bool(false)), "{envelope:#}");
}

#[test]
fn a_tool_that_fails_without_a_change_leaves_nothing_to_decide() {
    // The same bytes again: only a time has changed.
    let scene = scene("cat a > b && cat b > a && rm b\nexit 3\n");
    let (envelope, code) = run(&scene, &[]);
    assert_eq!((code, envelope.get("run")), (3, None), "{envelope:#}");
    assert!(!scene.stdout("runs list").contains("probe/go"));
}

#[test]
fn a_change_by_somebody_else_is_a_conflict() {
    let scene = scene("echo new > a\necho x > b\ntouch ready 2>/dev/null || true\nsleep 3\n");
    let others = scene.path().join("repo/a");
    let home = scene.path().join("home");
    let writer = std::thread::spawn(move || {
        // The tool has begun when its upper layer has the file.
        let changes = home.join(".local/share/prowess");
        for _ in 0..500 {
            if has_file(&changes, "b") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::fs::write(others, "theirs\n").expect("written");
    });
    let (envelope, code) = run(&scene, &[]);
    writer.join().expect("it wrote");
    assert_eq!((code, &envelope["changes_applied"]), (1, &Value::Bool(false)), "{envelope:#}");
    let changes = envelope["changes"].as_array().expect("a list");
    let of_a =
        changes.iter().find(|it| it["path"].as_str().is_some_and(|path| path.ends_with("/a")));
    assert!(
        of_a.is_some_and(|it| it["reason"].is_string() && it["applied"] == false),
        "{changes:?}"
    );
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, "b")), ("theirs\n", false));
    for options in [&[][..], &["--accept", "**"]] {
        let (code, _, said) = runs(&scene, "apply", &envelope, options);
        assert_eq!((code, scene.text("repo/a").as_str()), (1, "theirs\n"), "{said}");
    }
}

/// Whether a file of a name is somewhere below a folder.
fn has_file(folder: &std::path::Path, name: &str) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        entry.file_name() == name || (is_folder && has_file(&entry.path(), name))
    })
}

#[test]
fn every_kind_of_change_is_named_and_git_takes_the_patch() {
    let scene = scene(
        "rm gone link\nmkdir d empty\necho x > d/b\nchmod 755 mode\nln -s a new-link\nln -s d link
printf '\\0\\1\\2' > binary\n: > nothing\nprintf 'no end' > end\necho x > 'odd \"name\"'
rm kind && mkdir kind && echo x > kind/inner\n",
    );
    let repo = scene.path().join("repo");
    let git = |arguments: &[&str]| {
        let status = std::process::Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "safe.directory=*"])
            .args(arguments)
            .current_dir(&repo)
            .status();
        assert!(status.expect("there is git").success(), "{arguments:?}");
    };
    let scene = scene
        .file("repo/gone", "x\n")
        .file("repo/mode", "x\n")
        .file("repo/kind", "x\n")
        .file("repo/binary", "\0\0")
        .file("repo/end", "no end either");
    std::os::unix::fs::symlink("a", repo.join("link")).expect("linked");
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=1"]);
    let (envelope, code) = run(&scene, &[]);
    assert_eq!(code, 0, "{envelope:#}");
    let changes = envelope["changes"].as_array().expect("a list");
    let mut kinds: Vec<String> = changes
        .iter()
        .map(|it| {
            let path = std::path::Path::new(it["path"].as_str().expect("a path"));
            let path = path.strip_prefix(&repo).expect("in the project").display();
            format!("{path} {}", it["kind"].as_str().expect("a kind"))
        })
        .collect();
    kinds.sort();
    assert_eq!(
        kinds,
        [
            "binary changed",
            "d added",
            "d/b added",
            "empty added",
            "end changed",
            "gone deleted",
            "kind added",
            "kind deleted",
            "kind/inner added",
            "link link",
            "mode mode",
            "new-link link",
            "nothing added",
            "odd \"name\" added",
        ]
    );
    let (_, patch, _) = runs(&scene, "diff", &envelope, &[]);
    std::fs::write(scene.path().join("change.patch"), &patch).expect("written");
    // Into the state before: what git makes of it is what the run has left, but for empty folders.
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=2"]);
    git(&["worktree", "add", "--quiet", "--detach", "../before", "HEAD~"]);
    let before = scene.path().join("before");
    let applied = std::process::Command::new("git")
        .args(["apply", "--index", "../change.patch"])
        .current_dir(&before)
        .output()
        .expect("there is git");
    assert!(applied.status.success(), "{}\n{patch}", String::from_utf8_lossy(&applied.stderr));
    let tree = |folder: &std::path::Path, name: &str| {
        let output = std::process::Command::new("git")
            .args(["-c", "safe.directory=*", name, "HEAD^{tree}"])
            .current_dir(folder)
            .output();
        String::from_utf8_lossy(&output.expect("there is git").stdout).into_owned()
    };
    let written = std::process::Command::new("git")
        .args(["-c", "safe.directory=*", "write-tree"])
        .current_dir(&before)
        .output()
        .expect("there is git");
    assert_eq!(String::from_utf8_lossy(&written.stdout), tree(&repo, "rev-parse"));
}

#[test]
fn a_review_shows_the_diff_and_asks() {
    let scene = scene(OBEYED);
    let arguments = ["run", "../skills/probe/go", "--yes", "--review"];
    let said = scene.run_on_terminal(&arguments, "n\n");
    assert!(said.contains("+new") && said.contains("? added"), "{said}");
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, ".npmrc")), ("old\n", false));
    scene.run_on_terminal(&arguments, "y\n");
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, ".npmrc")), ("new\n", true));
}

#[test]
fn an_interrupt_at_the_question_ends_the_review_and_keeps_the_changes() {
    let scene = scene(OBEYED);
    let arguments = ["run", "../skills/probe/go", "--yes", "--review"];
    let question = "also those marked with `?`? [y]es / [N]o: ";
    assert_eq!(scene.interrupted(&arguments, question).signal, Some(2));
    assert_eq!((scene.text("repo/a").as_str(), is_there(&scene, ".npmrc")), ("old\n", false));
    let listed = scene.run("runs list --format json");
    assert_eq!(listed.matches("\"pending\"").count(), 1, "{listed}");
}

#[test]
fn a_tool_that_fails_changes_nothing_unless_asked() {
    let scene = scene("echo new > a\nexit 3\n");
    let (envelope, code) = run(&scene, &[]);
    assert_eq!((code, &envelope["changes_applied"]), (3, &Value::Bool(false)), "{envelope:#}");
    assert_eq!(scene.text("repo/a"), "old\n");
    let (envelope, code) = run(&scene, &["--keep-changes"]);
    assert_eq!((code, &envelope["changes_applied"]), (3, &Value::Bool(true)), "{envelope:#}");
    assert_eq!(scene.text("repo/a"), "new\n");
}

#[test]
fn what_can_not_be_held_back_is_said_in_the_question() {
    // A large file is not copied before a run.
    let front = "permissions: [\"filesystem:write:./large\"]\n";
    let scene = probe(front, &[("go", &[], "./go.sh")])
        .script("skills/probe/go.sh", "#!/bin/sh\nprintf new 1<> large\n")
        .file("repo/large", "old ");
    let file = std::fs::OpenOptions::new().write(true).open(scene.path().join("repo/large"));
    file.expect("it is ours").set_len(300 << 20).expect("it may have holes");
    let begin = |scene: &Scene| {
        let mut bytes = [0; 4];
        let mut file = std::fs::File::open(scene.path().join("repo/large")).expect("it is there");
        std::io::Read::read_exact(&mut file, &mut bytes).expect("it is long");
        bytes
    };
    let asked = scene.run_on_terminal(&["run", "../skills/probe/go"], "n\n");
    let words = asked.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("made at once and can't be undone: it is too large"), "{asked}");
    assert!(scene.stdout("policy ../skills/probe").contains("can't be undone: it is too large"));
    let (envelope, code) = run(&scene, &["--review"]);
    assert_eq!((code, begin(&scene)), (125, *b"old "), "{envelope:#}");
    let (envelope, code) = run(&scene, &[]);
    assert_eq!((code, begin(&scene)), (0, *b"new "), "{envelope:#}");
    assert!(envelope["warnings"].to_string().contains("can't be undone"), "{envelope:#}");
}

#[test]
fn live_writes_are_asked_for_and_said() {
    let scene = scene("echo new > a\nexit 3\n");
    let (envelope, code) = run(&scene, &["--live"]);
    assert_eq!((code, envelope.get("changes")), (3, None), "{envelope:#}");
    assert_eq!(scene.text("repo/a"), "new\n");
    let arguments = ["run", "../skills/probe/go", "--live"];
    let said = scene.run_on_terminal(&arguments, "n\n");
    assert!(said.contains("can't be undone"), "{said}");
}

#[test]
fn options_for_changes_need_a_tool() {
    let scene = scene(ORDINARY).file(
        "skills/prompt/SKILL.md",
        "---\nname: prompt\ndescription: Says something\ntype: prompt\n---\n\nSay {{text}}\n",
    );
    let said = scene.run("run ../skills/probe/go --remember --yes");
    assert!(said.contains("`--remember` needs `--allow` or `--accept`"), "{said}");
    let said = scene.run("run ../skills/probe/go --accept ../x --yes");
    assert!(said.starts_with("exit 2") && said.contains("invalid `--accept`"), "{said}");
    let said = scene.run("runs show abcdef");
    assert!(said.starts_with("exit 3"), "{said}");
}
