//! Byte ranges in a source text, and the conversion of offsets to lines and columns.

use std::fmt;
use std::ops::{Deref, Range};

/// A half-open byte range in the text a document was read from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`. Offsets above 4 GiB saturate; the readers reject such files earlier.
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { start: clamp(start), end: clamp(end.max(start)) }
    }

    /// An empty span at `offset`.
    pub fn at(offset: usize) -> Self {
        Self::new(offset, offset)
    }

    /// Converts to a range of `usize` offsets for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text this span covers; empty when the span does not fit the text.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or("")
    }

    /// Whether no byte is covered.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The span moved by `offset` bytes to the right.
    #[must_use]
    pub fn shift(self, offset: usize) -> Self {
        Self::new(self.start as usize + offset, self.end as usize + offset)
    }

    /// Whether this span contains another one.
    pub fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn join(self, other: Span) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A value with its span in the source.
#[derive(Clone, Debug, Default)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its span in the source.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Combines a value with its span.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

/// Ignores the span, so that models of two texts can be compared.
impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// A line and a column, both counted from one; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// The starts of all lines of a text, so that offsets become positions.
///
/// LF, CRLF and a lone CR each end a line, as in YAML and CommonMark.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Finds every line start of `text`.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            starts.push(Span::at(at + 1).start);
        }
        Self { starts }
    }

    /// The position of a byte offset in the `text` this index was made from.
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let offset = offset.min(text.len());
        let key = Span::at(offset).start;
        let line = self.starts.partition_point(|&start| start <= key).max(1);
        let start = self.starts[line - 1] as usize;
        let bytes = &text.as_bytes()[start..offset];
        // Counting the bytes that begin a character never panics inside one.
        let column = bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        Position { line, column: column + 1 }
    }

    /// How many lines the text has; a final line break does not open another.
    pub fn lines(&self, text: &str) -> usize {
        match self.starts.last() {
            Some(&last) if last as usize >= text.len() => self.starts.len() - 1,
            _ => self.starts.len(),
        }
    }

    /// The byte offset at which a line (from 1) starts.
    pub fn start_of(&self, line: usize) -> usize {
        self.starts.get(line.saturating_sub(1)).map_or(0, |&start| start as usize)
    }
}
