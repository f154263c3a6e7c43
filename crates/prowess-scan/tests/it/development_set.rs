//! What was achieved on the labelled skills of the development set must not get worse unnoticed.

#![expect(clippy::disallowed_methods, reason = "only the library is kept from the disk")]
#![expect(
    clippy::disallowed_macros,
    clippy::print_stdout,
    reason = "the test runner reads what was skipped"
)]

use std::fs;
use std::path::{Path, PathBuf};

use prowess_scan::{FileMode, ScanFile, ScanTier, Verdict, scan};
use prowess_testkit::repository;

/// The folder with the set, which is not a part of the project.
fn folder() -> Option<PathBuf> {
    let folder = repository().join("../shared/scan");
    folder.join("manifest.csv").is_file().then_some(folder)
}

struct Row {
    id: String,
    is_malicious: bool,
    category: String,
    is_strong: bool,
}

/// The columns that are needed; none of them has a comma in quotes before it.
fn rows(folder: &Path) -> Vec<Row> {
    let text = fs::read_to_string(folder.join("manifest.csv")).expect("the manifest can be read");
    text.lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            Row {
                id: fields[0].to_owned(),
                is_malicious: fields[1] == "malicious",
                category: fields[2].to_owned(),
                is_strong: fields[4] == "strong",
            }
        })
        .collect()
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_none_or(|extension| extension != "omitted") {
            let name = path.strip_prefix(root).expect("it is below").to_string_lossy().into_owned();
            files.push((name, fs::read(&path).expect("a file")));
        }
    }
}

fn verdict(folder: &Path) -> Verdict {
    let mut files = Vec::new();
    collect(folder, folder, &mut files);
    let files: Vec<ScanFile<'_>> =
        files.iter().map(|(path, bytes)| ScanFile { path, bytes, mode: FileMode::Plain }).collect();
    scan(&files).verdict(ScanTier::Community)
}

#[test]
fn the_figures_do_not_fall() {
    let Some(folder) = folder() else {
        println!("skipped 1: ../shared/scan is missing");
        return;
    };
    let mut wild = (0, 0);
    let mut strong = (0, 0);
    let mut benign = (0, 0, 0);
    for row in rows(&folder) {
        let place = if row.is_malicious { "dev/malicious" } else { "dev/benign" };
        let verdict = verdict(&folder.join(place).join(&row.id));
        if !row.is_malicious {
            benign.0 += 1;
            benign.1 += usize::from(verdict == Verdict::Review);
            benign.2 += usize::from(verdict == Verdict::Block);
            continue;
        }
        let found = usize::from(verdict >= Verdict::Review);
        if row.category == "fake-prerequisite" {
            wild = (wild.0 + 1, wild.1 + found);
        }
        if row.is_strong {
            strong = (strong.0 + 1, strong.1 + found);
        }
    }
    println!("fake prerequisites {wild:?}, strong {strong:?}, benign {benign:?}");
    assert!(wild.1 * 100 >= wild.0 * 98, "fake prerequisites: {} of {}", wild.1, wild.0);
    assert!(strong.1 * 100 >= strong.0 * STRONG, "strong: {} of {}", strong.1, strong.0);
    assert!(benign.1 * 100 <= benign.0 * 4, "sent to review: {} of {}", benign.1, benign.0);
    assert!(benign.2 * 100 <= benign.0, "blocked: {} of {}", benign.2, benign.0);
}

/// The least share of the strong samples that is found, in percent; some of them have lost their code.
const STRONG: usize = 90;

/// A sample: whether it is an attack, its name, and its files.
type WrittenSample = (bool, String, Vec<(String, String)>);

/// The samples of a file.
fn samples(name: &str) -> Vec<WrittenSample> {
    let path = repository().join("fixtures/scan").join(name);
    let text = fs::read_to_string(path).expect("the samples can be read");
    text.split("\n=== ")
        .skip(1)
        .map(|part| {
            let (head, body) = part.split_once('\n').unwrap_or((part, ""));
            let mut files: Vec<(String, String)> = format!("\n{body}")
                .split("\n--- ")
                .skip(1)
                .map(|file| {
                    let (path, content) = file.split_once('\n').unwrap_or((file, ""));
                    (path.trim().to_owned(), format!("{content}\n"))
                })
                .collect();
            if files.iter().all(|(path, _)| path != "SKILL.md") {
                let text = "---\nname: sample\ndescription: Helps with a task\n---\n\nRun it.\n";
                files.push(("SKILL.md".to_owned(), text.to_owned()));
            }
            (head.starts_with("attack "), head.to_owned(), files)
        })
        .collect()
}

/// For each file of samples: the least share of attacks that is found, and the most honest ones that are flagged.
const SAMPLES: &[(&str, usize, usize)] = &[
    ("code-level.txt", 95, 0),
    ("code-level-validation.txt", 90, 0),
    ("wordings.txt", 97, 2),
    ("wordings-validation.txt", 85, 0),
    ("wordings-third.txt", 85, 0),
];

#[test]
fn samples_that_were_written_for_the_scanner_are_found() {
    for (name, least, most) in SAMPLES {
        let mut attacks = (0, Vec::new());
        let mut flagged = Vec::new();
        for (is_attack, head, files) in samples(name) {
            let files: Vec<ScanFile<'_>> = files
                .iter()
                .map(|(path, text)| ScanFile {
                    path,
                    bytes: text.as_bytes(),
                    mode: FileMode::Plain,
                })
                .collect();
            let is_found = scan(&files).verdict(ScanTier::Community) >= Verdict::Review;
            match (is_attack, is_found) {
                (true, true) => attacks.0 += 1,
                (true, false) => attacks.1.push(head),
                (false, true) => flagged.push(head),
                (false, false) => {}
            }
        }
        let whole = attacks.0 + attacks.1.len();
        println!("{name}: {} of {whole} found, flagged {flagged:?}", attacks.0);
        assert!(attacks.0 * 100 >= whole * least, "{name} misses {:?}", attacks.1);
        assert!(flagged.len() <= *most, "{name} flags {flagged:?}");
    }
}
