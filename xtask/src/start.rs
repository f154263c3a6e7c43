//! `cargo xtask start`: from a fresh clone to a first result.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::process::{self, Profile};
use crate::{terminal, usage};

pub(crate) const HELP: &str = "\
Build Prowess and try it on the bundled example skills

Builds the release binary, checks every skill in `examples/` and shows what Prowess understood of each.
Nothing is installed and nothing outside the build folder is written.

Usage: cargo xtask start
";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        return Err(usage::unexpected(argument));
    }
    let root = process::workspace_root();
    let examples = examples(&root.join("examples"))?;

    terminal::heading("Building prowess (the first build takes a few minutes)");
    let prowess = process::build_prowess(Profile::Release)?;

    terminal::heading("Checking the example skills");
    process::run(process::command(&prowess).args(["check", "examples"]))
        .context("an example skill has a problem; the lines above say which and where")?;

    for example in &examples {
        let example = example.strip_prefix(&root).unwrap_or(example);
        terminal::heading(&format!("What Prowess understood of {}", example.display()));
        process::run(process::command(&prowess).arg("show").arg(example))?;
    }

    terminal::heading("Ready");
    let binary = prowess.strip_prefix(&root).unwrap_or(&prowess).display().to_string();
    terminal::say(&format!("The binary is `{binary}`. Next:"));
    terminal::say(&format!("  {binary} new my-skill      write a skill of your own"));
    terminal::say(&format!("  {binary} check my-skill    see what is wrong with it"));
    terminal::say(&format!("  {binary} --help            everything else"));
    Ok(())
}

/// Every skill directly below the folder, in order of name.
fn examples(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("could not list `{}`", folder.display()))?;
    let mut examples = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("could not list `{}`", folder.display()))?.path();
        let is_tool_pack = path.to_string_lossy().ends_with(".tool.json");
        if path.is_dir() || is_tool_pack {
            examples.push(path);
        }
    }
    if examples.is_empty() {
        bail!("there is no example skill in `{}`; is the checkout complete?", folder.display());
    }
    examples.sort();
    Ok(examples)
}
