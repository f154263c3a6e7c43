//! Files to text. What comes in is anybody's: every step has a bound, and a file that breaks a reader is reported like
//! one that can't be read.

mod docx;
mod html;
mod pdf;
mod plain;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::document::{Document, Format, digest};
use crate::error::reason;

/// Part of every document's digest. A change of what is read from files changes it, and documents are read anew when
/// they are next added.
pub(crate) const VERSION: u32 = 1;

/// The largest file that is read.
pub const MOST_FILE_BYTES: u64 = 256 << 20;
/// The most text that a file can give; a book has a hundredth of it.
pub const MOST_TEXT_BYTES: usize = 64 << 20;
/// Where a title is cut.
const MOST_TITLE_BYTES: usize = 200;
/// The most pages of a file.
pub const MOST_PAGES: usize = 100_000;

/// Why a file gave no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// Nobody here reads such files.
    #[error("its name ends in nothing that is read here (.txt, .md, .html, .pdf, .docx)")]
    UnknownFormat,
    /// The system did not give it.
    #[error("{0}")]
    Io(String),
    /// It is larger than what is read.
    #[error("{0}")]
    TooLarge(String),
    /// It is not what its name says, or damaged.
    #[error("{0}")]
    Broken(String),
    /// It needs a password.
    #[error("it is encrypted")]
    Encrypted,
    /// There is no text in it.
    #[error("it holds no text{0}")]
    Empty(&'static str),
}

/// The text of a file and where its pages begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// What it is called in itself, or nothing.
    pub title: String,
    /// What it says.
    pub text: String,
    /// Where the pages begin, in formats that have some.
    pub pages: Vec<usize>,
}

/// The bytes of a file, when there are not too many.
pub fn read_file(path: &Path) -> Result<Vec<u8>, ExtractError> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // One more than allowed, so that a file that grows meanwhile is noticed too.
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

/// The text of a file's bytes.
pub fn extract(format: Format, bytes: &[u8]) -> Result<Extracted, ExtractError> {
    // The readers of PDF and of archives are large and not ours; what makes them panic is a broken file.
    let read = || match format {
        Format::Text => plain::extract(bytes),
        Format::Markdown => plain::extract_markdown(bytes),
        Format::Html => html::extract(bytes),
        Format::Pdf => pdf::extract(bytes),
        Format::Docx => docx::extract(bytes),
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
            Format::Pdf => "; its pages may be pictures",
            Format::Text | Format::Markdown | Format::Html | Format::Docx => "",
        }));
    }
    Ok(extracted)
}

/// A document of a file's bytes.
pub fn document(
    id: &str,
    format: Format,
    bytes: &[u8],
    fields: BTreeMap<String, String>,
) -> Result<Document, ExtractError> {
    let Extracted { title, text, pages } = extract(format, bytes)?;
    let digest = digest(bytes, &fields);
    Ok(Document { id: id.to_owned(), digest, format, title, text, pages, fields })
}

/// A text that names no title of its own begins with it, more often than not: with a sentence that says what it is
/// about, or a line of its own. A long one is none.
fn lead(text: &str) -> &str {
    let text = text.trim_start_matches('\u{FEFF}');
    let sentence = crate::split::first_sentence(text).map(|range| &text[range]);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let is_short = |lead: &&str| lead.len() <= MOST_TITLE_BYTES;
    [sentence, line].into_iter().flatten().find(is_short).unwrap_or_default()
}

/// A title on one line, cut where it is no title any more.
fn one_line(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let mut title = words.join(" ");
    title.truncate(title.floor_char_boundary(MOST_TITLE_BYTES));
    title.truncate(title.trim_end().len());
    title
}

fn too_much_text() -> ExtractError {
    ExtractError::TooLarge(format!("it holds more than {} MiB of text", MOST_TEXT_BYTES >> 20))
}

/// Text that grows block by block, with one blank where several are, and empty lines between blocks.
#[derive(Default)]
struct Flow {
    text: String,
    /// A blank is due before the next word.
    blank: bool,
    /// Line breaks that are due before the next word.
    breaks: usize,
}

impl Flow {
    /// Adds text whose blanks mean nothing.
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

    /// Adds text whose line breaks count.
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
            // Nothing stands before the first word.
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
