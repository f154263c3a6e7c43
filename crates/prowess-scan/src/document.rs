//! A text of a skill with its view and its units.

use std::ops::Range;

use crate::input::FileKind;
use crate::segment::{self, Section, Unit, UnitKind};
use crate::view::{Fold, View};

/// A text that is analysed: a file, or what was decoded from a part of one.
#[derive(Debug)]
pub(crate) struct Document {
    /// The file.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) kind: FileKind,
    /// Its text.
    pub(crate) text: String,
    /// How it is compared.
    pub(crate) view: View,
    /// Its parts.
    pub(crate) units: Vec<Unit>,
    /// Its headings.
    pub(crate) sections: Vec<Section>,
    /// Where it was decoded from.
    pub(crate) origin: Option<Origin>,
}

/// Where a decoded text was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The bytes of the file.
    pub(crate) range: Range<usize>,
    /// How it was encoded, outermost first.
    pub(crate) how: String,
    /// How many layers there were.
    pub(crate) depth: usize,
    /// Whether a reader of the file does not see it.
    pub(crate) is_hidden: bool,
    /// Whether the text around it says that it is an example of an attack.
    pub(crate) is_example: bool,
    /// Whether it stands in a file of data.
    pub(crate) is_quoted: bool,
}

/// Languages of fences that are text and not code.
const TEXT_LANGUAGES: &[&str] =
    &["", "text", "txt", "markdown", "md", "plaintext", "plain", "prompt", "none", "quote"];

impl Document {
    pub(crate) fn new(path: &str, kind: FileKind, text: String, origin: Option<Origin>) -> Self {
        let (mut units, sections) = match kind {
            FileKind::Markdown => segment::markdown(&text),
            _ => (
                vec![Unit {
                    kind: UnitKind::Code,
                    range: 0..text.len(),
                    view: 0..0,
                    language: String::new(),
                    section: 0,
                }],
                vec![Section { level: 0, title: String::new(), parent: None }],
            ),
        };
        let mut view = View::default();
        // A comment is inside the paragraph around it, and after it in the list.
        units.sort_by_key(|unit| unit.range.start);
        for unit in &mut units {
            let start = view.text.len();
            let fold = match unit.kind {
                UnitKind::Fence if TEXT_LANGUAGES.contains(&unit.language.as_str()) => Fold::Prose,
                UnitKind::Code if kind == FileKind::Text => Fold::Prose,
                UnitKind::Fence | UnitKind::Code => Fold::Code,
                _ => Fold::Prose,
            };
            append_paragraphs(&mut view, &text, unit, fold);
            view.end_unit(unit.range.end.saturating_sub(1));
            unit.view = start..view.text.len();
        }
        view.finish(text.len());
        Self { path: path.to_owned(), kind, text, view, units, sections, origin }
    }

    /// The bytes of the file for a range of the text.
    pub(crate) fn place(&self, range: &Range<usize>) -> Range<usize> {
        match &self.origin {
            Some(origin) => origin.range.clone(),
            None => range.clone(),
        }
    }

    /// The unit that a place of the view is in.
    pub(crate) fn unit_at(&self, at: usize) -> Option<&Unit> {
        let next = self.units.partition_point(|unit| unit.view.start <= at);
        self.units[..next].iter().rev().find(|unit| unit.view.contains(&at))
    }

    /// The titles of the sections around a unit, innermost first.
    pub(crate) fn titles(&self, unit: &Unit) -> impl Iterator<Item = &str> {
        let mut next = Some(unit.section);
        std::iter::from_fn(move || {
            let section = self.sections.get(next?)?;
            next = section.parent;
            Some(section.title.as_str())
        })
    }

    /// The view of a unit and those around it, as long as they are in the same section.
    pub(crate) fn around(&self, unit: &Unit, before: usize, after: usize) -> Range<usize> {
        let at = self.units.partition_point(|known| known.range.start < unit.range.start);
        let is_same = |known: &&Unit| known.section == unit.section;
        let first = self.units[..at.min(self.units.len())]
            .iter()
            .rev()
            .take(before)
            .take_while(is_same)
            .last();
        let last = self.units[at.min(self.units.len())..]
            .iter()
            .take(after + 1)
            .take_while(is_same)
            .last();
        let start = first.map_or(unit.view.start, |unit| unit.view.start);
        let end = last.map_or(unit.view.end, |unit| unit.view.end);
        start.min(unit.view.start)..end.max(unit.view.end)
    }
}

/// A text without a grammar has paragraphs too: an empty line ends a unit.
fn append_paragraphs(view: &mut View, text: &str, unit: &Unit, fold: Fold) {
    let mut at = unit.range.start;
    if fold == Fold::Prose
        && matches!(unit.kind, UnitKind::Code | UnitKind::Fence | UnitKind::Comment)
    {
        while let Some(found) = memchr::memmem::find(&text.as_bytes()[at..unit.range.end], b"\n\n")
        {
            view.append(text, at..at + found, fold);
            view.end_unit(at + found);
            at += found + 2;
        }
    }
    view.append(text, at..unit.range.end, fold);
}
