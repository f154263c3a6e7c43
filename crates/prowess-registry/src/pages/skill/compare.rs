//! What changed between two versions: permissions first, then tools, dependencies, proof, files and text.

use askama::Template;
use axum::extract::{Path, Query, State};
use prowess_format::text::visible_line;
use semver::Version;
use serde::Deserialize;

use super::load::{Loaded, is_signed, rows};
use super::versions::comparable;
use super::{Frame, Part};
use crate::app::AppState;
use crate::pages::layout::Layout;
use crate::pages::links::SkillLinks;
use crate::pages::permission_words::{PermissionRow, RiskLevel};
use crate::pages::response::{PageError, PageResult, page};
use crate::pages::visitor::Visitor;
use crate::pages::words::{capitalised, counted};
use crate::query::{DiffLine, DiffLineKind, FileDifference, VersionDifference, VersionView};

/// The difference between two versions.
#[derive(Debug, Template)]
#[template(path = "page/skill/compare.html")]
pub(crate) struct ComparePage {
    pub(crate) layout: Layout,
    pub(crate) frame: Frame,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) versions: Vec<String>,
    pub(crate) swapped: String,
    /// `+1 file, ~3 files, -0 files`.
    pub(crate) summary: String,
    pub(crate) new_permissions: Vec<PermissionRow>,
    pub(crate) gone_permissions: Vec<PermissionRow>,
    /// Tools, dependencies, capabilities: title, added, removed.
    pub(crate) lists: Vec<(&'static str, Vec<String>, Vec<String>)>,
    /// The proof of both: a label, before, after, and whether it is weaker now.
    pub(crate) proof: Vec<(&'static str, String, String, bool)>,
    pub(crate) files: Vec<FileChangeView>,
    pub(crate) same_files: usize,
}

/// A file that differs.
#[derive(Clone, Debug)]
pub(crate) struct FileChangeView {
    pub(crate) id: String,
    pub(crate) path: String,
    /// `+`, `-` or `~`.
    pub(crate) sign: &'static str,
    /// `added`, `removed` or `changed`.
    pub(crate) word: &'static str,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) lines: Vec<DiffRow>,
    /// Why there are no lines.
    pub(crate) note: Option<String>,
    /// The whole file in the newer version.
    pub(crate) address: Option<String>,
}

/// A line of a difference.
#[derive(Clone, Debug)]
pub(crate) struct DiffRow {
    pub(crate) before: String,
    pub(crate) after: String,
    /// `+`, `-`, a space, or nothing for lines that were left out.
    pub(crate) sign: &'static str,
    /// `add`, `del`, `skip` or nothing.
    pub(crate) class: &'static str,
    pub(crate) text: String,
}

/// The two versions.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CompareQuery {
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
}

/// The difference between two versions.
pub(crate) async fn get_compare(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    Query(query): Query<CompareQuery>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, Some(&query.to)).await?;
    let from = Version::parse(&query.from).map_err(|_| PageError::not_found())?;
    let to = &loaded.chosen.version;
    let found = state.registry.differences(&loaded.id, &from, to, &visitor.viewer()).await?;
    let Some(difference) = found else { return Err(PageError::not_found()) };
    let title = format!("Changes of {} from {from} to {to}", loaded.id);
    let (before, after) = (rows(&difference.from), rows(&difference.to));
    let only = |these: &[PermissionRow], those: &[PermissionRow]| -> Vec<PermissionRow> {
        let is_new = |row: &&PermissionRow| those.iter().all(|other| other.text() != row.text());
        these.iter().filter(is_new).cloned().collect()
    };
    let template = ComparePage {
        layout: loaded.layout(&visitor, Part::Versions, title).unlisted(),
        frame: loaded.frame(Part::Versions),
        from: from.to_string(),
        to: to.to_string(),
        versions: comparable(&loaded.view.versions),
        swapped: loaded.links.compare(&to.to_string(), &from.to_string()),
        summary: summary(&difference),
        new_permissions: only(&after, &before),
        gone_permissions: only(&before, &after)
            .into_iter()
            .filter(|row| row.level != RiskLevel::None)
            .collect(),
        lists: lists(&difference),
        proof: proof(&difference),
        files: difference
            .files
            .iter()
            .enumerate()
            .map(|(index, file)| FileChangeView::of(index, file, &loaded))
            .collect(),
        same_files: difference.same_files,
    };
    page(&visitor, &template)
}

fn summary(difference: &VersionDifference) -> String {
    let files = &difference.files;
    let added = files.iter().filter(|file| file.before.is_none()).count();
    let removed = files.iter().filter(|file| file.after.is_none()).count();
    let changed = files.len() - added - removed;
    format!("{} added, {changed} changed, {removed} removed", counted(added, "file"))
}

fn lists(difference: &VersionDifference) -> Vec<(&'static str, Vec<String>, Vec<String>)> {
    [
        ("Tools", &difference.tools),
        ("Dependencies", &difference.dependencies),
        ("Named in text and scripts", &difference.capabilities),
    ]
    .into_iter()
    .filter(|(_, list)| !list.added.is_empty() || !list.removed.is_empty())
    .map(|(title, list)| (title, list.added.clone(), list.removed.clone()))
    .collect()
}

/// The proof of both versions, and where the newer one has less.
fn proof(difference: &VersionDifference) -> Vec<(&'static str, String, String, bool)> {
    let (from, to) = (&difference.from, &difference.to);
    let rank = |version: &VersionView| match version.tier.as_str() {
        "verified" => 2,
        "community" => 1,
        _ => 0,
    };
    let signed = |version: &VersionView| {
        if is_signed(version) { "signed by its publisher" } else { "not signed" }
    };
    let built = |version: &VersionView| match &version.provenance {
        Some(provenance) => format!("CI run of {}", provenance.repository),
        None => "not proved".to_owned(),
    };
    vec![
        ("Tier", from.tier.clone(), to.tier.clone(), rank(to) < rank(from)),
        (
            "Signature",
            signed(from).to_owned(),
            signed(to).to_owned(),
            is_signed(from) && !is_signed(to),
        ),
        ("Build", built(from), built(to), from.provenance.is_some() && to.provenance.is_none()),
        ("Published by", from.publisher.clone(), to.publisher.clone(), false),
    ]
}

impl FileChangeView {
    fn of(index: usize, file: &FileDifference, loaded: &Loaded) -> Self {
        let (sign, word) = match (file.before, file.after) {
            (None, _) => ("+", "added"),
            (_, None) => ("-", "removed"),
            _ => ("~", "changed"),
        };
        let number =
            |kind: DiffLineKind| file.lines.iter().filter(|line| line.kind == kind).count();
        let address = file.after.is_some().then(|| {
            let version = loaded.version();
            SkillLinks::new(loaded.id.namespace.as_str(), loaded.id.name.as_str(), Some(&version))
                .file(&file.path)
        });
        FileChangeView {
            id: format!("file-{index}"),
            path: visible_line(&file.path).into_owned(),
            sign,
            word,
            added: number(DiffLineKind::Added),
            removed: number(DiffLineKind::Removed),
            lines: file.lines.iter().map(DiffRow::of).collect(),
            note: file.omitted.map(capitalised),
            address,
        }
    }
}

impl DiffRow {
    fn of(line: &DiffLine) -> Self {
        let number =
            |number: Option<usize>| number.map_or_else(String::new, |number| number.to_string());
        let (sign, class) = match line.kind {
            DiffLineKind::Same => (" ", ""),
            DiffLineKind::Added => ("+", "add"),
            DiffLineKind::Removed => ("-", "del"),
            DiffLineKind::Skipped => ("", "skip"),
        };
        DiffRow {
            before: number(line.before),
            after: number(line.after),
            sign,
            class,
            text: visible_line(&line.text).into_owned(),
        }
    }
}
