//! How fast a base is beside the bare engine below it, on generated text. Prints JSON, one line per figure.
//!
//! `cargo run --release -p prowess-knowledge --example knowledge_figures [-- MOST_CHUNKS]`; a million chunks need a
//! few gigabytes and minutes.

#![expect(clippy::print_stdout, reason = "it is a program that prints")]
#![expect(clippy::cast_precision_loss, reason = "figures are shown with three digits")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use prowess_core::Query;
use prowess_knowledge::{
    BaseName, BaseSettings, DocumentFormat, KnowledgeBases, KnowledgeDocument, Language,
    ReclaimSpace, digest,
};
use serde_json::json;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value as _,
};
use tantivy::tokenizer::{LowerCaser, SimpleTokenizer, Stemmer, TextAnalyzer};
use tantivy::{Index, IndexReader, TantivyDocument, Term};

const QUESTIONS: usize = 200;
const ROUNDS: usize = 15;
const WORDS_PER_CHUNK: usize = 150;

fn main() {
    let most: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    for count in [1_000, 10_000, 100_000, 1_000_000] {
        if count <= most {
            measure(count);
        }
    }
}

fn measure(count: usize) {
    let texts: Vec<String> = (0..count).map(|number| text(number as u64)).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let begin = Instant::now();
    let (index, text_field, id_field) = bare(&folder.path().join("bare"), &texts);
    let bare_ingest = begin.elapsed();

    let bases = KnowledgeBases::open(&folder.path().join("bases"));
    let name: BaseName = "bench".parse().expect("it is a name");
    let settings = BaseSettings { language: Language::English, embedder: None };
    bases.create(&name, &settings).expect("it can be made");
    let begin = Instant::now();
    let mut writer = bases.writer(&name, || {}).expect("nobody else writes");
    for (number, text) in texts.iter().enumerate() {
        writer.add(&document(number, text)).expect("it can be added");
    }
    writer.finish(ReclaimSpace::WhenWorthwhile).expect("it ends well");
    let ingest = begin.elapsed();
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!(
        "{}",
        json!({
            "figure": "ingest", "chunks": count, "mb_per_s": rate(ingest),
            "bare_mb_per_s": rate(bare_ingest),
            "ratio": ingest.as_secs_f64() / bare_ingest.as_secs_f64(),
        })
    );

    let reader = index.reader().expect("it can be read");
    let base = bases.base(&name).expect("it opens");
    let questions: Vec<String> = (0..QUESTIONS).map(|number| question(number as u64)).collect();
    // Both in turn, and of each question the quickest time: what else happens on the machine only ever adds.
    let mut quickest = vec![(Duration::MAX, Duration::MAX); QUESTIONS];
    for _ in 0..ROUNDS {
        for (question, best) in questions.iter().zip(&mut quickest) {
            let begin = Instant::now();
            let query = Query { text: question.clone(), top_k: 5, filters: Vec::new() };
            assert!(!base.search(&query).expect("it can be searched").is_empty());
            best.0 = best.0.min(begin.elapsed());
            let begin = Instant::now();
            assert!(bare_search(&index, &reader, text_field, id_field, question) > 0);
            best.1 = best.1.min(begin.elapsed());
        }
    }
    let best: (Duration, Duration) =
        quickest.iter().fold(Default::default(), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let each = |time: Duration| time.as_secs_f64() * 1e6 / QUESTIONS as f64;
    println!(
        "{}",
        json!({
            "figure": "query", "chunks": count, "us": each(best.0), "bare_us": each(best.1),
            "ratio": best.0.as_secs_f64() / best.1.as_secs_f64(),
        })
    );
    replace(&bases, &name, count, ingest);
}

/// What the command line does when a file has changed: the new text counts, and the old one is nowhere.
fn replace(bases: &KnowledgeBases, name: &BaseName, count: usize, filling: Duration) {
    let begin = Instant::now();
    let mut writer = bases.writer(name, || {}).expect("nobody else writes");
    writer.add(&document(count / 2, "It has changed.")).expect("it can be added");
    writer.finish(ReclaimSpace::GiveBack).expect("it ends well");
    let time = begin.elapsed();
    println!(
        "{}",
        json!({
            "figure": "replace", "chunks": count, "ms": time.as_secs_f64() * 1e3,
            "ratio": time.as_secs_f64() / filling.as_secs_f64(),
        })
    );
}

fn document(number: usize, text: &str) -> KnowledgeDocument {
    KnowledgeDocument {
        id: format!("doc{number}"),
        digest: digest(text.as_bytes(), &BTreeMap::new()),
        format: DocumentFormat::Text,
        title: String::new(),
        text: text.to_owned(),
        pages: Vec::new(),
        fields: BTreeMap::new(),
    }
}

/// The engine alone, with the same stems, its texts stored.
fn bare(folder: &Path, texts: &[String]) -> (Index, Field, Field) {
    std::fs::create_dir_all(folder).expect("it is ours");
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("stems")
        .set_index_option(IndexRecordOption::WithFreqs);
    let text = schema
        .add_text_field("text", TextOptions::default().set_indexing_options(indexing).set_stored());
    let id = schema.add_text_field("id", STRING | STORED);
    let index = Index::create_in_dir(folder, schema.build()).expect("it can be made");
    let stems = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(LowerCaser)
        .filter(Stemmer::new(tantivy::tokenizer::Language::English))
        .build();
    index.tokenizers().register("stems", stems);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut writer =
        index.writer_with_num_threads(threads, threads * (48 << 20)).expect("nobody else writes");
    for (number, content) in texts.iter().enumerate() {
        let mut entry = TantivyDocument::new();
        entry.add_text(text, content);
        entry.add_text(id, format!("doc{number}"));
        writer.add_document(entry).expect("it can be added");
    }
    writer.commit().expect("it can be committed");
    writer.wait_merging_threads().expect("it ends well");
    (index, text, id)
}

fn bare_search(
    index: &Index,
    reader: &IndexReader,
    text: Field,
    id: Field,
    question: &str,
) -> usize {
    let mut stems = index.tokenizer_for_field(text).expect("it is registered");
    let mut stream = stems.token_stream(question);
    let mut terms: Vec<(Occur, Box<dyn tantivy::query::Query>)> = Vec::new();
    while stream.advance() {
        let term = Term::from_field_text(text, &stream.token().text);
        terms.push((Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))));
    }
    let searcher = reader.searcher();
    let top = TopDocs::with_limit(5).order_by_score();
    let found = searcher.search(&BooleanQuery::new(terms), &top).expect("it can be searched");
    let mut length = 0;
    for (_, address) in found {
        let entry: TantivyDocument = searcher.doc(address).expect("it is stored");
        for field in [text, id] {
            length += entry.get_first(field).and_then(|value| value.as_str()).map_or(0, str::len);
        }
    }
    length
}

/// Words by Zipf's law, the same each time.
fn text(number: u64) -> String {
    words(number, WORDS_PER_CHUNK).join(" ")
}

fn question(number: u64) -> String {
    words(number.wrapping_add(1 << 40), 8).join(" ")
}

fn words(seed: u64, count: usize) -> Vec<String> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count)
        .map(|_| {
            // The logarithm of the rank is uniform.
            let uniform = (next() >> 11) as f64 / (1_u64 << 53) as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is below 50,000"
            )]
            let rank = (50_000_f64.powf(uniform)) as u64;
            format!("w{}x", rank.wrapping_mul(2_654_435_761) % 1_000_003)
        })
        .collect()
}
