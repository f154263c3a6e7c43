//! The files of a version, and one of them with line numbers.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{Path as UrlPath, Query, State};
use prowess_format::text::visible_line;

use super::load::Loaded;
use super::overview::VersionQuery;
use super::{Frame, Part};
use crate::app::AppState;
use crate::facts::FileFacts;
use crate::pages::highlight::{self, Language, Line};
use crate::pages::layout::Layout;
use crate::pages::response::{PageError, PageResult, page};
use crate::pages::visitor::Visitor;
use crate::pages::words::{counted, size};
use crate::scan_report::{StoredFinding, StoredScan};
use crate::store::VersionState;

/// The files of a version.
#[derive(Debug, Template)]
#[template(path = "page/skill/files.html")]
pub(crate) struct FilesPage {
    pub(crate) layout: Layout,
    pub(crate) frame: Frame,
    pub(crate) files: Vec<FileView>,
    pub(crate) total: String,
    pub(crate) download: Option<String>,
}

/// A file in the list.
#[derive(Clone, Debug)]
pub(crate) struct FileView {
    pub(crate) path: String,
    pub(crate) address: String,
    pub(crate) size: String,
    pub(crate) sha256: String,
    pub(crate) is_executable: bool,
    /// What the scan found in it: the class of a pill and words.
    pub(crate) mark: (&'static str, String),
}

/// One file.
#[derive(Debug, Template)]
#[template(path = "page/skill/file.html")]
pub(crate) struct FilePage {
    pub(crate) layout: Layout,
    pub(crate) frame: Frame,
    pub(crate) path: String,
    pub(crate) parts: Vec<(String, Option<String>)>,
    pub(crate) size: String,
    pub(crate) sha256: String,
    pub(crate) raw: String,
    pub(crate) lines: Vec<Line>,
    /// Why no lines are shown, or not all.
    pub(crate) note: Option<String>,
    /// What the scan found in this file: the line, the message and the class of its pill.
    pub(crate) findings: Vec<(usize, String, &'static str)>,
}

/// The largest file that is shown.
const MAX_SHOWN_BYTES: usize = 512 << 10;
/// The most lines that are shown.
const MAX_SHOWN_LINES: usize = 10_000;

/// The files of a version.
pub(crate) async fn get_files(
    State(state): State<AppState>,
    visitor: Visitor,
    UrlPath((namespace, name)): UrlPath<(String, String)>,
    Query(query): Query<VersionQuery>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, Some(&query.version)).await?;
    let chosen = &loaded.chosen;
    let file = |file: &FileFacts| FileView {
        path: visible_line(&file.path).into_owned(),
        address: loaded.links.file(&file.path),
        size: size(file.size),
        sha256: file.sha256.clone(),
        is_executable: file.executable,
        mark: mark(chosen.scan.as_ref(), &file.path),
    };
    let can_download = chosen.revoked.is_none() && chosen.state == VersionState::Visible;
    let template = FilesPage {
        layout: loaded.layout(&visitor, Part::Files, format!("Files of {}", loaded.id)),
        frame: loaded.frame(Part::Files),
        files: chosen.files.iter().map(file).collect(),
        total: format!("{}, {}", counted(chosen.files.len(), "file"), size(chosen.unpacked)),
        download: can_download.then(|| loaded.links.download(&loaded.version())),
    };
    page(&visitor, &template)
}

/// One file of a version.
pub(crate) async fn get_file(
    State(state): State<AppState>,
    visitor: Visitor,
    UrlPath((namespace, name, path)): UrlPath<(String, String, String)>,
    Query(query): Query<VersionQuery>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, Some(&query.version)).await?;
    let chosen = &loaded.chosen;
    let found = state.registry.file(&loaded.id, &chosen.version, &path, &visitor.viewer()).await?;
    let Some(found) = found else { return Err(PageError::not_found()) };
    let (lines, note) = source(&path, &found.bytes);
    let findings = chosen.scan.iter().flat_map(|scan| &scan.findings);
    let template = FilePage {
        layout: loaded.layout(&visitor, Part::Files, format!("{path} of {}", loaded.id)).unlisted(),
        frame: loaded.frame(Part::Files),
        parts: parts(&path),
        size: size(found.file.size),
        sha256: found.file.sha256,
        raw: loaded.links.raw(&loaded.version(), &path),
        lines,
        note,
        findings: findings
            .filter(|finding| finding.file == path)
            .map(|finding| {
                (finding.line, finding.message.clone(), severity_class(&finding.severity))
            })
            .collect(),
        path: visible_line(&path).into_owned(),
    };
    page(&visitor, &template)
}

/// The class of the pill of a finding.
pub(crate) fn severity_class(severity: &str) -> &'static str {
    match severity {
        "critical" | "high" => "danger",
        "medium" => "warn",
        _ => "none",
    }
}

/// What the scan found in a file. "Not analysed" does not look like "nothing found".
fn mark(scan: Option<&StoredScan>, path: &str) -> (&'static str, String) {
    let Some(scan) = scan else { return ("none", "not scanned".to_owned()) };
    let found: Vec<&StoredFinding> =
        scan.findings.iter().filter(|finding| finding.file == path).collect();
    if let Some(first) = found.first() {
        let worst = found.iter().map(|finding| severity_class(&finding.severity));
        let class =
            worst.min_by_key(|class| ["danger", "warn", "none"].iter().position(|c| c == class));
        return (class.unwrap_or(severity_class(&first.severity)), counted(found.len(), "finding"));
    }
    if scan.not_analysed.iter().any(|gap| gap.file == path) {
        return ("none", "not analysed".to_owned());
    }
    ("ok", "nothing found".to_owned())
}

/// The parts of a path; none of them has a page of its own.
fn parts(path: &str) -> Vec<(String, Option<String>)> {
    path.split('/').map(|part| (visible_line(part).into_owned(), None)).collect()
}

/// The lines of a file, or why there are none.
fn source(path: &str, bytes: &[u8]) -> (Vec<Line>, Option<String>) {
    if bytes.contains(&0) {
        return (Vec::new(), Some("This is not a text file.".to_owned()));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return (Vec::new(), Some("This file is not UTF-8 text.".to_owned()));
    };
    if text.is_empty() {
        return (Vec::new(), Some("This file is empty.".to_owned()));
    }
    if text.len() > MAX_SHOWN_BYTES {
        let limit = size(MAX_SHOWN_BYTES as u64);
        return (
            Vec::new(),
            Some(format!("This file is larger than {limit}. The raw file has all of it.")),
        );
    }
    let mut lines = lines(path, text);
    for line in &mut lines {
        for piece in line {
            // Characters that reorder or hide text are shown as what they are (attack registry-E2).
            if let Cow::Owned(visible) = visible_line(&piece.text) {
                piece.text = visible;
            }
        }
    }
    let is_long = lines.len() > MAX_SHOWN_LINES;
    lines.truncate(MAX_SHOWN_LINES);
    let note = is_long.then(|| format!("Only the first {MAX_SHOWN_LINES} lines are shown."));
    (lines, note)
}

/// The lines of a text. The front matter of a Markdown file is YAML.
fn lines(path: &str, text: &str) -> Vec<Line> {
    let language = Language::of_path(path);
    let end = text.strip_prefix("---\n").and_then(|rest| rest.find("\n---\n"));
    match end {
        Some(end) if language == Language::Markdown => {
            // The fence before, the text found, and the fence after with its line breaks.
            let (matter, body) = text.split_at(4 + end + 5);
            let mut lines = highlight::lines(matter, Language::Yaml);
            lines.extend(highlight::lines(body, Language::Markdown));
            lines
        }
        _ => highlight::lines(text, language),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_of_a_skill_keeps_its_line_numbers() {
        let text = "---\nname: a\n---\n\n# Title\nx\n";
        let (lines, note) = source("SKILL.md", text.as_bytes());
        let shown: Vec<String> = lines
            .iter()
            .map(|line| line.iter().map(|piece| piece.text.as_str()).collect())
            .collect();
        assert_eq!(shown, ["---", "name: a", "---", "", "# Title", "x"]);
        assert_eq!(note, None);
    }

    #[test]
    fn characters_that_deceive_are_visible() {
        let (lines, _) = source("x.txt", "a\u{202e}b".as_bytes());
        assert_eq!(lines[0][0].text, "a\\u{202e}b");
    }

    #[test]
    fn what_is_no_text_has_a_note() {
        assert_eq!(source("x", b"\0").0, Vec::<Line>::new());
        assert!(source("x", b"\xff").1.is_some());
        assert!(source("x", b"").1.is_some());
        assert!(source("x", &vec![b'a'; MAX_SHOWN_BYTES + 1]).1.is_some());
    }
}
