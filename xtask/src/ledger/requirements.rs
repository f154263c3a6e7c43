//! The ledger file: Markdown tables with an `ID`, a `Status` and a `Requirement` column, one group per heading.

use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::{Context as _, Result, bail};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Covered,
    Open,
}

impl Status {
    pub(super) fn word(self) -> &'static str {
        match self {
            Status::Covered => "covered",
            Status::Open => "open",
        }
    }

    fn parse(word: &str) -> Option<Status> {
        [Status::Covered, Status::Open].into_iter().find(|status| status.word() == word)
    }
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) id: String,
    /// The ID up to its first hyphen, which is also the first word of the heading above.
    pub(super) group: String,
    pub(super) status: Status,
    pub(super) text: String,
    /// Counted from 1.
    pub(super) line: usize,
}

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) rows: Vec<Row>,
}

impl Ledger {
    pub(super) fn groups(&self) -> BTreeSet<String> {
        self.rows.iter().map(|row| row.group.clone()).collect()
    }
}

pub(super) fn parse(text: &str) -> Result<Ledger> {
    let mut rows: Vec<Row> = Vec::new();
    let mut ids = BTreeSet::new();
    for raw in raw_rows(text) {
        let row = read_row(&raw).with_context(|| format!("line {}", raw.line))?;
        if !ids.insert(row.id.clone()) {
            bail!("line {}: `{}` is there twice", raw.line, row.id);
        }
        rows.push(row);
    }
    if rows.is_empty() {
        bail!("there is no table with the columns `ID`, `Status` and `Requirement`");
    }
    Ok(Ledger { rows })
}

/// The same text with another status in each row and every other byte kept.
pub(super) fn with_statuses(text: &str, status: impl Fn(&str) -> Status) -> String {
    let mut updated = String::with_capacity(text.len());
    let mut copied = 0;
    for raw in raw_rows(text) {
        let Some(cell) = raw.cells.get(raw.columns.status) else { continue };
        let Some(id) = raw.cells.get(raw.columns.id) else { continue };
        updated.push_str(&text[copied..cell.start]);
        updated.push(' ');
        updated.push_str(status(text[id.clone()].trim()).word());
        updated.push(' ');
        copied = cell.end;
    }
    updated.push_str(&text[copied..]);
    updated
}

fn read_row(raw: &RawRow<'_>) -> Result<Row> {
    let cell = |column: usize, name: &str| {
        let range =
            raw.cells.get(column).with_context(|| format!("the row has no `{name}` cell"))?;
        anyhow::Ok(raw.text[range.clone()].trim())
    };
    let id = cell(raw.columns.id, "ID")?;
    let word = cell(raw.columns.status, "Status")?;
    let text = cell(raw.columns.requirement, "Requirement")?;
    let Some(status) = Status::parse(word) else {
        bail!("`{word}` is not a status; expected `covered` or `open`");
    };
    let group = id.split('-').next().unwrap_or(id);
    if group != raw.heading {
        bail!("`{id}` stands below the heading `{}`", raw.heading);
    }
    Ok(Row {
        id: id.to_owned(),
        group: group.to_owned(),
        status,
        text: text.replace(r"\|", "|"),
        line: raw.line,
    })
}

struct RawRow<'text> {
    text: &'text str,
    line: usize,
    /// First word of the heading above.
    heading: &'text str,
    /// Byte ranges in the whole text, between the bars.
    cells: Vec<Range<usize>>,
    columns: Columns,
}

#[derive(Clone, Copy)]
struct Columns {
    id: usize,
    status: usize,
    requirement: usize,
}

fn raw_rows(text: &str) -> Vec<RawRow<'_>> {
    let mut rows = Vec::new();
    let mut heading = "";
    let mut columns = None;
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let cells = cells(line, start);
        start += line.len();
        if let Some(title) = line.strip_prefix("## ") {
            heading = title.split_whitespace().next().unwrap_or("");
        }
        if cells.is_empty() {
            columns = None;
            continue;
        }
        let Some(known) = columns else {
            columns = header(text, &cells);
            continue;
        };
        let is_rule = cells.iter().all(|cell| {
            text[cell.clone()].trim().chars().all(|character| "-:".contains(character))
        });
        if !is_rule {
            rows.push(RawRow { text, line: index + 1, heading, cells, columns: known });
        }
    }
    rows
}

fn header(text: &str, cells: &[Range<usize>]) -> Option<Columns> {
    let column = |name: &str| cells.iter().position(|cell| text[cell.clone()].trim() == name);
    Some(Columns {
        id: column("ID")?,
        status: column("Status")?,
        requirement: column("Requirement")?,
    })
}

/// The cells of a table line that starts at `start`; none when the line is no table line.
fn cells(line: &str, start: usize) -> Vec<Range<usize>> {
    if !line.starts_with('|') {
        return Vec::new();
    }
    let bytes = line.as_bytes();
    let bars: Vec<usize> = (0..bytes.len())
        .filter(|&at| bytes[at] == b'|' && (at == 0 || bytes[at - 1] != b'\\'))
        .collect();
    bars.windows(2).map(|pair| start + pair[0] + 1..start + pair[1]).collect()
}
