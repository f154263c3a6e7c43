use super::*;
use crate::tree::TreeFile;

fn hashes(files: &[(&str, &[u8])]) -> FileHashes {
    files.iter().map(|(path, bytes)| (path.parse().unwrap(), Sha256Digest::of(bytes))).collect()
}

/// A tree without checks: the order is about any paths, also twins.
fn tree<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Tree {
    let mut tree = Tree::default();
    for (path, bytes) in files {
        tree.insert(path.parse().unwrap(), TreeFile { bytes: bytes.to_owned(), executable: false });
    }
    tree
}

/// Frozen. These were computed by another program from the definition; they never change (attack registry-B17).
#[test]
fn golden_vectors_of_the_content_digest() {
    let demo: &[(&str, &[u8])] = &[
        ("SKILL.md", b"---\nname: demo\n---\n"),
        ("a/b", b"x"),
        ("a-b", b"\0"),
        ("a.b", b"y"),
        ("B", b"z"),
        ("\u{e9}", b"e"),
    ];
    for (files, expected) in [
        (&[][..], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            &[("SKILL.md", &b""[..])][..],
            "2c9f8338ee0de51a975e8c1ee8a7ecf1d909bfbb1d4205b3f4fdb1da43f568de",
        ),
        (demo, "0782783fec26e3c7211d36e6ceb37e9e405c44345826f7edf17f587df3d3473c"),
    ] {
        assert_eq!(content_digest(&hashes(files)).to_string(), expected);
    }
}

#[test]
fn digests_are_read_as_they_are_written() {
    // GAIA §7.3
    let digest = Sha256Digest::of(b"hello");
    assert_eq!(digest.integrity(), "sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=");
    assert_eq!(digest.to_string().parse(), Ok(digest));
    let upper = digest.to_string().to_uppercase();
    for text in ["", "2cf2", &upper] {
        assert_eq!(text.parse::<Sha256Digest>(), Err(InvalidDigest), "{text}");
    }
}

/// GAIA's own vectors, as far as the text that they are made from is known.
#[test]
fn the_manifest_digest_is_that_of_gaia() {
    let text = "---\nname: digest-vector\ndescription: A fixed skill used as a cross-language digest test \
                vector.\nversion: \"1.0.0\"\n---\n\n# Digest Vector\n\nOne paragraph of body text.\n";
    let expected = "sha256:67e831ec08103837dce078a01e1472a66747693b272fe2ee26603ff60e64f949";
    assert_eq!(gaia_manifest_digest(text), expected);
    assert_eq!(gaia_manifest_digest(&text.replace('\n', "\r\n")), expected);
    assert_eq!(
        gaia_manifest_digest(""),
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

/// By the definition: `path NUL length NUL bytes`, without caches and compiled files.
#[test]
fn the_content_digest_of_gaia_leaves_caches_out() {
    let files: &[(&str, &[u8])] = &[("SKILL.md", b"abc"), ("scripts/run.py", b"\r\n")];
    let expected =
        format!("sha256:{}", Sha256Digest::of(b"SKILL.md\x003\0abcscripts/run.py\x002\0\r\n"));
    assert_eq!(gaia_content_digest(&tree(files.iter().copied())), expected);
    let caches: &[(&str, &[u8])] = &[
        ("__pycache__/a.txt", b"x"),
        ("lib.so", b"x"),
        ("a/b.zip", b"x"),
        ("node_modules/x", b"x"),
    ];
    assert_eq!(gaia_content_digest(&tree(files.iter().chain(caches).copied())), expected);
    let counted: &[(&str, &[u8])] = &[(".zip", b"x")];
    assert_ne!(gaia_content_digest(&tree(files.iter().chain(counted).copied())), expected);
}

/// Paths in the order that Node.js 20 gives them with `localeCompare`, and what it computes over them by the definitions
/// of both tools, with `content of ` and the path in each file.
#[test]
fn other_tools_hash_in_the_order_of_javascript() {
    // OC-13
    let paths: Vec<&str> =
        include_str!("../../../../fixtures/packages/javascript-order.txt").lines().collect();
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    assert_ne!(sorted, paths, "the order of bytes is another one");
    sort_by_locale(&mut sorted, |path| path);
    assert_eq!(sorted, paths);

    let contents: Vec<String> = paths.iter().map(|path| format!("content of {path}")).collect();
    let files = paths.iter().copied().zip(contents.iter().map(String::as_bytes));
    let tree = tree(files);
    assert_eq!(
        clawhub_fingerprint(&tree.hashes()).to_string(),
        "19531f026a8361b9e9e9a01da07e4d6348e449285d1d1198d8f5599283e508e0"
    );
    assert_eq!(
        skills_cli_hash(&tree).to_string(),
        "88f3d84cad53ddf2b477cf46d6148cbebd6fdebf31531fed01534baf2bb1830b"
    );
}

#[test]
fn what_other_tools_leave_out_does_not_count() {
    let plain: &[(&str, &[u8])] = &[("SKILL.md", b"abc")];
    let more: &[(&str, &[u8])] = &[("SKILL.md", b"abc"), (".gitignore", b"x"), ("a/.b/c", b"x")];
    assert_eq!(clawhub_fingerprint(&hashes(plain)), clawhub_fingerprint(&hashes(more)));
    assert_ne!(
        skills_cli_hash(&tree(plain.iter().copied())),
        skills_cli_hash(&tree(more.iter().copied()))
    );
}
