use proptest::prelude::*;
use tantivy::tokenizer::{TokenStream as _, Tokenizer as _};
use unicode_normalization::char::is_combining_mark;

use super::{Questions, Words, analyzer, words_of};
use crate::language::Language;

fn check(language: Language, text: &str, expected: &str) {
    assert_eq!(words_of(&mut analyzer(language), text).join(" "), expected, "{text}");
}

#[test]
fn words_are_reduced_to_stems_of_their_language() {
    check(Language::English, "The flows were heated; HEATING!", "the flow were heat heat");
    check(Language::German, "Die Häuser und das Haus", "die haus und das haus");
    check(Language::None, "flows heating", "flows heating");
}

#[test]
fn scripts_without_blanks_give_pairs() {
    check(Language::English, "知识库检索", "知识 识库 库检 检索");
    check(Language::Chinese, "用Rust写的搜索引擎。好", "用 rust 写的 的搜 搜索 索引 引擎 好");
}

#[test]
fn different_spellings_of_a_letter_are_one() {
    // Decomposed, wide, and a ligature.
    check(Language::None, "cafe\u{301} ＡＢＣ ﬁne", "café abc fine");
}

#[test]
fn data_is_not_a_word() {
    check(Language::None, &format!("a {} b", "x".repeat(65)), "a b");
}

#[test]
fn a_question_loses_the_words_that_say_nothing_unless_it_has_no_others() {
    let words = |text| Questions::new(Language::English).words(text).join(" ");
    assert_eq!(words("What are the laws of similarity?"), "law similar");
    assert_eq!(words("to be or not to be"), "to be or not to be");
    let german = Questions::new(Language::German).words("Was ist das für ein Haus");
    assert_eq!(german, ["haus"]);
}

#[test]
fn places_are_bytes_of_the_text() {
    let text = "größere Flügel, flügel";
    let questions = Questions::new(Language::German);
    let words = questions.words("Flügel");
    let found: Vec<&str> =
        questions.places(&words, text).into_iter().map(|place| &text[place]).collect();
    assert_eq!(found, ["Flügel", "flügel"]);
}

/// Runs of letters, digits and the marks after them, character by character.
fn runs(text: &str) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        let goes_on = runs.last().is_some_and(|run| run.1 == at);
        if goes_on && (character.is_alphanumeric() || is_combining_mark(character)) {
            runs.last_mut().expect("there is one").1 = end;
        } else if character.is_alphanumeric() {
            runs.push((at, end));
        }
    }
    runs
}

proptest! {
    #[test]
    fn bytes_and_characters_give_the_same_words(text in "[a-cX-Z0-9 .,_é\u{301}ß—\0]{0,40}") {
        let mut words = Words;
        let mut stream = words.token_stream(&text);
        let mut found = Vec::new();
        while stream.advance() {
            found.push((stream.token().offset_from, stream.token().offset_to));
        }
        prop_assert_eq!(found, runs(&text));
    }
}
