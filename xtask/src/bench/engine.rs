//! `cargo xtask bench engine`: many runs at a time in one process, beside the bare sandbox.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::example;
use crate::terminal::{self, Align};
use crate::usage;

pub(crate) const SUMMARY: &str =
    "queued tool runs beside the bare sandbox, and 5,000 prompts at a time";

/// Runs per second, beside those of the bare sandbox with as many threads.
const RATE_GOAL: f64 = 0.8;
/// Fewer runs are over before their rate means anything.
const FEWEST_RUNS: f64 = 100.0;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(other) = arguments.first() {
        return Err(usage::unexpected(other));
    }
    terminal::heading("Queueing tool runs and answering prompts in one process");
    let text = example::run("prowess-engine", "execution_figures", &[])?;
    print!("{}", table(&text)?);
    Ok(())
}

/// Lines of JSON to a table for people.
fn table(text: &str) -> Result<String> {
    let head =
        ["runs", "", "per second", "bare sandbox", "× bare", "KiB per run", "threads", "goal"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for line in text.lines() {
        let figure: Value =
            serde_json::from_str(line).with_context(|| format!("`{line}` is not JSON"))?;
        let number = |name: &str| {
            figure[name].as_f64().with_context(|| format!("the figure `{name}` is missing"))
        };
        let (runs, lost) = (number("runs")?, number("lost")?);
        let lost = example::goal(lost == 0.0, &format!("{lost} lost events"));
        let cells = match figure["figure"].as_str() {
            Some("tools") => {
                let ratio = number("ratio")?;
                let rate = example::goal(ratio >= RATE_GOAL, &format!("≥ {RATE_GOAL} × bare"));
                [
                    "queued tools".to_owned(),
                    format!("{:.0}", number("per_s")?),
                    format!("{:.0}", number("bare_per_s")?),
                    format!("{ratio:.2}"),
                    number("kib_per_run")?.to_string(),
                    number("threads")?.to_string(),
                    if runs < FEWEST_RUNS { lost } else { format!("{rate}, {lost}") },
                ]
            }
            Some("streams") => [
                "prompts".to_owned(),
                format!("{:.0} tokens", number("tokens_per_s")?),
                String::new(),
                String::new(),
                number("kib_per_run")?.to_string(),
                number("threads")?.to_string(),
                lost,
            ],
            _ => anyhow::bail!("`{figure}` is not a known figure"),
        };
        let mut row = vec![runs.to_string()];
        row.extend(cells);
        rows.push(row);
    }
    let right = Align::Right;
    let alignment = [right, Align::Left, right, right, right, right, right, Align::Left];
    Ok(terminal::table(&alignment, &rows))
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn figures_become_a_table_with_goals() {
        let text = "{\"figure\":\"tools\",\"runs\":1,\"per_s\":9.0,\"bare_per_s\":10.0,\"ratio\":0.9,\"kib_per_run\":3,\"threads\":2,\"lost\":0}\n\
            {\"figure\":\"tools\",\"runs\":1000,\"per_s\":5.0,\"bare_per_s\":10.0,\"ratio\":0.5,\"kib_per_run\":3,\"threads\":2,\"lost\":1}\n\
            {\"figure\":\"streams\",\"runs\":5000,\"kib_per_run\":12,\"threads\":0,\"tokens_per_s\":1000.0,\"lost\":0}\n";
        let table = table(text).expect("it is complete");
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 4, "{table}");
        assert!(lines[1].ends_with("0 lost events: met"), "{table}");
        assert!(lines[2].ends_with("≥ 0.8 × bare: missed, 1 lost events: missed"), "{table}");
        assert!(lines[3].contains("1000 tokens"), "{table}");
    }
}
