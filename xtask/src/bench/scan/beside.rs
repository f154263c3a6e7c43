//! Other scanners on the same skills, if they are installed: what each of them calls unsafe.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::process;
use crate::terminal::say;

/// A group of skills: what it is called, and its folders.
pub(crate) type SkillGroup = (&'static str, Vec<std::path::PathBuf>);

/// Runs the scanners whose commands are in a folder, and prints the share of each group that they call unsafe.
pub(crate) fn run(commands: &Path, groups: &[SkillGroup], scratch: &Path) -> Result<()> {
    for (name, folders) in groups {
        let place = scratch.join(name.replace(' ', "-"));
        let skills = place.join(".claude/skills");
        fs::create_dir_all(&skills)?;
        for folder in folders {
            let target = skills.join(folder.file_name().unwrap_or_default());
            std::os::unix::fs::symlink(fs::canonicalize(folder)?, target)?;
        }
        for (command, count) in
            [("skill-scanner", skill_scanner as Scanner), ("skillfortify", skillfortify)]
        {
            let program = commands.join(command);
            if !program.is_file() {
                say(&format!("{command} is not in `{}`", commands.display()));
                continue;
            }
            let before = crate::fresh::cpu_time_of_children();
            let unsafe_ones = count(&program, &place)?;
            let cpu = crate::fresh::cpu_time_of_children()
                .zip(before)
                .map_or(0.0, |(after, before)| after.saturating_sub(before).as_secs_f64() * 1e3);
            #[expect(clippy::cast_precision_loss, reason = "there are some hundred skills")]
            let (share, each) = (
                unsafe_ones as f64 * 100.0 / folders.len().max(1) as f64,
                cpu / folders.len().max(1) as f64,
            );
            say(&format!(
                "{command}: {name}: {unsafe_ones} of {} unsafe ({share:.1} %), {each:.0} ms of processor time for each",
                folders.len()
            ));
        }
    }
    Ok(())
}

/// Counts the skills below a place that a scanner calls unsafe.
type Scanner = fn(&Path, &Path) -> Result<usize>;

/// Copies are made because neither of them follows links.
fn copied(place: &Path) -> Result<()> {
    let skills = place.join(".claude/skills");
    for entry in fs::read_dir(&skills)?.flatten() {
        if entry.file_type()?.is_symlink() {
            let target = fs::read_link(entry.path())?;
            fs::remove_file(entry.path())?;
            process::run(process::command("cp").arg("-r").arg(target).arg(entry.path()))?;
        }
    }
    Ok(())
}

fn skill_scanner(program: &Path, place: &Path) -> Result<usize> {
    copied(place)?;
    let report = place.join("report.json");
    process::command(program)
        .args(["scan-all", "--format", "json", "--output-json"])
        .arg(&report)
        .arg(place.join(".claude/skills"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let value: Value = serde_json::from_slice(&fs::read(&report).context("no report")?)?;
    let results = value.get("results").and_then(Value::as_array).into_iter().flatten();
    let unsafe_paths: BTreeSet<&str> = results
        .filter(|result| result.get("is_safe") == Some(&Value::Bool(false)))
        .filter_map(|result| result.get("skill_path").and_then(Value::as_str))
        .collect();
    Ok(unsafe_paths.len())
}

fn skillfortify(program: &Path, place: &Path) -> Result<usize> {
    copied(place)?;
    let output = process::command(program)
        .args(["scan", ".", "--format", "json"])
        .current_dir(place)
        .stderr(Stdio::null())
        .output()?;
    let value: Value = serde_json::from_slice(&output.stdout)?;
    let results = value.as_array().into_iter().flatten();
    Ok(results.filter(|result| result.get("is_safe") == Some(&Value::Bool(false))).count())
}
