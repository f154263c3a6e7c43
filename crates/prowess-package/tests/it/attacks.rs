//! Every row of the list of attacks on archives, one line per case.

use std::fmt::Write as _;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use prowess_files::folder::Folder;
use prowess_package::limits::PackageLimits;
use prowess_package::unpack::{UnpackError, UnpackOptions, unpack_to_folder, unpack_to_memory};
use prowess_testkit::archives::{
    MANIFEST, TarEntry, ZipEntry, bomb, entry, extra, file, gz, link, manifest, pax, tar, tar_body,
    tar_gz, zip, zip_of, zipped,
};
use prowess_testkit::{listing, temporary};

/// As many entries as a test makes quickly.
const LIMITS: PackageLimits = PackageLimits { entries: 50, ..PackageLimits::PACKAGE };
const OPTIONS: UnpackOptions<'static> = UnpackOptions { limits: LIMITS, name: None };

/// Unpacks below a folder, and says where the skill is.
fn unpacked(
    archive: &[u8],
    staging: &Path,
    options: &UnpackOptions<'_>,
) -> Result<PathBuf, UnpackError> {
    let folder = Folder::open(staging).expect("the folder opens");
    let mut names = ["first", "second"].map(str::to_owned).into_iter();
    let free_name = || names.next().expect("two names are enough");
    let (_, name) = unpack_to_folder(Cursor::new(archive), &folder, free_name, options)?;
    Ok(staging.join(name))
}

/// Unpacks below a folder beside which other things lie, and says why it is refused. Nothing may have been written.
fn refusal(id: &str, archive: &[u8], options: &UnpackOptions<'_>) -> String {
    let home = temporary();
    std::fs::write(home.path().join("precious"), "kept").expect("written");
    let staging = home.path().join("a/b/staging");
    // Another skill that archives may want to write to (attack registry-B12).
    std::fs::create_dir_all(staging.join("other")).expect("made");
    std::fs::write(staging.join("other/SKILL.md"), "other").expect("written");
    let before = listing(home.path());
    let error =
        unpacked(archive, &staging, options).err().unwrap_or_else(|| panic!("{id} is refused"));
    assert_eq!(listing(home.path()), before, "{error}");
    error.to_string()
}

fn refusals(cases: &[(&str, Vec<u8>)]) -> String {
    let mut text = String::new();
    for (id, archive) in cases {
        let _ = writeln!(text, "{id}: {}", refusal(id, archive, &OPTIONS));
    }
    text
}

/// Attacks registry-B1 to B12 and B17 as `.tar.gz`.
#[test]
fn tar_archives_that_deceive_are_refused_whole() {
    // GAIX-23, NEG-1, NEG-15
    let with = |entries: &[TarEntry]| tar_gz(entries);
    let named = |name: &str| with(&[file(name, b"x")]);
    let raw = |name: &[u8]| with(&[entry(name, b'0', b"x")]);
    let many: Vec<TarEntry> = (0..50).map(|number| file(&format!("f{number}"), b"")).collect();
    let many_folders: Vec<TarEntry> =
        (0..50).map(|number| entry(format!("d{number}/").as_bytes(), b'5', b"")).collect();
    let whole = tar(&[manifest()]);
    let two_streams = [gz(&whole), gz(&tar(&[file("evil.sh", b"x")]))].concat();
    let mut damaged = tar_gz(&[file("a", &[7; 5_000])]);
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 0xff;
    let mut padded = tar_body(&[manifest()]);
    let end = padded.len() - 1;
    padded[end] = b'!';
    padded.resize(padded.len() + 1024, 0);
    let renamed = |name: &str| {
        String::from_utf8_lossy(MANIFEST)
            .replace("name: demo", &format!("name: {name}"))
            .into_bytes()
    };
    let text = refusals(&[
        ("B1 up", named("../x")),
        ("B1 up later", named("a/../../x")),
        ("B1 absolute", named("/tmp/x")),
        ("B1 drive", named("C:\\x")),
        ("B1 share", named("\\\\srv\\x")),
        ("B1 backslash", named("a\\..\\..\\x")),
        ("B1 folder", with(&[entry(b"../x/", b'5', b"")])),
        ("B1 through a prefix", with(&[TarEntry { prefix: b"..".to_vec(), ..file("x", b"x") }])),
        ("B1 through pax", with(&[pax(b'x', &[("path", "../../x")]), file("fine", b"x")])),
        ("B2 symlink", with(&[link("lib", b'2', "/"), file("lib/etc/x", b"x")])),
        ("B2 hard link", with(&[link("lib", b'1', "SKILL.md")])),
        ("B2 character device", with(&[link("null", b'3', "")])),
        ("B2 block device", with(&[link("disk", b'4', "")])),
        ("B2 pipe", with(&[link("pipe", b'6', "")])),
        ("B2 unknown kind", with(&[link("what", b'Z', "")])),
        ("B2 file with a target", with(&[TarEntry { link: b"/etc".to_vec(), ..file("x", b"x") }])),
        ("B2 link through pax", with(&[pax(b'x', &[("linkpath", "/etc")]), file("x", b"x")])),
        ("B3 one huge file", with(&[TarEntry { size: Some(8 << 30), ..file("x", b"") }])),
        ("B4 files", with(&many)),
        ("B4 folders", with(&many_folders)),
        (
            "B6 pax size",
            with(&[pax(b'x', &[("size", "0")]), file("x", &tar_body(&[file("y", b"z")]))]),
        ),
        ("B6 pax size is no number", with(&[pax(b'x', &[("size", "0x10")]), file("x", b"z")])),
        (
            "B6 pax twice",
            with(&[pax(b'x', &[("mtime", "1")]), pax(b'x', &[("mtime", "2")]), file("x", b"")]),
        ),
        (
            "B6 pax says it twice",
            with(&[pax(b'x', &[("path", "a"), ("path", "b")]), file("x", b"")]),
        ),
        ("B6 pax without an entry", with(&[pax(b'x', &[("path", "a")])])),
        ("B6 pax unknown", with(&[pax(b'x', &[("VENDOR.rename", "a")]), file("x", b"")])),
        ("B6 pax without sense", with(&[entry(b"p", b'x', b"99 path=a\n"), file("x", b"")])),
        (
            "B6 pax of another charset",
            with(&[pax(b'x', &[("hdrcharset", "BINARY")]), file("x", b"")]),
        ),
        ("B6 huge pax", with(&[entry(b"p", b'x', &[b'1'; 9_000]), file("x", b"")])),
        ("B6 global path", with(&[pax(b'g', &[("path", "a")]), file("x", b"")])),
        (
            "B6 global in between",
            with(&[pax(b'x', &[("path", "a")]), pax(b'g', &[("comment", "c")]), file("x", b"")]),
        ),
        ("B6 gnu long name", with(&[entry(b"././@LongLink", b'L', b"long\0"), file("x", b"")])),
        ("B6 gnu sparse", with(&[entry(b"x", b'S', b"")])),
        ("B6 pax sparse", with(&[pax(b'x', &[("GNU.sparse.major", "1")]), file("x", b"")])),
        (
            "B6 gnu with a prefix",
            with(&[TarEntry { magic: b"ustar  \0", prefix: b"a".to_vec(), ..file("x", b"") }]),
        ),
        ("B6 no magic", with(&[TarEntry { magic: b"\0\0\0\0\0\0\0\0", ..file("x", b"") }])),
        ("B6 checksum", with(&[TarEntry { checksum_is_wrong: true, ..file("x", b"") }])),
        ("B6 name after its end", raw(b"a\0b")),
        ("B6 folder with content", with(&[entry(b"d/", b'5', b"content")])),
        ("B6 contiguous", with(&[entry(b"x", b'7', b"")])),
        ("B6 file that ends with a slash", named("x/")),
        ("B6 after the end", gz(&[whole.clone(), tar(&[file("evil.sh", b"x")])].concat())),
        (
            "B6 one block of zeroes",
            gz(&[tar_body(&[manifest()]), vec![0; 512], tar(&[file("evil.sh", b"x")])].concat()),
        ),
        ("B6 no end", gz(&tar_body(&[manifest()]))),
        ("B6 cut off", gz(&whole[..700])),
        ("B6 two compressed streams", two_streams),
        ("B6 after the compressed stream", [gz(&whole), b"x".to_vec()].concat()),
        ("B6 hidden in padding", gz(&padded)),
        ("B6 endless zeroes", gz(&[whole.clone(), vec![0; 2 << 20]].concat())),
        ("B6 damaged", damaged),
        ("B8 same file", with(&[file("a", b"1"), file("a", b"2")])),
        ("B8 same file with a dot", with(&[file("a", b"1"), file("./a", b"2")])),
        ("B8 case", with(&[file("Readme.md", b"1"), file("README.md", b"2")])),
        ("B8 composition", with(&[file("caf\u{e9}", b"1"), file("cafe\u{301}", b"2")])),
        ("B8 folders", with(&[file("Docs/a", b"1"), file("docs/b", b"2")])),
        ("B8 file and folder", with(&[file("a", b"1"), file("a/b", b"2")])),
        ("B8 folder and file", with(&[entry(b"a/", b'5', b""), file("a", b"2")])),
        ("B8 two manifests", with(&[file("skill.md", b"2")])),
        ("B9 device", named("docs/aux.md")),
        ("B9 trailing dot", named("a.")),
        ("B9 stream", named("a:b")),
        ("B9 long", with(&[pax(b'x', &[("path", &"x".repeat(300))]), file("x", b"")])),
        ("B9 control", named("a\x1b[2Jb")),
        ("B9 not UTF-8", raw(b"a\xff")),
        ("B10 env", named(".env")),
        ("B10 npmrc", named("docs/.npmrc")),
        ("B10 hidden folder", named(".hidden/x")),
        ("B10 git", named(".git/hooks/post-checkout")),
        ("B10 git folder", with(&[entry(b".git/", b'5', b"")])),
        ("B10 compiled", named("__pycache__/tools.cpython-312.pyc")),
        ("B10 finder", named(".DS_Store")),
        ("B12 two skills", gz(&tar(&[file("a/SKILL.md", MANIFEST), file("b/SKILL.md", MANIFEST)]))),
        ("B12 another's folder", gz(&tar(&[file("other/SKILL.md", MANIFEST)]))),
        (
            "B12 beside the folder",
            gz(&tar(&[file("demo/SKILL.md", MANIFEST), file("other/x", b"x")])),
        ),
        ("B12 no skill", gz(&tar(&[file("README.md", b"x")]))),
        ("B12 deep skill", gz(&tar(&[file("a/b/SKILL.md", MANIFEST)]))),
        ("B12 spelling", gz(&tar(&[file("skill.md", MANIFEST)]))),
        ("B12 empty", gz(&tar(&[]))),
        ("B17 line feed", named("a\nb")),
        ("NEG-1 name", gz(&tar(&[file("SKILL.md", &renamed("../../../x"))]))),
        ("NEG-1 spelling", gz(&tar(&[file("SKILL.md", &renamed("My Demo"))]))),
        ("no name", gz(&tar(&[file("SKILL.md", b"---\ndescription: d\n---\n\n# X\n")]))),
        ("no archive", b"hello".to_vec()),
        ("nothing", Vec::new()),
    ]);
    assert_snapshot!(text);
}

/// Attacks registry-B1, registry-B2, registry-B4, registry-B7, registry-B8, registry-B10 and registry-B12 as `.zip`.
#[test]
fn zip_archives_that_deceive_are_refused_whole() {
    // GAIX-23, NEG-15
    let with = |entries: &[ZipEntry]| zip(entries);
    let plain = zipped("a.txt", b"hello");
    let alter = |change: &dyn Fn(&mut ZipEntry)| {
        let mut entry = plain.clone();
        change(&mut entry);
        with(&[entry])
    };
    let many: Vec<ZipEntry> = (0..50).map(|number| zipped(&format!("f{number}"), b"")).collect();
    let good = with(&[]);
    let edit_end = |edits: &[(usize, u8)]| {
        let mut bytes = good.clone();
        for (at_from_end, byte) in edits {
            let at = bytes.len() - at_from_end;
            bytes[at] = *byte;
        }
        bytes
    };
    let zip64_locator = {
        let (body, end) = good.split_at(good.len() - 22);
        [body, b"PK\x06\x07", &[0; 16], end].concat()
    };
    let text = refusals(&[
        ("B1 up", with(&[zipped("../x", b"x")])),
        ("B1 absolute", with(&[zipped("/tmp/x", b"x")])),
        ("B1 backslash", with(&[zipped("..\\x", b"x")])),
        ("B2 symlink", alter(&|entry| entry.attributes = 0o120_777 << 16)),
        ("B2 device", alter(&|entry| entry.attributes = 0o020_644 << 16)),
        ("B2 folder by attribute", alter(&|entry| entry.attributes |= 0x10)),
        ("B2 folder by mode", alter(&|entry| entry.attributes = 0o040_755 << 16)),
        ("B3 one huge file", alter(&|entry| entry.length = Some(100 << 20))),
        ("B3 much from little", alter(&|entry| entry.length = Some(9 << 20))),
        ("B3 longer than it says", alter(&|entry| entry.length = Some(2))),
        ("B3 shorter than it says", alter(&|entry| entry.length = Some(9))),
        ("B4 files", with(&many)),
        ("B7 other local name", alter(&|entry| entry.local_name = Some(b"b.txt".to_vec()))),
        ("B7 other local length", alter(&|entry| entry.local_length = Some(4))),
        ("B7 duplicate", with(&[plain.clone(), zipped("a.txt", b"other")])),
        ("B7 after the end", [good.clone(), b"x".to_vec()].concat()),
        ("B7 before the beginning", [b"PK\x03\x04junk".to_vec(), good.clone()].concat()),
        (
            "B7 end in the comment",
            zip_of(&[zipped("SKILL.md", MANIFEST)], &good[good.len() - 22..]),
        ),
        ("B7 gap", alter(&|entry| entry.gap = b"smuggled".to_vec())),
        (
            "B7 gap after a descriptor",
            alter(&|entry| {
                entry.flags = 8;
                entry.gap = b"smuggled".to_vec();
            }),
        ),
        ("B7 hidden in compressed data", alter(&|entry| entry.hidden = b"smuggled".to_vec())),
        ("B7 zip64 extra", alter(&|entry| entry.extra = extra(1, &[0; 16]))),
        (
            "B7 zip64 extra twice",
            alter(&|entry| entry.extra = [extra(1, &[0; 8]), extra(1, &[1; 8])].concat()),
        ),
        ("B7 zip64 locally", alter(&|entry| entry.local_extra = extra(1, &[0; 16]))),
        ("B7 zip64 locator", zip64_locator),
        ("B7 second name", alter(&|entry| entry.extra = extra(0x7075, b"\x01\0\0\0\0b.txt"))),
        ("B7 broken extra", alter(&|entry| entry.extra = b"\x55".to_vec())),
        ("B7 number of entries", edit_end(&[(14, 9), (12, 9)])),
        ("B7 place of the directory", edit_end(&[(6, 9)])),
        ("B7 several disks", edit_end(&[(18, 1)])),
        (
            "B7 stored with two sizes",
            alter(&|entry| {
                entry.method = 0;
                entry.length = Some(4);
            }),
        ),
        ("B7 checksum", alter(&|entry| entry.crc = Some(1))),
        ("encrypted", alter(&|entry| entry.flags = 1)),
        ("encrypted with AES", alter(&|entry| entry.extra = extra(0x9901, &[0; 7]))),
        ("patched", alter(&|entry| entry.flags = 1 << 5)),
        ("bzip2", alter(&|entry| entry.method = 12)),
        ("encoding of the name", alter(&|entry| entry.name = "caf\u{e9}".as_bytes().to_vec())),
        ("folder with content", with(&[ZipEntry { attributes: 0, ..zipped("d/", b"x") }])),
        ("B8 case", with(&[plain.clone(), zipped("A.TXT", b"x")])),
        ("B8 two manifests", with(&[zipped("Skill.md", b"x")])),
        ("B10 hidden", with(&[zipped(".env", b"x")])),
        ("B10 finder", with(&[zipped("__MACOSX/._SKILL.md", b"x")])),
        (
            "B12 two skills",
            zip_of(&[zipped("a/SKILL.md", MANIFEST), zipped("b/SKILL.md", MANIFEST)], b""),
        ),
        ("B12 no skill", zip_of(&[zipped("README.md", b"x")], b"")),
        ("B12 another's folder", zip_of(&[zipped("other/SKILL.md", MANIFEST)], b"")),
        ("empty", zip_of(&[], b"")),
        ("cut off", good[..good.len() - 30].to_vec()),
    ]);
    assert_snapshot!(text);
}

/// What ordinary writers make is not refused.
#[test]
fn archives_of_ordinary_writers_are_read() {
    let root = |entries: &[TarEntry]| gz(&tar(entries));
    let streamed = ZipEntry { flags: 8, ..zipped("a.txt", b"hello") };
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("files only", tar_gz(&[file("a.txt", b"hello")]), "SKILL.md a.txt"),
        ("dots", root(&[entry(b"./", b'5', b""), file("./SKILL.md", MANIFEST)]), "SKILL.md"),
        (
            "own folder",
            root(&[
                entry(b"demo/", b'5', b""),
                file("demo/SKILL.md", MANIFEST),
                file("demo/x/y", b""),
            ]),
            "SKILL.md x/y",
        ),
        ("own folder with version", root(&[file("demo-1.2.0/SKILL.md", MANIFEST)]), "SKILL.md"),
        (
            "skill inside a skill",
            tar_gz(&[file("examples/SKILL.md", b"x")]),
            "SKILL.md examples/SKILL.md",
        ),
        ("commit of git", root(&[pax(b'g', &[("comment", "0123abcd")]), manifest()]), "SKILL.md"),
        (
            "times in pax",
            root(&[pax(b'x', &[("mtime", "1.5"), ("LIBARCHIVE.creationtime", "1")]), manifest()]),
            "SKILL.md",
        ),
        (
            "name in pax",
            tar_gz(&[pax(b'x', &[("path", "b/c"), ("size", "1")]), file("a", b"x")]),
            "SKILL.md b/c",
        ),
        ("gnu", root(&[TarEntry { magic: b"ustar  \0", ..manifest() }]), "SKILL.md"),
        (
            "split name",
            tar_gz(&[TarEntry { prefix: b"a".to_vec(), ..file("b", b"") }]),
            "SKILL.md a/b",
        ),
        ("sidecar", tar_gz(&[file("SKILL.md.lock", b"{}")]), "SKILL.md"),
        ("zip", zip(&[zipped("a.txt", b"hello")]), "SKILL.md a.txt"),
        ("zip as it goes", zip(&[streamed]), "SKILL.md a.txt"),
        (
            "zip stored",
            zip(&[ZipEntry { method: 0, ..zipped("a.txt", b"hello") }]),
            "SKILL.md a.txt",
        ),
        ("zip empty file", zip(&[zipped("a.txt", b"")]), "SKILL.md a.txt"),
        (
            "zip with folders",
            zip_of(
                &[
                    ZipEntry {
                        method: 0,
                        attributes: 0o040_755 << 16 | 0x10,
                        ..zipped("demo/", b"")
                    },
                    zipped("demo/SKILL.md", MANIFEST),
                ],
                b"commit",
            ),
            "SKILL.md",
        ),
        (
            "zip with UTF-8",
            zip(&[ZipEntry { flags: 1 << 11, ..zipped("caf\u{e9}", b"") }]),
            "SKILL.md caf\u{e9}",
        ),
        (
            "zip with times",
            zip(&[ZipEntry { extra: extra(0x5455, &[0; 5]), ..zipped("a", b"") }]),
            "SKILL.md a",
        ),
    ];
    for (id, archive, expected) in cases {
        let (unpacked, tree) = unpack_to_memory(Cursor::new(archive), &OPTIONS)
            .unwrap_or_else(|error| panic!("{id}: {error}"));
        let paths: Vec<&str> = tree.files().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths.join(" "), expected, "{id}");
        assert_eq!(unpacked.name.as_str(), "demo", "{id}");
        assert_eq!(unpacked.version.as_deref(), Some("1.2.0"), "{id}");
        assert_eq!(unpacked.hashes, tree.hashes(), "{id}");
    }
}

/// A skill that was asked for by name is that one, and may declare a name that is no folder's (R2).
#[test]
fn the_skill_is_the_one_that_was_asked_for() {
    let demo = "demo".parse().unwrap();
    let other = "other".parse().unwrap();
    let archive = tar_gz(&[]);
    let ask = |name, archive: &[u8]| {
        let options = UnpackOptions { limits: PackageLimits::PACKAGE, name: Some(name) };
        unpack_to_memory(Cursor::new(archive), &options).map(|(unpacked, _)| unpacked.name)
    };
    assert_eq!(ask(&demo, &archive).unwrap(), demo);
    assert!(matches!(ask(&other, &archive), Err(UnpackError::OtherSkill { .. })));
    let titled = String::from_utf8_lossy(MANIFEST).replace("demo", "My Demo");
    assert_eq!(ask(&other, &gz(&tar(&[file("SKILL.md", titled.as_bytes())]))).unwrap(), other);
}

/// Counts how much of an archive was read.
struct Meter<R>(R, u64);

impl<R: Read> Read for Meter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1 += count as u64;
        Ok(count)
    }
}

impl<R: Seek> Seek for Meter<R> {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

/// Attack registry-B3: a bomb is left as soon as a bound is passed, and no file of it is larger than the bound.
#[test]
fn bombs_stop_at_the_bound() {
    let limits = PackageLimits { bytes: 1 << 18, file_bytes: 1 << 17, ..PackageLimits::PACKAGE };
    let options = UnpackOptions { limits, name: None };
    // Incompressible, so that what was read tells what was unpacked.
    let mut state = 1u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    })
    .take(1 << 17)
    .collect();
    let files: Vec<TarEntry> = (0..8).map(|number| file(&format!("f{number}"), &noise)).collect();
    let archive = tar_gz(&files);
    let mut meter = Meter(Cursor::new(&archive), 0);
    let error = unpack_to_memory(&mut meter, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the archive is rejected: the files have more than 262144 bytes together"
    );
    assert!(meter.1 < (1 << 18) + (1 << 17), "{} of {} bytes were read", meter.1, archive.len());

    let larger = tar_gz(&[file("f", &vec![0; (1 << 17) + 1])]);
    let error = unpack_to_memory(Cursor::new(larger), &options).unwrap_err();
    assert!(error.to_string().contains("`f` has more than 131072 bytes"), "{error}");

    let small = PackageLimits { archive_bytes: 1_000, ..PackageLimits::PACKAGE };
    let options = UnpackOptions { limits: small, name: None };
    for archive in [archive, zip(&[ZipEntry { method: 0, ..zipped("a", &noise) }])] {
        let error = unpack_to_memory(Cursor::new(archive), &options).unwrap_err();
        assert!(matches!(error, UnpackError::ArchiveTooLarge { most: 1_000 }), "{error}");
    }
    // Text that repeats itself is a bomb only when there is much of it.
    let error = unpack_to_memory(Cursor::new(bomb(144)), &OPTIONS).unwrap_err();
    assert!(matches!(error, UnpackError::TooDense { .. }), "{error}");
}

/// Attack registry-B11: of a mode nothing stays but whether a script can be started.
#[test]
fn modes_are_made_ordinary() {
    let home = temporary();
    let mode = |name: &str, mode, data: &[u8]| TarEntry { mode, ..file(name, data) };
    let archive = tar_gz(&[
        mode("scripts/tool", 0o4755, b"\x7fELF"),
        mode("scripts/data", 0o666, b"x"),
        mode("run.sh", 0o777, b"#!/bin/sh\n"),
        mode("notes.md", 0o6777, b"text"),
        TarEntry { mode: 0o777, ..entry(b"scripts/", b'5', b"") },
    ]);
    let skill = unpacked(&archive, home.path(), &OPTIONS).unwrap();
    let modes: Vec<String> = listing(&skill)
        .iter()
        .map(|line| line.replace(&format!("{}/", skill.display()), ""))
        .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        modes,
        [
            "SKILL.md 644",
            "notes.md 644",
            "run.sh 755",
            "scripts 755",
            "scripts/data 644",
            "scripts/tool 755"
        ]
    );
}
