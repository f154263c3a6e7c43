//! Word documents: an archive with the text in `word/document.xml`.

use std::io::{Cursor, Read as _};

use quick_xml::Reader;
use quick_xml::events::Event;

use super::{ExtractError, ExtractedText, Flow, too_much_text};

/// Maximum size of an XML part in bytes; a book of a thousand pages has ten megabytes of markup.
const MOST_XML_BYTES: u64 = 128 << 20;
/// Maximum number of parts; a document has a few dozen.
const MOST_PARTS: usize = 20_000;

/// The parts that are read: the body, then the notes that it refers to by number.
const PARTS: &[&str] = &["word/document.xml", "word/footnotes.xml", "word/endnotes.xml"];

pub(super) fn extract(bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
    extract_within(bytes, MOST_XML_BYTES)
}

/// Extracts the text with a limit on the unpacked size of a part.
pub(super) fn extract_within(bytes: &[u8], most: u64) -> Result<ExtractedText, ExtractError> {
    // Old documents, and encrypted ones, have another file format and the same extension.
    if bytes.starts_with(b"\xD0\xCF\x11\xE0") {
        return Err(ExtractError::Encrypted);
    }
    let broken = |what: String| ExtractError::Broken(format!("it is not a Word document: {what}"));
    let mut archive =
        zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(error.to_string()))?;
    if archive.len() > MOST_PARTS {
        return Err(ExtractError::TooLarge(format!("it has more than {MOST_PARTS} parts")));
    }
    let mut flow = Flow::default();
    for part in PARTS {
        let file = match archive.by_name(part) {
            Ok(file) => file,
            Err(zip::result::ZipError::FileNotFound) if *part != PARTS[0] => continue,
            Err(error) => return Err(broken(format!("`{part}`: {error}"))),
        };
        // The declared size is not trusted: unpacking stops at the limit.
        let mut xml = Vec::new();
        file.take(most + 1)
            .read_to_end(&mut xml)
            .map_err(|error| broken(format!("`{part}`: {error}")))?;
        if xml.len() as u64 > most {
            return Err(ExtractError::TooLarge(format!(
                "`{part}` unpacks to more than {} MiB",
                most >> 20
            )));
        }
        flow.block();
        read_part(&xml, &mut flow).map_err(|error| match error {
            ExtractError::Broken(what) => broken(format!("`{part}`: {what}")),
            other => other,
        })?;
    }
    Ok(ExtractedText { text: flow.text, ..ExtractedText::default() })
}

/// Reads a part: `w:t` contains text, between paragraphs, breaks and cells.
fn read_part(xml: &[u8], flow: &mut Flow) -> Result<(), ExtractError> {
    let mut reader = Reader::from_reader(xml);
    // Mismatched element names are errors; nesting only stores the names.
    let mut in_text = false;
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|error| ExtractError::Broken(error.to_string()))?;
        match event {
            Event::Start(tag) => match name(tag.local_name().as_ref()) {
                Tag::Text => in_text = true,
                Tag::Tab => flow.words(" "),
                Tag::Break => flow.line_break(),
                Tag::Paragraph | Tag::Row | Tag::Cell | Tag::Other => {}
            },
            Event::Empty(tag) => match name(tag.local_name().as_ref()) {
                Tag::Tab => flow.words(" "),
                Tag::Break => flow.line_break(),
                Tag::Paragraph => flow.block(),
                Tag::Text | Tag::Row | Tag::Cell | Tag::Other => {}
            },
            Event::End(tag) => match name(tag.local_name().as_ref()) {
                Tag::Text => in_text = false,
                Tag::Paragraph => flow.block(),
                Tag::Row => flow.line_break(),
                Tag::Cell => flow.words(" "),
                Tag::Tab | Tag::Break | Tag::Other => {}
            },
            Event::Text(text) if in_text => flow.words(&text.xml10_content()),
            Event::CData(text) if in_text => flow.words(&text.xml10_content()),
            Event::GeneralRef(reference) if in_text => {
                let character = match reference.resolve_char_ref() {
                    Ok(Some(character)) => Some(character),
                    // The five predefined entities of XML. Others would have to be declared, which does not happen here.
                    _ => match reference.xml10_content().as_ref() {
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "amp" => Some('&'),
                        "quot" => Some('"'),
                        "apos" => Some('\''),
                        _ => None,
                    },
                };
                if let Some(character) = character {
                    flow.words(character.encode_utf8(&mut [0; 4]));
                }
            }
            Event::Eof => return Ok(()),
            Event::Text(_)
            | Event::CData(_)
            | Event::GeneralRef(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_) => {}
        }
        if flow.is_full() {
            return Err(too_much_text());
        }
    }
}

enum Tag {
    Text,
    Paragraph,
    Tab,
    Break,
    Row,
    Cell,
    Other,
}

/// Matches names without their prefix, which depends on the program that wrote the file.
fn name<N: AsRef<[u8]> + ?Sized>(local: &N) -> Tag {
    match local.as_ref() {
        b"t" => Tag::Text,
        b"p" => Tag::Paragraph,
        b"tab" => Tag::Tab,
        b"br" | b"cr" => Tag::Break,
        b"tr" => Tag::Row,
        b"tc" => Tag::Cell,
        _ => Tag::Other,
    }
}
