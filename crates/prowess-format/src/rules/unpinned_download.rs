//! `unpinned-download`.

use serde_json::Value;

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Flags an install entry that downloads without a digest, over plain HTTP, or to a folder that climbs with `..`.
    ///
    /// ## Why is this bad?
    /// Whoever controls the server or the network decides what lands on the machine. Prowess never runs an install entry by itself (OC-5).
    ///
    /// ## Example
    /// Add `sha256: …` and use `https://`.
    UNPINNED_DOWNLOAD = "unpinned-download", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for install in subject
        .skill
        .openclaw
        .iter()
        .flat_map(|block| &block.install)
        .filter(|install| *install.kind == "download")
    {
        let text = |key: &str| install.entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut problems: Vec<(&str, &str)> = Vec::new();
        if text("sha256").is_empty() {
            problems.push(("it has no digest", "add `sha256: …`"));
        }
        if text("url").starts_with("http://") {
            problems.push(("it uses plain HTTP", "use `https://`"));
        }
        if text("targetDir").split(['/', '\\']).any(|part| part == "..") {
            problems.push(("its `targetDir` climbs with `..`", "name a folder without `..`"));
        }
        for (problem, help) in problems {
            findings.push(
                UNPINNED_DOWNLOAD
                    .at(install.kind.span, format!("the download can not be trusted: {problem}"))
                    .help(help),
            );
        }
    }
}
