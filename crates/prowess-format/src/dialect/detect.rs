//! Detects the dialects of a document.

use super::{ALL, Dialect, by_id};
use crate::document::{Document, FrontMatter};

/// The score that a second layer needs.
pub const SECOND_LAYER: u32 = 20;
/// The score of a field that only one dialect has; common words score less.
pub const OWN_FIELD: u32 = 16;
/// The score that a layer of the open standard's family needs: a single field is enough.
const FAMILY_LAYER: u32 = 1;
/// The open standard and the dialects that extend it: they read each other's fields layer by layer.
pub const FAMILY: &[&str] = &["agent-skills", "claude-code", "skillli"];

/// The layers of a document, the main dialect first.
pub fn detect(document: &Document<'_>) -> Vec<&'static Dialect> {
    let mut scored: Vec<(u32, &'static Dialect)> = ALL
        .iter()
        .map(|&dialect| ((dialect.affinity)(document), dialect))
        .filter(|(score, _)| *score > 0)
        .collect();
    // The sort is stable: of equal scores the earlier dialect wins.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let Some(&(_, main)) = scored.first() else {
        let fallback =
            if document.front_matter == FrontMatter::Absent { "prose" } else { "agent-skills" };
        return by_id(fallback).into_iter().collect();
    };
    let in_family = FAMILY.contains(&main.id);
    let mut layers = vec![main];
    for (score, dialect) in scored.into_iter().skip(1) {
        let enough =
            if in_family && FAMILY.contains(&dialect.id) { FAMILY_LAYER } else { SECOND_LAYER };
        if score >= enough {
            layers.push(dialect);
        }
    }
    for base in main.bases.iter().filter_map(|id| by_id(id)) {
        if base.id == "agent-skills" && !layers.contains(&base) {
            layers.push(base);
        }
    }
    layers
}

/// The layers of a dialect that the user named: itself and the dialects it extends.
pub fn layers_of(dialect: &'static Dialect) -> Vec<&'static Dialect> {
    std::iter::once(dialect).chain(dialect.bases.iter().filter_map(|id| by_id(id))).collect()
}
