//! Prints one line for each folder below the given ones: path, verdict, milliseconds of processor time, rules.

#![expect(clippy::disallowed_methods, reason = "a measurement needs the disk and a clock")]
#![expect(clippy::disallowed_macros, clippy::print_stdout, reason = "it is a program that prints")]

use std::fs;
use std::path::{Path, PathBuf};

use prowess_scan::{FileMode, ScanFile, ScanTier, scan};

fn main() {
    let is_verbose = std::env::args().any(|argument| argument == "-v");
    for root in std::env::args().skip(1).filter(|argument| argument != "-v") {
        let root = Path::new(&root);
        let folders: Vec<PathBuf> = if root.join("SKILL.md").exists() {
            vec![root.to_owned()]
        } else {
            let mut folders: Vec<PathBuf> =
                fs::read_dir(root).expect("a folder").flatten().map(|entry| entry.path()).collect();
            folders.sort();
            folders
        };
        for folder in folders {
            let mut files = Vec::new();
            collect(&folder, &folder, &mut files);
            let files: Vec<ScanFile<'_>> = files
                .iter()
                .map(|(path, bytes)| ScanFile { path, bytes, mode: FileMode::Plain })
                .collect();
            let started = processor_time();
            let report = scan(&files);
            let milliseconds = (processor_time() - started) * 1e3;
            let rules: Vec<String> = report
                .findings
                .iter()
                .map(|found| format!("{}:{}", found.rule.rule.name, found.severity))
                .collect();
            println!(
                "{}\t{}\t{milliseconds:.2}\t{}",
                folder.file_name().unwrap_or_default().to_string_lossy(),
                report.verdict(ScanTier::Community),
                rules.join(" ")
            );
            if is_verbose {
                for found in &report.findings {
                    let bytes = files
                        .iter()
                        .find(|file| file.path == found.file)
                        .map_or(&b""[..], |file| file.bytes);
                    let excerpt = bytes.get(found.range.clone()).unwrap_or_default();
                    let excerpt: String =
                        String::from_utf8_lossy(excerpt).chars().take(200).collect();
                    println!(
                        "    {} {} {}: {}: {excerpt:?}",
                        found.severity, found.rule.rule.name, found.file, found.message
                    );
                }
            }
        }
    }
}

/// The seconds that this thread has been running, so that other programs on the machine don't count.
fn processor_time() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if let Ok(bytes) = fs::read(&path) {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            if !name.ends_with(".omitted") {
                files.push((name, bytes));
            }
        }
    }
}
