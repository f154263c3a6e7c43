//! A registry over real HTTP.

use std::path::Path;
use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::path::PackagePath;
use prowess_package::tree::{Tree, TreeFile};
use prowess_resolve::{
    MemoryIndex, Package, Range, ResolveLimits, ResolveOptions, ResolveRequest, resolve,
};
use prowess_sources::{Registries, SourceOptions, Sources};
use prowess_store::source::{Catalogue as _, Pinned, Source as _, SourceErrorKind};
use prowess_testkit::{Published, Reply, Script, ScriptedProvider, TestRegistry};
use serde_json::json;
use tempfile::TempDir;

use super::{options, reference, shown, told};

fn archive(name: &str, version: &str) -> Vec<u8> {
    let path: PackagePath = "SKILL.md".parse().expect("a path");
    let bytes =
        format!("---\nname: {name}\nversion: {version}\ndescription: A test.\n---\n\nBody.\n");
    let file = TreeFile { bytes: bytes.into_bytes(), executable: false };
    pack(&Tree::from_files([(path, file)], &PackageLimits::PACKAGE).expect("a skill"))
}

pub(super) fn published(namespace: &str, name: &str, version: &str) -> Published {
    Published::new(namespace, name, version, archive(name, version))
}

fn sources_with(
    home: &Path,
    variables: &[(&str, &str)],
    config: &str,
    change: impl FnOnce(&mut SourceOptions),
) -> Sources {
    let mut options = options(home, &Arc::default());
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    options.variables.extend(variables);
    options.registries = Registries::of(&options.variables, Some(config), home).expect("settings");
    options.cache_folder = Some(home.join("cache"));
    change(&mut options);
    Sources::new(options)
}

fn asking(home: &Path, registry: &TestRegistry) -> Sources {
    sources_with(home, &[("PROWESS_REGISTRY", registry.url())], "", |_| ())
}

#[test]
fn names_and_ranges_are_found_in_a_registry() {
    // SRT-8-2: `namespace/name@version`.
    let registry = TestRegistry::start();
    for version in ["1.0.0", "1.2.0", "2.0.0", "3.0.0-beta.1"] {
        registry.publish(published("acme", "weather", version));
    }
    registry.publish(Published { yanked: true, ..published("acme", "weather", "2.1.0") });
    let home = TempDir::new().expect("a folder");
    let sources = asking(home.path(), &registry);
    let show = |text: &str| {
        let reference = reference(text);
        let offers = sources.offers(&reference);
        let version = offers.ok().and_then(|offers| match &offers.skills[0].pinned {
            Pinned::Registry { version, .. } => Some(version.to_string()),
            _ => None,
        });
        let text = shown(&sources, &reference, &[(registry.url(), "URL")]);
        format!("{} {text}", version.unwrap_or_default())
    };
    assert_snapshot!(show("acme/weather"), @"
    2.0.0 weather from URL (acme)
      SKILL.md
    ");
    assert_snapshot!(show("acme/weather@1.0.0"), @"
    1.0.0 weather from URL (acme)
      SKILL.md
    ");
    assert_snapshot!(show("weather@^1"), @"
    1.2.0 weather from URL (acme)
      SKILL.md
    ");
    assert_snapshot!(show("acme/weather@>=9.0.0"), @"
    NotFound: no version of `acme/weather` matches `>=9.0.0`
     hint: the highest are 3.0.0-beta.1, 2.0.0, 1.2.0, 1.0.0
    ");
    assert_snapshot!(show("acme/nothing"), @"
    NotFound: URL has no skill `acme/nothing`
     hint: check the spelling; a private skill needs a token
    ");
    assert_snapshot!(show("nothing"), @"
    NotFound: URL has no skill `nothing`
     hint: check the spelling; a private skill needs a token
    ");
}

#[test]
fn a_bare_name_of_several_publishers_is_nobodys() {
    // Attack registry-A7.
    let registry = TestRegistry::start();
    registry.publish(published("acme", "weather", "1.0.0"));
    registry.publish(published("evil", "weather", "9.0.0"));
    let home = TempDir::new().expect("a folder");
    let sources = asking(home.path(), &registry);
    let text = shown(&sources, &reference("weather"), &[(registry.url(), "URL")]);
    assert_snapshot!(text, @"
    Ambiguous: several namespaces have a skill `weather`: `acme/weather`, `evil/weather`
      hint: add the namespace of the one you mean
    ");
}

#[test]
fn a_private_namespace_is_never_asked_for_in_public() {
    // Attack registry-A9.
    let (private, public) = (TestRegistry::start(), TestRegistry::start());
    private.publish(published("acme", "auth", "1.0.0"));
    public.publish(published("acme", "auth", "9.9.0"));
    let needs = vec![("acme/auth".to_owned(), ">=1.0.0".to_owned())];
    public.publish(Published { dependencies: needs, ..published("open", "mail", "1.0.0") });
    let config = format!(
        "[registries.public]\nurl = \"{}\"\n[registries.work]\nurl = \"{}\"\nnamespaces = [\"acme\"]\n",
        public.url(),
        private.url()
    );
    let home = TempDir::new().expect("a folder");
    let sources = sources_with(home.path(), &[], &config, |_| ());
    let of = |text: &str| {
        let prowess_store::reference::Reference::Named(named) = reference(text) else { panic!() };
        sources.package(&named).expect("a package")
    };
    let (mail, auth) = (of("open/mail"), of("acme/auth"));
    assert_eq!((auth.source(), mail.source()), (private.url(), public.url()));
    let mut index = MemoryIndex::default();
    let releases = sources.releases(&mail).expect("releases");
    // The dependency is the private one, although a public one has a higher version.
    assert_eq!(releases[0].dependencies[0].package, auth);
    for package in [&mail, &auth] {
        for release in sources.releases(package).expect("releases") {
            index.add(package.clone(), release);
        }
    }
    let request = ResolveRequest {
        package: mail.clone(),
        range: Range::any(),
        origin: "the test".to_owned(),
        allow_experimental: false,
    };
    let options =
        ResolveOptions { locked: &[], published_until: None, limits: ResolveLimits::USUAL };
    let resolution = resolve(&index, &[request], &options).expect("a resolution");
    let chosen: Vec<String> = resolution
        .skills
        .iter()
        .map(|skill| format!("{} {}", skill.package, skill.version))
        .collect();
    assert_eq!(chosen, ["acme/auth 1.0.0", "open/mail 1.0.0"]);
    assert_eq!(public.paths(), ["/api/v1/index/open/mail"]);
    // A lock that names the public one is not followed.
    let poisoned = Package::new(public.url(), "acme/auth");
    let error = sources.releases(&poisoned).expect_err("the namespace is private");
    assert_eq!(error.kind, SourceErrorKind::Unusable, "{}", told(&error));
    assert_eq!(public.paths().len(), 1);
}

#[test]
fn other_bytes_than_promised_are_refused() {
    let home = TempDir::new().expect("a folder");
    let registry = TestRegistry::start();
    registry.publish(published("acme", "weather", "1.0.0"));
    // Without a cache: what was fetched before would be taken from there, and what was said before be remembered.
    let asking = |home: &Path, registry: &TestRegistry| {
        let variables = [("PROWESS_REGISTRY", registry.url())];
        sources_with(home, &variables, "", |options| options.cache_folder = None)
    };
    let pinned = {
        let sources = asking(home.path(), &registry);
        sources.offers(&reference("acme/weather")).expect("an offer").skills.remove(0).pinned
    };
    let fetch = || match asking(home.path(), &registry).fetch("weather", &pinned) {
        Ok(_) => "fetched".to_owned(),
        Err(error) => told(&error).replace(registry.url(), "URL"),
    };
    assert_eq!(fetch(), "fetched");
    // Attack registry-C1: the bytes are swapped, and the index is not.
    let right = published("acme", "weather", "1.0.0");
    let other = archive("weather", "1.0.0-other");
    registry.publish(Published { archive: other.clone(), ..right.clone() });
    assert!(
        fetch().starts_with("Mismatch: `URL (acme/weather 1.0.0)` does not match its digest"),
        "{}",
        fetch()
    );
    // Attack registry-C21: both are swapped.
    registry.publish(Published::new("acme", "weather", "1.0.0", other));
    assert!(
        fetch()
            .starts_with("Mismatch: URL has different files for `acme/weather` 1.0.0 than before"),
        "{}",
        fetch()
    );
    // Attack registry-C22: revoked after it was locked.
    registry.publish(Published { revoked: Some("it steals keys".to_owned()), ..right });
    assert_snapshot!(fetch(), @"
    Revoked: `acme/weather` 1.0.0 was revoked by URL: it steals keys
      hint: choose another version, and remove this one where it is installed
    ");
    let releases =
        asking(home.path(), &registry).releases(&Package::new(registry.url(), "acme/weather"));
    assert_eq!(releases.expect("an index").len(), 0);
    // Another skill in the archive, with the right hash.
    registry.publish(Published::new("acme", "weather", "2.0.0", archive("other", "2.0.0")));
    let sources = asking(home.path(), &registry);
    let text = shown(&sources, &reference("acme/weather"), &[(registry.url(), "URL")]);
    assert_snapshot!(text, @"
    weather from URL (acme)
      Unusable: `URL (acme/weather 2.0.0)`: the archive contains the skill `other`, expected `weather`
    ");
}

#[test]
fn an_index_that_has_not_changed_is_not_sent_again() {
    let home = TempDir::new().expect("a folder");
    let registry = TestRegistry::start();
    registry.publish(published("acme", "weather", "1.0.0"));
    let package = Package::new(registry.url(), "acme/weather");
    let count = |sources: &Sources| sources.releases(&package).map(|all| all.len());
    let first = asking(home.path(), &registry);
    assert_eq!(count(&first).expect("an index"), 1);
    assert_eq!(count(&first).expect("an index"), 1);
    assert_eq!(registry.requests().len(), 1, "within one run it does not change");
    assert_eq!(count(&asking(home.path(), &registry)).expect("an index"), 1);
    assert!(registry.requests()[1].header("if-none-match").is_some());
    registry.publish(published("acme", "weather", "1.1.0"));
    assert_eq!(count(&asking(home.path(), &registry)).expect("an index"), 2);
    // Offline the last one counts, and nobody is asked.
    let variables = [("PROWESS_REGISTRY", registry.url())];
    let alone = sources_with(home.path(), &variables, "", |options| options.offline = true);
    assert_eq!(count(&alone).expect("an index"), 2);
    assert_eq!(registry.requests().len(), 3);
    let unknown = Package::new(registry.url(), "acme/other");
    let error = alone.releases(&unknown).expect_err("nothing is known");
    assert_snapshot!(told(&error).replace(registry.url(), "URL"), @"
    Unreachable: can't fetch `URL` while offline, and `acme/other` is not cached
      hint: allow network access
    ");
}

#[test]
fn an_index_of_yesterday_is_refused() {
    // Attack registry-C17.
    let home = TempDir::new().expect("a folder");
    let registry = TestRegistry::start();
    let package = Package::new(registry.url(), "acme/weather");
    let now = std::time::UNIX_EPOCH + std::time::Duration::from_hours(500_000);
    let look = |offline: bool| {
        let variables = [("PROWESS_REGISTRY", registry.url())];
        let sources = sources_with(home.path(), &variables, "", |options| {
            (options.offline, options.now) = (offline, now);
        });
        match sources.releases(&package) {
            Ok(releases) => format!("{} versions", releases.len()),
            Err(error) => told(&error).replace(registry.url(), "URL"),
        }
    };
    registry.publish(published("acme", "weather", "1.0.0"));
    registry.publish(Published { yanked: true, ..published("acme", "weather", "1.1.0") });
    registry.number(7, Some(1_800_000_060));
    assert_eq!(look(false), "2 versions");
    // A mirror that hides that a version was taken back.
    registry.publish(published("acme", "weather", "1.1.0"));
    registry.number(6, Some(1_800_000_060));
    assert_snapshot!(look(false), @"
    Mismatch: URL answers with an older index of `acme/weather` than before: the index went backwards (6, last seen 7)
      hint: somebody may be hiding newer versions, or that one was taken back; ask whoever runs the registry. If it was set back on purpose, delete `registry-index` in the cache folder
    ");
    registry.number(7, Some(1_800_000_060));
    assert_snapshot!(look(false), @"
    Mismatch: URL answers with an older index of `acme/weather` than before: its content changed, but its sequence number 7 did not
      hint: somebody may be hiding newer versions, or that one was taken back; ask whoever runs the registry. If it was set back on purpose, delete `registry-index` in the cache folder
    ");
    // One that hides a version.
    registry.forget("acme", "weather", "1.1.0");
    registry.number(8, Some(1_800_000_060));
    assert_snapshot!(look(false), @"
    Mismatch: URL answers with an older index of `acme/weather` than before: version 1.1.0 is gone
      hint: somebody may be hiding newer versions, or that one was taken back; ask whoever runs the registry. If it was set back on purpose, delete `registry-index` in the cache folder
    ");
    // What was refused is not remembered: offline the last one counts that was believed, also when its time is over.
    assert_eq!(look(true), "2 versions");
    registry.publish(published("acme", "weather", "1.1.0"));
    registry.number(8, Some(1_799_990_000));
    assert_snapshot!(look(false), @"
    Mismatch: URL answers with an outdated index of `acme/weather`: it expired 2 hours ago
      hint: somebody may be hiding newer versions; check the clock of this machine, try again later, or use what is known without a network
    ");
    registry.number(8, Some(1_800_000_060));
    assert_eq!(look(false), "2 versions");
    // The list of another skill, whatever its number.
    let other = published("acme", "other", "1.0.0");
    registry.publish(Published { name: "weather".to_owned(), ..other });
    registry.number(9, None);
    assert!(look(false).contains("has different files for `acme/weather` 1.0.0 than before"));
}

#[test]
fn what_was_fetched_before_is_there_without_a_network() {
    let home = TempDir::new().expect("a folder");
    let registry = TestRegistry::start();
    registry.publish(published("acme", "weather", "1.0.0"));
    let pinned = {
        let sources = asking(home.path(), &registry);
        let pinned =
            sources.offers(&reference("acme/weather")).expect("an offer").skills.remove(0).pinned;
        sources.fetch("weather", &pinned).expect("files");
        pinned
    };
    let asked = registry.requests().len();
    let variables = [("PROWESS_REGISTRY", registry.url())];
    let alone = || sources_with(home.path(), &variables, "", |options| options.offline = true);
    let fetch = |sources: Sources| match sources.fetch("weather", &pinned) {
        Ok(fetched) => format!("{} files", fetched.tree.files().count()),
        Err(error) => told(&error).replace(registry.url(), "URL"),
    };
    assert_eq!(fetch(alone()), "1 files");
    // With a network the index is asked for, and the archive is not sent again.
    assert_eq!(fetch(asking(home.path(), &registry)), "1 files");
    assert_eq!(registry.paths()[asked..], ["/api/v1/index/acme/weather"]);
    // Bytes that somebody has changed there are not used, and the folder can be deleted.
    let folder = home.path().join("cache/archives");
    for entry in std::fs::read_dir(&folder).expect("a folder") {
        std::fs::write(entry.expect("an entry").path(), "evil").expect("written");
    }
    assert_eq!(fetch(asking(home.path(), &registry)), "1 files");
    std::fs::remove_dir_all(&folder).expect("it is there");
    assert_snapshot!(fetch(alone()), @"
    Unreachable: can't fetch `URL/api/v1/skills/acme/weather/1.0.0/download` while offline
      hint: allow network access
    ");
    assert_eq!(fetch(asking(home.path(), &registry)), "1 files");
}

#[test]
fn a_token_goes_to_its_own_registry_only() {
    const TOKEN: &str = "prw_5d41402abc4b2a76b9719d91";
    let home = TempDir::new().expect("a folder");
    let (work, public) = (TestRegistry::start(), TestRegistry::start());
    work.publish(published("acme", "auth", "1.0.0"));
    public.publish(published("open", "mail", "1.0.0"));
    work.require_token(TOKEN);
    let config = format!(
        "registry = \"public\"\n[registries.public]\nurl = \"{}\"\n[registries.work]\nurl = \"{}\"\nnamespaces = [\"acme\"]\ntoken_env = \"WORK_TOKEN\"\n",
        public.url(),
        work.url()
    );
    let show = |variables: &[(&str, &str)], text: &str| {
        let sources = sources_with(home.path(), variables, &config, |_| ());
        let text =
            shown(&sources, &reference(text), &[(work.url(), "WORK"), (public.url(), "PUBLIC")]);
        assert!(!text.contains(TOKEN), "{text}");
        text
    };
    assert_snapshot!(show(&[], "acme/auth"), @"
    Denied: the registry `work` needs a token, but `WORK_TOKEN` is not set
      hint: set `WORK_TOKEN`
    ");
    assert_snapshot!(show(&[("WORK_TOKEN", "wrong")], "acme/auth"), @"
    Denied: WORK answered with status 401: this registry wants a token
      hint: check the token in `WORK_TOKEN`
    ");
    assert_snapshot!(show(&[("WORK_TOKEN", TOKEN)], "acme/auth"), @"
    auth from WORK (acme)
      SKILL.md
    ");
    assert_snapshot!(show(&[("WORK_TOKEN", TOKEN)], "open/mail"), @"
    mail from PUBLIC (open)
      SKILL.md
    ");
    assert!(public.requests().iter().all(|request| request.header("authorization").is_none()));

    // A redirect takes nothing along.
    let elsewhere = ScriptedProvider::start(Script::by(|_| Reply::bytes(404, "text/plain", "")));
    let target = format!("{}/x", elsewhere.url());
    let bait = ScriptedProvider::start(Script::by(move |_| {
        Reply::bytes(302, "text/plain", "").header("location", &target)
    }));
    let variables = [("PROWESS_REGISTRY", bait.url()), ("PROWESS_TOKEN", TOKEN)];
    let sources = sources_with(home.path(), &variables, "", |_| ());
    sources.offers(&reference("acme/auth")).expect_err("nothing there");
    assert_eq!(bait.request(0).header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert_eq!(elsewhere.request(0).header("authorization"), None);
}

#[test]
fn searches_find_names_that_can_be_installed() {
    let home = TempDir::new().expect("a folder");
    let registry = TestRegistry::start();
    registry.publish(published("acme", "weather", "1.0.0"));
    registry.publish(published("acme", "weather-alerts", "0.1.0"));
    registry.publish(published("acme", "mail", "0.1.0"));
    // NEG-5.
    registry.publish(published("acme", "../weather", "0.1.0"));
    let hits = asking(home.path(), &registry).search("weather", &[], 10).expect("hits");
    let names: Vec<&str> = hits.iter().map(|hit| hit.name.as_str()).collect();
    assert_eq!(names, ["weather", "weather-alerts"]);
    assert_eq!(asking(home.path(), &registry).search("weather", &[], 1).expect("hits").len(), 1);
}

#[test]
fn clawhub_is_understood() {
    let zip = {
        // One stored file, written by hand: a local header, a central one, an end.
        let (name, content) = (b"SKILL.md", archive_text());
        let crc = crc32(&content);
        let size = u32::try_from(content.len()).expect("small").to_le_bytes();
        let shared = [
            &[20, 0, 0, 0, 0, 0, 0, 0, 33, 0][..],
            &crc.to_le_bytes(),
            &size,
            &size,
            &8_u16.to_le_bytes(),
            &[0, 0],
        ]
        .concat();
        let local = [b"PK\x03\x04".as_slice(), &shared, name, &content].concat();
        let central = [b"PK\x01\x02".as_slice(), &[20, 0], &shared, &[0; 14], name].concat();
        let length = u32::try_from(central.len()).expect("small").to_le_bytes();
        let offset = u32::try_from(local.len()).expect("small").to_le_bytes();
        let end = [b"PK\x05\x06".as_slice(), &[0, 0, 0, 0, 1, 0, 1, 0], &length, &offset, &[0, 0]]
            .concat();
        [local, central, end].concat()
    };
    let server = ScriptedProvider::start(
        Script::new([])
            .page(
                "/api/v1/skills/weather",
                Reply::json(200, &json!({
                    "skill": { "slug": "weather" },
                    "latestVersion": { "version": "1.4.0", "createdAt": 1_700_000_000_000_u64 },
                    "owner": { "handle": "Ada" },
                })),
            )
            .page("/api/v1/download", Reply::bytes(200, "application/zip", zip))
            .page("/api/v1/search", Reply::json(200, &json!({ "results": [
                { "slug": "weather", "ownerHandle": "ada", "version": "1.4.0", "summary": "Tells it." },
                { "slug": "../x", "ownerHandle": "ada" },
            ] }))),
    );
    let home = TempDir::new().expect("a folder");
    let config = format!("[registries.claw]\nurl = \"{}\"\nkind = \"clawhub\"\n", server.url());
    let sources = sources_with(home.path(), &[], &config, |_| ());
    let show = |text: &str| shown(&sources, &reference(text), &[(server.url(), "URL")]);
    assert_snapshot!(show("weather"), @"
    weather from URL (ada)
      SKILL.md
    ");
    assert_snapshot!(show("ada/weather@^1"), @"
    weather from URL (ada)
      SKILL.md
    ");
    let hits = sources.search("weather", &[], 10).expect("hits");
    assert_eq!(hits.len(), 1);
    let asked: Mutex<Vec<String>> = Mutex::default();
    for request in server.requests() {
        asked.lock().expect("a list").push(request.target);
    }
    let asked = asked.into_inner().expect("a list");
    assert!(
        asked.contains(&"/api/v1/download?slug=weather&ownerHandle=ada&version=1.4.0".to_owned()),
        "{asked:?}"
    );
}

fn archive_text() -> Vec<u8> {
    super::manifest("weather").into_bytes()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    })
}
