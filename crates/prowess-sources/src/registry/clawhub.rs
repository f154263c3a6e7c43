//! ClawHub's API: newest versions only, no digests, archives built on demand.
//!
//! Downloads are hashed here, once for the offer and again for the files, so that a lock file records the installed
//! bytes although the registry has no digests.

use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;
use prowess_resolve::Package;
use prowess_store::source::SourceError;
use semver::Version;
use serde_json::Value;

use super::{Registry, RegistryClient, nonsense, refused, unknown};
use crate::short;
use prowess_registry_protocol::{IndexLine, SearchHit};

/// Resolves a bare name: its namespace is the owner's handle.
pub(super) fn package(
    client: &RegistryClient,
    registry: &Registry,
    name: &SkillName,
) -> Result<Package, SourceError> {
    let value = skill(client, registry, None, name)?;
    let owner =
        handle(&value).ok_or_else(|| nonsense(registry, "the owner of the skill is missing"))?;
    Ok(Package::new(registry.url.as_str(), format!("{owner}/{name}")))
}

/// The newest version, which is the only one that the API describes reliably.
pub(super) fn lines(
    client: &RegistryClient,
    registry: &Registry,
    namespace: &SkillName,
    name: &SkillName,
) -> Result<Vec<IndexLine>, SourceError> {
    let value = skill(client, registry, Some(namespace), name)?;
    let text = value["latestVersion"]["version"].as_str().unwrap_or_default();
    let version = Version::parse(text)
        .map_err(|_| nonsense(registry, &format!("`{}` is not a version", short(text))))?;
    let bytes = download(client, registry, namespace, name, &version)?;
    Ok(vec![IndexLine {
        version,
        dependencies: Vec::new(),
        yanked: false,
        revoked: None,
        // ClawHub attests no tier (GAIA §4.1).
        tier: None,
        sha256: Sha256Digest::of(&bytes),
        published: value["latestVersion"]["createdAt"]
            .as_u64()
            .map(|milliseconds| milliseconds / 1000),
        owner: handle(&value).map(|owner| owner.to_string()),
    }])
}

/// Downloads the archive of a version.
pub(super) fn download(
    client: &RegistryClient,
    registry: &Registry,
    namespace: &SkillName,
    name: &SkillName,
    version: &Version,
) -> Result<Vec<u8>, SourceError> {
    let version = version.to_string();
    let query =
        [("slug", name.as_str()), ("ownerHandle", namespace.as_str()), ("version", &version)];
    client.download(registry, &["download"], &query)
}

/// Searches ClawHub.
pub(super) fn search(
    client: &RegistryClient,
    registry: &Registry,
    words: &str,
    most: usize,
) -> Result<Vec<SearchHit>, SourceError> {
    let reply = client.ask(registry, &["search"], &[("q", words), ("limit", &most.to_string())])?;
    if reply.status != 200 {
        return Err(refused(registry, &reply));
    }
    let value: Value = serde_json::from_slice(&reply.body)
        .map_err(|_| nonsense(registry, "its response is not a list"))?;
    let hit = |entry: &Value| {
        Some(SearchHit {
            namespace: entry["ownerHandle"].as_str().and_then(|owner| owner.parse().ok()),
            name: entry["slug"].as_str()?.parse().ok()?,
            version: entry["version"].as_str().map(short),
            description: entry["summary"].as_str().unwrap_or_default().to_owned(),
            tier: None,
        })
    };
    let listed = value["results"].as_array().into_iter().flatten();
    Ok(listed.filter_map(hit).take(most).collect())
}

fn skill(
    client: &RegistryClient,
    registry: &Registry,
    namespace: Option<&SkillName>,
    name: &SkillName,
) -> Result<Value, SourceError> {
    let query: Vec<(&str, &str)> =
        namespace.iter().map(|owner| ("ownerHandle", owner.as_str())).collect();
    let reply = client.ask(registry, &["skills", name.as_str()], &query)?;
    match reply.status {
        200 => serde_json::from_slice(&reply.body)
            .map_err(|_| nonsense(registry, "its response is not JSON")),
        404 | 410 => {
            let full =
                namespace.map_or_else(|| name.to_string(), |owner| format!("{owner}/{name}"));
            Err(unknown(registry, &full))
        }
        // Errors are plain text.
        _ => Err(refused(registry, &reply)),
    }
}

fn handle(skill: &Value) -> Option<SkillName> {
    let owner =
        skill["owner"]["handle"].as_str().or_else(|| skill["skill"]["ownerHandle"].as_str());
    owner.or_else(|| skill["ownerHandle"].as_str())?.to_ascii_lowercase().parse().ok()
}
