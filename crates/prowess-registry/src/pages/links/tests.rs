use super::*;

#[test]
fn parts_of_addresses_are_encoded() {
    let links = SkillLinks::new("acme", "pdf-forms", Some("1.0.0+b/../x"));
    assert_eq!(links.page(), "/acme/pdf-forms/1.0.0%2Bb%2F..%2Fx");
    assert_eq!(
        links.file("a b/\"><script>.md"),
        "/acme/pdf-forms/-/files/a%20b/%22%3E%3Cscript%3E.md?version=1.0.0%2Bb%2F..%2Fx"
    );
}

#[test]
fn only_web_addresses_and_files_of_the_skill_are_links() {
    use AuthorLink::{Elsewhere, File, Heading, Nowhere};
    let elsewhere = |text: &str| Elsewhere(text.to_owned());
    let cases = [
        ("https://acme.dev/a?b#c", elsewhere("https://acme.dev/a?b#c")),
        ("HTTPS://ACME.dev", elsewhere("https://acme.dev/")),
        ("mailto:a@b.dev", elsewhere("mailto:a@b.dev")),
        ("#units", Heading("units".to_owned())),
        ("references/retries.md#top", File("references/retries.md".to_owned())),
        ("./a/../b.md", File("b.md".to_owned())),
        ("javascript:alert(1)", Nowhere),
        ("java\nscript:alert(1)", Nowhere),
        (" \u{1}javascript:alert(1)", Nowhere),
        ("JaVaScRiPt&colon;alert(1)", File("JaVaScRiPt&colon;alert(1)".to_owned())),
        ("data:text/html,<script>", Nowhere),
        ("vbscript:x", Nowhere),
        ("file:///etc/passwd", Nowhere),
        ("//evil.example/x", Nowhere),
        ("/account", Nowhere),
        ("\\\\evil\\x", Nowhere),
        ("../../account", Nowhere),
        ("..%2f..%2faccount", Nowhere),
        ("https://user:pass@evil.example", Nowhere),
        ("", Nowhere),
    ];
    for (destination, expected) in cases {
        assert_eq!(author_link(destination), expected, "{destination:?}");
    }
}
