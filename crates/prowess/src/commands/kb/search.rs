//! `prowess kb search`: searches a knowledge base.

use std::fmt::Write as _;
use std::ops::{Range, RangeInclusive};

use clap::Args;
use prowess_core::{Passage, Query};
use prowess_knowledge::{BaseName, KnowledgeBase, KnowledgeBases};
use serde_json::{Value, json};

use super::{Format, failed, parse_field, parse_name};
use crate::commands::Outcome;
use crate::error::Error;
use crate::render::run_events;
use crate::terminal::printer::{Printer, inline};

/// The most characters of a passage that are shown.
const SNIPPET: usize = 240;

/// Search a knowledge base
///
/// Shows the best matching passages, each with its document, its byte range in the
/// document's text, and its pages in a PDF. The query has no operators, and a word
/// may start with `-`. Scores can be compared only within one search.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess kb search papers boundary layer control
  prowess kb search papers --top 3 --filter team=search 'heat transfer'
  prowess kb search papers --format json wings")]
pub(super) struct Arguments {
    /// The name of the base
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: BaseName,
    /// The words to search for
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// The maximum number of passages
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    top: u16,
    /// Only documents with this field; every document has `format`, as in
    /// `format=pdf`
    #[arg(long = "filter", value_name = "NAME=VALUE", value_parser = parse_field)]
    filters: Vec<(String, String)>,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(
    bases: &KnowledgeBases,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let base = bases.base(&arguments.name).map_err(|error| failed(&error))?;
    let text = arguments.query.join(" ");
    let filters = arguments.filters.iter();
    let query = Query {
        top_k: usize::from(arguments.top),
        filters: filters.map(|(name, value)| (name.clone(), value.as_str().into())).collect(),
        text,
    };
    let passages = base.search(&query).map_err(|error| failed(&error))?;
    match arguments.format {
        Format::Json => {
            let results: Vec<Value> = passages.iter().map(wire).collect();
            printer.json(&json!({
                "base": arguments.name.as_str(),
                "query": query.text,
                "results": results,
            }));
        }
        Format::Text if passages.is_empty() => {
            printer.note(&format!("no matches in `{}`", arguments.name));
        }
        Format::Text => {
            let shown = (1..).zip(&passages);
            let shown: Vec<String> =
                shown.map(|(number, passage)| show(&base, &query.text, number, passage)).collect();
            printer.report(&shown.join("\n"));
        }
    }
    Ok(Outcome::Fine)
}

fn show(base: &KnowledgeBase, question: &str, number: usize, passage: &Passage) -> String {
    let Range { start, end } = passage.range;
    let mut shown = format!("{number}. {}  bytes {start}-{end}", inline(&passage.doc_id));
    if let Some(pages) = &passage.pages {
        let _ = write!(shown, "  {}", run_events::pages(pages));
    }
    let _ = writeln!(shown, "  score {:.4}", passage.score);
    let snippet = snippet(&passage.text, &base.places(question, &passage.text));
    let _ = writeln!(shown, "   {}", inline(&snippet));
    shown
}

/// The part of a passage with the most words of the question, on one line.
fn snippet(text: &str, places: &[Range<usize>]) -> String {
    let window = |start: usize| start..text.floor_char_boundary(start.saturating_add(SNIPPET));
    let within =
        |window: &Range<usize>| places.iter().filter(|place| window.contains(&place.start)).count();
    // Leave a few words before the first match.
    let starts =
        places.iter().map(|place| text.floor_char_boundary(place.start.saturating_sub(40)));
    let best = std::iter::once(0).chain(starts).map(window).first_max_by_key(within);
    // Words are not cut.
    let mut range = best;
    if range.start > 0 {
        let part = &text[range.clone()];
        range.start += part.find(char::is_whitespace).unwrap_or_default();
    }
    if range.end < text.len() {
        let part = &text[range.clone()];
        range.end = range.start + part.rfind(char::is_whitespace).unwrap_or(part.len());
    }
    let words: Vec<&str> = text[range.clone()].split_whitespace().collect();
    let before = if range.start > 0 { "… " } else { "" };
    let after = if range.end < text.len() { " …" } else { "" };
    format!("{before}{}{after}", words.join(" "))
}

/// `max_by_key` that returns the first maximum, where the standard library returns the last.
trait FirstMax: Iterator<Item = Range<usize>> + Sized {
    fn first_max_by_key(self, key: impl Fn(&Range<usize>) -> usize) -> Range<usize> {
        let mut best = 0..0;
        let mut most = None;
        for window in self {
            let count = key(&window);
            if most.is_none_or(|most| count > most) {
                most = Some(count);
                best = window;
            }
        }
        best
    }
}

impl<I: Iterator<Item = Range<usize>>> FirstMax for I {}

fn wire(passage: &Passage) -> Value {
    json!({
        "doc_id": passage.doc_id,
        "chunk": passage.chunk_index,
        "score": passage.score,
        "start": passage.range.start,
        "end": passage.range.end,
        "page": passage.pages.as_ref().map(RangeInclusive::start),
        "last_page": passage.pages.as_ref().map(RangeInclusive::end),
        "text": passage.text,
    })
}

#[cfg(test)]
mod tests {
    use super::snippet;

    #[test]
    fn the_part_with_the_most_matches_is_shown() {
        let text = format!("{}needle in hay {}", "straw ".repeat(80), "straw ".repeat(80));
        let at = text.find("needle").expect("it is there");
        let places = Vec::from([at..at + 6, at + 10..at + 13]);
        let shown = snippet(&text, &places);
        assert!(shown.starts_with("… straw") && shown.ends_with("straw …"), "{shown}");
        assert!(shown.contains("needle in hay"), "{shown}");
        assert_eq!(snippet("short\n text", &[]), "short text");
    }
}
