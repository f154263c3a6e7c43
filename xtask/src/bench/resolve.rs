//! `cargo xtask bench resolve`: choosing versions beside the bare solver, and what hostile graphs cost.

use anyhow::{Context as _, Result};

use super::example;
use crate::usage;

pub(crate) const SUMMARY: &str = "choosing versions beside the bare solver";

/// Resolving, with looking up, ordering and all rules, beside the bare solver with sets made before.
const RATIO_GOAL: f64 = 1.5;
/// When a graph is given up that has no solution or none that can be found, in milliseconds.
const HOSTILE_GOAL: f64 = 1000.0;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        return Err(usage::unexpected(argument));
    }
    crate::terminal::heading("Resolving 40 requests among 10,000 skills of about 10 versions");
    let text = example::run("prowess-resolve", "resolve_times", &[])?;
    let figure = |name: &str| {
        example::figure(&text, name).with_context(|| format!("the figure `{name}` is missing"))
    };
    let (bare, ours) = (figure("bare-ms ")?, figure("ms ")?);
    let ratio = figure("ratio ")?;
    println!(
        "{} skills in {ours:.1} ms, {} by the bare solver in {bare:.1} ms: {}",
        figure("size ")?,
        figure("bare-size ")?,
        example::goal(ratio <= RATIO_GOAL, &format!("{ratio:.2} × bare, ≤ {RATIO_GOAL}"))
    );
    println!("the bare solver, free to decide in any order: {:.1} ms", figure("free-ms ")?);
    println!("a range is read in {} ns", figure("parse-ns ")?);
    for name in ["hostile", "larger-hostile"] {
        let longest = figure(&format!("{name}-ms "))?;
        println!(
            "{name} graph, {} of 10 given up: {}",
            figure(&format!("{name}-given-up "))?,
            example::goal(
                longest <= HOSTILE_GOAL,
                &format!("the longest took {longest:.0} ms, ≤ {HOSTILE_GOAL}")
            )
        );
    }
    Ok(())
}
