//! References to skills: a path, an installed name, a name in a registry, a repository or a domain.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use prowess_package::name::{SkillName, SkillNameError};
use prowess_package::path::PackagePath;

/// The parsed reference to a skill or to several skills of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A folder, a `SKILL.md` or an archive on this machine.
    Path(PathBuf),
    /// A skill in a registry: `name` or `ns/name`, optionally with `@range` (SRT §8).
    Named(NamedReference),
    /// A repository.
    Git(GitReference),
    /// A domain that publishes skills under `/.well-known/` (R23), or one of its skills.
    Domain(DomainReference),
    /// The URL of an archive or a `SKILL.md`.
    Address(String),
    /// An MCP server that publishes skills, as it is configured for an agent: `mcp:SERVER`, `mcp:SERVER/skill`.
    Server(ServerReference),
}

/// A skill in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedReference {
    /// The namespace of its publisher.
    pub namespace: Option<SkillName>,
    /// The name.
    pub name: SkillName,
    /// The range as written; `None` matches any version.
    pub range: Option<String>,
}

/// A git repository, or a folder in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitReference {
    /// The URL that git receives.
    pub url: String,
    /// A branch, tag or commit.
    pub revision: Option<String>,
    /// The folder that contains the skill or the skills.
    pub folder: Option<PackagePath>,
}

/// A domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainReference {
    /// The scheme, host, port and an optional path, without a trailing slash.
    pub base: String,
    /// The name of one skill; `None` for all that the domain publishes.
    pub skill: Option<SkillName>,
}

/// A configured MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReference {
    /// Its name in the settings.
    pub server: String,
    /// One skill of those it publishes.
    pub skill: Option<SkillName>,
}

/// The meaning of `a/b`, which can be a repository or a skill in a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashMeaning {
    /// No registry is configured: `owner/repository` on the default host.
    Repository,
    /// A registry is configured: `namespace/name`. If both were queried, the owner of the other name could take it
    /// over (attack registry-A9).
    Registry,
}

/// The kind of a path on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// The path does not exist.
    Nothing,
    /// A file.
    File,
    /// A folder, or anything else that exists.
    Folder,
}

/// Why a reference can't be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The reference is empty.
    #[error("the reference is empty")]
    Empty,
    /// The reference is neither an existing path nor of any other known form.
    #[error(
        "`{text}` is neither an existing file or folder nor `name`, `namespace/name`, `owner/repository`, a URL or a domain{}",
        because(.name.as_ref())
    )]
    Unknown {
        /// The reference, with invisible characters made visible.
        text: String,
        /// Why it is not a valid skill name.
        name: Option<SkillNameError>,
    },
    /// The reference is an existing path, but could also be a repository or a skill in a registry.
    #[error("`{text}` is an existing file or folder, but could also be {}", .other.noun())]
    Ambiguous {
        /// The reference.
        text: String,
        /// The other meaning.
        other: OtherMeaning,
    },
    /// The transport runs programs or is not encrypted.
    #[error("`{scheme}:` URLs are not supported; use `https:`, `ssh:` or a path")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The folder is outside the repository.
    #[error("`{folder}` is not a folder of a repository")]
    Folder {
        /// The folder.
        folder: String,
    },
    /// The revision is invalid, or git would parse it as an option.
    #[error("`{revision}` is not a valid branch, tag or commit")]
    Revision {
        /// The revision.
        revision: String,
    },
}

/// The meaning of `a/b` besides a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherMeaning {
    /// A repository, with its URL.
    Repository(String),
    /// A skill in a registry, with its name.
    Registry(String),
}

impl OtherMeaning {
    /// An unambiguous spelling of the same reference.
    pub fn spelling(&self) -> &str {
        match self {
            Self::Repository(spelling) | Self::Registry(spelling) => spelling,
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Self::Repository(_) => "a repository",
            Self::Registry(_) => "a skill in the registry",
        }
    }
}

/// The default host of `owner/repository`.
const USUAL_HOST: &str = "https://github.com";

/// The file name extensions of archives that can be unpacked.
pub const ARCHIVE_ENDINGS: [&str; 4] = [".tar.gz", ".tgz", ".zip", ".skill"];

/// Other file name extensions. `.md` and `.zip` are also top-level domains: a misspelt file name must not be fetched
/// from a stranger's domain. Such domains need the prefix `https://`.
const FILE_ENDINGS: [&str; 14] = [
    ".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".tar", ".tar.xz", ".txz", ".tar.bz2",
    ".tbz2", ".tar.zst", ".7z", ".rar",
];

impl Reference {
    /// Parses a reference. `here` returns the kind of a path; it is only called for references that may be paths.
    ///
    /// A reference in the form of a path (`./x`, `/x`, `~/x`, a known extension) is always a path. Any other is only
    /// a path if the path exists and the reference is not a valid name, so that a folder never hides the skill or
    /// domain of the same name. An existing `a/b` that could also be a repository is an error: only the user knows
    /// which one is meant.
    pub fn parse(
        text: &str,
        slash: SlashMeaning,
        here: impl Fn(&str) -> PathKind,
    ) -> Result<Self, ReferenceError> {
        let unknown = |name| ReferenceError::Unknown {
            text: prowess_format::text::visible(&prowess_format::text::shorten(text, 80))
                .to_string(),
            name,
        };
        if text.is_empty() {
            return Err(ReferenceError::Empty);
        }
        if looks_like_path(text) {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        if let Some(rest) = text.strip_prefix("mcp:") {
            return server(rest).ok_or_else(|| unknown(None));
        }
        if let Some(rest) = text.strip_prefix("github:") {
            return git_short(rest, unknown);
        }
        if let Some(rest) = text.strip_prefix("git+") {
            return git_url(rest);
        }
        if let Some((scheme, _)) = text.split_once("://") {
            return match scheme {
                "https" | "http" => web(text),
                "ssh" | "git" | "file" => git_url(text),
                other => Err(ReferenceError::Scheme { scheme: other.to_owned() }),
            };
        }
        // `user@host:path` is git's syntax for SSH. A double colon is its syntax for remote helpers, which are
        // programs.
        if let Some((before, after)) = text.split_once(':') {
            if after.starts_with(':') {
                return Err(ReferenceError::Scheme { scheme: before.to_owned() });
            }
            if before.contains('@') && !before.contains('/') {
                return git_url(text);
            }
        }
        let is_bare_file = !text.contains('/') && is_file_name(text);
        if is_bare_file || (text.contains('.') && here(text) == PathKind::File) {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        if let Some(domain) = domain(text) {
            return domain;
        }
        match named(text) {
            Ok(named)
                if named.namespace.is_some()
                    && named.range.is_none()
                    && !text.starts_with('@')
                    && here(text) != PathKind::Nothing =>
            {
                let other = match slash {
                    SlashMeaning::Repository => {
                        OtherMeaning::Repository(format!("{USUAL_HOST}/{text}"))
                    }
                    SlashMeaning::Registry => OtherMeaning::Registry(format!("@{text}")),
                };
                Err(ReferenceError::Ambiguous { text: text.to_owned(), other })
            }
            Ok(named)
                if named.namespace.is_some()
                    && named.range.is_none()
                    && slash == SlashMeaning::Repository =>
            {
                git_short(text, unknown)
            }
            Ok(named) => Ok(Self::Named(named)),
            Err(_) if here(text) != PathKind::Nothing => Ok(Self::Path(PathBuf::from(text))),
            // `owner/repository/folder`, and names that are only valid for repositories.
            Err(_) if text.contains('/') => git_short(text, unknown),
            Err(error) => Err(unknown(Some(error))),
        }
    }
}

impl Reference {
    /// Parses the URL of a repository, optionally with a fragment `revision:folder`.
    pub fn repository(url: String, fragment: Option<&str>) -> Result<Self, ReferenceError> {
        let (revision, folder) = of_fragment(fragment);
        git(url, revision, folder)
    }
}

impl FromStr for NamedReference {
    type Err = SkillNameError;

    fn from_str(text: &str) -> Result<Self, SkillNameError> {
        named(text)
    }
}

impl fmt::Display for NamedReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(formatter, "{namespace}/")?;
        }
        self.name.fmt(formatter)?;
        match &self.range {
            Some(range) => write!(formatter, "@{range}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(formatter),
            Self::Named(named) => named.fmt(formatter),
            Self::Git(git) => git.fmt(formatter),
            Self::Domain(domain) => match &domain.skill {
                Some(skill) => write!(formatter, "{}#{skill}", domain.base),
                None => domain.base.fmt(formatter),
            },
            Self::Address(address) => address.fmt(formatter),
            Self::Server(server) => match &server.skill {
                Some(skill) => write!(formatter, "mcp:{}/{skill}", server.server),
                None => write!(formatter, "mcp:{}", server.server),
            },
        }
    }
}

impl fmt::Display for GitReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(formatter)?;
        match (&self.revision, &self.folder) {
            (None, None) => Ok(()),
            (Some(revision), None) => write!(formatter, "#{revision}"),
            (revision, Some(folder)) => {
                write!(formatter, "#{}:{}", revision.as_deref().unwrap_or(""), folder.as_str())
            }
        }
    }
}

fn because(name: Option<&SkillNameError>) -> String {
    name.map(|error| format!(": {error}")).unwrap_or_default()
}

/// `SERVER` or `SERVER/skill`. Names of servers are keys of somebody's settings, in which slashes are rare.
fn server(text: &str) -> Option<Reference> {
    let (server, skill) = match text.rsplit_once('/') {
        Some((server, skill)) => (server, Some(skill.parse().ok()?)),
        None => (text, None),
    };
    let is_name = !server.is_empty() && !server.chars().any(char::is_control);
    is_name.then(|| Reference::Server(ServerReference { server: server.to_owned(), skill }))
}

fn looks_like_path(text: &str) -> bool {
    text.starts_with(['/', '~'])
        || text == "."
        || text == ".."
        || text.starts_with("./")
        || text.starts_with("../")
}

fn is_archive(text: &str) -> bool {
    ARCHIVE_ENDINGS.iter().any(|ending| text.ends_with(ending))
}

fn is_file_name(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ARCHIVE_ENDINGS.iter().chain(&FILE_ENDINGS).any(|ending| lower.ends_with(ending))
}

fn named(text: &str) -> Result<NamedReference, SkillNameError> {
    let (whole, range) = match text.trim_start_matches('@').split_once('@') {
        Some((whole, range)) => (whole, Some(range.trim().to_owned())),
        None => (text.trim_start_matches('@'), None),
    };
    let (namespace, name) = match whole.split_once('/') {
        Some((namespace, name)) => (Some(namespace.parse()?), name),
        None => (None, whole),
    };
    Ok(NamedReference {
        namespace,
        name: name.parse()?,
        range: range.filter(|range| !range.is_empty()),
    })
}

/// Parses a host with a dot, optionally with a port and `#skill`, or a port of localhost, the only host that is
/// contacted without encryption.
fn domain(text: &str) -> Option<Result<Reference, ReferenceError>> {
    let (host, skill) = match text.split_once('#') {
        Some((host, skill)) => (host, Some(skill)),
        None => (text, None),
    };
    let (bare, port) = host.split_once(':').map_or((host, None), |(bare, port)| (bare, Some(port)));
    if matches!(bare, "localhost" | "127.0.0.1") && port.is_some_and(|it| it.parse::<u16>().is_ok())
    {
        return Some(of_domain(format!("http://{host}"), skill));
    }
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let has_letter = bare
        .rsplit('.')
        .next()
        .is_some_and(|last| last.bytes().any(|byte| byte.is_ascii_alphabetic()));
    if !(bare.contains('.') && has_letter && bare.split('.').all(is_label)) {
        return None;
    }
    Some(of_domain(format!("https://{host}"), skill))
}

fn of_domain(base: String, skill: Option<&str>) -> Result<Reference, ReferenceError> {
    let skill = skill
        .map(|skill| {
            skill.parse().map_err(|error| ReferenceError::Unknown {
                text: skill.to_owned(),
                name: Some(error),
            })
        })
        .transpose()?;
    Ok(Reference::Domain(DomainReference { base, skill }))
}

/// Parses a web URL: an archive, a file, a repository on a known host, or a domain.
fn web(text: &str) -> Result<Reference, ReferenceError> {
    let (address, fragment) = match text.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (text, None),
    };
    let (scheme, rest) = address.split_once("://").unwrap_or(("https", address));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let plain = path.split('?').next().unwrap_or(path);
    let is_forge = ["github.com", "gitlab.com", "codeberg.org", "bitbucket.org"]
        .iter()
        .any(|forge| host.eq_ignore_ascii_case(forge));
    if plain.strip_suffix(".git").is_some() {
        return git_url(text);
    }
    if is_archive(plain) {
        return Ok(Reference::Address(address.to_owned()));
    }
    if is_forge && plain.contains('/') {
        return forge_page(scheme, host, plain, fragment);
    }
    if plain.to_ascii_lowercase().ends_with("skill.md") {
        return Ok(Reference::Address(address.to_owned()));
    }
    of_domain(address.trim_end_matches('/').to_owned(), fragment)
}

/// Parses the URL of a page on a git hosting site, as copied from a browser: `/owner/repo/tree/main/skills/x`.
fn forge_page(
    scheme: &str,
    host: &str,
    path: &str,
    fragment: Option<&str>,
) -> Result<Reference, ReferenceError> {
    let mut parts = path.trim_matches('/').split('/').filter(|part| *part != "-");
    let (owner, repository) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let url = format!("{scheme}://{host}/{owner}/{repository}");
    match parts.next() {
        Some("tree" | "blob" | "src") => {
            let revision = parts.next().map(str::to_owned);
            let mut folder: Vec<&str> = parts.collect();
            if folder.last().is_some_and(|last| last.eq_ignore_ascii_case("skill.md")) {
                folder.pop();
            }
            git(url, revision, Some(folder.join("/")).filter(|folder| !folder.is_empty()))
        }
        _ => {
            let (revision, folder) = of_fragment(fragment);
            git(url, revision, folder)
        }
    }
}

/// Parses `owner/repository[/folder][#revision]` on the default host.
fn git_short(
    text: &str,
    unknown: impl Fn(Option<SkillNameError>) -> ReferenceError,
) -> Result<Reference, ReferenceError> {
    let (place, fragment) = match text.split_once('#') {
        Some((place, fragment)) => (place, Some(fragment)),
        None => (text, None),
    };
    let mut parts = place.splitn(3, '/');
    let is_part = |part: &&str| {
        !part.is_empty()
            && !part.starts_with(['-', '.'])
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let (Some(owner), Some(repository)) =
        (parts.next().filter(is_part), parts.next().filter(is_part))
    else {
        return Err(unknown(None));
    };
    let (revision, inner) = of_fragment(fragment);
    let folder = parts.next().map(|folder| folder.trim_matches('/').to_owned()).or(inner);
    git(format!("{USUAL_HOST}/{owner}/{repository}"), revision, folder)
}

/// Parses `URL[#revision[:folder]]`.
fn git_url(text: &str) -> Result<Reference, ReferenceError> {
    let (url, fragment) = match text.split_once('#') {
        Some((url, fragment)) => (url, Some(fragment)),
        None => (text, None),
    };
    if url.starts_with('-') {
        return Err(ReferenceError::Scheme { scheme: url.to_owned() });
    }
    let (revision, folder) = of_fragment(fragment);
    git(url.to_owned(), revision, folder)
}

fn of_fragment(fragment: Option<&str>) -> (Option<String>, Option<String>) {
    let Some(fragment) = fragment else { return (None, None) };
    let (revision, folder) = match fragment.split_once(':') {
        Some((revision, folder)) => (revision, Some(folder.to_owned())),
        None => (fragment, None),
    };
    (Some(revision.to_owned()).filter(|revision| !revision.is_empty()), folder)
}

fn git(
    url: String,
    revision: Option<String>,
    folder: Option<String>,
) -> Result<Reference, ReferenceError> {
    if let Some(revision) = &revision
        && !is_revision(revision)
    {
        return Err(ReferenceError::Revision { revision: revision.clone() });
    }
    let folder = folder
        .map(|folder| folder.parse().map_err(|_| ReferenceError::Folder { folder }))
        .transpose()?;
    Ok(Reference::Git(GitReference { url, revision, folder }))
}

/// Whether git allows it as the name of a branch or tag and would not parse it as an option or an expression.
fn is_revision(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 250
        && !text.starts_with(['-', '.', '/'])
        && !text.ends_with(['/', '.'])
        && !text.contains("..")
        && !text.contains("@{")
        && text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+' | b'@')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, slash: SlashMeaning, expected: &str) {
        let parsed = Reference::parse(text, slash, |path| match path {
            "weather" | "odd_Folder" | "host.example" | "both/here" => PathKind::Folder,
            "pack.tar.gz" | "readme.example" | "skills/SKILL.md" => PathKind::File,
            _ => PathKind::Nothing,
        });
        let shown = match &parsed {
            Ok(reference) => {
                let kind = match reference {
                    Reference::Path(_) => "path",
                    Reference::Named(_) => "named",
                    Reference::Git(_) => "git",
                    Reference::Domain(_) => "domain",
                    Reference::Address(_) => "address",
                    Reference::Server(_) => "server",
                };
                format!("{kind} {reference}")
            }
            Err(error) => format!("error {error}"),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn words_mean_what_users_mean() {
        // SRT-8-2.
        use SlashMeaning::{Registry, Repository};
        check("weather", Registry, "named weather");
        check("weather@^1.2", Registry, "named weather@^1.2");
        check("weather@>=1.0.0, <2.0.0", Registry, "named weather@>=1.0.0, <2.0.0");
        check("acme/weather@1.0.0", Repository, "named acme/weather@1.0.0");
        check("@acme/weather", Registry, "named acme/weather");
        check("acme/weather", Registry, "named acme/weather");
        check("acme/weather", Repository, "git https://github.com/acme/weather");
        check("acme/weather/skills/x", Registry, "git https://github.com/acme/weather#:skills/x");
        check("Acme/My_Repo.x", Registry, "git https://github.com/Acme/My_Repo.x");
        check("github:acme/weather#v1", Registry, "git https://github.com/acme/weather#v1");
        check("./weather", Registry, "path ./weather");
        check("~/skills/x", Registry, "path ~/skills/x");
        check("odd_Folder", Registry, "path odd_Folder");
        check("pack.tar.gz", Registry, "path pack.tar.gz");
        check("git@host.example:a/b.git", Registry, "git git@host.example:a/b.git");
        check("ssh://git@host.example/a/b", Registry, "git ssh://git@host.example/a/b");
        check(
            "git+https://host.example/a#v1:skills/x",
            Registry,
            "git https://host.example/a#v1:skills/x",
        );
        check("https://host.example/a/b.git", Registry, "git https://host.example/a/b.git");
        check(
            "https://github.com/acme/weather/tree/main/skills/x",
            Registry,
            "git https://github.com/acme/weather#main:skills/x",
        );
        check(
            "https://github.com/acme/weather/blob/main/skills/x/SKILL.md",
            Registry,
            "git https://github.com/acme/weather#main:skills/x",
        );
        check("https://host.example/x.tar.gz", Registry, "address https://host.example/x.tar.gz");
        check(
            "https://host.example/x/SKILL.md",
            Registry,
            "address https://host.example/x/SKILL.md",
        );
        check("https://host.example/", Registry, "domain https://host.example");
        check("http://127.0.0.1:8080#weather", Registry, "domain http://127.0.0.1:8080#weather");
        check("host.example", Registry, "domain https://host.example");
        check("localhost:8080#weather", Registry, "domain http://localhost:8080#weather");
        check("127.0.0.1:8080", Registry, "domain http://127.0.0.1:8080");
        check("host.example:8443#weather", Registry, "domain https://host.example:8443#weather");
    }

    #[test]
    fn a_folder_that_could_be_a_repository_is_neither() {
        use SlashMeaning::{Registry, Repository};
        let start = "error `both/here` is an existing file or folder, but could also be";
        check("both/here", Repository, &format!("{start} a repository"));
        check("both/here", Registry, &format!("{start} a skill in the registry"));
        check("./both/here", Repository, "path ./both/here");
        check("@both/here", Registry, "named both/here");
        check("both/here@1", Registry, "named both/here@1");
        check("github:both/here", Registry, "git https://github.com/both/here");
    }

    #[test]
    fn what_looks_like_a_file_is_never_a_domain() {
        use SlashMeaning::Registry;
        check("readme.example", Registry, "path readme.example");
        check("skills/SKILL.md", Registry, "path skills/SKILL.md");
        check("SKILL.md", Registry, "path SKILL.md");
        check("missing.zip", Registry, "path missing.zip");
        check("Notes.MD", Registry, "path Notes.MD");
        check("g.tar.xz", Registry, "path g.tar.xz");
        check("https://notes.md", Registry, "domain https://notes.md");
        check("acme/weather/notes.md", Registry, "git https://github.com/acme/weather#:notes.md");
    }

    #[test]
    fn what_would_run_or_leave_is_refused() {
        // NEG-4: no reference reaches a shell or makes git run a program. NEG-5: names contain no separators.
        use SlashMeaning::Registry;
        let neither = "is neither an existing file or folder nor `name`, `namespace/name`, `owner/repository`, a URL or a domain";
        check("", Registry, "error the reference is empty");
        check(
            "ext::sh -c id",
            Registry,
            "error `ext:` URLs are not supported; use `https:`, `ssh:` or a path",
        );
        check(
            "ftp://host.example/x",
            Registry,
            "error `ftp:` URLs are not supported; use `https:`, `ssh:` or a path",
        );
        check(
            "git+--upload-pack=id",
            Registry,
            "error `--upload-pack=id:` URLs are not supported; use `https:`, `ssh:` or a path",
        );
        check(
            "github:a/b#--upload-pack=id",
            Registry,
            "error `--upload-pack=id` is not a valid branch, tag or commit",
        );
        check("github:a/b#v1:../../x", Registry, "error `../../x` is not a folder of a repository");
        check("a/$(id)", Registry, &format!("error `a/$(id)` {neither}"));
        check("a/..", Registry, &format!("error `a/..` {neither}"));
        check(
            "a\";id",
            Registry,
            &format!(
                "error `a\";id` {neither}: `a\";id` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `aid`?)"
            ),
        );
    }
}
