//! The two lock files of the skills CLI: of a project (version 1) and of a user (version 3, which `gh skill` writes too).

use super::fields::Fields;
use super::{
    HashedWhat, ImportProblem, ImportedHash, ImportedLock, ImportedSkill, ImportedSource, LockKind,
};

pub(super) fn project(mut file: Fields) -> Result<ImportedLock, ImportProblem> {
    file.version("version", &[1])?;
    read(
        LockKind::SkillsProject,
        file,
        &[("computedHash", HashedWhat::SkillsCli), ("wellKnownDigest", HashedWhat::WellKnown)],
    )
}

/// Parses a user's file. Older versions have a subset of the fields. The tool itself treats them as empty and loses
/// their content.
pub(super) fn user(mut file: Fields) -> Result<ImportedLock, ImportProblem> {
    file.version("version", &[1, 2, 3])?;
    read(
        LockKind::SkillsUser,
        file,
        &[("skillFolderHash", HashedWhat::GitTree), ("wellKnownDigest", HashedWhat::WellKnown)],
    )
}

fn read(
    kind: LockKind,
    mut file: Fields,
    hashes: &[(&str, HashedWhat)],
) -> Result<ImportedLock, ImportProblem> {
    let skills = file.skills()?;
    let skills = skills.into_iter().map(|(name, fields)| skill(name, fields, hashes));
    let skills = skills.collect::<Result<_, _>>()?;
    Ok(ImportedLock { kind, skills, extra: file.rest(), notes: Vec::new() })
}

fn skill(
    name: String,
    mut fields: Fields,
    known: &[(&str, HashedWhat)],
) -> Result<ImportedSkill, ImportProblem> {
    let short = fields.required("source")?;
    let kind = fields.required("sourceType")?;
    let url = fields.text("sourceUrl")?;
    let reference = fields.text("ref")?;
    let path = fields.text("skillPath")?;
    // A URL is more specific than `owner/repo`: it includes the host.
    let whole = url.unwrap_or_else(|| short.clone());
    let source = match kind.as_str() {
        "github" | "gitlab" | "git" => ImportedSource::Git { repository: whole, reference, path },
        "local" => ImportedSource::Local(whole),
        "well-known" => ImportedSource::WellKnown(whole),
        _ => ImportedSource::Other { kind, text: whole },
    };
    let mut hashes = Vec::new();
    for (key, over) in known {
        hashes.extend(fields.text(key)?.map(|text| ImportedHash { over: *over, text }));
    }
    Ok(ImportedSkill {
        name,
        owner: None,
        version: None,
        requested: None,
        source,
        hashes,
        installed_at: fields.time("installedAt")?,
        pinned: fields.text("pinnedRef")?,
        extra: fields.rest(),
    })
}
