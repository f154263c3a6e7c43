//! `cargo xtask bench registry`: the registry beside bare servers and bare tantivy on the same stack.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use super::example::{self, goal};
use crate::process::{self, cargo, command};
use crate::{terminal, usage};

pub(crate) const SUMMARY: &str = "the registry beside bare servers and bare tantivy \
     (`--million`: also 1,000,000 skills; `--small`: fewer, without optimization)";

/// Downloads and metadata, beside the bare server: requests per second of processor time.
const DOWNLOAD_GOAL: f64 = 0.8;
const METADATA_GOAL: f64 = 0.6;
/// Searches beside bare tantivy.
const SEARCH_GOAL: f64 = 0.7;
/// The slowest searches of 1,000,000 skills, in milliseconds.
const MILLION_GOAL: f64 = 12.0;
const MILLION: usize = 1_000_000;
/// Processor time of a page, in milliseconds.
const PAGE_GOAL: f64 = 5.0;
/// Memory at rest, in MiB.
const MEMORY_GOAL: f64 = 80.0;

/// How much is measured.
struct Extent {
    release: bool,
    skills: usize,
    requests: usize,
    searches: Vec<usize>,
    /// How long 50 publishers and 500 readers go on.
    seconds: u64,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut extent = Extent {
        release: true,
        skills: 1_000,
        requests: 20_000,
        searches: vec![1_000, 10_000, 100_000],
        seconds: 60,
    };
    match arguments {
        [] => {}
        [option] if option == "--million" => extent.searches.push(MILLION),
        // Its figures say nothing; it shows that the measurement works.
        [option] if option == "--small" => {
            extent = Extent {
                release: false,
                skills: 50,
                requests: 500,
                searches: vec![500],
                seconds: 5,
            };
        }
        [other, ..] => return Err(usage::unexpected(other)),
    }
    let Extent { skills, requests, .. } = extent;
    terminal::heading(&format!("Publishing {skills} skills, and {requests} requests of each kind"));
    build(extent.release)?;
    servers(&extent)?;
    for count in &extent.searches {
        terminal::heading(&format!("Searching {count} skills, beside bare tantivy in turn"));
        searches(&extent, *count)?;
    }
    terminal::heading(&format!("50 publishers and 500 readers for {} s", extent.seconds));
    load(&extent)
}

fn load(extent: &Extent) -> Result<()> {
    let text = measured(extent, &["load", &extent.seconds.to_string()])?;
    let (lost, failures) = (figure(&text, "lost")?, figure(&text, "failures")?);
    println!(
        "published                {:.0}, p99 {:.0} ms; lost {lost:.0}, failed requests {failures:.0}: {}",
        figure(&text, "published")?,
        figure(&text, "publish-p99")?,
        goal(lost + failures < 1.0, "none lost, none failed")
    );
    println!(
        "reads                    {:.0}, p50 {:.0} ms, p99 {:.0} ms; asked to wait: {:.0}",
        figure(&text, "reads")?,
        figure(&text, "read-p50")?,
        figure(&text, "read-p99")?,
        figure(&text, "limited")?
    );
    Ok(())
}

fn build(release: bool) -> Result<()> {
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--package", "prowess-registry"]);
    cargo.args(["--example", "registry_figures"]);
    if release {
        cargo.arg("--release");
    }
    process::run(&mut cargo)
}

fn measured(extent: &Extent, arguments: &[&str]) -> Result<String> {
    let folder = if extent.release { "release" } else { "debug" };
    let program = process::target_dir().join(folder).join("examples/registry_figures");
    let output = command(program).args(arguments).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "measuring failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

fn figure(text: &str, name: &str) -> Result<f64> {
    // The blank tells `frequent-p50` from `frequent-p500`, and a name from a longer one.
    example::figure(text, &format!("{name} "))
        .with_context(|| format!("the figure `{name}` is missing"))
}

fn servers(extent: &Extent) -> Result<()> {
    let (skills, requests) = (extent.skills.to_string(), extent.requests.to_string());
    let text = measured(extent, &["servers", &skills, &requests])?;
    println!("publishing               {:.0} skills/s", figure(&text, "publish")?);
    for (what, name, least) in
        [("downloads", "download", DOWNLOAD_GOAL), ("metadata", "metadata", METADATA_GOAL)]
    {
        let (ours, bare) = (figure(&text, name)?, figure(&text, &format!("bare-{name}"))?);
        println!(
            "{what:<24} {ours:.0} requests per CPU second, by a bare server {bare:.0}: {}",
            goal(ours / bare >= least, &format!("{:.2} × bare, ≥ {least}", ours / bare))
        );
    }
    for (what, name) in
        [("home page", "home-milliseconds"), ("page of a skill", "page-milliseconds")]
    {
        let time = figure(&text, name)?;
        println!(
            "{what:<24} {time:.2} ms of CPU: {}",
            goal(time <= PAGE_GOAL, &format!("≤ {PAGE_GOAL} ms"))
        );
    }
    let memory = figure(&text, "memory")?;
    println!(
        "memory at rest           {memory:.0} MiB: {}",
        goal(memory < MEMORY_GOAL, &format!("< {MEMORY_GOAL} MiB"))
    );
    Ok(())
}

fn searches(extent: &Extent, count: usize) -> Result<()> {
    let text = measured(extent, &["searches", &count.to_string()])?;
    println!("building the index       {:.1} s", figure(&text, "build-seconds")?);
    for (what, name) in
        [("a frequent word", "frequent"), ("a rare word", "rare"), ("two words", "two")]
    {
        let ratio = figure(&text, &format!("{name}-ratio"))?;
        let slowest = figure(&text, &format!("{name}-p99"))?;
        println!(
            "{what:<24} p50 {:.2} ms, p99 {slowest:.2} ms, by bare tantivy p99 {:.2} ms: {}",
            figure(&text, &format!("{name}-p50"))?,
            figure(&text, &format!("bare-{name}-p99"))?,
            goal(ratio >= SEARCH_GOAL, &format!("{ratio:.2} × its rate, ≥ {SEARCH_GOAL}"))
        );
        if count >= MILLION {
            let met = slowest < MILLION_GOAL;
            println!("{:<24} {}", "", goal(met, &format!("p99 < {MILLION_GOAL} ms")));
        }
    }
    Ok(())
}
