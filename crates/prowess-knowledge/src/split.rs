//! Splits a text into chunks: whole sentences where possible, with some overlap, each with its exact byte range.

mod ascii;

use std::ops::Range;

use sha2::{Digest as _, Sha256};
use unicode_segmentation::UnicodeSegmentation as _;

/// The version of the splitter, part of every chunk's address: after a change, documents are split again when they are
/// next added.
pub(crate) const VERSION: u32 = 1;

/// Maximum size of a chunk: 512 tokens as in Agent Flow Lite, at four characters each.
const MOST_WEIGHT: usize = 2048;
/// Overlap with the previous chunk: 50 tokens.
const OVERLAP_WEIGHT: usize = 200;

/// A chunk of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The byte range in the text.
    pub range: Range<usize>,
    /// The address: a hash of the text with normalised whitespace and of the splitter's version.
    pub address: [u8; 32],
}

/// Splits a text. Every letter is in a chunk; no chunk is empty or begins or ends with whitespace.
pub fn split(text: &str) -> Vec<Chunk> {
    let sentences = sentences(text);
    // Whitespace between sentences counts, so that a chunk can't consist of a million spaces.
    let with_blanks = |index: usize| {
        let gap = sentences[index - 1].range.end..sentences[index].range.start;
        sentences[index].weight + weight(&text[gap])
    };
    let mut chunks = Vec::new();
    let mut begin = 0;
    while begin < sentences.len() {
        let mut sum = sentences[begin].weight;
        let mut end = begin + 1;
        while end < sentences.len() && sum + with_blanks(end) <= MOST_WEIGHT {
            sum += with_blanks(end);
            end += 1;
        }
        let range = sentences[begin].range.start..sentences[end - 1].range.end;
        chunks.push(Chunk { address: address(&text[range.clone()]), range });
        if end == sentences.len() {
            break;
        }
        // The last sentences are repeated in the next chunk, as long as there is room for new text.
        let room = OVERLAP_WEIGHT.min(MOST_WEIGHT.saturating_sub(with_blanks(end)));
        let mut repeated = 0;
        let mut next = end;
        while next > begin + 1 && repeated + with_blanks(next - 1) <= room {
            next -= 1;
            repeated += with_blanks(next);
        }
        begin = next;
    }
    chunks
}

/// The address of a chunk's text.
pub(crate) fn address(text: &str) -> [u8; 32] {
    // In one piece, because a hasher call per word takes longer than the hashing itself.
    let mut words = Vec::with_capacity(text.len() + 5);
    words.extend_from_slice(&VERSION.to_le_bytes());
    for word in text.split_whitespace() {
        words.extend_from_slice(word.as_bytes());
        words.push(b' ');
    }
    Sha256::digest(&words).into()
}

/// The first sentence of a text.
pub(crate) fn first_sentence(text: &str) -> Option<Range<usize>> {
    let start = text.len() - text.trim_start().len();
    // Long enough for any sentence that a caller uses.
    let end = text.floor_char_boundary(start.saturating_add(MOST_WEIGHT));
    sentences(&text[..end]).into_iter().next().map(|sentence| sentence.range)
}

struct Sentence {
    range: Range<usize>,
    weight: usize,
}

/// The sentences of a text, trimmed; long ones are split.
fn sentences(text: &str) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for paragraph in paragraphs(text) {
        // A paragraph may span lines, but a line break ends a sentence for the Unicode algorithm (UAX 29).
        // A space has the same length, so positions do not change.
        let flowing = text[paragraph.clone()].replace(['\n', '\r'], " ");
        let mut begin = 0;
        for end in sentence_ends(&flowing) {
            let range = trimmed(text, paragraph.start + begin..paragraph.start + end);
            if !range.is_empty() {
                push_pieces(text, range, &mut sentences);
            }
            begin = end;
        }
    }
    sentences
}

/// The ends of the sentences in a text without line breaks.
fn sentence_ends(text: &str) -> Vec<usize> {
    if text.is_ascii() {
        return ascii::sentence_ends(text.as_bytes());
    }
    let sentences = text.split_sentence_bound_indices();
    sentences.map(|(at, sentence)| at + sentence.len()).collect()
}

/// The paragraphs: runs of lines between empty ones.
fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let mut paragraphs = Vec::new();
    let mut begin = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        match (line.trim().is_empty(), begin) {
            (true, Some(start)) => {
                paragraphs.push(start..at);
                begin = None;
            }
            (false, None) => begin = Some(at),
            (true, None) | (false, Some(_)) => {}
        }
        at += line.len();
    }
    paragraphs.extend(begin.map(|start| start..at));
    paragraphs
}

/// Adds a sentence, split if it is too long. Pieces end at a line break or a space if there is one in their
/// second half.
fn push_pieces(text: &str, mut range: Range<usize>, sentences: &mut Vec<Sentence>) {
    loop {
        // No further than the limit: a file may be one word of many megabytes.
        let mut fits = range.start;
        let mut sum = 0;
        if range.len() <= MOST_WEIGHT && text[range.clone()].is_ascii() {
            (fits, sum) = (range.end, range.len());
        } else {
            for (at, character) in text[range.clone()].char_indices() {
                if sum + weight_of(character) > MOST_WEIGHT {
                    break;
                }
                sum += weight_of(character);
                fits = range.start + at + character.len_utf8();
            }
        }
        if fits == range.end {
            sentences.push(Sentence { range, weight: sum });
            return;
        }
        let piece = &text[range.start..fits];
        let half = piece.len() / 2;
        let cut = [piece.rfind('\n'), piece.rfind(char::is_whitespace)]
            .into_iter()
            .flatten()
            .find(|&cut| cut > half)
            .map_or(fits, |cut| range.start + cut);
        let piece = trimmed(text, range.start..cut);
        sentences.push(Sentence { weight: weight(&text[piece.clone()]), range: piece });
        range = trimmed_start(text, cut..range.end);
        if range.is_empty() {
            return;
        }
    }
}

/// Trims the start of a range; its end is trimmed already.
fn trimmed_start(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    range.start + (part.len() - part.trim_start().len())..range.end
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

fn weight(text: &str) -> usize {
    text.chars().map(weight_of).sum()
}

/// The weight of a character: about a token in scripts such as Chinese, a quarter of one in others.
fn weight_of(character: char) -> usize {
    if u32::from(character) >= 0x2E80 { 4 } else { 1 }
}

#[cfg(test)]
mod tests;
