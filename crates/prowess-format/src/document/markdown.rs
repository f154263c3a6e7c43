//! The body of a skill as blocks with spans: headings, tables, fences, text.
//!
//! Uses a CommonMark parser, so that `###` inside a code fence is not a heading (GIB-3.1-6) and a
//! table is a table.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::span::Span;

/// One top-level block of a Markdown text.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// `# …` to `###### …`.
    Heading {
        /// 1 to 6.
        level: u8,
        /// The text without markup.
        text: String,
        /// The whole heading.
        span: Span,
    },
    /// A fenced or indented code block.
    Code {
        /// The info string; empty for an indented block.
        info: String,
        /// The code.
        text: String,
        /// The whole block.
        span: Span,
        /// The code's own bytes.
        content: Span,
    },
    /// A table.
    Table {
        /// The header cells.
        header: Vec<TableCell>,
        /// The rows below it.
        rows: Vec<Vec<TableCell>>,
        /// The whole table.
        span: Span,
    },
    /// Anything else, as plain text.
    Text {
        /// The text, its lines joined by spaces.
        text: String,
        /// The whole block.
        span: Span,
    },
}

/// A table cell.
#[derive(Clone, Debug, PartialEq)]
pub struct TableCell {
    /// The text without markup.
    pub text: String,
    /// The cell's bytes.
    pub span: Span,
}

impl Block {
    /// The block's bytes.
    pub fn span(&self) -> Span {
        match self {
            Block::Heading { span, .. }
            | Block::Code { span, .. }
            | Block::Table { span, .. }
            | Block::Text { span, .. } => *span,
        }
    }
}

/// The top-level blocks of `text`; spans are offset by `base`.
pub fn blocks(text: &str, base: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut depth = 0_usize;
    let mut plain = String::new();
    let mut cells: Vec<TableCell> = Vec::new();
    let mut rows: Vec<Vec<TableCell>> = Vec::new();
    let mut header: Vec<TableCell> = Vec::new();
    let mut code_content: Option<Span> = None;
    for (event, range) in Parser::new_ext(
        text,
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH,
    )
    .into_offset_iter()
    {
        let span = Span::new(range.start, range.end).shift(base);
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    plain.clear();
                    code_content = None;
                }
                match tag {
                    Tag::TableCell => plain.clear(),
                    Tag::Paragraph | Tag::Item if !plain.is_empty() => plain.push(' '),
                    _ => {}
                }
                depth += 1;
                // The info string is in the start tag only.
                if let (1, Tag::CodeBlock(kind)) = (depth, &tag) {
                    let info = match kind {
                        CodeBlockKind::Fenced(info) => info.to_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    blocks.push(Block::Code {
                        info,
                        text: String::new(),
                        span,
                        content: Span::at(span.start as usize),
                    });
                }
            }
            Event::End(tag) => {
                depth -= 1;
                match tag {
                    TagEnd::TableCell => {
                        // The parser includes the spaces around a cell.
                        let source = text.get(range.clone()).unwrap_or_default();
                        let start = range.start + (source.len() - source.trim_start().len());
                        let span = Span::new(start, start + source.trim().len()).shift(base);
                        cells.push(TableCell { text: plain.trim().to_owned(), span });
                    }
                    TagEnd::TableHead => header = std::mem::take(&mut cells),
                    TagEnd::TableRow => rows.push(std::mem::take(&mut cells)),
                    _ => {}
                }
                if depth > 0 {
                    continue;
                }
                match tag {
                    TagEnd::Heading(level) => blocks.push(Block::Heading {
                        level: level_number(level),
                        text: plain.trim().to_owned(),
                        span,
                    }),
                    TagEnd::CodeBlock => {
                        if let Some(Block::Code { text, content, .. }) = blocks.last_mut() {
                            text.clone_from(&plain);
                            *content = code_content.unwrap_or(*content);
                        }
                    }
                    TagEnd::Table => blocks.push(Block::Table {
                        header: std::mem::take(&mut header),
                        rows: std::mem::take(&mut rows),
                        span,
                    }),
                    _ => blocks.push(Block::Text { text: plain.trim().to_owned(), span }),
                }
            }
            Event::Text(piece) => {
                plain.push_str(&piece);
                code_content = Some(code_content.map_or(span, |content| content.join(span)));
            }
            Event::Code(piece) => plain.push_str(&piece),
            Event::SoftBreak | Event::HardBreak => plain.push(' '),
            Event::Html(piece) | Event::InlineHtml(piece) if depth > 0 => {
                plain.push_str(&piece);
            }
            _ => {}
        }
    }
    blocks
}

/// A piece of code in a Markdown text, at any depth: in a list, in a quotation, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePiece {
    /// The info string of a fenced block; `None` for an indented block and for code in a sentence.
    pub info: Option<String>,
    /// The code.
    pub text: String,
    /// The code's place, with its fences or backticks.
    pub span: Span,
    /// Whether it is part of a sentence.
    pub is_inline: bool,
}

/// Every piece of code of a text, in order; spans are offset by `base`.
pub fn code_pieces(text: &str, base: usize) -> Vec<CodePiece> {
    let mut pieces: Vec<CodePiece> = Vec::new();
    let mut is_open = false;
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        let span = Span::new(range.start, range.end).shift(base);
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => Some(info.to_string()),
                    CodeBlockKind::Indented => None,
                };
                pieces.push(CodePiece { info, text: String::new(), span, is_inline: false });
                is_open = true;
            }
            Event::End(TagEnd::CodeBlock) => is_open = false,
            Event::Text(piece) if is_open => {
                if let Some(open) = pieces.last_mut() {
                    open.text.push_str(&piece);
                }
            }
            Event::Code(code) => {
                pieces.push(CodePiece {
                    info: None,
                    text: code.to_string(),
                    span,
                    is_inline: true,
                });
            }
            _ => {}
        }
    }
    pieces
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// The section below the heading that `anchor` names (`## Setup Steps`, `Setup Steps` or `setup-steps`): from the heading to the next one of the same or a higher level.
pub fn section(blocks: &[Block], anchor: &str) -> Option<Span> {
    let hashes = anchor.len() - anchor.trim_start_matches('#').len();
    let wanted = anchor[hashes..].trim();
    let (at, level, start) = blocks.iter().enumerate().find_map(|(at, block)| match block {
        Block::Heading { level, text, span }
            if (hashes < 2 || usize::from(*level) == hashes) && same_heading(text, wanted) =>
        {
            Some((at, *level, *span))
        }
        _ => None,
    })?;
    let end = blocks[at + 1..].iter().find_map(|block| match block {
        Block::Heading { level: next, span, .. } if *next <= level => Some(span.start),
        _ => None,
    });
    let end = end.or_else(|| blocks.last().map(|block| block.span().end)).unwrap_or(start.end);
    Some(Span { start: start.start, end })
}

fn same_heading(text: &str, wanted: &str) -> bool {
    text.eq_ignore_ascii_case(wanted) || heading_anchor(text) == wanted
}

/// The anchor that hosting sites make of a heading.
pub fn heading_anchor(text: &str) -> String {
    text.to_lowercase()
        .chars()
        .filter_map(|character| match character {
            ' ' => Some('-'),
            _ if character.is_alphanumeric() || matches!(character, '-' | '_') => Some(character),
            _ => None,
        })
        .collect()
}

/// A file that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMention {
    /// The path as it is written, without a fragment.
    pub path: String,
    /// The link or the code span.
    pub span: Span,
    /// Whether it is the target of a link or an image; otherwise it is in a code span.
    pub is_link: bool,
}

/// The most mentions of one text: a hostile text must not cost a system call per byte.
const MOST_MENTIONS: usize = 1_000;

/// The relative paths that a text names: targets of links and images, and code spans such as `` `scripts/run.py` ``. Code
/// blocks are not searched; spans are offset by `base`.
pub fn file_mentions(text: &str, base: usize) -> Vec<FileMention> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).into_offset_iter();
    let mentions = events.filter_map(|(event, range)| {
        let (path, is_link) = match &event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                (link_path(dest_url)?, true)
            }
            Event::Code(code) => (code_path(code)?, false),
            _ => return None,
        };
        Some(FileMention { path, span: Span::new(range.start, range.end).shift(base), is_link })
    });
    mentions.take(MOST_MENTIONS).collect()
}

/// The path of a link that leads to a file beside the text.
fn link_path(target: &str) -> Option<String> {
    let end = target.find(['#', '?']).unwrap_or(target.len());
    let path = &target[..end];
    let scheme = path.find(':').is_some_and(|at| {
        path[..at]
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "+.-".contains(character))
    });
    // A single word is a placeholder such as `[title](url)`.
    let is_file = path.contains(['/', '.']) && !scheme && !path.starts_with(['/', '~', '\\'])
        || path.starts_with("./")
        || path.starts_with("../");
    (is_file && is_plain(path)).then(|| decoded(path))
}

/// The path in a code span: only in the folders that skills have, because other words with a slash mean many things.
fn code_path(code: &str) -> Option<String> {
    let path = code.trim().strip_prefix("./").unwrap_or(code.trim());
    let (folder, rest) = path.split_once('/')?;
    let is_file = matches!(folder, "scripts" | "references" | "assets")
        && rest.rsplit('/').next()?.trim_start_matches('.').contains('.')
        && !path.contains(char::is_whitespace);
    (is_file && is_plain(path)).then(|| path.to_owned())
}

/// Whether a path has no placeholders, patterns or variables.
fn is_plain(path: &str) -> bool {
    !path.contains(['<', '>', '{', '}', '*', '$', '|', '\0', '…', '[', ']'])
        && !path.contains("...")
}

/// The path with percent escapes decoded.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let escape = (*first == b'%').then(|| tail.get(..2)).flatten();
        let value = escape.and_then(|digits| std::str::from_utf8(digits).ok());
        match value.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}
