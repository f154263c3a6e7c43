use proptest::prelude::*;

use super::*;

fn shown(text: &str, language: Language) -> String {
    let lines = lines(text, language);
    let line = |line: &Line| {
        let piece = |piece: &Piece| match piece.class.name() {
            Some(name) => format!("<{name} {}>", piece.text),
            None => piece.text.clone(),
        };
        line.iter().map(piece).collect::<String>()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn python_has_words_strings_comments_and_numbers() {
    let text = "def add(a, b=1.5):\n    \"\"\"Adds.\n    Both.\"\"\"\n    return a - b  # why\n";
    insta::assert_snapshot!(shown(text, Language::Python), @r#"
    <kw def> add(a, b=<num 1.5>):
        <str """Adds.>
    <str     Both.""">
        <kw return> a - b  <com # why>
    "#);
}

#[test]
fn keys_of_yaml_and_json_are_keys() {
    let yaml = "name: pdf-forms\n  - type: \"text\" # note\nread_only: true\n";
    insta::assert_snapshot!(shown(yaml, Language::Yaml), @r#"
    <key name>: pdf-forms
      - <key type>: <str "text"> <com # note>
    <key read_only>: <num true>
    "#);
    insta::assert_snapshot!(shown("{\"a\": [1, \"b\"]}", Language::Json), @r#"{<key "a">: [<num 1>, <str "b">]}"#);
}

#[test]
fn an_open_string_ends_with_its_line_and_an_open_comment_with_the_text() {
    insta::assert_snapshot!(shown("echo \"a\nb\n", Language::Shell), @r#"
    echo <str "a>
    b
    "#);
    insta::assert_snapshot!(shown("x /* y\nz", Language::JavaScript), @r"
    x <com /* y>
    <com z>
    ");
}

proptest! {
    /// No text is lost, added or moved, and nothing panics.
    #[test]
    fn the_pieces_are_the_text(text in "[ -~\\n\u{e4}\u{4e2d}\"'`#/*-]{0,200}") {
        let languages = [
            Language::Plain, Language::Markdown, Language::Yaml, Language::Json, Language::Toml,
            Language::Python, Language::Shell, Language::JavaScript, Language::Rust, Language::Go,
            Language::Sql,
        ];
        for language in languages {
            let joined: Vec<String> = lines(&text, language)
                .iter()
                .map(|line| line.iter().map(|piece| piece.text.as_str()).collect())
                .collect();
            let expected: Vec<&str> = text.lines().collect();
            prop_assert_eq!(&joined, &expected, "{:?}", language);
        }
    }
}
