//! Counts of values among results.

use std::collections::BTreeMap;

use tantivy::columnar::StrColumn;
use tantivy::query::{EnableScoring, Query};
use tantivy::{DocSet as _, Searcher, SegmentReader, TERMINATED};

use super::schema::FACETS;

/// The most results that are counted. Beyond it, counts are a lower bound.
const MAX_COUNTED: u64 = 20_000;
/// The most values of a facet that are shown.
const MAX_VALUES: usize = 20;

/// Values with their counts, the most frequent first, by the name of the facet.
pub(super) type FacetCounts = BTreeMap<String, Vec<(String, u64)>>;

/// The number of results and the facets among them.
pub(super) struct Counted {
    pub(super) total: u64,
    pub(super) is_exact: bool,
    pub(super) facets: FacetCounts,
}

/// Counts all results of a query up to a bound.
pub(super) fn count(
    searcher: &Searcher,
    query: &dyn Query,
    with_facets: bool,
) -> tantivy::Result<Counted> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut total = 0;
    let mut sums: Vec<BTreeMap<String, u64>> = vec![BTreeMap::new(); FACETS.len()];
    let mut is_exact = true;
    for segment in searcher.segment_readers() {
        let mut columns = Vec::new();
        for name in FACETS.iter().filter(|_| with_facets) {
            let column = segment.fast_fields().str(name)?;
            let terms = column.as_ref().map_or(0, |column| column.num_terms());
            columns.push((column, vec![0_u64; terms]));
        }
        let mut found = weight.scorer(segment, 1.0)?;
        let alive = segment.alive_bitset();
        let mut doc = found.doc();
        while doc != TERMINATED {
            if alive.is_none_or(|alive| alive.is_alive(doc)) {
                if total == MAX_COUNTED {
                    is_exact = false;
                    break;
                }
                total += 1;
                for (column, counts) in &mut columns {
                    let Some(column) = column else { continue };
                    for ordinal in column.term_ords(doc) {
                        if let Some(count) =
                            usize::try_from(ordinal).ok().and_then(|it| counts.get_mut(it))
                        {
                            *count += 1;
                        }
                    }
                }
            }
            doc = found.advance();
        }
        for ((column, counts), sums) in columns.iter().zip(&mut sums) {
            add(column.as_ref(), counts, sums)?;
        }
    }
    let facets = FACETS.iter().zip(sums).filter(|(_, sums)| !sums.is_empty());
    let facets = facets.map(|(name, sums)| ((*name).to_owned(), most_frequent(sums))).collect();
    Ok(Counted { total, is_exact, facets })
}

/// The counts of one facet among all documents.
pub(super) fn count_all(
    searcher: &Searcher,
    facet: &str,
) -> tantivy::Result<BTreeMap<String, u64>> {
    let mut sums = BTreeMap::new();
    for segment in searcher.segment_readers() {
        let Some(column) = segment.fast_fields().str(facet)? else { continue };
        let mut counts = vec![0_u64; column.num_terms()];
        for doc in living(segment) {
            for ordinal in column.term_ords(doc) {
                if let Some(count) = usize::try_from(ordinal).ok().and_then(|it| counts.get_mut(it))
                {
                    *count += 1;
                }
            }
        }
        add(Some(&column), &counts, &mut sums)?;
    }
    Ok(sums)
}

fn living(segment: &SegmentReader) -> impl Iterator<Item = u32> + '_ {
    let alive = segment.alive_bitset();
    (0..segment.max_doc()).filter(move |doc| alive.is_none_or(|alive| alive.is_alive(*doc)))
}

fn add(
    column: Option<&StrColumn>,
    counts: &[u64],
    sums: &mut BTreeMap<String, u64>,
) -> tantivy::Result<()> {
    let Some(column) = column else { return Ok(()) };
    let mut value = String::new();
    for (ordinal, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        value.clear();
        if column.ord_to_str(ordinal as u64, &mut value)? {
            *sums.entry(value.clone()).or_default() += count;
        }
    }
    Ok(())
}

fn most_frequent(sums: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut counts: Vec<(String, u64)> = sums.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts.truncate(MAX_VALUES);
    counts
}
