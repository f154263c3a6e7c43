//! What changed between two versions: files, permissions, tools, dependencies, proof and text.

use std::collections::BTreeSet;
use std::time::Duration;

use prowess_package::tree::Tree;
use semver::Version;
use similar::{ChangeTag, TextDiff};

use super::skill::VersionView;
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::registry::Registry;
use crate::viewer::Viewer;

/// Maximum time for the comparison of one file.
const MAX_TIME: Duration = Duration::from_millis(200);
/// Maximum size of a text that is compared line by line.
const MAX_BYTES: usize = 200 << 10;
/// Maximum number of lines of all files together.
const MAX_LINES: usize = 20_000;
/// Lines around a change.
const CONTEXT: usize = 3;

/// The differences between two versions.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionDifference {
    /// The older one.
    pub from: VersionView,
    /// The newer one.
    pub to: VersionView,
    /// Files that differ, by path.
    pub files: Vec<FileDifference>,
    /// How many files are the same.
    pub same_files: usize,
    /// Permissions.
    pub permissions: ListDifference,
    /// Names of tools.
    pub tools: ListDifference,
    /// Dependencies with their ranges.
    pub dependencies: ListDifference,
    /// What it can make an agent do.
    pub capabilities: ListDifference,
}

/// What was added to a list and removed from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListDifference {
    /// Only the newer version has these.
    pub added: Vec<String>,
    /// Only the older version has these.
    pub removed: Vec<String>,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDifference {
    /// The path.
    pub path: String,
    /// Its size before; `None` if it is new.
    pub before: Option<u64>,
    /// Its size now; `None` if it is gone.
    pub after: Option<u64>,
    /// The lines. Empty for files that are not text or too large, with the reason in `omitted`.
    pub lines: Vec<DiffLine>,
    /// Why there are no lines.
    pub omitted: Option<&'static str>,
}

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// What happened to it.
    pub kind: DiffLineKind,
    /// Its number before, from one.
    pub before: Option<usize>,
    /// Its number now, from one.
    pub after: Option<usize>,
    /// Its text without the line break.
    pub text: String,
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLineKind {
    /// It is in both.
    Same,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Lines that are the same in both were left out; the text says how many.
    Skipped,
}

impl Registry {
    /// Compares two versions of a skill.
    pub async fn differences(
        &self,
        skill: &SkillId,
        from: &Version,
        to: &Version,
        viewer: &Viewer,
    ) -> Outcome<Option<VersionDifference>> {
        let (Some(before), Some(after)) =
            (self.version(skill, from, viewer).await?, self.version(skill, to, viewer).await?)
        else {
            return Ok(None);
        };
        for version in [&before, &after] {
            if let Some(reason) = version.revoked.clone() {
                let what = format!("{skill} {}", version.version);
                return Err(RegistryError::Revoked { what, reason });
            }
        }
        let (old, new) = (self.tree(&before.sha256).await?, self.tree(&after.sha256).await?);
        let compared =
            tokio::task::spawn_blocking(move || compare(before, after, &old, &new)).await;
        compared.map(Some).map_err(|_| {
            RegistryError::of(
                "comparison-failed",
                prowess_core::ProblemKind::Internal,
                "the versions could not be compared",
            )
        })
    }
}

fn compare(from: VersionView, to: VersionView, old: &Tree, new: &Tree) -> VersionDifference {
    let paths = |tree: &Tree| -> BTreeSet<String> {
        tree.files().map(|(path, _)| path.as_str().to_owned()).collect()
    };
    let mut all = paths(old);
    all.extend(paths(new));
    let (mut files, mut same_files, mut left) = (Vec::new(), 0, MAX_LINES);
    for path in all {
        let (before, after) = (old.get(&path), new.get(&path));
        if before.map(|file| &file.bytes) == after.map(|file| &file.bytes) {
            same_files += 1;
            continue;
        }
        let texts = (text(before.map(|file| &*file.bytes)), text(after.map(|file| &*file.bytes)));
        let (lines, omitted) = match texts {
            (Ok(one), Ok(other)) if left > 0 => (lines(one, other), None),
            (Ok(_), Ok(_)) => (Vec::new(), Some("too many lines differ")),
            (Err(why), _) | (_, Err(why)) => (Vec::new(), Some(why)),
        };
        left = left.saturating_sub(lines.len());
        files.push(FileDifference {
            path,
            before: before.map(|file| file.bytes.len() as u64),
            after: after.map(|file| file.bytes.len() as u64),
            lines,
            omitted,
        });
    }
    let (old, new) = (&from.facts, &to.facts);
    VersionDifference {
        permissions: ListDifference::of(
            old.permissions.iter().cloned(),
            new.permissions.iter().cloned(),
        ),
        tools: ListDifference::of(
            old.tools.iter().map(|tool| tool.name.clone()),
            new.tools.iter().map(|tool| tool.name.clone()),
        ),
        dependencies: ListDifference::of(
            old.dependencies.iter().map(|it| format!("{}/{} {}", it.namespace, it.name, it.range)),
            new.dependencies.iter().map(|it| format!("{}/{} {}", it.namespace, it.name, it.range)),
        ),
        capabilities: ListDifference::of(
            old.capabilities.iter().map(|it| format!("{} {}", it.kind, it.text)),
            new.capabilities.iter().map(|it| format!("{} {}", it.kind, it.text)),
        ),
        files,
        same_files,
        from,
        to,
    }
}

impl ListDifference {
    fn of(before: impl Iterator<Item = String>, after: impl Iterator<Item = String>) -> Self {
        let (before, after): (BTreeSet<String>, BTreeSet<String>) =
            (before.collect(), after.collect());
        Self {
            added: after.difference(&before).cloned().collect(),
            removed: before.difference(&after).cloned().collect(),
        }
    }
}

/// The text of a file; that of no file is empty.
fn text(bytes: Option<&[u8]>) -> Result<&str, &'static str> {
    let bytes = bytes.unwrap_or_default();
    if bytes.len() > MAX_BYTES {
        return Err("the file is too large to be compared");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text),
        _ => Err("the file is not text"),
    }
}

fn lines(before: &str, after: &str) -> Vec<DiffLine> {
    let difference = TextDiff::configure().timeout(MAX_TIME).diff_lines(before, after);
    let mut lines = Vec::new();
    let mut shown = 0;
    for group in difference.grouped_ops(CONTEXT) {
        let start = group.first().map_or(0, |operation| operation.new_range().start);
        if start > shown {
            lines.push(skipped(start - shown));
        }
        for operation in &group {
            for change in difference.iter_changes(operation) {
                let kind = match change.tag() {
                    ChangeTag::Equal => DiffLineKind::Same,
                    ChangeTag::Insert => DiffLineKind::Added,
                    ChangeTag::Delete => DiffLineKind::Removed,
                };
                lines.push(DiffLine {
                    kind,
                    before: change.old_index().map(|index| index + 1),
                    after: change.new_index().map(|index| index + 1),
                    text: change.value().trim_end_matches(['\n', '\r']).to_owned(),
                });
            }
            shown = operation.new_range().end;
        }
    }
    let rest = after.lines().count().saturating_sub(shown);
    if rest > 0 {
        lines.push(skipped(rest));
    }
    lines.truncate(MAX_LINES);
    lines
}

fn skipped(count: usize) -> DiffLine {
    let text = format!("{count} unchanged {}", if count == 1 { "line" } else { "lines" });
    DiffLine { kind: DiffLineKind::Skipped, before: None, after: None, text }
}
