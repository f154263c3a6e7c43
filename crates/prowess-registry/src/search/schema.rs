//! The fields of the index.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};

use super::words::{NAME_WORDS, TEXT_WORDS};

/// Names of columns.
pub(super) const DOWNLOADS: &str = "downloads";
pub(super) const RATING: &str = "rating";
pub(super) const FLAGS: &str = "flags";
pub(super) const NAME_HASH: &str = "name_hash";
pub(super) const WHOLE_HASH: &str = "whole_hash";

/// Bits of the flags.
pub(super) const COMMUNITY: u64 = 1;
pub(super) const VERIFIED: u64 = 2;
pub(super) const DEPRECATED: u64 = 4;

/// A hash of a name, for comparing it with a query. Two names with one hash would only share a bonus.
pub(super) fn hash(text: &str) -> u64 {
    // FNV-1a: stable between versions of the compiler, because it is stored.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Names of fields with one of few values, as filters and facets name them.
pub(super) const CATEGORY: &str = "category";

/// Fields that are filters and facets.
pub(super) const FACETS: &[&str] =
    &["agent", "badge", CATEGORY, "dialect", "license", "permission", "tag", "tier"];

/// The fields of a document.
#[derive(Clone)]
pub(super) struct Fields {
    /// The number of the skill.
    pub(super) id: Field,
    /// `name` and `namespace/name`, whole.
    pub(super) exact: Field,
    /// The words of the name.
    pub(super) name: Field,
    /// The words of the description.
    pub(super) description: Field,
    /// The words of tags and tools.
    pub(super) keywords: Field,
    /// The words of the text.
    pub(super) body: Field,
    /// The namespace.
    pub(super) namespace: Field,
    /// The fields of [`FACETS`], in their order.
    pub(super) facets: Vec<Field>,
    /// Times and counts, by which results are sorted.
    pub(super) downloads: Field,
    pub(super) updated: Field,
    pub(super) created: Field,
    /// What the order of results depends on beside words: the mean rating with its count, flags, and hashes of names.
    pub(super) rating: Field,
    pub(super) flags: Field,
    pub(super) name_hash: Field,
    pub(super) whole_hash: Field,
    /// What results show, as JSON.
    pub(super) card: Field,
}

/// The schema. Texts are indexed without frequencies: repeating a word two hundred times gains nothing (attack
/// registry-A13).
pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let words = |tokenizer: &str| {
        TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(tokenizer)
                .set_index_option(IndexRecordOption::Basic),
        )
    };
    let fields = Fields {
        id: schema.add_i64_field("id", INDEXED | FAST),
        exact: schema.add_text_field("exact", STRING),
        name: schema.add_text_field("name", words(NAME_WORDS)),
        description: schema.add_text_field("description", words(TEXT_WORDS)),
        keywords: schema.add_text_field("keywords", words(TEXT_WORDS)),
        body: schema.add_text_field("body", words(TEXT_WORDS)),
        namespace: schema.add_text_field("namespace", STRING),
        facets: FACETS.iter().map(|name| schema.add_text_field(name, STRING | FAST)).collect(),
        downloads: schema.add_i64_field(DOWNLOADS, FAST),
        updated: schema.add_i64_field("updated", FAST),
        created: schema.add_i64_field("created", FAST),
        rating: schema.add_i64_field(RATING, FAST),
        flags: schema.add_u64_field(FLAGS, FAST),
        name_hash: schema.add_u64_field(NAME_HASH, FAST),
        whole_hash: schema.add_u64_field(WHOLE_HASH, FAST),
        card: schema.add_text_field("card", STORED),
    };
    (schema.build(), fields)
}

impl Fields {
    /// The field of a facet.
    pub(super) fn facet(&self, name: &str) -> Option<Field> {
        let place = FACETS.iter().position(|known| *known == name)?;
        self.facets.get(place).copied()
    }
}
