//! How good searches are: the Cranfield collection, judged by people (1,400 abstracts, 225 questions).

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use prowess_core::{Passage, Query};
use prowess_knowledge::embed::{Embedder as _, EmbeddingTable};
use prowess_knowledge::{
    BaseError, BaseName, BaseSettings, DocumentFormat, KnowledgeBase, KnowledgeBases,
    KnowledgeDocument, Language, ReclaimSpace, extract,
};

use crate::shelf::query;
use crate::wordllama;

/// How good the first results of a run are on average.
#[derive(Clone, Copy, Debug)]
struct Quality {
    /// Discounted gain of the first ten, as a part of the best possible one.
    ndcg: f64,
    /// Questions with something relevant among the first five.
    hits: f64,
}

struct Collection {
    documents: Vec<KnowledgeDocument>,
    questions: Vec<String>,
    /// Question and document, both as numbers, to the gain: 4 for a complete answer, 1 for minimum interest.
    judgements: HashMap<(usize, String), f64>,
}

fn folder() -> Option<PathBuf> {
    let folder = prowess_testkit::repository().join("../shared/data/cranfield");
    folder.is_dir().then_some(folder)
}

impl Collection {
    fn read(folder: &std::path::Path) -> Self {
        let text = |name: &str| {
            let bytes = prowess_testkit::bytes(&folder.join(name));
            String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
        };
        let records = |text: &str| -> Vec<(String, String)> {
            format!("\n{text}")
                .split("\n.I ")
                .skip(1)
                .map(|record| {
                    let (id, rest) = record.split_once('\n').expect("a record has a number");
                    (id.trim().to_owned(), format!("\n{rest}"))
                })
                .collect()
        };
        let mut judgements = HashMap::new();
        for line in text("cranqrel").lines() {
            let mut words = line.split_whitespace();
            let (Some(question), Some(document), Some(code)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let code: f64 = code.parse().expect("a judgement is a number");
            // Cleverdon's codes: 1 is a complete answer and 4 is of minimum interest. -1 stands once for each question
            // and for no degree of relevance.
            if code < 1.0 {
                continue;
            }
            let gain = 5.0 - code;
            let question: usize = question.parse().expect("questions are numbered");
            judgements.insert((question, document.to_owned()), gain);
        }
        Self {
            documents: records(&text("cran.all.1400"))
                .into_iter()
                // As files of plain text. Two are empty.
                .filter_map(|(id, record)| {
                    let text = part(&record, 'W').as_bytes();
                    extract::document(&id, DocumentFormat::Text, text, BTreeMap::new()).ok()
                })
                .collect(),
            // By position, not by their own number.
            questions: records(&text("cran.qry"))
                .into_iter()
                .map(|(_, record)| part(&record, 'W').to_owned())
                .collect(),
            judgements,
        }
    }

    fn judge(&self, search: impl Fn(&Query) -> Vec<Passage>) -> Quality {
        let mut ndcg = 0.0;
        let mut hits = 0.0;
        for (number, question) in (1..).zip(&self.questions) {
            // AFL §6: the first 500 characters. More than ten, because several chunks can be of one document.
            let start: String = question.chars().take(500).collect();
            let mut found: Vec<String> = Vec::new();
            for passage in search(&query(&start, 30)) {
                if !found.contains(&passage.doc_id) {
                    found.push(passage.doc_id);
                }
            }
            let gains = found
                .iter()
                .take(10)
                .map(|id| self.judgements.get(&(number, id.clone())).copied().unwrap_or_default());
            let gains: Vec<f64> = gains.collect();
            let mut best: Vec<f64> = self
                .judgements
                .iter()
                .filter(|((of, _), _)| *of == number)
                .map(|(_, gain)| *gain)
                .collect();
            best.sort_by(|left, right| right.total_cmp(left));
            best.truncate(10);
            ndcg += discounted(&gains) / discounted(&best);
            hits += f64::from(u8::from(gains.iter().take(5).any(|gain| *gain > 0.0)));
        }
        let count = f64::from(u32::try_from(self.questions.len()).expect("there are 225"));
        Quality { ndcg: ndcg / count, hits: hits / count }
    }
}

/// A part of a record: it begins with a line that names it and ends before the next.
fn part(record: &str, name: char) -> &str {
    let Some((_, part)) = record.split_once(&format!("\n.{name}\n")) else { return "" };
    let end =
        ["\n.A\n", "\n.B\n", "\n.W\n", "\n.X\n"].iter().filter_map(|next| part.find(next)).min();
    part[..end.unwrap_or(part.len())].trim()
}

fn discounted(gains: &[f64]) -> f64 {
    (2_u32..).zip(gains).map(|(place, gain)| gain / f64::from(place).log2()).sum()
}

/// What of a run is looked at.
type Search = fn(&KnowledgeBase, &Query) -> Result<Vec<Passage>, BaseError>;

#[test]
#[expect(clippy::print_stdout, reason = "the figures")]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn searches_are_as_good_as_promised() {
    let Some(folder) = folder() else {
        eprintln!("SKIPPED: the Cranfield collection is not beside the repository");
        return;
    };
    let collection = Collection::read(&folder);
    assert_eq!((collection.documents.len(), collection.questions.len()), (1398, 225));
    let temporary = tempfile::tempdir().expect("a temporary folder can be made");
    let bases = KnowledgeBases::open(temporary.path());
    let name: BaseName = "cranfield".parse().expect("it is a name");
    let table = wordllama::table();
    let embedder = table.as_deref().map(|path| {
        let table = EmbeddingTable::keep(path, temporary.path()).expect("the table can be kept");
        table.stamp().clone()
    });
    let has_vectors = embedder.is_some();
    let settings = BaseSettings { language: Language::English, embedder };
    bases.create(&name, &settings).expect("the base can be made");
    let mut writer = bases.writer(&name, || {}).expect("nobody else writes");
    for document in &collection.documents {
        writer.add(document).expect("it can be added");
    }
    writer.finish(ReclaimSpace::WhenWorthwhile).expect("it ends well");
    let base = bases.base(&name).expect("it opens");

    let judge = |what: &str, search: Search| {
        let quality = collection.judge(|query| search(&base, query).expect("the search works"));
        println!("Cranfield, {what}: nDCG@10 {:.4}, Hit@5 {:.4}", quality.ndcg, quality.hits);
        quality
    };
    let words = judge("words", KnowledgeBase::search_words);
    // Issue 4 §3.
    assert!(words.ndcg >= 0.355, "{words:?}");
    if !has_vectors {
        return;
    }
    let vectors = judge("vectors", KnowledgeBase::search_vectors);
    assert!(vectors.ndcg >= 0.31, "{vectors:?}");
    let fused = judge("fused", KnowledgeBase::search);
    assert!(fused.ndcg >= 0.37, "{fused:?}");
}
