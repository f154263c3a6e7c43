//! What we accept is what others see: our listing of an archive beside those of GNU tar, bsdtar and Python (attack B6).

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use prowess_store::limits::Limits;
use prowess_store::pack::pack;
use prowess_store::tree::{Tree, TreeFile};
use prowess_store::unpack::{UnpackOptions, unpack_to_memory};

use crate::archives::{
    MANIFEST, TarEntry, ZipEntry, entry, file, gz, manifest, pax, tar, temporary, zip, zipped,
};

const OPTIONS: UnpackOptions<'static> = UnpackOptions { limits: Limits::PACKAGE, name: None };

/// Files with their content in hexadecimal.
type Listing = BTreeMap<String, String>;

/// Reads archives, each after its length, and prints `path TAB content` for every file, then `end` or `refused`. One
/// process for all: starting it is what takes the time.
const PYTHON: &str = r#"
import sys, tarfile, zipfile, io
def files(data):
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield info.filename, archive.read(info)
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for info in archive:
                if info.isreg():
                    yield info.name, archive.extractfile(info).read()
                elif not info.isdir():
                    yield info.name, b"neither a file nor a folder"
while length := sys.stdin.buffer.read(4):
    data = sys.stdin.buffer.read(int.from_bytes(length, "little"))
    try:
        for name, content in files(data):
            print(name.removeprefix("./") + "\t" + content.hex())
        print("end")
    except Exception:
        print("refused")
"#;

/// A reader of archives that is not ours.
#[derive(Clone, Copy, Debug)]
enum Reader {
    Gnu,
    Libarchive,
    Python,
}

impl Reader {
    const ALL: [Self; 3] = [Self::Gnu, Self::Libarchive, Self::Python];

    fn program(self) -> &'static str {
        match self {
            Self::Gnu => "tar",
            Self::Libarchive => "bsdtar",
            Self::Python => "python3",
        }
    }

    /// What it makes of archives; nothing where it refuses one too.
    fn list(self, archives: &[Vec<u8>]) -> Vec<Option<Listing>> {
        match self {
            Self::Python => list_with_python(archives),
            Self::Gnu | Self::Libarchive => {
                archives.iter().map(|archive| self.extract(archive)).collect()
            }
        }
    }

    fn extract(self, archive: &[u8]) -> Option<Listing> {
        let folder = temporary();
        let mut command = Command::new(self.program());
        command.args(["-x", "-z", "-f", "-", "-C"]).arg(folder.path()).env("LC_ALL", "C.UTF-8");
        run(&mut command, archive)?;
        Some(files_below(folder.path()))
    }
}

fn list_with_python(archives: &[Vec<u8>]) -> Vec<Option<Listing>> {
    let mut input = Vec::new();
    for archive in archives {
        input.extend(u32::try_from(archive.len()).expect("small").to_le_bytes());
        input.extend(archive);
    }
    // All at once from a file: both sides would wait for each other on pipes.
    let folder = temporary();
    std::fs::write(folder.path().join("archives"), input).expect("written");
    let input = std::fs::File::open(folder.path().join("archives")).expect("it is there");
    let output = Command::new("python3")
        .args(["-c", PYTHON])
        .env("PYTHONUTF8", "1")
        .stdin(input)
        .output()
        .expect("python3 starts");
    let text = String::from_utf8(output.stdout).expect("Python prints UTF-8");
    let mut listings = Vec::new();
    let mut listing = Listing::new();
    for line in text.lines() {
        match line.split_once('\t') {
            Some((path, content)) => {
                listing.insert(path.to_owned(), content.to_owned());
            }
            None => {
                let whole = std::mem::take(&mut listing);
                listings.push((line == "end").then_some(whole));
            }
        }
    }
    assert_eq!(listings.len(), archives.len(), "{}", String::from_utf8_lossy(&output.stderr));
    listings
}

fn run(command: &mut Command, input: &[u8]) -> Option<Vec<u8>> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    // Whoever has seen enough closes its end.
    let _ = child.stdin.take().expect("piped").write_all(input);
    let output = child.wait_with_output().expect("it ends");
    output.status.success().then_some(output.stdout)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn files_below(folder: &Path) -> Listing {
    let mut found = Listing::new();
    for path in prowess_testkit::files_below(folder, &|_| true) {
        let name = path.strip_prefix(folder).expect("below").display().to_string();
        let content = match path.symlink_metadata().expect("it is there").is_file() {
            true => hexadecimal(&std::fs::read(&path).expect("it can be read")),
            false => "neither a file nor a folder".to_owned(),
        };
        found.insert(name, content);
    }
    found
}

/// Our own listing, without a top folder having been taken away.
fn ours(archive: &[u8]) -> Option<Listing> {
    let (_, tree) = unpack_to_memory(Cursor::new(archive), &OPTIONS).ok()?;
    Some(
        tree.files()
            .map(|(path, file)| (path.as_str().to_owned(), hexadecimal(&file.bytes)))
            .collect(),
    )
}

/// The readers that this machine has. A machine without any of them proves nothing, and says so.
fn readers() -> Vec<Reader> {
    let (present, absent): (Vec<Reader>, Vec<Reader>) =
        Reader::ALL.into_iter().partition(|reader| {
            let version =
                Command::new(reader.program()).arg("--version").stdout(Stdio::null()).status();
            version.is_ok_and(|status| status.success())
        });
    for reader in absent {
        let mut error = std::io::stderr();
        let _ = writeln!(
            error,
            "SKIPPED: `{}` is not installed and was not compared",
            reader.program()
        );
    }
    assert!(!present.is_empty(), "none of tar, bsdtar and python3 is installed");
    present
}

/// Compares one archive that we accept.
fn check(readers: &[Reader], what: &str, archive: &[u8]) {
    let ours = ours(archive).unwrap_or_else(|| panic!("{what} is accepted"));
    for reader in readers {
        let theirs = reader.list(&[archive.to_vec()]).remove(0);
        let theirs = theirs.unwrap_or_else(|| panic!("{what}: {reader:?} refuses it"));
        assert_eq!(theirs, ours, "{what}: {reader:?}");
    }
}

fn sample() -> Tree {
    let long = format!("references/{}/{}.md", "d".repeat(90), "f".repeat(80));
    let unsplittable = format!("{}/{}.md", "e".repeat(120), "g".repeat(60));
    let files = [
        ("SKILL.md", MANIFEST),
        ("scripts/run.sh", b"#!/bin/sh\n".as_slice()),
        ("empty", b""),
        ("block", &[7; 512]),
        ("more", &[8; 513]),
        ("caf\u{e9}/\u{65e5}\u{672c}.md", b"x"),
        (long.as_str(), b"long"),
        (unsplittable.as_str(), b"longer"),
    ];
    let files = files.map(|(path, bytes)| {
        (path.parse().expect("a path"), TreeFile { bytes: bytes.to_vec(), executable: true })
    });
    Tree::from_files(files, &Limits::PACKAGE).expect("a tree")
}

#[test]
fn others_see_what_we_packed() {
    check(&readers(), "our own archive", &pack(&sample()));
}

#[test]
fn others_see_what_we_accept() {
    let readers = readers();
    for (what, entries) in [
        ("pax path", vec![pax(b'x', &[("path", "b/c"), ("size", "1")]), file("a", b"x")]),
        (
            "pax times",
            vec![pax(b'x', &[("mtime", "1.5"), ("LIBARCHIVE.creationtime", "1")]), file("a", b"x")],
        ),
        ("global comment", vec![pax(b'g', &[("comment", "c")]), file("a", b"x")]),
        ("gnu", vec![TarEntry { magic: b"ustar  \0", ..file("a", b"x") }]),
        ("prefix", vec![TarEntry { prefix: b"p".to_vec(), ..file("a", b"x") }]),
        ("dots", vec![entry(b"./", b'5', b""), entry(b"./d/", b'5', b""), file("./d/a", b"x")]),
        ("old kind of file", vec![entry(b"a", 0, b"x")]),
    ] {
        let mut all = vec![manifest()];
        all.extend(entries);
        check(&readers, what, &gz(&tar(&all)));
    }
    let zips = zip(&[
        ZipEntry { flags: 8, ..zipped("a.txt", b"hello") },
        ZipEntry { method: 0, ..zipped("b.txt", b"hello") },
        ZipEntry { flags: 1 << 11, ..zipped("caf\u{e9}", b"") },
    ]);
    let python: Vec<Reader> =
        readers.into_iter().filter(|reader| matches!(reader, Reader::Python)).collect();
    check(&python, "a zip archive", &zips);
}

/// One change to a byte of a tar archive, anywhere, with its checksums made right again: if we still accept it, others
/// read the same.
#[test]
fn changed_archives_are_refused_or_read_alike() {
    let readers = readers();
    let base = tar(&[
        manifest(),
        pax(b'x', &[("path", "docs/a.md"), ("size", "5"), ("mtime", "1.5")]),
        file("a", b"hello"),
        TarEntry { magic: b"ustar  \0", ..file("b", b"x") },
        TarEntry { prefix: b"p".to_vec(), ..file("c", b"x") },
        entry(b"d/", b'5', b""),
    ]);
    let mut state = 0x9e37_79b9_u32;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize % below
    };
    let interesting =
        [0, b' ', b'/', b'.', b'0', b'1', b'5', b'7', b'x', b'g', b'L', b'\n', b'=', 0x80, 0xff];
    let (mut accepted, mut refused) = (Vec::new(), 0);
    // Enough to change every field of some header; the same ones every time.
    for round in 0..4_000 {
        let mut changed = base.clone();
        for _ in 0..=round % 3 {
            let at = random(changed.len() - 1024);
            changed[at] = interesting[random(interesting.len())];
        }
        if changed == base {
            continue;
        }
        for block in changed.chunks_mut(512).filter(|block| block[257..].starts_with(b"ustar")) {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        let archive = gz(&changed);
        let Some(ours) = ours(&archive) else {
            refused += 1;
            continue;
        };
        accepted.push((archive, ours));
    }
    assert!(
        accepted.len() > 100 && refused > 100,
        "{} accepted, {refused} refused",
        accepted.len()
    );
    for reader in readers {
        // A process for each archive takes its time: of those some are compared, always the same.
        let every = if matches!(reader, Reader::Python) { 1 } else { 10 };
        let (archives, ours): (Vec<_>, Vec<_>) = accepted.iter().step_by(every).cloned().unzip();
        for (theirs, ours) in reader.list(&archives).into_iter().zip(ours) {
            // Whoever refuses it can't be deceived by it.
            assert!(
                theirs.is_none() || theirs.as_ref() == Some(&ours),
                "{reader:?}: {theirs:?} {ours:?}"
            );
        }
    }
}
