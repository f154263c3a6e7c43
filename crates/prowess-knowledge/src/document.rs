//! A document to add to a knowledge base: its text, pages and fields.

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest as _, Sha256};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// Plain text.
    Text,
    /// Markdown, whose text is kept as it is.
    Markdown,
    /// HTML.
    Html,
    /// PDF.
    Pdf,
    /// A Word document in the format of 2007 and later.
    Docx,
}

impl DocumentFormat {
    /// Every format.
    pub const ALL: &[Self] = &[Self::Text, Self::Markdown, Self::Html, Self::Pdf, Self::Docx];

    /// The format of a file, by its extension.
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        let is_meant = |format: &&Self| {
            format.extensions().iter().any(|known| known.eq_ignore_ascii_case(extension))
        };
        Self::ALL.iter().find(is_meant).copied()
    }

    /// The extensions of the format.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt", "text"],
            Self::Markdown => &["md", "markdown"],
            Self::Html => &["html", "htm", "xhtml"],
            Self::Pdf => &["pdf"],
            Self::Docx => &["docx"],
        }
    }

    /// The name of the format.
    pub fn as_str(self) -> &'static str {
        self.extensions()[0]
    }
}

impl fmt::Display for DocumentFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reserved field names: every document has its id and its format as fields.
pub const FIELDS_OF_ALL: [&str; 2] = ["doc", FORMAT];
pub(crate) const FORMAT: &str = "format";

/// A document to add to a knowledge base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowledgeDocument {
    /// The name, unique in a knowledge base.
    pub id: String,
    /// The digest of its file and fields; a document with the same digest is not added again.
    pub digest: String,
    /// The format of its file.
    pub format: DocumentFormat,
    /// The title, or empty. Every passage is also found by the title.
    pub title: String,
    /// The text. Passages are byte ranges of it.
    pub text: String,
    /// The byte offsets of the pages, in documents with pages.
    pub pages: Vec<usize>,
    /// The fields that searches can filter by.
    pub fields: BTreeMap<String, String>,
}

impl KnowledgeDocument {
    /// The page at a byte offset, from 1.
    pub(crate) fn page_at(&self, at: usize) -> Option<u32> {
        page_at(&self.pages, at)
    }
}

/// The page at a byte offset, from 1, given the offsets of the pages.
pub(crate) fn page_at(begins: &[usize], at: usize) -> Option<u32> {
    let pages = begins.partition_point(|&begin| begin <= at);
    u32::try_from(pages).ok().filter(|&page| page > 0)
}

/// The digest of a file, its fields, and the versions of the extractor and the splitter.
pub fn digest(bytes: &[u8], fields: &BTreeMap<String, String>) -> String {
    let mut hash = Sha256::new();
    hash.update(crate::extract::VERSION.to_le_bytes());
    hash.update(crate::split::VERSION.to_le_bytes());
    for (name, value) in fields {
        for part in [name, value] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
    }
    hash.update(u64::MAX.to_le_bytes());
    hash.update(bytes);
    hex(&hash.finalize())
}

/// Formats bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
