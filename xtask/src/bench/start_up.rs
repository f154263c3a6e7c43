//! How long `prowess` takes to start, beside a Rust program that only prints a line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::process;

/// Enough for a steady median, few enough to finish in seconds.
const RUNS: usize = 200;
const WARM_UP_RUNS: usize = 20;

/// How long `prowess --version` takes, as a multiple of a program that only prints a line.
pub(super) fn ratio(prowess: &Path) -> Result<f64> {
    let hello = build_hello_world()?;
    let mut version = Command::new(prowess);
    version.arg("--version");
    let [version, hello] = medians([version, Command::new(&hello)])?;
    Ok(version.as_secs_f64() / hello.as_secs_f64())
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

/// The median times of programs. Taking turns spreads whatever else the machine does over both programs.
pub(super) fn medians<const PROGRAMS: usize>(
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
