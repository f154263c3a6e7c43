//! `cargo xtask bench`: one file per benchmark, each printing ratios measured in one run.

mod check;
mod engine;
mod example;
mod install;
mod list;
mod mcp;
mod prompt;
mod registry;
mod resolve;
mod run;
mod scan;
mod start_up;
mod studio;

use anyhow::Result;

use crate::usage;

pub(crate) const HELP: &str = "\
Measure Prowess beside its peers and print the ratios

Every number is a ratio of two things measured in the same run on the same machine.
Without a name, lists the benchmarks.

Usage: cargo xtask bench [NAME [OPTIONS]]

Example: cargo xtask bench check
";

struct Bench {
    name: &'static str,
    summary: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const BENCHES: &[Bench] = &[
    Bench { name: "check", summary: check::SUMMARY, run: check::run },
    Bench { name: "engine", summary: engine::SUMMARY, run: engine::run },
    Bench { name: "install", summary: install::SUMMARY, run: install::run },
    Bench { name: "list", summary: list::SUMMARY, run: list::run },
    Bench { name: "mcp", summary: mcp::SUMMARY, run: mcp::run },
    Bench { name: "prompt", summary: prompt::SUMMARY, run: prompt::run },
    Bench { name: "registry", summary: registry::SUMMARY, run: registry::run },
    Bench { name: "resolve", summary: resolve::SUMMARY, run: resolve::run },
    Bench { name: "run", summary: run::SUMMARY, run: run::run },
    Bench { name: "scan", summary: scan::SUMMARY, run: scan::run },
    Bench { name: "studio", summary: studio::SUMMARY, run: studio::run },
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        println!("Benchmarks:");
        for bench in BENCHES {
            println!("  {:<8} {}", bench.name, bench.summary);
        }
        println!("\nRun one with `cargo xtask bench NAME`.");
        return Ok(());
    };
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
        let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
        return Err(usage::invalid_value("NAME", name, &names.join(", ")));
    };
    (bench.run)(rest)
}
