//! Samples that were written for the benchmark: one text holds many, and each becomes a folder.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// A sample: attack or not, its category, and the name of its folder.
pub(crate) struct CodeSample {
    pub(crate) is_attack: bool,
    pub(crate) category: String,
    pub(crate) folder: String,
}

/// The main file of a sample that has none of its own.
const MAIN_FILE: &str =
    "---\nname: sample\ndescription: Helps with a task\n---\n\n# Sample\n\nRun the script.\n";

/// Writes the samples of a text to folders below one.
pub(crate) fn unpack(file: &Path, folder: &Path) -> Result<Vec<CodeSample>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let mut samples = Vec::new();
    for part in text.split("\n=== ").skip(1) {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        let mut words = head.split_whitespace();
        let is_attack = words.next() == Some("attack");
        let category = if is_attack { words.next().unwrap_or_default() } else { "none" };
        let name = words.next().unwrap_or_default();
        let sample = folder.join(format!("{category}-{name}"));
        fs::create_dir_all(&sample)?;
        fs::write(sample.join("SKILL.md"), MAIN_FILE)?;
        for file in format!("\n{body}").split("\n--- ").skip(1) {
            let (path, content) = file.split_once('\n').unwrap_or((file, ""));
            let path = sample.join(path.trim());
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, format!("{content}\n"))?;
        }
        samples.push(CodeSample {
            is_attack,
            category: category.to_owned(),
            folder: format!("{category}-{name}"),
        });
    }
    Ok(samples)
}
