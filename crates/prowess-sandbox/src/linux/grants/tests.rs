use std::path::Path;

use crate::spec::{FileAccess, FileGrant};

/// The groups of write patterns as text: the folder, the access to everything else in it, and the patterns.
fn groups(grants: &[(FileAccess, &str, &str)]) -> Vec<String> {
    let grants: Vec<FileGrant> = grants
        .iter()
        .map(|(access, path, pattern)| FileGrant {
            path: path.into(),
            access: *access,
            pattern: (!pattern.is_empty()).then(|| (*pattern).to_owned()),
            create: false,
        })
        .collect();
    let grants: Vec<&FileGrant> = grants.iter().collect();
    super::staged(&grants)
        .iter()
        .map(|group| {
            let patterns: Vec<String> = group
                .patterns
                .iter()
                .map(|(folder, pattern)| Path::new(folder).join(pattern).display().to_string())
                .collect();
            let cover = group.cover.map(|cover| cover.access);
            format!("{} {cover:?} {}", group.first.path.display(), patterns.join(" "))
        })
        .collect()
}

#[test]
fn patterns_of_one_folder_share_a_copy() {
    use FileAccess::{Read, Write};
    let check = |grants: &[(FileAccess, &str, &str)], expected: &[&str]| {
        assert_eq!(groups(grants), expected);
    };
    check(&[(Write, "/a", "*.md"), (Write, "/a", "*.txt")], &["/a None *.md *.txt"]);
    check(&[(Write, "/a/b", "*.md"), (Write, "/a", "*.txt")], &["/a None *.txt b/*.md"]);
    check(&[(Write, "/a", "*.md"), (Write, "/ab", "*.md")], &["/a None *.md", "/ab None *.md"]);
    // Everything else in the folder is readable.
    check(&[(Read, "/", ""), (Write, "/a", "*.md")], &["/a Some(Read) *.md"]);
    check(&[(Write, "/a", "*.md"), (Read, "/a", "")], &["/a Some(Read) *.md"]);
    // Writable files need no copy, unless they are in a protected folder.
    check(&[(Write, "/a", ""), (Write, "/a/b", "*.md")], &[]);
    check(
        &[(Write, "/a", ""), (Read, "/a/b", ""), (Write, "/a/b/c", "*.md")],
        &["/a/b/c Some(Read) *.md"],
    );
    // A grant for a folder between two patterns separates them.
    check(
        &[(Write, "/a", "**"), (Read, "/a/b", ""), (Write, "/a/b/c", "*.md")],
        &["/a None **", "/a/b/c Some(Read) *.md"],
    );
}
