//! A document before it is in a base: its text, where its pages begin, and what is known about it.

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest as _, Sha256};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain text.
    Text,
    /// Markdown, whose text is kept as it is.
    Markdown,
    /// HTML.
    Html,
    /// PDF.
    Pdf,
    /// A document of Word, in the format of 2007 and later.
    Docx,
}

impl Format {
    /// Every format.
    pub const ALL: &[Self] = &[Self::Text, Self::Markdown, Self::Html, Self::Pdf, Self::Docx];

    /// The format of a file, by how its name ends.
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        let is_meant = |format: &&Self| {
            format.extensions().iter().any(|known| known.eq_ignore_ascii_case(extension))
        };
        Self::ALL.iter().find(is_meant).copied()
    }

    /// How names of such files end.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt", "text"],
            Self::Markdown => &["md", "markdown"],
            Self::Html => &["html", "htm", "xhtml"],
            Self::Pdf => &["pdf"],
            Self::Docx => &["docx"],
        }
    }

    /// One word for it.
    pub fn as_str(self) -> &'static str {
        self.extensions()[0]
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Fields that every document has, so that none of its own can have their names: its id and its format.
pub const FIELDS_OF_ALL: [&str; 2] = ["doc", FORMAT];
pub(crate) const FORMAT: &str = "format";

/// A document that can be put into a base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The name that a person knows it by. A base has one document of a name.
    pub id: String,
    /// Of what it was made of; when it is the same, nothing has to be done.
    pub digest: String,
    /// The kind of its file.
    pub format: Format,
    /// What it is called in itself; empty when it is called nothing. Every passage of it is found by its title too.
    pub title: String,
    /// Its text. Ranges of passages are bytes of it.
    pub text: String,
    /// Where the pages begin in the text, in documents that have some.
    pub pages: Vec<usize>,
    /// What searches can filter by.
    pub fields: BTreeMap<String, String>,
}

impl Document {
    /// The page that a byte of the text is on, counted from 1.
    pub(crate) fn page_at(&self, at: usize) -> Option<u32> {
        page_at(&self.pages, at)
    }
}

/// The same for pages that begin at these bytes.
pub(crate) fn page_at(begins: &[usize], at: usize) -> Option<u32> {
    let pages = begins.partition_point(|&begin| begin <= at);
    u32::try_from(pages).ok().filter(|&page| page > 0)
}

/// A digest of a file together with everything else that decides what becomes of it.
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

/// Bytes as people write them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
