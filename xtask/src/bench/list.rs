//! `cargo xtask bench list`: 1,000 installed skills, beside `find` over the same folders.

use anyhow::{Context as _, Result};

use super::example;
use crate::process;
use crate::usage;

pub(crate) const SUMMARY: &str = "1,000 installed skills beside `find`";

/// A listing that remembers the files, in milliseconds.
const WARM_GOAL: f64 = 50.0;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let [other, ..] = arguments {
        return Err(usage::unexpected(other));
    }
    crate::terminal::heading("Listing 1,000 skills, 15 times each, in turn");
    let corpus = process::workspace_root().join("../shared/corpus/files");
    let corpus = corpus.is_dir().then(|| corpus.display().to_string());
    let arguments: Vec<&str> = corpus.iter().map(String::as_str).collect();
    let text = example::run("prowess-store", "list_times", &arguments)?;
    let figure = |name| {
        let figure = example::figure(&text, name);
        figure
            .map(|figure| figure / 1000.0)
            .with_context(|| format!("the figure `{name}` is missing"))
    };
    let (cold, warm, find) = (figure("cold")?, figure("warm")?, figure("find")?);
    println!("find -name SKILL.md   {find:.1} ms");
    println!("every file read       {cold:.1} ms, {:.1} × find", cold / find);
    println!(
        "files remembered      {warm:.1} ms, {:.1} × find: {}",
        warm / find,
        example::goal(warm < WARM_GOAL, &format!("< {WARM_GOAL} ms"))
    );
    Ok(())
}
