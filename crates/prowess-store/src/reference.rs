//! How a user names what is to be installed: a path, an installed name, a name in a registry, a repository, a domain.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use prowess_package::name::{SkillName, SkillNameError};
use prowess_package::path::PackagePath;

/// What a word on the command line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A folder, a `SKILL.md`, or an archive on this machine.
    Path(PathBuf),
    /// A skill of a registry: `name`, `ns/name`, each perhaps with `@range` (SRT §8).
    Named(NamedReference),
    /// A repository.
    Git(GitReference),
    /// A domain that publishes skills below `/.well-known/` (R23), perhaps one skill of it.
    Domain(DomainReference),
    /// One archive, or one `SKILL.md`, at an address.
    Address(String),
}

/// A skill of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedReference {
    /// Who publishes it.
    pub namespace: Option<SkillName>,
    /// What it is called.
    pub name: SkillName,
    /// The range as written; `None` is any version.
    pub range: Option<String>,
}

/// A repository, or a folder of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitReference {
    /// What git is given.
    pub url: String,
    /// A branch, a tag or a commit.
    pub revision: Option<String>,
    /// The folder that holds the skill or the skills.
    pub folder: Option<PackagePath>,
}

/// A domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainReference {
    /// Scheme, host, port and perhaps a path, without a slash at the end.
    pub base: String,
    /// One skill of those it publishes.
    pub skill: Option<SkillName>,
}

/// How `a/b` is understood, which means a repository to some and a skill of a registry to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashMeaning {
    /// No registry is configured: `owner/repository` on the usual host.
    Repository,
    /// A registry is configured: `namespace/name`. Asking both would let whoever owns the other name decide (attack registry-A9).
    Registry,
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing.
    Nothing,
    /// A file.
    File,
    /// A folder, or anything else.
    Folder,
}

/// Why a word is no reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Nothing.
    #[error("an empty word names no skill")]
    Empty,
    /// Neither a path that is there nor anything else.
    #[error(
        "`{text}` is neither a folder or file here, nor `name`, `namespace/name`, `owner/repository`, a URL or a domain{}",
        because(.name.as_ref())
    )]
    Unknown {
        /// The word, made visible.
        text: String,
        /// Why it is no name.
        name: Option<SkillNameError>,
    },
    /// A path that is there, and a repository or a skill of a registry as well.
    #[error("`{text}` is a folder or file here, and could also be {}", .other.noun())]
    Ambiguous {
        /// The word.
        text: String,
        /// What else it could mean.
        other: OtherMeaning,
    },
    /// A transport that runs programs or sends in the clear.
    #[error("`{scheme}:` addresses are not used; give `https:`, `ssh:` or a path")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// A folder of a repository that leads out of it.
    #[error("`{folder}` is not a folder of a repository")]
    Folder {
        /// What was given.
        folder: String,
    },
    /// A revision that git would take for an option, or that is none.
    #[error("`{revision}` is no branch, tag or commit")]
    Revision {
        /// What was given.
        revision: String,
    },
}

/// What `a/b` could mean besides a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherMeaning {
    /// A repository with this address.
    Repository(String),
    /// A skill of a registry with this name.
    Registry(String),
}

impl OtherMeaning {
    /// A spelling that means this and nothing else.
    pub fn spelling(&self) -> &str {
        match self {
            Self::Repository(spelling) | Self::Registry(spelling) => spelling,
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Self::Repository(_) => "a repository",
            Self::Registry(_) => "a skill of the registry",
        }
    }
}

/// Where `owner/repository` lies.
const USUAL_HOST: &str = "https://github.com";

/// Endings of archives that can be unpacked.
pub const ARCHIVE_ENDINGS: [&str; 4] = [".tar.gz", ".tgz", ".zip", ".skill"];

/// Further endings of files. `.md` and `.zip` are domains of the first level too: a file that is spelt wrong must not be
/// fetched from a stranger. Whoever means such a domain writes `https://`.
const FILE_ENDINGS: [&str; 14] = [
    ".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".tar", ".tar.xz", ".txz", ".tar.bz2",
    ".tbz2", ".tar.zst", ".7z", ".rar",
];

impl Reference {
    /// Understands a word. `here` says what lies at a path; it is asked only about words that could be one.
    ///
    /// What looks like a path (`./x`, `/x`, `~/x`, a file's ending) is one. Anything else is a path only when it is there
    /// and could not be a name, so that a folder called like a skill or a domain never hides it. `a/b` that is there and
    /// could be a repository is an error: only whoever wrote it knows which one is meant.
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
        // `user@host:path` is how git spells ssh. A double colon is how it spells programs to be run.
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
            // `owner/repository/folder`, and names that only repositories have.
            Err(_) if text.contains('/') => git_short(text, unknown),
            Err(error) => Err(unknown(Some(error))),
        }
    }
}

impl Reference {
    /// A repository by its address, perhaps with `revision:folder`.
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

/// A host with a dot, perhaps a port, perhaps `#skill`; or a port of this machine, which alone is asked without
/// encryption.
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

/// An address of the web: an archive, a file, a repository on a host that is known for them, or a domain.
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

/// A page of a forge, as it is copied from a browser: `/owner/repo/tree/main/skills/x`.
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

/// `owner/repository[/folder][#revision]` on the usual host.
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

/// `URL[#revision[:folder]]`.
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

/// What git allows in the name of a branch or tag, without anything that it would take for an option or an expression.
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
        let start = "error `both/here` is a folder or file here, and could also be";
        check("both/here", Repository, &format!("{start} a repository"));
        check("both/here", Registry, &format!("{start} a skill of the registry"));
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
        // NEG-4: nothing here reaches a shell, and git is not told to run anything either. NEG-5: names hold no separators.
        use SlashMeaning::Registry;
        let neither = "is neither a folder or file here, nor `name`, `namespace/name`, `owner/repository`, a URL or a domain";
        check("", Registry, "error an empty word names no skill");
        check(
            "ext::sh -c id",
            Registry,
            "error `ext:` addresses are not used; give `https:`, `ssh:` or a path",
        );
        check(
            "ftp://host.example/x",
            Registry,
            "error `ftp:` addresses are not used; give `https:`, `ssh:` or a path",
        );
        check(
            "git+--upload-pack=id",
            Registry,
            "error `--upload-pack=id:` addresses are not used; give `https:`, `ssh:` or a path",
        );
        check(
            "github:a/b#--upload-pack=id",
            Registry,
            "error `--upload-pack=id` is no branch, tag or commit",
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
