use std::num::NonZero;
use std::sync::Arc;

use super::{OpenBases, OpenLimits};
use crate::base::KnowledgeBase;
use crate::{BaseName, BaseSettings, KnowledgeBases, Language};

fn name(name: &str) -> BaseName {
    name.parse().expect("it is a name")
}

/// A folder with empty bases.
fn folder(names: &[&str]) -> (tempfile::TempDir, KnowledgeBases) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let bases = KnowledgeBases::open(folder.path());
    for base in names {
        let settings = BaseSettings { language: Language::English, embedder: None };
        bases.create(&name(base), &settings).expect("it can be made");
    }
    (folder, bases)
}

fn open(folder: &tempfile::TempDir, base: &str) -> Arc<KnowledgeBase> {
    Arc::new(KnowledgeBase::open(folder.path(), &name(base), None).expect("it opens"))
}

fn limits(count: usize, bytes: u64) -> OpenLimits {
    OpenLimits { count: NonZero::new(count).expect("it is not zero"), bytes }
}

#[test]
fn the_base_that_was_not_used_for_the_longest_time_is_closed() {
    let (folder, _) = folder(&["a", "b", "c"]);
    let mut open_bases = OpenBases::new(limits(2, u64::MAX));
    for base in ["a", "b"] {
        open_bases.insert(name(base), open(&folder, base));
    }
    let used = open_bases.get(&name("a")).expect("it is open");
    open_bases.insert(name("c"), open(&folder, "c"));
    assert!(open_bases.get(&name("b")).is_none());
    assert!(Arc::ptr_eq(&used, &open_bases.get(&name("a")).expect("it is still open")));
    assert!(open_bases.get(&name("c")).is_some());
}

#[test]
fn the_bytes_of_open_bases_are_bounded_and_one_is_always_kept() {
    let (folder, _) = folder(&["a", "b", "c"]);
    let size = open(&folder, "a").opened_bytes();
    assert!(size > 0);
    let mut open_bases = OpenBases::new(limits(100, size * 2));
    for base in ["a", "b", "c"] {
        open_bases.insert(name(base), open(&folder, base));
    }
    assert!(open_bases.get(&name("a")).is_none());
    assert!(open_bases.get(&name("b")).is_some() && open_bases.get(&name("c")).is_some());
    assert_eq!(open_bases.bytes, size * 2);
    let mut small = OpenBases::new(limits(100, 1));
    small.insert(name("a"), open(&folder, "a"));
    assert!(small.get(&name("a")).is_some(), "nothing would ever be open");
    small.insert(name("a"), open(&folder, "a"));
    assert_eq!(small.bytes, size, "it is counted once");
    small.remove(&name("a"));
    assert_eq!(small.bytes, 0);
}

#[test]
fn a_base_whose_data_is_gone_is_not_given_out() {
    let (folder, bases) = folder(&["a"]);
    let mut open_bases = OpenBases::new(OpenLimits::USUAL);
    open_bases.insert(name("a"), open(&folder, "a"));
    bases.remove(&name("a"), || {}).expect("nobody writes");
    assert!(open_bases.get(&name("a")).is_none());
    assert_eq!(open_bases.bytes, 0);
}
