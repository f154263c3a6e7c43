//! The schema of the index: one entry per chunk. It contains words and numbers; texts stay in the journal, so that
//! citations are exact.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};

use crate::analyze;

pub(crate) const DOC: &str = "doc";
pub(crate) const CHUNK: &str = "chunk";
pub(crate) const RECORD: &str = "record";
pub(crate) const AT: &str = "at";
pub(crate) const START: &str = "start";
pub(crate) const END: &str = "end";
pub(crate) const PAGE: &str = "page";
pub(crate) const KEY: &str = "key";
pub(crate) const VECTOR: &str = "vector";

/// The fields of an entry.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// The name of the document.
    pub(crate) doc: Field,
    /// The position in the document, from 0.
    pub(crate) chunk: Field,
    /// The offset of the document's record in the journal of texts.
    pub(crate) record: Field,
    /// The offset of the document's text there.
    pub(crate) at: Field,
    /// The byte range in the text.
    pub(crate) start: Field,
    pub(crate) end: Field,
    /// The page, from 1.
    pub(crate) page: Field,
    /// The first eight bytes of the chunk's address.
    pub(crate) key: Field,
    /// The row in the file of vectors.
    pub(crate) vector: Field,
    /// The words.
    pub(crate) text: Field,
    /// `name=value` of the document's fields, and of its format.
    pub(crate) field: Field,
}

pub(crate) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    // A query is a set of words, so positions are not needed.
    let words = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(analyze::NAME)
            .set_index_option(IndexRecordOption::WithFreqs),
    );
    let fields = Fields {
        doc: schema.add_text_field(DOC, STRING),
        chunk: schema.add_u64_field(CHUNK, INDEXED | FAST),
        record: schema.add_u64_field(RECORD, FAST),
        at: schema.add_u64_field(AT, FAST),
        start: schema.add_u64_field(START, FAST),
        end: schema.add_u64_field(END, FAST),
        page: schema.add_u64_field(PAGE, FAST),
        key: schema.add_u64_field(KEY, FAST),
        vector: schema.add_u64_field(VECTOR, FAST),
        text: schema.add_text_field("text", words),
        field: schema.add_text_field("field", STRING),
    };
    (schema.build(), fields)
}

/// The index term of a document's field.
pub(crate) fn field_term(name: &str, value: &str) -> String {
    format!("{name}={value}")
}
