//! GAIA's two formats of the same file: the specified one and the implemented one (R50).

use super::fields::Fields;
use super::{
    HashedWhat, ImportProblem, ImportedHash, ImportedLock, ImportedSkill, ImportedSource, LockKind,
};

/// Parses the format of GAIA §7.3.
pub(super) fn specified(mut file: Fields) -> Result<ImportedLock, ImportProblem> {
    file.version("version", &[1])?;
    let skills = file.skills()?.into_iter().map(|(name, mut fields)| {
        let hashes =
            [("integrity", HashedWhat::Archive), ("dependencies_hash", HashedWhat::Dependencies)];
        Ok(ImportedSkill {
            name,
            owner: None,
            version: Some(fields.required("version")?),
            requested: None,
            source: ImportedSource::Unknown,
            hashes: taken(&mut fields, &hashes)?,
            installed_at: fields.time("installed_at")?,
            pinned: None,
            extra: fields.rest(),
        })
    });
    let skills = skills.collect::<Result<_, ImportProblem>>()?;
    Ok(ImportedLock { kind: LockKind::Gaia, skills, extra: file.rest(), notes: Vec::new() })
}

/// Parses the format of amd/gaia, `src/gaia/skills/lock.py`. Tiers and signatures are unverified claims, so they are
/// only kept as text for the report.
pub(super) fn written_today(mut file: Fields) -> Result<ImportedLock, ImportProblem> {
    file.version("schema_version", &[1])?;
    let skills = file.skills()?.into_iter().map(|(key, mut fields)| {
        let name = fields.required("name")?;
        if name != key {
            return Err(fields.problem("name", format!("is `{name}`, but the entry is `{key}`")));
        }
        let url = fields.text("hub_url")?;
        let origin = fields.text("origin")?;
        let source = match (fields.text("source")?.as_deref(), origin) {
            (None | Some("hub"), _) => ImportedSource::Registry(url),
            (Some("local"), _) => ImportedSource::Local(fields.text("path")?.unwrap_or_default()),
            (Some(kind), origin) => {
                let text = origin.unwrap_or_default();
                ImportedSource::Other { kind: kind.to_owned(), text }
            }
        };
        let hashes =
            [("artifact_sha256", HashedWhat::Archive), ("content_digest", HashedWhat::GaiaContent)];
        Ok(ImportedSkill {
            name,
            owner: None,
            version: Some(fields.required("version")?),
            requested: fields.text("requested")?,
            source,
            hashes: taken(&mut fields, &hashes)?,
            installed_at: fields.time("installed_at")?,
            pinned: None,
            extra: fields.rest(),
        })
    });
    let skills = skills.collect::<Result<_, _>>()?;
    Ok(ImportedLock { kind: LockKind::GaiaHub, skills, extra: file.rest(), notes: Vec::new() })
}

fn taken(
    fields: &mut Fields,
    known: &[(&str, HashedWhat)],
) -> Result<Vec<ImportedHash>, ImportProblem> {
    let mut hashes = Vec::new();
    for (key, over) in known {
        hashes.extend(fields.text(key)?.map(|text| ImportedHash { over: *over, text }));
    }
    Ok(hashes)
}
