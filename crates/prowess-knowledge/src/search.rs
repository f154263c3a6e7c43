//! Searches: by words, by vectors, and by both.

use prowess_core::{Passage, Query};
use serde_json::Value;
use tantivy::collector::TopDocs;
use tantivy::query::{AllQuery, BooleanQuery, ConstScoreQuery, Occur, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Score, Term};

use crate::base::{CommitView, KnowledgeBase};
use crate::embed::Embedder;
use crate::error::BaseError;
use crate::fusion::fuse;
use crate::schema::{DOC, field_term};
use crate::vectors::Nearest;

/// Maximum number of passages, whatever was requested.
pub(crate) const MOST_PASSAGES: usize = 1000;
/// Maximum number of candidates when skipping duplicates.
const MOST_LOOKED_AT: usize = 4 * MOST_PASSAGES;
/// Length of the rankings that are fused.
pub(crate) const FUSED: usize = 100;
/// Maximum size of a query in bytes; callers truncate earlier (AFL §6: 500 characters).
const MOST_QUESTION_BYTES: usize = 1 << 16;

/// What a search is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchMode {
    /// Words, and vectors if there are any.
    All,
    Words,
    Vectors,
}

type Ranking = Vec<(Score, DocAddress)>;

pub(crate) fn search(
    base: &KnowledgeBase,
    query: &Query,
    means: SearchMode,
) -> Result<Vec<Passage>, BaseError> {
    base.look(|seen| search_seen(base, seen, query, means))
}

fn search_seen(
    base: &KnowledgeBase,
    seen: &CommitView,
    query: &Query,
    means: SearchMode,
) -> Result<Vec<Passage>, BaseError> {
    let most = query.top_k.min(MOST_PASSAGES);
    if most == 0 {
        return Ok(Vec::new());
    }
    let text = &query.text[..query.text.floor_char_boundary(MOST_QUESTION_BYTES)];
    let embedder = if means == SearchMode::Words { None } else { base.embedder()? };
    // Duplicate chunks are skipped, so more candidates than results may be needed; usually there are none.
    let mut depth = most;
    loop {
        let ranking = rank(base, seen, query, text, embedder.map(AsRef::as_ref), means, depth)?;
        let is_all = ranking.len() < depth;
        let found = passages(base, seen, ranking, most)?;
        if found.len() == most || is_all || depth > MOST_LOOKED_AT {
            return Ok(found);
        }
        depth *= 4;
    }
}

fn rank(
    base: &KnowledgeBase,
    seen: &CommitView,
    query: &Query,
    text: &str,
    embedder: Option<&dyn Embedder>,
    means: SearchMode,
    depth: usize,
) -> Result<Vec<(DocAddress, f64)>, BaseError> {
    match (embedder, means) {
        (Some(embedder), SearchMode::All) => {
            let depth = depth.max(FUSED);
            let words = by_words(base, seen, text, query, depth)?;
            let vectors = by_vectors(base, seen, embedder, text, query, depth)?;
            let addresses = |ranking: Ranking| -> Vec<DocAddress> {
                ranking.into_iter().map(|(_, address)| address).collect()
            };
            Ok(fuse(&[&addresses(words), &addresses(vectors)]))
        }
        (Some(embedder), SearchMode::Words | SearchMode::Vectors) => {
            Ok(scored(by_vectors(base, seen, embedder, text, query, depth)?))
        }
        (None, SearchMode::Vectors) => Ok(Vec::new()),
        (None, SearchMode::All | SearchMode::Words) => {
            Ok(scored(by_words(base, seen, text, query, depth)?))
        }
    }
}

fn scored(ranking: Ranking) -> Vec<(DocAddress, f64)> {
    ranking.into_iter().map(|(score, address)| (address, f64::from(score))).collect()
}

/// Ranks by BM25 over the words of the query; a passage need not contain all of them.
fn by_words(
    base: &KnowledgeBase,
    seen: &CommitView,
    text: &str,
    query: &Query,
    depth: usize,
) -> Result<Ranking, BaseError> {
    let words = base.questions.words(text);
    let terms = words.iter().map(|word| {
        let term = Term::from_field_text(base.fields.text, word);
        let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
        (Occur::Should, Box::new(query) as Box<dyn tantivy::query::Query>)
    });
    let any = BooleanQuery::new(terms.collect());
    let failed = BaseError::index(&base.data);
    let top = TopDocs::with_limit(depth).order_by_score();
    let mut ranking = match filter(base, query) {
        None => seen.searcher.search(&any, &top),
        Some(filter) => {
            let both: Vec<(Occur, Box<dyn tantivy::query::Query>)> =
                vec![(Occur::Must, Box::new(any)), (Occur::Must, filter)];
            seen.searcher.search(&BooleanQuery::new(both), &top)
        }
    }
    .map_err(&failed)?;
    settle_ties(seen, &mut ranking);
    Ok(ranking)
}

/// Ranks by the nearest vectors. It scans every row, which is exact, and reads 26 MB for a hundred thousand chunks of
/// 256 dimensions.
fn by_vectors(
    base: &KnowledgeBase,
    seen: &CommitView,
    embedder: &dyn Embedder,
    text: &str,
    query: &Query,
    depth: usize,
) -> Result<Ranking, BaseError> {
    let Some(rows) = &seen.rows else { return Ok(Vec::new()) };
    let vectors = embedder.embed(&[text])?;
    let Some(vector) = vectors.first() else { return Ok(Vec::new()) };
    let nearest = Nearest::new(rows.clone(), vector, depth);
    let filter = filter(base, query).unwrap_or_else(|| Box::new(AllQuery));
    let mut ranking =
        seen.searcher.search(&filter, &nearest).map_err(BaseError::index(&base.data))?;
    settle_ties(seen, &mut ranking);
    Ok(ranking)
}

/// The filter by fields. It does not affect the score.
fn filter(base: &KnowledgeBase, query: &Query) -> Option<Box<dyn tantivy::query::Query>> {
    if query.filters.is_empty() {
        return None;
    }
    let terms = query.filters.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // Names of documents have their own field, which is used for replacing them.
        let term = if name == DOC {
            Term::from_field_text(base.fields.doc, &value)
        } else {
            Term::from_field_text(base.fields.field, &field_term(name, &value))
        };
        let query = TermQuery::new(term, IndexRecordOption::Basic);
        (Occur::Must, Box::new(query) as Box<dyn tantivy::query::Query>)
    });
    Some(Box::new(ConstScoreQuery::new(Box::new(BooleanQuery::new(terms.collect())), 0.0)))
}

/// Orders entries with equal scores by content. Tantivy orders them by position in its files, which depends on when
/// they were written.
fn settle_ties(seen: &CommitView, ranking: &mut Ranking) {
    let is_tied = |pair: &[(Score, DocAddress)]| pair[0].0.total_cmp(&pair[1].0).is_eq();
    if !ranking.windows(2).any(is_tied) {
        return;
    }
    let mut keyed = Vec::with_capacity(ranking.len());
    for &(score, address) in ranking.iter() {
        let key = seen.columns(address).key.first(address.doc_id);
        keyed.push((score, key, address));
    }
    keyed.sort_by(|left, right| {
        right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)).then(left.2.cmp(&right.2))
    });
    *ranking = keyed.into_iter().map(|(score, _, address)| (score, address)).collect();
}

/// The best passages with their texts, without duplicates.
fn passages(
    base: &KnowledgeBase,
    seen: &CommitView,
    ranking: Vec<(DocAddress, f64)>,
    most: usize,
) -> Result<Vec<Passage>, BaseError> {
    let mut passages: Vec<Passage> = Vec::with_capacity(most);
    let mut keys: Vec<u64> = Vec::with_capacity(most);
    for (address, score) in ranking {
        if passages.len() == most {
            break;
        }
        let entry = seen.entry(address);
        let (name, text) = base.name_and_text(seen, &entry)?;
        let same_words =
            |other: &Passage| other.text.split_whitespace().eq(text.split_whitespace());
        let mut alike = keys.iter().zip(&passages).filter(|(key, _)| **key == entry.key);
        if alike.any(|(_, other)| same_words(other)) {
            continue;
        }
        keys.push(entry.key);
        let pages = base.pages(&entry)?;
        passages.push(Passage {
            doc_id: name,
            chunk_index: entry.chunk,
            score,
            text,
            range: entry.start..entry.end,
            pages,
        });
    }
    Ok(passages)
}
