//! Settings of a project for checks: `prowess.toml`.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use prowess_core::{Problem, ProblemKind};
use prowess_format::diagnostic::Rule;
use prowess_format::rules;
use prowess_format::suppress::unknown_rule;
use prowess_format::text::{closest, shorten};
use toml::{Table, Value};

use crate::{path_problem, shown};

/// The name of the file.
pub const CHECK_SETTINGS: &str = "prowess.toml";
/// The most bytes of it.
const MOST_BYTES: u64 = 256 << 10;
/// The most patterns in it.
const MOST_PATTERNS: usize = 1_000;

/// Which rules a project disables, everywhere or for some files.
#[derive(Debug)]
pub struct CheckSettings {
    /// The folder that patterns are relative to.
    folder: PathBuf,
    disabled: Vec<&'static Rule>,
    per_file: Vec<(GlobMatcher, Vec<&'static Rule>)>,
    allowed: Vec<AllowedFinding>,
}

/// A finding of the scanner that the project has looked at (`[[scan.allow]]`).
#[derive(Debug)]
struct AllowedFinding {
    rule: &'static str,
    path: GlobMatcher,
}

impl CheckSettings {
    /// The settings for a folder: its own file, or the nearest one above it in the same repository.
    pub fn around(folder: &Path) -> Result<Option<Self>, Problem> {
        let Ok(full) = folder.canonicalize() else { return Ok(None) };
        for folder in full.ancestors() {
            if folder.join(CHECK_SETTINGS).is_file() {
                return Self::read(folder).map(Some);
            }
            // Another project's settings are above the root of this one.
            if folder.join(".git").exists() {
                break;
            }
        }
        Ok(None)
    }

    /// Reads the file of a folder.
    pub fn read(folder: &Path) -> Result<Self, Problem> {
        let path = folder.join(CHECK_SETTINGS);
        let failed = |source: std::io::Error| path_problem("read", &path, &source);
        let mut text = Vec::new();
        File::open(&path)
            .map_err(failed)?
            .take(MOST_BYTES + 1)
            .read_to_end(&mut text)
            .map_err(failed)?;
        let name = shown(&path);
        if text.len() as u64 > MOST_BYTES {
            return Err(invalid(format!("`{name}` is larger than {} KiB", MOST_BYTES >> 10)));
        }
        let text =
            String::from_utf8(text).map_err(|_| invalid(format!("`{name}` is not UTF-8")))?;
        let full = fs::canonicalize(folder).map_err(failed)?;
        Self::parse(&text, full).map_err(|problem| invalid(format!("`{name}`: {problem}")))
    }

    fn parse(text: &str, folder: PathBuf) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| {
                text.get(..span.start).unwrap_or_default().matches('\n').count() + 1
            });
            format!("not valid TOML (line {line}): {}", error.message())
        })?;
        known_keys(&table, &["check", "scan"], "")?;
        let (disabled, per_file) = (Vec::new(), Vec::new());
        let allowed = allowed_findings(&table)?;
        let mut settings = Self { folder, disabled, per_file, allowed };
        let Some(check) = table.get("check") else { return Ok(settings) };
        let check = check.as_table().ok_or("`check` is not a table")?;
        known_keys(check, &["disable", "per-file-disable"], "check.")?;
        if let Some(value) = check.get("disable") {
            settings.disabled = rules_in(value, "check.disable")?;
        }
        if let Some(value) = check.get("per-file-disable") {
            let patterns = value.as_table().ok_or("`check.per-file-disable` is not a table")?;
            if patterns.len() > MOST_PATTERNS {
                return Err(format!(
                    "`check.per-file-disable` has more than {MOST_PATTERNS} patterns"
                ));
            }
            for (pattern, value) in patterns {
                let rules = rules_in(value, "check.per-file-disable")?;
                settings.per_file.push((matcher(pattern)?, rules));
            }
        }
        Ok(settings)
    }

    /// Whether the project allows a finding of the scanner in a file of a skill. Settings inside the skill allow nothing.
    pub fn allows_finding(&self, rule: &str, file: &Path, skill: &Path) -> bool {
        let Ok(skill) = skill.canonicalize() else { return false };
        if self.allowed.is_empty() || self.folder.starts_with(&skill) {
            return false;
        }
        let folder = prowess_files::atomic::folder_of(file).canonicalize().unwrap_or_default();
        let full = folder.join(file.file_name().unwrap_or_default());
        let Ok(relative) = full.strip_prefix(&self.folder) else { return false };
        self.allowed.iter().any(|allowed| allowed.rule == rule && allowed.path.is_match(relative))
    }

    /// The rules that are disabled for a file.
    pub fn disabled_for(&self, file: &Path) -> Vec<&'static Rule> {
        let mut disabled = self.disabled.clone();
        if self.per_file.is_empty() {
            return disabled;
        }
        let folder = prowess_files::atomic::folder_of(file).canonicalize().unwrap_or_default();
        let full = folder.join(file.file_name().unwrap_or_default());
        if let Ok(relative) = full.strip_prefix(&self.folder) {
            let matching = self.per_file.iter().filter(|(glob, _)| glob.is_match(relative));
            disabled.extend(matching.flat_map(|(_, rules)| rules));
        }
        disabled
    }
}

/// The entries of `[[scan.allow]]`, each with a rule, a pattern of paths and a reason.
fn allowed_findings(table: &Table) -> Result<Vec<AllowedFinding>, String> {
    let Some(scan) = table.get("scan") else { return Ok(Vec::new()) };
    let scan = scan.as_table().ok_or("`scan` is not a table")?;
    known_keys(scan, &["allow"], "scan.")?;
    let Some(entries) = scan.get("allow") else { return Ok(Vec::new()) };
    let entries = entries.as_array().ok_or("`scan.allow` is not a list of tables")?;
    if entries.len() > MOST_PATTERNS {
        return Err(format!("`scan.allow` has more than {MOST_PATTERNS} entries"));
    }
    let mut allowed = Vec::new();
    for entry in entries {
        let entry = entry.as_table().ok_or("`scan.allow` is not a list of tables")?;
        known_keys(entry, &["rule", "path", "reason"], "scan.allow.")?;
        let text = |key: &str| {
            let value = entry.get(key).and_then(Value::as_str).map(str::trim);
            value.filter(|value| !value.is_empty()).ok_or_else(|| {
                format!("an entry of `scan.allow` has no `{key}`: `rule`, `path` and `reason` are required")
            })
        };
        let (name, path) = (text("rule")?, text("path")?);
        text("reason")?;
        let Some(rule) = prowess_scan::rule_by_name(name) else {
            let known = prowess_scan::RULES.iter().map(|rule| rule.rule.name);
            let shown = shorten(name, 60);
            return Err(match closest(name, known) {
                Some(similar) => format!(
                    "no rule of the scanner is called `{shown}` (did you mean `{similar}`?)"
                ),
                None => format!("no rule of the scanner is called `{shown}`"),
            });
        };
        allowed.push(AllowedFinding { rule: rule.rule.name, path: matcher(path)? });
    }
    Ok(allowed)
}

/// A pattern of paths: `*` stays inside a folder and `**` does not, as in .gitignore.
fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob = glob.map_err(|error| {
        format!("`{}` is not a pattern: {}", shorten(pattern, 60), error.kind())
    })?;
    Ok(glob.compile_matcher())
}

fn known_keys(table: &Table, known: &[&str], prefix: &str) -> Result<(), String> {
    let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let shown = shorten(key, 60);
    Err(match closest(key, known.iter().copied()) {
        Some(similar) => {
            format!("unknown key `{prefix}{shown}` (did you mean `{prefix}{similar}`?)")
        }
        None => format!("unknown key `{prefix}{shown}`"),
    })
}

fn rules_in(value: &Value, key: &str) -> Result<Vec<&'static Rule>, String> {
    let names = value.as_array().ok_or_else(|| format!("`{key}` is not a list of rules"))?;
    let rule = |name: &Value| {
        let name = name.as_str().ok_or_else(|| format!("`{key}` is not a list of rules"))?;
        rules::by_name(name).ok_or_else(|| unknown_rule(name))
    };
    names.iter().map(rule).collect()
}

fn invalid(message: String) -> Problem {
    Problem::new("invalid-check-settings", ProblemKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::CheckSettings;

    fn read(text: &str) -> Result<CheckSettings, String> {
        CheckSettings::parse(text, "/".into())
    }

    #[test]
    fn mistakes_are_errors_with_a_suggestion() {
        for (text, message) in [
            (
                "[check]\ndisable = [\"long-skil\"]\n",
                "no rule is called `long-skil` (did you mean `long-skill`?)",
            ),
            (
                "[check]\ndisabled = []\n",
                "unknown key `check.disabled` (did you mean `check.disable`?)",
            ),
            (
                "[[scan.allow]]\nrule = \"secret-fil\"\npath = \"**\"\nreason = \"x\"\n",
                "no rule of the scanner is called `secret-fil` (did you mean `secret-file`?)",
            ),
            (
                "[[scan.allow]]\nrule = \"secret-file\"\npath = \"**\"\n",
                "an entry of `scan.allow` has no `reason`",
            ),
            ("[chek]\n", "unknown key `chek` (did you mean `check`?)"),
            ("[check]\ndisable = \"long-skill\"\n", "`check.disable` is not a list of rules"),
            ("[check.per-file-disable]\n\"a[\" = []\n", "`a[` is not a pattern"),
        ] {
            let problem = read(text).expect_err(text);
            assert!(problem.starts_with(message), "{text}: {problem}");
        }
        let broken = read("\n[check\n").expect_err("broken");
        assert!(broken.starts_with("not valid TOML (line 2)"), "{broken}");
        assert!(read("").is_ok() && read("[check]\n").is_ok());
    }
}
