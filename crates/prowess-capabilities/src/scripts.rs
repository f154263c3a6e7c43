//! Files that can be run, their interpreters, and what they name.

use prowess_python::PythonCommandKind;

use crate::commands::{self, Weight};
use crate::utilities::is_text_only;
use crate::{CapabilityKind, Collector, FileText, SkillFile, javascript, variables};

/// What runs a file, by the end of its name.
const EXTENSIONS: &[(&str, &str)] = &[
    ("applescript", "osascript"),
    ("awk", "awk"),
    ("bash", "bash"),
    ("bat", "cmd"),
    ("cjs", "node"),
    ("cmd", "cmd"),
    ("exs", "elixir"),
    ("fish", "fish"),
    ("go", "go"),
    ("ipynb", "jupyter"),
    ("jar", "java"),
    ("jl", "julia"),
    ("js", "node"),
    ("ksh", "ksh"),
    ("kts", "kotlin"),
    ("lua", "lua"),
    ("mjs", "node"),
    ("mts", "node"),
    ("php", "php"),
    ("pl", "perl"),
    ("ps1", "pwsh"),
    ("psm1", "pwsh"),
    ("py", "python3"),
    ("pyw", "python3"),
    ("pyz", "python3"),
    ("r", "Rscript"),
    ("rb", "ruby"),
    ("scpt", "osascript"),
    ("sh", "sh"),
    ("swift", "swift"),
    ("tcl", "tclsh"),
    ("ts", "node"),
    ("tsx", "node"),
    ("cts", "node"),
    ("jsx", "node"),
    ("vbs", "cscript"),
    ("zsh", "zsh"),
];
/// Whole names of files that programs run.
const NAMES: &[(&str, &str)] = &[
    ("Dockerfile", "docker"),
    ("GNUmakefile", "make"),
    ("Justfile", "just"),
    ("Makefile", "make"),
    ("Rakefile", "rake"),
    ("justfile", "just"),
    ("makefile", "make"),
];
/// Files that hold code or other files, and that nobody can read as text.
const OPAQUE: &[&str] = &[
    "7z", "bz2", "dll", "dylib", "exe", "gz", "msi", "pickle", "pkl", "pyc", "pyd", "rar", "skill",
    "so", "tar", "tgz", "wasm", "whl", "xz", "zip", "zst",
];
/// Beginnings of programs for machines.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x7fELF", "native program"),
    (b"MZ", "native program"),
    (b"\xfe\xed\xfa\xce", "native program"),
    (b"\xfe\xed\xfa\xcf", "native program"),
    (b"\xce\xfa\xed\xfe", "native program"),
    (b"\xcf\xfa\xed\xfe", "native program"),
    (b"\xca\xfe\xba\xbe", "native program"),
    (b"\0asm", "WebAssembly"),
    (b"PK\x03\x04", "archive"),
    (b"\x1f\x8b", "archive"),
];
/// Text that is marked as executable by carelessness, and that nobody runs.
const DOCUMENTS: &[&str] = &[
    "adoc", "cfg", "conf", "css", "csv", "gif", "html", "ico", "ini", "jpeg", "jpg", "json",
    "jsonl", "lock", "md", "pdf", "png", "rst", "svg", "toml", "tsv", "txt", "webp", "xml", "yaml",
    "yml", "ttf", "otf", "woff", "woff2", "docx", "pptx", "xlsx", "sig", "asc", "minisig", "pub",
    "bundle",
];

/// Adds a file that can be run, and what it names.
pub(crate) fn read(file: &SkillFile<'_>, text: Option<&str>, found: &mut Collector<'_>) {
    let Some(interpreter) = interpreter(file) else { return };
    let reading = match text {
        Some(text) => contents(file.path, text, &interpreter, found),
        None => Reading::Not,
    };
    let note = match reading {
        Reading::Parsed => None,
        Reading::PartlyParsed => Some("not understood completely".to_owned()),
        Reading::Scanned => Some("only searched for URLs and variables".to_owned()),
        Reading::Not => Some("not read".to_owned()),
    };
    let script = format!("{} ({interpreter})", file.path);
    found.add_with_note(CapabilityKind::Script, &script, note, file.path, 1);
}

/// How well a file was understood.
enum Reading {
    Parsed,
    PartlyParsed,
    Scanned,
    Not,
}

/// What runs a file; `None` for a file that is not run.
fn interpreter(file: &SkillFile<'_>) -> Option<String> {
    if let Some(interpreter) = shebang(file.bytes) {
        return Some(interpreter);
    }
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let extension = extension.to_ascii_lowercase();
    let known = NAMES.iter().find(|(known, _)| *known == name);
    let known = known.or_else(|| EXTENSIONS.iter().find(|(known, _)| *known == extension));
    if let Some((_, interpreter)) = known {
        return Some((*interpreter).to_owned());
    }
    let is_document = DOCUMENTS.contains(&extension.as_str());
    let magic = MAGIC.iter().find(|(magic, _)| file.bytes.starts_with(magic));
    if let Some((_, what)) = magic.filter(|_| !is_document) {
        return Some((*what).to_owned());
    }
    if OPAQUE.contains(&extension.as_str()) {
        return Some("archive or compiled code".to_owned());
    }
    (file.is_executable && !is_document).then(|| "executable".to_owned())
}

/// The program that the first line names; of `env` its argument.
fn shebang(bytes: &[u8]) -> Option<String> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
    // `#![allow(…)]` begins a file of Rust.
    if line.starts_with('[') {
        return None;
    }
    let mut words = line.split_whitespace();
    let program = words.next()?.rsplit('/').next().unwrap_or_default().to_owned();
    if program != "env" {
        return (!program.is_empty()).then_some(program);
    }
    let is_program = |word: &&str| !word.starts_with('-') && !word.contains('=');
    words.find(is_program).map(str::to_owned)
}

fn contents(path: &str, text: &str, interpreter: &str, found: &mut Collector<'_>) -> Reading {
    let whole = FileText::whole(text, path);
    match interpreter {
        "sh" | "bash" | "dash" | "ash" | "ksh" | "zsh" => {
            if commands::read(&whole, Weight::Command, found) {
                Reading::Parsed
            } else {
                Reading::PartlyParsed
            }
        }
        name if name.starts_with("python") || name == "uv" => python(path, text, found),
        "node" | "bun" | "deno" | "tsx" | "ts-node" | "zx" => {
            javascript::read(&whole, found);
            Reading::Scanned
        }
        _ => {
            hosts(path, text, found);
            Reading::Scanned
        }
    }
}

fn hosts(path: &str, text: &str, found: &mut Collector<'_>) {
    let place = FileText::whole(text, path);
    for host in prowess_shell::hosts_in(text) {
        found.add(CapabilityKind::Host, &host.host, path, place.line(host.span.start));
    }
}

fn python(path: &str, text: &str, found: &mut Collector<'_>) -> Reading {
    let Ok(uses) = prowess_python::uses(text) else {
        hosts(path, text, found);
        return Reading::Scanned;
    };
    let place = FileText::whole(text, path);
    for (text, span) in &uses.texts {
        for host in prowess_shell::hosts_in(text) {
            found.add(CapabilityKind::Host, &host.host, path, place.line(span.range().start));
        }
    }
    for command in &uses.commands {
        let line = place.line(command.span.range().start);
        match &command.command {
            PythonCommandKind::Line(text) => {
                commands::read(&FileText::part(text, path, line), Weight::Command, found);
            }
            PythonCommandKind::Program(name) if is_text_only(name) => {}
            PythonCommandKind::Program(name) => {
                found.add(CapabilityKind::Program, name, path, line);
            }
            PythonCommandKind::Computed => {
                let text = "a program whose name is computed";
                found.add(CapabilityKind::Program, text, path, line);
            }
        }
    }
    for (name, span) in &uses.variables {
        if !variables::is_ordinary(name) {
            let line = place.line(span.range().start);
            found.add(CapabilityKind::Variable, name, path, line);
        }
    }
    Reading::Parsed
}
