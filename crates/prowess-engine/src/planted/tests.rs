use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// A folder that a run may write, and the scan of it afterwards.
struct Scene {
    _folder: tempfile::TempDir,
    top: PathBuf,
    lookout: PlantedScan,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let top = folder.path().canonicalize().expect("it is there").join("top");
        fs::create_dir(&top).expect("a folder");
        let lookout = PlantedScan {
            folders: vec![top.clone()],
            started: SystemTime::now(),
            ..PlantedScan::nothing()
        };
        Self { _folder: folder, top, lookout }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.top.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    /// The messages, without the path of the folder.
    fn said(&self) -> String {
        let Findings { warnings, failures } = self.lookout.scan();
        let failures = failures.iter().map(|failure| format!("FAILED {failure}"));
        let said: Vec<String> = warnings.into_iter().chain(failures).collect();
        said.join("\n").replace(&format!("{}/", self.top.display()), "")
    }
}

/// The messages about a run that has created these files.
fn said(files: &[(&str, &str)]) -> String {
    let scene = Scene::new();
    for (path, text) in files {
        scene.write(path, text);
    }
    scene.said()
}

const HEAD: &str = "ref: refs/heads/main\n";
const HARMLESS: &str =
    "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x\n";
const WATCHED: &str = "[core]\n\tfsmonitor = \"touch pwned; false\"\n";

#[test]
fn repositories_that_start_nothing_stay() {
    for files in [
        &[("a/.git/HEAD", HEAD), ("a/.git/config", HARMLESS)][..],
        &[("a/.git/HEAD", HEAD), ("a/.git/hooks/pre-commit.sample", "#!/bin/sh\n")],
        &[("a.git/HEAD", HEAD), ("a.git/objects/x", ""), ("a.git/refs/x", "")],
        // A submodule, as git clones it.
        &[
            (".git/HEAD", HEAD),
            (".git/modules/s/HEAD", HEAD),
            (".git/modules/s/config", "[core]\n\tworktree = ../../../s\n"),
            ("s/.git", "gitdir: ../.git/modules/s\n"),
        ],
        // A linked worktree, as git creates it.
        &[
            (".git/HEAD", HEAD),
            (".git/config", HARMLESS),
            (".git/worktrees/w/HEAD", HEAD),
            (".git/worktrees/w/commondir", "../..\n"),
            ("w/.git", "gitdir: ../.git/worktrees/w\n"),
        ],
        // Git does not treat this as a repository.
        &[("a/HEAD", HEAD), ("a/config", WATCHED)],
    ] {
        assert_eq!(said(files), "", "{files:?}");
    }
}

#[test]
fn repositories_that_start_something_are_moved_aside() {
    let bare =
        |config| [("d/HEAD", HEAD), ("d/objects/x", ""), ("d/refs/x", ""), ("d/config", config)];
    let cases: Vec<(Vec<(&str, &str)>, &str)> = vec![
        (
            vec![("a/b/.git/HEAD", HEAD), ("a/b/.git/config", WATCHED)],
            "`a/b/.git` is new and would determine what git runs (it sets `core.fsmonitor`): it was renamed to `.git.planted`",
        ),
        (
            vec![(".git/HEAD", HEAD), (".git/hooks/pre-commit", "")],
            "`.git` is new and would determine what git runs (it has the hook `pre-commit`): it was renamed to `.git.planted`",
        ),
        // `git init` would make it a repository.
        (
            vec![("a/.git/config", WATCHED)],
            "`a/.git` is new and would determine what git runs (it sets `core.fsmonitor`): it was renamed to `.git.planted`",
        ),
        (
            vec![("a/.git/hooks/post-checkout", "")],
            "`a/.git` is new and would determine what git runs (it has the hook `post-checkout`): it was renamed to `.git.planted`",
        ),
        // Upper case, and a character that a macOS file system ignores.
        (
            vec![("a/.GIT/config", WATCHED)],
            "`a/.GIT` is new and would determine what git runs (it sets `core.fsmonitor`): it was renamed to `.GIT.planted`",
        ),
        (
            vec![("a/.git/HEAD", HEAD), ("a/.git/config", "[gc]\nrecentObjectsHook = id\n")],
            "`a/.git` is new and would determine what git runs (it sets `gc.recentobjectshook`): it was renamed to `.git.planted`",
        ),
        (
            vec![(".git/HEAD", HEAD), (".git/index", "nonsense")],
            "`.git` is new and would determine what git runs (its `index`: it can't be read as an index; `git reset` creates a new one): it was renamed to `.git.planted`",
        ),
        (
            vec![(".git/HEAD", HEAD), (".git/rebase-merge/git-rebase-todo", "exec id\n")],
            "`.git` is new and would determine what git runs (its `rebase-merge`: its `git-rebase-todo` has the command `exec`): it was renamed to `.git.planted`",
        ),
        (
            vec![
                (".git/HEAD", HEAD),
                (".git/objects/info/alternates", "../../lender\n"),
                ("lender/info/alternates", "/srv/x\n"),
            ],
            "`.git` is new and would determine what git runs (its `objects/info/alternates`: it uses objects from elsewhere): it was renamed to `.git.planted`",
        ),
        // Git ends the path before the carriage return.
        (
            vec![
                ("x/.git", "gitdir: ../.git/y\r\n"),
                (".git/y/HEAD", HEAD),
                (".git/y/config", WATCHED),
            ],
            "`x/.git` is new and would determine what git runs (it sets `core.fsmonitor`): it was renamed to `.git.planted`",
        ),
        (
            vec![(".git/HEAD", HEAD), (".git/config.worktree", "")],
            "`.git` is new and would determine what git runs (it has a `config.worktree`): it was renamed to `.git.planted`",
        ),
        (
            vec![(".git/HEAD", HEAD), (".git/commondir", "../x")],
            "`.git` is new and would determine what git runs (its `commondir` points elsewhere): it was renamed to `.git.planted`",
        ),
        (
            vec![(".git/HEAD", HEAD), (".git/config", "[core\n")],
            "`.git` is new and would determine what git runs (its settings can't be read): it was renamed to `.git.planted`",
        ),
        (
            vec![(".git/HEAD", HEAD), (".git/config", "[core]\nworktree = /\n")],
            "`.git` is new and would determine what git runs (it sets `core.worktree`): it was renamed to `.git.planted`",
        ),
        (
            vec![(".git/HEAD", HEAD), (".git/objects/info/alternates", "/srv/x\n")],
            "`.git` is new and would determine what git runs (its `objects/info/alternates`: it uses objects from elsewhere): it was renamed to `.git.planted`",
        ),
        (
            bare(WATCHED).to_vec(),
            "`d` is a new folder that git would treat as a repository, and would determine what git runs (it sets `core.fsmonitor`): its `HEAD` was renamed to `HEAD.planted`",
        ),
        // Only one of the two looks like a repository.
        (
            vec![("x/.git", "gitdir: ../y\n"), ("y/HEAD", HEAD), ("y/config", WATCHED)],
            "`x/.git` is new and would determine what git runs (it sets `core.fsmonitor`): it was renamed to `.git.planted`",
        ),
        (
            vec![("x/.git", "gitdir: /srv/x\n")],
            "`x/.git` is new and would determine what git runs (it points to `/srv/x`): it was renamed to `.git.planted`",
        ),
        (
            vec![("x/.git", "nonsense")],
            "`x/.git` is new and would determine what git runs (it can't be read): it was renamed to `.git.planted`",
        ),
        (
            vec![
                (".git/HEAD", HEAD),
                (".git/modules/s/HEAD", HEAD),
                (".git/modules/s/objects/x", ""),
                (".git/modules/s/refs/x", ""),
                (".git/modules/s/config", WATCHED),
            ],
            "`.git/modules/s` is a new folder that git would treat as a repository, and would determine what git runs (it sets `core.fsmonitor`): its `HEAD` was renamed to `HEAD.planted`",
        ),
    ];
    for (files, expected) in cases {
        assert_eq!(said(&files), expected, "{files:?}");
    }
    let scene = Scene::new();
    std::os::unix::fs::symlink("elsewhere", scene.top.join(".git")).expect("a link");
    assert!(scene.said().contains("(it is a link): it was renamed to `.git.planted`"));
    assert!(fs::symlink_metadata(scene.top.join(".git")).is_err());
}

/// The messages about a change in an existing repository.
fn said_of_known(files: &[(&str, &str)]) -> String {
    let mut scene = Scene::new();
    scene.write(".git/HEAD", HEAD);
    scene.lookout.repositories.insert(scene.top.join(".git"));
    for (path, text) in files {
        scene.write(path, text);
    }
    scene.said()
}

#[test]
fn state_that_starts_something_is_moved_aside() {
    for (files, expected) in [
        (
            &[(".git/index", "")][..],
            "`.git/index` was changed during this run, and git must not use it (it can't be read as an index; `git reset` creates a new one): it was renamed to `index.planted`",
        ),
        (
            &[(".git/sharedindex.0", "x")],
            "`.git/sharedindex.0` was changed during this run, and git must not use it (it can't be read as an index; `git reset` creates a new one): it was renamed to `sharedindex.0.planted`",
        ),
        (
            &[(".git/rebase-merge/git-rebase-todo", "pick 1\n \tx id\n")],
            "`.git/rebase-merge` was changed during this run, and git must not use it (its `git-rebase-todo` has the command `x`): it was renamed to `rebase-merge.planted`",
        ),
        (
            &[(".git/rebase-merge/strategy", "a/b\n")],
            "`.git/rebase-merge` was changed during this run, and git must not use it (its `strategy` is a program): it was renamed to `rebase-merge.planted`",
        ),
        (
            &[(".git/rebase-apply/apply-opt", "'--build-fake-ancestor=x'\n")],
            "`.git/rebase-apply` was changed during this run, and git must not use it (its `apply-opt` could make git write other files): it was renamed to `rebase-apply.planted`",
        ),
        (
            &[(".git/sequencer/opts", "[options]\nstrategy = a/b\n")],
            "`.git/sequencer` was changed during this run, and git must not use it (its `opts` name a program as strategy): it was renamed to `sequencer.planted`",
        ),
        (
            &[(".git/rebase-merge", "x")],
            "`.git/rebase-merge` was changed during this run, and git must not use it (it can't be read): it was renamed to `rebase-merge.planted`",
        ),
        (
            &[(".git/MERGE_RR", "0.-1\t.git/config\0")],
            "`.git/MERGE_RR` was changed during this run, and git must not use it (git would write a resolved conflict to `.git/config`): it was renamed to `MERGE_RR.planted`",
        ),
        (
            &[(".git/MERGE_RR", "nonsense")],
            "`.git/MERGE_RR` was changed during this run, and git must not use it (git would write a resolved conflict to `nonsense`): it was renamed to `MERGE_RR.planted`",
        ),
        (
            &[(".git/BISECT_NAMES", "'a'; id\n")],
            "`.git/BISECT_NAMES` was changed during this run, and git must not use it (it contains more than quoted paths): it was renamed to `BISECT_NAMES.planted`",
        ),
        (
            &[(".git/remotes/origin", "URL: x\n")],
            "`.git/remotes` was changed during this run, and git must not use it (it determines where git fetches from): it was renamed to `remotes.planted`",
        ),
        (
            &[(".git/objects/info/alternates", "/srv/x\n")],
            "`.git/objects/info/alternates` was changed during this run, and git must not use it (it uses objects from elsewhere): it was renamed to `alternates.planted`",
        ),
        // Git's own state.
        (
            &[
                (".git/rebase-merge/git-rebase-todo", "pick 1 # x\n\n# exec\nlabel a\n"),
                (".git/rebase-merge/strategy", "ort\n"),
            ],
            "",
        ),
        (&[(".git/rebase-apply/apply-opt", "'-p1' '--whitespace=fix'\n")], ""),
        (
            &[
                (".git/sequencer/todo", "revert 1\n"),
                (".git/sequencer/opts", "[options]\n\tedit = true\n"),
            ],
            "",
        ),
        (&[(".git/MERGE_RR", "0\ta/b\0")], ""),
        (&[(".git/BISECT_NAMES", " 'a b' 'it'\\''s'\n")], ""),
        (&[(".git/objects/info/alternates", "../../x\n")], ""),
    ] {
        assert_eq!(said_of_known(files), expected, "{files:?}");
    }
}

#[test]
fn links_in_a_repository_are_removed() {
    for (path, target) in [
        (".git/logs/HEAD", "/home/x/.bashrc"),
        (".git/logs/refs/heads/main", "../../../../config"),
        (".git/FETCH_HEAD", "x"),
        (".git/COMMIT_EDITMSG", "x"),
        (".git/index", "x"),
        (".git/packed-refs", "x"),
        (".git/info", "/tmp"),
        (".git/objects/pack", "/tmp"),
        (".git/rr-cache/x/postimage", "/tmp"),
    ] {
        let mut scene = Scene::new();
        scene.write(".git/HEAD", HEAD);
        scene.lookout.repositories.insert(scene.top.join(".git"));
        let link = scene.top.join(path);
        fs::create_dir_all(link.parent().expect("a folder")).expect("it can be made");
        std::os::unix::fs::symlink(target, &link).expect("a link");
        let expected = format!(
            "`{path}` was a new link to `{target}`, and git would have written through it: it was removed"
        );
        assert_eq!(scene.said(), expected);
        assert!(fs::symlink_metadata(&link).is_err());
        // One that existed before the run belongs to the user.
        std::os::unix::fs::symlink(target, &link).expect("a link");
        scene.lookout.started = SystemTime::now() + Duration::from_hours(1);
        scene.said();
        assert!(fs::symlink_metadata(&link).is_ok(), "{path}");
        // A new repository with a link was not created by git.
        scene.lookout.repositories.clear();
        let name = path.strip_prefix(".git/").expect("it begins so");
        assert!(
            scene.said().contains(&format!("(its `{name}` is a link): it was renamed to")),
            "{path}"
        );
    }
}

#[test]
fn a_conflict_is_not_resolved_over_a_link() {
    let mut scene = Scene::new();
    scene.write(".git/HEAD", HEAD);
    scene.write(".git/MERGE_RR", "0\ta/b\0");
    std::os::unix::fs::symlink(".git", scene.top.join("a")).expect("a link");
    scene.lookout.repositories.insert(scene.top.join(".git"));
    assert!(scene.said().contains("it was renamed to `MERGE_RR.planted`"));
}

#[test]
fn settings_of_others_count_in_a_new_repository() {
    let mut scene = Scene::new();
    scene.write("user.cfg", "[core]\n\thooksPath = hooks\n[alias]\n\tlg = log\n");
    scene.lookout.settings.push(scene.top.join("user.cfg"));
    scene.write("a/.git/HEAD", HEAD);
    scene.write("a/log", "");
    assert_eq!(scene.said(), "");
    scene.write("a/hooks/pre-commit", "");
    assert!(
        scene
            .said()
            .contains("(the setting `core.hookspath` names it): it was renamed to `.git.planted`")
    );
    // A `.git` file that refers to a repository of the user.
    let mut scene = Scene::new();
    scene.write(".git/HEAD", HEAD);
    scene.write(".git/config", "[core]\n\thooksPath = hooks\n");
    scene.lookout.repositories.insert(scene.top.join(".git"));
    scene.write("x/.git", "gitdir: ../.git\n");
    assert_eq!(scene.said(), "");
    scene.write("x/hooks/pre-commit", "");
    assert!(
        scene
            .said()
            .contains("(the setting `core.hookspath` names it): it was renamed to `.git.planted`")
    );
}

#[test]
fn what_is_beyond_the_bound_is_no_success() {
    let scene = Scene::new();
    for name in ["a", "b", "c"] {
        scene.write(&format!("{name}/x"), "");
    }
    assert_eq!(scene.lookout.scan_within(None, 4), Findings::default());
    let Findings { warnings, failures } = scene.lookout.scan_within(None, 3);
    assert_eq!((warnings.len(), failures.len()), (0, 1));
    assert!(failures[0].contains("more than 3 folders: the rest was not examined"), "{failures:?}");
}

#[test]
fn links_that_lead_out_are_named() {
    let scene = Scene::new();
    scene.write("a/inside", "");
    for (name, target) in
        [("out", "/etc"), ("up", "../.."), ("nowhere", "/srv/none"), ("in", "inside")]
    {
        std::os::unix::fs::symlink(target, scene.top.join("a").join(name)).expect("a link");
    }
    let said = scene.said();
    for name in ["out", "up", "nowhere"] {
        assert!(
            said.contains(&format!(
                "`a/{name}` is a new link that points outside the granted folders"
            )),
            "{said}"
        );
    }
    assert_eq!(said.lines().count(), 3, "{said}");
}

#[test]
fn names_that_are_taken_do_not_help() {
    let scene = Scene::new();
    scene.write(".git/HEAD", HEAD);
    scene.write(".git/config", WATCHED);
    scene.write(".git.planted/x", "");
    assert!(scene.said().ends_with("it was renamed to `.git.planted-2`"), "{}", scene.said());
    assert!(!scene.top.join(".git").exists());
}

#[test]
fn what_was_there_is_let_be() {
    let mut scene = Scene::new();
    scene.write("a/.git/HEAD", HEAD);
    scene.write("a/.git/config", WATCHED);
    scene.write(".vscode/tasks.json", "{}");
    scene.lookout.repositories.insert(scene.top.join("a/.git"));
    scene.lookout.fixed.insert(scene.top.join(".vscode"));
    assert_eq!(scene.said(), "");
}

#[test]
fn what_was_too_deep_to_be_seen_counts_by_its_age() {
    let mut scene = Scene::new();
    scene.write("a/.git/HEAD", HEAD);
    scene.write("a/.git/config", WATCHED);
    scene.lookout.is_complete = false;
    scene.lookout.started = SystemTime::now() + Duration::from_hours(1);
    assert_eq!(scene.said(), "");
    scene.lookout.started = SystemTime::now() - Duration::from_hours(1);
    assert!(scene.said().contains("`a/.git` is new"));
}

#[test]
fn a_change_in_what_was_too_deep_is_told() {
    let mut scene = Scene::new();
    scene.write("a/.git/HEAD", HEAD);
    scene.write("a/.git/config", WATCHED);
    scene.lookout.is_complete = false;
    // The folder is older than the run, but the settings are not: files created now, and a run that starts in between.
    let created = scene.top.join("a/.git").metadata().and_then(|data| data.created());
    let created = created.expect("the filesystem of temporary files tells it");
    scene.lookout.started = created + COARSE + Duration::from_nanos(1);
    let config = scene.top.join("a/.git/config");
    let changed = || platform::changed(&config.metadata().expect("it is there"));
    while changed() <= Some(created) {
        scene.write("a/.git/config", WATCHED);
    }
    assert_eq!(
        scene.said(),
        "`a/.git` was changed during this run and determines what git runs (it sets `core.fsmonitor`): review it"
    );
    assert!(scene.top.join("a/.git").exists());
}

#[test]
fn what_came_after_a_killed_run_is_not_its_own() {
    let scene = Scene::new();
    scene.write("a/.git/HEAD", HEAD);
    scene.write("a/.git/config", WATCHED);
    scene.write(".envrc", "");
    let earlier = SystemTime::now() - Duration::from_hours(1);
    assert_eq!(scene.lookout.scan_until(Some(earlier)), Findings::default());
    let later = SystemTime::now() + Duration::from_hours(1);
    assert_eq!(scene.lookout.scan_until(Some(later)).warnings.len(), 2);
}

#[test]
fn files_that_others_run_are_named_at_any_depth() {
    for (path, named) in [
        ("a/b/.vscode/tasks.json", "a/b/.vscode"),
        ("x.code-workspace", "x.code-workspace"),
        (".cargo/config.toml", ".cargo/config.toml"),
        ("a/.envrc", "a/.envrc"),
        (".husky/pre-commit", ".husky"),
    ] {
        let expected =
            format!("`{named}` is new, and other programs may run commands from it: review it");
        assert_eq!(said(&[(path, "")]), expected);
    }
    // The project's own code, and similar names.
    let plain =
        ["Makefile", "package.json", ".cargo/credentials.toml", ".envrc.example", "CLAUDE.md"];
    assert_eq!(said(&plain.map(|path| (path, ""))), "");
    let many: Vec<String> = (0..25).map(|number| format!("{number:02}/.envrc")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|path| (path.as_str(), "")).collect();
    let said = said(&many);
    assert_eq!(said.lines().count(), 21, "{said}");
    assert!(said.ends_with("5 more such files and folders are new"), "{said}");
}

#[test]
fn places_that_were_empty_are_looked_at() {
    for (kind, path, text, expected) in [
        (
            AbsentKind::OfGit,
            ".git/commondir",
            "x",
            "`.git/commondir` is new and would determine what git runs: it was renamed to `commondir.planted`",
        ),
        (AbsentKind::Settings, ".git/config", HARMLESS, ""),
        (
            AbsentKind::Settings,
            ".git/config",
            WATCHED,
            "`.git/config` is new and would determine what git runs (it sets `core.fsmonitor`): it was renamed to `config.planted`",
        ),
        (AbsentKind::Hooks, ".git/hooks/x.sample", "", ""),
        (
            AbsentKind::Hooks,
            ".git/hooks/pre-push",
            "",
            "`.git/hooks` is new and would determine what git runs (it has the hook `pre-push`): it was renamed to `hooks.planted`",
        ),
        (
            AbsentKind::OfSearchPath,
            "bin/ls",
            "",
            "`bin` is new and on your PATH: programs in it can be started by name, so review it",
        ),
        (
            AbsentKind::StartFile,
            "anna/.bashrc",
            "",
            "`anna/.bashrc` is new, and other programs may run commands from it: review it",
        ),
    ] {
        let mut scene = Scene::new();
        let place = match kind {
            AbsentKind::Hooks => scene.top.join(".git/hooks"),
            AbsentKind::OfSearchPath => scene.top.join("bin"),
            AbsentKind::OfGit | AbsentKind::Settings | AbsentKind::StartFile => {
                scene.top.join(path)
            }
        };
        scene.lookout.repositories.insert(scene.top.join(".git"));
        scene.lookout.absent.insert(Absent { place, kind });
        assert_eq!(scene.said(), "");
        scene.write(path, text);
        assert_eq!(scene.said(), expected, "{path}");
    }
}

#[test]
fn folders_that_were_closed_are_opened() {
    // In a folder that can be entered but not listed, git reads files that it knows by name. Root can list it anyway.
    for mode in [0o000, 0o100, 0o500] {
        let mut scene = Scene::new();
        scene.write("a/b/.git/HEAD", HEAD);
        scene.write("a/b/.git/config", WATCHED);
        scene.write("c/.git/commondir", "x");
        let place = scene.top.join("c/.git/commondir");
        scene.lookout.repositories.insert(scene.top.join("c/.git"));
        scene.lookout.absent.insert(Absent { place, kind: AbsentKind::OfGit });
        for folder in ["a/b/.git", "a/b", "a", "c/.git", "c"] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(scene.top.join(folder), mode).expect("it is ours");
        }
        let said = scene.said();
        assert!(
            said.contains("`a/b/.git` is new and would determine what git runs"),
            "{mode:o}: {said}"
        );
        assert!(said.contains("it was renamed to `commondir.planted`"), "{mode:o}: {said}");
        assert!(!said.contains("FAILED"), "{mode:o}: {said}");
    }
}
