//! `cargo xtask bench prompt`: what prompt skills cost beyond the model.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::example;
use crate::usage;

pub(crate) const SUMMARY: &str = "prompt skills beside a bare streaming client";

/// What the engine may add to the time until the first token, in microseconds.
const FIRST_TOKEN_GOAL: f64 = 300.0;
/// Tokens per second through the engine, beside those of a bare client.
const RATE_GOAL: f64 = 0.97;
/// A question to a base, beside the same one to the bare engine below it.
const QUERY_GOAL: f64 = 1.3;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let most = match arguments {
        [] => "100000",
        [option] if option == "--million" => "1000000",
        [other, ..] => return Err(usage::unexpected(other)),
    };
    crate::terminal::heading("Asking a model, 300 times each, in turn");
    let text = example::run("prowess-client", "prompt_times", &[])?;
    let figure = |name| {
        example::figure(&text, name).with_context(|| format!("the figure `{name}` is missing"))
    };
    let (bare, engine) = (figure("bare-first")?, figure("engine-first")?);
    let added = engine - bare;
    println!(
        "first token after {engine:.0} µs, by a bare client after {bare:.0} µs: {}",
        example::goal(
            added < FIRST_TOKEN_GOAL,
            &format!("{added:.0} µs more, < {FIRST_TOKEN_GOAL}")
        )
    );
    let (bare, engine) = (figure("bare-all")?, figure("engine-all")?);
    let rate = bare / engine;
    println!(
        "200 tokens after {engine:.0} µs, by a bare client after {bare:.0} µs: {}",
        example::goal(rate >= RATE_GOAL, &format!("{rate:.2} of its rate, ≥ {RATE_GOAL}"))
    );
    println!("memory of a run, with 1,000 at a time: {} KiB", figure("kib-per-run")?);
    knowledge(most)
}

/// Bases of several sizes, beside a bare full-text engine.
fn knowledge(most: &str) -> Result<()> {
    crate::terminal::heading("Filling and asking knowledge bases");
    let text = example::run("prowess-knowledge", "knowledge_figures", &[most])?;
    for line in text.lines() {
        let figures: Value = serde_json::from_str(line).context("a figure is not JSON")?;
        let verdict = match figures["ratio"].as_f64().filter(|_| figures["figure"] == "query") {
            Some(ratio) => {
                example::goal(ratio <= QUERY_GOAL, &format!("{ratio:.2} × bare, ≤ {QUERY_GOAL}"))
            }
            None => String::new(),
        };
        println!("{line} {verdict}");
    }
    Ok(())
}
