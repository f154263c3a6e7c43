//! A question to passages: words, vectors, and both together.

use prowess_core::{Passage, Query};
use serde_json::Value;
use tantivy::collector::TopDocs;
use tantivy::query::{AllQuery, BooleanQuery, ConstScoreQuery, Occur, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Score, Term};

use crate::base::{Base, Seen};
use crate::embed::Embedder;
use crate::error::BaseError;
use crate::fusion::fuse;
use crate::schema::{DOC, field_term};
use crate::vectors::Nearest;

/// What comes back at most, whatever was asked for.
pub(crate) const MOST_PASSAGES: usize = 1000;
/// How far a search looks for passages that differ.
const MOST_LOOKED_AT: usize = 4 * MOST_PASSAGES;
/// How deep two rankings are fused.
pub(crate) const FUSED: usize = 100;
/// A question is cut here; callers cut earlier (AFL §6: 500 characters).
const MOST_QUESTION_BYTES: usize = 1 << 16;

/// What a search goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// Words, and vectors where there are some.
    All,
    Words,
    Vectors,
}

type Ranking = Vec<(Score, DocAddress)>;

pub(crate) fn search(base: &Base, query: &Query, means: Means) -> Result<Vec<Passage>, BaseError> {
    base.look(|seen| search_seen(base, seen, query, means))
}

fn search_seen(
    base: &Base,
    seen: &Seen,
    query: &Query,
    means: Means,
) -> Result<Vec<Passage>, BaseError> {
    let most = query.top_k.min(MOST_PASSAGES);
    if most == 0 {
        return Ok(Vec::new());
    }
    let text = &query.text[..query.text.floor_char_boundary(MOST_QUESTION_BYTES)];
    let embedder = if means == Means::Words { None } else { base.embedder()? };
    // Equal chunks are left out, so that more may have to be looked at than come back; mostly there are none.
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
    base: &Base,
    seen: &Seen,
    query: &Query,
    text: &str,
    embedder: Option<&dyn Embedder>,
    means: Means,
    depth: usize,
) -> Result<Vec<(DocAddress, f64)>, BaseError> {
    match (embedder, means) {
        (Some(embedder), Means::All) => {
            let depth = depth.max(FUSED);
            let words = by_words(base, seen, text, query, depth)?;
            let vectors = by_vectors(base, seen, embedder, text, query, depth)?;
            let addresses = |ranking: Ranking| -> Vec<DocAddress> {
                ranking.into_iter().map(|(_, address)| address).collect()
            };
            Ok(fuse(&[&addresses(words), &addresses(vectors)]))
        }
        (Some(embedder), Means::Words | Means::Vectors) => {
            Ok(scored(by_vectors(base, seen, embedder, text, query, depth)?))
        }
        (None, Means::Vectors) => Ok(Vec::new()),
        (None, Means::All | Means::Words) => Ok(scored(by_words(base, seen, text, query, depth)?)),
    }
}

fn scored(ranking: Ranking) -> Vec<(DocAddress, f64)> {
    ranking.into_iter().map(|(score, address)| (address, f64::from(score))).collect()
}

/// BM25 over the words of the question: a passage need not have all of them.
fn by_words(
    base: &Base,
    seen: &Seen,
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

/// The nearest vectors. Every row is looked at; that is exact, and reads 26 MB for a hundred thousand chunks of 256
/// numbers.
fn by_vectors(
    base: &Base,
    seen: &Seen,
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

/// Documents with all the wanted fields. It takes no part in the score.
fn filter(base: &Base, query: &Query) -> Option<Box<dyn tantivy::query::Query>> {
    if query.filters.is_empty() {
        return None;
    }
    let terms = query.filters.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // Names of documents have a field of their own, by which they are replaced.
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

/// The engine orders equals by their place in its files, which depends on when they were written. What they say does
/// not.
fn settle_ties(seen: &Seen, ranking: &mut Ranking) {
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

/// The best passages with their texts, each text once.
fn passages(
    base: &Base,
    seen: &Seen,
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
