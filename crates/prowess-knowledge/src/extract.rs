//! Text extraction from files. Files are untrusted: every step is limited, and a file that makes a parser panic is
//! reported as unreadable.

mod docx;
mod html;
mod pdf;
mod plain;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::document::{DocumentFormat, KnowledgeDocument, digest};
use crate::error::reason;

/// The version of the extractor, part of every document's digest: after a change, documents are read again when they
/// are next added.
pub(crate) const VERSION: u32 = 1;

/// Maximum size of a file, in bytes.
pub const MOST_FILE_BYTES: u64 = 256 << 20;
/// Maximum size of a file's text, in bytes; a book has a hundredth of it.
pub const MOST_TEXT_BYTES: usize = 64 << 20;
/// Maximum size of a title, in bytes.
const MOST_TITLE_BYTES: usize = 200;
/// Maximum number of pages.
pub const MOST_PAGES: usize = 100_000;

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// The format is not supported.
    #[error("unsupported file type (expected .txt, .md, .html, .pdf or .docx)")]
    UnknownFormat,
    /// The file could not be read from disk.
    #[error("{0}")]
    Io(String),
    /// The file exceeds a limit.
    #[error("{0}")]
    TooLarge(String),
    /// The file is damaged or not of this format.
    #[error("{0}")]
    Broken(String),
    /// The file needs a password.
    #[error("it is encrypted")]
    Encrypted,
    /// The file contains no text.
    #[error("it contains no text{0}")]
    Empty(&'static str),
}

/// The text of a file and the offsets of its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractedText {
    /// The title, or empty.
    pub title: String,
    /// The text.
    pub text: String,
    /// The byte offsets of the pages, in formats with pages.
    pub pages: Vec<usize>,
}

/// Reads a file within the size limit.
pub fn read_file(path: &Path) -> Result<Vec<u8>, ExtractError> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // One byte more than allowed, so that a growing file is detected too.
        File::open(path)?.take(MOST_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| ExtractError::Io(reason(&error)))?;
    if bytes.len() as u64 > MOST_FILE_BYTES {
        return Err(ExtractError::TooLarge(format!(
            "it has more than {} MiB",
            MOST_FILE_BYTES >> 20
        )));
    }
    Ok(bytes)
}

/// Extracts the text of a file.
pub fn extract(format: DocumentFormat, bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
    // The third-party parsers of PDF and archives may panic on a damaged file.
    let read = || match format {
        DocumentFormat::Text => plain::extract(bytes),
        DocumentFormat::Markdown => plain::extract_markdown(bytes),
        DocumentFormat::Html => html::extract(bytes),
        DocumentFormat::Pdf => pdf::extract(bytes),
        DocumentFormat::Docx => docx::extract(bytes),
    };
    let mut extracted = catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ExtractError::Broken(format!("its {format} can't be read"))))?;
    if extracted.text.len() > MOST_TEXT_BYTES {
        return Err(too_much_text());
    }
    let title =
        if extracted.title.trim().is_empty() { lead(&extracted.text) } else { &extracted.title };
    extracted.title = one_line(title);
    if extracted.text.trim().is_empty() {
        return Err(ExtractError::Empty(match format {
            DocumentFormat::Pdf => "; its pages may be images",
            DocumentFormat::Text
            | DocumentFormat::Markdown
            | DocumentFormat::Html
            | DocumentFormat::Docx => "",
        }));
    }
    Ok(extracted)
}

/// Creates a document from a file.
pub fn document(
    id: &str,
    format: DocumentFormat,
    bytes: &[u8],
    fields: BTreeMap<String, String>,
) -> Result<KnowledgeDocument, ExtractError> {
    let ExtractedText { title, text, pages } = extract(format, bytes)?;
    let digest = digest(bytes, &fields);
    Ok(KnowledgeDocument { id: id.to_owned(), digest, format, title, text, pages, fields })
}

/// The title of a text without one: its first sentence or line, which usually says what it is about. A long one is not
/// used.
fn lead(text: &str) -> &str {
    let text = text.trim_start_matches('\u{FEFF}');
    let sentence = crate::split::first_sentence(text).map(|range| &text[range]);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let is_short = |lead: &&str| lead.len() <= MOST_TITLE_BYTES;
    [sentence, line].into_iter().flatten().find(is_short).unwrap_or_default()
}

/// Formats a title on one line of limited length.
fn one_line(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let mut title = words.join(" ");
    title.truncate(title.floor_char_boundary(MOST_TITLE_BYTES));
    title.truncate(title.trim_end().len());
    title
}

fn too_much_text() -> ExtractError {
    ExtractError::TooLarge(format!("it contains more than {} MiB of text", MOST_TEXT_BYTES >> 20))
}

/// Builds text block by block, collapsing whitespace, with blank lines between blocks.
#[derive(Default)]
struct Flow {
    text: String,
    /// Whether a space is due before the next word.
    blank: bool,
    /// Number of line breaks that are due before the next word.
    breaks: usize,
}

impl Flow {
    /// Adds text and collapses its whitespace.
    fn words(&mut self, text: &str) {
        for character in text.chars() {
            if character.is_whitespace() {
                self.blank = true;
            } else {
                self.due();
                self.text.push(character);
            }
        }
    }

    /// Adds preformatted text.
    fn lines(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            let words = line.trim_end_matches(['\n', '\r']);
            if !words.is_empty() {
                self.due();
                self.text.push_str(words);
            }
            if words.len() < line.len() {
                self.blank = false;
                self.breaks = (self.breaks + 1).min(2);
            }
        }
    }

    fn line_break(&mut self) {
        self.breaks = self.breaks.max(1);
    }

    fn block(&mut self) {
        self.breaks = 2;
    }

    fn due(&mut self) {
        if self.text.is_empty() {
            // No whitespace before the first word.
        } else if self.breaks > 0 {
            self.text.extend(std::iter::repeat_n('\n', self.breaks));
        } else if self.blank {
            self.text.push(' ');
        }
        self.blank = false;
        self.breaks = 0;
    }

    fn is_full(&self) -> bool {
        self.text.len() > MOST_TEXT_BYTES
    }
}

#[cfg(test)]
mod tests;
