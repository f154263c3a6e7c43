//! `cargo xtask fuzz`: random input for every target in `fuzz/fuzz_targets`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::{process, terminal, usage};

pub(crate) const HELP: &str = "\
Feed random input to each fuzz target for a while

Needs `cargo-fuzz` and a C++ compiler; `cargo xtask test` installs both. Inputs that reach new code are
thrown away afterwards unless `--keep` is given. An input that breaks a target is written below
`fuzz/artifacts`.

Usage: cargo xtask fuzz [TARGET…] [--seconds N] [--keep]

Options:
  --seconds N   How long each target runs (60 unless given)
  --keep        Add inputs that reach new code to `fuzz/corpus`

Example: cargo xtask fuzz document --seconds 3600 --keep
";

const DEFAULT_SECONDS: u64 = 60;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut options =
        Options { targets: Vec::new(), seconds: DEFAULT_SECONDS, corpus: Corpus::Discard };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => {
                let value = arguments.next().ok_or_else(|| usage::missing_value(argument))?;
                options.seconds = match value.parse() {
                    Ok(seconds) if seconds > 0 => seconds,
                    _ => {
                        return Err(usage::invalid_value(
                            argument,
                            value,
                            "a number of seconds above 0",
                        ));
                    }
                };
            }
            "--keep" => options.corpus = Corpus::Keep,
            option if option.starts_with('-') => return Err(usage::unexpected(option)),
            target => options.targets.push(target.to_owned()),
        }
    }
    fuzz(&options)
}

pub(crate) struct Options {
    /// Empty means every target there is.
    pub(crate) targets: Vec<String>,
    pub(crate) seconds: u64,
    pub(crate) corpus: Corpus,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Corpus {
    Keep,
    Discard,
}

pub(crate) fn fuzz(options: &Options) -> Result<()> {
    let fuzz = process::workspace_root().join("fuzz");
    let known = targets(&fuzz.join("fuzz_targets"))?;
    if let Some(unknown) = options.targets.iter().find(|target| !known.contains(target)) {
        return Err(usage::invalid_value("TARGET", unknown, &known.join(", ")));
    }
    let chosen = if options.targets.is_empty() { &known } else { &options.targets };
    let build = process::target_dir().join("fuzz");
    if options.targets.is_empty() {
        process::run(process::cargo().args(["fuzz", "build"]).args(BUILD_OPTIONS).arg(&build))
            .context("could not build the fuzz targets")?;
    }
    for target in chosen {
        terminal::say(&format!("fuzzing `{target}` for {} s", options.seconds));
        fuzz_target(&fuzz, &build, target, options)?;
    }
    Ok(())
}

/// No sanitizer: the code under test has no `unsafe`, and without one the stable compiler is enough.
const BUILD_OPTIONS: &[&str] = &["--sanitizer", "none", "--target-dir"];

fn targets(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("could not list the fuzz targets in `{}`", folder.display()))?;
    let mut targets = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("could not list `{}`", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "rs")
            && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
        {
            targets.push(name.to_owned());
        }
    }
    if targets.is_empty() {
        bail!("there is no fuzz target in `{}`", folder.display());
    }
    targets.sort();
    Ok(targets)
}

fn fuzz_target(fuzz: &Path, build: &Path, target: &str, options: &Options) -> Result<()> {
    let kept = fuzz.join("corpus").join(target);
    let discarded = build.join("corpus").join(target);
    // libFuzzer writes what it finds to the first folder and only reads the others.
    let corpora = match options.corpus {
        Corpus::Keep => vec![&kept],
        Corpus::Discard if kept.is_dir() => vec![&discarded, &kept],
        Corpus::Discard => vec![&discarded],
    };
    fs::create_dir_all(corpora[0])
        .with_context(|| format!("could not create `{}`", corpora[0].display()))?;

    let mut cargo = process::cargo();
    cargo.args(["fuzz", "run"]).args(BUILD_OPTIONS).arg(build);
    if !options.targets.is_empty() {
        // Only what this target needs is built: the feature is named like it.
        cargo.args(["--no-default-features", "--features", target]);
    }
    cargo.arg(target).args(corpora);
    cargo.arg("--").arg(format!("-max_total_time={}", options.seconds));
    // A single input may take this long and this much; beyond it the target counts as broken.
    cargo.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]);
    process::run(&mut cargo).map_err(|source| {
        anyhow::anyhow!(
            "fuzz target `{target}` found an input that breaks it\n{source}\nhint: the input is in fuzz/artifacts/{target}; make it a fixture once it is understood"
        )
    })
}
