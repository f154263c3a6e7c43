//! A narrower grant never allows more, on real folders: whatever a tool can't write with the wider grant, it can't
//! write with the narrower one either.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use prowess_policy::Tier;
use prowess_policy::scope::{PathPattern, PathRoot, RootedPath};
use prowess_sandbox::{FileAccess, FileGrant};

use super::Place;
use crate::lower::LoweredSpec;

/// Few names, so that folders, settings and grants overlap.
const NAMES: &[&str] = &["a", "b", "hooks", ".cargo", "f.sh"];
/// The depth of paths.
const DEPTH: usize = 2;

/// Some paths below the project.
fn way() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(NAMES), 0..=DEPTH)
}

/// Git settings that refer to a path, `VALUE`, or to the end of one.
fn setting() -> impl Strategy<Value = String> {
    let keys = prop::sample::select(vec![
        "[core]\n\thooksPath = VALUE\n",
        "[include]\n\tpath = VALUE\n",
        "[includeIf \"gitdir:x\"]\n\tpath = VALUE\n",
        "[core]\n\tfsmonitor = VALUE\n",
        "[core]\n\tsshCommand = sh VALUE -v\n",
        "[alias]\n\tx = !VALUE\n",
        "[safe]\n\tdirectory = VALUE\n",
    ]);
    // Relative to the project, to the settings, or to a neighbouring folder.
    let starts = prop::sample::select(vec!["", "./", "../", "ROOT/", "~/project/"]);
    (keys, starts, way()).prop_map(|(key, start, way)| {
        let value = format!("{start}{}", way.join("/"));
        key.replace("VALUE", &value)
    })
}

#[derive(Debug)]
struct Tree {
    folders: Vec<Vec<&'static str>>,
    files: Vec<Vec<&'static str>>,
    /// Repositories with their settings.
    repositories: Vec<(Vec<&'static str>, Vec<String>)>,
    of_user: Vec<String>,
    on_path: Vec<Vec<&'static str>>,
}

fn tree() -> impl Strategy<Value = Tree> {
    let settings = || prop::collection::vec(setting(), 0..3);
    (
        prop::collection::vec(way(), 1..8),
        prop::collection::vec(way(), 0..4),
        prop::collection::vec((way(), settings()), 0..3),
        settings(),
        prop::collection::vec(way(), 0..2),
    )
        .prop_map(|(folders, files, repositories, of_user, on_path)| Tree {
            folders,
            files,
            repositories,
            of_user,
            on_path,
        })
}

/// A grant, and a narrower one.
fn grants() -> impl Strategy<Value = (String, String)> {
    let ends = prop::sample::select(vec!["", "/**", "/*", "/f.sh", "/*.sh", "/hooks/*"]);
    (way(), way(), ends).prop_map(|(wide, more, end)| {
        let wide: String = wide.iter().fold(".".to_owned(), |text, name| format!("{text}/{name}"));
        let narrow = more.iter().fold(wide.clone(), |text, name| format!("{text}/{name}"));
        (format!("filesystem:write:{wide}/**"), format!("filesystem:write:{narrow}{end}"))
    })
}

impl Tree {
    fn make(&self) -> Place {
        let place = Place::new(&["home/x"]);
        let project = place.root.join("home/project");
        let at = |way: &[&str]| way.iter().fold(project.clone(), |path, name| path.join(name));
        // Existing paths are kept.
        for way in &self.folders {
            let _ = std::fs::create_dir_all(at(way));
        }
        let text =
            |settings: &[String]| settings.concat().replace("ROOT", &project.display().to_string());
        for (way, settings) in &self.repositories {
            let repository = at(way).join(".git");
            for folder in ["objects", "refs"] {
                let _ = std::fs::create_dir_all(repository.join(folder));
            }
            let _ = std::fs::write(repository.join("HEAD"), "ref: refs/heads/main\n");
            let _ = std::fs::write(repository.join("config"), text(settings));
        }
        for way in &self.files {
            let _ = std::fs::write(at(way), "");
        }
        let user = place.root.join("home/.gitconfig");
        std::fs::write(user, text(&self.of_user)).expect("it can be written");
        place
    }

    fn path(&self, place: &Place) -> String {
        let mut path = "/usr/bin".to_owned();
        for way in &self.on_path {
            let _ = write!(path, ":{}/home/project/{}", place.root.display(), way.join("/"));
        }
        path
    }
}

/// Whether a run could leave something at a path: the nearest grant allows writing, and it is not renamed afterwards.
fn can_leave(lowered: &LoweredSpec, path: &Path) -> bool {
    let covers = |grant: &&FileGrant| {
        // Most are unrelated.
        let Ok(rest) = path.strip_prefix(&grant.path) else { return false };
        let Some(pattern) = &grant.pattern else { return true };
        let parts = rest.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let pattern = PathPattern::parse(pattern).expect("it is one");
        // The sandbox applies a pattern to files, and not to what is below them.
        pattern.parts().len() <= rest.iter().count()
            && pattern.matches(&RootedPath { root: PathRoot::Working, parts })
    };
    let mut grants: Vec<&FileGrant> = lowered.spec.files.iter().filter(covers).collect();
    grants.sort_by_key(|grant| (grant.path.iter().count(), grant.access != FileAccess::Write));
    let is_written = grants.last().is_some_and(|grant| grant.access == FileAccess::Write);
    let mut absent = lowered.planted_scan.absent.iter();
    is_written && !absent.any(|absent| path.starts_with(&absent.place))
}

/// All paths that the names form.
fn paths(project: &Path) -> Vec<PathBuf> {
    let mut found = vec![project.to_owned()];
    let mut last = found.clone();
    for _ in 0..=DEPTH {
        last = last.iter().flat_map(|path| NAMES.iter().map(|name| path.join(name))).collect();
        found.extend(last.iter().cloned());
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_narrower_grant_never_allows_more((wide, narrow) in grants(), tree in tree()) {
        let place = tree.make();
        let world = place.world(&tree.path(&place));
        let lower = |permission: &str| place.lower_in(&world, &[permission], Tier::Experimental);
        // A refused grant writes nothing; a wider grant may be refused for a missing path, which says nothing about its
        // parts.
        let (Ok(wide), Ok(narrow)) = (lower(&wide), lower(&narrow)) else { return Ok(()) };
        for path in paths(&place.root.join("home/project")) {
            prop_assert!(
                can_leave(&wide, &path) || !can_leave(&narrow, &path),
                "{} with {:?}, not with {:?}", path.display(), narrow.spec.files, wide.spec.files
            );
        }
    }
}
