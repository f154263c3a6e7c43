//! Folders that are read for packing, and installed ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use insta::assert_snapshot;
use prowess_package::limits::PackageLimits;
use prowess_package::tree::{Tree, hash_installed};
use prowess_testkit::archives::MANIFEST;
use prowess_testkit::temporary;

/// A folder with a manifest and these files, read as an author's.
fn read(files: &[(&str, &str)], limits: &PackageLimits, prepare: impl FnOnce(&Path)) -> String {
    let folder = temporary();
    fs::write(folder.path().join("SKILL.md"), MANIFEST).expect("written");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(path, text).expect("written");
    }
    prepare(folder.path());
    match Tree::read(folder.path(), limits) {
        Ok(read) => {
            let paths: Vec<&str> = read.tree.files().map(|(path, _)| path.as_str()).collect();
            format!("{}; left out: {}", paths.join(" "), read.left_out.join(" "))
        }
        Err(error) => error.to_string(),
    }
}

fn check(files: &[(&str, &str)]) -> String {
    read(files, &PackageLimits::PACKAGE, |_| {})
}

#[test]
fn litter_is_left_out_and_hidden_files_are_refused() {
    assert_snapshot!(check(&[(".git/HEAD", "x"), ("a/__pycache__/x.pyc", "x"), ("notes~", "x"), ("SKILL.md.lock", "x"), ("docs/SKILL.md.lock", "x")]), @"SKILL.md docs/SKILL.md.lock; left out: .git a/__pycache__ notes~");
    assert_snapshot!(check(&[(".env", "x"), ("a/.npmrc", "x")]), @"hidden files can't be packed: `.env`, `a/.npmrc`; remove them, or add them to `.skillignore`");
    assert_snapshot!(check(&[(".env", "x"), ("a/b.log", "x"), ("build/x", "x"), (".skillignore", ".env\n*.log\nbuild/\n")]), @".skillignore SKILL.md; left out: .env a/b.log build");
    assert_snapshot!(check(&[(".skillignore", "[z-a]\n")]), @"`.skillignore` is not valid: error parsing glob '[z-a]': invalid range; 'z' > 'a'");
    let many: Vec<String> = (0..15).map(|number| format!(".x{number:02}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|path| (path.as_str(), "x")).collect();
    assert_snapshot!(check(&many), @"hidden files can't be packed: `.x00`, `.x01`, `.x02`, `.x03`, `.x04`, `.x05`, `.x06`, `.x07`, `.x08`, `.x09` and 5 more; remove them, or add them to `.skillignore`");
}

/// NEG-15
#[test]
fn links_and_devices_are_not_followed() {
    let with = |prepare: &dyn Fn(&Path)| read(&[("a.md", "x")], &PackageLimits::PACKAGE, prepare);
    assert_snapshot!(with(&|folder| symlink("/etc/passwd", folder.join("secret")).unwrap()), @"`secret` is a symbolic link; replace it with the file itself, or add it to `.skillignore`");
    assert_snapshot!(with(&|folder| symlink("/etc", folder.join("etc")).unwrap()), @"`etc` is a symbolic link; replace it with the file itself, or add it to `.skillignore`");
    assert_snapshot!(with(&|folder| symlink("a.md", folder.join("b.md")).unwrap()), @"`b.md` is a symbolic link; replace it with the file itself, or add it to `.skillignore`");
    assert_snapshot!(with(&|folder| {
        fs::remove_file(folder.join("SKILL.md")).unwrap();
        symlink("a.md", folder.join("SKILL.md")).unwrap();
    }), @"`SKILL.md` is a symbolic link; replace it with the file itself, or add it to `.skillignore`");
    assert_snapshot!(with(&|folder| {
        std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    }), @"`socket` is neither a file nor a folder; remove it, or add it to `.skillignore`");
    // Named, it is left out.
    assert_snapshot!(with(&|folder| {
        symlink("/etc/passwd", folder.join("secret")).unwrap();
        fs::write(folder.join(".skillignore"), "secret\n").unwrap();
    }), @".skillignore SKILL.md a.md; left out: secret");
}

/// Attacks registry-B8 and registry-B9.
#[test]
fn names_that_differ_between_systems_are_refused() {
    assert_snapshot!(check(&[("skill.md", "x")]), @"`SKILL.md` and `skill.md` collide on file systems that ignore case or Unicode composition; rename one");
    assert_snapshot!(check(&[("Docs/a", "x"), ("docs/b", "x")]), @"`Docs/` and `docs/` collide on file systems that ignore case or Unicode composition; rename one");
    // Both are shown alike, which is what is wrong with them.
    assert!(check(&[("caf\u{e9}", "x"), ("cafe\u{301}", "x")]).contains("collide on file systems"));
    assert_snapshot!(check(&[("a\nb", "x")]), @"the path `a b` has a control or invisible character; rename it");
    assert_snapshot!(check(&[("docs/con.md", "x")]), @"the path `docs/con.md` has a part that is a device name on Windows; rename it");
    assert_snapshot!(read(&[], &PackageLimits::PACKAGE, |folder| {
        fs::rename(folder.join("SKILL.md"), folder.join("Skill.md")).unwrap();
    }), @"there is no `SKILL.md`, but `Skill.md`; rename it");
    assert_snapshot!(read(&[], &PackageLimits::PACKAGE, |folder| {
        fs::remove_file(folder.join("SKILL.md")).unwrap();
    }), @"there is no `SKILL.md`");
    let deep = vec!["d"; 40].join("/");
    assert_snapshot!(check(&[(&deep, "x")]), @"the path `d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d` has more than 200 bytes or 16 parts; rename it");
}

#[test]
fn bounds_are_kept() {
    let limits = PackageLimits { entries: 3, bytes: 2_000, file_bytes: 1_200, archive_bytes: 0 };
    let large = "x".repeat(1_201);
    let fine = "x".repeat(1_100);
    assert_snapshot!(read(&[("a", "x"), ("b", "x")], &limits, |_| {}), @"SKILL.md a b; left out:");
    assert_snapshot!(read(&[("a", "x"), ("b", "x"), ("c", "x")], &limits, |_| {}), @"there are more than 3 files and folders");
    assert_snapshot!(read(&[("a", &large)], &limits, |_| {}), @"`a` has more than 1200 bytes");
    assert_snapshot!(read(&[("a", &fine), ("b", &fine)], &limits, |_| {}), @"the files have more than 2000 bytes together");
}

/// Attack registry-C6, R25: of an installed skill every file counts except the sidecar.
#[test]
fn everything_in_an_installed_skill_counts() {
    let folder = temporary();
    fs::write(folder.path().join("SKILL.md"), MANIFEST).unwrap();
    let paths = || -> Vec<String> {
        let hashes = hash_installed(folder.path(), &PackageLimits::PACKAGE).unwrap();
        hashes.keys().map(ToString::to_string).collect()
    };
    assert_eq!(paths(), ["SKILL.md"]);
    fs::write(folder.path().join("SKILL.md.lock"), "{}").unwrap();
    assert_eq!(paths(), ["SKILL.md"]);
    fs::create_dir(folder.path().join("__pycache__")).unwrap();
    fs::write(folder.path().join("__pycache__/tools.pyc"), "evil").unwrap();
    fs::write(folder.path().join(".env"), "evil").unwrap();
    assert_eq!(paths(), [".env", "SKILL.md", "__pycache__/tools.pyc"]);
    symlink("/etc/passwd", folder.path().join("link")).unwrap();
    assert!(hash_installed(folder.path(), &PackageLimits::PACKAGE).is_err());
}
