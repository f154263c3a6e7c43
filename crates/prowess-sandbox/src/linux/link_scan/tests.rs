use std::path::Path;

use proptest::prelude::*;

use super::{Links, new_outside_links};

fn links(pairs: &[(&str, &str)]) -> Links {
    pairs.iter().map(|(link, target)| (link.into(), target.into())).collect()
}

fn outside_links(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    new_outside_links(Path::new("/ws"), &links(before), &links(after))
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

#[test]
fn links_that_point_outside_are_found() {
    let check = |target: &str, is_out: bool| {
        let found = outside_links(&[], &[("a/b/l", target)]);
        assert_eq!(!found.is_empty(), is_out, "{target}");
    };
    for target in [
        "/etc/passwd",
        "/",
        "/wsx/a",
        "/w",
        "../../../x",
        "../../..",
        "../../../ws/a",
        "c/../../../x",
        "/ws/../etc",
        "/ws/a/..",
    ] {
        check(target, true);
    }
    for target in ["x", "./x", "../x", "../../x", "../..", "/ws/a", "/ws", "/ws/./x", "missing/x"] {
        check(target, false);
    }
}

#[test]
fn links_through_other_links_are_found() {
    let chain = [("out", "/etc"), ("first", "second/x"), ("second", "d"), ("d/x", "../out/passwd")];
    assert_eq!(outside_links(&[], &chain), ["/ws/d/x", "/ws/first", "/ws/out"]);
    // Links that existed before are not reported, but new links through them are.
    assert_eq!(outside_links(&chain[..1], &chain), ["/ws/d/x", "/ws/first"]);
    assert_eq!(outside_links(&chain, &chain), Vec::<String>::new());
    assert_eq!(outside_links(&[("out", "inside")], &chain[..1]), ["/ws/out"]);
    assert_eq!(outside_links(&[], &[("a", "b"), ("b", "a")]), Vec::<String>::new());
}

proptest! {
    /// Compares the result with the kernel's: no link that points outside may be missed.
    #[test]
    fn no_link_that_points_outside_is_missed(
        targets in proptest::collection::vec("(/ws/|/|)((\\.\\.|\\.|[abc])/){0,3}(\\.\\.|[abc])", 1..4),
    ) {
        let root = tempfile::tempdir().expect("a temporary folder");
        let root = root.path().canonicalize().expect("it is there");
        let folder = root.join("ws");
        for path in ["ws/a/a", "ws/b", "a", "b/a"] {
            std::fs::create_dir_all(root.join(path)).expect("folders");
        }
        let mut all = Links::new();
        for (target, link) in targets.iter().zip(["l", "a/c", "a/a/c"]) {
            // `/ws` in the generated targets stands for the temporary folder.
            let target = match target.strip_prefix("/ws") {
                Some(rest) => format!("{}{rest}", folder.display()),
                None => target.clone(),
            };
            std::os::unix::fs::symlink(&target, folder.join(link)).expect("a link");
            all.insert(link.into(), target.into());
        }
        let found = new_outside_links(&folder, &Links::new(), &all);
        for link in all.keys() {
            let path = folder.join(link);
            if let Ok(real) = path.canonicalize()
                && !real.starts_with(&folder)
            {
                prop_assert!(found.contains(&path), "{} leads to {}", path.display(), real.display());
            }
        }
    }
}
