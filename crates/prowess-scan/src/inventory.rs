//! Files to documents: what can be read as text, what is packed, and what nobody can read.

use std::io::Read as _;

use crate::document::{Document, Origin};
use crate::findings::Findings;
use crate::input::{FileKind, FileMode, ScanFile, has_extension, is_media, is_text};
use crate::rules::{OPAQUE_CODE, UNSCANNED_FILE};
use crate::severity::Severity;
use crate::{MAX_FILE_BYTES, decode};

/// Adds the documents of a file, or says why there are none.
pub(crate) fn read(
    file: &ScanFile<'_>,
    kind: FileKind,
    documents: &mut Vec<Document>,
    findings: &mut Findings,
) {
    match file.mode {
        FileMode::Link => {
            link(file, findings);
            return;
        }
        FileMode::Unread(reason) => {
            findings.skip(file.path, reason);
            // A picture that is too large is no danger to anybody.
            let severity =
                if matches!(kind, FileKind::Media) { Severity::Low } else { Severity::High };
            findings.add(
                &UNSCANNED_FILE,
                severity,
                file.path,
                0..0,
                format!("was not scanned: {reason}"),
            );
            return;
        }
        FileMode::Plain | FileMode::Executable => {}
    }
    if file.bytes.len() > MAX_FILE_BYTES && !kind.is_text() {
        too_large(file, kind, findings);
    }
    match kind {
        FileKind::Program => {
            findings.skip(file.path, "a program for machines");
            findings.add(
                &OPAQUE_CODE,
                Severity::High,
                file.path,
                0..0,
                "is a program that nobody can read",
            );
        }
        FileKind::Bytecode => {
            findings.skip(file.path, "compiled code");
            findings.add(
                &OPAQUE_CODE,
                Severity::High,
                file.path,
                0..0,
                "is compiled code that nobody can read",
            );
            strings(file, documents);
        }
        FileKind::Zip => archive(file, documents, findings),
        FileKind::Archive => {
            findings.skip(file.path, "an archive in a format that is not unpacked");
            gzip(file, documents);
            findings.add(
                &OPAQUE_CODE,
                Severity::High,
                file.path,
                0..0,
                "is an archive that is not unpacked",
            );
        }
        FileKind::Media => {
            findings.skip(file.path, "a picture, font or recording");
            polyglot(file, documents, findings);
        }
        FileKind::Binary => {
            findings.skip(file.path, "not text");
            let severity =
                if file.mode == FileMode::Executable { Severity::High } else { Severity::Low };
            findings.add(&OPAQUE_CODE, severity, file.path, 0..0, "is data that nobody can read");
            strings(file, documents);
        }
        _ => text(file, kind, documents, findings),
    }
}

/// A file over the bound. A picture is only searched for what is hidden in it, so its size says nothing.
fn too_large(file: &ScanFile<'_>, kind: FileKind, findings: &mut Findings) {
    let is_picture = kind == FileKind::Media && is_media(file.bytes);
    findings.skip(file.path, format!("larger than {MAX_FILE_BYTES} bytes"));
    findings.add(
        &UNSCANNED_FILE,
        if is_picture { Severity::Low } else { Severity::High },
        file.path,
        0..0,
        "is larger than what is scanned",
    );
}

fn text(
    file: &ScanFile<'_>,
    kind: FileKind,
    documents: &mut Vec<Document>,
    findings: &mut Findings,
) {
    let mut bytes = file.bytes;
    if bytes.len() > MAX_FILE_BYTES {
        findings.skip(file.path, format!("only the first {MAX_FILE_BYTES} bytes were scanned"));
        findings.add(
            &UNSCANNED_FILE,
            Severity::High,
            file.path,
            0..0,
            "is larger than what is scanned",
        );
        bytes = &bytes[..MAX_FILE_BYTES];
    }
    let is_wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let text = if is_wide {
        wide(bytes)
    } else {
        if !is_text(bytes) {
            findings.skip(file.path, "holds bytes that are no text");
            if kind.is_code() || file.path == crate::MANIFEST {
                findings.add(
                    &crate::rules::UNPARSEABLE_CODE,
                    Severity::High,
                    file.path,
                    0..0,
                    "is code that can't be decoded",
                );
            }
        }
        String::from_utf8_lossy(bytes).into_owned()
    };
    if !is_wide && text.len() != bytes.len() && file.path == crate::MANIFEST {
        findings.skip(file.path, "not valid UTF-8");
        findings.add(
            &crate::rules::UNPARSEABLE_CODE,
            Severity::High,
            file.path,
            0..0,
            "is not valid UTF-8",
        );
    }
    let is_notebook = has_extension(file.path, "ipynb");
    // Replaced characters would move every place after them.
    let text = if !is_wide && text.len() != bytes.len() { latin(bytes) } else { text };
    if is_notebook {
        notebook(file, &text, documents);
    }
    documents.push(Document::new(file.path, kind, text, None));
}

/// Bytes that are not UTF-8, each as a character of its own or as a question mark, so that places stay.
fn latin(bytes: &[u8]) -> String {
    let mut result = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        result.push_str(chunk.valid());
        result.extend(std::iter::repeat_n('?', chunk.invalid().len()));
    }
    result
}

/// UTF-16 as UTF-8. Places are those of the text that was read.
fn wide(bytes: &[u8]) -> String {
    let is_little = bytes.starts_with(b"\xff\xfe");
    let units = bytes[2..].chunks_exact(2).map(|pair| {
        if is_little {
            u16::from_le_bytes([pair[0], pair[1]])
        } else {
            u16::from_be_bytes([pair[0], pair[1]])
        }
    });
    char::decode_utf16(units).map(|character| character.unwrap_or('?')).collect()
}

/// The cells of a notebook that are code.
fn notebook(file: &ScanFile<'_>, text: &str, documents: &mut Vec<Document>) {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else { return };
    let Some(cells) = value.get("cells").and_then(serde_json::Value::as_array) else { return };
    let mut code = String::new();
    for cell in cells
        .iter()
        .filter(|cell| cell.get("cell_type").and_then(serde_json::Value::as_str) == Some("code"))
    {
        match cell.get("source") {
            Some(serde_json::Value::String(source)) => code.push_str(source),
            Some(serde_json::Value::Array(lines)) => lines
                .iter()
                .filter_map(serde_json::Value::as_str)
                .for_each(|line| code.push_str(line)),
            _ => {}
        }
        code.push('\n');
    }
    // Lines that are no Python: `!pip install` and `%matplotlib`.
    let mut shell = String::new();
    for line in code.lines().filter_map(|line| line.trim_start().strip_prefix('!')) {
        shell.push_str(line);
        shell.push('\n');
    }
    let python: String = code
        .lines()
        .map(|line| {
            if line.trim_start().starts_with(['!', '%']) {
                "pass\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    let origin = || {
        Some(Origin {
            range: 0..text.len(),
            how: "notebook".to_owned(),
            depth: 1,
            is_hidden: false,
            is_example: false,
            is_quoted: false,
        })
    };
    documents.push(Document::new(file.path, FileKind::Python, python, origin()));
    if !shell.is_empty() {
        documents.push(Document::new(file.path, FileKind::Shell, shell, origin()));
    }
}

/// Where a link leads, as far as its text says.
fn link(file: &ScanFile<'_>, findings: &mut Findings) {
    let target = String::from_utf8_lossy(file.bytes);
    let is_outside = target.starts_with(['/', '~', '\\']) || {
        let depth = file.path.matches('/').count();
        target.split('/').filter(|part| *part == "..").count() > depth
    };
    let severity = if is_outside { Severity::High } else { Severity::Info };
    findings.skip(file.path, "a link; what it points to is not followed");
    findings.add(
        &UNSCANNED_FILE,
        severity,
        file.path,
        0..0,
        if is_outside { "is a link that leads out of the skill" } else { "is a link" },
    );
}

/// The most entries of an archive that are read, and the most bytes of all of them.
const MAX_ENTRIES: usize = 500;
const MAX_UNPACKED: usize = 8 << 20;

/// The entries of a zip file. Only what is stored or deflated is read, by the central directory.
fn archive(file: &ScanFile<'_>, documents: &mut Vec<Document>, findings: &mut Findings) {
    let mut left = MAX_UNPACKED;
    let Some(entries) = zip_entries(file.bytes) else {
        findings.skip(file.path, "an archive that can't be read");
        findings.add(
            &OPAQUE_CODE,
            Severity::High,
            file.path,
            0..0,
            "is an archive that can't be read",
        );
        return;
    };
    let is_office =
        entries.iter().any(|entry| entry.name == "[Content_Types].xml" || entry.name == "mimetype");
    for entry in entries.iter().take(MAX_ENTRIES) {
        if entry.name.ends_with('/') {
            continue;
        }
        if entry.is_encrypted {
            findings.skip(file.path, "an archive with a password");
            findings.add(
                &OPAQUE_CODE,
                Severity::High,
                file.path,
                0..0,
                "is an archive with a password",
            );
            continue;
        }
        if entry.name.contains("..") || entry.name.starts_with('/') {
            findings.add(
                &OPAQUE_CODE,
                Severity::High,
                file.path,
                0..0,
                "is an archive whose entries lead out of it",
            );
        }
        let inner = ScanFile { path: &entry.name, bytes: b"", mode: FileMode::Plain };
        let Some(bytes) = entry.unpack(file.bytes, left.min(MAX_FILE_BYTES)) else {
            findings.skip(file.path, "an archive with entries that can't be unpacked");
            continue;
        };
        left = left.saturating_sub(bytes.len());
        let kind = FileKind::of(&ScanFile { bytes: &bytes, ..inner });
        let is_macro = entry.name.ends_with("vbaProject.bin");
        if matches!(kind, FileKind::Program | FileKind::Bytecode) || is_macro {
            let message = if is_macro {
                "is a document with macros"
            } else {
                "is an archive with a program in it"
            };
            findings.add(&OPAQUE_CODE, Severity::High, file.path, 0..0, message);
            continue;
        }
        let text =
            if is_text(&bytes) { String::from_utf8_lossy(&bytes).into_owned() } else { continue };
        let text =
            if is_office && ["xml", "rels"].iter().any(|known| has_extension(&entry.name, known)) {
                without_tags(&text)
            } else {
                text
            };
        let kind = if kind.is_text() && !is_office { kind } else { FileKind::Text };
        let origin = Origin {
            range: 0..0,
            how: format!("archive entry {}", prowess_format::text::shorten(&entry.name, 60)),
            depth: 1,
            is_hidden: false,
            is_example: false,
            is_quoted: false,
        };
        documents.push(Document::new(file.path, kind, text, Some(origin)));
    }
    if entries.len() > MAX_ENTRIES || left == 0 {
        findings.skip(file.path, "an archive with more in it than is scanned");
        findings.add(
            &UNSCANNED_FILE,
            Severity::High,
            file.path,
            0..0,
            "is an archive with more in it than is scanned",
        );
    }
}

/// The text of XML, with a line break for each paragraph.
fn without_tags(text: &str) -> String {
    let mut result = String::with_capacity(text.len() / 4);
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        result.push_str(&rest[..open]);
        let Some(close) = rest[open..].find('>') else { break };
        let tag = &rest[open..open + close];
        if tag.starts_with("</w:p")
            || tag.starts_with("</a:p")
            || tag.starts_with("</row")
            || tag.starts_with("</text:p")
        {
            result.push_str("\n\n");
        }
        rest = &rest[open + close + 1..];
    }
    result.push_str(rest);
    result
}

/// An entry of a zip file.
struct ZipEntry {
    name: String,
    method: u16,
    is_encrypted: bool,
    packed: usize,
    header: usize,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)).ok()
}

fn zip_entries(bytes: &[u8]) -> Option<Vec<ZipEntry>> {
    let tail = bytes.len().saturating_sub(66_000);
    let end = tail + memchr::memmem::rfind(&bytes[tail..], b"PK\x05\x06")?;
    let count = u16_at(bytes, end + 10)?;
    let mut at = u32_at(bytes, end + 16)?;
    let mut entries = Vec::new();
    for _ in 0..count.min(MAX_ENTRIES + 1) {
        if bytes.get(at..at + 4)? != b"PK\x01\x02" {
            return None;
        }
        let name_length = u16_at(bytes, at + 28)?;
        let skip = name_length + u16_at(bytes, at + 30)? + u16_at(bytes, at + 32)?;
        entries.push(ZipEntry {
            name: String::from_utf8_lossy(bytes.get(at + 46..at + 46 + name_length)?).into_owned(),
            method: u16::try_from(u16_at(bytes, at + 10)?).ok()?,
            is_encrypted: u16_at(bytes, at + 8)? & 1 == 1,
            packed: u32_at(bytes, at + 20)?,
            header: u32_at(bytes, at + 42)?,
        });
        at += 46 + skip;
    }
    Some(entries)
}

impl ZipEntry {
    fn unpack(&self, bytes: &[u8], limit: usize) -> Option<Vec<u8>> {
        if bytes.get(self.header..self.header + 4)? != b"PK\x03\x04" {
            return None;
        }
        let start =
            self.header + 30 + u16_at(bytes, self.header + 26)? + u16_at(bytes, self.header + 28)?;
        let packed = bytes.get(start..start.checked_add(self.packed)?)?;
        let mut result = Vec::new();
        match self.method {
            0 => result.extend_from_slice(&packed[..packed.len().min(limit)]),
            8 => {
                flate2::read::DeflateDecoder::new(packed)
                    .take(limit as u64)
                    .read_to_end(&mut result)
                    .ok()?;
            }
            _ => return None,
        }
        Some(result)
    }
}

/// What is in a compressed file, if it is text.
fn gzip(file: &ScanFile<'_>, documents: &mut Vec<Document>) {
    let mut result = Vec::new();
    let is_read = flate2::read::GzDecoder::new(file.bytes)
        .take(decode::MAX_BYTES as u64)
        .read_to_end(&mut result)
        .is_ok();
    if is_read && !result.is_empty() {
        let text: String = String::from_utf8_lossy(&result).replace('\0', "\n");
        let origin = Origin {
            range: 0..file.bytes.len(),
            how: "archive".to_owned(),
            depth: 1,
            is_hidden: false,
            is_example: false,
            is_quoted: false,
        };
        documents.push(Document::new(file.path, FileKind::Text, text, Some(origin)));
    }
}

/// The readable texts in a file that is none.
fn strings(file: &ScanFile<'_>, documents: &mut Vec<Document>) {
    let bytes = &file.bytes[..file.bytes.len().min(MAX_FILE_BYTES)];
    let mut text = String::new();
    for run in
        bytes.split(|byte| !(byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t' | b'\n')))
    {
        if run.len() >= 6 {
            text.push_str(&String::from_utf8_lossy(run));
            text.push('\n');
        }
    }
    if !text.is_empty() {
        let origin = Origin {
            range: 0..file.bytes.len(),
            how: "archive: texts of a binary file".to_owned(),
            depth: 1,
            is_hidden: false,
            is_example: false,
            is_quoted: false,
        };
        documents.push(Document::new(file.path, FileKind::Text, text, Some(origin)));
    }
}

/// A picture that is something else as well.
fn polyglot(file: &ScanFile<'_>, documents: &mut Vec<Document>, findings: &mut Findings) {
    let bytes = &file.bytes[..file.bytes.len().min(MAX_FILE_BYTES)];
    if is_text(bytes) && !bytes.is_empty() && !has_extension(file.path, "eps") {
        // A text under the name of a picture.
        let is_svg = bytes.starts_with(b"<svg") || bytes.starts_with(b"<?xml");
        let text = latin(bytes);
        if !is_svg
            && bytes.len() > 32
            && !bytes.starts_with(b"version https://git-lfs")
            && !bytes.starts_with(b"%PDF")
        {
            findings.add(
                &OPAQUE_CODE,
                Severity::Medium,
                file.path,
                0..0,
                "is a text under the name of a picture",
            );
        }
        documents.push(Document::new(file.path, FileKind::Text, text, None));
        return;
    }
    let has_archive = file.bytes.len() > 100
        && memchr::memmem::rfind(
            &file.bytes[file.bytes.len().saturating_sub(66_000)..],
            b"PK\x05\x06",
        )
        .is_some();
    if has_archive {
        findings.add(
            &OPAQUE_CODE,
            Severity::High,
            file.path,
            0..0,
            "is a picture with an archive in it",
        );
        archive(file, documents, findings);
    }
    strings_with_commands(file, documents);
}

/// The texts of a picture that are longer than its own.
fn strings_with_commands(file: &ScanFile<'_>, documents: &mut Vec<Document>) {
    let bytes = &file.bytes[..file.bytes.len().min(MAX_FILE_BYTES)];
    let has_command = [
        &b"curl "[..],
        b"/bin/sh",
        b"/bin/bash",
        b"powershell",
        b"ignore all previous",
        b"Ignore all previous",
        b"#!/",
        b"<script",
    ]
    .iter()
    .any(|word| memchr::memmem::find(bytes, word).is_some());
    if has_command {
        strings(file, documents);
    }
}
