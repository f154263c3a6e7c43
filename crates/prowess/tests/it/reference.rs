//! The strict open-standard verdict beside that of the reference validator, on every file of the corpus.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Files on which we differ on purpose: a path below the corpus, and why the reference is wrong.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "NVIDIA__skills/skills/dynamo-troubleshoot",
        "`metadata.tags` is a list; the standard maps text to text, and the reference never looks at metadata",
    ),
    (
        "gotalab__skillport/.skills/experimental/opus-4-5-migration",
        "`metadata.skillport` is a map; the standard maps text to text, and the reference never looks at metadata",
    ),
    (
        "gotalab__skillport/.skills/experimental/skill-evaluator",
        "`metadata.skillport` is a map; the standard maps text to text, and the reference never looks at metadata",
    ),
    (
        "stripe__ai/providers/agent-plugins/plugin/skills/stripe-directory",
        "`allowed-tools` is a list; the standard says a space-separated string, and the reference never looks at it",
    ),
    (
        "stripe__ai/providers/agent-plugins/plugin/skills/stripe-projects",
        "`allowed-tools` is a list; the standard says a space-separated string, and the reference never looks at it",
    ),
    (
        "thereisnotime__skills-collection/skills/alirezarezvani--claude-skills/markdown-html/skills/md-slides",
        "the reference ends the front matter at the first `---` anywhere, here inside a value, and so misses a YAML error and four unknown fields",
    ),
];

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn agrees_with_the_reference_validator_on_every_corpus_file() {
    let Some(corpus) = prowess_testkit::corpus() else {
        eprintln!("SKIPPED 400 files: the corpus is missing beside the repository");
        return;
    };
    let Some(python) = std::env::var_os("PROWESS_SKILLS_REF_PYTHON") else {
        eprintln!(
            "SKIPPED 400 files: PROWESS_SKILLS_REF_PYTHON is not set, `cargo xtask test` sets it"
        );
        return;
    };
    let corpus = corpus.canonicalize().expect("the corpus exists");
    let ours = our_verdicts(&corpus);
    let theirs = reference_verdicts(Path::new(&python), ours.keys());
    assert_eq!(ours.len(), theirs.len(), "both validators saw the same files");
    let differing: Vec<&str> = ours
        .iter()
        .filter(|(path, valid)| theirs[*path] != **valid)
        .map(|(path, _)| path.strip_prefix(&format!("{}/", corpus.display())).unwrap_or(path))
        .collect();
    let expected: Vec<&str> = DIFFERENCES.iter().map(|(path, _)| *path).collect();
    assert_eq!(differing, expected);
}

/// Skill directory to "valid under `--dialect agent-skills --strict`".
fn our_verdicts(corpus: &Path) -> BTreeMap<String, bool> {
    let output = Command::new(env!("CARGO_BIN_EXE_prowess"))
        .args(["check", "--dialect", "agent-skills", "--strict", "--format", "json"])
        .arg(corpus)
        .output()
        .expect("prowess starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    let files = report["files"].as_array().expect("the report lists files");
    files
        .iter()
        .map(|file| {
            let path = Path::new(file["path"].as_str().expect("a path"));
            let folder = path.parent().expect("a SKILL.md lies in a folder").display().to_string();
            let diagnostics = file["diagnostics"].as_array().expect("a list of diagnostics");
            (folder, !diagnostics.iter().any(|found| found["severity"] == "error"))
        })
        .collect()
}

fn reference_verdicts<'f>(
    python: &Path,
    folders: impl Iterator<Item = &'f String>,
) -> BTreeMap<String, bool> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/skills_ref_verdicts.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the reference validator starts");
    let list = folders.fold(String::new(), |list, folder| list + folder + "\n");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // The answers may fill the pipe before all questions are asked.
    let writer = std::thread::spawn(move || stdin.write_all(list.as_bytes()));
    let output = child.wait_with_output().expect("the reference validator ends");
    writer.join().expect("the writer ends").expect("the list is taken");
    assert!(output.status.success(), "the reference validator failed: {}", output.status);
    let lines = String::from_utf8(output.stdout).expect("the verdicts are UTF-8");
    lines
        .lines()
        .map(|line| {
            let verdict: Value = serde_json::from_str(line).expect("a verdict is JSON");
            let path = verdict["path"].as_str().expect("a path").to_owned();
            (path, verdict["errors"].as_array().is_some_and(Vec::is_empty))
        })
        .collect()
}
