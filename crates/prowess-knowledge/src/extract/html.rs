//! HTML to text: what a browser would show, block by block. Tags are processed one by one without building a tree,
//! so that deep nesting does no harm.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::plain::decode;
use super::{ExtractError, ExtractedText, Flow, too_much_text};

/// How long one document may take: the tokenizer compares every attribute of a tag with all before it.
const MAX_TIME: Duration = Duration::from_secs(20);
/// What is read between two looks at the clock.
const PIECE_BYTES: usize = 16 << 10;

pub(super) fn extract(bytes: &[u8]) -> Result<ExtractedText, ExtractError> {
    extract_within(bytes, MAX_TIME)
}

fn extract_within(bytes: &[u8], most: Duration) -> Result<ExtractedText, ExtractError> {
    let started = Instant::now();
    let text = decode(bytes)?;
    let input = BufferQueue::default();
    let sink = Sink(RefCell::new(State::default()));
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    // In pieces, because a buffer of the tokenizer is limited to four gigabytes, and to stop at the text limit.
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        input.push_back(StrTendril::from_slice(piece));
        while !input.is_empty() {
            let _ = tokenizer.feed(&input);
        }
        if tokenizer.sink.0.borrow().flow.is_full() {
            return Err(too_much_text());
        }
        if started.elapsed() > most {
            let reason = "it takes too long to read, because its tags have very many attributes";
            return Err(ExtractError::TooLarge(reason.to_owned()));
        }
        rest = after;
    }
    tokenizer.end();
    let state = tokenizer.sink.0.take();
    Ok(ExtractedText { title: state.title.text, text: state.flow.text, pages: Vec::new() })
}

struct Sink(RefCell<State>);

#[derive(Default)]
struct State {
    flow: Flow,
    title: Flow,
    in_title: bool,
    /// The invisible element that is being skipped.
    hidden: Option<&'static str>,
    /// Number of open preformatted elements.
    preformatted: usize,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) if state.hidden.is_none() => {
                if state.in_title && !state.title.is_full() {
                    state.title.words(&text);
                }
                if state.preformatted > 0 {
                    state.flow.lines(&text);
                } else {
                    state.flow.words(&text);
                }
            }
            Token::TagToken(tag) => {
                return state.tag(tag.kind, &tag.name);
            }
            Token::CharacterTokens(_)
            | Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

impl State {
    fn tag(&mut self, kind: TagKind, name: &str) -> TokenSinkResult<()> {
        let opens = kind == TagKind::StartTag;
        if let Some(hidden) = self.hidden {
            if !opens && name == hidden {
                self.hidden = None;
            }
            return TokenSinkResult::Continue;
        }
        match name {
            // The content of these is raw text, which the tokenizer has to be told (HTML §13.2.6.4.4).
            "script" | "style" | "noscript" | "iframe" | "noembed" | "noframes" | "textarea"
            | "title" | "xmp"
                if opens =>
            {
                // The title is kept, because pages are often found by it.
                let raw = match name {
                    "title" | "textarea" => RawKind::Rcdata,
                    "script" => RawKind::ScriptData,
                    _ => RawKind::Rawtext,
                };
                self.hidden = HIDDEN.iter().find(|hidden| **hidden == name).copied();
                self.in_title = name == "title" && self.title.text.is_empty();
                self.flow.block();
                return TokenSinkResult::RawData(raw);
            }
            // `svg` and `template` are ordinary tags whose content is skipped.
            "svg" | "template" | "math" if opens => {
                self.hidden = HIDDEN.iter().find(|hidden| **hidden == name).copied();
            }
            "br" | "tr" | "dt" | "dd" | "option" | "summary" => self.flow.line_break(),
            "td" | "th" => self.flow.words("\t"),
            "pre" | "listing" => {
                self.preformatted = if opens {
                    self.preformatted.saturating_add(1)
                } else {
                    self.preformatted.saturating_sub(1)
                };
                self.flow.block();
            }
            "li" => self.flow.line_break(),
            "title" => {
                self.in_title = false;
                self.flow.block();
            }
            _ if BLOCKS.contains(&name) => self.flow.block(),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

const HIDDEN: &[&str] =
    &["script", "style", "noscript", "iframe", "noembed", "noframes", "svg", "template", "math"];

const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "details",
    "dialog",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "section",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "ul",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_attributes_have_an_end() {
        // Finding 18: the time grows with the square of their number.
        let names = (0..400_000).map(|number| format!(" a{number}"));
        let page = format!("<p{}>", names.collect::<String>());
        let result = extract_within(page.as_bytes(), Duration::from_millis(100));
        assert!(matches!(result, Err(ExtractError::TooLarge(_))), "{result:?}");
    }
}
