//! Hidden files that a signature lists are content, from every source alike; all others are not.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::{FilterDecision, ListingFilter, Tree, TreeFile, hash_installed};
use prowess_package::unpack::{UnpackOptions, unpack_to_memory};
use prowess_testkit::archives::{MANIFEST, TarEntry, entry, file, gz, tar, zip, zipped};
use prowess_testkit::temporary;

const LIMITS: PackageLimits = PackageLimits::PACKAGE;
const OPTIONS: UnpackOptions<'static> = UnpackOptions { limits: LIMITS, name: None };
const SKILL: &str = "---\nname: one\ndescription: d\n---\n\n# One\n";

/// A model signing bundle that lists these files. Nobody has signed it: only its list counts here.
fn bundle(names: &[&str]) -> String {
    let resources: Vec<String> =
        names.iter().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
    let statement = format!(r#"{{"predicate":{{"resources":[{}]}}}}"#, resources.join(","));
    format!(r#"{{"dsseEnvelope":{{"payload":"{}"}}}}"#, STANDARD.encode(statement))
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

fn paths(tree: &Tree) -> Vec<&str> {
    tree.files().map(|(path, _)| path.as_str()).collect()
}

#[test]
fn covered_hidden_files_are_read_packed_unpacked_and_hashed() {
    let home = temporary();
    let folder = home.path().join("one");
    let covered = ["SKILL.md", ".config/deep/a.toml", ".lint", ".DS_Store", "ignored.md"];
    for (path, text) in [
        ("SKILL.md", SKILL),
        (".config/deep/a.toml", "a"),
        (".config/deep/other", "not covered"),
        (".config/b.toml", "not covered"),
        (".lint", "l"),
        (".env", "not covered"),
        (".DS_Store", "d"),
        (".git/config", "not covered"),
        ("ignored.md", "i"),
        (".skillignore", "*.md\n!SKILL.md\n"),
        ("skill.oms.sig", &bundle(&covered)),
    ] {
        write(&folder, path, text);
    }
    let read = Tree::read_foreign(&folder, &LIMITS).expect("a skill");
    let expected = [
        ".DS_Store",
        ".config/deep/a.toml",
        ".lint",
        ".skillignore",
        "SKILL.md",
        "ignored.md",
        "skill.oms.sig",
    ];
    assert_eq!(paths(&read.tree), expected);
    let mut withheld = read.withheld;
    withheld.sort();
    assert_eq!(withheld, [".config/b.toml", ".config/deep/other", ".env"]);
    assert_eq!(read.left_out, [".git"]);

    // The same from memory, out of an archive, and as it is hashed when installed.
    let files = read.tree.files().map(|(path, file)| (path.clone(), file.clone()));
    assert_eq!(Tree::from_files(files, &LIMITS).expect("a skill"), read.tree);
    let (unpacked, same) = unpack_to_memory(Cursor::new(pack(&read.tree)), &OPTIONS).expect("one");
    assert_eq!(same, read.tree);
    assert_eq!(unpacked.hashes, read.tree.hashes());
    let installed = home.path().join("installed");
    for (path, file) in read.tree.files() {
        write(&installed, path.as_str(), std::str::from_utf8(&file.bytes).expect("text"));
    }
    assert_eq!(hash_installed(&installed, &LIMITS).expect("hashes"), read.tree.hashes());

    // An author is still told about hidden files that nobody has signed.
    let error = Tree::read(&folder, &LIMITS).expect_err("refused").to_string();
    assert!(error.contains("`.env`") && !error.contains(".lint"), "{error}");
}

#[test]
fn a_list_of_files_is_decided_like_a_folder() {
    let mut filter = ListingFilter::new("*.md\n").expect("patterns");
    filter.add_signature("skill.oms.sig", bundle(&[".lint", "notes.md", ".git/x"]).as_bytes());
    for (path, expected) in [
        (".lint", FilterDecision::Kept),
        ("notes.md", FilterDecision::Kept),
        (".env", FilterDecision::Withheld),
        ("other.md", FilterDecision::LeftOut),
        (".git/x", FilterDecision::LeftOut),
    ] {
        assert_eq!(filter.decide(&path.parse().expect("a path")), expected, "{path}");
    }
}

#[test]
fn archives_hold_hidden_files_only_where_a_signature_of_the_skill_lists_them() {
    let outcome = |archive: Vec<u8>| match unpack_to_memory(Cursor::new(archive), &OPTIONS) {
        Ok((_, tree)) => paths(&tree).join(" "),
        Err(error) => error.to_string(),
    };
    let signature = bundle(&[".lint", ".config/a"]);
    let signature = signature.as_bytes();
    let hidden = "the archive is rejected because of";
    let skill = || file("demo/SKILL.md", MANIFEST);
    let packed = |entries: &[TarEntry]| gz(&tar(entries));
    // The signature may come last, and everything may lie in a folder.
    let whole = [
        skill(),
        file("demo/.lint", b""),
        entry(b"demo/.config", b'5', b""),
        file("demo/.config/a", b""),
        file("demo/skill.oms.sig", signature),
    ];
    assert_eq!(outcome(packed(&whole)), ".config/a .lint SKILL.md skill.oms.sig");
    let cases = [
        ("no signature", vec![skill(), file("demo/.lint", b"")], "demo/.lint"),
        (
            "another file",
            vec![skill(), file("demo/skill.oms.sig", signature), file("demo/.env", b"")],
            "demo/.env",
        ),
        (
            "a signature elsewhere",
            vec![skill(), file("demo/sub/skill.oms.sig", signature), file("demo/.lint", b"")],
            "demo/.lint",
        ),
        (
            "a folder without such a file",
            vec![skill(), file("demo/skill.oms.sig", signature), entry(b"demo/.other", b'5', b"")],
            "demo/.other",
        ),
        (
            "version control",
            vec![
                skill(),
                file("demo/.git/config", b""),
                file("demo/skill.oms.sig", &bundle(&[".git/config"]).into_bytes()),
            ],
            "demo/.git/config",
        ),
    ];
    for (case, entries, path) in cases {
        let found = outcome(packed(&entries));
        assert!(found.starts_with(&format!("{hidden} `{path}`")), "{case}: {found}");
    }
    let zipped_skill = [zipped(".lint", b""), zipped("skill.oms.sig", signature)];
    assert_eq!(outcome(zip(&zipped_skill)), ".lint SKILL.md skill.oms.sig");
}

/// NEG-15
#[test]
fn a_covered_link_is_not_followed() {
    let home = temporary();
    let folder = home.path().join("one");
    write(&folder, "SKILL.md", SKILL);
    write(home.path(), "secret", "s");
    write(&folder, "skill.oms.sig", &bundle(&["SKILL.md", ".link", ".folder/secret"]));
    std::os::unix::fs::symlink(home.path().join("secret"), folder.join(".link")).expect("linked");
    std::os::unix::fs::symlink(home.path(), folder.join(".folder")).expect("linked");
    let read = Tree::read_foreign(&folder, &LIMITS).expect("a skill");
    assert_eq!(paths(&read.tree), ["SKILL.md", "skill.oms.sig"]);
    assert_eq!(read.withheld, [".folder", ".link"]);
    // A signature that is a link itself lists nothing.
    fs::remove_file(folder.join(".link")).expect("removed");
    fs::remove_file(folder.join(".folder")).expect("removed");
    fs::rename(folder.join("skill.oms.sig"), home.path().join("moved")).expect("moved");
    std::os::unix::fs::symlink(home.path().join("moved"), folder.join("skill.oms.sig"))
        .expect("linked");
    write(&folder, ".link", "hidden");
    let read = Tree::read_foreign(&folder, &LIMITS).expect("a skill");
    assert_eq!(paths(&read.tree), ["SKILL.md"]);
    assert_eq!(read.withheld, [".link", "skill.oms.sig"]);
}

#[test]
fn a_covered_file_counts_towards_the_limits() {
    let small = PackageLimits { file_bytes: 100, ..LIMITS };
    let file = |bytes: &[u8]| TreeFile { bytes: bytes.to_vec(), executable: false };
    let path = |path: &str| path.parse().expect("a path");
    let files = [
        (path("SKILL.md"), file(SKILL.as_bytes())),
        (path("skill.oms.sig"), file(bundle(&[".big"]).as_bytes())),
        (path(".big"), file(&[0; 101])),
    ];
    let error = Tree::from_files(files, &small).expect_err("too large").to_string();
    assert!(error.contains("has more than"), "{error}");
}
