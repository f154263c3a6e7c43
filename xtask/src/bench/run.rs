//! Running a program behind walls, beside running it bare and beside other sandboxes.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::example::{self, goal};
use super::start_up;
use crate::process::{self, Profile, command};
use crate::terminal::{self, Align};
use crate::test::install::{self, Permission};
use crate::usage;

pub(crate) const SUMMARY: &str =
    "`true` behind walls beside bare, bubblewrap and srt, and what staging writes adds";

/// Goals, as ratios to a bare start in the same run.
const COLD_GOAL: f64 = 5.0;
const PREPARED_GOAL: f64 = 2.0;
/// How many times faster than the command line of srt.
const SRT_GOAL: f64 = 50.0;
const SRT_PACKAGE: &str = "@anthropic-ai/sandbox-runtime@0.0.83";
/// What the whole way from the command line may add to a command.
const WHOLE_WAY_GOAL: Duration = Duration::from_millis(10);
/// A call of a Python tool whose worker is warm, beside the same function behind a bare pipe.
const WARM_PYTHON_GOAL: f64 = 1.5;
/// Each run of it takes a large part of a second.
const SRT_RUNS: usize = 11;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut with_peers = true;
    for argument in arguments {
        match argument.as_str() {
            "--no-peers" => with_peers = false,
            other => return Err(usage::unexpected(other)),
        }
    }
    if with_peers {
        for (program, package) in [("bwrap", "bubblewrap"), ("rg", "ripgrep"), ("socat", "socat")] {
            install::system_program(program, package, Permission::Granted)?;
        }
    }
    terminal::heading("Running `true`, 500 times each, in turn");
    let text = example::run("prowess-sandbox", "launch_times", &[])?;
    let micros = |name: &str| example::figure(&text, name);
    let bare = micros("bare").context("the bare time is missing")?;
    let cold = micros("cold").context("the cold time is missing")?;
    let prepared = micros("prepared").context("the prepared time is missing")?;
    let mut rows = vec![["program", "median", "× bare", "goal"].map(str::to_owned).to_vec()];
    rows.push(row("bare", bare, bare, String::new()));
    rows.push(row(
        "all walls",
        cold,
        bare,
        goal(cold / bare <= COLD_GOAL, &format!("≤ {COLD_GOAL} × bare")),
    ));
    rows.push(row(
        "all walls, prepared",
        prepared,
        bare,
        goal(prepared / bare <= PREPARED_GOAL, &format!("≤ {PREPARED_GOAL} × bare")),
    ));
    if let Some(bwrap) = micros("bwrap").filter(|_| with_peers) {
        rows.push(row(
            "bubblewrap, minimal",
            bwrap,
            bare,
            goal(cold < bwrap, "slower than all walls"),
        ));
    }
    if with_peers {
        let srt = srt()?;
        let ahead = srt / cold;
        rows.push(row(
            "srt, command line",
            srt,
            bare,
            goal(ahead >= SRT_GOAL, &format!("{ahead:.0} × our time, ≥ {SRT_GOAL}")),
        ));
    }
    print!("{}", terminal::table(&[Align::Left, Align::Right, Align::Right, Align::Left], &rows));
    writes()?;
    let more = whole_way()?;
    println!(
        "\n`prowess run` on a command takes {:.1} ms more than the command: {}",
        more.as_secs_f64() * 1e3,
        goal(more <= WHOLE_WAY_GOAL, &format!("≤ {} ms", WHOLE_WAY_GOAL.as_millis()))
    );
    let [bare, standing, anew] = warm_python()?;
    println!(
        "a warm Python call takes {standing:.0} µs, {anew:.0} µs when it is decided anew, a bare pipe {bare:.0} µs: {}",
        goal(
            standing / bare <= WARM_PYTHON_GOAL,
            &format!("{:.2} × bare, ≤ {WARM_PYTHON_GOAL}", standing / bare)
        )
    );
    Ok(())
}

fn row(name: &str, micros: f64, bare: f64, goal: String) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.2} ms", micros / 1000.0),
        format!("{:.2}", micros / bare),
        goal,
    ]
}

/// What staging adds to tools that write: a goal for each, as a ratio to the same run that writes directly.
const WRITES: &[(&str, &str, f64)] = &[
    ("none", "nothing", 1.3),
    ("one", "one of 10,000 files", 1.3),
    ("thousand", "1,000 of 10,000 files", 1.5),
    ("large", "100 MB", 1.3),
];

fn writes() -> Result<()> {
    terminal::heading("Writing, staged and applied beside directly");
    let text = example::run("prowess-engine", "staged_writes", &[])?;
    let mut rows =
        vec![["a tool that writes", "directly", "staged", "goal"].map(str::to_owned).to_vec()];
    for (name, what, most) in WRITES {
        let time = |way: &str| {
            let name = format!("{name}-{way}");
            example::figure(&text, &name).with_context(|| format!("the time `{name}` is missing"))
        };
        let (direct, staged) = (time("direct")?, time("staged")?);
        let ratio = staged / direct;
        rows.push(vec![
            (*what).to_owned(),
            format!("{direct:.1} ms"),
            format!("{staged:.1} ms"),
            goal(ratio <= *most, &format!("{ratio:.2}, ≤ {most}")),
        ]);
    }
    print!("{}", terminal::table(&[Align::Left, Align::Right, Align::Right, Align::Left], &rows));
    Ok(())
}

fn warm_python() -> Result<[f64; 3]> {
    terminal::heading("Calling a Python tool, 500 times");
    let folder = process::workspace_root().join("examples/greeting").display().to_string();
    let text = example::run("prowess-engine", "warm_calls", &[&folder])?;
    let time = |name| {
        example::figure(&text, name).with_context(|| format!("the time `{name}` is missing"))
    };
    Ok([time("bare")?, time("standing")?, time("anew")?])
}

/// How much longer a command takes through `prowess run`, with everything that comes before it: reading the skill,
/// checking values, hashing files and programs, deciding.
fn whole_way() -> Result<Duration> {
    terminal::heading("Running a command through `prowess run`");
    let prowess = process::build_prowess(Profile::Release)?;
    let root = process::workspace_root();
    let mut bare = std::process::Command::new("wc");
    bare.args(["--", "README.md"]).current_dir(&root);
    let mut through = std::process::Command::new(prowess);
    through
        .args(["run", "examples/word-count/count", "--input", "file=README.md", "--yes", "--quiet"])
        .current_dir(&root);
    let [bare, through] = start_up::medians([bare, through])?;
    Ok(through.saturating_sub(bare))
}

/// The median of a few runs of its command line, in microseconds.
fn srt() -> Result<f64> {
    let program = install_srt()?;
    terminal::heading("Running `true` under srt");
    let mut times = Vec::new();
    for _ in 0..SRT_RUNS {
        let started = Instant::now();
        let output = command(&program).args(["true"]).stdin(Stdio::null()).output()?;
        ensure!(
            output.status.success(),
            "srt failed: {}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        times.push(started.elapsed());
    }
    times.sort();
    let median: Duration = times[times.len() / 2];
    Ok(median.as_secs_f64() * 1e6)
}

fn install_srt() -> Result<PathBuf> {
    let home = process::target_dir().join("tools/peers/srt");
    let program = home.join("node_modules/.bin/srt");
    if !program.exists() {
        std::fs::create_dir_all(&home)?;
        let mut npm = command("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
        process::run(npm.arg(&home).arg(SRT_PACKAGE))?;
    }
    Ok(program)
}
