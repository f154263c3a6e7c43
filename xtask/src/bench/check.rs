//! How long `prowess` takes to start, beside a Rust program that only prints a line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::process::{self, Profile};
use crate::terminal::{self, Align};
use crate::usage;

pub(crate) const SUMMARY: &str = "start-up time beside a Rust hello-world";

/// Enough for a steady median, few enough to finish in seconds.
const RUNS: usize = 200;
const WARM_UP_RUNS: usize = 20;
/// Starting may cost twice as much as doing nothing at all.
const START_UP_GOAL: f64 = 2.0;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        return Err(usage::unexpected(argument));
    }
    terminal::heading("Building");
    let prowess = process::build_prowess(Profile::Release)?;
    let hello = build_hello_world()?;

    terminal::heading(&format!("Starting each program {RUNS} times, in turn"));
    let mut version = Command::new(&prowess);
    version.arg("--version");
    let [version, hello] = medians([version, Command::new(&hello)])?;
    let ratio = version.as_secs_f64() / hello.as_secs_f64();

    let verdict = if ratio <= START_UP_GOAL { "met" } else { "missed" };
    let rows = [
        vec!["program".to_owned(), "median".to_owned(), "ratio".to_owned(), "goal".to_owned()],
        vec!["hello world".to_owned(), milliseconds(hello), "1.00".to_owned()],
        vec![
            "prowess --version".to_owned(),
            milliseconds(version),
            format!("{ratio:.2}"),
            format!("≤ {START_UP_GOAL:.2}, {verdict}"),
        ],
    ];
    print!("{}", terminal::table(&[Align::Left, Align::Right, Align::Right, Align::Left], &rows));
    Ok(())
}

fn build_hello_world() -> Result<PathBuf> {
    let folder = process::target_dir().join("bench");
    fs::create_dir_all(&folder)
        .with_context(|| format!("could not create `{}`", folder.display()))?;
    let source = folder.join("hello.rs");
    fs::write(&source, "fn main() {\n    println!(\"hello\");\n}\n")
        .with_context(|| format!("could not write `{}`", source.display()))?;
    let binary = folder.join(format!("hello{}", std::env::consts::EXE_SUFFIX));
    process::run(
        process::command("rustc")
            .args(["-O", "-C", "strip=symbols", "-o"])
            .arg(&binary)
            .arg(&source),
    )?;
    Ok(binary)
}

/// Taking turns spreads whatever else the machine does over both programs.
fn medians<const PROGRAMS: usize>(
    mut commands: [Command; PROGRAMS],
) -> Result<[Duration; PROGRAMS]> {
    let mut times = [const { Vec::<Duration>::new() }; PROGRAMS];
    for turn in 0..WARM_UP_RUNS + RUNS {
        for (command, times) in commands.iter_mut().zip(&mut times) {
            let time = time_once(command)?;
            if turn >= WARM_UP_RUNS {
                times.push(time);
            }
        }
    }
    Ok(times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    }))
}

fn time_once(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status().with_context(|| {
        format!("could not start `{}`", Path::new(command.get_program()).display())
    })?;
    let time = started.elapsed();
    anyhow::ensure!(status.success(), "`{}` failed: {status}", process::describe(command));
    Ok(time)
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1000.0)
}
