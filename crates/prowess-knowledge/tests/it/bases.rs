//! Bases in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::Retriever;
use prowess_knowledge::embed::{EmbedError, Embedder, EmbedderIdentity, EmbedderSource};
use prowess_knowledge::{
    AddOutcome, BaseName, BaseSettings, KnowledgeBases, KnowledgeDocument, Language, ReclaimSpace,
};
use serde_json::{Value, json};

use crate::shelf::{Shelf, Words, document, query, suite, wait};

/// A base in a folder that goes with it.
struct OnDisk {
    _folder: tempfile::TempDir,
    bases: KnowledgeBases,
    name: BaseName,
}

impl OnDisk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let bases = KnowledgeBases::open(folder.path());
        let name = create(&bases, "test");
        Self { _folder: folder, bases, name }
    }
}

pub(crate) fn create(bases: &KnowledgeBases, name: &str) -> BaseName {
    let name: BaseName = name.parse().expect("it is a name");
    let settings = BaseSettings { language: Language::English, embedder: None };
    bases.create(&name, &settings).expect("the base can be made");
    name
}

impl Shelf for OnDisk {
    fn add(&mut self, document: &KnowledgeDocument) -> AddOutcome {
        let mut writer = self.bases.writer(&self.name, || {}).expect("nobody else writes");
        let added = writer.add(document).expect("it can be added");
        writer.commit().expect("it can be committed");
        writer.finish(ReclaimSpace::WhenWorthwhile).expect("it ends well");
        added
    }

    fn remove(&mut self, id: &str) -> bool {
        let mut writer = self.bases.writer(&self.name, || {}).expect("nobody else writes");
        let was_there = writer.remove(id).expect("it can be removed");
        writer.finish(ReclaimSpace::GiveBack).expect("it ends well");
        was_there
    }

    fn retriever(&self) -> (&dyn Retriever, &str) {
        (&self.bases, self.name.as_str())
    }
}

#[test]
fn a_base_on_disk_keeps_every_promise() {
    let mut base = OnDisk::new();
    suite(&mut base);
    let verdict = base.bases.base(&base.name).expect("it opens").verify().expect("it is looked at");
    assert!(verdict.chunks > 10 && verdict.problems.is_empty(), "{verdict:?}");
}

#[test]
fn a_base_with_vectors_keeps_every_promise() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let bases = KnowledgeBases::open(folder.path());
    let name: BaseName = "test".parse().expect("it is a name");
    let embedder = Arc::new(Words::new());
    let stamp = Some(embedder.stamp().clone());
    bases
        .create(&name, &BaseSettings { language: Language::English, embedder: stamp })
        .expect("it can be made");
    let bases = bases.asking(embedder);
    let mut base = OnDisk { _folder: folder, bases, name };
    suite(&mut base);
    let verdict = base.bases.base(&base.name).expect("it opens").verify().expect("it is looked at");
    assert!(verdict.chunks > 10 && verdict.problems.is_empty(), "{verdict:?}");
}

#[test]
fn what_is_removed_is_gone_from_the_disk() {
    let mut base = OnDisk::new();
    base.add(&document("secret", "the launch code is xyzzy", &[]));
    base.add(&document("other", "nothing to see", &[]));
    let holds = |root: &Path| {
        prowess_testkit::files_below(root, &|_| true)
            .iter()
            .any(|file| prowess_testkit::bytes(file).windows(5).any(|part| part == b"xyzzy"))
    };
    assert!(holds(base.bases.root()));
    assert!(base.remove("secret"));
    assert!(!holds(base.bases.root()));
    assert_eq!(
        base.bases.base(&base.name).expect("it opens").documents().expect("it lists").len(),
        1
    );
}

#[test]
fn what_is_replaced_is_gone_from_the_disk_also_after_a_process_that_was_killed() {
    let base = OnDisk::new();
    let holds = || {
        prowess_testkit::files_below(base.bases.root(), &|_| true)
            .iter()
            .any(|file| prowess_testkit::bytes(file).windows(5).any(|part| part == b"xyzzy"))
    };
    let put = |text: &str| {
        let mut writer = base.bases.writer(&base.name, || {}).expect("nobody else writes");
        writer.add(&document("code", text, &[])).expect("it can be added");
        writer.commit().expect("it can be committed");
        writer
    };
    put("the launch code is xyzzy").finish(ReclaimSpace::GiveBack).expect("it ends well");
    assert!(holds());
    // One that is killed after its commit leaves the earlier text, and the next one finds it.
    drop(put("the launch code has changed"));
    assert!(holds());
    let writer = base.bases.writer(&base.name, || {}).expect("nobody else writes");
    writer.finish(ReclaimSpace::GiveBack).expect("it ends well");
    assert!(!holds());
    put("it has changed again").finish(ReclaimSpace::GiveBack).expect("it ends well");
    let documents = base.bases.base(&base.name).expect("it opens").documents();
    assert_eq!(documents.expect("it lists").len(), 1);
}

/// The files of the index and of the texts, each with its number on the disk.
fn files(base: &OnDisk) -> BTreeMap<PathBuf, u64> {
    let data = base.bases.root().join("test/data-1");
    let is_content = |name: &str| !name.starts_with('.') && name != "meta.json";
    prowess_testkit::files_below(&data, &is_content)
        .into_iter()
        .map(|file| {
            let number = std::fs::metadata(&file).expect("it is there").ino();
            (file, number)
        })
        .collect()
}

/// Every word that the index has, whether a document has it or not.
fn words(base: &OnDisk) -> BTreeSet<String> {
    let index = base.bases.root().join("test/data-1/index");
    let index = tantivy::Index::open_in_dir(index).expect("the index opens");
    let mut words = BTreeSet::new();
    for segment in index.reader().expect("it can be read").searcher().segment_readers() {
        for (field, _) in index.schema().fields().filter(|(_, entry)| entry.is_indexed()) {
            let words_of_field = segment.inverted_index(field).expect("it has one");
            let mut terms = words_of_field.terms().stream().expect("it can be listed");
            while terms.advance() {
                words.insert(String::from_utf8_lossy(terms.key()).into_owned());
            }
        }
    }
    words
}

#[test]
fn what_is_replaced_leaves_the_files_alone_that_had_nothing_of_it() {
    let mut base = OnDisk::new();
    let put = |base: &OnDisk, documents: &[(&str, &str)]| {
        let mut writer = base.bases.writer(&base.name, || {}).expect("nobody else writes");
        for (id, text) in documents {
            writer.add(&document(id, text, &[("kind", id)])).expect("it can be added");
        }
        writer.finish(ReclaimSpace::GiveBack).expect("it ends well");
    };
    put(&base, &[("heron", "Herons wade."), ("otter", "Otters swim.")]);
    let first = files(&base);
    put(&base, &[("codexyzzy", "The launch code is xyzzy."), ("owl", "Owls fly.")]);
    let both = files(&base);
    let added: Vec<&PathBuf> = both.keys().filter(|file| !first.contains_key(*file)).collect();
    assert!(added.len() > 3, "{both:?}");
    let holds = |base: &OnDisk| {
        prowess_testkit::files_below(base.bases.root(), &|_| true)
            .iter()
            .any(|file| prowess_testkit::bytes(file).windows(5).any(|part| part == b"xyzzy"))
    };
    let has_words = |base: &OnDisk| words(base).iter().any(|word| word.contains("xyzzy"));
    assert!(holds(&base) && has_words(&base));

    assert!(base.remove("codexyzzy"));
    assert!(!holds(&base) && !has_words(&base), "{:?}", words(&base));
    let after = files(&base);
    // Not one file of the first documents was written anew, nor was the journal: it has the same number.
    for (file, number) in &first {
        assert_eq!(after.get(file), Some(number), "{}", file.display());
    }
    // Of the others some was: the removed one had something there.
    assert!(added.iter().any(|file| !after.contains_key(*file)), "{after:?}");
    let found = wait(base.bases.search("test", &query("herons otters owls", 9)));
    assert_eq!(found.expect("the search works").len(), 3);
    let verdict = base.bases.base(&base.name).expect("it opens").verify().expect("it is looked at");
    assert_eq!((verdict.chunks, verdict.problems), (3, Vec::new()));
}

#[test]
fn a_commit_that_lists_nothing_makes_the_next_writer_count() {
    let base = OnDisk::new();
    let put = |text: &str| {
        let mut writer = base.bases.writer(&base.name, || {}).expect("nobody else writes");
        writer.add(&document("code", text, &[])).expect("it can be added");
        writer.finish(ReclaimSpace::WhenWorthwhile).expect("it ends well");
    };
    put("The launch code is xyzzy.");
    put("The launch code has changed.");
    // As a base was that an earlier version has written.
    let meta = base.bases.root().join("test/data-1/index/meta.json");
    let mut value: Value =
        serde_json::from_slice(&prowess_testkit::bytes(&meta)).expect("it is JSON");
    let payload = value["payload"].as_str().expect("it has one").to_owned();
    let mut payload: Value = serde_json::from_str(&payload).expect("it is JSON");
    assert_ne!(payload["gone_texts"], json!([]));
    payload
        .as_object_mut()
        .expect("it is one")
        .retain(|name, _| name == "texts" || name == "vectors");
    value["payload"] = payload.to_string().into();
    std::fs::write(&meta, value.to_string()).expect("it is ours");

    let writer = base.bases.writer(&base.name, || {}).expect("nobody else writes");
    writer.finish(ReclaimSpace::GiveBack).expect("it ends well");
    for file in prowess_testkit::files_below(base.bases.root(), &|_| true) {
        let bytes = prowess_testkit::bytes(&file);
        assert!(!bytes.windows(5).any(|part| part == b"xyzzy"), "{}", file.display());
    }
    let found = wait(base.bases.search("test", &query("launch code", 9))).expect("it works");
    assert_eq!(found.len(), 1);
}

#[test]
fn vectors_of_parts_that_stay_are_kept_and_the_others_are_erased() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let embedder = Arc::new(Counted { words: Words::new(), asked: 0.into() });
    let asked = || embedder.asked.load(std::sync::atomic::Ordering::SeqCst);
    let name: BaseName = "test".parse().expect("it is a name");
    let stamp = Some(embedder.stamp().clone());
    let bases = KnowledgeBases::open(folder.path());
    let settings = BaseSettings { language: Language::English, embedder: stamp };
    bases.create(&name, &settings).expect("it can be made");
    let bases = bases.asking(embedder.clone());
    // Each is a chunk of its own: a sentence that leaves no room for another.
    let part = |word: &str| format!("{}.", format!("{word} ").repeat(1500 / (word.len() + 1)));
    let text = |words: &[&str]| words.iter().map(|it| part(it)).collect::<Vec<_>>().join("\n\n");
    let rows = || prowess_testkit::bytes(&folder.path().join("test/data-1/vectors"));
    let mut writer = bases.writer(&name, || {}).expect("nobody else writes");
    writer.add(&document("a", &text(&["heron", "otter"]), &[])).expect("it can be added");
    writer.finish(ReclaimSpace::GiveBack).expect("it ends well");
    assert_eq!(asked(), 2);
    let first = rows();

    // The otter goes and comes back before anything counts, and so it never went.
    let mut writer = bases.writer(&name, || {}).expect("nobody else writes");
    writer.add(&document("a", &text(&["heron", "badger"]), &[])).expect("it can be added");
    writer.add(&document("a", &text(&["mole", "otter"]), &[])).expect("it can be added");
    writer.finish(ReclaimSpace::GiveBack).expect("it ends well");
    assert_eq!(asked(), 4);
    let second = rows();
    let row_bytes = (first.len() - 64) / 2;
    let row = |rows: &[u8], row: usize| rows[64 + row * row_bytes..][..row_bytes].to_vec();
    let erased = vec![0; row_bytes];
    assert_eq!((row(&second, 0), row(&second, 2)), (erased.clone(), erased.clone()));
    assert_eq!(row(&second, 1), row(&first, 1));
    assert_ne!(row(&second, 3), erased);

    let base = bases.base(&name).expect("it opens");
    for word in ["otter", "mole"] {
        let found = base.search_vectors(&query(word, 1)).expect("the search works");
        assert_eq!(found[0].text, part(word));
    }
    let verdict = base.verify().expect("it is looked at");
    assert_eq!((verdict.chunks, verdict.problems), (2, Vec::new()));
}

/// Counts the texts that it is asked about.
struct Counted {
    words: Words,
    asked: std::sync::atomic::AtomicUsize,
}

impl Embedder for Counted {
    fn stamp(&self) -> &EmbedderIdentity {
        self.words.stamp()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.asked.fetch_add(texts.len(), std::sync::atomic::Ordering::SeqCst);
        self.words.embed(texts)
    }
}

#[test]
fn giving_back_room_asks_no_embedder() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let embedder = Arc::new(Counted { words: Words::new(), asked: 0.into() });
    let name: BaseName = "test".parse().expect("it is a name");
    let stamp = Some(embedder.stamp().clone());
    let bases = KnowledgeBases::open(folder.path());
    let settings = BaseSettings { language: Language::English, embedder: stamp };
    bases.create(&name, &settings).expect("it can be made");
    let mut base = OnDisk { _folder: folder, bases: bases.asking(embedder.clone()), name };
    for id in ["a", "b", "c"] {
        base.add(&document(id, &format!("About {id}: herons."), &[]));
    }
    let asked = || embedder.asked.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(asked(), 3);
    assert!(base.remove("b"));
    assert_eq!(asked(), 3);
    let verdict = base.bases.base(&base.name).expect("it opens").verify().expect("it is looked at");
    assert_eq!((verdict.chunks, verdict.problems), (2, Vec::new()));
}

#[test]
fn a_name_that_leads_elsewhere_is_no_base() {
    let base = OnDisk::new();
    for name in ["../test", "/etc", ".embedders", "", "nope"] {
        let error = wait(base.bases.search(name, &query("x", 1))).expect_err("there is none");
        assert!(error.message.contains("there is no knowledge base"), "{error}");
        assert!(!error.remedies.is_empty());
    }
}

#[test]
fn a_reader_sees_commits_and_nothing_else() {
    let base = OnDisk::new();
    let count = || {
        let found = wait(base.bases.search("test", &query("heron", 5))).expect("the search works");
        found.len()
    };
    let mut writer = base.bases.writer(&base.name, || {}).expect("nobody else writes");
    writer.add(&document("a", "A heron.", &[])).expect("it can be added");
    assert_eq!(count(), 0);
    writer.commit().expect("it can be committed");
    assert_eq!(count(), 1);
    writer.add(&document("b", "Another heron.", &[])).expect("it can be added");
    drop(writer);
    assert_eq!(count(), 1);
    // What was not committed is overwritten, and what was is not.
    let mut writer = base.bases.writer(&base.name, || {}).expect("nobody else writes");
    writer.add(&document("c", "A third heron.", &[])).expect("it can be added");
    writer.finish(ReclaimSpace::WhenWorthwhile).expect("it ends well");
    assert_eq!(count(), 2);
    let verdict = base.bases.base(&base.name).expect("it opens").verify().expect("it is looked at");
    assert_eq!(verdict.problems, [""; 0]);
}

#[test]
fn a_second_writer_waits_for_the_first() {
    let base = OnDisk::new();
    let mut first =
        base.bases.writer(&base.name, || panic!("nobody writes yet")).expect("it opens");
    first.add(&document("a", "first", &[])).expect("it can be added");
    let (waits, waiting) = std::sync::mpsc::channel();
    let (bases, name) = (base.bases.clone(), base.name.clone());
    let second = std::thread::spawn(move || {
        let writer = bases.writer(&name, || waits.send(()).expect("somebody listens"));
        let mut writer = writer.expect("it opens");
        assert_eq!(
            writer.add(&document("a", "first", &[])).expect("it can be added"),
            AddOutcome::Same
        );
    });
    waiting.recv().expect("the second one waits");
    first.commit().expect("it can be committed");
    drop(first);
    second.join().expect("the second one comes after the first");
}

#[test]
fn a_base_that_is_taken_away_is_missed_with_advice() {
    let base = OnDisk::new();
    base.bases.base(&base.name).expect("it opens");
    KnowledgeBases::open(base.bases.root()).remove(&base.name, || {}).expect("it can be removed");
    let error = wait(base.bases.search("test", &query("x", 1))).expect_err("it is gone");
    assert_eq!(error.message, "there is no knowledge base `test`");
    assert_eq!(base.bases.names().expect("the folder can be listed"), []);
    let left = prowess_testkit::files_below(base.bases.root(), &|_| true);
    assert!(left.is_empty(), "{left:?}");
}

/// Gives vectors of some length, whatever the text.
struct Constant(EmbedderIdentity, usize);

impl Embedder for Constant {
    fn stamp(&self) -> &EmbedderIdentity {
        &self.0
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|_| vec![1.0; self.1]).collect())
    }
}

#[test]
fn an_embedder_that_changes_is_refused_with_the_remedy() {
    let base = OnDisk::new();
    let stamp = |dimension| EmbedderIdentity {
        source: EmbedderSource::Endpoint {
            url: "http://localhost/v1".to_owned(),
            model: "m".to_owned(),
        },
        dimension,
    };
    let name: BaseName = "vectors".parse().expect("it is a name");
    let settings = BaseSettings { language: Language::English, embedder: Some(stamp(4)) };
    base.bases.create(&name, &settings).expect("the base can be made");
    let writer = || base.bases.asking(Arc::new(Constant(stamp(4), 4))).writer(&name, || {});
    let mut fine = writer().expect("it is the same embedder");
    fine.add(&document("a", "text", &[])).expect("it can be added");
    fine.commit().expect("it can be committed");
    drop(fine);
    let check = |error: prowess_knowledge::BaseError, what: &str| {
        assert!(error.to_string().contains(what), "{error}");
        assert!(
            matches!(&error.remedies()[..], [prowess_core::Remedy::ReplaceEmbedder(_)]),
            "{error}"
        );
    };
    let other = base.bases.asking(Arc::new(Constant(stamp(8), 8))).writer(&name, || {});
    check(other.err().expect("it is refused"), "with 8 dimensions");
    // The server has another model under the same name.
    let liar = base.bases.asking(Arc::new(Constant(stamp(4), 6))).writer(&name, || {});
    let error = liar.expect("its stamp is right").add(&document("b", "text", &[]));
    check(error.expect_err("its vectors are not"), "of 6 dimensions");
    // A base without vectors has no use for an embedder.
    let plain = base.bases.asking(Arc::new(Constant(stamp(4), 4))).writer(&base.name, || {});
    plain.expect("it opens").add(&document("a", "text", &[])).expect("it can be added");
}
