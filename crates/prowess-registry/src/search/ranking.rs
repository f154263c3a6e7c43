//! Queries and their order.
//!
//! Words decide what is found; trust and use only change the order among what fits about equally well, and within bounds
//! (attacks registry-A12 and A13).

use std::collections::BTreeSet;

use serde::Serialize;
use tantivy::collector::TopDocs;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, DisjunctionMaxQuery, FuzzyTermQuery,
    Occur, Query, TermQuery,
};
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::{DocAddress, Order, Searcher, TantivyDocument, Term};

use super::documents::SearchDocument;
use super::facets::{self, FacetCounts};
use super::schema::{
    COMMUNITY, DEPRECATED, DOWNLOADS, FLAGS, Fields, NAME_HASH, RATING, VERIFIED, WHOLE_HASH, hash,
};
use super::words::{QueryWord, query_words};
use super::{SearchError, SearchIndex};

/// How many of the best matches by words are put in order by everything else.
const RERANKED: usize = 100;
/// The last result that can be paged to (attack registry-D8).
const MAX_OFFSET: usize = 1_000;
/// Maximum length of a page.
const MAX_LIMIT: usize = 100;
/// Suggestions while typing.
const SUGGESTIONS: usize = 8;
/// Words of this length may have one typing error, and of the second length two.
const ONE_TYPO: usize = 4;
const TWO_TYPOS: usize = 8;
/// A skill with so many downloads is in use (attack registry-A12).
const ADOPTED: i64 = 20;

/// How much a match in each field counts.
const EXACT: f32 = 8.0;
const NAME: f32 = 6.0;
const NAME_PREFIX: f32 = 3.0;
const NAME_TYPO: f32 = 1.5;
const KEYWORDS: f32 = 2.5;
const DESCRIPTION: f32 = 2.0;
const BODY: f32 = 0.5;

/// A search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchRequest {
    /// The words; all skills without any.
    pub text: String,
    /// What must hold for every result.
    pub filters: SearchFilters,
    /// The order.
    pub sort: SearchSort,
    /// How many results are skipped.
    pub offset: usize,
    /// How many results are returned.
    pub limit: usize,
    /// Whether facets are counted.
    pub facets: bool,
}

/// Filters. Several values of one are alternatives, except for tags and permissions, which must all be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchFilters {
    /// Tags.
    pub tag: Vec<String>,
    /// Permissions such as `network:read`, or absences such as `no-network`.
    pub permission: Vec<String>,
    /// Categories.
    pub category: Vec<String>,
    /// Tiers.
    pub tier: Vec<String>,
    /// Badges.
    pub badge: Vec<String>,
    /// Dialects.
    pub dialect: Vec<String>,
    /// Agents.
    pub agent: Vec<String>,
    /// Licences.
    pub license: Vec<String>,
    /// Namespaces.
    pub namespace: Vec<String>,
}

/// The order of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchSort {
    /// The best match first.
    #[default]
    Relevance,
    /// The most downloaded first.
    Downloads,
    /// The newest change first.
    Updated,
    /// The newest skill first.
    Created,
}

/// The results of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResults {
    /// The results.
    pub hits: Vec<SearchHit>,
    /// How many there are.
    pub total: u64,
    /// Whether `total` is exact; there are more otherwise.
    pub total_is_exact: bool,
    /// Values of the results with their counts, by facet.
    pub facets: FacetCounts,
    /// What was probably meant, if nothing has the words as they are.
    pub did_you_mean: Option<String>,
    /// The offset of the next page.
    pub next: Option<usize>,
}

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The skill.
    pub skill: SearchDocument,
    /// Which fields have a word of the query: `name`, `tag`, `tool`, `description`, `text`.
    pub matches: Vec<&'static str>,
    /// The score.
    pub score: f32,
}

/// A suggestion while typing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
}

impl SearchSort {
    /// The order with a name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "relevance" => Some(Self::Relevance),
            "downloads" => Some(Self::Downloads),
            "updated" => Some(Self::Updated),
            "created" => Some(Self::Created),
            _ => None,
        }
    }

    fn field(self) -> Option<&'static str> {
        match self {
            Self::Relevance => None,
            Self::Downloads => Some(DOWNLOADS),
            Self::Updated => Some("updated"),
            Self::Created => Some("created"),
        }
    }
}

type Clauses = Vec<(Occur, Box<dyn Query>)>;

impl SearchIndex {
    /// Searches.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchResults, SearchError> {
        let searcher = self.reader.searcher();
        let limit = request.limit.clamp(1, MAX_LIMIT);
        let offset = request.offset.min(MAX_OFFSET);
        let words = query_words(&request.text);
        if words.is_empty() && !request.text.trim().is_empty() {
            return Ok(SearchResults { total_is_exact: true, ..SearchResults::default() });
        }
        let query = self.query(&request.text, &words, &request.filters);
        let mut hits = match request.sort.field() {
            Some(field) => {
                let top = TopDocs::with_limit(offset + limit + 1);
                let top = top.order_by_fast_field::<i64>(field, Order::Desc);
                let found = searcher.search(&query, &top)?;
                found.into_iter().map(|(_, address)| (0.0, address)).collect()
            }
            None if words.is_empty() => {
                let top = TopDocs::with_limit(offset + limit + 1);
                let top = top.order_by_fast_field::<i64>(DOWNLOADS, Order::Desc);
                let found = searcher.search(&query, &top)?;
                found.into_iter().map(|(_, address)| (0.0, address)).collect::<Vec<_>>()
            }
            None => {
                let depth = RERANKED.max(offset + limit + 1);
                let top = TopDocs::with_limit(depth).order_by_score();
                searcher.search(&query, &top)?
            }
        };
        let by_words = request.sort == SearchSort::Relevance && !words.is_empty();
        if by_words {
            rerank(&searcher, &mut hits, &request.text)?;
        }
        let more = hits.len() > offset + limit;
        let page: Vec<(f32, DocAddress)> = hits.into_iter().skip(offset).take(limit).collect();
        let counted = facets::count(&searcher, &query, request.facets)?;
        let mut found = Vec::new();
        for (score, address) in page {
            let skill = self.card(&searcher, address)?;
            let matches = matches(&skill, &words);
            found.push(SearchHit { skill, matches, score });
        }
        let did_you_mean = if offset == 0 { did_you_mean(&words, &found) } else { None };
        Ok(SearchResults {
            total: counted.total,
            total_is_exact: counted.is_exact,
            facets: counted.facets,
            did_you_mean,
            next: (more && offset + limit <= MAX_OFFSET).then_some(offset + limit),
            hits: found,
        })
    }

    /// Skills whose names begin with a text.
    pub fn suggest(&self, text: &str) -> Result<Vec<Suggestion>, SearchError> {
        let words = query_words(text);
        let Some(last) = words.last() else { return Ok(Vec::new()) };
        let searcher = self.reader.searcher();
        let mut clauses: Clauses = Vec::new();
        for word in &words[..words.len() - 1] {
            clauses.push((Occur::Must, term(self.fields.name, &word.plain, 1.0)));
        }
        let term = Term::from_field_text(self.fields.name, &last.plain);
        clauses.push((Occur::Must, Box::new(FuzzyTermQuery::new_prefix(term, 0, true))));
        let top =
            TopDocs::with_limit(SUGGESTIONS).order_by_fast_field::<i64>(DOWNLOADS, Order::Desc);
        let found = searcher.search(&BooleanQuery::new(clauses), &top)?;
        let mut suggestions = Vec::new();
        for (_, address) in found {
            let SearchDocument { namespace, name, description, .. } =
                self.card(&searcher, address)?;
            suggestions.push(Suggestion { namespace, name, description });
        }
        Ok(suggestions)
    }

    /// The query: each word in any field, with typing errors in names.
    fn query(&self, text: &str, words: &[QueryWord], filters: &SearchFilters) -> Box<dyn Query> {
        let mut clauses: Clauses = Vec::new();
        let whole = whole_name(text);
        if !words.is_empty() {
            let mut any: Clauses = vec![(Occur::Should, term(self.fields.exact, &whole, EXACT))];
            any.extend(words.iter().map(|word| (Occur::Should, self.word(word))));
            clauses.push((Occur::Must, Box::new(BooleanQuery::new(any))));
        }
        let alternatives = [
            ("agent", &filters.agent),
            ("badge", &filters.badge),
            ("category", &filters.category),
            ("dialect", &filters.dialect),
            ("license", &filters.license),
            ("tier", &filters.tier),
        ];
        for (facet, values) in alternatives {
            if let Some(field) = self.fields.facet(facet).filter(|_| !values.is_empty()) {
                clauses.push((Occur::Must, one_of(field, values)));
            }
        }
        if !filters.namespace.is_empty() {
            clauses.push((Occur::Must, one_of(self.fields.namespace, &filters.namespace)));
        }
        for (facet, values) in [("tag", &filters.tag), ("permission", &filters.permission)] {
            let Some(field) = self.fields.facet(facet) else { continue };
            for value in values {
                clauses.push((Occur::Must, one_of(field, std::slice::from_ref(value))));
            }
        }
        if clauses.is_empty() {
            return Box::new(AllQuery);
        }
        Box::new(BooleanQuery::new(clauses))
    }

    /// One word: the best of its fields counts, so that a text can't gain by saying it everywhere.
    fn word(&self, word: &QueryWord) -> Box<dyn Query> {
        let fields: &Fields = &self.fields;
        let mut best: Vec<Box<dyn Query>> = vec![
            term(fields.name, &word.plain, NAME),
            term(fields.keywords, &word.stem, KEYWORDS),
            term(fields.description, &word.stem, DESCRIPTION),
            term(fields.body, &word.stem, BODY),
        ];
        let length = word.plain.chars().count();
        let term = || Term::from_field_text(fields.name, &word.plain);
        if length >= 2 {
            let prefix = FuzzyTermQuery::new_prefix(term(), 0, true);
            best.push(constant(Box::new(prefix), NAME_PREFIX));
        }
        if length >= ONE_TYPO {
            let distance = if length >= TWO_TYPOS { 2 } else { 1 };
            let typo = FuzzyTermQuery::new(term(), distance, true);
            best.push(constant(Box::new(typo), NAME_TYPO));
        }
        Box::new(DisjunctionMaxQuery::new(best))
    }

    fn card(
        &self,
        searcher: &Searcher,
        address: DocAddress,
    ) -> Result<SearchDocument, SearchError> {
        let document: TantivyDocument = searcher.doc(address)?;
        let card = document.get_first(self.fields.card).and_then(|value| value.as_str());
        Ok(card.and_then(|card| serde_json::from_str(card).ok()).unwrap_or_default())
    }
}

fn term(field: tantivy::schema::Field, text: &str, boost: f32) -> Box<dyn Query> {
    let term = Term::from_field_text(field, text);
    Box::new(BoostQuery::new(Box::new(TermQuery::new(term, IndexRecordOption::Basic)), boost))
}

fn one_of(field: tantivy::schema::Field, values: &[String]) -> Box<dyn Query> {
    let terms = values.iter().map(|value| {
        let term = Term::from_field_text(field, value);
        let query: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::Basic));
        (Occur::Should, query)
    });
    constant(Box::new(BooleanQuery::new(terms.collect())), 0.0)
}

fn constant(query: Box<dyn Query>, score: f32) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(query, score))
}

/// What the order depends on beside words.
struct Signals {
    downloads: i64,
    rating: i64,
    flags: u64,
    is_whole: bool,
}

/// Puts the best matches in order. Downloads and ratings change a score by at most a half, and only for what has the words;
/// a whole name is worth less for a skill that nobody uses or vouches for, as long as another match is adopted.
fn rerank(
    searcher: &Searcher,
    hits: &mut [(f32, DocAddress)],
    text: &str,
) -> Result<(), SearchError> {
    let depth = hits.len().min(RERANKED);
    let hits = &mut hits[..depth];
    let signals = signals(searcher, hits, hash(&whole_name(text)))?;
    let best = hits.iter().zip(&signals).filter(|(_, signals)| !signals.is_whole);
    let best = best.map(|((score, _), _)| *score).fold(0.0, f32::max);
    let has_adopted = hits.iter().zip(&signals).any(|((score, _), signals)| {
        !signals.is_whole && signals.downloads >= ADOPTED && *score >= best / 2.0
    });
    for ((score, _), signals) in hits.iter_mut().zip(&signals) {
        *score *= weight(signals, has_adopted);
    }
    // Stable: equal scores keep the order of the words.
    hits.sort_by(|one, other| other.0.total_cmp(&one.0));
    Ok(())
}

/// Reads the signals of matches from columns, without loading documents.
fn signals(
    searcher: &Searcher,
    hits: &[(f32, DocAddress)],
    wanted: u64,
) -> Result<Vec<Signals>, SearchError> {
    let mut columns = Vec::new();
    for segment in searcher.segment_readers() {
        let fast = segment.fast_fields();
        columns.push((
            fast.i64(DOWNLOADS)?,
            fast.i64(RATING)?,
            fast.u64(FLAGS)?,
            fast.u64(NAME_HASH)?,
            fast.u64(WHOLE_HASH)?,
        ));
    }
    let of = |address: &DocAddress| {
        let (downloads, rating, flags, name, whole) =
            columns.get(usize::try_from(address.segment_ord).ok()?)?;
        let doc = address.doc_id;
        let is_whole = name.first(doc) == Some(wanted) || whole.first(doc) == Some(wanted);
        Some(Signals {
            downloads: downloads.first(doc)?,
            rating: rating.first(doc)?,
            flags: flags.first(doc)?,
            is_whole,
        })
    };
    let nothing = || Signals { downloads: 0, rating: 0, flags: 0, is_whole: false };
    Ok(hits.iter().map(|(_, address)| of(address).unwrap_or_else(nothing)).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a weight needs no more digits")]
fn weight(signals: &Signals, has_adopted: bool) -> f32 {
    let tier = if signals.flags & VERIFIED != 0 {
        0.2
    } else if signals.flags & COMMUNITY != 0 {
        0.1
    } else {
        0.0
    };
    let downloads = ((signals.downloads as f32 + 1.0).log10() / 5.0).min(1.0) * 0.3;
    let rating = if signals.rating > 0 { (signals.rating as f32 - 300.0) / 2000.0 } else { 0.0 };
    let mut weight = 1.0 + tier + downloads + rating;
    if signals.flags & DEPRECATED != 0 {
        weight *= 0.5;
    }
    let is_trusted = tier > 0.0 || signals.downloads >= ADOPTED;
    if signals.is_whole && has_adopted && !is_trusted {
        weight *= 0.3;
    }
    weight
}

/// What a query would be as a name.
fn whole_name(text: &str) -> String {
    text.trim().trim_start_matches('@').to_lowercase().replace(' ', "-")
}

/// The fields of a skill that have a word of the query.
fn matches(card: &SearchDocument, words: &[QueryWord]) -> Vec<&'static str> {
    let has = |text: &str| {
        let text = text.to_lowercase();
        words.iter().any(|word| text.contains(&word.plain) || text.contains(&word.stem))
    };
    let fields = [
        ("name", has(&card.name)),
        ("tag", card.tags.iter().any(|tag| has(tag))),
        ("tool", card.tools.iter().any(|tool| has(tool))),
        ("description", has(&card.description)),
    ];
    let mut found: Vec<&'static str> =
        fields.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect();
    if found.is_empty() && !words.is_empty() {
        found.push("text");
    }
    found
}

/// The query with each word that no result has replaced by the nearest word of their names.
fn did_you_mean(words: &[QueryWord], hits: &[SearchHit]) -> Option<String> {
    let literal = hits.iter().any(|hit| {
        let description = hit.skill.description.to_lowercase();
        words
            .iter()
            .all(|word| hit.skill.name.contains(&word.plain) || description.contains(&word.stem))
    });
    if literal || words.is_empty() {
        return None;
    }
    let known: BTreeSet<&str> = hits.iter().flat_map(|hit| hit.skill.name.split('-')).collect();
    let meant: Vec<&str> = words
        .iter()
        .map(|word| {
            if known.contains(word.plain.as_str()) {
                return word.plain.as_str();
            }
            prowess_format::text::closest(&word.plain, known.iter().copied()).unwrap_or(&word.plain)
        })
        .collect();
    let changed = meant.iter().zip(words).any(|(meant, word)| *meant != word.plain);
    changed.then(|| meant.join(" "))
}
