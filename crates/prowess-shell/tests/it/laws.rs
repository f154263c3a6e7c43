//! What holds for every text.

use proptest::prelude::*;

/// Pieces from which texts of any shape are made.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "$(",
        ")",
        "`",
        "\"",
        "'",
        "|",
        "&&",
        ";",
        "\n",
        "<<EOF\n",
        "EOF\n",
        "{",
        "}",
        "(",
        "if ",
        "then ",
        "fi",
        "sh -c ",
        "curl ",
        "https://a.b",
        "é",
        "\u{202e}",
        "\\",
        "#",
        "eval ",
        "<(",
        "case x in",
        "esac",
        "a",
        " ",
        "0",
        "[[",
        "]]",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_text_is_read(text in pieces()) {
        let script = prowess_shell::parse(&text);
        for program in script.programs() {
            prop_assert!(text.get(program.span).is_some());
        }
        for span in script.downloads_that_run() {
            prop_assert!(text.get(span).is_some());
        }
        for command in &script.commands {
            prop_assert!(command.reads_from.iter().all(|index| *index < script.commands.len()));
        }
    }

    #[test]
    fn arbitrary_text_is_read(text in any::<String>()) {
        let _ = prowess_shell::parse(&text).programs();
    }
}

/// Nesting and repetition that a recursive or quadratic reader does not survive.
#[test]
fn large_and_deep_texts_end() {
    for (piece, times) in [
        ("$(a ", 50_000),
        ("(", 200_000),
        ("{ a | ", 50_000),
        ("a | sh | ", 100_000),
        ("\"$(", 50_000),
        ("`", 100_001),
        ("echo https://a.b/ ", 50_000),
        ("curl x | sh; ", 50_000),
        ("sh -c \"", 50_000),
        ("if a; then ", 50_000),
        ("cat <<E\n", 50_000),
        ("sudo ", 200_000),
        ("a=(", 300_000),
        ("curl x | sh\n", 50_000),
        ("${a:-", 50_000),
        ("[[ a ", 50_000),
    ] {
        let text = piece.repeat(times);
        let script = prowess_shell::parse(&text);
        let _ = (script.programs(), script.downloads_that_run());
    }
}

/// A pipeline that is too long to be parsed is left out, and the rest is read.
#[test]
fn a_list_that_is_too_long_is_reported() {
    let text = format!("git status\n{}sh\njq .\n", "a | ".repeat(1_000));
    let script = prowess_shell::parse(&text);
    let names: Vec<String> = script.programs().into_iter().map(|program| program.name).collect();
    assert_eq!(names, ["git", "jq"]);
    assert!(!script.is_complete);
}
