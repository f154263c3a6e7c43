//! What we accept is what others see: our listing of an archive beside those of GNU tar, bsdtar and Python (attack registry-B6).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::{Tree, TreeFile};
use prowess_package::unpack::{UnpackOptions, unpack_to_memory};
use prowess_testkit::archives::{
    MANIFEST, TarEntry, ZipEntry, entry, extra, file, gz, manifest, pax, tar, zip, zipped,
};
use prowess_testkit::temporary;

const OPTIONS: UnpackOptions<'static> =
    UnpackOptions { limits: PackageLimits::PACKAGE, name: None };

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
        command.args(["-x", "-f", "-", "-C"]).arg(folder.path()).env("LC_ALL", "C.UTF-8");
        if matches!(self, Self::Gnu) {
            // It does not look for itself when it reads from a pipe.
            command.arg("-z");
        }
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
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn files_below(folder: &Path) -> Listing {
    let mut found = Listing::new();
    for path in prowess_testkit::files_below(folder, &|_| true) {
        let name = path.strip_prefix(folder).expect("below").display().to_string();
        let content = if path.symlink_metadata().expect("it is there").is_file() {
            hexadecimal(&std::fs::read(&path).expect("it can be read"))
        } else {
            "neither a file nor a folder".to_owned()
        };
        found.insert(name, content);
    }
    found
}

/// Our own listing, without a top folder having been taken away.
fn ours(archive: &[u8]) -> Option<Listing> {
    unpack_to_memory(Cursor::new(archive), &OPTIONS).ok().map(|(_, tree)| listing(&tree))
}

fn listing(tree: &Tree) -> Listing {
    tree.files().map(|(path, file)| (path.as_str().to_owned(), hexadecimal(&file.bytes))).collect()
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

/// Compares archives that we accept.
fn check(readers: &[Reader], archives: &[(&str, Vec<u8>)]) {
    let bytes: Vec<Vec<u8>> = archives.iter().map(|(_, archive)| archive.clone()).collect();
    for reader in readers {
        for ((what, archive), theirs) in archives.iter().zip(reader.list(&bytes)) {
            let ours = ours(archive).unwrap_or_else(|| panic!("{what} is accepted"));
            let theirs = theirs.unwrap_or_else(|| panic!("{what}: {reader:?} refuses it"));
            assert_eq!(theirs, ours, "{what}: {reader:?}");
        }
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
    Tree::from_files(files, &PackageLimits::PACKAGE).expect("a tree")
}

#[test]
fn others_see_what_we_packed() {
    check(&readers(), &[("our own archive", pack(&sample()))]);
}

#[test]
fn others_see_what_we_accept() {
    let readers = readers();
    let archives = [
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
    ]
    .map(|(what, entries)| {
        let mut all = vec![manifest()];
        all.extend(entries);
        (what, gz(&tar(&all)))
    });
    check(&readers, &archives);
    let zips = zip(&[
        ZipEntry { flags: 8, ..zipped("a.txt", b"hello") },
        ZipEntry { method: 0, ..zipped("b.txt", b"hello") },
        ZipEntry { flags: 1 << 11, ..zipped("caf\u{e9}", b"") },
    ]);
    let python: Vec<Reader> =
        readers.into_iter().filter(|reader| matches!(reader, Reader::Python)).collect();
    check(&python, &[("a zip archive", zips)]);
}

/// What the usual programs write, with their usual options, is accepted and comes out as it went in.
#[test]
fn what_others_write_is_accepted() {
    const ZIP: &str = "import shutil, sys; shutil.make_archive(sys.argv[1][:-4], 'zip', 'demo')";
    const TAR: &str =
        "import shutil, sys; shutil.make_archive(sys.argv[1][:-7], 'gztar', '.', 'demo')";
    let home = temporary();
    for (path, text) in
        [("SKILL.md", MANIFEST), ("scripts/run.sh", b"#!/bin/sh\n"), ("docs/notes.md", b"x")]
    {
        let path = home.path().join("demo").join(path);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let expected = files_below(&home.path().join("demo"));
    let out = home.path().join("out");
    std::fs::create_dir(&out).expect("made");
    let mut written = 0;
    for (name, program, arguments) in [
        ("gnu.tar.gz", "tar", vec!["-czf", "OUT", "-C", "demo", "."]),
        ("folder.tar.gz", "tar", vec!["-czf", "OUT", "demo"]),
        ("posix.tar.gz", "tar", vec!["--format=posix", "-czf", "OUT", "demo"]),
        ("ustar.tar.gz", "tar", vec!["--format=ustar", "-czf", "OUT", "demo"]),
        ("bsd.tar.gz", "bsdtar", vec!["-czf", "OUT", "-C", "demo", "."]),
        ("bsd-ustar.tar.gz", "bsdtar", vec!["--format=ustar", "-czf", "OUT", "demo"]),
        ("bsd.zip", "bsdtar", vec!["--format=zip", "-cf", "OUT", "demo"]),
        ("info.zip", "zip", vec!["-qr", "OUT", "demo"]),
        ("python.zip", "python3", vec!["-c", ZIP, "OUT"]),
        ("python.tar.gz", "python3", vec!["-c", TAR, "OUT"]),
    ] {
        let archive = out.join(name);
        let target = archive.display().to_string();
        let arguments =
            arguments.iter().map(|argument| if *argument == "OUT" { &target } else { *argument });
        let command = Command::new(program)
            .args(arguments)
            .current_dir(home.path())
            .env("LC_ALL", "C.UTF-8")
            .output();
        // A program that is not there writes nothing.
        if !command.is_ok_and(|output| output.status.success()) {
            let _ = writeln!(std::io::stderr(), "SKIPPED: `{program}` has not written {name}");
            continue;
        }
        let bytes = std::fs::read(&archive).expect("it was written");
        let (unpacked, tree) = unpack_to_memory(Cursor::new(bytes), &OPTIONS)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(unpacked.name.as_str(), "demo", "{name}");
        assert_eq!(listing(&tree), expected, "{name}");
        written += 1;
    }
    assert!(written > 0, "no program has written an archive");
}

/// Changes some bytes, the same ones every time.
struct Changer {
    state: u32,
}

impl Changer {
    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        self.state as usize % bound
    }

    /// One to three changes of `base`, at places that `place` chooses.
    fn change(&mut self, base: &[u8], mut place: impl FnMut(&mut Self) -> usize) -> Vec<u8> {
        const VALUES: [u8; 15] = [
            0, b' ', b'/', b'.', b'0', b'1', b'5', b'7', b'x', b'g', b'L', b'\n', b'=', 0x80, 0xff,
        ];
        let mut changed = base.to_vec();
        for _ in 0..=self.below(3) {
            let at = place(self);
            changed[at] = VALUES[self.below(VALUES.len())];
        }
        changed
    }
}

/// Compares those archives that we accept. Whoever refuses one can't be deceived by it.
fn compare(readers: &[Reader], archives: impl Iterator<Item = Vec<u8>>) {
    let mut refused = 0;
    let mut accepted = Vec::new();
    for archive in archives {
        match ours(&archive) {
            Some(ours) => accepted.push((archive, ours)),
            None => refused += 1,
        }
    }
    assert!(accepted.len() > 50 && refused > 50, "{} accepted, {refused} refused", accepted.len());
    for reader in readers {
        // A process for each archive takes its time: of those some are compared, always the same.
        let every = if matches!(reader, Reader::Python) { 1 } else { 8 };
        let (archives, ours): (Vec<_>, Vec<_>) = accepted.iter().step_by(every).cloned().unzip();
        for (theirs, ours) in reader.list(&archives).into_iter().zip(ours) {
            let agree = theirs.as_ref().is_none_or(|theirs| *theirs == ours);
            assert!(agree, "{reader:?}: {theirs:?} {ours:?}");
        }
    }
}

/// Bytes of a tar archive are changed, mostly in headers, and checksums made right again.
#[test]
fn changed_tar_archives_are_refused_or_read_alike() {
    let base = tar(&[
        manifest(),
        pax(b'x', &[("path", "docs/a.md"), ("size", "5"), ("mtime", "1.5")]),
        file("a", b"hello"),
        TarEntry { magic: b"ustar  \0", ..file("b", b"x") },
        TarEntry { prefix: b"p".to_vec(), ..file("c", b"x") },
        entry(b"d/", b'5', b""),
    ]);
    let is_header = |at: &usize| base[at + 257..].starts_with(b"ustar");
    let headers: Vec<usize> = (0..base.len() - 1024).step_by(512).filter(is_header).collect();
    let mut changer = Changer { state: 0x9e37_79b9 };
    let archives = (0..1_000).map(|_| {
        let mut bytes = changer.change(&base, |changer| match changer.below(4) {
            0 => changer.below(base.len() - 1024),
            _ => headers[changer.below(headers.len())] + changer.below(345),
        });
        for block in bytes.chunks_mut(512).filter(|block| block[257..].starts_with(b"ustar")) {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        gz(&bytes)
    });
    compare(&readers(), archives);
}

/// Bytes of a zip archive are changed. bsdtar reads it from its beginning, by the headers before each file, and Python
/// from its end, by the directory: both see what we see (attack registry-B7).
#[test]
fn changed_zip_archives_are_refused_or_read_alike() {
    let base = zip(&[
        ZipEntry { flags: 8, ..zipped("a.txt", b"hello") },
        ZipEntry {
            method: 0,
            extra: extra(0x5455, &[0; 5]),
            local_extra: extra(0x5455, &[0; 9]),
            ..zipped("b.txt", b"hello")
        },
        ZipEntry { method: 0, attributes: 0o040_755 << 16 | 0x10, ..zipped("d/", b"") },
    ]);
    let mut changer = Changer { state: 0x2545_f491 };
    let archives = (0..1_500).map(|_| changer.change(&base, |changer| changer.below(base.len())));
    let readers: Vec<Reader> =
        readers().into_iter().filter(|reader| !matches!(reader, Reader::Gnu)).collect();
    compare(&readers, archives);
}
