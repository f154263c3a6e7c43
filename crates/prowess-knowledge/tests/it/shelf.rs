//! What every place for documents has to do, whoever keeps them: a suite that runs against each.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};

use prowess_core::{Passage, Query, Retriever};
use prowess_knowledge::embed::{EmbedError, Embedder, EmbedderIdentity, EmbedderSource};
use prowess_knowledge::{AddOutcome, DocumentFormat, KnowledgeDocument, digest};
use serde_json::Value;

/// A place for documents that can be searched.
pub(crate) trait Shelf {
    /// Puts a document there and makes it count.
    fn add(&mut self, document: &KnowledgeDocument) -> AddOutcome;

    /// Takes a document away; says whether it was there.
    fn remove(&mut self, id: &str) -> bool;

    /// Who is asked, and under which name.
    fn retriever(&self) -> (&dyn Retriever, &str);
}

/// A document of a text.
pub(crate) fn document(id: &str, text: &str, fields: &[(&str, &str)]) -> KnowledgeDocument {
    let fields: BTreeMap<String, String> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    KnowledgeDocument {
        id: id.to_owned(),
        digest: digest(text.as_bytes(), &fields),
        format: DocumentFormat::Text,
        title: String::new(),
        text: text.to_owned(),
        pages: Vec::new(),
        fields,
    }
}

pub(crate) fn query(text: &str, top_k: usize) -> Query {
    Query { text: text.to_owned(), top_k, filters: Vec::new() }
}

/// An embedder without a file: words, cut to their first letters, are spread over the dimensions.
pub(crate) struct Words(EmbedderIdentity);

impl Words {
    const DIMENSION: usize = 256;

    pub(crate) fn new() -> Self {
        let source = EmbedderSource::Table { digest: "words".to_owned() };
        Self(EmbedderIdentity { source, dimension: Self::DIMENSION })
    }
}

impl Embedder for Words {
    fn stamp(&self) -> &EmbedderIdentity {
        &self.0
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &&str| {
            let mut vector = vec![0.0; Self::DIMENSION];
            let lower = text.to_lowercase();
            let letters: Vec<char> =
                lower.chars().filter(|letter| letter.is_alphanumeric()).collect();
            for pair in letters.windows(2) {
                let place = pair.iter().fold(7_usize, |hash, &letter| hash * 31 + letter as usize);
                vector[place % Self::DIMENSION] += 1.0;
            }
            vector
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// Waits for a future without a runtime.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Signal(Sender<()>);
    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }
    let (signal, woken) = channel();
    let waker = Waker::from(Arc::new(Signal(signal)));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
        woken.recv().expect("whoever is waited for wakes");
    }
}

fn search(shelf: &dyn Shelf, query: &Query) -> Vec<Passage> {
    let (retriever, name) = shelf.retriever();
    wait(retriever.search(name, query)).expect("the search works")
}

/// The names of the documents that are found, best first.
fn found(shelf: &dyn Shelf, text: &str, top_k: usize) -> Vec<String> {
    search(shelf, &query(text, top_k)).into_iter().map(|passage| passage.doc_id).collect()
}

/// Everything that a shelf promises.
pub(crate) fn suite(shelf: &mut dyn Shelf) {
    finds_by_stems_and_not_only_all_words(shelf);
    replaces_skips_and_removes(shelf);
    tells_exact_places(shelf);
    filters_by_fields(shelf);
    gives_each_text_once_and_no_more_than_asked(shelf);
    finds_chinese(shelf);
    takes_no_word_for_an_operator(shelf);
}

fn finds_by_stems_and_not_only_all_words(shelf: &mut dyn Shelf) {
    let wings = document("wings.txt", "Experiments on heated wings in a slipstream.", &[]);
    assert_eq!(shelf.add(&wings), AddOutcome::New);
    shelf.add(&document("bread.txt", "Baking bread with a sourdough starter.", &[]));
    shelf.add(&document("boats.txt", "Sailing boats and their keels.", &[]));
    // One word of many, in another form: a search for all words would find nothing (AFL's mistake).
    let question = "what is known about the experimental heating of a wing at high speed";
    assert_eq!(found(shelf, question, 1), ["wings.txt"]);
}

fn replaces_skips_and_removes(shelf: &mut dyn Shelf) {
    assert_eq!(shelf.add(&document("a", "zebras graze", &[])), AddOutcome::New);
    assert_eq!(shelf.add(&document("a", "zebras graze", &[])), AddOutcome::Same);
    assert_eq!(found(shelf, "zebras", 5).iter().filter(|id| *id == "a").count(), 1);
    assert_eq!(shelf.add(&document("a", "giraffes browse", &[])), AddOutcome::Updated);
    let text = |shelf: &dyn Shelf, question| search(shelf, &query(question, 1))[0].text.clone();
    assert_eq!(text(shelf, "giraffes"), "giraffes browse");
    assert!(
        !search(shelf, &query("zebras", 10)).iter().any(|passage| passage.text.contains("zebra"))
    );
    assert!(shelf.remove("a"));
    assert!(!shelf.remove("a"));
    assert!(!found(shelf, "giraffes browse", 10).contains(&"a".to_owned()));
}

fn tells_exact_places(shelf: &mut dyn Shelf) {
    let sentence = |number: usize| format!("Größe {number} of the château is unusual. ");
    let mut text: String = (0..120).map(sentence).collect();
    let middle = text.find("Größe 60").expect("it is one of them");
    text.insert_str(middle, "The quetzal hides in here. ");
    let mut long = document("long.txt", &text, &[]);
    long.pages = vec![0, 1500, 3000];
    shelf.add(&long);
    let passages = search(shelf, &query("quetzal", 2));
    let first = &passages[0];
    assert_eq!(first.doc_id, "long.txt");
    let place = |number: u64| usize::try_from(number).expect("it is small");
    assert_eq!(first.text, text[place(first.range.start)..place(first.range.end)]);
    assert!(first.text.contains("The quetzal hides in here."));
    let page = |at: u64| match at {
        0..1500 => 1,
        1500..3000 => 2,
        _ => 3,
    };
    assert_eq!(first.pages, Some(page(first.range.start)..=page(first.range.end - 1)));
    // A passage that goes on over the edge of a page names both.
    let mut edge = document("edge.txt", "The axolotl smiles. Its gills are feathers.", &[]);
    edge.pages = vec![0, 20];
    shelf.add(&edge);
    assert_eq!(search(shelf, &query("axolotl", 1))[0].pages, Some(1..=2));
}

fn filters_by_fields(shelf: &mut dyn Shelf) {
    for (id, year, kind) in
        [("m1", "2024", "memo"), ("m2", "2025", "memo"), ("r1", "2025", "report")]
    {
        let text = format!("Budget figures of {id}");
        shelf.add(&document(id, &text, &[("year", year), ("kind", kind)]));
    }
    let filtered = |filters: &[(&str, Value)]| {
        let filters =
            filters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let query = Query { filters, ..query("budget figures", 10) };
        let mut found: Vec<String> =
            search(shelf, &query).into_iter().map(|passage| passage.doc_id).collect();
        found.sort();
        found
    };
    assert_eq!(filtered(&[("kind", "memo".into())]), ["m1", "m2"]);
    // A number means what its digits say.
    assert_eq!(filtered(&[("kind", "memo".into()), ("year", 2025.into())]), ["m2"]);
    assert_eq!(filtered(&[("kind", "letter".into())]), [""; 0]);
    // What every document has.
    assert_eq!(filtered(&[("doc", "m2".into())]), ["m2"]);
    assert_eq!(filtered(&[("format", "txt".into()), ("kind", "report".into())]), ["r1"]);
    assert_eq!(filtered(&[("format", "pdf".into())]), [""; 0]);
}

fn gives_each_text_once_and_no_more_than_asked(shelf: &mut dyn Shelf) {
    for number in 0..6 {
        let text = if number % 2 == 0 { "Walrus colony." } else { "Walrus  colony." };
        shelf.add(&document(&format!("copy{number}"), text, &[]));
    }
    let about = |passage: &&Passage| passage.text.starts_with("Walrus");
    assert_eq!(search(shelf, &query("walrus colony", 10)).iter().filter(about).count(), 1);
    for number in 0..6 {
        shelf.add(&document(&format!("copy{number}"), &format!("Walrus colony {number}."), &[]));
    }
    assert_eq!(search(shelf, &query("walrus colony", 3)).len(), 3);
    assert_eq!(search(shelf, &query("walrus colony", 0)).len(), 0);
}

fn finds_chinese(shelf: &mut dyn Shelf) {
    shelf.add(&document("zh1", "知识库使用全文检索和向量检索。", &[]));
    shelf.add(&document("zh2", "天气预报说明天会下雨。", &[]));
    assert_eq!(found(shelf, "什么是向量检索", 1), ["zh1"]);
    assert_eq!(found(shelf, "明天下雨吗", 1), ["zh2"]);
}

fn takes_no_word_for_an_operator(shelf: &mut dyn Shelf) {
    let odd = "wing AND NOT (slipstream) \"unclosed * text:heated ~ ^9 {{x}} ' ; -- \0 $1 %";
    assert_eq!(found(shelf, odd, 1), ["wings.txt"]);
    assert_eq!(
        search(shelf, &query("", 5)).iter().filter(|passage| passage.doc_id.is_empty()).count(),
        0
    );
}
