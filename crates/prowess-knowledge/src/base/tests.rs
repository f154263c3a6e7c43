use std::collections::BTreeMap;

use prowess_core::Query;

use super::{KnowledgeBase, name_in};
use crate::document::{DocumentFormat, KnowledgeDocument, digest};
use crate::{BaseError, BaseName, BaseSettings, KnowledgeBases, Language, ReclaimSpace};

fn document(id: &str, text: &str) -> KnowledgeDocument {
    KnowledgeDocument {
        id: id.to_owned(),
        digest: digest(text.as_bytes(), &BTreeMap::new()),
        format: DocumentFormat::Text,
        title: String::new(),
        text: text.to_owned(),
        pages: Vec::new(),
        fields: BTreeMap::new(),
    }
}

/// A folder with an empty base.
fn bases() -> (tempfile::TempDir, KnowledgeBases, BaseName) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let bases = KnowledgeBases::open(folder.path());
    let name: BaseName = "test".parse().expect("it is a name");
    let settings = BaseSettings { language: Language::English, embedder: None };
    bases.create(&name, &settings).expect("it can be made");
    (folder, bases, name)
}

/// Replaces the one document.
fn put(bases: &KnowledgeBases, name: &BaseName, text: &str) {
    let mut writer = bases.writer(name, || {}).expect("nobody else writes");
    writer.add(&document("a", text)).expect("it can be added");
    writer.finish(ReclaimSpace::GiveBack).expect("it ends well");
}

fn found(base: &KnowledgeBase) -> Vec<String> {
    let query = Query { text: "heron".to_owned(), top_k: 5, filters: Vec::new() };
    let found = base.search(&query).expect("the search works");
    found.into_iter().map(|passage| passage.text).collect()
}

#[test]
fn whoever_looks_at_an_earlier_commit_is_told_and_shown_no_blanks() {
    let (_folder, bases, name) = bases();
    let put = |text: &str| put(&bases, &name, text);
    put("A heron.");
    let base = bases.base(&name).expect("it opens");
    let earlier = base.seen().expect("it is looked at");
    let entries = base.entries_of(&earlier, "a").expect("it is found");
    let (name_of, text) = base.name_and_text(&earlier, &entries[0]).expect("it is read");
    assert_eq!((name_of.as_str(), text.as_str()), ("a", "A heron."));

    put("Another heron.");
    let erased = base.text(&earlier, &entries[0]).expect_err("it was erased");
    assert!(matches!(erased, BaseError::Damaged { .. }), "{erased}");
    let erased = base.name_and_text(&earlier, &entries[0]).expect_err("it was erased");
    assert!(matches!(erased, BaseError::Damaged { .. }), "{erased}");
    assert_eq!(found(&base), ["Another heron."]);

    // A document may contain such bytes itself.
    put("A heron\0of bytes.");
    assert_eq!(found(&base), ["A heron\0of bytes."]);
}

#[test]
fn a_search_that_is_overtaken_begins_again() {
    let (_folder, bases, name) = bases();
    let put = |text: &str| put(&bases, &name, text);
    put("First.");
    let base = bases.base(&name).expect("it opens");
    let looks = std::cell::Cell::new(0);
    let text = base.look(|seen| {
        let entries = base.entries_of(seen, "a")?;
        looks.set(looks.get() + 1);
        if looks.get() == 1 {
            put("Second.");
        }
        base.text(seen, &entries[0])
    });
    assert_eq!((text.expect("it is read").as_str(), looks.get()), ("Second.", 2));
}

#[test]
fn a_name_is_found_at_the_front_of_a_head_and_nowhere_else() {
    let check = |head: &str, name: Option<&str>| {
        assert_eq!(name_in(head.as_bytes()).as_deref(), name, "{head}");
    };
    check("{\"id\":\"a\",\"digest\":\"cut of", Some("a"));
    check("{\"id\":\"d\\u00e9 \\\"b\\\"\"}", Some("dé \"b\""));
    check("{\"id\":\"cut of", None);
    check("{\"digest\":\"x\",\"id\":\"a\"}", None);
    check("{\"id\":7}", None);
    check("\0\0\0", None);
}
