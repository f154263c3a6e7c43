//! Trees of several files with hostile names through the scanner, and the same tree as an update of itself: nothing panics, and
//! nothing in it is new.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_scan::{FileMode, KnownBad, ScanFile, scan_update};

const NAMES: &[&str] = &[
    "SKILL.md", "scripts/a.py", "scripts/b.sh", "lib/c.ts", "package.json", "requirements.txt", ".claude/settings.json",
    ".codex/config.toml", "d.php", "ci.yaml", "e.zip", "f.docx", "../g.md", "h.ipynb", "i.png", "j",
];

fuzz_target!(|bytes: &[u8]| {
    let files: Vec<ScanFile<'_>> = bytes
        .split(|byte| *byte == 0xff)
        .take(NAMES.len())
        .zip(NAMES)
        .map(|(content, path)| {
            let mode = match content.first() {
                Some(0) => FileMode::Executable,
                Some(1) => FileMode::Link,
                _ => FileMode::Plain,
            };
            ScanFile { path, bytes: content, mode }
        })
        .collect();
    let report = scan_update(&files, &files, &KnownBad::default());
    assert!(report.findings.iter().all(|found| found.rule.rule.name != "new-capability"));
});
