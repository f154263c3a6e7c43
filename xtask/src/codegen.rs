//! `cargo xtask codegen`: the reference pages come out of the binary and are kept in the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::process::{self, Profile};
use crate::{terminal, usage};

pub(crate) const HELP: &str = "\
Regenerate the reference pages in docs/reference

Asks the `prowess` binary for its command, diagnostic, dialect and schema pages and makes
`docs/reference` equal to them: changed pages are rewritten, pages nothing generates are removed.

Usage: cargo xtask codegen [--check]

Options:
  --check   Write nothing; name each page that differs and exit with 1 when there is one
";

const REFERENCE: &str = "docs/reference";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Write,
    Check,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut mode = Mode::Write;
    for argument in arguments {
        match argument.as_str() {
            "--check" => mode = Mode::Check,
            _ => return Err(usage::unexpected(argument)),
        }
    }
    let reference = process::workspace_root().join(REFERENCE);
    let generated = generate()?;
    let kept = if reference.is_dir() { read_tree(&reference)? } else { BTreeMap::new() };
    let changes = compare(&kept, &generated);

    if changes.is_empty() {
        terminal::say(&format!("{REFERENCE} is up to date ({} pages)", generated.len()));
        return Ok(());
    }
    for change in &changes {
        println!("{} {REFERENCE}/{}", change.verb(), change.path().display());
    }
    if mode == Mode::Check {
        bail!(
            "{REFERENCE} is not what the binary generates: {} of its files would change\nhint: run `cargo xtask codegen` and look at the diff",
            changes.len()
        );
    }
    for change in &changes {
        apply(change, &reference, &generated)?;
    }
    Ok(())
}

/// Runs the binary's generator in an empty folder and reads back what it wrote.
fn generate() -> Result<Files> {
    let prowess = process::build_prowess(Profile::Dev)?;
    let folder = process::target_dir().join("codegen");
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("could not empty `{}`", folder.display()))?;
    }
    fs::create_dir_all(&folder)
        .with_context(|| format!("could not create `{}`", folder.display()))?;
    process::run(process::command(&prowess).arg("generate-docs").arg(&folder))?;
    let generated = read_tree(&folder)?;
    // An empty answer would delete every page.
    if generated.is_empty() {
        bail!("`prowess generate-docs` wrote no file; {REFERENCE} is left as it is");
    }
    Ok(generated)
}

/// Path below the folder → content.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn read_tree(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder)
            .with_context(|| format!("could not list `{}`", folder.display()))?
        {
            let path =
                entry.with_context(|| format!("could not list `{}`", folder.display()))?.path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let content =
                fs::read(&path).with_context(|| format!("could not read `{}`", path.display()))?;
            files.insert(path.strip_prefix(root).unwrap_or(&path).to_owned(), content);
        }
    }
    Ok(files)
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    Add(PathBuf),
    Update(PathBuf),
    Remove(PathBuf),
}

impl Change {
    fn verb(&self) -> &'static str {
        match self {
            Change::Add(_) => "add   ",
            Change::Update(_) => "update",
            Change::Remove(_) => "remove",
        }
    }

    fn path(&self) -> &Path {
        match self {
            Change::Add(path) | Change::Update(path) | Change::Remove(path) => path,
        }
    }
}

/// What turns the kept files into the generated ones.
fn compare(kept: &Files, generated: &Files) -> Vec<Change> {
    let wanted = generated.iter().filter_map(|(path, content)| match kept.get(path) {
        None => Some(Change::Add(path.clone())),
        Some(old) if old != content => Some(Change::Update(path.clone())),
        Some(_) => None,
    });
    let stale =
        kept.keys().filter(|path| !generated.contains_key(*path)).cloned().map(Change::Remove);
    wanted.chain(stale).collect()
}

fn apply(change: &Change, reference: &Path, generated: &Files) -> Result<()> {
    let path = reference.join(change.path());
    match change {
        Change::Add(name) | Change::Update(name) => {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)
                    .with_context(|| format!("could not create `{}`", parent.display()))?;
            }
            fs::write(&path, &generated[name])
                .with_context(|| format!("could not write `{}`", path.display()))
        }
        Change::Remove(_) => {
            fs::remove_file(&path).with_context(|| format!("could not remove `{}`", path.display()))
        }
    }
}

#[cfg(test)]
mod tests;
