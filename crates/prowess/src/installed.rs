//! Installed skills by name, and what is known about them when they are used.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_format::skill::Skill;
use prowess_package::name::SkillName;
use prowess_policy::{Origin, Tier, Trust};
use prowess_resolve::Range;
use prowess_store::drift;
use prowess_store::lock::{Lock, MOST_BYTES};
use prowess_store::places::Scope;
use prowess_store::reference::Named;
use prowess_store::source::Pinned;
use prowess_store::store::{LOCK_FILE, Store};

use crate::commands::verify::restore_command;
use crate::error::Error;
use crate::packages::{Packages, install_failed, now, store_failed};

/// The folder of an installed skill that is named as `name`, `ns/name`, each perhaps with `@range`; nothing when there is
/// none. The project's own comes before the user's.
pub(crate) fn find(reference: &Path) -> Result<Option<PathBuf>, Error> {
    let Some(named) = reference.to_str().and_then(|text| text.parse::<Named>().ok()) else {
        return Ok(None);
    };
    let packages = Packages::new()?;
    for scope in [Scope::Project, Scope::User] {
        let root = packages.store_path(scope);
        let Some(lock) = read_lock(&root)? else { continue };
        let Some(entry) = lock.skills.get(&named.name) else { continue };
        let namespace = entry.source.as_ref().and_then(Pinned::namespace);
        if named.namespace.is_some() && namespace != named.namespace.as_ref() {
            continue;
        }
        if let Some(text) = &named.range {
            let range = Range::parse(text)
                .map_err(|error| Error::usage(format!("`{named}` names no versions: {error}")))?;
            if !range.contains(&entry.version) {
                return Err(Error::not_found(format!(
                    "`{}` {} is installed, which is not in `{text}`",
                    named.name, entry.version
                ))
                .hint(format!("install it with `prowess install {named}`")));
            }
        }
        return Ok(Some(root.join("skills").join(named.name.as_str())));
    }
    Ok(None)
}

/// The lock file of a store, which is not touched by looking.
fn read_lock(root: &Path) -> Result<Option<Lock>, Error> {
    let path = root.join(LOCK_FILE);
    let Ok(file) = fs::File::open(&path) else { return Ok(None) };
    let mut text = String::new();
    let read = file.take(MOST_BYTES).read_to_string(&mut text);
    read.map_err(|source| Error::io("read", &path, &source))?;
    let lock = Lock::parse(&text).map_err(|error| {
        Error::failed(format!("the lock file `{}` can't be used: {error}", path.display()))
            .hint("`prowess lock` says what to do about it")
    })?;
    Ok(Some(lock))
}

/// How far a skill is trusted that is about to be used. What lies in a store is what was installed, or it is refused when
/// somebody had signed it (GAIX-26); everything else is a file of the user's, whatever it claims.
pub(crate) fn trust(skill: &Skill, directory: Option<&Path>) -> Result<Trust, Error> {
    let own = Trust::of(skill, Tier::Experimental, None, Origin::Local);
    let Some((root, name)) = directory.and_then(place_in_store) else { return Ok(own) };
    let Some(lock) = read_lock(&root)? else { return Ok(own) };
    let Some(entry) = lock.skills.get(&name) else { return Ok(own) };
    let store = Store::open(&root).map_err(|error| store_failed(&error))?;
    let packages = Packages::new()?;
    let keys = packages.trust()?;
    let findings = drift::look(&store, std::slice::from_ref(&name), &keys, now())
        .map_err(|error| install_failed(&error))?;
    let drifts: Vec<String> = findings
        .iter()
        .flat_map(|finding| &finding.drifts)
        .filter(|drift| drift.is_about_files())
        .map(ToString::to_string)
        .collect();
    if !drifts.is_empty() && !entry.signers.is_empty() {
        let is_own = packages.store_path(Scope::User) == root;
        let scope = if is_own { Scope::User } else { Scope::Project };
        return Err(Error::refused(format!(
            "`{name}` was signed, and is not what was installed: {}",
            drifts.join("; ")
        ))
        .hint(format!("`{}` puts back what the lock file says", restore_command(scope))));
    }
    let attested = findings.iter().find_map(|finding| finding.attestation.as_ref());
    let attested = match attested {
        // Files that somebody has changed are nobody's word.
        Some(attestation) if drifts.is_empty() => attestation.tier,
        _ => Tier::Experimental,
    };
    let is_remote = entry.source.as_ref().is_none_or(Pinned::is_remote);
    let origin = if is_remote { Origin::Downloaded } else { Origin::Local };
    Ok(Trust::of(skill, attested, None, origin))
}

/// The name that the user gave to an installed skill whose own can't be installed.
pub(crate) fn given_name(directory: &Path) -> Option<SkillName> {
    let (root, name) = place_in_store(&directory.canonicalize().ok()?)?;
    let lock = read_lock(&root).ok()??;
    lock.skills.get(&name)?.chosen(&name)?;
    Some(name)
}

/// The store around a folder `STORE/skills/NAME`.
fn place_in_store(directory: &Path) -> Option<(PathBuf, SkillName)> {
    let name = directory.file_name()?.to_str()?.parse().ok()?;
    let skills = directory.parent()?;
    let root = skills.parent()?;
    let is_store = skills.file_name()? == "skills" && root.join(LOCK_FILE).is_file();
    is_store.then(|| (root.to_owned(), name))
}
