//! The file of approvals as text. It carries a version, and fields from the future are tolerated.

use prowess_policy::{
    Approval, Approvals, Digest, FileHashes, ProgramPin, Project, RememberedGrant,
};
use serde_json::{Map, Value, json};

/// The version that is written.
const VERSION: u64 = 1;

/// The file's text.
pub(super) fn write(approvals: &Approvals) -> String {
    let records: Vec<Value> = approvals.records().iter().map(record).collect();
    let grants: Vec<Value> = approvals.grants().iter().map(grant_record).collect();
    let file = json!({ "version": VERSION, "approvals": records, "grants": grants });
    format!("{file:#}\n")
}

fn grant_record(grant: &RememberedGrant) -> Value {
    json!({
        "skill": grant.skill,
        "skill_folder": grant.skill_folder,
        "project": project(&grant.project),
        "digest": grant.digest.as_str(),
        "grants": grant.grants,
        "programs": pins(&grant.pins),
        "given_at": grant.given_at,
    })
}

fn pins(pins: &[ProgramPin]) -> Vec<Value> {
    pins.iter().map(|pin| json!({ "path": pin.path, "sha256": pin.sha256 })).collect()
}

fn record(approval: &Approval) -> Value {
    let files: Map<String, Value> =
        approval.files.iter().map(|(path, hash)| (path.clone(), hash.clone().into())).collect();
    json!({
        "skill": approval.skill,
        "skill_folder": approval.skill_folder,
        "tool": approval.tool,
        "project": project(&approval.project),
        "digest": approval.digest.as_str(),
        "files": files,
        "grants": approval.grants,
        "programs": pins(&approval.pins),
        "given_at": approval.given_at,
    })
}

/// The folder that an approval is for: `null` where it counts everywhere, and `false` where nobody knows.
fn project(project: &Project) -> Value {
    match project {
        Project::Any => Value::Null,
        Project::Folder(folder) => folder.clone().into(),
        Project::Unknown => false.into(),
    }
}

/// The approvals of a text, or what is wrong with it. A record that can't be understood approves nothing.
pub(super) fn read(text: &str) -> Result<Approvals, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match file["version"].as_u64() {
        Some(VERSION) => {}
        Some(newer) if newer > VERSION => {
            return Err(format!("it was written by a newer version of prowess (format {newer})"));
        }
        _ => return Err("it has no version".to_owned()),
    }
    let records = file["approvals"].as_array().ok_or("it has no list of approvals")?;
    // Earlier versions wrote none.
    let grants = file["grants"].as_array().into_iter().flatten().filter_map(remembered).collect();
    Ok(Approvals::new(records.iter().filter_map(approval).collect()).with_grants(grants))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

fn pins_of(value: &Value) -> Option<Vec<ProgramPin>> {
    let pin =
        |pin: &Value| Some(ProgramPin { path: text(&pin["path"])?, sha256: text(&pin["sha256"])? });
    value.as_array()?.iter().map(pin).collect()
}

/// Earlier versions wrote no folder, and such a yes counts nowhere. A missing folder is not every folder.
fn project_of(record: &Value) -> Project {
    match record.get("project") {
        Some(Value::Null) => Project::Any,
        Some(Value::String(folder)) => Project::Folder(folder.clone()),
        _ => Project::Unknown,
    }
}

fn remembered(record: &Value) -> Option<RememberedGrant> {
    Some(RememberedGrant {
        skill: text(&record["skill"])?,
        skill_folder: text(&record["skill_folder"]),
        project: project_of(record),
        digest: Digest::new(text(&record["digest"])?),
        grants: texts(&record["grants"])?,
        pins: pins_of(&record["programs"])?,
        given_at: record["given_at"].as_u64()?,
    })
}

fn approval(record: &Value) -> Option<Approval> {
    // A missing tool is no tool and not all of them.
    let tool = match record.get("tool")? {
        Value::Null => None,
        tool => Some(text(tool)?),
    };
    let files: FileHashes = match record["files"].as_object() {
        Some(files) => {
            files.iter().filter_map(|(path, hash)| Some((path.clone(), text(hash)?))).collect()
        }
        None => FileHashes::new(),
    };
    Some(Approval {
        skill: text(&record["skill"])?,
        skill_folder: text(&record["skill_folder"]),
        project: project_of(record),
        files,
        digest: Digest::new(text(&record["digest"])?),
        tool,
        grants: texts(&record["grants"])?,
        pins: pins_of(&record["programs"])?,
        given_at: record["given_at"].as_u64()?,
    })
}
