//! Measures how long it takes to run `true`: without a sandbox, in a sandbox, in a prepared sandbox, and with bubblewrap
//! if it is installed. Prints a name and the median in microseconds per line; `cargo xtask bench run` computes the ratios.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prowess_sandbox::{Input, Observer, OutputStream, PreparedSandbox, Spec, run};

/// Enough for a stable median.
const RUNS: usize = 500;
const WARM_UP_RUNS: usize = 20;
const PROGRAM: &str = "/bin/true";

struct NoOutput;

impl Observer for NoOutput {
    fn output(&mut self, _: OutputStream, _: &[u8]) {}
}

type Error = Box<dyn std::error::Error>;

fn bare() -> Result<Duration, Error> {
    let started = Instant::now();
    let output = Command::new(PROGRAM).stdin(Stdio::null()).output()?;
    assert!(output.status.success(), "`true` exits with 0");
    Ok(started.elapsed())
}

fn cold() -> Result<Duration, Error> {
    let started = Instant::now();
    run(Spec::new(PROGRAM), &mut NoOutput)?;
    Ok(started.elapsed())
}

fn prepared() -> Result<Duration, Error> {
    let mut prepared = PreparedSandbox::new(Spec::new(PROGRAM))?;
    prepared.ready()?;
    let started = Instant::now();
    prepared.start(&[], &[], Input::Empty)?.wait(&mut NoOutput)?;
    Ok(started.elapsed())
}

fn bubblewrap() -> Result<Duration, Error> {
    let started = Instant::now();
    let output = Command::new("bwrap")
        .args(["--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib"])
        .args(["--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin"])
        .args(["--proc", "/proc", "--dev", "/dev", PROGRAM])
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(started.elapsed())
}

type Measure = fn() -> Result<Duration, Error>;

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Error> {
    let mut measures: Vec<(&str, Measure, Vec<Duration>)> = vec![
        ("bare", bare, Vec::new()),
        ("cold", cold, Vec::new()),
        ("prepared", prepared, Vec::new()),
    ];
    if bubblewrap().is_ok() {
        measures.push(("bwrap", bubblewrap, Vec::new()));
    }
    // Taking turns spreads the other load of the machine over all of them.
    for turn in 0..WARM_UP_RUNS + RUNS {
        for (_, measure, times) in &mut measures {
            let time = measure()?;
            if turn >= WARM_UP_RUNS {
                times.push(time);
            }
        }
    }
    for (name, _, mut times) in measures {
        times.sort();
        println!("{name} {}", times[times.len() / 2].as_micros());
    }
    Ok(())
}
