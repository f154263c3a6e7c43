//! The addresses of pages. Templates never put an address together themselves.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in a part of a path.
const PATH_PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A part of a path or a value of a query, encoded.
pub(crate) fn encode(part: &str) -> String {
    utf8_percent_encode(part, PATH_PART).to_string()
}

/// A path below a skill, encoded part by part.
pub(crate) fn encode_path(path: &str) -> String {
    path.split('/').map(encode).collect::<Vec<_>>().join("/")
}

/// The page of a publisher.
pub(crate) fn publisher(namespace: &str) -> String {
    format!("/{}", encode(namespace))
}

/// The page of a skill.
pub(crate) fn skill(namespace: &str, name: &str) -> String {
    format!("/{}/{}", encode(namespace), encode(name))
}

/// The page of one version of a skill.
pub(crate) fn version(namespace: &str, name: &str, version: &str) -> String {
    format!("{}/{}", skill(namespace, name), encode(version))
}

/// The addresses of one version of a skill. With no version they are those of the latest.
#[derive(Clone, Debug)]
pub(crate) struct SkillLinks {
    namespace: String,
    name: String,
    version: Option<String>,
}

impl SkillLinks {
    pub(crate) fn new(namespace: &str, name: &str, version: Option<&str>) -> Self {
        SkillLinks {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            version: version.map(str::to_owned),
        }
    }

    /// The page itself.
    pub(crate) fn page(&self) -> String {
        match &self.version {
            Some(chosen) => version(&self.namespace, &self.name, chosen),
            None => skill(&self.namespace, &self.name),
        }
    }

    /// The page of the latest version.
    pub(crate) fn latest(&self) -> String {
        skill(&self.namespace, &self.name)
    }

    /// A part of the page: `tools`, `files`, and so on.
    pub(crate) fn tab(&self, tab: &str) -> String {
        format!("{}/-/{}{}", skill(&self.namespace, &self.name), encode(tab), self.query())
    }

    /// A file, shown with line numbers.
    pub(crate) fn file(&self, path: &str) -> String {
        format!("{}/-/files/{}{}", self.latest(), encode_path(path), self.query())
    }

    /// A line of a file.
    pub(crate) fn line(&self, path: &str, line: usize) -> String {
        format!("{}#L{line}", self.file(path))
    }

    /// The bytes of a file, as text.
    pub(crate) fn raw(&self, version: &str, path: &str) -> String {
        format!("{}/{}/{}", self.latest(), encode(version), encode_path(path))
    }

    /// The package.
    pub(crate) fn download(&self, version: &str) -> String {
        format!(
            "/api/v1/skills/{}/{}/{}/download",
            encode(&self.namespace),
            encode(&self.name),
            encode(version)
        )
    }

    /// What changed between two versions.
    pub(crate) fn compare(&self, from: &str, to: &str) -> String {
        format!("{}/-/compare?from={}&to={}", self.latest(), encode(from), encode(to))
    }

    fn query(&self) -> String {
        self.version
            .as_deref()
            .map_or_else(String::new, |chosen| format!("?version={}", encode(chosen)))
    }
}

/// Where a link of an author leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AuthorLink {
    /// To another site.
    Elsewhere(String),
    /// To a heading of the same text.
    Heading(String),
    /// To a file of the skill.
    File(String),
    /// Nowhere: another scheme, a path of this site, or a path out of the skill.
    Nowhere,
}

/// The longest address that an author's link may have.
const MAX_LINK_BYTES: usize = 2_000;

/// What an author's link means.
pub(crate) fn author_link(destination: &str) -> AuthorLink {
    let destination = destination.trim();
    if destination.is_empty() || destination.len() > MAX_LINK_BYTES {
        return AuthorLink::Nowhere;
    }
    if let Some(heading) = destination.strip_prefix('#') {
        return AuthorLink::Heading(heading.to_owned());
    }
    if let Some(address) = web_address(destination) {
        return AuthorLink::Elsewhere(address);
    }
    let path = destination.split(['#', '?']).next().unwrap_or_default();
    if path.contains([':', '\\', '%']) || path.starts_with('/') || path.contains(char::is_control) {
        return AuthorLink::Nowhere;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return AuthorLink::Nowhere;
                }
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { AuthorLink::Nowhere } else { AuthorLink::File(parts.join("/")) }
}

/// An address on the web, or none. Anything but `https:`, `http:` and `mailto:` is none, whatever its spelling.
pub(crate) fn web_address(text: &str) -> Option<String> {
    let url = url::Url::parse(text.trim()).ok()?;
    let has_host = url.host_str().is_some_and(|host| !host.is_empty());
    match url.scheme() {
        "https" | "http" if has_host && url.username().is_empty() && url.password().is_none() => {
            Some(url.into())
        }
        "mailto" => Some(url.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
