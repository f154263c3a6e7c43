use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};

use super::{Stage, Wanted, reason};
use crate::error::SandboxError;
use crate::linux::walk;
use crate::pattern::Patterns;

/// A granted folder `out` with files, and the private folder `copy` that replaces it.
struct Trial {
    root: tempfile::TempDir,
    protected: BTreeSet<PathBuf>,
    shows_others: bool,
}

impl Trial {
    fn new(files: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let trial = Self { root, protected: BTreeSet::new(), shows_others: false };
        for folder in ["out", "copy", "elsewhere"] {
            fs::create_dir(trial.path(folder)).expect("a folder");
        }
        for file in files {
            trial.write(&format!("out/{file}"), "old");
        }
        trial
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("it exists").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn fill(&self, pattern: &str, max_size: u64) -> Result<(Stage, Vec<PathBuf>), SandboxError> {
        let open = |name| walk::open_folder(&self.path(name)).expect("a folder");
        Stage::new(Wanted {
            path: &self.path("out"),
            patterns: Patterns::new([(Path::new(""), pattern)]).expect("a pattern"),
            target: open("out"),
            private: (open("copy"), self.path("copy")),
            protected: self.protected.clone(),
            shows_others: self.shows_others,
            max_size,
            upper: None,
        })
    }

    fn stage(&self, pattern: &str) -> Stage {
        self.fill(pattern, 1 << 20).expect("it can be copied").0
    }

    /// The discarded files with their reasons.
    fn back(&self, stage: &Stage) -> Vec<(String, &'static str)> {
        let mut discarded = Vec::new();
        stage.copy_back_all(1 << 20, &mut discarded);
        let out = self.path("out");
        let mut shown: Vec<_> = discarded
            .into_iter()
            .map(|one| {
                let relative = one.path.strip_prefix(&out).expect("below the grant");
                (relative.display().to_string(), one.reason)
            })
            .collect();
        shown.sort();
        shown
    }

    fn tree(&self, top: &str) -> Vec<String> {
        let top = walk::open_folder(&self.path(top)).expect("a folder");
        let mut found = Vec::new();
        walk::walk(std::os::fd::AsFd::as_fd(&top), &mut 1000, &mut |entry| {
            found.push(entry.relative.display().to_string());
            Ok(walk::Next::Enter)
        })
        .expect("a small folder");
        found.sort();
        found
    }
}

fn none() -> Vec<(String, &'static str)> {
    Vec::new()
}

#[test]
fn only_matching_files_are_copied_in_and_back() {
    let trial = Trial::new(&["a.md", "b.txt", "sub/c.md"]);
    symlink("/etc/passwd", trial.path("out/link.md")).expect("a link");
    let stage = trial.stage("*.md");
    assert_eq!(trial.tree("copy"), ["a.md"]);
    trial.write("copy/a.md", "new");
    trial.write("copy/new.md", "new");
    trial.write("copy/x.sh", "new");
    trial.write("copy/sub/y.md", "new");
    assert_eq!(
        trial.back(&stage),
        [("sub/y.md".to_owned(), reason::NO_MATCH), ("x.sh".to_owned(), reason::NO_MATCH)]
    );
    assert_eq!(trial.tree("out"), ["a.md", "b.txt", "link.md", "new.md", "sub", "sub/c.md"]);
    assert_eq!(trial.read("out/a.md").as_deref(), Some("new"));
    assert_eq!(trial.read("out/new.md").as_deref(), Some("new"));
}

#[test]
fn only_regular_files_are_copied_back() {
    // Attack sandbox-A16.
    let trial = Trial::new(&[]);
    let stage = trial.stage("**/*.md");
    symlink(trial.path("elsewhere/secret"), trial.path("copy/link.md")).expect("a link");
    for (kind, name) in [(FileType::Fifo, "pipe.md"), (FileType::Socket, "socket.md")] {
        rustix::fs::mknodat(CWD, trial.path("copy").join(name), kind, Mode::RWXU, 0)
            .expect("a special file");
    }
    fs::create_dir(trial.path("copy/folder.md")).expect("a folder");
    let large = fs::File::create(trial.path("copy/large.md")).expect("a file");
    large.set_len(1 << 40).expect("a sparse file");
    trial.write("copy/suid.md", "new");
    let mode = fs::Permissions::from_mode(0o6777);
    fs::set_permissions(trial.path("copy/suid.md"), mode).expect("it is ours");
    assert_eq!(
        trial.back(&stage),
        [
            ("large.md".to_owned(), reason::TOO_LARGE),
            ("link.md".to_owned(), reason::NO_FILE),
            ("pipe.md".to_owned(), reason::NO_FILE),
            ("socket.md".to_owned(), reason::NO_FILE),
        ]
    );
    assert_eq!(trial.tree("out"), ["suid.md"]);
    let mode = fs::metadata(trial.path("out/suid.md")).expect("it is there").mode();
    assert_eq!(mode & 0o7777, 0o644);
}

#[test]
fn unchanged_files_are_not_written() {
    let trial = Trial::new(&["same.md", "touched.md"]);
    let identity = |name: &str| {
        let data = fs::metadata(trial.path(name)).expect("it is there");
        (data.ino(), data.mtime_nsec(), data.ctime_nsec())
    };
    let before = identity("out/same.md");
    let stage = trial.stage("*");
    assert_eq!(
        fs::metadata(trial.path("copy/same.md")).expect("a copy").modified().expect("a time"),
        fs::metadata(trial.path("out/same.md")).expect("a file").modified().expect("a time"),
    );
    trial.write("copy/touched.md", "new");
    // The user edits a file that the program did not change.
    assert_eq!(trial.back(&stage), none());
    assert_eq!(identity("out/same.md"), before);
    assert_eq!(trial.read("out/touched.md").as_deref(), Some("new"));
}

#[test]
fn files_that_the_program_deletes_are_deleted() {
    let trial = Trial::new(&["a.md", "sub/b.md", "sub/c.txt", "other.txt"]);
    let stage = trial.stage("**/*.md");
    fs::remove_file(trial.path("copy/a.md")).expect("a copy");
    fs::remove_dir_all(trial.path("copy/sub")).expect("a folder of copies");
    assert_eq!(trial.back(&stage), none());
    assert_eq!(trial.tree("out"), ["other.txt", "sub", "sub/c.txt"]);
}

#[test]
fn changes_on_the_host_take_precedence() {
    let trial = Trial::new(&["edited.md", "deleted.md", "removed.md", "left.md"]);
    let stage = trial.stage("*.md");
    for name in ["copy/edited.md", "copy/removed.md", "copy/made.md"] {
        trial.write(name, "the program's");
    }
    fs::remove_file(trial.path("copy/deleted.md")).expect("a copy");
    for name in ["out/edited.md", "out/deleted.md", "out/made.md", "out/left.md"] {
        trial.write(name, "the user's");
    }
    fs::remove_file(trial.path("out/removed.md")).expect("a file");
    let names = ["deleted.md", "edited.md", "made.md", "removed.md"];
    assert_eq!(trial.back(&stage), names.map(|name| (name.to_owned(), reason::CHANGED)));
    for name in ["out/edited.md", "out/deleted.md", "out/made.md", "out/left.md"] {
        assert_eq!(trial.read(name).as_deref(), Some("the user's"), "{name}");
    }
    assert_eq!(trial.read("out/removed.md"), None);
}

#[test]
fn links_on_the_host_are_never_followed() {
    let trial = Trial::new(&["sub/a.md"]);
    trial.write("elsewhere/a.md", "secret");
    let stage = trial.stage("**/*.md");
    trial.write("copy/sub/a.md", "new");
    trial.write("copy/sub/b.md", "new");
    trial.write("copy/x.md", "new");
    trial.write("copy/folder.md", "new");
    // The host changes during the run.
    fs::remove_dir_all(trial.path("out/sub")).expect("a folder");
    symlink(trial.path("elsewhere"), trial.path("out/sub")).expect("a link");
    symlink(trial.path("elsewhere/a.md"), trial.path("out/x.md")).expect("a link");
    fs::create_dir(trial.path("out/folder.md")).expect("a folder");
    assert_eq!(
        trial.back(&stage),
        [
            ("folder.md".to_owned(), reason::TARGET_NO_FILE),
            ("sub/a.md".to_owned(), reason::LINK_ON_THE_WAY),
            ("sub/b.md".to_owned(), reason::LINK_ON_THE_WAY),
            ("x.md".to_owned(), reason::TARGET_NO_FILE),
        ]
    );
    assert_eq!(trial.tree("elsewhere"), ["a.md"]);
    assert_eq!(trial.read("elsewhere/a.md").as_deref(), Some("secret"));
    // Deletions don't follow links either.
    fs::remove_file(trial.path("copy/sub/a.md")).expect("a copy");
    trial.back(&stage);
    assert_eq!(trial.read("elsewhere/a.md").as_deref(), Some("secret"));
}

#[test]
fn a_renamed_granted_folder_is_still_used() {
    let trial = Trial::new(&[]);
    let stage = trial.stage("*.md");
    trial.write("copy/a.md", "new");
    fs::rename(trial.path("out"), trial.path("moved")).expect("a move");
    symlink(trial.path("elsewhere"), trial.path("out")).expect("a link");
    assert_eq!(trial.back(&stage), none());
    assert_eq!((trial.tree("moved"), trial.tree("elsewhere")), (vec!["a.md".to_owned()], vec![]));
}

#[test]
fn protected_files_are_neither_copied_nor_changed() {
    let mut trial = Trial::new(&["a.md", ".git/hooks/x.md"]);
    trial.protected = [".git/hooks", "SKILL.md", "missing"].map(PathBuf::from).into();
    let mut stage = trial.stage("**");
    assert_eq!(trial.tree("copy"), [".git", "a.md"]);
    stage.create_mount_point(Path::new(".git/hooks"), true).expect("a place");
    stage.create_mount_point(Path::new("deep/er/file"), false).expect("a place");
    assert_eq!(
        trial.tree("copy"),
        [".git", ".git/hooks", "a.md", "deep", "deep/er", "deep/er/file"]
    );
    for name in ["copy/SKILL.md", "copy/missing/x", "copy/.git/index"] {
        trial.write(name, "new");
    }
    assert_eq!(
        trial.back(&stage),
        [("SKILL.md".to_owned(), reason::PROTECTED), ("missing/x".to_owned(), reason::PROTECTED),]
    );
    assert_eq!(trial.tree("out"), [".git", ".git/hooks", ".git/hooks/x.md", ".git/index", "a.md"]);
}

#[test]
fn readable_files_are_visible_next_to_the_copies() {
    let mut trial = Trial::new(&["a.md", "b.txt", "sub/c.md", "sub/d.txt"]);
    symlink("b.txt", trial.path("out/link")).expect("a link");
    trial.shows_others = true;
    let others = |pattern| {
        let mut others = trial.fill(pattern, 1 << 20).expect("it can be copied").1;
        others.sort();
        others.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(others("*.md"), ["b.txt", "sub"]);
    assert_eq!(trial.tree("copy"), ["a.md", "link"]);
    fs::remove_dir_all(trial.path("copy")).expect("a folder");
    fs::create_dir(trial.path("copy")).expect("a folder");
    assert_eq!(others("**/*.md"), ["b.txt", "sub/d.txt"]);
    fs::remove_dir_all(trial.path("copy")).expect("a folder");
    fs::create_dir(trial.path("copy")).expect("a folder");
    // An existing link is not reported; a link with a new target is.
    let stage = trial.stage("*.md");
    assert_eq!(trial.back(&stage), none());
    fs::remove_file(trial.path("copy/link")).expect("a link");
    symlink("/etc", trial.path("copy/link")).expect("a link");
    assert_eq!(trial.back(&stage), [("link".to_owned(), reason::NO_FILE)]);
}

#[test]
fn inaccessible_files_of_the_program_are_handled() {
    let trial = Trial::new(&[]);
    let stage = trial.stage("**/*.md");
    trial.write("copy/closed/a.md", "new");
    trial.write("copy/b.md", "new");
    fs::set_permissions(trial.path("copy/closed"), fs::Permissions::from_mode(0o0)).expect("ours");
    let mut deep = trial.path("copy");
    for _ in 0..70 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).expect("folders");
    fs::write(deep.join("x.md"), "new").expect("a file");
    let names: Vec<_> = trial.back(&stage).into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(names, [reason::TOO_DEEP]);
    assert_eq!(trial.tree("out"), ["b.md", "closed", "closed/a.md"]);
}

#[test]
fn limits_are_refused_before_the_start_and_reported_after_it() {
    let trial = Trial::new(&["a.md"]);
    assert!(matches!(trial.fill("*", 2), Err(SandboxError::TooLarge { most: 2, .. })));
    fs::remove_dir_all(trial.path("copy")).expect("a folder");
    fs::create_dir(trial.path("copy")).expect("a folder");
    let stage = trial.stage("*.md");
    for number in 0..300 {
        trial.write(&format!("copy/{number}.txt"), "");
    }
    assert_eq!(trial.back(&stage).len(), 100);
}
