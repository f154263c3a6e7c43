//! The same files give the same bytes, and what was packed comes out again.

use std::fs::{self, File, FileTimes, Permissions};
use std::io::Cursor;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use prowess_package::digest::{Sha256Digest, content_digest};
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::{Tree, TreeFile};
use prowess_package::unpack::{UnpackOptions, unpack_to_memory};
use prowess_testkit::archives::MANIFEST;
use prowess_testkit::temporary;

const OPTIONS: UnpackOptions<'static> =
    UnpackOptions { limits: PackageLimits::PACKAGE, name: None };

/// Files with the modes that they have on disk.
const FILES: [(&str, &str, u32); 5] = [
    ("SKILL.md", "", 0o644),
    ("scripts/run.sh", "#!/bin/sh\necho hello\n", 0o755),
    ("references/a/b.md", "text\r\n", 0o644),
    ("assets/\u{65e5}\u{672c}.txt", "nihon", 0o644),
    (".gitignore", "*.log\n", 0o644),
];

fn write(folder: &Path, files: &[(&str, &str, u32)]) {
    for (path, text, mode) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        let bytes = if text.is_empty() { MANIFEST } else { text.as_bytes() };
        fs::write(&path, bytes).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(*mode)).expect("set");
    }
}

/// Attack registry-B16: times, order of writing, modes beyond the one bit, owners and litter make no difference.
#[test]
fn the_same_files_give_the_same_bytes() {
    let first = temporary();
    write(first.path(), &FILES);
    let archive = pack(&Tree::read(first.path(), &PackageLimits::PACKAGE).unwrap().tree);

    let second = temporary();
    let mut reversed = FILES;
    reversed.reverse();
    for file in &mut reversed {
        // As another umask leaves them.
        file.2 = if file.2 & 0o100 != 0 { 0o711 } else { 0o600 };
    }
    write(second.path(), &reversed);
    write(
        second.path(),
        &[(".git/config", "x", 0o644), ("SKILL.md.lock", "{}", 0o644), (".DS_Store", "x", 0o644)],
    );
    fs::create_dir(second.path().join("empty")).unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for (path, _, _) in FILES {
        let file = File::options().append(true).open(second.path().join(path)).unwrap();
        file.set_times(FileTimes::new().set_modified(old).set_accessed(old)).unwrap();
        // Another owner, where the test may change it.
        let _ = std::os::unix::fs::chown(second.path().join(path), Some(12_345), Some(54_321));
    }
    let read = Tree::read(second.path(), &PackageLimits::PACKAGE).unwrap();
    assert_eq!(read.left_out, [".DS_Store", ".git"]);
    assert_eq!(pack(&read.tree), archive);

    // The encoder and the format are part of the promise: another hash means that every package changes.
    assert_eq!(
        Sha256Digest::of(&archive).to_string(),
        "f7142dd622ce05d12f6417803dff9e4a5baeffb01748bc249553d3078d81c58b"
    );
    assert_eq!(
        &archive[..10],
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255],
        "no name, no time, no system"
    );
}

#[test]
fn the_executable_bit_is_kept_for_scripts_only() {
    let folder = temporary();
    write(
        folder.path(),
        &[
            ("SKILL.md", "", 0o777),
            ("scripts/tool", "binary", 0o4755),
            ("scripts/data", "x", 0o644),
            ("start", "#!/bin/sh\n", 0o755),
        ],
    );
    let archive = pack(&Tree::read(folder.path(), &PackageLimits::PACKAGE).unwrap().tree);
    let (_, tree) = unpack_to_memory(Cursor::new(archive), &OPTIONS).unwrap();
    let executable: Vec<&str> =
        tree.files().filter(|(_, file)| file.executable).map(|(path, _)| path.as_str()).collect();
    assert_eq!(executable, ["scripts/tool", "start"]);
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z][a-z0-9_-]{0,12}", "[a-z]{30,90}", "[\u{e0}-\u{f6}\u{4e00}-\u{4e20}]{1,6}",]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// What was packed comes out the same, with the same digest, whatever the order of the files.
    #[test]
    fn packing_and_unpacking_gives_the_same_tree(
        files in prop::collection::vec((prop::collection::vec(part(), 1..4), prop::collection::vec(any::<u8>(), 0..1_500), any::<bool>()), 0..8)
    ) {
        let mut files: Vec<_> = files
            .into_iter()
            .filter_map(|(parts, bytes, executable)| Some((parts.join("/").parse().ok()?, TreeFile { bytes, executable })))
            .collect();
        files.push(("SKILL.md".parse().unwrap(), TreeFile { bytes: MANIFEST.to_vec(), executable: false }));
        // Twins and paths that are too long are another test's business.
        let Ok(tree) = Tree::from_files(files.clone(), &PackageLimits::PACKAGE) else { return Ok(()) };
        files.reverse();
        let turned = Tree::from_files(files, &PackageLimits::PACKAGE).unwrap();
        let archive = pack(&tree);
        prop_assert_eq!(&archive, &pack(&turned));
        let (unpacked, again) = unpack_to_memory(Cursor::new(archive), &OPTIONS).unwrap();
        prop_assert_eq!(content_digest(&unpacked.hashes), content_digest(&tree.hashes()));
        prop_assert_eq!(again, tree);
    }
}

#[test]
fn archives_of_the_skill_itself_are_left_out() {
    let folder = temporary();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("SKILL.md", "---\nname: one\ndescription: d\nversion: 1.0.0\n---\n\n# One\n");
    for own in ["one-1.0.0.tar.gz", "dist/one-0.9.0-rc.1.tar.gz", "one-10.20.30+b.tar.gz"] {
        write(own, "an archive");
    }
    for other in ["one-data.tar.gz", "two-1.0.0.tar.gz", "one-1.0.tar.gz", "one-1.0.0.zip"] {
        write(other, "data");
    }
    for read in [Tree::read, Tree::read_foreign] {
        let read = read(folder.path(), &PackageLimits::PACKAGE).unwrap();
        let paths: Vec<&str> = read.tree.files().map(|(path, _)| path.as_str()).collect();
        let kept =
            ["SKILL.md", "one-1.0.0.zip", "one-1.0.tar.gz", "one-data.tar.gz", "two-1.0.0.tar.gz"];
        assert_eq!(paths, kept);
        let left_out = ["dist/one-0.9.0-rc.1.tar.gz", "one-1.0.0.tar.gz", "one-10.20.30+b.tar.gz"];
        assert_eq!(read.left_out, left_out);
    }
}
