//! `cargo xtask start`: from a fresh clone to a first result.

mod registry;
mod server;
mod studio;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::process::{self, Profile};
use crate::{terminal, usage, web};

pub(crate) const HELP: &str = "\
Build Prowess and try it on the bundled example skills

Builds the binary, checks every skill in `examples/`, shows what Prowess understood of each, and runs the tools of some: a
command, a script, a Python function, an OpenClaw handler, and one that reaches for what it may not have. At the end a
registry is started in which these skills are published, and the studio with them and a scripted model: on a terminal until
Ctrl-C, elsewhere only to ask for their health.
The studio's pages are built where Node.js is installed, with packages in `web/studio/node_modules`. Nothing else outside the
build folder is written.

The build is the profile `start` of `Cargo.toml`, which optimises little: it takes less than half of the processor time of a
release build. `cargo build --release` builds the optimised binary.

Usage: cargo xtask start
";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        return Err(usage::unexpected(argument));
    }
    let root = process::workspace_root();
    let examples = examples(&root.join("examples"))?;

    web::build_where_possible();

    terminal::heading("Building prowess (the first build takes a few minutes)");
    let prowess = process::build_prowess(Profile::Start)?;

    terminal::heading("Checking the example skills");
    process::run(process::command(&prowess).args(["check", "examples"]))
        .context("an example skill has a problem; the lines above say which and where")?;

    for example in &examples {
        let example = example.strip_prefix(&root).unwrap_or(example);
        terminal::heading(&format!("What Prowess understood of {}", example.display()));
        process::run(process::command(&prowess).arg("show").arg(example))?;
    }

    run_tools(&prowess)?;

    terminal::heading("Ready");
    let binary = prowess.strip_prefix(&root).unwrap_or(&prowess).display().to_string();
    terminal::say(&format!("The binary is `{binary}`. Next:"));
    terminal::say(&format!("  {binary} new my-skill      write a skill of your own"));
    terminal::say(&format!("  {binary} check my-skill    see what is wrong with it"));
    terminal::say(&format!("  {binary} doctor            see what this machine can enforce"));
    terminal::say(&format!("  {binary} --help            everything else"));
    terminal::say(
        "For daily use, `cargo build --release` builds an optimised `target/release/prowess`.",
    );

    terminal::heading("The registry, with these skills");
    let registry = registry::start(&prowess, &root, &examples)?;

    terminal::heading("The studio, with these skills and a scripted model");
    studio::run(&prowess, &root, &registry)
}

/// A tool to run, and what it shows.
struct Trial {
    title: &'static str,
    arguments: &'static [&'static str],
    succeeds: bool,
}

const TRIALS: &[Trial] = &[
    Trial {
        title: "A command: the last commits of this repository",
        arguments: &["examples/git-insights/recent_changes", "--input", "count=3"],
        succeeds: true,
    },
    Trial {
        title: "A script, with base utilities and the programs that the skill names",
        arguments: &["examples/git-insights/hot_files", "--input", "count=3"],
        succeeds: true,
    },
    Trial {
        title: "A Python function",
        arguments: &["examples/greeting/greet", "--input", "name=world"],
        succeeds: true,
    },
    Trial {
        title: "An OpenClaw handler",
        arguments: &[
            "examples/unit-converter/convert",
            "--inputs",
            "{\"amount\": 26.2, \"source\": \"mi\", \"target\": \"km\"}",
        ],
        succeeds: true,
    },
    Trial {
        title: "An attempt to read passwords: refused unless a person approves it",
        arguments: &["examples/word-count/count", "--input", "file=/etc/shadow"],
        succeeds: false,
    },
];

fn run_tools(prowess: &Path) -> Result<()> {
    let doctor = process::command(prowess).args(["doctor", "--quiet"]).status()?;
    if !doctor.success() {
        terminal::say(
            "This machine can't hold tools to what they may do, so none is run; `prowess doctor` says why.",
        );
        return Ok(());
    }
    for trial in TRIALS {
        terminal::heading(trial.title);
        let mut command = process::command(prowess);
        command.arg("run").args(trial.arguments).arg("--yes");
        // What is to be refused must not wait for an answer on a terminal.
        command.stdin(Stdio::null());
        terminal::say(&format!("$ {}", process::describe(&command)));
        let succeeded = command.status().context("could not start prowess")?.success();
        if succeeded != trial.succeeds {
            bail!("this was to {}", if trial.succeeds { "succeed" } else { "fail" });
        }
    }
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
        // Other folders are examples of other things, such as an agent's manifest.
        if path.join("SKILL.md").is_file() || is_tool_pack {
            examples.push(path);
        }
    }
    if examples.is_empty() {
        bail!("there is no example skill in `{}`; is the checkout complete?", folder.display());
    }
    examples.sort();
    Ok(examples)
}
