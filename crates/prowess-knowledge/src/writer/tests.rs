use std::collections::BTreeMap;

use crate::document::{DocumentFormat, KnowledgeDocument, digest};
use crate::{AddOutcome, BaseName, BaseSettings, KnowledgeBases, Language, ReclaimSpace};

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

fn ids(bases: &KnowledgeBases, name: &BaseName) -> Vec<String> {
    let base = bases.base(name).expect("it opens");
    base.documents().expect("it can be read").into_iter().map(|document| document.id).collect()
}

/// A merge saves the index on its own, before the commit, so it must not apply the deletions that wait for the commit.
#[test]
fn a_merge_before_the_commit_keeps_the_document_that_is_being_replaced() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let bases = KnowledgeBases::open(folder.path());
    let name: BaseName = "test".parse().expect("it is a name");
    let settings = BaseSettings { language: Language::English, embedder: None };
    bases.create(&name, &settings).expect("it can be made");
    let mut writer = bases.writer(&name, || {}).expect("nobody else writes");
    for id in ["a", "b"] {
        writer.add(&document(id, "A heron.")).expect("it can be added");
    }
    writer.finish(ReclaimSpace::GiveBack).expect("it ends well");

    for change in ["replace", "remove"] {
        let mut writer = bases.writer(&name, || {}).expect("nobody else writes");
        if change == "replace" {
            let added = writer.add(&document("a", "Another heron.")).expect("it can be added");
            assert_eq!(added, AddOutcome::Updated);
        } else {
            assert!(writer.remove("a").expect("it can be removed"));
        }
        let segments = writer.base.index.searchable_segment_ids().expect("they can be listed");
        writer.engine.merge(&segments).wait().expect("they can be merged");
        // As a killed process leaves it.
        drop(writer);
        assert_eq!(ids(&bases, &name), ["a", "b"], "{change}");
    }
}
