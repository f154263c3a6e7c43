//! Skills that a domain publishes below `/.well-known/`, in the three shapes there are (R23).
//!
//! 1. `agent-skills/index.json`, version 0.2.0 of the discovery format: each entry has an address and a digest.
//! 2. `skills/index.json`, version 0.1.0: each entry lists its files, without digests.
//! 3. `skills/default/skill.md`: one skill.

mod trawl;

use std::sync::Arc;
use std::time::Duration;

use prowess_format::text::visible;
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::path::PackagePath;
use prowess_package::tree::{FilterDecision, ListingFilter, Tree, TreeFile};
use prowess_store::reference::DomainReference;
use prowess_store::source::{
    FetchedFiles, MOST_MANIFEST_BYTES, Offer, Offers, Pinned, SourceError, SourceErrorKind,
    declared_name, tree_of_file, withheld,
};
use serde_json::Value;
use url::Url;

use crate::address::{DOWNLOAD, compared};
use crate::archives::Archives;
use crate::short;
use crate::web::{Ask, ChosenBy, Reply, Web, not_found, parse, shown, unreachable, unusable};

pub use trawl::{Missed, TRAWL_TIME, Trawl, Trawled};

/// The longest index (attack registry-D13).
const MOST_INDEX_BYTES: u64 = 1 << 20;
/// How many entries an index may have.
const MOST_ENTRIES: usize = 2_000;
/// How long a probe may take.
const PROBE: Duration = Duration::from_secs(10);
/// The only version of the newer format that is known.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
/// Where the oldest shape has its one skill.
const DEFAULT_SKILL: &str = ".well-known/skills/default/skill.md";

/// Asks domains.
pub(crate) struct WellKnown {
    web: Arc<Web>,
    limits: PackageLimits,
    archives: Archives,
}

impl WellKnown {
    pub(crate) fn new(web: Arc<Web>, limits: PackageLimits, archives: Archives) -> Self {
        Self { web, limits, archives }
    }

    pub(crate) fn offers(&self, reference: &DomainReference) -> Result<Offers, SourceError> {
        let base = parse(&reference.base)?;
        let mut notes = Vec::new();
        let place = shown(&base).trim_end_matches('/').to_owned();
        let mut skills = self.published(&base, &reference.base, &mut notes)?;
        skills.sort_by(|one, other| one.name.cmp(&other.name));
        if let Some(wanted) = &reference.skill {
            let names: Vec<String> = skills.iter().map(|offer| offer.name.clone()).collect();
            skills.retain(|offer| offer.name == wanted.as_str());
            if skills.is_empty() && !names.is_empty() {
                return Err(not_found(format!("`{place}` publishes no skill `{wanted}`"))
                    .advice(format!("it publishes {}", listed(&names))));
            }
        }
        if skills.is_empty() {
            let mut error = not_found(format!("`{place}` publishes no skills"));
            if !notes.is_empty() {
                error.what = format!("{} that can be used: {}", error.what, notes.join("; "));
            }
            return Err(error.advice("look at the spelling of the domain, or name a repository"));
        }
        Ok(Offers { skills, notes })
    }

    pub(crate) fn fetch(
        &self,
        name: &str,
        url: &str,
        digest: Option<&str>,
    ) -> Result<FetchedFiles, SourceError> {
        let url = parse(url)?;
        let Some(digest) = digest else { return self.without_digest(name, &url) };
        let bytes = match self.archives.get(digest, &self.limits) {
            Some(bytes) => bytes,
            None => self.file(&url)?,
        };
        compared(&shown(&url), &bytes, digest)?;
        self.archives.keep(&bytes);
        tree_of_file(&shown(&url), bytes, &self.limits)
    }

    /// A skill whose place may have something else tomorrow. What it had last counts only where nobody may be asked; the lock
    /// says whether that is what was installed.
    fn without_digest(&self, name: &str, url: &Url) -> Result<FetchedFiles, SourceError> {
        let place = format!("well-known {url} {name}");
        if self.web.is_offline()
            && let Some(tree) = self.archives.tree(&place, &self.limits)
        {
            return Ok(FetchedFiles { tree, notes: Vec::new() });
        }
        let fetched = if url.path().ends_with('/') {
            self.listed_files(name, url)?
        } else {
            tree_of_file(&shown(url), self.file(url)?, &self.limits)?
        };
        self.archives.keep_tree(&place, &fetched.tree);
        Ok(fetched)
    }

    fn file(&self, url: &Url) -> Result<Vec<u8>, SourceError> {
        let reply = self.get(url, self.limits.archive_bytes, DOWNLOAD)?;
        reply.map(|reply| reply.body).ok_or_else(|| gone(url))
    }

    /// Asks for the shapes one after the other, the newest first. The first that has skills counts.
    fn published(
        &self,
        base: &Url,
        asked: &str,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Offer>, SourceError> {
        // A path may have an index of its own; the domain's is at the root.
        let mut bases = vec![folder_of(base)];
        let mut root = base.clone();
        root.set_path("/");
        root.set_query(None);
        if bases[0] != root {
            bases.push(root);
        }
        for base in &bases {
            let url = joined(base, ".well-known/agent-skills/index.json")?;
            if let Some(reply) = self.probe(&url)? {
                let skills = current(&reply, &url, asked, notes);
                if !skills.is_empty() {
                    return Ok(skills);
                }
            }
        }
        for base in &bases {
            let url = joined(base, ".well-known/skills/index.json")?;
            if let Some(reply) = self.probe(&url)? {
                let skills = older(&reply, asked, notes);
                if !skills.is_empty() {
                    return Ok(skills);
                }
            }
        }
        for base in &bases {
            let url = joined(base, DEFAULT_SKILL)?;
            if let Some(offer) =
                self.get(&url, MOST_MANIFEST_BYTES, PROBE)?.and_then(|reply| single(&reply, asked))
            {
                return Ok(vec![offer]);
            }
        }
        Ok(Vec::new())
    }

    fn probe(&self, url: &Url) -> Result<Option<Reply>, SourceError> {
        self.get(url, MOST_INDEX_BYTES, PROBE)
    }

    /// A page, or nothing when the server has none.
    fn get(&self, url: &Url, most: u64, limit: Duration) -> Result<Option<Reply>, SourceError> {
        let reply = self.web.get(&Ask {
            url,
            accept: "*/*",
            most,
            limit,
            chosen_by: ChosenBy::User,
            etag: None,
            token: None,
        })?;
        match reply.status {
            200 => Ok(Some(reply)),
            400..=499 => Ok(None),
            status => Err(unreachable(format!("`{}` answered with status {status}", shown(url)))
                .advice("try again later")),
        }
    }

    /// The files of a skill that the index of version 0.1.0 lists.
    fn listed_files(&self, name: &str, folder: &Url) -> Result<FetchedFiles, SourceError> {
        let index = joined(folder, "../index.json")?;
        let reply = self.probe(&index)?.ok_or_else(|| gone(&index))?;
        let value: Value = serde_json::from_slice(&reply.body)
            .map_err(|_| unusable(format!("`{}` is not JSON", shown(&index))))?;
        let entry = entries(&value).find(|entry| entry["name"].as_str() == Some(name));
        let files = entry.map(paths).ok_or_else(|| {
            not_found(format!("`{}` does not list `{}` any more", shown(&index), short(name)))
        })?;
        let files = files.map_err(|why| unusable(format!("`{}`: {why}", shown(&index))))?;
        let mut filter = ListingFilter::new("").map_err(|error| unusable(error.to_string()))?;
        let mut left_out = Vec::new();
        let mut tree = Vec::new();
        let mut bytes = 0;
        // Signatures come first, because they say which hidden files are content.
        let is_signature = |path: &PackagePath| ListingFilter::is_signature(path.as_str());
        let (signatures, others): (Vec<PackagePath>, Vec<PackagePath>) =
            files.into_iter().partition(is_signature);
        for path in signatures.into_iter().chain(others) {
            match filter.decide(&path) {
                FilterDecision::Kept => {}
                FilterDecision::LeftOut => continue,
                FilterDecision::Withheld => {
                    left_out.push(path.as_str().to_owned());
                    continue;
                }
            }
            if tree.len() == self.limits.entries {
                return Err(unusable(format!("`{}` lists too many files", shown(&index))));
            }
            let mut url = folder.clone();
            // Part by part, so that nothing in a name is read as more than a name.
            url.path_segments_mut()
                .map_err(|()| unusable("the address has no path"))?
                .pop_if_empty()
                .extend(path.parts());
            let most = self.limits.file_bytes.min(self.limits.bytes - bytes);
            let reply = self.get(&url, most, DOWNLOAD)?.ok_or_else(|| gone(&url))?;
            bytes += reply.body.len() as u64;
            filter.add_signature(path.as_str(), &reply.body);
            tree.push((path, TreeFile { bytes: reply.body, executable: false }));
        }
        let tree = Tree::from_files(tree, &self.limits)
            .map_err(|error| unusable(format!("`{}`: {error}", shown(folder))))?;
        Ok(FetchedFiles { tree, notes: withheld(&shown(folder), &left_out) })
    }
}

/// The skills of an index of version 0.2.0.
fn current(reply: &Reply, asked_url: &Url, asked: &str, notes: &mut Vec<String>) -> Vec<Offer> {
    let place = shown(&reply.url);
    let Ok(value) = serde_json::from_slice::<Value>(&reply.body) else {
        // Many servers answer everything with their start page.
        if !reply.content_type.contains("html") {
            notes.push(format!("`{place}` is not JSON and is ignored"));
        }
        return Vec::new();
    };
    match value["$schema"].as_str() {
        Some(SCHEMA) => {}
        Some(other) => {
            notes.push(format!(
                "`{place}` has the format `{}`, which is not known, and is ignored",
                short(other)
            ));
            return Vec::new();
        }
        None => {
            notes.push(format!("`{place}` does not say which format it has and is ignored"));
            return Vec::new();
        }
    }
    let mut skills: Vec<Offer> = Vec::new();
    for entry in entries(&value) {
        match current_entry(entry, &reply.url, asked_url, asked) {
            Ok(offer) if skills.iter().any(|known| known.name == offer.name) => {
                notes.push(format!(
                    "`{place}` has `{}` more than once; the first counts",
                    offer.name
                ));
            }
            Ok(offer) => skills.push(offer),
            Err(why) => notes.push(format!("`{place}`: an entry is skipped: {why}")),
        }
    }
    skills
}

fn current_entry(
    entry: &Value,
    index: &Url,
    asked_url: &Url,
    asked: &str,
) -> Result<Offer, String> {
    let name = name_of(entry)?;
    match entry["type"].as_str() {
        Some("skill-md" | "archive") => {}
        other => {
            return Err(format!(
                "`{name}` has the type `{}`, which is not known",
                short(other.unwrap_or("none"))
            ));
        }
    }
    let address = entry["url"].as_str().ok_or_else(|| format!("`{name}` has no address"))?;
    let url = index.join(address).map_err(|_| format!("`{name}` has an address that is none"))?;
    // Attack registry-D13: whoever writes the index speaks for this host and for no other.
    if url.origin() != index.origin() && url.origin() != asked_url.origin() {
        return Err(format!("`{name}` lies on another host, at `{}`", shown(&url)));
    }
    let digest = entry["digest"].as_str().unwrap_or_default();
    let is_digest =
        digest.strip_prefix("sha256:").is_some_and(|hex| hex.parse::<Sha256Digest>().is_ok());
    if !is_digest {
        return Err(format!(
            "`{name}` has no digest, which has to look like `sha256:` and 64 digits"
        ));
    }
    let pinned = Pinned::WellKnown {
        base: asked.to_owned(),
        url: url.to_string(),
        digest: Some(digest.to_owned()),
    };
    Ok(Offer { name: name.to_string(), pinned, owner: None, published: None })
}

/// The skills of an index of version 0.1.0.
fn older(reply: &Reply, asked: &str, notes: &mut Vec<String>) -> Vec<Offer> {
    let place = shown(&reply.url);
    let Ok(value) = serde_json::from_slice::<Value>(&reply.body) else { return Vec::new() };
    let mut skills: Vec<Offer> = Vec::new();
    for entry in entries(&value) {
        let offer = || {
            let name = name_of(entry)?;
            let paths = paths(entry).map_err(|why| format!("`{name}`: {why}"))?;
            if !paths.iter().any(|path| path.as_str() == "SKILL.md") {
                return Err(format!("`{name}` lists no `SKILL.md`"));
            }
            let url = reply.url.join(&format!("{name}/")).map_err(|error| error.to_string())?;
            let pinned =
                Pinned::WellKnown { base: asked.to_owned(), url: url.to_string(), digest: None };
            Ok(Offer { name: name.to_string(), pinned, owner: None, published: None })
        };
        match offer() {
            Ok(offer) if skills.iter().any(|known| known.name == offer.name) => {}
            Ok(offer) => skills.push(offer),
            Err(why) => notes.push(format!("`{place}`: an entry is skipped: {why}")),
        }
    }
    if !skills.is_empty() {
        notes.push(format!("`{place}` has the format 0.1.0, which promises no digests"));
    }
    skills
}

/// The skill of the oldest shape, unless the page is something else.
fn single(reply: &Reply, asked: &str) -> Option<Offer> {
    if reply.content_type.contains("html") || !reply.body.trim_ascii_start().starts_with(b"---") {
        return None;
    }
    let host = reply.url.host_str().unwrap_or_default().to_owned();
    let pinned =
        Pinned::WellKnown { base: asked.to_owned(), url: reply.url.to_string(), digest: None };
    let name = declared_name(&reply.body, &host);
    Some(Offer { name, pinned, owner: None, published: None })
}

fn entries(index: &Value) -> impl Iterator<Item = &Value> {
    index["skills"].as_array().into_iter().flatten().take(MOST_ENTRIES)
}

/// The name of an entry, which will be one part of a path (NEG-5).
fn name_of(entry: &Value) -> Result<SkillName, String> {
    let text = entry["name"].as_str().ok_or("it has no name")?;
    text.parse().map_err(|error: prowess_package::name::SkillNameError| error.to_string())
}

fn paths(entry: &Value) -> Result<Vec<PackagePath>, String> {
    let list = entry["files"].as_array().ok_or("it lists no files")?;
    list.iter()
        .map(|path| {
            let text = path.as_str().ok_or("a file has no name")?;
            text.parse().map_err(|error: prowess_package::path::PackagePathError| error.to_string())
        })
        .collect()
}

fn folder_of(base: &Url) -> Url {
    let mut folder = base.clone();
    folder.set_query(None);
    folder.set_fragment(None);
    if !folder.path().ends_with('/') {
        let path = format!("{}/", folder.path());
        folder.set_path(&path);
    }
    folder
}

fn joined(base: &Url, path: &str) -> Result<Url, SourceError> {
    base.join(path).map_err(|_| unusable(format!("`{}` is not a valid domain URL", shown(base))))
}

fn gone(url: &Url) -> SourceError {
    SourceError::new(SourceErrorKind::NotFound, format!("there is nothing at `{}`", shown(url)))
        .advice("the domain may not publish it any more")
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let shown: Vec<String> =
        names.iter().take(MOST).map(|name| format!("`{}`", visible(name))).collect();
    match names.len().checked_sub(MOST) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}
