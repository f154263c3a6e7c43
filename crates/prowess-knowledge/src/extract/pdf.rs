//! PDF: text page by page. A page is a program that draws letters; line breaks and spaces are inferred from its movements
//! (PDF 32000-1 §9.4).

use std::collections::BTreeMap;

use lopdf::content::{Content, Operation};
use lopdf::{Document, Encoding, LoadOptions, Object, ObjectId};

use super::{ExtractError, ExtractedText, MOST_PAGES, MOST_TEXT_BYTES, too_much_text};

/// Maximum unpacked size of a stream, in bytes. A page of text has a few kilobytes, one with drawings a few megabytes.
const MOST_STREAM_BYTES: usize = 16 << 20;
/// Maximum unpacked size of all pages, in bytes.
const MOST_CONTENT_BYTES: usize = 512 << 20;
/// Maximum number of unreadable pages before the file is rejected.
const MOST_BAD_PAGES: usize = 64;
/// Stack size of the parser thread, which recurses into nested objects up to its own limit.
const STACK: usize = 64 << 20;
/// A larger gap between two letters, in thousandths of the font size, is a space.
const BLANK: f32 = -180.0;

pub(super) fn extract(bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
    let broken = |what: &str| ExtractError::Broken(format!("the PDF can't be read: {what}"));
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("pdf".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, || read(bytes))
            .map_err(|error| broken(&error.to_string()))?;
        thread.join().unwrap_or_else(|_| Err(broken("its objects are damaged")))
    })
}

fn read(bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
    let broken = |what: String| ExtractError::Broken(format!("the PDF can't be read: {what}"));
    let options = LoadOptions::with_max_decompressed_size(MOST_STREAM_BYTES);
    let document = Document::load_mem_with_options(bytes, options)
        .map_err(|error| broken(error.to_string()))?;
    if document.is_encrypted() {
        return Err(ExtractError::Encrypted);
    }
    let pages = document.get_pages();
    if pages.len() > MOST_PAGES {
        return Err(ExtractError::TooLarge(format!("it has more than {MOST_PAGES} pages")));
    }
    let mut extracted = ExtractedText::default();
    let mut unpacked = 0;
    let mut bad = Vec::new();
    for (number, page) in &pages {
        if !extracted.text.is_empty() {
            extracted.text.push_str("\n\n");
        }
        extracted.pages.push(extracted.text.len());
        match read_page(&document, *page, &mut unpacked) {
            Ok(text) => extracted.text.push_str(text.trim()),
            Err(error) => bad.push(format!("page {number}: {error}")),
        }
        if extracted.text.len() > MOST_TEXT_BYTES {
            return Err(too_much_text());
        }
        if unpacked > MOST_CONTENT_BYTES {
            return Err(ExtractError::TooLarge(format!(
                "its pages unpack to more than {} MiB",
                MOST_CONTENT_BYTES >> 20
            )));
        }
        if bad.len() > MOST_BAD_PAGES {
            break;
        }
    }
    // A document is not added partially: the user would not notice the missing half.
    match bad.first() {
        Some(first) => Err(broken(first.clone())),
        None => Ok(extracted),
    }
}

fn read_page(document: &Document, page: ObjectId, unpacked: &mut usize) -> lopdf::Result<String> {
    let content = document.get_page_content_with_limit(page, MOST_STREAM_BYTES)?;
    *unpacked += content.len();
    let fonts = document.get_page_fonts(page)?;
    let encodings: BTreeMap<Vec<u8>, Encoding<'_>> = fonts
        .into_iter()
        .filter_map(|(name, font)| {
            let encoding = font.get_font_encoding_with_limit(document, MOST_STREAM_BYTES).ok()?;
            Some((name, encoding))
        })
        .collect();
    let mut painter =
        Painter { encodings: &encodings, font: None, text: String::new(), line: None };
    for operation in Content::decode(&content)?.operations {
        painter.step(&operation);
        if painter.text.len() > MOST_TEXT_BYTES {
            break;
        }
    }
    Ok(painter.text)
}

/// Collects the text that a page draws.
struct Painter<'d> {
    encodings: &'d BTreeMap<Vec<u8>, Encoding<'d>>,
    font: Option<&'d Encoding<'d>>,
    text: String,
    /// The vertical position of the current line.
    line: Option<f32>,
}

impl Painter<'_> {
    fn step(&mut self, operation: &Operation) {
        let operands = operation.operands.as_slice();
        match operation.operator.as_str() {
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok());
                self.font = name.and_then(|name| self.encodings.get(name));
            }
            "Tj" => self.show(operands),
            "TJ" => {
                if let Some(Object::Array(parts)) = operands.first() {
                    self.show(parts);
                }
            }
            "'" => {
                self.line_break();
                self.show(operands);
            }
            "\"" => {
                self.line_break();
                self.show(operands.get(2..).unwrap_or_default());
            }
            "T*" | "ET" => self.line_break(),
            "BT" => self.line = None,
            "Td" | "TD" => match (number(operands, 0), number(operands, 1)) {
                (_, Some(down)) if down.abs() > 0.5 => self.line_break(),
                (Some(right), _) if right > 0.0 => self.blank(),
                _ => {}
            },
            "Tm" => {
                let height = number(operands, 5);
                match (height, self.line) {
                    (Some(height), Some(line)) if (height - line).abs() < 2.0 => self.blank(),
                    (_, None) => {}
                    _ => self.line_break(),
                }
                self.line = height;
            }
            _ => {}
        }
    }

    fn show(&mut self, parts: &[Object]) {
        for part in parts {
            match part {
                Object::String(bytes, _) => {
                    let Some(encoding) = self.font else { continue };
                    if let Ok(text) = Document::decode_text(encoding, bytes) {
                        self.text.extend(text.chars().filter(|character| *character != '\0'));
                    }
                }
                #[expect(clippy::cast_precision_loss, reason = "only its size counts")]
                Object::Integer(gap) if (*gap as f32) < BLANK => self.blank(),
                Object::Real(gap) if *gap < BLANK => self.blank(),
                _ => {}
            }
        }
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }

    fn line_break(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

fn number(operands: &[Object], index: usize) -> Option<f32> {
    operands.get(index)?.as_float().ok()
}
