//! Which files a signature lists: hidden files among them are content of the skill.
//!
//! Only the list is read here. Whether the signature holds is for others to decide, and until then the list proves
//! nothing: it only says which hidden files have to be read so that the signature can be checked.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::content::{FileRole, role_of};
use crate::path::{PackagePath, fold};

/// The signatures that list the files they cover, at the root of a skill: OpenSSF Model Signing and
/// signature records. All others are made over the content itself, which has no hidden files.
const LISTING_FILES: [&str; 4] =
    ["skill.oms.sig", "SIGNATURE.json", "signature.json", "AUDIT.json"];

/// Maximum size of a signature whose list is read, in bytes.
pub(crate) const MOST_SIGNATURE_BYTES: u64 = 4 << 20;
/// Maximum number of files in a list.
const MOST_FILES: usize = 10_000;

/// Folders that are never content, whoever signs them: git runs what they contain.
const VERSION_CONTROL: [&str; 3] = [".git", ".hg", ".svn"];

/// The files that the signatures of a skill list.
#[derive(Debug, Clone, Default)]
pub(crate) struct CoveredFiles {
    paths: BTreeSet<String>,
}

impl CoveredFiles {
    /// Whether a file at the root of a skill is a signature that lists files.
    pub(crate) fn is_listing(name: &str) -> bool {
        LISTING_FILES.contains(&name)
    }

    /// The names of signatures that list files.
    pub(crate) fn listing_names() -> &'static [&'static str] {
        &LISTING_FILES
    }

    /// Adds the files that a signature lists. A file that is not a signature lists nothing.
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8]) {
        if bytes.len() as u64 > MOST_SIGNATURE_BYTES {
            return;
        }
        let listed = match name {
            "skill.oms.sig" => model_signing_list(bytes),
            _ if Self::is_listing(name) => record_list(bytes),
            _ => None,
        };
        let is_meant = |path: &String| path.parse().is_ok_and(|path| may_cover(&path));
        self.paths.extend(listed.into_iter().flatten().take(MOST_FILES).filter(is_meant));
    }

    /// Whether a file is listed.
    pub(crate) fn contains(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Whether a listed file is below a folder.
    pub(crate) fn has_below(&self, folder: &str) -> bool {
        let start = format!("{folder}/");
        let mut from = self.paths.range(start.clone()..);
        from.next().is_some_and(|path| path.starts_with(&start))
    }
}

/// Whether a signature can make a file content. Files of version control and compiled Python are
/// executed without anybody having read them, so they never are.
pub(crate) fn may_cover(path: &PackagePath) -> bool {
    let is_version_control = |part: &str| VERSION_CONTROL.contains(&fold(part).as_str());
    let file = fold(path.file_name());
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    role_of(path) != FileRole::Sidecar
        && !path.parts().any(is_version_control)
        && !matches!(ending, "pyc" | "pyo")
}

/// The resources of an in-toto statement in a Sigstore bundle.
fn model_signing_list(bytes: &[u8]) -> Option<Vec<String>> {
    let bundle: Value = serde_json::from_slice(bytes).ok()?;
    let payload = bundle.get("dsseEnvelope")?.get("payload")?.as_str()?;
    let statement: Value = serde_json::from_slice(&STANDARD.decode(payload).ok()?).ok()?;
    let resources = statement.get("predicate")?.get("resources")?.as_array()?;
    let name = |resource: &Value| resource.get("name")?.as_str().map(str::to_owned);
    Some(resources.iter().filter_map(name).collect())
}

/// The keys of the map `files` in a signature record.
fn record_list(bytes: &[u8]) -> Option<Vec<String>> {
    let record: Value = serde_json::from_slice(bytes).ok()?;
    record.get("signature_version")?;
    Some(record.get("files")?.as_object()?.keys().cloned().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bundle(names: &[&str]) -> String {
        let resources: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        let statement = json!({ "predicate": { "resources": resources } }).to_string();
        json!({ "dsseEnvelope": { "payload": STANDARD.encode(statement) } }).to_string()
    }

    #[track_caller]
    fn check(name: &str, text: &str, expected: &[&str]) {
        let mut covered = CoveredFiles::default();
        covered.add(name, text.as_bytes());
        let found: Vec<&str> = covered.paths.iter().map(String::as_str).collect();
        assert_eq!(found, expected, "{name}: {text}");
    }

    #[test]
    fn the_files_of_a_list_are_covered() {
        let names = ["SKILL.md", ".env", ".config/a.toml", ".DS_Store", "sub/.hidden"];
        check(
            "skill.oms.sig",
            &bundle(&names),
            &[".DS_Store", ".config/a.toml", ".env", "SKILL.md", "sub/.hidden"],
        );
        let record = json!({ "signature_version": 1, "files": { ".env": "", "SKILL.md": "" } });
        check("SIGNATURE.json", &record.to_string(), &[".env", "SKILL.md"]);
        check("AUDIT.json", &record.to_string(), &[".env", "SKILL.md"]);
    }

    #[test]
    fn nothing_makes_version_control_compiled_code_and_odd_paths_content() {
        let names = [
            ".git/hooks/post-checkout",
            "sub/.GIT/config",
            "__pycache__/tools.cpython-312.pyc",
            "x.PYO",
            "../.env",
            "/.env",
            ".env\u{0}",
            "SKILL.md.lock",
        ];
        check("skill.oms.sig", &bundle(&names), &[]);
    }

    #[test]
    fn other_files_list_nothing() {
        check("skill.oms.sig", "no JSON", &[]);
        check("skill.oms.sig", "{}", &[]);
        check("SIGNATURE.json", r#"{"files": {".env": ""}}"#, &[]);
        check("README.md", &bundle(&[".env"]), &[]);
        let long = format!("{}{}", bundle(&[".env"]), " ".repeat(4 << 20));
        check("skill.oms.sig", &long, &[]);
    }

    #[test]
    fn folders_lead_to_covered_files() {
        let mut covered = CoveredFiles::default();
        covered.add("skill.oms.sig", bundle(&[".a/b/c", ".ab"]).as_bytes());
        let answers = [".a", ".a/b", ".a/b/c", ".ab", "b"].map(|folder| covered.has_below(folder));
        assert_eq!(answers, [true, true, false, false, false]);
    }
}
