use std::path::Path;

use crate::spec::{Access, FileGrant};

/// The groups of write patterns as text: the folder, what else may be done there, and the patterns.
fn groups(grants: &[(Access, &str, &str)]) -> Vec<String> {
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
    use Access::{Read, Write};
    let check = |grants: &[(Access, &str, &str)], expected: &[&str]| {
        assert_eq!(groups(grants), expected);
    };
    check(&[(Write, "/a", "*.md"), (Write, "/a", "*.txt")], &["/a None *.md *.txt"]);
    check(&[(Write, "/a/b", "*.md"), (Write, "/a", "*.txt")], &["/a None *.txt b/*.md"]);
    check(&[(Write, "/a", "*.md"), (Write, "/ab", "*.md")], &["/a None *.md", "/ab None *.md"]);
    // Everything else there may be read.
    check(&[(Read, "/", ""), (Write, "/a", "*.md")], &["/a Some(Read) *.md"]);
    check(&[(Write, "/a", "*.md"), (Read, "/a", "")], &["/a Some(Read) *.md"]);
    // What may be written anyway needs no copy; what lies in a protected folder does again.
    check(&[(Write, "/a", ""), (Write, "/a/b", "*.md")], &[]);
    check(
        &[(Write, "/a", ""), (Read, "/a/b", ""), (Write, "/a/b/c", "*.md")],
        &["/a/b/c Some(Read) *.md"],
    );
    // A folder with a grant of its own between the two keeps them apart.
    check(
        &[(Write, "/a", "**"), (Read, "/a/b", ""), (Write, "/a/b/c", "*.md")],
        &["/a None **", "/a/b/c Some(Read) *.md"],
    );
}
