use proptest::prelude::*;

use super::{MOST_WEIGHT, split, weight};

/// The chunks of a text, each cut short.
fn shown(text: &str) -> Vec<String> {
    let short = |text: &str| match text.char_indices().nth(24) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    };
    split(text).iter().map(|chunk| short(&text[chunk.range.clone()])).collect()
}

#[test]
fn a_short_text_is_one_chunk_without_the_blanks_around_it() {
    assert_eq!(shown("\n  One. Two.\n\nThree.\n"), ["One. Two.\n\nThree."]);
    assert_eq!(shown(" \n\t"), [""; 0]);
}

#[test]
fn chunks_end_with_a_sentence_and_repeat_the_last_ones() {
    let sentence = |number: usize| format!("Sentence {number:02} {}. ", "word ".repeat(8));
    let text: String = (0..60).map(sentence).collect();
    let chunks = split(&text);
    assert_eq!(chunks.len(), 2);
    for chunk in &chunks {
        let text = &text[chunk.range.clone()];
        assert!(text.starts_with("Sentence ") && text.ends_with('.'), "{text}");
    }
    // Three sentences of 53 bytes are below the limit of 200, a fourth is above.
    let overlap = chunks[0].range.end - chunks[1].range.start;
    assert_eq!(text[chunks[1].range.start..chunks[0].range.end].matches("Sentence").count(), 3);
    assert!(overlap <= 200, "{overlap}");
}

#[test]
fn a_line_break_ends_no_sentence_but_an_empty_line_does() {
    let wrapped = format!("{}\n{}", "a ".repeat(950), "b ".repeat(150));
    // One sentence of 2,200: it is cut at the line break, which is in its second half.
    assert_eq!(shown(&wrapped), ["a a a a a a a a a a a a …", "b b b b b b b b b b b b …"]);
    let parted = format!("{}\n\n{}", "a ".repeat(600), "b ".repeat(500));
    assert_eq!(shown(&parted).len(), 2);
    assert!(parted[split(&parted)[1].range.clone()].starts_with("b b"));
    let flowing = format!("First part.\nof a line {}. Last one.", "a ".repeat(1000));
    assert_eq!(shown(&flowing)[0], "First part.\nof a line a …");
}

#[test]
fn a_monster_of_a_word_is_cut_and_nothing_is_lost() {
    let text = "x".repeat(5000);
    let ranges: Vec<_> = split(&text).into_iter().map(|chunk| chunk.range).collect();
    assert_eq!(ranges, [0..2048, 2048..4096, 4096..5000]);
}

#[test]
fn the_address_is_of_words_and_not_of_blanks() {
    let address = |text: &str| split(text)[0].address;
    assert_eq!(address("one two"), address("one \n two"));
    assert_ne!(address("one two"), address("onetwo"));
}

proptest! {
    #[test]
    fn every_letter_is_in_a_chunk_and_none_is_too_large(
        parts in prop::collection::vec("[a-z知识 .!?\n]{0,80}|[a-z]{0,3000}|\\PC{0,60}", 0..40)
    ) {
        let text = parts.concat();
        let chunks = split(&text);
        let mut covered = 0;
        for chunk in &chunks {
            let part = &text[chunk.range.clone()];
            prop_assert!(!part.is_empty() && part == part.trim());
            prop_assert!(weight(part) <= MOST_WEIGHT, "{}", weight(part));
            prop_assert!(chunk.range.end > covered);
            if chunk.range.start > covered {
                prop_assert!(text[covered..chunk.range.start].trim().is_empty());
            }
            covered = chunk.range.end;
        }
        prop_assert!(text[covered..].trim().is_empty());
    }
}

#[test]
fn a_word_of_megabytes_is_cut_once_over() {
    // Scanning the rest for every piece would take minutes here.
    let text = "a".repeat(8 << 20);
    let chunks = split(&text);
    assert_eq!(chunks.first().map(|chunk| chunk.range.start), Some(0));
    assert_eq!(chunks.last().map(|chunk| chunk.range.end), Some(text.len()));
    assert!(chunks.windows(2).all(|pair| pair[1].range.start <= pair[0].range.end));
}
