//! A file as units: front matter, headings, paragraphs, rows, fences, comments.
//!
//! This follows lines and not the grammar of Markdown: a model reads the text and not the page that a renderer makes of it,
//! and what two renderers read differently must not be a place to hide.

use std::ops::Range;

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// An entry of the front matter.
    FrontMatter,
    /// A heading.
    Heading,
    /// A paragraph or an item of a list.
    Prose,
    /// A row of a table.
    Row,
    /// A fence.
    Fence,
    /// A comment of HTML.
    Comment,
    /// A line or more of a file of code or data.
    Code,
}

/// A part of a file.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// What it is.
    pub(crate) kind: UnitKind,
    /// Its bytes in the file; of a fence those of its content.
    pub(crate) range: Range<usize>,
    /// Its bytes in the view.
    pub(crate) view: Range<usize>,
    /// The language of a fence, in lower case.
    pub(crate) language: String,
    /// The index of the section that it is in.
    pub(crate) section: usize,
}

/// A heading and what it is under.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// The level of the heading; 0 for what is before the first.
    pub(crate) level: usize,
    /// The heading, in lower case.
    pub(crate) title: String,
    /// The section around it.
    pub(crate) parent: Option<usize>,
}

/// The units and sections of a Markdown text.
pub(crate) fn markdown(text: &str) -> (Vec<Unit>, Vec<Section>) {
    let mut reader = Reader {
        text,
        units: Vec::new(),
        sections: vec![Section { level: 0, title: String::new(), parent: None }],
        section: 0,
        open: None,
    };
    let start = reader.front_matter();
    reader.body(start);
    (reader.units, reader.sections)
}

struct Reader<'t> {
    text: &'t str,
    units: Vec<Unit>,
    sections: Vec<Section>,
    section: usize,
    /// The start and end of the paragraph that is being read.
    open: Option<Range<usize>>,
}

/// The bytes of a line without its end, and where the next one starts.
fn line_at(text: &str, at: usize) -> (Range<usize>, usize) {
    let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end);
    (at..end, (end + 1).min(text.len()))
}

impl Reader<'_> {
    fn unit(&mut self, kind: UnitKind, range: Range<usize>, language: &str) {
        if range.start < range.end {
            let section = self.section;
            self.units.push(Unit {
                kind,
                range,
                view: 0..0,
                language: language.to_owned(),
                section,
            });
        }
    }

    fn close(&mut self) {
        if let Some(range) = self.open.take() {
            self.unit(UnitKind::Prose, range, "");
        }
    }

    fn front_matter(&mut self) -> usize {
        let start = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
        let (first, mut at) = line_at(self.text, start);
        if self.text[first].trim_end() != "---" {
            return start;
        }
        let begin = at;
        let mut entry = at;
        let mut entries = Vec::new();
        while at < self.text.len() {
            let (line, next) = line_at(self.text, at);
            let content = &self.text[line.clone()];
            if matches!(content.trim_end(), "---" | "...") {
                entries.push(entry..line.start);
                for range in entries {
                    self.unit(UnitKind::FrontMatter, range, "");
                }
                return next;
            }
            let is_key = content.starts_with(|first: char| first.is_ascii_alphanumeric());
            if is_key && at > begin {
                entries.push(entry..line.start);
                entry = line.start;
            }
            at = next;
        }
        start
    }

    fn body(&mut self, start: usize) {
        let mut at = start;
        // The rest of a comment is text of the paragraph around it, and a unit of its own.
        while at < self.text.len() {
            let (line, next) = line_at(self.text, at);
            let content = &self.text[line.clone()];
            let trimmed = content.trim_start_matches([' ', '\t', '>']);
            let indent = content.len() - trimmed.len();
            if let Some((mark, length)) = fence(trimmed) {
                self.close();
                at = self.fence(next, mark, length, trimmed[length..].trim());
                continue;
            }
            if let Some(open) = content.find("<!--") {
                let begin = line.start + open;
                let inner = begin + 4;
                let end = memchr::memmem::find(&self.text.as_bytes()[inner..], b"-->");
                let end = end.map_or(self.text.len(), |end| inner + end);
                let after = (end + 3).min(self.text.len());
                self.unit(UnitKind::Comment, inner..end, "");
                let (_, next) = line_at(self.text, after.max(line.end).min(self.text.len()));
                // The paragraph goes on after the comment; the view leaves it out.
                let is_alone = content[..open].trim().is_empty() && self.open.is_none();
                let (rest, _) = line_at(self.text, after);
                if is_alone && self.text[rest.clone()].trim().is_empty() {
                    at = next;
                    continue;
                }
                // Further comments of the same line.
                let mut from = after;
                while from < rest.end {
                    let Some(more) = self.text[from..rest.end].find("<!--") else { break };
                    let inner = from + more + 4;
                    let end = memchr::memmem::find(&self.text.as_bytes()[inner..], b"-->");
                    let end = end.map_or(self.text.len(), |end| inner + end);
                    self.unit(UnitKind::Comment, inner..end, "");
                    from = (end + 3).min(self.text.len());
                }
                let open_at = self.open.as_ref().map_or(line.start, |open| open.start);
                let (_, next) = line_at(self.text, from.max(line.end).min(self.text.len()));
                self.open = Some(open_at..next);
                at = next.max(line.end + 1);
                continue;
            }
            if trimmed.trim().is_empty() {
                self.close();
            } else if trimmed.starts_with('#') && indent <= 3 {
                self.close();
                let level = trimmed.bytes().take_while(|byte| *byte == b'#').count();
                self.heading(level, trimmed[level..].trim());
                self.unit(UnitKind::Heading, line, "");
            } else if trimmed.starts_with('|') {
                self.close();
                self.unit(UnitKind::Row, line, "");
            } else {
                if is_item(trimmed) {
                    self.close();
                }
                match &mut self.open {
                    Some(open) => open.end = line.end,
                    None => self.open = Some(line),
                }
            }
            at = next;
        }
        self.close();
    }

    fn heading(&mut self, level: usize, title: &str) {
        let mut parent = self.section;
        while self.sections[parent].level >= level {
            let Some(outer) = self.sections[parent].parent else { break };
            parent = outer;
        }
        self.section = self.sections.len();
        let parent = Some(parent);
        self.sections.push(Section { level, title: title.to_lowercase(), parent });
    }

    /// Reads a fence from its first line on, and returns where the text goes on.
    fn fence(&mut self, start: usize, mark: u8, length: usize, info: &str) -> usize {
        let mut at = start;
        let language = info.split([' ', '{', ',']).next().unwrap_or_default().to_lowercase();
        while at < self.text.len() {
            let (line, next) = line_at(self.text, at);
            let content = self.text[line.clone()].trim_matches([' ', '\t', '>', '\r']);
            let is_end = content.len() >= length && content.bytes().all(|byte| byte == mark);
            if is_end {
                self.unit(UnitKind::Fence, start..line.start, &language);
                return next;
            }
            at = next;
        }
        self.unit(UnitKind::Fence, start..self.text.len(), &language);
        self.text.len()
    }
}

/// The mark and length of the start of a fence.
fn fence(line: &str) -> Option<(u8, usize)> {
    let mark = *line.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = line.bytes().take_while(|byte| *byte == mark).count();
    // A line with more of these marks is code in a line of text.
    (length >= 3 && !line.as_bytes()[length..].contains(&b'`')).then_some((mark, length))
}

fn is_item(line: &str) -> bool {
    let bytes = line.as_bytes();
    match bytes.first() {
        Some(b'-' | b'*' | b'+') => bytes.get(1) == Some(&b' '),
        Some(byte) if byte.is_ascii_digit() => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            matches!(bytes.get(digits), Some(b'.' | b')'))
        }
        _ => false,
    }
}
