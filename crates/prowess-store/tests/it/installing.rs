//! Installs skills from folders and from a catalogue in memory into a store on disk.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods are about one lifetime, the closures about all"
)]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::tree::Tree;
use prowess_policy::Tier;
use prowess_resolve::{Dependency, Package, Range, Release};
use prowess_store::drift::{self, Drift};
use prowess_store::install::{
    AppliedChanges, InstallError, InstallPlan, Installer, SkillRequirement,
};
use prowess_store::lock::LockFile;
use prowess_store::reference::{NamedReference, PathKind, Reference, SlashMeaning};
use prowess_store::review::InstallPermissions;
use prowess_store::source::Local;
use prowess_store::source::{
    Catalogue, FetchedFiles, Offer, Offers, Pinned, Source, SourceError, SourceErrorKind,
};
use prowess_store::store::{LOCK_FILE, Store};
use prowess_store::suspicion::AllowedRules;
use prowess_trust::{
    Contents, Material, Purpose, Role, SecretKey, Timestamp, TrustStore, TrustedKey, sign,
};
use tempfile::TempDir;

const EXPERIMENTAL: InstallPermissions = InstallPermissions {
    experimental: true,
    unsigned: false,
    replace_owner: false,
    blocked: AllowedRules::NONE,
};
const NOTHING: InstallPermissions = InstallPermissions {
    experimental: false,
    unsigned: false,
    replace_owner: false,
    blocked: AllowedRules::NONE,
};

/// A machine: folders with skills, a registry, a store.
struct Machine {
    home: TempDir,
    trust: TrustStore,
    /// Folders of releases, by registry, name and version.
    releases: RefCell<BTreeMap<(String, String, String), PathBuf>>,
    permissions: InstallPermissions,
}

impl Machine {
    fn new() -> Self {
        Self {
            home: TempDir::new().expect("a folder"),
            trust: TrustStore::empty(),
            releases: RefCell::new(BTreeMap::new()),
            permissions: EXPERIMENTAL,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    fn store(&self) -> Store {
        Store::open(&self.path("store")).expect("a store")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    /// Writes a skill. `more` are lines of its front matter.
    fn skill(&self, folder: &str, name: &str, version: &str, more: &str) {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name}.\nversion: {version}\n{more}---\n\n# {name}\n"
        );
        self.write(&format!("{folder}/SKILL.md"), &text);
    }

    /// Publishes a version of a skill that needs others.
    fn publish(&self, registry: &str, full: &str, version: &str, needs: &[(&str, &str)]) {
        let name = full.rsplit('/').next().expect("a name");
        let mut more = String::new();
        if !needs.is_empty() {
            more.push_str("permissions: []\nrequirements:\n  skills:\n");
            for (name, range) in needs {
                let _ = write!(more, "    - name: {name}\n      version: \"{range}\"\n");
            }
        }
        let folder = format!("registry/{}/{full}/{version}", registry.len());
        self.skill(&folder, name, version, &more);
        self.releases
            .borrow_mut()
            .insert((registry.to_owned(), full.to_owned(), version.to_owned()), self.path(&folder));
    }

    fn sign(&self, folder: &str, key: &SecretKey) {
        let folder = self.path(folder);
        let tree = Tree::read(&folder, &PackageLimits::PACKAGE).expect("a tree").tree;
        let metadata = prowess_store::metadata::read_metadata(&tree, "x", None).expect("a skill");
        let hashes = tree.hashes();
        let contents: Contents = prowess_store::install::contents_of(&metadata, &hashes, None);
        let record = sign(&contents, key, "acme", Purpose::Release).expect("a signature");
        fs::write(folder.join("SIGNATURE.json"), record).expect("it can be written");
    }

    fn trust(&mut self, key: &SecretKey, role: Role) {
        self.trust.add(TrustedKey::new(Material::Key(key.public()), role));
    }

    fn with<T>(&self, work: impl FnOnce(&Installer<'_>) -> T) -> T {
        let store = self.store();
        let installer = Installer {
            store: &store,
            source: self,
            catalogue: Some(self),
            trust: &self.trust,
            now: Timestamp::from_unix(1_790_000_000),
            permissions: self.permissions,
            min_age: None,
            known_bad: &prowess_scan::KnownBad::default(),
        };
        work(&installer)
    }

    fn requirement(text: &str) -> SkillRequirement {
        let reference = Reference::parse(text, SlashMeaning::Registry, |_| PathKind::Nothing)
            .expect("a reference");
        SkillRequirement {
            reference,
            only: BTreeSet::new(),
            chosen: None,
            origin: "the command line".to_owned(),
        }
    }

    fn plan(&self, requirements: &[&str]) -> Result<InstallPlan, InstallError> {
        let requirements: Vec<SkillRequirement> =
            requirements.iter().map(|text| Self::requirement(text)).collect();
        self.with(|installer| installer.plan(&requirements))
    }

    fn install(&self, requirements: &[&str]) -> Result<AppliedChanges, InstallError> {
        let plan = self.plan(requirements)?;
        self.with(|installer| installer.store.apply(&plan))
    }

    fn lock(&self) -> LockFile {
        let text = fs::read_to_string(self.path("store").join(LOCK_FILE)).expect("a lock file");
        LockFile::parse(&text).expect("a lock")
    }

    /// All files of the store but the empty ones that only lock it.
    fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.path("store"), &mut files);
        files
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if !path.ends_with("store.lock") {
            files.insert(path.clone(), fs::read(&path).expect("it can be read"));
        }
    }
}

impl Source for Machine {
    fn offers(&self, reference: &Reference) -> Result<Offers, SourceError> {
        let local = Local {
            current_folder: self.home.path().to_owned(),
            home: None,
            limits: PackageLimits::PACKAGE,
        };
        local.offers(reference)
    }

    fn fetch(&self, name: &str, pinned: &Pinned) -> Result<FetchedFiles, SourceError> {
        match pinned {
            Pinned::Registry { registry, namespace, version, .. } => {
                let full = match namespace {
                    Some(namespace) => format!("{namespace}/{name}"),
                    None => name.to_owned(),
                };
                let key = (registry.clone(), full, version.to_string());
                let folder = self.releases.borrow().get(&key).cloned();
                let folder = folder.ok_or_else(|| {
                    SourceError::new(SourceErrorKind::NotFound, format!("no {key:?}"))
                })?;
                let tree = Tree::read(&folder, &PackageLimits::PACKAGE).expect("a tree").tree;
                Ok(FetchedFiles { tree, notes: Vec::new() })
            }
            _ => {
                let local = Local {
                    current_folder: self.home.path().to_owned(),
                    home: None,
                    limits: PackageLimits::PACKAGE,
                };
                local.fetch(name, pinned)
            }
        }
    }
}

/// The registry of a name; `acme` has its own.
fn registry_of(full: &str) -> &'static str {
    if full.starts_with("acme/") { "https://private.example" } else { "https://public.example" }
}

impl Catalogue for Machine {
    fn revoked(&self, _: &SkillName, _: &Pinned) -> Result<Option<String>, SourceError> {
        Ok(None)
    }

    fn package(&self, named: &NamedReference) -> Result<Package, SourceError> {
        let full = match &named.namespace {
            Some(namespace) => format!("{namespace}/{}", named.name),
            None => named.name.to_string(),
        };
        Ok(Package::new(registry_of(&full), full))
    }

    fn releases(&self, package: &Package) -> Result<Vec<Release>, SourceError> {
        let mut releases = Vec::new();
        for ((registry, full, version), folder) in &*self.releases.borrow() {
            if registry != package.source() || full != package.name() {
                continue;
            }
            let tree = Tree::read(folder, &PackageLimits::PACKAGE).expect("a tree").tree;
            let metadata =
                prowess_store::metadata::read_metadata(&tree, "x", None).expect("a skill");
            let mut release = Release::new(version.parse().expect("a version"));
            for dependency in metadata.dependencies() {
                let package = self.package(&dependency.name.value.parse().expect("a name"))?;
                let range = Range::declared(dependency).expect("a range");
                release = release.needs(Dependency { package, range });
            }
            releases.push(release);
        }
        Ok(releases)
    }

    fn offer(&self, package: &Package, version: &semver::Version) -> Result<Offer, SourceError> {
        let (namespace, name) = match package.name().split_once('/') {
            Some((namespace, name)) => (Some(namespace.parse().expect("a name")), name),
            None => (None, package.name()),
        };
        Ok(Offer {
            name: name.to_owned(),
            pinned: Pinned::Registry {
                registry: package.source().to_owned(),
                namespace,
                version: version.clone(),
                sha256: "sha256:00".to_owned(),
            },
            owner: None,
            published: None,
        })
    }
}

fn name(text: &str) -> SkillName {
    text.parse().expect("a name")
}

fn names(applied: &AppliedChanges) -> Vec<String> {
    applied.installed.iter().map(|(name, version, _)| format!("{name} {version}")).collect()
}

#[test]
fn an_experimental_skill_needs_a_word_and_writes_nothing_without_it() {
    // GAIA-4.3-1; attack registry-C19: what it claims about itself does not count. SKL-TL-1.
    let mut machine = Machine::new();
    machine.permissions = NOTHING;
    machine.skill(
        "skills/greet",
        "greet",
        "1.0.0",
        "security_tier: verified\ntrust-level: official\n",
    );
    let before = machine.snapshot();
    let error = machine.install(&["./skills/greet"]).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "`greet` can't be installed: it is experimental: no one you trust has signed it"
    );
    assert_eq!(machine.snapshot(), before);
    machine.permissions = EXPERIMENTAL;
    assert_eq!(names(&machine.install(&["./skills/greet"]).expect("installed")), ["greet 1.0.0"]);
    let entry = &machine.lock().skills[&name("greet")];
    assert_eq!(entry.tier, Tier::Experimental);
    // Installed files stay as they are.
    let installed = fs::read(machine.path("store/skills/greet/SKILL.md")).expect("a file");
    assert_eq!(installed, fs::read(machine.path("skills/greet/SKILL.md")).expect("a file"));
}

#[test]
fn signatures_decide_the_tier() {
    // GAIA-4.1-1, GAIA-4.2-1, GAIA-4.4-1, GAIX-4.
    let key = SecretKey::generate_ed25519().expect("a key");
    let shell = "permissions:\n  - shell:execute:git\n";
    for (role, claim, tier, asks) in [
        (Role::Publisher, "verified", Tier::Community, true),
        (Role::Root, "verified", Tier::Verified, false),
        (Role::Root, "community", Tier::Community, true),
    ] {
        let mut machine = Machine::new();
        machine.permissions = NOTHING;
        machine.trust(&key, role);
        machine.skill("greet", "greet", "1.0.0", &format!("security_tier: {claim}\n{shell}"));
        machine.sign("greet", &key);
        let plan = machine.plan(&["./greet"]).expect("a plan");
        assert_eq!(plan.steps[0].entry.tier, tier, "{role:?}");
        // GAIA-4.2-2: dangerous permissions are asked for below the highest tier.
        assert_eq!(!plan.is_clear(), asks, "{role:?} {claim}");
        machine.with(|installer| installer.store.apply(&plan)).expect("agreed");
        assert_eq!(machine.lock().skills[&name("greet")].tier, tier);
    }
    // A new version starts over.
    let mut machine = Machine::new();
    machine.trust(&key, Role::Root);
    machine.skill("greet", "greet", "1.0.0", "security_tier: verified\n");
    machine.sign("greet", &key);
    machine.install(&["./greet"]).expect("installed");
    machine.skill("greet", "greet", "1.1.0", "security_tier: verified\n");
    let error = machine.install(&["./greet"]).expect_err("the old signature");
    assert!(matches!(error, InstallError::BadSignature { .. }), "{error}");
    fs::remove_file(machine.path("greet/SIGNATURE.json")).expect("it is there");
    let error = machine.install(&["./greet"]).expect_err("no signature").to_string();
    assert!(error.contains("is not signed now"), "{error}");
    assert_eq!(machine.lock().skills[&name("greet")].version.to_string(), "1.0.0");
}

#[test]
fn a_changed_byte_is_noticed() {
    // SRT-9-3, GAIX-7.
    let key = SecretKey::generate_ed25519().expect("a key");
    let mut machine = Machine::new();
    machine.trust(&key, Role::Publisher);
    machine.skill("greet", "greet", "1.0.0", "");
    machine.write("greet/data.txt", "one\n");
    machine.sign("greet", &key);
    machine.plan(&["./greet"]).expect("as signed");
    for (path, text) in [("greet/data.txt", "onE\n"), ("greet/more.txt", "")] {
        machine.write(path, text);
        let error = machine.plan(&["./greet"]).expect_err("changed");
        assert!(matches!(error, InstallError::BadSignature { .. }), "{error}");
        machine.write("greet/data.txt", "one\n");
        let _ = fs::remove_file(machine.path("greet/more.txt"));
    }
    fs::remove_file(machine.path("greet/data.txt")).expect("it is there");
    assert!(matches!(machine.plan(&["./greet"]), Err(InstallError::BadSignature { .. })));
}

const PUBLIC: &str = "https://public.example";

#[test]
fn what_is_needed_comes_first_and_only_by_name_when_experimental() {
    // GAIA-10.3-1, GAIA-10.3-3, GAIA-4.3-2.
    let machine = Machine::new();
    machine.publish(PUBLIC, "app", "1.0.0", &[("middle", "^1.0.0")]);
    machine.publish(PUBLIC, "middle", "1.0.0", &[("base", ">=1.0.0")]);
    machine.publish(PUBLIC, "middle", "1.5.0", &[("base", ">=1.0.0, <2.0.0")]);
    machine.publish(PUBLIC, "base", "1.2.0", &[]);
    machine.publish(PUBLIC, "base", "2.0.0", &[]);
    let plan = machine.plan(&["app"]).expect("a plan");
    let order: Vec<String> =
        plan.steps.iter().map(|step| format!("{} {}", step.name(), step.entry.version)).collect();
    assert_eq!(order, ["base 1.2.0", "middle 1.5.0", "app 1.0.0"]);
    let error = machine.install(&["app"]).expect_err("experimental dependencies").to_string();
    assert!(error.starts_with("`base` can't be installed: it is a dependency"), "{error}");
    assert!(machine.snapshot().keys().all(|path| !path.ends_with("SKILL.md")));
    let installed = machine.install(&["base@^1", "middle", "app"]).expect("each by name");
    assert_eq!(names(&installed), ["base 1.2.0", "middle 1.5.0", "app 1.0.0"]);
    let lock = machine.lock();
    assert_eq!(lock.skills[&name("base")].required_by, [name("middle")].into());
    assert_eq!(lock.skills[&name("base")].requested.as_deref(), Some("^1"));
    assert_eq!(
        lock.skills[&name("app")].dependencies,
        [(name("middle"), semver::Version::new(1, 5, 0))].into()
    );
}

#[test]
fn circles_and_contradictions_are_told() {
    // GAIA-10.3-2, GAIA-10.3-3.
    let machine = Machine::new();
    machine.publish(PUBLIC, "one", "1.0.0", &[("two", ">=0.0.0")]);
    machine.publish(PUBLIC, "two", "1.0.0", &[("one", ">=0.0.0")]);
    let error = machine.plan(&["one", "two"]).expect_err("a cycle").to_string();
    assert!(error.contains("cycle") && error.contains("one") && error.contains("two"), "{error}");
    machine.publish(PUBLIC, "left", "1.0.0", &[("base", "^1")]);
    machine.publish(PUBLIC, "right", "1.0.0", &[("base", "^2")]);
    machine.publish(PUBLIC, "base", "1.0.0", &[]);
    machine.publish(PUBLIC, "base", "2.0.0", &[]);
    let error = machine.plan(&["left", "right", "base"]).expect_err("a conflict").to_string();
    for part in ["left", "right", "^1", "^2"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn installed_skills_have_a_say() {
    let machine = Machine::new();
    machine.publish(PUBLIC, "app", "1.0.0", &[("base", "^1")]);
    machine.publish(PUBLIC, "base", "1.0.0", &[]);
    machine.install(&["base", "app"]).expect("installed");
    machine.publish(PUBLIC, "base", "2.0.0", &[]);
    machine.publish(PUBLIC, "other", "1.0.0", &[("base", "^2")]);
    let error = machine.plan(&["base@^2"]).expect_err("app needs the old one").to_string();
    assert!(error.contains("`app`"), "{error}");
    let error = machine.plan(&["other", "base"]).expect_err("app needs the old one").to_string();
    assert!(error.contains("`app`"), "{error}");
}

#[test]
fn a_higher_version_elsewhere_is_another_skill() {
    // Attack registry-A9.
    let machine = Machine::new();
    machine.publish("https://private.example", "acme/auth", "1.0.0", &[]);
    machine.publish(PUBLIC, "acme/auth", "9.9.0", &[]);
    assert_eq!(names(&machine.install(&["acme/auth"]).expect("installed")), ["auth 1.0.0"]);
    // Somebody else's of the same short name is refused, whatever is allowed (attack registry-A8).
    machine.publish(PUBLIC, "evil/auth", "9.9.0", &[]);
    let error = machine.install(&["evil/auth"]).expect_err("other hands").to_string();
    assert!(
        error.contains("was installed from the registry https://private.example (acme)"),
        "{error}"
    );
}

#[test]
fn the_lock_gives_the_same_bytes_or_nothing() {
    // GAIA-7.3-1, GAIA-7.3-2; attacks registry-C1, registry-C2.
    let machine = Machine::new();
    machine.skill("greet", "greet", "1.0.0", "");
    machine.write("greet/scripts/run.sh", "#!/bin/sh\necho hi\n");
    machine.install(&["./greet"]).expect("installed");
    let whole = machine.snapshot();
    let entry = machine.lock().skills[&name("greet")].clone();
    assert!(entry.integrity.starts_with("sha256-"), "{}", entry.integrity);
    assert!(entry.dependencies_hash.starts_with("sha256-"), "{}", entry.dependencies_hash);
    assert_eq!(entry.installed_at, "2026-09-21T14:13:20Z");
    fs::remove_dir_all(machine.path("store/skills/greet")).expect("it is there");
    let restored = machine.with(|installer| installer.restore()).expect("restored");
    assert_eq!(restored.installed, [(name("greet"), semver::Version::new(1, 0, 0))]);
    assert_eq!(machine.snapshot(), whole);
    let again = machine.with(|installer| installer.restore()).expect("nothing to do");
    assert_eq!(again.unchanged, [(name("greet"), semver::Version::new(1, 0, 0))]);
    // The source has other bytes by now.
    machine.write("greet/scripts/run.sh", "#!/bin/sh\necho ho\n");
    fs::remove_dir_all(machine.path("store/skills/greet")).expect("it is there");
    let before = machine.snapshot();
    let error = machine.with(|installer| installer.restore()).expect_err("other bytes");
    assert!(matches!(error, InstallError::NotLocked { .. }), "{error}");
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn a_lock_does_not_vouch_for_what_it_was_changed_to() {
    // Attack registry-C2: both the bytes and their digest were changed; the signature is missed.
    let key = SecretKey::generate_ed25519().expect("a key");
    let mut machine = Machine::new();
    machine.trust(&key, Role::Publisher);
    machine.skill("greet", "greet", "1.0.0", "security_tier: community\n");
    machine.sign("greet", &key);
    machine.install(&["./greet"]).expect("installed");
    let lock = machine.path("store").join(LOCK_FILE);
    let text = fs::read_to_string(&lock).expect("a lock file");
    machine.write("greet/evil.sh", "#!/bin/sh\n");
    fs::remove_file(machine.path("greet/SIGNATURE.json")).expect("it is there");
    let tree = Tree::read(&machine.path("greet"), &PackageLimits::PACKAGE).expect("a tree").tree;
    let digest = prowess_package::digest::content_digest(&tree.hashes()).integrity();
    let old = machine.lock().skills[&name("greet")].integrity.clone();
    fs::write(&lock, text.replace(&old, &digest)).expect("it can be written");
    fs::remove_dir_all(machine.path("store/skills/greet")).expect("it is there");
    let error = machine.with(|installer| installer.restore()).expect_err("no signature");
    assert!(error.to_string().contains("is not signed now"), "{error}");
    assert!(!machine.path("store/skills/greet").exists());
}

#[test]
fn updates_follow_their_source_and_ask_for_more() {
    // Attack registry-C23.
    let machine = Machine::new();
    machine.publish(PUBLIC, "base", "1.0.0", &[]);
    machine.skill("greet", "greet", "1.0.0", "permissions:\n  - network:read:a.example\n");
    machine.install(&["./greet", "base@^1"]).expect("installed");
    machine.publish(PUBLIC, "base", "1.4.0", &[]);
    machine.publish(PUBLIC, "base", "2.0.0", &[]);
    machine.skill(
        "greet",
        "greet",
        "1.0.1",
        "permissions:\n  - network:read:a.example\n  - shell:execute:git\n",
    );
    let plan =
        machine.with(|installer| installer.plan_update(&BTreeSet::new())).expect("a plan").plan;
    let steps: Vec<String> = plan
        .steps
        .iter()
        .map(|step| {
            let asks: Vec<String> = step.review.questions.iter().map(ToString::to_string).collect();
            format!("{} {} {}", step.name(), step.entry.version, asks.join("; "))
        })
        .collect();
    assert_eq!(steps, ["base 1.4.0 ", "greet 1.0.1 it also requests `shell:execute:git`"]);
    machine.with(|installer| installer.store.apply(&plan)).expect("agreed");
    let plan =
        machine.with(|installer| installer.plan_update(&BTreeSet::new())).expect("a plan").plan;
    assert_eq!(plan.steps.len(), 0);
    let unknown = [name("nobody")].into();
    let error = machine.with(|installer| installer.plan_update(&unknown)).expect_err("not there");
    assert_eq!(error.to_string(), "`nobody` is not installed");
}

#[test]
fn removing_takes_along_what_came_along() {
    let key = SecretKey::generate_ed25519().expect("a key");
    let mut machine = Machine::new();
    machine.trust(&key, Role::Publisher);
    machine.publish(PUBLIC, "app", "1.0.0", &[("middle", ">=0.0.0")]);
    machine.publish(PUBLIC, "middle", "1.0.0", &[("base", ">=0.0.0")]);
    machine.publish(PUBLIC, "base", "1.0.0", &[]);
    for full in ["app", "middle", "base"] {
        machine.sign(&format!("registry/{}/{full}/1.0.0", PUBLIC.len()), &key);
    }
    machine.permissions = NOTHING;
    machine.install(&["app"]).expect("signed ones come along");
    let error = machine
        .with(|installer| installer.store.remove(&[name("base")].into()))
        .expect_err("needed");
    assert_eq!(error.to_string(), "`base` is required by `middle`");
    let removed =
        machine.with(|installer| installer.store.remove(&[name("app")].into())).expect("removed");
    let removed: Vec<String> = removed.removed.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(removed, ["app", "middle", "base"]);
    assert_eq!(machine.lock().skills.len(), 0);
    assert_eq!(fs::read_dir(machine.path("store/skills")).expect("a folder").count(), 0);
}

#[test]
fn drift_is_named() {
    // GAIX-26.
    let key = SecretKey::generate_ed25519().expect("a key");
    let mut machine = Machine::new();
    machine.trust(&key, Role::Publisher);
    for skill in ["whole", "changed", "gone", "claims"] {
        machine.skill(skill, skill, "1.0.0", "security_tier: community\n");
        machine.write(&format!("{skill}/a.txt"), "a\n");
        machine.sign(skill, &key);
        machine.install(&[&format!("./{skill}")]).expect("installed");
    }
    machine.write("store/skills/changed/a.txt", "b\n");
    machine.write("store/skills/changed/new.txt", "b\n");
    fs::remove_dir_all(machine.path("store/skills/gone")).expect("it is there");
    machine.skill("store/skills/claims", "claims", "2.0.0", "security_tier: community\n");
    machine.skill("store/skills/stranger", "stranger", "1.0.0", "");
    let look = |trust: &TrustStore| {
        let store = machine.store();
        let now = Timestamp::from_unix(1_790_000_000);
        let found = drift::verify(&store, &[], trust, now).expect("a look");
        let kinds = |finding: &drift::VerifiedSkill| {
            let kinds: Vec<&str> = finding.drifts.iter().map(Drift::kind).collect();
            format!("{}: {}", finding.name, kinds.join(" "))
        };
        found.iter().map(kinds).collect::<Vec<String>>()
    };
    assert_eq!(
        look(&machine.trust),
        [
            "changed: content signature tier",
            "claims: content version signature tier",
            "gone: presence",
            "stranger: unlocked",
            "whole: "
        ]
    );
    // Nobody is trusted any more.
    assert_eq!(look(&TrustStore::empty()).last().map(String::as_str), Some("whole: tier"));
}

#[test]
fn two_at_once_do_not_overwrite_each_other() {
    let machine = Machine::new();
    machine.skill("one", "one", "1.0.0", "");
    machine.skill("two", "two", "1.0.0", "");
    let first = machine.plan(&["./one"]).expect("a plan");
    let second = machine.plan(&["./two"]).expect("a plan");
    machine.with(|installer| installer.store.apply(&first)).expect("installed");
    let error = machine.with(|installer| installer.store.apply(&second)).expect_err("overtaken");
    assert!(matches!(error, InstallError::StoreChanged), "{error}");
    machine.install(&["./two"]).expect("looked at again");
    assert_eq!(machine.lock().skills.len(), 2);
}

#[test]
fn a_lock_that_can_not_be_read_stops_everything() {
    let machine = Machine::new();
    machine.skill("one", "one", "1.0.0", "");
    machine.install(&["./one"]).expect("installed");
    machine.write(&format!("store/{LOCK_FILE}"), "{\"version\": 9}\n");
    let error = machine.install(&["./one"]).expect_err("a lock of another version").to_string();
    assert!(error.contains("its format has version 9"), "{error}");
    let text = fs::read_to_string(machine.path("store").join(LOCK_FILE)).expect("a file");
    assert_eq!(text, "{\"version\": 9}\n");
}

#[test]
fn a_program_installs_by_range_and_lists() {
    // GAIA-6.2-1
    let machine = Machine::new();
    for version in ["1.0.0", "1.4.0", "2.0.0"] {
        machine.publish(PUBLIC, "greet", version, &[]);
    }
    machine.with(|installer| {
        let applied = installer.install("greet", ">=1.0.0,<2.0.0", |_| false);
        let applied = applied.expect("it asks for nothing dangerous");
        assert_eq!(applied.installed.len(), 1);
        let listed = installer.list_installed().expect("a lock");
        let shown: Vec<String> = listed
            .iter()
            .map(|skill| format!("{} {} [{}]", skill.name, skill.version, skill.tier))
            .collect();
        assert_eq!(shown, ["greet 1.4.0 [experimental]"]);
        assert!(listed[0].directory.join("SKILL.md").is_file());
        let nothing = installer.install("greet", ">=3.0.0", |_| true);
        assert!(matches!(nothing, Err(InstallError::Unresolved(_))), "{nothing:?}");
    });
}

/// Skills change one by one and the lock file last. Whoever only looks takes no lock, sees that moment now and then, and
/// looks again: it is no drift.
#[test]
fn a_change_that_is_happening_is_no_drift() {
    const CHANGES: usize = 40;
    let machine = Machine::new();
    let write = |version: usize| {
        for name in ["one", "other"] {
            machine.skill(name, name, &format!("1.0.{version}"), "");
        }
    };
    write(0);
    machine.install(&["./one", "./other"]).expect("installed");
    let looks = AtomicUsize::new(0);
    let path = machine.path("store");
    let drifts = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let store = Store::open(&path).expect("a store");
            let now = Timestamp::from_unix(1_790_000_000);
            let mut drifts = Vec::new();
            while looks.load(Ordering::Relaxed) < CHANGES {
                let found = drift::verify(&store, &[], &TrustStore::empty(), now).expect("a look");
                drifts.extend(found.into_iter().flat_map(|finding| finding.drifts));
                looks.fetch_add(1, Ordering::Relaxed);
            }
            drifts
        });
        // One change for each look: a reader that is overtaken again and again gives up in the end, as it should.
        for change in 1..=CHANGES {
            while looks.load(Ordering::Relaxed) + 1 < change {
                std::thread::yield_now();
            }
            write(change);
            machine.install(&["./one", "./other"]).expect("installed");
        }
        reader.join().expect("the reader ends")
    });
    assert_eq!(drifts, []);
}

#[test]
fn looking_makes_no_store() {
    let machine = Machine::new();
    let store = machine.store();
    let now = Timestamp::from_unix(1_790_000_000);
    assert_eq!(store.installed().expect("a list"), []);
    assert!(!store.is_installed(&name("greet")).expect("an answer"));
    assert!(store.hash(&name("greet")).expect("an answer").is_none());
    assert!(drift::verify(&store, &[], &machine.trust, now).expect("a look").is_empty());
    machine.with(|installer| {
        assert_eq!(installer.list_installed().expect("a list"), []);
        assert_eq!(installer.restore().expect("nothing to do").installed, []);
        let removed = installer.store.remove(&[name("greet")].into());
        assert!(matches!(removed, Err(InstallError::NotInstalled(_))));
    });
    machine.skill("greet", "greet", "1.0.0", "");
    machine.plan(&["./greet"]).expect("a plan");
    let refused = Machine { permissions: InstallPermissions::default(), ..Machine::new() };
    refused.skill("greet", "greet", "1.0.0", "");
    assert!(matches!(refused.install(&["./greet"]), Err(InstallError::Refused { .. })));
    for machine in [&machine, &refused] {
        assert!(!machine.path("store").exists());
    }
}
