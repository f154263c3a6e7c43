//! From a word on the command line to files in a store, and back from the lock file alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_sources::{Registries, Sources};
use prowess_store::install::{InstallError, Installer, SkillRequirement};
use prowess_store::review::InstallPermissions;
use prowess_store::store::Store;
use prowess_testkit::{Published, TestRegistry};
use prowess_trust::{Timestamp, TrustStore};
use tempfile::TempDir;

use super::git::Repository;
use super::registries::published;
use super::{manifest, options, reference};

/// A home with a store, and a registry to ask.
struct Machine {
    home: TempDir,
    registry: TestRegistry,
}

impl Machine {
    fn new() -> Self {
        Self { home: TempDir::new().expect("a folder"), registry: TestRegistry::start() }
    }

    fn skills(&self) -> PathBuf {
        self.home.path().join("store/skills")
    }

    fn with<T>(&self, work: impl FnOnce(&Installer<'_>) -> T) -> T {
        let mut options = options(self.home.path(), &Arc::default());
        options.variables.push(("PROWESS_REGISTRY".to_owned(), self.registry.url().to_owned()));
        options.registries =
            Registries::of(&options.variables, None, Path::new("/nowhere")).expect("settings");
        let sources = Sources::new(options);
        let store = Store::open(&self.home.path().join("store")).expect("a store");
        work(&Installer {
            store: &store,
            source: &sources,
            catalogue: Some(&sources),
            trust: &TrustStore::empty(),
            now: Timestamp::from_unix(1_790_000_000),
            permissions: InstallPermissions { experimental: true, ..InstallPermissions::default() },
            min_age: None,
            known_bad: &prowess_scan::KnownBad::default(),
        })
    }

    fn install(&self, text: &str) -> Result<Vec<String>, InstallError> {
        let requirement = SkillRequirement {
            reference: reference(text),
            only: BTreeSet::new(),
            chosen: None,
            origin: "the command line".to_owned(),
        };
        self.with(|installer| {
            let applied = installer.store.apply(&installer.plan(&[requirement])?)?;
            let lines = applied.installed.iter();
            Ok(lines.map(|(name, version, _)| format!("{name} {version}")).collect())
        })
    }

    fn restore(&self) -> Result<usize, InstallError> {
        self.with(|installer| installer.restore().map(|restored| restored.installed.len()))
    }
}

#[test]
fn a_skill_of_a_registry_is_installed_and_stays_at_its_version() {
    let machine = Machine::new();
    machine.registry.publish(published("acme", "auth", "1.4.0"));
    machine.registry.publish(published("acme", "auth", "2.0.0"));
    let needs = vec![("auth".to_owned(), "^1.0.0".to_owned())];
    let mail = Published { dependencies: needs, ..published("acme", "mail", "1.0.0") };
    machine.registry.publish(mail);
    // GAIA §4.3: nobody has signed it, so it does not come along by itself, whatever the registry attests.
    let error = machine.install("mail").expect_err("not by itself").to_string();
    assert!(
        error.contains("experimental skills are only installed when requested by name"),
        "{error}"
    );
    assert_eq!(machine.install("acme/auth@^1.0.0").expect("installed"), ["auth 1.4.0"]);
    assert_eq!(machine.install("mail").expect("installed"), ["mail 1.0.0"]);

    // A newer version does not matter to the lock, and a revoked one is not installed again (attack registry-C22).
    std::fs::remove_dir_all(machine.skills().join("auth")).expect("it is there");
    machine.registry.publish(published("acme", "auth", "1.5.0"));
    assert_eq!(machine.restore().expect("restored"), 1);
    std::fs::remove_dir_all(machine.skills().join("auth")).expect("it is there");
    let revoked = Some("it steals keys".to_owned());
    machine.registry.publish(Published { revoked, ..published("acme", "auth", "1.4.0") });
    let error = machine.restore().expect_err("revoked").to_string();
    assert!(error.contains("was revoked by"), "{error}");
    assert!(!machine.skills().join("auth").exists());
}

#[test]
fn a_skill_of_a_repository_stays_at_its_commit() {
    let machine = Machine::new();
    let repository = Repository::new();
    repository.write("skills/one/SKILL.md", manifest("one"));
    repository.commit();
    let word = format!("git+{}#main:skills/one", repository.url());
    assert_eq!(machine.install(&word).expect("installed"), ["one 0.0.0"]);
    let path = machine.skills().join("one/SKILL.md");
    let before = std::fs::read(&path).expect("it is there");
    repository.write("skills/one/SKILL.md", manifest("one") + "\nMore.\n");
    repository.commit();
    std::fs::remove_dir_all(machine.skills().join("one")).expect("it is there");
    assert_eq!(machine.restore().expect("restored"), 1);
    assert_eq!(std::fs::read(&path).expect("it is there"), before);
}
