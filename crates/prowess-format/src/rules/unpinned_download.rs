//! `unpinned-download`.

use serde_json::Value;

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::OPENCLAW;

rule! {
    /// ## What it does
    /// Flags an install entry that downloads without a digest, over plain HTTP, or to a path with `..`.
    ///
    /// ## Why is this bad?
    /// An attacker who controls the server or the network can replace the file. Prowess never runs an install entry itself.
    ///
    /// ## Example
    /// Add `sha256: …` and use `https://`.
    UNPINNED_DOWNLOAD = "unpinned-download", Warning / Warning, check;
    OPENCLAW.at("Skills")
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
            problems.push(("its `targetDir` contains `..`", "name a folder without `..`"));
        }
        for (problem, help) in problems {
            findings.push(
                UNPINNED_DOWNLOAD
                    .at(install.kind.span, format!("the download can't be verified: {problem}"))
                    .help(help),
            );
        }
    }
}
