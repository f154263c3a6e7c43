//! The index: one entry per chunk. It holds words and numbers; texts stay in the journal, so that what is cited is
//! what was read.

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
    /// The document's name.
    pub(crate) doc: Field,
    /// The place in the document, counted from 0.
    pub(crate) chunk: Field,
    /// Where the document's record begins in the journal of texts.
    pub(crate) record: Field,
    /// Where the document's text begins there.
    pub(crate) at: Field,
    /// The bytes of the text.
    pub(crate) start: Field,
    pub(crate) end: Field,
    /// The page, counted from 1.
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
    // A question is a set of words here, so that their positions would only take room.
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

/// A field of a document as the index has it.
pub(crate) fn field_term(name: &str, value: &str) -> String {
    format!("{name}={value}")
}
