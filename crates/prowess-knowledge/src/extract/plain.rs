//! Plain text and Markdown. In UTF-8 the bytes are the text, so positions in it are positions in the file. In other
//! encodings they are positions in the file converted to UTF-8, as the guide says.

use super::{ExtractError, ExtractedText};

pub(super) fn extract(bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
    Ok(ExtractedText { text: decode(bytes)?, ..ExtractedText::default() })
}

/// Extracts Markdown, whose first heading is the title.
pub(super) fn extract_markdown(bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
    let text = decode(bytes)?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    let title = heading.unwrap_or_default().trim_end_matches(['#', ' ']).to_owned();
    Ok(ExtractedText { title, text, pages: Vec::new() })
}

/// Decodes UTF-8, or UTF-16 with a byte order mark. Other bytes are decoded as Windows-1252, in which every byte is
/// valid, unless they don't look like text.
pub(super) fn decode(bytes: &[u8]) -> Result<String, ExtractError> {
    if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
        return Ok(utf16(rest, u16::from_le_bytes));
    }
    if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
        return Ok(utf16(rest, u16::from_be_bytes));
    }
    if bytes.contains(&0) {
        return Err(ExtractError::Broken("it is not text: it contains zero bytes".to_owned()));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Ok(bytes.iter().map(|&byte| windows_1252(byte)).collect()),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Decodes a byte: Latin-1, except where that has control characters.
fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž',
        '\u{8F}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}',
        'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}
