//! `cargo xtask test`: everything that must hold before a change is done, in one command.

pub(crate) mod install;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::fuzz::Corpus;
use crate::process::{self, cargo, command};
use crate::terminal::{self, Align, Style};
use crate::web::Node;
use crate::{codegen, fuzz, ledger, usage, web};

pub(crate) const HELP: &str = "\
Install what the tests need, then run every check of the project

Steps, in order: formatting, clippy, tests, documentation examples, documentation, generated reference
pages, requirements ledger, the web app and its journeys in a browser, a short fuzz run. Stops at the first step that fails and says how to run
that step alone.

Usage: cargo xtask test [--no-install]

Options:
  --no-install   Install nothing; a missing tool is an error
";

/// Long enough to catch a target that breaks at once; long runs are started by hand.
const FUZZ_SECONDS: u64 = 10;

/// The interpreter that has the reference validator; tests that compare with it read this variable.
const REFERENCE_PYTHON: &str = "PROWESS_SKILLS_REF_PYTHON";

/// The interpreter that has the reference implementation of OpenSSF Model Signing; tests that compare with it read this variable.
const MODEL_SIGNING_PYTHON: &str = "PROWESS_MODEL_SIGNING_PYTHON";

/// uv; the test of installing with it reads this variable.
const UV: &str = "PROWESS_UV";

/// A table of static embeddings; the tests of searches by meaning read this variable.
const WORDLLAMA: &str = "PROWESS_WORDLLAMA";

/// Postgres with pgvector, as the folder that has `bin`; the test of bases in a database reads this variable.
const PGVECTOR: &str = "PROWESS_PGVECTOR";

/// The official JSON Schema of SARIF; the test that compares with it reads this variable.
const SARIF_SCHEMA: &str = "PROWESS_SARIF_SCHEMA";

/// The interpreter that has the Python validator of JSON Schemas, and the folder that has Ajv; the test that compares with both
/// reads these variables.
const JSONSCHEMA_PYTHON: &str = "PROWESS_JSONSCHEMA_PYTHON";
const AJV: &str = "PROWESS_AJV";

/// The folders that have the official test suite of MCP with its Node.js and the Inspector, and the interpreter that has the
/// SDK; the tests of the MCP server and client read these variables.
const MCP_CONFORMANCE: &str = "PROWESS_MCP_CONFORMANCE";
const MCP_INSPECTOR: &str = "PROWESS_MCP_INSPECTOR";
const MCP_PYTHON: &str = "PROWESS_MCP_PYTHON";

/// The folder that has the clients of other registries; the tests that run them against ours read this variable.
const SKILL_CLIENTS: &str = "PROWESS_SKILL_CLIENTS";

/// The program that tests the servers against their own descriptions; the tests of both read this variable.
const SCHEMATHESIS: &str = "PROWESS_SCHEMATHESIS";

/// A storage with the interface of S3; the tests of registries with packages in a bucket read this variable.
const MOTO: &str = "PROWESS_MOTO";

struct Step {
    name: &'static str,
    /// The command that repeats only this step.
    again: &'static str,
    run: fn(&Tools) -> Result<()>,
}

/// What the steps use beyond cargo.
struct Tools {
    reference_python: PathBuf,
    model_signing_python: PathBuf,
    uv: PathBuf,
    sarif_schema: PathBuf,
    jsonschema_python: PathBuf,
    ajv: PathBuf,
    mcp_conformance: PathBuf,
    mcp_inspector: PathBuf,
    mcp_python: PathBuf,
    skill_clients: PathBuf,
    schemathesis: PathBuf,
    moto: PathBuf,
    wordllama: PathBuf,
    node: Node,
    /// Packages of the web app are installed by its steps.
    permission: install::Permission,
    /// Where the system has such a package.
    pgvector: Option<PathBuf>,
}

/// Modules that a macro lists (one word per rule and dialect) are invisible to `cargo fmt`.
fn listed() -> Result<Vec<PathBuf>> {
    let crates = process::workspace_root().join("crates");
    let mut files = Vec::new();
    for folder in
        ["prowess-format/src/rules", "prowess-format/src/dialect", "prowess-scan/src/rules"]
    {
        for entry in std::fs::read_dir(crates.join(folder))? {
            files.push(entry?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    Ok(files)
}

/// Clippy shares nothing with the later steps; the tests, the documentation examples and the generated
/// pages share one build.
const STEPS: &[Step] = &[
    Step {
        name: "formatting",
        again: "cargo fmt --all --check",
        run: |_| {
            process::run(cargo().args(["fmt", "--all", "--check"]))?;
            process::run(command("rustfmt").args(["--check", "--edition", "2024"]).args(listed()?))
        },
    },
    Step {
        name: "clippy",
        again: "cargo clippy --workspace --all-targets -- -D warnings",
        run: |_| {
            process::run(cargo().args([
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ]))
        },
    },
    Step {
        name: "tests",
        again: "PROWESS_SKILLS_REF_PYTHON=$PWD/target/tools/venv/bin/python \
                PROWESS_MODEL_SIGNING_PYTHON=$PWD/target/tools/model-signing/bin/python \
                PROWESS_UV=$PWD/target/tools/venv/bin/uv \
                PROWESS_SARIF_SCHEMA=$PWD/target/tools/sarif/sources/serde-sarif/src/schema.json \
                PROWESS_WORDLLAMA=$(echo $PWD/target/tools/venv/lib/python3*/site-packages/wordllama/weights/l2_supercat_256.safetensors) \
                PROWESS_PGVECTOR=$(echo $PWD/target/tools/venv/lib/python3*/site-packages/pgserver/pginstall) \
                PROWESS_JSONSCHEMA_PYTHON=$PWD/target/tools/jsonschema/bin/python \
                PROWESS_AJV=$PWD/target/tools/ajv \
                PROWESS_MCP_CONFORMANCE=$PWD/target/tools/mcp-conformance \
                PROWESS_MCP_INSPECTOR=$PWD/target/tools/mcp-inspector \
                PROWESS_MCP_PYTHON=$PWD/target/tools/mcp/bin/python \
                PROWESS_SKILL_CLIENTS=$PWD/target/tools/skill-clients \
                PROWESS_SCHEMATHESIS=$PWD/target/tools/schemathesis/bin/schemathesis \
                PROWESS_MOTO=$PWD/target/tools/moto/bin/moto_server \
                cargo nextest run --workspace",
        run: run_tests,
    },
    Step {
        name: "documentation examples",
        again: "cargo test --workspace --doc",
        run: |_| process::run(cargo().args(["test", "--workspace", "--doc", "--quiet"])),
    },
    Step {
        name: "documentation",
        again: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps",
        run: |_| {
            process::run(cargo().env("RUSTDOCFLAGS", "-D warnings").args([
                "doc",
                "--workspace",
                "--no-deps",
            ]))
        },
    },
    Step {
        name: "generated pages",
        again: "cargo xtask codegen --check",
        run: |_| codegen::run(&["--check".to_owned()]),
    },
    Step { name: "requirements ledger", again: "cargo xtask ledger", run: |_| ledger::run(&[]) },
    Step {
        name: "web app",
        again: "cargo xtask web --check",
        run: |tools| web::check(&tools.node, tools.permission),
    },
    Step {
        name: "web journeys",
        again: "cargo xtask web --e2e",
        run: |tools| web::journeys(&tools.node, tools.permission, None),
    },
    Step {
        name: "fuzzing",
        again: "cargo xtask fuzz --seconds 10",
        run: |_| {
            fuzz::fuzz(&fuzz::Options {
                targets: Vec::new(),
                seconds: FUZZ_SECONDS,
                corpus: Corpus::Discard,
            })
        },
    },
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut permission = install::Permission::Granted;
    for argument in arguments {
        match argument.as_str() {
            "--no-install" => permission = install::Permission::Withheld,
            _ => return Err(usage::unexpected(argument)),
        }
    }
    let mut finished = Vec::new();
    let outcome = run_steps(permission, &mut finished);
    summarise(&finished, outcome.is_ok());
    outcome
}

struct Finished {
    name: &'static str,
    passed: bool,
    time: Duration,
}

fn run_steps(permission: install::Permission, finished: &mut Vec<Finished>) -> Result<()> {
    terminal::heading("Preparing: what the tests need");
    let started = Instant::now();
    let tools = install::tools(permission);
    finished.push(Finished { name: "preparing", passed: tools.is_ok(), time: started.elapsed() });
    let tools = tools.context("the machine is not ready for the tests")?;

    for (index, step) in STEPS.iter().enumerate() {
        terminal::heading(&format!("Step {} of {}: {}", index + 1, STEPS.len(), step.name));
        let started = Instant::now();
        let outcome = (step.run)(&tools);
        finished.push(Finished {
            name: step.name,
            passed: outcome.is_ok(),
            time: started.elapsed(),
        });
        outcome.map_err(|source| {
            anyhow::anyhow!(
                "{}: {source:#}\nhint: run this step alone with `{}`",
                step.name,
                step.again
            )
        })?;
    }
    Ok(())
}

fn run_tests(tools: &Tools) -> Result<()> {
    let mut cargo = cargo();
    cargo.args(["nextest", "run", "--workspace"]);
    if std::env::var_os("CI").is_some() {
        cargo.args(["--profile", "ci"]);
    }
    cargo.env(REFERENCE_PYTHON, &tools.reference_python);
    cargo.env(MODEL_SIGNING_PYTHON, &tools.model_signing_python);
    cargo.env(UV, &tools.uv);
    cargo.env(SARIF_SCHEMA, &tools.sarif_schema);
    cargo.env(JSONSCHEMA_PYTHON, &tools.jsonschema_python);
    cargo.env(AJV, &tools.ajv);
    cargo.env(MCP_CONFORMANCE, &tools.mcp_conformance);
    cargo.env(MCP_INSPECTOR, &tools.mcp_inspector);
    cargo.env(MCP_PYTHON, &tools.mcp_python);
    cargo.env(SKILL_CLIENTS, &tools.skill_clients);
    cargo.env(SCHEMATHESIS, &tools.schemathesis);
    cargo.env(MOTO, &tools.moto);
    cargo.env(WORDLLAMA, &tools.wordllama);
    if let Some(pgvector) = &tools.pgvector {
        cargo.env(PGVECTOR, pgvector);
    }
    process::run(&mut cargo)
}

fn summarise(finished: &[Finished], all_passed: bool) {
    let mut rows = vec![vec!["step".to_owned(), "result".to_owned(), "time".to_owned()]];
    let mut total = Duration::ZERO;
    for step in finished {
        let result = if step.passed { "ok" } else { "FAILED" };
        rows.push(vec![step.name.to_owned(), result.to_owned(), terminal::duration(step.time)]);
        total += step.time;
    }
    let skipped = STEPS.iter().skip(finished.len().saturating_sub(1));
    for step in skipped {
        rows.push(vec![step.name.to_owned(), "not run".to_owned(), "–".to_owned()]);
    }
    rows.push(vec!["total".to_owned(), String::new(), terminal::duration(total)]);

    terminal::heading("Summary");
    print!("{}", terminal::table(&[Align::Left, Align::Left, Align::Right], &rows));
    if all_passed {
        println!("\n{}", terminal::paint_stdout(Style::Good, "everything holds"));
    }
}
