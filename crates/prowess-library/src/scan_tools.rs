//! Other scanners that run beside the own rules if they are installed (GAIA §4.2): Bandit and detect-secrets. Each runs in a
//! sandbox that shows it the skill, read-only, and its own packages, without a network.
//!
//! pip-audit compares versions with a database on the network, which no scanner of a stranger's files gets, so it is listed
//! as not run where there are dependencies.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_format::text::{shorten, visible_line};
use prowess_sandbox::{
    ExitReason, FileAccess, FileGrant, Observer, OutputStream, SandboxLimits, Spec, run,
};
use prowess_scan::{Finding, NotAnalysed, Severity, rule_by_name};
use serde_json::Value;

use crate::ScannedSkill;

/// The most bytes of a report, and the most findings of one tool.
const MAX_REPORT: usize = 8 << 20;
const MAX_FINDINGS: usize = 200;
/// How long a tool may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A tool written in Python.
struct ScanTool {
    name: &'static str,
    module: &'static str,
    /// The arguments before the folder.
    arguments: &'static [&'static str],
    /// Reads its report.
    read: fn(&Value, &Path) -> Vec<ToolFinding>,
}

/// A finding of a tool.
struct ToolFinding {
    file: String,
    line: usize,
    severity: Severity,
    message: String,
}

const TOOLS: &[ScanTool] = &[
    ScanTool {
        name: "bandit",
        module: "bandit",
        arguments: &["--quiet", "--format", "json", "--recursive"],
        read: bandit,
    },
    ScanTool {
        name: "detect-secrets",
        module: "detect_secrets",
        arguments: &["--cores", "1", "scan", "--all-files"],
        read: detect_secrets,
    },
];

/// Runs the tools that are found in the folders of `PATH`, and adds what they find to the report. The result names those
/// that ran.
pub fn run_scan_tools(skill: &mut ScannedSkill, path: &[PathBuf]) -> Vec<&'static str> {
    let mut ran = Vec::new();
    let is_python = |path: &str| Path::new(path).extension().is_some_and(|end| end == "py");
    let has_python = skill.files.iter().any(|file| is_python(&file.path));
    for tool in TOOLS {
        if tool.name == "bandit" && !has_python {
            continue;
        }
        let Some(installed) = InstalledTool::find(tool, path) else { continue };
        match installed.report(&skill.path) {
            Ok(report) => {
                let found = (tool.read)(&report, &skill.path);
                add(skill, tool.name, found);
                ran.push(tool.name);
            }
            Err(reason) => {
                let reason = format!("{} did not finish: {reason}", tool.name);
                skill.report.not_analysed.push(NotAnalysed { file: ".".to_owned(), reason });
            }
        }
    }
    let has_dependencies = skill.files.iter().any(|file| file.path.ends_with("requirements.txt"));
    if has_dependencies && path.iter().any(|folder| folder.join("pip-audit").is_file()) {
        let reason = "pip-audit was not run: it needs the network".to_owned();
        skill.report.not_analysed.push(NotAnalysed { file: "requirements.txt".to_owned(), reason });
    }
    ran
}

fn add(skill: &mut ScannedSkill, tool: &str, found: Vec<ToolFinding>) {
    let Some(rule) = rule_by_name("external-tool") else { return };
    for found in found.into_iter().take(MAX_FINDINGS) {
        let bytes = skill.files.iter().find(|file| file.path == found.file);
        let start = bytes.map_or(0, |file| line_start(&file.bytes, found.line));
        skill.report.findings.push(Finding {
            rule,
            severity: found.severity,
            message: format!("{tool}: {}", shorten(&visible_line(&found.message), 160)),
            file: found.file,
            range: start..start,
        });
    }
}

/// Where a line starts, from one.
fn line_start(bytes: &[u8], line: usize) -> usize {
    let mut starts = std::iter::once(0)
        .chain(bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1));
    starts.nth(line.saturating_sub(1)).unwrap_or(0)
}

/// A tool with the interpreter and the folder of packages that it is installed in.
struct InstalledTool<'t> {
    tool: &'t ScanTool,
    interpreter: PathBuf,
    packages: PathBuf,
}

impl<'t> InstalledTool<'t> {
    /// Looks for the command, and from there for its interpreter and packages. Nothing is started.
    fn find(tool: &'t ScanTool, path: &[PathBuf]) -> Option<Self> {
        let command = path.iter().map(|folder| folder.join(tool.name)).find(|it| it.is_file())?;
        let folder = command.parent()?;
        let interpreter = ["python3", "python"]
            .iter()
            .find_map(|name| fs::canonicalize(folder.join(name)).ok())?;
        let libraries = fs::read_dir(folder.parent()?.join("lib")).ok()?;
        let mut packages = libraries.flatten().flat_map(|library| {
            ["site-packages", "dist-packages"].map(|name| library.path().join(name))
        });
        let packages = packages.find(|it| it.join(tool.module).is_dir())?;
        Some(Self { tool, interpreter, packages: fs::canonicalize(packages).ok()? })
    }

    /// Runs it on a folder and returns its report.
    fn report(&self, skill: &Path) -> Result<Value, String> {
        let skill = fs::canonicalize(skill).map_err(|error| error.to_string())?;
        let mut capture = Collected(Vec::new());
        let outcome = run(self.spec(&skill), &mut capture).map_err(|error| error.to_string())?;
        match outcome.exit {
            // 1 means that something was found.
            ExitReason::Exited(0 | 1) => {}
            other => return Err(format!("{other:?}")),
        }
        serde_json::from_slice(&capture.0).map_err(|_| "its report is not JSON".to_owned())
    }

    fn spec(&self, skill: &Path) -> Spec {
        let start = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); sys.argv[0] = sys.argv.pop(1); runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)";
        let mut spec = Spec::new(&self.interpreter);
        // `-I`: neither the environment nor the current folder says what is imported.
        spec.arguments = ["-I", "-B", "-c", start].map(OsString::from).to_vec();
        spec.arguments.push(self.packages.clone().into_os_string());
        spec.arguments.push(self.tool.module.into());
        spec.arguments.extend(self.tool.arguments.iter().map(OsString::from));
        spec.arguments.push(skill.as_os_str().to_owned());
        spec.environment = vec![
            ("HOME".into(), "/tmp".into()),
            ("LC_ALL".into(), "C.UTF-8".into()),
            ("NO_COLOR".into(), "1".into()),
        ];
        skill.clone_into(&mut spec.working_directory);
        spec.files = vec![FileGrant {
            path: skill.to_owned(),
            access: FileAccess::Read,
            pattern: None,
            create: false,
        }];
        spec.support = vec![self.packages.clone()];
        let prefix = self.interpreter.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
        for folder in [prefix.join("lib"), prefix.join("local/lib")] {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let library =
                |name: &str| name.starts_with("python3") || name.starts_with("libpython3");
            let found = entries.filter(|entry| entry.file_name().to_str().is_some_and(library));
            spec.support.extend(found.map(|entry| entry.path()));
        }
        spec.limits = SandboxLimits {
            time: TIMEOUT,
            memory: None,
            output: MAX_REPORT as u64,
            ..SandboxLimits::default()
        };
        spec
    }
}

/// What a tool prints to standard output.
struct Collected(Vec<u8>);

impl Observer for Collected {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        // The limit of the sandbox for output ends a tool that prints more.
        if stream == OutputStream::Output && self.0.len() + bytes.len() <= MAX_REPORT {
            self.0.extend_from_slice(bytes);
        }
    }
}

/// The path of a file below the skill's folder.
fn below(file: &str, skill: &Path) -> Option<String> {
    // The tools start in that folder.
    if Path::new(file).is_relative() {
        return Some(file.trim_start_matches("./").to_owned());
    }
    let skill = fs::canonicalize(skill).ok()?;
    let relative = Path::new(file).strip_prefix(&skill).ok()?;
    Some(relative.to_string_lossy().into_owned())
}

fn number(value: &Value, key: &str) -> usize {
    value.get(key).and_then(Value::as_u64).and_then(|line| usize::try_from(line).ok()).unwrap_or(1)
}

/// Its severities are about code that can be attacked, and not about code that attacks, so they weigh less.
fn bandit(report: &Value, skill: &Path) -> Vec<ToolFinding> {
    let results = report.get("results").and_then(Value::as_array).into_iter().flatten();
    let finding = |result: &Value| {
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        Some(ToolFinding {
            file: below(text("filename"), skill)?,
            line: number(result, "line_number"),
            severity: match text("issue_severity") {
                "HIGH" => Severity::Medium,
                "MEDIUM" => Severity::Low,
                _ => Severity::Info,
            },
            message: format!("{} {}", text("test_id"), text("issue_text")),
        })
    };
    results.filter_map(finding).collect()
}

fn detect_secrets(report: &Value, skill: &Path) -> Vec<ToolFinding> {
    let files = report.get("results").and_then(Value::as_object).into_iter().flatten();
    let mut found = Vec::new();
    for (file, results) in files {
        let Some(file) = below(file, skill) else { continue };
        for result in results.as_array().into_iter().flatten() {
            let kind = result.get("type").and_then(Value::as_str).unwrap_or("a secret");
            found.push(ToolFinding {
                file: file.clone(),
                line: number(result, "line_number"),
                severity: Severity::Medium,
                message: kind.to_owned(),
            });
        }
    }
    found
}
