//! `cargo xtask ledger`: which requirements have a test that names them.

mod entry_points;
mod product;
mod requirements;
mod rust_tests;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, bail};

use self::entry_points::{EntryPoint, Way};
use self::product::Product;
use self::requirements::{Ledger, Row, Status};
use self::scan::{Mention, Scan};
use crate::terminal::{self, Align, Style};
use crate::{process, usage};

pub(crate) const HELP: &str = "\
Compare the requirements ledger with the tests that name its rows

Every row of `conformance/requirements.md` has an ID. A row is covered when a test names that ID: in its
body, in a comment or attribute directly above it, or in a case file below `crates/*/tests/it/cases`.
The test has to reach the product: it starts the binary, or it is an integration test that calls an entry
point of its crate. `conformance/entry-points.tsv` lists the entry points, and each must be used by another
crate or presented by a page. Unit tests, ignored tests and tests that call a public item which only tests
use do not count.

Fails when a row marked `covered` has no such test, when a row marked `open` has one, when a test names an
ID that is not in the ledger, when an entry point is not one, and when a public item of a library is used
by tests only.

Usage: cargo xtask ledger [--open | --by-test | --update] [PREFIX…]

Options:
  --open      List the open rows with their text
  --by-test   List the tests that name each row
  --update    Rewrite the status column from the tests
  PREFIX      Show only the rows whose ID starts with it: `OC`, `GIB-3`, `GIB-3.4`

Example: cargo xtask ledger --open GIB-3 OC
";

const LEDGER: &str = "conformance/requirements.md";
const ENTRY_POINTS: &str = "conformance/entry-points.tsv";

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Summary,
    Open,
    ByTest,
    Update,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut view = View::Summary;
    let mut prefixes = Vec::new();
    for argument in arguments {
        let wanted = match argument.as_str() {
            "--open" => View::Open,
            "--by-test" => View::ByTest,
            "--update" => View::Update,
            option if option.starts_with('-') => return Err(usage::unexpected(option)),
            prefix => {
                prefixes.push(prefix.to_owned());
                continue;
            }
        };
        if view != View::Summary && view != wanted {
            return Err(usage::unexpected(argument));
        }
        view = wanted;
    }

    let root = process::workspace_root();
    let path = root.join(LEDGER);
    let text = fs::read_to_string(&path).with_context(|| format!("could not read `{LEDGER}`"))?;
    let mut ledger = requirements::parse(&text)
        .with_context(|| format!("`{LEDGER}` is not a readable ledger"))?;
    let (mut scan, product) = scan::scan(&root, &ledger.groups())?;
    let entries = fs::read_to_string(root.join(ENTRY_POINTS))
        .with_context(|| format!("could not read `{ENTRY_POINTS}`"))?;
    let entries = entry_points::parse(&entries)
        .with_context(|| format!("`{ENTRY_POINTS}` is not a list of entry points"))?;
    scan.judge(&product, &entries);
    let mut pages = BTreeMap::new();
    for entry in &entries {
        if let Way::Documented(page) = &entry.way {
            pages.insert(page.clone(), fs::read_to_string(root.join(page)).unwrap_or_default());
        }
    }

    if view == View::Update {
        let updated = requirements::with_statuses(&text, |id| scan.status(id));
        if updated != text {
            fs::write(&path, &updated).with_context(|| format!("could not write `{LEDGER}`"))?;
        }
        report_update(&ledger, &scan);
        ledger = requirements::parse(&updated).context("the rewritten ledger is not readable")?;
    }
    let shown: Vec<&Row> = ledger.rows.iter().filter(|row| is_shown(row, &prefixes)).collect();
    if shown.is_empty() {
        return Err(usage::invalid_value("PREFIX", &prefixes.join(" "), "the start of an ID"));
    }
    match view {
        View::Summary | View::Update => print!("{}", summary(&shown, &scan)),
        View::Open => print!("{}", open_rows(&shown, &scan)),
        View::ByTest => print!("{}", by_test(&shown, &scan)),
    }

    let mut problems = problems(&ledger, &scan);
    let wrong = entry_points::problems(&entries, &product, &pages);
    problems.extend(wrong.into_iter().map(|problem| format!("{ENTRY_POINTS}: {problem}")));
    problems.extend(for_tests_only(&product, &entries));
    if problems.is_empty() {
        return Ok(());
    }
    eprintln!();
    for problem in &problems {
        eprintln!("{} {problem}", terminal::paint_stderr(Style::Bad, "ledger:"));
    }
    bail!(
        "the ledger and the tests disagree in {}\nhint: `cargo xtask ledger --update` takes the status column from the tests; an unknown ID needs a correction or a row of its own; an item that only tests use is made private, deleted or used",
        count(problems.len(), "place")
    );
}

fn is_shown(row: &Row, prefixes: &[String]) -> bool {
    // Whole parts only: `NEG-1` is not the start of `NEG-10`.
    let starts_with = |prefix: &String| {
        row.id
            .strip_prefix(prefix.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    prefixes.is_empty() || prefixes.iter().any(starts_with)
}

fn report_update(ledger: &Ledger, scan: &Scan) {
    for row in &ledger.rows {
        let status = scan.status(&row.id);
        if status != row.status {
            println!("{}: {} → {}", row.id, row.status.word(), status.word());
        }
    }
}

const BAR: usize = 20;

fn summary(rows: &[&Row], scan: &Scan) -> String {
    let mut groups: Vec<(&str, usize, usize)> = Vec::new();
    for row in rows {
        if groups.last().is_none_or(|(group, ..)| *group != row.group) {
            groups.push((&row.group, 0, 0));
        }
        let Some((_, covered, total)) = groups.last_mut() else { continue };
        *covered += usize::from(scan.status(&row.id) == Status::Covered);
        *total += 1;
    }
    let all_covered = groups.iter().map(|(_, covered, _)| covered).sum();
    let all = groups.iter().map(|(.., total)| total).sum();
    groups.push(("total", all_covered, all));

    let header = ["group", "covered", "open", "rows", ""];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    for (group, covered, total) in groups {
        let filled = (covered * BAR).checked_div(total).unwrap_or(0);
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled));
        let numbers = [covered, total - covered, total].map(|number| number.to_string());
        let [covered, open, total] = numbers;
        table.push(vec![group.to_owned(), covered, open, total, bar]);
    }
    terminal::table(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Left], &table)
}

fn open_rows(rows: &[&Row], scan: &Scan) -> String {
    let mut text = String::new();
    let open: Vec<&&Row> = rows.iter().filter(|row| scan.status(&row.id) == Status::Open).collect();
    for row in &open {
        let _ = writeln!(text, "{:<12} {}", row.id, row.text);
    }
    let _ = writeln!(text, "\n{} of {} open", open.len(), count(rows.len(), "row"));
    text
}

fn by_test(rows: &[&Row], scan: &Scan) -> String {
    let mut text = String::new();
    for row in rows {
        let counted = scan.in_tests.get(&row.id);
        let unreached = scan.unreached.get(&row.id);
        if counted.is_none() && unreached.is_none() {
            continue;
        }
        let _ = writeln!(text, "{} {}", row.id, row.text);
        for mention in counted.into_iter().flatten() {
            let _ = writeln!(text, "    {mention}");
        }
        for (mention, reason) in unreached.into_iter().flatten() {
            let _ = writeln!(text, "    {mention} (does not count: {reason})");
        }
    }
    if text.is_empty() {
        text.push_str("no test names any of these rows\n");
    }
    text
}

/// Everything the ledger claims and the tests do not show, and the other way round.
fn problems(ledger: &Ledger, scan: &Scan) -> Vec<String> {
    let rows: BTreeMap<&str, &Row> = ledger.rows.iter().map(|row| (row.id.as_str(), row)).collect();
    let mut problems = Vec::new();
    for row in &ledger.rows {
        match (row.status, scan.in_tests.get(&row.id)) {
            (Status::Covered, None) => {
                let elsewhere = scan.elsewhere.get(&row.id).map_or_else(String::new, |mentions| {
                    format!("; it is named outside a running test in {}", mentions[0])
                });
                let why = match scan.unreached.get(&row.id).and_then(|tests| tests.first()) {
                    Some((mention, reason)) => format!("{mention} does not count: {reason}"),
                    None => format!("no test names it{elsewhere}"),
                };
                problems.push(format!(
                    "{LEDGER}:{}: `{}` is marked `covered`, but {why}",
                    row.line, row.id
                ));
            }
            (Status::Open, Some(mentions)) => problems.push(format!(
                "{LEDGER}:{}: `{}` is marked `open`, but {} names it",
                row.line, row.id, mentions[0]
            )),
            (Status::Covered, Some(_)) | (Status::Open, None) => {}
        }
    }
    let uncounted = scan.unreached.iter().filter_map(|(id, tests)| Some((id, &tests.first()?.0)));
    for (id, mention) in uncounted.filter(|(id, _)| !scan.in_tests.contains_key(*id)) {
        if !rows.contains_key(id.as_str()) {
            problems.push(format!("{mention} names `{id}`, which is not in the ledger"));
        }
    }
    for (id, mentions) in &scan.in_tests {
        if !rows.contains_key(id.as_str()) {
            problems.push(format!("{} names `{id}`, which is not in the ledger", first(mentions)));
        }
    }
    problems
}

/// Public items that only tests use, and that are not listed as parts which tests may replace.
fn for_tests_only(product: &Product, entries: &[EntryPoint]) -> Vec<String> {
    let is_listed = |item: &product::Item| {
        entries.iter().any(|entry| {
            let excused = matches!(entry.way, Way::Test | Way::Documented(_));
            excused && entry.krate == item.krate && entry.name == item.name
        })
    };
    product
        .for_tests_only()
        .filter(|item| item.krate != "prowess" && !is_listed(item))
        .map(|item| {
            format!("{}:{}: `{}` is public, and only tests use it", item.file, item.line, item.name)
        })
        .collect()
}

fn first(mentions: &[Mention]) -> String {
    mentions.first().map_or_else(String::new, Mention::to_string)
}

fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}
