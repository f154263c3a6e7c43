use std::collections::BTreeSet;

use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer,
};

use super::*;

/// An element with its attributes.
type Element = (String, Vec<(String, String)>);

/// The elements of a page, as a browser's tokenizer sees them.
#[derive(Default)]
struct Seen {
    found: std::cell::RefCell<Vec<Element>>,
}

impl TokenSink for Seen {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        if let Token::TagToken(Tag { kind: TagKind::StartTag, name, attrs, .. }) = token {
            let attributes = attrs
                .iter()
                .map(|attribute| (attribute.name.local.to_string(), attribute.value.to_string()))
                .collect();
            self.found.borrow_mut().push((name.to_string(), attributes));
        }
        TokenSinkResult::Continue
    }
}

fn elements(html: &str) -> Vec<Element> {
    let input = BufferQueue::default();
    input.push_back(html.into());
    let tokenizer = Tokenizer::new(Seen::default(), html5ever::tokenizer::TokenizerOpts::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.found.take()
}

/// Elements that Markdown makes of punctuation.
const MARKDOWN: [&str; 12] =
    ["em", "strong", "del", "h4", "h5", "blockquote", "pre", "code", "br", "hr", "ol", "ul"];

#[test]
fn every_page_is_as_designed() {
    for (name, page) in (Samples { hostile: String::new() }).all() {
        // Names of static files change with their content.
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.add_filter(r"\.[0-9a-f]{8}\.(css|js|svg|png)", ".[digest].$1");
        settings.bind(|| insta::assert_snapshot!(name, page));
    }
}

/// Attack registry-D10: whatever strangers write stays text on every page.
#[test]
fn thirty_payloads_stay_text_on_every_page() {
    let allowed: BTreeSet<String> = (Samples { hostile: "x".to_owned() })
        .all()
        .iter()
        .flat_map(|(_, page)| elements(page))
        .map(|(name, _)| name)
        .chain(MARKDOWN.map(str::to_owned))
        .collect();
    let payloads: Vec<&str> =
        include_str!("payloads.txt").lines().filter(|line| !line.is_empty()).collect();
    assert!(payloads.len() >= 30, "{}", payloads.len());
    for payload in payloads {
        // Written as in the file, with the escapes of characters that a line of text can't hold.
        let payload = payload.replace("\\n", "\n").replace("\\0", "\0").replace("\\t", "\t");
        for (page_name, page) in (Samples { hostile: payload.clone() }).all() {
            for (name, attributes) in elements(&page) {
                assert!(allowed.contains(&name), "`{payload}` makes <{name}> on {page_name}");
                for (key, value) in attributes {
                    assert!(!key.starts_with("on"), "`{payload}` makes {key}= on {page_name}");
                    assert!(
                        key != "style" && key != "srcdoc",
                        "`{payload}` makes {key}= on {page_name}"
                    );
                    let is_script = name == "script" && key == "src";
                    assert!(
                        !is_script || value.starts_with("/static/"),
                        "`{payload}` loads {value} on {page_name}"
                    );
                    let is_address = matches!(
                        key.as_str(),
                        "href" | "src" | "action" | "formaction" | "poster" | "data"
                    );
                    let is_harmless = ["/", "#", "https://", "http://", "mailto:", "otpauth:"]
                        .iter()
                        .any(|start| value.starts_with(start));
                    assert!(
                        !is_address || is_harmless,
                        "`{payload}` leads to {value} on {page_name}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_form_that_changes_something_has_a_token_and_every_id_is_unique() {
    for (name, page) in (Samples { hostile: String::new() }).all() {
        let posts = page.matches("<form method=\"post\"").count();
        assert_eq!(page.matches("name=\"csrf\" value=\"csrf-token\"").count(), posts, "{name}");
        let mut ids = BTreeSet::new();
        for (_, attributes) in elements(&page) {
            for (key, value) in attributes {
                assert!(key != "id" || ids.insert(value.clone()), "{name} has {value} twice");
            }
        }
    }
}

#[test]
fn an_experimental_skill_has_a_warning() {
    // GAIA-4.3-4
    let pages = (Samples { hostile: String::new() }).all();
    for name in ["skill", "skill-files", "search"] {
        let (_, page) = pages.iter().find(|(page, _)| *page == name).unwrap();
        assert!(page.contains("Experimental"), "{name}");
    }
}
