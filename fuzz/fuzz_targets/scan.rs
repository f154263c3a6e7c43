//! Files of every kind through the whole scanner: it never panics, and every finding is in its file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_scan::{FileMode, ScanFile, scan};

/// Names under which the bytes are read, one for each reader.
const NAMES: &[&str] = &[
    "SKILL.md", "a.sh", "a.py", "a.js", "a.ts", "a.json", "a.txt", "a.ps1", "a.ipynb", "a.zip", "a.docx", "a.gz",
    "a.png", "a.pyc", "package.json", "requirements.txt", "ci.yml", "a.go", "a.rb", "Makefile", "a",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let path = NAMES[usize::from(*first) % NAMES.len()];
    let report = scan(&[ScanFile { path, bytes, mode: FileMode::Plain }]);
    for found in &report.findings {
        assert!(found.range.start <= found.range.end && found.range.end <= bytes.len(), "{found:?}");
    }
});
