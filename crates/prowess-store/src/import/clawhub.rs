//! ClawHub's two files: the skills installed in a folder, and next to each skill its origin (OC-12).

use std::path::Path;

use super::fields::Fields;
use super::{
    HashedWhat, ImportProblem, ImportedHash, ImportedLock, ImportedSkill, ImportedSource, LockKind,
};

pub(super) fn lock(mut file: Fields) -> Result<ImportedLock, ImportProblem> {
    file.version("version", &[1])?;
    let skills = file.skills()?.into_iter().map(|(name, fields)| locked(&name, fields));
    let skills = skills.collect::<Result<_, _>>()?;
    Ok(ImportedLock { kind: LockKind::ClawHub, skills, extra: file.rest(), notes: Vec::new() })
}

fn locked(name: &str, mut fields: Fields) -> Result<ImportedSkill, ImportProblem> {
    let (owner, slug) = split(name);
    let handle = fields.text("ownerHandle")?;
    let reason = fields.text("pinReason")?;
    let pinned = fields.flag("pinned")?.then(|| reason.clone().unwrap_or_default());
    let source = match fields.text("sourceRef")? {
        Some(text) => ImportedSource::Other { kind: "sourceRef".to_owned(), text },
        None => ImportedSource::Registry(None),
    };
    Ok(ImportedSkill {
        name: slug.to_owned(),
        owner: handle.or(owner.map(str::to_owned)),
        version: fields.text("version")?,
        requested: None,
        source,
        hashes: Vec::new(),
        installed_at: fields.time("installedAt")?,
        pinned,
        extra: fields.rest(),
    })
}

pub(super) fn origin(mut file: Fields) -> Result<ImportedLock, ImportProblem> {
    file.version("version", &[1])?;
    let slug = file.required("slug")?;
    let (owner, name) = split(&slug);
    let handle = file.text("ownerHandle")?;
    let fingerprint = file.text("fingerprint")?;
    let skill = ImportedSkill {
        name: name.to_owned(),
        owner: handle.or(owner.map(str::to_owned)),
        version: file.text("installedVersion")?,
        requested: None,
        source: ImportedSource::Registry(file.text("registry")?),
        hashes: fingerprint
            .map(|text| ImportedHash { over: HashedWhat::ClawHub, text })
            .into_iter()
            .collect(),
        installed_at: file.time("installedAt")?,
        pinned: None,
        extra: file.rest(),
    };
    Ok(ImportedLock {
        kind: LockKind::ClawHubOrigin,
        skills: vec![skill],
        extra: Vec::new(),
        notes: Vec::new(),
    })
}

/// Adds the registry and the fingerprint from the `origin.json` files next to the skills.
pub(super) fn add_origins(lock: &Path, imported: &mut ImportedLock) {
    let Some(folder) = lock.parent().and_then(Path::parent) else { return };
    for skill in &mut imported.skills {
        let Some(found) = origin_of(folder, skill) else { continue };
        match found {
            Ok(origin)
                if origin.name != skill.name
                    || differs(origin.owner.as_ref(), skill.owner.as_ref()) =>
            {
                imported.notes.push(format!(
                    "`{}`: its `origin.json` is about `{}` and was ignored",
                    skill.name, origin.name
                ));
            }
            Ok(origin) => {
                if differs(origin.version.as_ref(), skill.version.as_ref()) {
                    imported.notes.push(format!(
                        "`{}`: the lock file says version {}, but its `origin.json` says {}",
                        skill.name,
                        skill.version.as_deref().unwrap_or("nothing"),
                        origin.version.as_deref().unwrap_or("nothing")
                    ));
                }
                if matches!(skill.source, ImportedSource::Registry(None)) {
                    skill.source = origin.source;
                }
                skill.hashes = origin.hashes;
                skill.owner = skill.owner.take().or(origin.owner);
                skill.extra.extend(origin.extra);
            }
            Err(why) => imported.notes.push(format!("`{}`: {why}", skill.name)),
        }
    }
}

/// The `origin.json` of a skill. Its path is built from validated names only.
fn origin_of(folder: &Path, skill: &ImportedSkill) -> Option<Result<ImportedSkill, String>> {
    let is_name = |text: &str| {
        let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
        !text.starts_with('.') && !text.is_empty() && text.chars().all(is_plain)
    };
    if !is_name(&skill.name) {
        return None;
    }
    let skills = folder.join("skills");
    let owned = skill.owner.as_deref().filter(|owner| is_name(owner));
    let owned = owned.map(|owner| skills.join(format!("@{owner}")).join(&skill.name));
    let candidates = owned.into_iter().chain([skills.join(&skill.name), folder.join(&skill.name)]);
    let files = candidates.flat_map(|folder| {
        [".clawhub", ".clawdhub"].map(|hidden| folder.join(hidden).join("origin.json"))
    });
    let file = files.into_iter().find(|file| file.is_file())?;
    let imported = super::read(&file).map_err(|error| error.to_string());
    Some(imported.and_then(|imported| {
        imported.skills.into_iter().next().ok_or_else(|| "`origin.json` is empty".to_owned())
    }))
}

fn differs(one: Option<&String>, other: Option<&String>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

/// Splits `@owner/slug`; older entries are only a slug.
fn split(name: &str) -> (Option<&str>, &str) {
    match name.strip_prefix('@').and_then(|name| name.split_once('/')) {
        Some((owner, slug)) => (Some(owner), slug),
        None => (None, name),
    }
}
