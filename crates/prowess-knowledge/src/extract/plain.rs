//! Plain text and Markdown: in UTF-8 the bytes are the text, so that places in it are places in the file. In other
//! encodings they are places in the file as UTF-8, which is what the guide says.

use super::{ExtractError, Extracted};

pub(super) fn extract(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    Ok(Extracted { text: decode(bytes)?, ..Extracted::default() })
}

/// The first heading is the title.
pub(super) fn extract_markdown(bytes: &[u8]) -> Result<Extracted, ExtractError> {
    let text = decode(bytes)?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    let title = heading.unwrap_or_default().trim_end_matches(['#', ' ']).to_owned();
    Ok(Extracted { title, text, pages: Vec::new() })
}

/// UTF-8, or UTF-16 with its mark. Other bytes are taken for Windows-1252, which every byte is something in, unless
/// they look like no text at all.
pub(super) fn decode(bytes: &[u8]) -> Result<String, ExtractError> {
    if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
        return Ok(utf16(rest, u16::from_le_bytes));
    }
    if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
        return Ok(utf16(rest, u16::from_be_bytes));
    }
    if bytes.contains(&0) {
        return Err(ExtractError::Broken("it is no text: it has zero bytes".to_owned()));
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

/// Latin-1 but for the 32 places where it has control characters.
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
