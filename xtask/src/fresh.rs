//! `cargo xtask fresh`: the two commands of the README, as on a machine that has only Rust and a C compiler.

mod environment;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use self::environment::Environment;
use crate::process;
use crate::terminal::{self, Align, Style};
use crate::usage;

pub(crate) const HELP: &str = "\
Run `cargo xtask start` and `cargo xtask test` as on a fresh machine

Clones HEAD into a temporary folder and runs both commands there, one after the other, with an empty home folder and an
empty `CARGO_HOME`, so that every package is downloaded and compiled and every tool is installed. `PATH` holds the Rust
toolchain and the folders of the operating system, without `/usr/local` and the home folder. Of the environment only
the language, the terminal, proxies and the settings of package registries are kept. If there is a folder `../shared`,
it is linked beside the clone.

Prints how long each command took. Compiling everything twice takes up to an hour on two cores and about 15 GB on the
disk; set `TMPDIR` to use another disk. The folder is deleted when everything passed. What `cargo xtask test` installs
with the system's package manager stays installed.

Usage: cargo xtask fresh [start|test] [--keep]

Arguments:
  start    Run only `cargo xtask start`
  test     Run only `cargo xtask test`

Options:
  --keep   Don't delete the temporary folder

Example: cargo xtask fresh start
";

/// A command of the README.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Task {
    Start,
    Test,
}

impl Task {
    fn name(self) -> &'static str {
        match self {
            Task::Start => "start",
            Task::Test => "test",
        }
    }
}

#[derive(PartialEq, Eq, Debug)]
struct Options {
    tasks: Vec<Task>,
    keep: bool,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = options(arguments)?;
    let root = process::workspace_root();
    let machine = Machine::new(&root)?;
    terminal::say(&format!("The fresh machine is `{}`", machine.folder.display()));

    let mut finished = Vec::new();
    let outcome = options.tasks.iter().try_for_each(|&task| {
        terminal::heading(&format!("On a fresh machine: cargo xtask {}", task.name()));
        let started = Instant::now();
        let cpu_before = cpu_time_of_children();
        let outcome = machine.run(task);
        let cpu = cpu_time_of_children()
            .zip(cpu_before)
            .map(|(after, before)| after.saturating_sub(before));
        finished.push(Finished { task, passed: outcome.is_ok(), time: started.elapsed(), cpu });
        outcome
    });
    summarise(&finished);

    if options.keep || outcome.is_err() {
        terminal::say(&format!("Everything is in `{}`", machine.folder.display()));
    } else {
        fs::remove_dir_all(&machine.folder)
            .with_context(|| format!("could not delete `{}`", machine.folder.display()))?;
    }
    outcome
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options { tasks: Vec::new(), keep: false };
    for argument in arguments {
        match argument.as_str() {
            "start" => options.tasks.push(Task::Start),
            "test" => options.tasks.push(Task::Test),
            "--keep" => options.keep = true,
            _ => return Err(usage::unexpected(argument)),
        }
    }
    if options.tasks.is_empty() {
        options.tasks = vec![Task::Start, Task::Test];
    }
    Ok(options)
}

/// A folder with a clone, an empty home folder and an empty `CARGO_HOME`.
struct Machine {
    folder: PathBuf,
    clone: PathBuf,
    environment: Environment,
}

impl Machine {
    fn new(root: &Path) -> Result<Machine> {
        let folder = new_folder(&std::env::temp_dir())?;
        let clone = folder.join("prowess");
        clone_head(root, &clone)?;
        let shared = root.join("../shared");
        if shared.is_dir() {
            link(&shared.canonicalize()?, &folder.join("shared"))?;
        }
        let environment = Environment::new(&folder, &toolchain()?)?;
        Ok(Machine { folder, clone, environment })
    }

    fn run(&self, task: Task) -> Result<()> {
        let mut command = Command::new("cargo");
        command.current_dir(&self.clone).args(["xtask", task.name()]);
        self.environment.apply(&mut command);
        let status = command.status().context("could not start cargo")?;
        if !status.success() {
            bail!("`cargo xtask {}` fails on a fresh machine: {status}", task.name());
        }
        Ok(())
    }
}

fn new_folder(parent: &Path) -> Result<PathBuf> {
    let folder = parent.join(format!("prowess-fresh-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| format!("could not create `{}`", folder.display()))?;
    Ok(folder)
}

fn clone_head(root: &Path, clone: &Path) -> Result<()> {
    if !output(process::command("git").args(["status", "--porcelain"]))?.is_empty() {
        terminal::say("There are uncommitted changes; they are not part of the clone");
    }
    let head = output(process::command("git").args(["rev-parse", "HEAD"]))?;
    process::run(process::command("git").args(["clone", "--quiet"]).arg(root).arg(clone))?;
    let mut checkout = process::command("git");
    process::run(
        checkout.arg("-C").arg(clone).args(["checkout", "--quiet", "--detach"]).arg(head.trim()),
    )
}

/// The folder with the programs of the toolchain that runs us.
fn toolchain() -> Result<PathBuf> {
    let sysroot = output(process::command("rustc").args(["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim()).join("bin"))
}

fn output(command: &mut Command) -> Result<String> {
    let described = process::describe(command);
    let output = command.output().with_context(|| format!("could not start `{described}`"))?;
    if !output.status.success() {
        bail!("`{described}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{described}` printed no UTF-8"))
}

#[cfg(unix)]
fn link(target: &Path, link: &Path) -> Result<()> {
    std::os::unix::fs::symlink(target, link)
        .with_context(|| format!("could not create the link `{}`", link.display()))
}

#[cfg(not(unix))]
fn link(target: &Path, _: &Path) -> Result<()> {
    bail!("`{}` can't be linked on this system", target.display())
}

struct Finished {
    task: Task,
    passed: bool,
    time: Duration,
    cpu: Option<Duration>,
}

fn summarise(finished: &[Finished]) {
    let mut rows = vec![["command", "result", "time", "CPU time"].map(str::to_owned).to_vec()];
    for Finished { task, passed, time, cpu } in finished {
        rows.push(vec![
            format!("cargo xtask {}", task.name()),
            if *passed { "ok" } else { "FAILED" }.to_owned(),
            terminal::duration(*time),
            cpu.map_or_else(|| "–".to_owned(), terminal::duration),
        ]);
    }
    terminal::heading("Summary");
    print!("{}", terminal::table(&[Align::Left, Align::Left, Align::Right, Align::Right], &rows));
    if finished.iter().all(|task| task.passed) {
        println!("\n{}", terminal::paint_stdout(Style::Good, "a fresh machine passes"));
    }
}

/// The processor time of all finished children, where the system is Linux.
pub(crate) fn cpu_time_of_children() -> Option<Duration> {
    children_time(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Reads `cutime` and `cstime` of `proc_pid_stat(5)`.
fn children_time(stat: &str) -> Option<Duration> {
    // The name of the program, in parentheses, may contain spaces. The third field follows it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(16 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    // User space always sees ticks of 10 ms.
    Some(Duration::from_millis((user + system) * 10))
}

#[cfg(test)]
mod tests;
