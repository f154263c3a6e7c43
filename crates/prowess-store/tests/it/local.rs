//! Skills from folders and files of this machine.

use std::os::unix::fs::symlink;
use std::path::Path;

use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::Tree;
use prowess_store::reference::Reference;
use prowess_store::source::{FetchedFiles, Local, Pinned, Source as _, SourceError};
use tempfile::TempDir;

fn manifest(name: &str) -> String {
    format!("---\nname: {name}\ndescription: A test.\n---\n\nBody.\n")
}

fn write(folder: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
    std::fs::write(path, text).expect("a file can be written");
}

fn local(folder: &Path) -> Local {
    Local { current_folder: folder.to_owned(), home: None, limits: PackageLimits::PACKAGE }
}

fn told(error: &SourceError, folder: &Path) -> String {
    let folder = folder.canonicalize().expect("it is there").display().to_string();
    format!("{:?}: {error}", error.kind).replace(&folder, "HERE")
}

/// Each offer with all of its files, notes last.
#[track_caller]
fn check(folder: &TempDir, path: &str, expected: &[&str]) {
    let source = local(folder.path());
    let lines = match source.offers(&Reference::Path(path.into())) {
        Err(error) => vec![told(&error, folder.path())],
        Ok(offers) => {
            let mut lines = Vec::new();
            let mut notes = offers.notes;
            for offer in offers.skills {
                match source.fetch(&offer.name, &offer.pinned) {
                    Ok(FetchedFiles { tree, notes: more }) => {
                        let files: Vec<&str> =
                            tree.files().map(|(path, _)| path.as_str()).collect();
                        let kind = offer.pinned.kind();
                        lines.push(format!("{kind} {}: {}", offer.name, files.join(" ")));
                        notes.extend(more);
                    }
                    Err(error) => lines.push(told(&error, folder.path())),
                }
            }
            let here = folder.path().canonicalize().expect("it is there").display().to_string();
            lines.extend(notes.into_iter().map(|note| note.replace(&here, "HERE")));
            lines
        }
    };
    assert_eq!(lines, expected, "{path}");
}

#[test]
fn folders_offer_their_skills() {
    let folder = TempDir::new().expect("a folder");
    let at = folder.path();
    write(at, "one/SKILL.md", manifest("one"));
    write(at, "one/scripts/run.sh", "#!/bin/sh\n");
    write(at, "many/skills/b/SKILL.md", manifest("b"));
    write(at, "many/skills/a/SKILL.md", manifest("a"));
    write(at, "many/node_modules/c/SKILL.md", manifest("c"));
    write(at, "many/skills/a/examples/d/SKILL.md", manifest("d"));
    write(at, "empty/README.md", "nothing");
    check(&folder, "one", &["folder one: SKILL.md scripts/run.sh"]);
    check(&folder, "many", &["folder a: SKILL.md examples/d/SKILL.md", "folder b: SKILL.md"]);
    check(
        &folder,
        "empty",
        &["NotFound: there is no `SKILL.md` in `HERE/empty` or its subfolders"],
    );
    check(&folder, "nowhere", &["NotFound: `nowhere` does not exist"]);
}

#[test]
fn hidden_files_and_links_of_others_are_left_out_with_a_note() {
    let folder = TempDir::new().expect("a folder");
    let at = folder.path();
    write(at, "one/SKILL.md", manifest("one"));
    write(at, "one/.env", "TOKEN=x");
    write(at, "one/.hidden/x", "x");
    write(at, "one/.git/config", "x");
    write(at, "one/draft.md", "x");
    write(at, "one/.skillignore", "draft.md\n");
    write(at, "secret", "x");
    symlink("../secret", at.join("one/link")).expect("a link");
    symlink("..", at.join("one/up")).expect("a link");
    check(
        &folder,
        "one",
        &[
            "folder one: .skillignore SKILL.md",
            "hidden files and links of `HERE/one` are not installed: `.env`, `.hidden`, `link`, `up`",
        ],
    );
    // Whoever packs it is told to remove them.
    let error =
        Tree::read(&at.join("one"), &PackageLimits::PACKAGE).expect_err("refused").to_string();
    assert!(error.contains("symbolic link"), "{error}");
}

#[test]
fn a_manifest_stands_for_its_folder_only_where_the_folder_is_called_like_it() {
    let folder = TempDir::new().expect("a folder");
    let at = folder.path();
    write(at, "one/SKILL.md", manifest("one"));
    write(at, "one/notes.md", "x");
    write(at, "downloads/SKILL.md", manifest("one"));
    write(at, "downloads/private.txt", "x");
    write(at, "page.md", "<!doctype html>");
    check(&folder, "one/SKILL.md", &["folder one: SKILL.md notes.md"]);
    check(&folder, "downloads/SKILL.md", &["file one: SKILL.md"]);
    check(
        &folder,
        "page.md",
        &[
            "Unusable: `HERE/page.md`: this is neither an archive nor a `SKILL.md`, which begins with `---`",
        ],
    );
}

#[test]
fn an_archive_is_taken_while_its_bytes_stay_the_same() {
    let folder = TempDir::new().expect("a folder");
    let at = folder.path();
    write(at, "one/SKILL.md", manifest("one"));
    let tree = Tree::read(&at.join("one"), &PackageLimits::PACKAGE).expect("a skill").tree;
    let archive = pack(&tree);
    write(at, "one.tar.gz", &archive);
    check(&folder, "one.tar.gz", &["file one: SKILL.md"]);

    let source = local(at);
    let offers = source.offers(&Reference::Path("one.tar.gz".into())).expect("an offer");
    let Pinned::File { location, .. } = &offers.skills[0].pinned else { panic!("an archive") };
    write(at, "one.tar.gz", [archive.as_slice(), b"x"].concat());
    // Attack registry-C1.
    let error = source.fetch("one", &offers.skills[0].pinned).expect_err("other bytes");
    assert!(told(&error, at).starts_with("Mismatch: `HERE/one.tar.gz` has changed"), "{location}");
}

#[test]
fn bounds_hold_for_files_that_only_seem_small() {
    let folder = TempDir::new().expect("a folder");
    let at = folder.path();
    write(at, "one/SKILL.md", manifest("one"));
    write(at, "one/big.bin", vec![0; 2000]);
    let source = Local {
        limits: PackageLimits { file_bytes: 1 << 10, ..PackageLimits::PACKAGE },
        ..local(at)
    };
    let offers = source.offers(&Reference::Path("one".into())).expect("an offer");
    let error = source.fetch("one", &offers.skills[0].pinned).expect_err("too large");
    assert_eq!(told(&error, at), "Unusable: `HERE/one`: `big.bin` has more than 1024 bytes");
}

#[test]
fn a_folder_that_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().expect("a folder");
    write(folder.path(), "fine/SKILL.md", manifest("fine"));
    write(folder.path(), "empty/below/file.txt", "");
    let close = |path: &str, mode: u32| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.path().join(path), mode).expect("it is ours");
    };
    close("empty/below", 0o000);
    if std::fs::read_dir(folder.path().join("empty/below")).is_ok() {
        // The superuser reads everything, so there is nothing to see.
        return;
    }
    check(
        &folder,
        ".",
        &["folder fine: SKILL.md", "no permission to search `HERE/empty/below` for skills"],
    );
    check(&folder, "empty", &["Denied: cannot read `HERE/empty/below`: permission denied"]);
    close("empty/below", 0o755);
}
