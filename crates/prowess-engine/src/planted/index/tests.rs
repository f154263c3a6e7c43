use std::process::Command;

use super::*;

/// An entry as it is written: mode, path, and in version 4 how much of the path before goes away.
struct Entry<'e>(u32, &'e str, usize);

fn varint(value: usize) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(value & 0x7f).expect("seven bits")];
    let mut rest = value >> 7;
    while rest > 0 {
        rest -= 1;
        bytes.insert(0, 0x80 | u8::try_from(rest & 0x7f).expect("seven bits"));
        rest >>= 7;
    }
    bytes
}

/// An index with entries and extensions; the length that the flags tell is that of the whole path.
fn index(version: u32, entries: &[Entry<'_>], extensions: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut bytes = [b"DIRC".as_slice(), &version.to_be_bytes()].concat();
    bytes.extend(u32::try_from(entries.len()).expect("few").to_be_bytes());
    let mut before = 0;
    for Entry(mode, name, dropped) in entries {
        let start = bytes.len();
        bytes.extend([0; MODE]);
        bytes.extend(mode.to_be_bytes());
        bytes.extend([0; STATUS - MODE - 4 + 20]);
        let length = if version == 4 { before - dropped + name.len() } else { name.len() };
        bytes.extend(u16::try_from(length.min(0xfff)).expect("it is less").to_be_bytes());
        if version == 4 {
            bytes.extend(varint(*dropped));
        }
        bytes.extend(name.as_bytes());
        bytes.push(0);
        while version < 4 && !(bytes.len() - start).is_multiple_of(8) {
            bytes.push(0);
        }
        before = length;
    }
    for (name, content) in extensions {
        bytes.extend(name.as_slice());
        bytes.extend(u32::try_from(content.len()).expect("small").to_be_bytes());
        bytes.extend(content);
    }
    bytes.extend([0; 20]);
    bytes
}

const FILE: u32 = 0o100_644;

fn forbidden(path: &str) -> Result<(), Unsafe> {
    Err(Unsafe::Path(path.as_bytes().to_vec()))
}

#[test]
fn paths_into_repositories_are_found_in_all_versions() {
    for path in
        [".git/hooks/pre-commit", "a/.GIT/config", "git~1/config", "../x", "/etc/x", "a/../../x"]
    {
        for version in [2, 3] {
            let entries = [Entry(FILE, "a", 0), Entry(FILE, path, 0)];
            assert_eq!(check(&index(version, &entries, &[]), 20), forbidden(path), "{version}");
        }
    }
    // `.gitignore`, then six letters less and a path.
    let entries = [Entry(FILE, ".gitignore", 0), Entry(FILE, "/hooks/x", 6)];
    assert_eq!(check(&index(4, &entries, &[]), 20), forbidden(".git/hooks/x"));
    let entries = [Entry(FILE, ".gitignore", 0), Entry(FILE, "modules", 6)];
    assert_eq!(check(&index(4, &entries, &[]), 20), Ok(()));
    let long = format!("{}/.git/x", "a".repeat(4084));
    for version in [2, 4] {
        assert_eq!(check(&index(version, &[Entry(FILE, &long, 0)], &[]), 20), forbidden(&long));
    }
}

#[test]
fn what_is_not_understood_is_not_an_index() {
    let plain = index(2, &[Entry(FILE, "a", 0)], &[]);
    assert_eq!(check(&plain, 20), Ok(()));
    let unreadable = Err(Unsafe::Unreadable);
    assert_eq!(check(b"", 20), unreadable);
    assert_eq!(check(b"nonsense", 20), unreadable);
    for length in 0..plain.len() - 20 {
        assert_eq!(check(&plain[..length], 20), unreadable, "{length}");
    }
    assert_eq!(check(&index(5, &[], &[]), 20), unreadable);
    // Longer than the entries say, in every way: more than there was of a path, a length that is not that of the path.
    assert_eq!(check(&index(4, &[Entry(FILE, "a", 0)], &[]), 20), Ok(()));
    let mut other = plain;
    other[12 + STATUS + 20 + 1] = 3;
    assert_eq!(check(&other, 20), unreadable);
    let mut more = index(2, &[Entry(FILE, "a", 0)], &[]);
    more[11] = 2;
    assert_eq!(check(&more, 20), unreadable);
}

#[test]
fn git_may_begin_to_read_elsewhere() {
    let plain = index(2, &[Entry(FILE, "a", 0)], &[]);
    let end = plain.len() - 20;
    // Something that looks like an entry, in an extension that nobody knows.
    let inner = index(2, &[Entry(FILE, ".git/config", 0)], &[])[12..].to_vec();
    let table = |at: usize| {
        let at = u32::try_from(at).expect("small");
        [1_u32, at, 1].iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>()
    };
    let entries = [Entry(FILE, "a", 0)];
    let hidden = [(b"XXXX", inner), (b"IEOT", table(end + 8))];
    assert_eq!(check(&index(2, &entries, &hidden), 20), forbidden(".git/config"));
    assert_eq!(check(&index(2, &entries, &[(b"IEOT", table(12))]), 20), Ok(()));
    let told = |at: usize| {
        let at = u32::try_from(at).expect("small").to_be_bytes();
        [at.as_slice(), &[0; 20]].concat()
    };
    assert_eq!(check(&index(2, &entries, &[(b"EOIE", told(end))]), 20), Ok(()));
    let elsewhere = index(2, &entries, &[(b"EOIE", told(end + 8))]);
    assert_eq!(check(&elsewhere, 20), Err(Unsafe::Unreadable));
}

#[test]
fn entries_without_a_path_belong_to_a_split_index() {
    let entries = [Entry(FILE, "", 0), Entry(FILE, "a", 0)];
    assert_eq!(check(&index(2, &entries, &[(b"link", vec![0; 20])]), 20), Ok(()));
    assert_eq!(check(&index(2, &entries, &[]), 20), forbidden(""));
    // A folder of a sparse index, and a file that only looks like one.
    assert_eq!(check(&index(3, &[Entry(FOLDER, "a/", 0)], &[]), 20), Ok(()));
    assert_eq!(check(&index(3, &[Entry(FILE, "a/", 0)], &[]), 20), forbidden("a/"));
}

/// Whatever git writes is understood.
#[test]
fn indexes_of_git_are_read() {
    for (format, settings, hash) in [
        ("sha1", &["index.version=2"][..], 20),
        ("sha1", &["index.version=4"], 20),
        ("sha256", &["index.version=2"], 32),
        ("sha256", &["index.version=4"], 32),
        ("sha1", &["core.splitIndex=true", "splitIndex.maxPercentChange=100"], 20),
        ("sha1", &["core.untrackedCache=true", "feature.manyFiles=true"], 20),
        (
            "sha1",
            &[
                "index.threads=2",
                "index.recordEndOfIndexEntries=true",
                "index.recordOffsetTable=true",
                "index.version=4",
            ],
            20,
        ),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]);
            for setting in settings {
                git.args(["-c", setting]);
            }
            let output = git.args(arguments).current_dir(folder.path()).output();
            assert!(output.expect("git is installed").status.success(), "{arguments:?}");
        };
        git(&["init", "--quiet", &format!("--object-format={format}")]);
        fs::create_dir_all(folder.path().join("deep/er")).expect("folders");
        let long = "l".repeat(200);
        for name in ["a", "ab", "abc", "deep/a", "deep/er/b", "deep/er/\u{e4}", &long] {
            fs::write(folder.path().join(name), name).expect("a file");
        }
        git(&["add", "--all"]);
        let is_split = settings[0].starts_with("core.splitIndex");
        let read = || {
            let mut shared = 0;
            for entry in fs::read_dir(folder.path().join(".git")).expect("git made it").flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                shared += usize::from(name.starts_with("sharedindex."));
                if name == "index" || name.starts_with("sharedindex.") {
                    assert_eq!(check_file(&entry.path(), hash), Ok(()), "{settings:?} {name}");
                }
            }
            assert_eq!(shared > 0, is_split, "{settings:?}");
        };
        read();
        git(&["commit", "--quiet", "--message=first"]);
        fs::write(folder.path().join("ab"), "changed").expect("a file");
        fs::write(folder.path().join("new"), "new").expect("a file");
        git(&["add", "ab"]);
        git(&["add", "--intent-to-add", "new"]);
        git(&["update-index", "--skip-worktree", "abc"]);
        read();
        if format == "sha1" {
            git(&["commit", "--quiet", "--message=second", "ab"]);
            git(&["sparse-checkout", "set", "--cone", "--sparse-index", "nothing"]);
            read();
        }
    }
}
