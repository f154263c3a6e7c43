//! A world of skills as a text, and the one place that calls the resolver.

use prowess_resolve::{
    Dependency, MemoryIndex, Package, Range, Release, ResolveLimits, ResolveOptions,
    ResolveRequest, resolve,
};
use semver::Version;

/// What is asked, one thing per line:
///
/// ```text
/// mail 1.0.0 [yanked] [experimental] [at 100]: http ^1.0.0; auth
/// ask mail ^1.0.0
/// ask experimental mail
/// locked http 1.0.0
/// until 500
/// ```
///
/// A name such as `auth@other` is from another registry.
pub(crate) fn check(world: &str) -> String {
    let world = World::read(world);
    match world.resolve(ResolveLimits::USUAL) {
        Ok(resolution) => {
            let shown = resolution.skills.iter().map(|skill| {
                format!("{} {}", skill.package, skill.version)
                    + if skill.requested { "" } else { " (needed)" }
            });
            shown.collect::<Vec<_>>().join("\n")
        }
        Err(error) => format!("error: {error}\nhint: {}", error.hint()),
    }
}

pub(crate) struct World {
    pub(crate) index: MemoryIndex,
    pub(crate) requests: Vec<ResolveRequest>,
    locked: Vec<(Package, Version)>,
    until: Option<u64>,
}

impl World {
    pub(crate) fn read(text: &str) -> Self {
        let mut world = Self {
            index: MemoryIndex::default(),
            requests: Vec::new(),
            locked: Vec::new(),
            until: None,
        };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (head, needs) = line.split_once(':').unwrap_or((line, ""));
            match head.split_once(' ').expect("a line has several words") {
                ("ask", rest) => {
                    let (rest, origin) =
                        rest.split_once(" by ").unwrap_or((rest, "the command line"));
                    let named = rest.strip_prefix("experimental ");
                    let wanted = dependency(named.unwrap_or(rest));
                    world.requests.push(ResolveRequest {
                        package: wanted.package,
                        range: wanted.range,
                        origin: origin.to_owned(),
                        allow_experimental: named.is_some(),
                    });
                }
                ("locked", rest) => {
                    let (name, version) = rest.split_once(' ').expect("a version is locked");
                    world.locked.push((package(name), version.parse().expect("a version")));
                }
                ("until", rest) => world.until = Some(rest.parse().expect("a time")),
                (name, rest) => {
                    let mut words = rest.split_whitespace();
                    let version = words.next().expect("a release has a version");
                    let mut release = Release::new(version.parse().expect("a version"));
                    release.yanked = rest.contains("[yanked]");
                    release.experimental = rest.contains("[experimental]");
                    release.published = rest.split_once("[at ").map(|(_, time)| {
                        time.split_once(']').expect("a bracket").0.parse().expect("a time")
                    });
                    release.dependencies = needs
                        .split(';')
                        .map(str::trim)
                        .filter(|need| !need.is_empty())
                        .map(dependency)
                        .collect();
                    world.index.add(package(name), release);
                }
            }
        }
        world
    }

    pub(crate) fn resolve(
        &self,
        limits: ResolveLimits,
    ) -> Result<prowess_resolve::Resolution, prowess_resolve::ResolveError<std::convert::Infallible>>
    {
        let options = ResolveOptions { locked: &self.locked, published_until: self.until, limits };
        resolve(&self.index, &self.requests, &options)
    }
}

fn package(name: &str) -> Package {
    let (name, source) = name.split_once('@').unwrap_or((name, "registry.example"));
    Package::new(source, name)
}

fn dependency(text: &str) -> Dependency {
    let (name, range) = text.split_once(' ').unwrap_or((text, ""));
    let range = if range.is_empty() { Range::any() } else { range.parse().expect("a range") };
    Dependency { package: package(name), range }
}
