//! Conversions between rows of the database and documents and passages.

use std::collections::HashMap;

use postgres::Row;
use prowess_core::Passage;
use serde_json::{Value, json};

use crate::base::DocumentRecord;
use crate::document::{DocumentFormat, KnowledgeDocument};

pub(super) fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Formats a vector for pgvector.
pub(super) fn literal(vector: &[f32]) -> String {
    let numbers: Vec<String> = vector.iter().map(ToString::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// A passage of a row with a chunk.
pub(super) fn passage(row: &Row, score: f64) -> Passage {
    let page = |column: usize| row.get::<_, Option<i64>>(column).and_then(|it| it.try_into().ok());
    let first: Option<u32> = page(5);
    Passage {
        doc_id: row.get(1),
        chunk_index: unsigned(row.get(2)),
        score,
        text: row.get(6),
        range: unsigned(row.get(3))..unsigned(row.get(4)),
        pages: first.map(|first| first..=page(8).unwrap_or(first)),
    }
}

/// The best passages of a ranking, without duplicates.
pub(super) fn best(ranking: &[(i64, f64)], rows: &[Row], most: usize) -> Vec<Passage> {
    let rows: HashMap<i64, &Row> = rows.iter().map(|row| (row.get(0), row)).collect();
    let mut addresses: Vec<Vec<u8>> = Vec::new();
    let mut passages = Vec::new();
    for (id, score) in ranking {
        let Some(row) = rows.get(id) else { continue };
        let address: Vec<u8> = row.get(7);
        if passages.len() < most && !addresses.contains(&address) {
            addresses.push(address);
            passages.push(passage(row, *score));
        }
    }
    passages
}

/// What is stored of a document besides its text.
pub(super) fn record_json(document: &KnowledgeDocument, title: &str) -> String {
    json!({
        "title": title,
        "format": document.format.as_str(),
        "pages": document.pages,
        "fields": document.fields,
    })
    .to_string()
}

fn parse(record: Option<&str>) -> Value {
    record.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The title in a document's record.
pub(super) fn title(record: Option<&str>) -> String {
    parse(record)["title"].as_str().unwrap_or_default().to_owned()
}

/// A document of a row with its name, digest, record and size.
pub(super) fn document_record(row: &Row) -> DocumentRecord {
    let record: Option<String> = row.get(2);
    let record = parse(record.as_deref());
    let format = record["format"].as_str().unwrap_or_default();
    let format = DocumentFormat::ALL.iter().find(|known| known.as_str() == format);
    let fields = record["fields"].as_object().into_iter().flatten();
    DocumentRecord {
        id: row.get(0),
        digest: row.get(1),
        format: format.copied().unwrap_or(DocumentFormat::Text),
        title: record["title"].as_str().unwrap_or_default().to_owned(),
        bytes: unsigned(row.get(3)),
        pages: record["pages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|page| usize::try_from(page.as_u64()?).ok())
            .collect(),
        fields: fields
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect(),
    }
}
