//! `cargo xtask bench prompt`: what prompt skills cost beyond the model.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::example;
use crate::terminal::{self, Align};
use crate::usage;

pub(crate) const SUMMARY: &str =
    "prompt skills and knowledge bases beside bare ones (`--million`: a large base too)";

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
    terminal::heading("Asking a model, 300 times each, in turn");
    let text = example::run("prowess-models", "prompt_times", &[])?;
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
    terminal::heading(&format!("Filling and asking knowledge bases of up to {most} chunks"));
    let text = example::run("prowess-knowledge", "knowledge_figures", &[most])?;
    print!("{}", knowledge_table(&text)?);
    Ok(())
}

/// Lines of JSON to a table for people.
fn knowledge_table(text: &str) -> Result<String> {
    let figures: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("`{line}` is not JSON")))
        .collect::<Result<_>>()?;
    let number = |figure: &Value, name: &str| {
        figure[name].as_f64().with_context(|| format!("the figure `{name}` is missing"))
    };
    let mut rows =
        vec![["chunks", "", "base", "bare engine", "× bare", "goal"].map(str::to_owned).to_vec()];
    for figure in &figures {
        let ratio = number(figure, "ratio")?;
        let shown = format!("{ratio:.2}");
        let cells = match figure["figure"].as_str() {
            Some("ingest") => [
                "filling".to_owned(),
                format!("{:.1} MB/s", number(figure, "mb_per_s")?),
                format!("{:.1} MB/s", number(figure, "bare_mb_per_s")?),
                shown,
                String::new(),
            ],
            Some("query") => [
                "asking".to_owned(),
                format!("{:.0} µs", number(figure, "us")?),
                format!("{:.0} µs", number(figure, "bare_us")?),
                shown,
                example::goal(ratio <= QUERY_GOAL, &format!("≤ {QUERY_GOAL} × bare")),
            ],
            // The bare engine has no such thing: it keeps what it was told to delete.
            Some("replace") => [
                "replacing one".to_owned(),
                format!("{:.0} ms", number(figure, "ms")?),
                String::new(),
                String::new(),
                format!("{:.1} % of the time of filling", ratio * 100.0),
            ],
            _ => anyhow::bail!("`{figure}` is no figure that is known here"),
        };
        let mut row = vec![number(figure, "chunks")?.to_string()];
        row.extend(cells);
        rows.push(row);
    }
    let alignment =
        [Align::Right, Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    Ok(terminal::table(&alignment, &rows))
}

#[cfg(test)]
mod tests;
