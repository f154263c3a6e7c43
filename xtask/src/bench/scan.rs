//! `prowess scan` on labelled skills: what is found and what is not, with intervals, and what it costs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

mod beside;
mod code_level;

use crate::fresh::cpu_time_of_children;
use crate::process::{self, cargo, target_dir, workspace_root};
use crate::terminal::{self, Align, say};
use crate::usage;

pub(crate) const SUMMARY: &str = "what the scanner finds in labelled skills, and what it costs";

/// Goals: shares in percent, and milliseconds of processor time for each skill.
const BLOCKED_GOAL: f64 = 1.0;
const REVIEWED_GOAL: f64 = 5.0;
const PREREQUISITE_GOAL: f64 = 98.0;
const CODE_GOAL: f64 = 92.0;
const INJECTION_GOAL: f64 = 60.0;
/// Categories that only text belongs to.
const INJECTION: &[&str] = &["instruction-override", "concealment"];
const MEAN_GOAL: f64 = 4.0;
const SLOWEST_GOAL: f64 = 50.0;

/// A labelled skill with its verdict.
struct Row {
    id: String,
    is_malicious: bool,
    category: String,
    strength: String,
    verdict: String,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut set = workspace_root().join("../shared/scan");
    let mut half = None;
    let mut peers = None;
    for argument in arguments {
        match argument.as_str() {
            folder if folder.starts_with("--beside=") => {
                peers = Some(PathBuf::from(&folder["--beside=".len()..]));
            }
            "--first-half" => half = Some(0),
            "--second-half" => half = Some(1),
            other if other.starts_with('-') => return Err(usage::unexpected(other)),
            folder => set = PathBuf::from(folder),
        }
    }
    let manifest = fs::read_to_string(set.join("manifest.csv"))
        .with_context(|| format!("cannot read `{}/manifest.csv`", set.display()))?;
    terminal::heading("Building");
    process::run(cargo().args([
        "build",
        "--release",
        "-p",
        "prowess-scan",
        "--example",
        "measure",
    ]))?;
    let program = target_dir().join("release/examples/measure");
    let before = cpu_time_of_children();
    let mut measured = BTreeMap::new();
    for label in ["malicious", "benign"] {
        measure(&program, &set.join("dev").join(label), &mut measured)?;
    }
    let cpu =
        cpu_time_of_children().zip(before).map(|(after, before)| after.saturating_sub(before));
    let rows: Vec<Row> = manifest
        .lines()
        .skip(1)
        .filter_map(|line| row(line, &measured))
        .filter(|row| half.is_none_or(|half| half_of(&row.id) == half))
        .collect();
    ensure!(!rows.is_empty(), "the manifest names no skill that is there");
    print(&rows);
    let scratch = target_dir().join("bench-scan");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    for name in
        ["code-level", "code-level-validation", "wordings", "wordings-validation", "wordings-third"]
    {
        print_code_level(&program, name, &scratch)?;
    }
    let mut times: Vec<f64> = measured.values().map(|(_, time)| *time).collect();
    times.sort_by(f64::total_cmp);
    let slowest = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "there are some hundred skills")]
    let mean = cpu.map_or(0.0, |cpu| cpu.as_secs_f64() * 1e3 / times.len() as f64);
    say(&format!(
        "\nprocessor time for each skill: {mean:.2} ms on average (goal {MEAN_GOAL}), 99 of 100 below {slowest:.1} ms (goal {SLOWEST_GOAL})"
    ));
    if let Some(commands) = peers {
        terminal::heading("Other scanners, same skills");
        beside::run(&commands, &groups(&set, &rows), &scratch.join("beside"))?;
    }
    Ok(())
}

/// The groups of skills that the scanners are compared on.
fn groups(set: &Path, rows: &[Row]) -> Vec<beside::SkillGroup> {
    let folders = |wanted: &dyn Fn(&Row) -> bool| {
        let label = |row: &Row| if row.is_malicious { "malicious" } else { "benign" };
        let wanted = rows.iter().filter(|row| wanted(row));
        wanted.map(|row| set.join("dev").join(label(row)).join(&row.id)).collect()
    };
    vec![
        ("fake prerequisites", folders(&|row| row.category == "fake-prerequisite")),
        ("malicious and strong", folders(&|row| row.is_malicious && row.strength == "strong")),
        ("benign", folders(&|row| !row.is_malicious)),
    ]
}

/// What is found in the samples that were written for the benchmark.
fn print_code_level(program: &Path, name: &str, scratch: &Path) -> Result<()> {
    let folder = scratch.join(name);
    let file = workspace_root().join("fixtures/scan").join(format!("{name}.txt"));
    let samples = code_level::unpack(&file, &folder)?;
    let mut measured = BTreeMap::new();
    measure(program, &folder, &mut measured)?;
    let mut counts: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    for sample in &samples {
        let verdict = measured.get(&sample.folder).map_or("", |(verdict, _)| verdict.as_str());
        let category = if sample.is_attack { sample.category.as_str() } else { "benign" };
        for key in [category, if sample.is_attack { "all attacks" } else { "benign" }] {
            let count = counts.entry(key).or_default();
            count.0 += 1;
            count.1 += usize::from(verdict == "BLOCK");
            count.2 += usize::from(verdict == "REVIEW");
            if key == "benign" {
                break;
            }
        }
    }
    say(&format!("\n{name} (goal for attacks on the level of code {CODE_GOAL} %)"));
    for (category, (whole, blocked, reviewed)) in counts {
        let (low, high) = interval(blocked + reviewed, whole);
        say(&format!(
            "  {category}: {whole} samples, {blocked} blocked, {reviewed} reviewed, found {:.1} % ({low:.1}–{high:.1})",
            share(blocked + reviewed, whole)
        ));
    }
    Ok(())
}

/// Runs the scanner on every folder below one, in one process.
fn measure(
    program: &Path,
    folder: &Path,
    measured: &mut BTreeMap<String, (String, f64)>,
) -> Result<()> {
    let output = process::command(program).arg(folder).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the scanner failed on `{}`", folder.display());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut fields = line.split('\t');
        if let (Some(id), Some(verdict), Some(time)) = (fields.next(), fields.next(), fields.next())
        {
            measured.insert(id.to_owned(), (verdict.to_owned(), time.parse().unwrap_or_default()));
        }
    }
    Ok(())
}

fn row(line: &str, measured: &BTreeMap<String, (String, f64)>) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let (verdict, _) = measured.get(*fields.first()?)?;
    Some(Row {
        id: fields[0].to_owned(),
        is_malicious: *fields.get(1)? == "malicious",
        category: (*fields.get(2)?).to_owned(),
        strength: (*fields.get(4)?).to_owned(),
        verdict: verdict.clone(),
    })
}

/// Which half of the set a skill is in: rules are made on one and measured on the other (FNV-1a of the id).
fn half_of(id: &str) -> u64 {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash >> 32 & 1
}

fn print(rows: &[Row]) {
    let mut groups: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let source = row.id.split('-').next().unwrap_or(&row.id);
        let mut add = |name: String| groups.entry(name).or_default().push(row);
        if row.is_malicious {
            add(format!("1 malicious, {} ({})", row.category, row.strength));
            add(format!("2 malicious, from {source}"));
            add(format!("3 malicious, all {}", row.strength));
        } else {
            add(format!("4 benign, from {source}"));
            add("5 benign, all".to_owned());
        }
    }
    let header = ["group", "skills", "blocked", "reviewed", "found", "95 % interval"];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    for (name, rows) in &groups {
        let blocked = rows.iter().filter(|row| row.verdict == "BLOCK").count();
        let reviewed = rows.iter().filter(|row| row.verdict == "REVIEW").count();
        let (low, high) = interval(blocked + reviewed, rows.len());
        table.push(vec![
            name[2..].to_owned(),
            rows.len().to_string(),
            blocked.to_string(),
            reviewed.to_string(),
            format!("{:.1} %", share(blocked + reviewed, rows.len())),
            format!("{low:.1}–{high:.1} %"),
        ]);
    }
    let alignment =
        [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];
    say(&terminal::table(&alignment, &table));
    let benign: Vec<&Row> = rows.iter().filter(|row| !row.is_malicious).collect();
    let count =
        |rows: &[&Row], verdict: &str| rows.iter().filter(|row| row.verdict == verdict).count();
    let lures: Vec<&Row> = rows.iter().filter(|row| row.category == "fake-prerequisite").collect();
    let found = lures.len() - count(&lures, "ALLOW");
    say(&format!(
        "benign blocked {:.1} % (goal {BLOCKED_GOAL}), sent to review {:.1} % (goal {REVIEWED_GOAL}); fake prerequisites found {:.1} % (goal {PREREQUISITE_GOAL})",
        share(count(&benign, "BLOCK"), benign.len()),
        share(count(&benign, "REVIEW"), benign.len()),
        share(found, lures.len()),
    ));
    let injections: Vec<&Row> =
        rows.iter().filter(|row| INJECTION.contains(&row.category.as_str())).collect();
    let found = injections.len() - count(&injections, "ALLOW");
    say(&format!(
        "prompt injection found {:.1} % (goal {INJECTION_GOAL})",
        share(found, injections.len())
    ));
}

#[expect(clippy::cast_precision_loss, reason = "there are some hundred skills")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// The interval of Wilson for a share, in percent.
#[expect(clippy::cast_precision_loss, reason = "there are some hundred skills")]
fn interval(part: usize, whole: usize) -> (f64, f64) {
    if whole == 0 {
        return (0.0, 100.0);
    }
    let (count, share, z) = (whole as f64, part as f64 / whole as f64, 1.96_f64);
    let centre = share + z * z / (2.0 * count);
    let spread = z * (share * (1.0 - share) / count + z * z / (4.0 * count * count)).sqrt();
    let scale = 1.0 + z * z / count;
    (((centre - spread) / scale * 100.0).max(0.0), ((centre + spread) / scale * 100.0).min(100.0))
}
