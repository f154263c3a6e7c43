use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::of_skill;

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
    std::fs::write(path, text).expect("it can be written");
}

fn skill() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "SKILL.md", "one");
    write(folder.path(), "scripts/run.sh", "two");
    folder
}

fn digest(folder: &Path) -> String {
    of_skill(folder).map_or_else(|error| error.to_string(), |digest| digest.as_str().to_owned())
}

#[test]
fn the_same_files_give_the_same_digest_anywhere() {
    let (one, two) = (skill(), skill());
    assert_eq!(digest(one.path()), digest(two.path()));
    // Part of the stored format: another value would invalidate every approval.
    assert_eq!(
        digest(one.path()),
        "sha256:2bbf5e2f2ca900a119634515546596f746aab5304097dcfc08ea2ea45481c505"
    );
}

/// A change, with its description.
type Change<'c> = (&'c str, &'c dyn Fn(&Path));

#[test]
fn every_change_of_a_file_changes_the_digest() {
    let before = digest(skill().path());
    let changes: &[Change<'_>] = &[
        ("text of the skill", &|folder| write(folder, "SKILL.md", "One")),
        ("text of a script", &|folder| write(folder, "scripts/run.sh", "twö")),
        ("new file", &|folder| write(folder, "scripts/new", "")),
        ("file gone", &|folder| {
            std::fs::remove_file(folder.join("scripts/run.sh")).expect("it is ours");
        }),
        ("file moved", &|folder| {
            std::fs::rename(folder.join("scripts/run.sh"), folder.join("run.sh")).expect("ours");
        }),
        ("text moved between files", &|folder| {
            write(folder, "SKILL.md", "onet");
            write(folder, "scripts/run.sh", "wo");
        }),
        ("executable", &|folder| {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(folder.join("scripts/run.sh"), mode).expect("it is ours");
        }),
        ("link instead of a file", &|folder| {
            std::fs::remove_file(folder.join("scripts/run.sh")).expect("it is ours");
            symlink("../SKILL.md", folder.join("scripts/run.sh")).expect("a link can be made");
        }),
    ];
    for (what, change) in changes {
        let folder = skill();
        change(folder.path());
        assert_ne!(digest(folder.path()), before, "{what}");
    }
}

#[test]
fn the_lock_beside_a_skill_is_no_content() {
    let folder = skill();
    let before = digest(folder.path());
    write(folder.path(), "SKILL.md.lock", "anything");
    assert_eq!(digest(folder.path()), before);
}

#[test]
fn the_repository_that_a_skill_is_does_not_count() {
    let folder = skill();
    let before = digest(folder.path());
    write(folder.path(), ".git/objects/ab/cd", "anything");
    assert_eq!(digest(folder.path()), before);
    // Only git's own folder, and only at the top level.
    write(folder.path(), "scripts/.git/x", "anything");
    assert_ne!(digest(folder.path()), before);
    let folder = skill();
    symlink("scripts", folder.path().join(".git")).expect("a link can be made");
    assert_ne!(digest(folder.path()), before);
}

#[test]
fn links_that_leave_the_skill_are_refused() {
    // NEG-15
    let outside = tempfile::tempdir().expect("a temporary folder");
    write(outside.path(), "secret", "s");
    for target in [outside.path().join("secret"), outside.path().to_owned(), "nowhere".into()] {
        let folder = skill();
        symlink(&target, folder.path().join("link")).expect("a link can be made");
        let error = digest(folder.path());
        assert!(error.contains("does not point to a file of the skill"), "{error}");
    }
    let folder = skill();
    symlink("scripts/run.sh", folder.path().join("link")).expect("a link can be made");
    assert!(digest(folder.path()).starts_with("sha256:"));
}

#[test]
fn a_lone_file_has_a_digest_of_its_own() {
    let folder = skill();
    let file = digest(&folder.path().join("SKILL.md"));
    assert!(file.starts_with("sha256:"));
    write(folder.path(), "scripts/run.sh", "other");
    assert_eq!(digest(&folder.path().join("SKILL.md")), file);
}
