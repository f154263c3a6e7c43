//! What is shown of a line.

use insta::assert_snapshot;
use prowess_format::span::{LineIndex, Span};

use super::Excerpt;

/// The line with the marked part in brackets.
fn shown(text: &str, start: usize, end: usize) -> String {
    let Excerpt { line, mark } = Excerpt::new(text, &LineIndex::new(text), Span::new(start, end));
    format!("{}[{}]{}", &line[..mark.start], &line[mark.clone()], &line[mark.end..])
}

#[test]
fn a_place_is_marked_in_its_line() {
    assert_snapshot!(shown("one\ntwo words\nthree", 8, 13), @"two [words]");
    assert_snapshot!(shown("one\r\ntwo\r\n", 5, 8), @"[two]");
}

#[test]
fn a_place_of_several_lines_ends_with_its_first() {
    assert_snapshot!(shown("one\ntwo\nthree", 5, 13), @"t[wo]");
}

#[test]
fn the_end_of_a_text_has_an_empty_mark() {
    assert_snapshot!(shown("one\n", 4, 4), @"[]");
    assert_snapshot!(shown("", 0, 0), @"[]");
    assert_snapshot!(shown("one", 99, 100), @"one[]");
}

#[test]
fn deceptive_characters_become_escapes_and_the_mark_follows() {
    assert_snapshot!(shown("a\u{202e}b c", 4, 5), @r"a\u{202e}[b] c");
    assert_snapshot!(shown("a\u{200b}b", 1, 4), @r"a[\u{200b}]b");
}

#[test]
fn an_offset_inside_a_character_is_moved_to_its_start() {
    assert_snapshot!(shown("aé b", 2, 3), @"a[é] b");
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let text = "x".repeat(100_000);
    let excerpt = Excerpt::new(&text, &LineIndex::new(&text), Span::new(50_000, 50_001));
    assert!(excerpt.line.len() < 10_000);
    assert_eq!(&excerpt.line[excerpt.mark], "x");
}
