use super::{Questions, analyzer, words_of};
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
