//! The in-toto statement: the files and their digests.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::expect;
use crate::contents::{digest_from_hex, hex};
use crate::error::SignatureError;
use crate::json;
use crate::scheme::signature_names;

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "https://model_signing/signature/v1.0";

/// Files that may be unsigned: git's own, which no agent reads. Any other uncovered file counts as unsigned, whatever
/// the statement says (attack registry-C6).
const MAY_BE_LEFT_OUT: [&str; 4] = [".git", ".gitattributes", ".github", ".gitignore"];

/// The files of a statement.
pub(super) struct Manifest {
    pub(super) files: BTreeMap<String, [u8; 32]>,
    /// The digests in the order of the statement.
    pub(super) digests: Vec<[u8; 32]>,
    ignored: Vec<String>,
}

impl Manifest {
    /// Whether a file was left out and may be left out.
    pub(super) fn leaves_out(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or(path);
        MAY_BE_LEFT_OUT.contains(&first)
            && self.ignored.iter().any(|ignored| ignored.trim_end_matches('/') == first)
    }
}

/// Parses a statement whose signature was verified.
pub(super) fn read(payload: &[u8]) -> Result<Manifest, SignatureError> {
    let value = json::read(payload).map_err(SignatureError::Unreadable)?;
    expect("statement type", json::text(&value, "_type"), STATEMENT_TYPE, "in-toto v1")?;
    let predicate_type = json::text(&value, "predicateType");
    expect("predicate type", predicate_type, PREDICATE_TYPE, "version 1.0 of model signing")?;
    let predicate = &value["predicate"];
    let serialization = &predicate["serialization"];
    expect("serialization", json::text(serialization, "method"), "files", "`files`")?;
    expect("hash", json::text(serialization, "hash_type"), "sha256", "`sha256`")?;

    let resources = predicate.get("resources").and_then(Value::as_array);
    let resources =
        resources.ok_or_else(|| SignatureError::unreadable("`resources` is not a list"))?;
    let mut files = BTreeMap::new();
    let mut digests = Vec::new();
    for resource in resources {
        expect("hash", json::text(resource, "algorithm"), "sha256", "`sha256`")?;
        let name = json::text(resource, "name");
        let name = name.ok_or_else(|| SignatureError::unreadable("a resource has no name"))?;
        let digest = json::text(resource, "digest").and_then(digest_from_hex);
        let digest = digest.ok_or_else(|| {
            SignatureError::unreadable(&format!("the digest of `{name}` is not a SHA-256"))
        })?;
        digests.push(digest);
        if files.insert(name.to_owned(), digest).is_some() {
            return Err(SignatureError::unreadable(&format!("`{name}` is listed twice")));
        }
    }

    let subjects = value.get("subject").and_then(Value::as_array);
    let Some([subject]) = subjects.map(Vec::as_slice) else {
        return Err(SignatureError::unreadable("it must have exactly one subject"));
    };
    let root = json::text(&subject["digest"], "sha256").and_then(digest_from_hex);
    if root != Some(Sha256::digest(digests.concat()).into()) {
        return Err(SignatureError::unreadable(
            "the digest of its subject is not that of its files",
        ));
    }

    let ignored = serialization.get("ignore_paths").and_then(Value::as_array);
    let ignored = ignored.map_or(&[][..], Vec::as_slice);
    let ignored = ignored.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Manifest { files, digests, ignored })
}

/// Writes the statement for these files. It excludes signature files, which may be added later.
pub(super) fn written(name: &str, files: &BTreeMap<String, [u8; 32]>) -> String {
    let mut hash = Sha256::new();
    let mut resources = Vec::new();
    for (path, digest) in files {
        hash.update(digest);
        resources.push(json!({"name": path, "algorithm": "sha256", "digest": hex(digest)}));
    }
    let statement = json!({
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": hex(&hash.finalize())}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "serialization": {
                "method": "files",
                "hash_type": "sha256",
                "allow_symlinks": false,
                "ignore_paths": signature_names(),
            },
            "resources": resources,
        },
    });
    statement.to_string()
}
