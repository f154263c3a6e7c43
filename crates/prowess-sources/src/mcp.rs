//! Skills that an MCP server publishes (SEP-2640), by the host's rules of that document: nothing is fetched before somebody
//! wants it, and sizes, digests and front matter are verified.
//!
//! This module knows the protocol's methods and no transport: [`SkillServers`] opens the conversation, which takes a policy
//! and a sandbox for servers that are programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_core::{McpError, McpErrorKind, McpSession, Problem, Remedy};
use prowess_format::diagnostic::Findings;
use prowess_format::document::Document;
use prowess_format::text::visible;
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::path::PackagePath;
use prowess_package::tree::{Tree, TreeFile};
use prowess_store::reference::ServerReference;
use prowess_store::source::{FetchedFiles, Offer, Offers, Pinned, SourceError, SourceErrorKind};
use serde_json::{Map, Value};

use crate::archives::Archives;
use crate::short;
use crate::web::{not_found, offline, unusable};

/// The identifier of the extension.
const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// The file that makes a folder a skill.
const MAIN_FILE: &str = "SKILL.md";
/// The most pages of a list: a server could give cursors forever.
const MAX_PAGES: usize = 200;
/// The most skills of a server.
const MAX_SKILLS: usize = 2_000;
/// The most files of a skill, and bytes of all of them (SEP-2640).
const MAX_FILES: usize = 512;
/// See [`MAX_FILES`].
const MAX_BYTES: u64 = 16 << 20;
/// The most names in a message.
const MAX_NAMED: usize = 20;

/// A conversation with a server.
pub type ServerTalk = Box<dyn Fn(&mut dyn McpSession) -> Result<(), McpError> + Send + Sync>;

/// Opens conversations with the MCP servers that the user has configured.
pub trait SkillServers: Send + Sync {
    /// Connects to the server of this name and talks. Starting or contacting it may have to be approved.
    fn talk(&self, server: &str, talk: ServerTalk) -> Result<(), Problem>;
}

/// Skills of MCP servers.
pub(crate) struct ServerSkills {
    servers: Option<Arc<dyn SkillServers>>,
    limits: PackageLimits,
    archives: Archives,
    is_offline: bool,
}

/// One published skill.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// The address of its main file.
    uri: String,
    name: SkillName,
    front_matter: Value,
    /// Its files by their paths in the skill.
    files: BTreeMap<PackagePath, Published>,
}

#[derive(Clone, Debug, PartialEq)]
struct Published {
    uri: String,
    digest: Sha256Digest,
    size: u64,
}

impl ServerSkills {
    pub(crate) fn new(
        servers: Option<Arc<dyn SkillServers>>,
        limits: PackageLimits,
        archives: Archives,
        is_offline: bool,
    ) -> Self {
        Self { servers, limits, archives, is_offline }
    }

    pub(crate) fn offers(&self, reference: &ServerReference) -> Result<Offers, SourceError> {
        let server = reference.server.as_str();
        let (mut entries, notes) = self.talk(server, |session| list(session))?;
        let place = format!("the MCP server `{}`", visible(server));
        if let Some(wanted) = &reference.skill {
            let names: Vec<String> = entries.iter().map(|entry| entry.name.to_string()).collect();
            entries.retain(|entry| entry.name == *wanted);
            if entries.is_empty() && !names.is_empty() {
                return Err(not_found(format!("{place} publishes no skill `{wanted}`"))
                    .advice(format!("it publishes {}", listed(&names))));
            }
        }
        if entries.is_empty() {
            let mut error = not_found(format!("{place} publishes no skills"));
            if !notes.is_empty() {
                error.what = format!("{} that can be used: {}", error.what, notes.join("; "));
            }
            return Err(error);
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        let offer = |entry: Entry| Offer {
            name: entry.name.to_string(),
            pinned: Pinned::Mcp {
                server: server.to_owned(),
                digest: entry.digest(),
                uri: entry.uri,
            },
            owner: None,
            published: None,
        };
        Ok(Offers { skills: entries.into_iter().map(offer).collect(), notes })
    }

    pub(crate) fn fetch(
        &self,
        server: &str,
        uri: &str,
        digest: &str,
    ) -> Result<FetchedFiles, SourceError> {
        let place = format!("mcp {server} {uri} {digest}");
        // The name of the place has the digest of every file in it.
        if self.is_offline
            && let Some(tree) = self.archives.tree(&place, &self.limits)
        {
            return Ok(FetchedFiles { tree, notes: Vec::new() });
        }
        let (wanted, limits) = (uri.to_owned(), self.limits);
        let expected = digest.to_owned();
        let files = self.talk(server, move |session| {
            let entry = find(session, &wanted)?;
            if entry.digest() != expected {
                return Err(SourceError::new(
                    SourceErrorKind::Mismatch,
                    format!("`{}` has other files now than were chosen", short(&wanted)),
                )
                .remedy(Remedy::Advice(
                    "update the skill to see what changed and to take it".to_owned(),
                )));
            }
            read_all(session, &entry, &limits)
        })?;
        let tree = Tree::from_files(files, &self.limits)
            .map_err(|error| unusable(format!("`{}`: {error}", short(uri))))?;
        self.archives.keep_tree(&place, &tree);
        Ok(FetchedFiles { tree, notes: Vec::new() })
    }

    /// Talks to a server, with errors of both sides.
    fn talk<T: Send + 'static>(
        &self,
        server: &str,
        talk: impl Fn(&mut dyn McpSession) -> Result<T, SourceError> + Send + Sync + 'static,
    ) -> Result<T, SourceError> {
        let place = format!("the MCP server `{}`", visible(server));
        if self.is_offline {
            return Err(offline(&format!("mcp:{server}")));
        }
        let Some(servers) = &self.servers else {
            return Err(unusable(format!("{place} can't be reached from here")));
        };
        let result = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&result);
        let told = servers.talk(
            server,
            Box::new(move |session| {
                let capabilities = &session.server().capabilities;
                let talked = if capabilities["extensions"].get(EXTENSION).is_none() {
                    Err(unusable("it does not publish skills (SEP-2640)"))
                } else {
                    talk(session)
                };
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(talked);
                Ok(())
            }),
        );
        let talked = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (talked, told) {
            (Some(Ok(value)), _) => Ok(value),
            (Some(Err(mut error)), _) => {
                error.what = format!("{place}: {}", error.what);
                Err(error)
            }
            (None, Err(problem)) => Err(SourceError {
                what: problem.message,
                remedies: problem.remedies,
                kind: SourceErrorKind::Unreachable,
            }),
            (None, Ok(())) => Err(unusable(format!("{place} was not asked"))),
        }
    }
}

impl Entry {
    /// One digest for all files with their paths and sizes, by which a lock file recognises them.
    fn digest(&self) -> String {
        let mut text = String::new();
        for (path, file) in &self.files {
            let _ = writeln!(text, "{}\0{}\0{}", path.as_str(), file.digest, file.size);
        }
        format!("sha256:{}", Sha256Digest::of(text.as_bytes()))
    }
}

fn ask(
    session: &mut dyn McpSession,
    method: &str,
    params: Map<String, Value>,
) -> Result<Value, SourceError> {
    session.request(method, params).map_err(|error| {
        let kind = match error.kind {
            // SEP-2640: `-32602` for an address that is unknown.
            McpErrorKind::Answered(-32602) => SourceErrorKind::NotFound,
            McpErrorKind::Denied => SourceErrorKind::Denied,
            McpErrorKind::Protocol | McpErrorKind::Answered(_) => SourceErrorKind::Unusable,
            McpErrorKind::Unreachable
            | McpErrorKind::Refused
            | McpErrorKind::TimedOut
            | McpErrorKind::Stopped => SourceErrorKind::Unreachable,
        };
        SourceError::new(kind, format!("it {}", short(&error.message)))
    })
}

/// All skills that can be used, and why others can't.
fn list(session: &mut dyn McpSession) -> Result<(Vec<Entry>, Vec<String>), SourceError> {
    let (mut entries, mut notes) = (Vec::<Entry>::new(), Vec::new());
    let mut params = Map::new();
    for _ in 0..MAX_PAGES {
        let page = ask(session, "skills/list", params)?;
        for skill in page["skills"].as_array().into_iter().flatten() {
            match entry(skill) {
                Ok(entry) if entries.iter().any(|known| known.name == entry.name) => {
                    notes.push(format!(
                        "`{}` is published more than once; the first counts",
                        entry.name
                    ));
                }
                Ok(entry) => entries.push(entry),
                Err(why) => {
                    let uri = short(skill["uri"].as_str().unwrap_or("without an address"));
                    notes.push(format!("`{uri}` is skipped: {why}"));
                }
            }
            if entries.len() + notes.len() > MAX_SKILLS {
                return Err(unusable(format!("it lists more than {MAX_SKILLS} skills")));
            }
        }
        match page.get("nextCursor") {
            Some(cursor @ Value::String(_)) => {
                params = Map::from_iter([("cursor".to_owned(), cursor.clone())]);
            }
            _ => return Ok((entries, notes)),
        }
    }
    Err(unusable(format!("its list of skills has more than {MAX_PAGES} pages")))
}

/// One skill, by its address. A server that can't answer for one of its skills may still list it: the digest that was chosen
/// says whether it is the same.
fn find(session: &mut dyn McpSession, uri: &str) -> Result<Entry, SourceError> {
    match get(session, uri) {
        Err(error) if error.kind == SourceErrorKind::Unusable => {
            let (entries, _) = list(session)?;
            entries.into_iter().find(|entry| entry.uri == uri).ok_or(error)
        }
        answered => answered,
    }
}

fn get(session: &mut dyn McpSession, uri: &str) -> Result<Entry, SourceError> {
    let params = Map::from_iter([("uri".to_owned(), uri.into())]);
    let answer = ask(session, "skills/get", params)?;
    let entry = entry(&answer["skill"])
        .map_err(|why| unusable(format!("`{}` can't be used: {why}", short(uri))))?;
    if entry.uri != uri {
        return Err(unusable(format!(
            "it answered `{}` when asked for `{}`",
            short(&entry.uri),
            short(uri)
        )));
    }
    Ok(entry)
}

/// Checks an entry before anything of it is fetched.
fn entry(skill: &Value) -> Result<Entry, String> {
    let uri = skill["uri"].as_str().ok_or("it has no address")?;
    let front_matter = skill["frontmatter"].clone();
    let name = front_matter["name"].as_str().ok_or("its front matter has no name")?;
    let name: SkillName =
        name.parse().map_err(|error: prowess_package::name::SkillNameError| error.to_string())?;
    let base = uri
        .strip_suffix("/SKILL.md")
        .filter(|base| {
            base.starts_with("skill://") && base.rsplit('/').next() == Some(name.as_str())
        })
        .ok_or_else(|| format!("its address does not end with `/{name}/SKILL.md`"))?;
    let resources = match &skill["resources"] {
        Value::Array(resources) => resources,
        Value::String(kind) if kind == "dynamic" => {
            return Err("its files are `dynamic`, so no digest says which they are".to_owned());
        }
        _ => return Err("it lists no files".to_owned()),
    };
    if resources.len() > MAX_FILES {
        return Err(format!("it has more than {MAX_FILES} files"));
    }
    let mut files = BTreeMap::new();
    let mut bytes = 0_u64;
    for resource in resources {
        let address = resource["uri"].as_str().ok_or("a file has no address")?;
        let outside = || format!("`{}` is not a file of the skill", short(address));
        let below = address.strip_prefix(base).and_then(|rest| rest.strip_prefix('/'));
        let path = decoded(below.ok_or_else(outside)?).ok_or_else(outside)?;
        let path: PackagePath = path
            .parse()
            .map_err(|error: prowess_package::path::PackagePathError| error.to_string())?;
        let digest = resource["digest"].as_str().and_then(|it| it.strip_prefix("sha256:"));
        let digest = digest.and_then(|hex| hex.parse::<Sha256Digest>().ok());
        let digest = digest.ok_or_else(|| format!("`{}` has no digest", path.as_str()))?;
        let size = resource["size"].as_u64();
        let size = size.ok_or_else(|| format!("`{}` has no size", path.as_str()))?;
        bytes = bytes.saturating_add(size);
        if bytes > MAX_BYTES {
            return Err(format!("its files have more than {} MiB", MAX_BYTES >> 20));
        }
        let file = Published { uri: address.to_owned(), digest, size };
        if let Some(twin) = files.insert(path, file) {
            return Err(format!("`{}` is listed twice", short(&twin.uri)));
        }
    }
    if !files.keys().any(|path| path.as_str() == MAIN_FILE) {
        return Err("it does not list its `SKILL.md`".to_owned());
    }
    Ok(Entry { uri: uri.to_owned(), name, front_matter, files })
}

/// Reads every file, and compares each with what was listed.
fn read_all(
    session: &mut dyn McpSession,
    entry: &Entry,
    limits: &PackageLimits,
) -> Result<Vec<(PackagePath, TreeFile)>, SourceError> {
    let mut files = Vec::new();
    // The main file first: if it is not the listed one, nothing else is fetched.
    let (main, others): (Vec<_>, Vec<_>) =
        entry.files.iter().partition(|(path, _)| path.as_str() == MAIN_FILE);
    for (path, published) in main.into_iter().chain(others) {
        let shown = short(&published.uri);
        if published.size > limits.file_bytes {
            return Err(unusable(format!("`{shown}` is larger than a file of a skill may be")));
        }
        let bytes = read(session, &published.uri)?;
        let mismatch = |what: &str| {
            let what = format!("`{shown}` has another {what} than the server lists");
            SourceError::new(SourceErrorKind::Mismatch, what)
                .advice("nothing was installed; tell the operator of the server")
        };
        if bytes.len() as u64 != published.size {
            return Err(mismatch("size"));
        }
        if Sha256Digest::of(&bytes) != published.digest {
            return Err(mismatch("digest"));
        }
        if path.as_str() == MAIN_FILE && !is_front_matter_of(&bytes, &entry.front_matter) {
            return Err(mismatch("front matter"));
        }
        files.push((path.clone(), TreeFile { bytes, executable: false }));
    }
    Ok(files)
}

fn read(session: &mut dyn McpSession, uri: &str) -> Result<Vec<u8>, SourceError> {
    let params = Map::from_iter([("uri".to_owned(), uri.into())]);
    let answer = ask(session, "resources/read", params)?;
    let shown = short(uri);
    let content = &answer["contents"][0];
    match (content["text"].as_str(), content["blob"].as_str()) {
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(blob)) => {
            STANDARD.decode(blob).map_err(|_| unusable(format!("`{shown}` is not valid base64")))
        }
        _ => Err(unusable(format!("`{shown}` has no content"))),
    }
}

/// Whether a main file has the front matter that the server listed. A host shows that one when it asks whether to use the
/// skill.
fn is_front_matter_of(bytes: &[u8], listed: &Value) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    Document::markdown(text, &mut Findings::default()).root.to_json() == *listed
}

/// Decodes `%20` in a path. A slash that is encoded would be one of a name, which no file has.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, more @ ..] = rest else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let byte = digit(*high)? * 16 + digit(*low)?;
        if byte == b'/' {
            return None;
        }
        bytes.push(byte);
        rest = more;
    }
    String::from_utf8(bytes).ok()
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(MAX_NAMED).map(|name| format!("`{}`", visible(name))).collect();
    match names.len().checked_sub(MAX_NAMED) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests;
