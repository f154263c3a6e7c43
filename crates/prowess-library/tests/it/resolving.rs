//! References to skills with their trust.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prowess_engine::{SkillResolver as _, World};
use prowess_library::{Library, SkillFile, Statistics};
use prowess_package::limits::PackageLimits;
use prowess_package::tree::Tree;
use prowess_policy::{Origin, Tier};
use prowess_store::install::{Installer, SkillRequirement};
use prowess_store::reference::Reference;
use prowess_store::review::InstallPermissions;
use prowess_store::source::Local;
use prowess_store::store::Store;
use prowess_trust::{
    Material, Purpose, Role, SecretKey, Timestamp, TrustStore, TrustedKey, sign, update_trust_store,
};
use tempfile::TempDir;

const SKILL: &str = "---\nname: parrot\nversion: 1.2.0\ndescription: Says what it is told\nread_only: true\n---\n\n# Parrot\n\n## Tools\n\n### say\n\nSays it\n\n#### Command\n\n```bash\necho hi\n```\n";

/// A user with a signed skill installed.
struct Machine {
    home: TempDir,
    library: Arc<Library>,
}

impl Machine {
    fn new() -> Self {
        let home = TempDir::new().expect("a folder");
        let root = home.path().canonicalize().expect("it is there");
        fs::create_dir_all(root.join("work/.git")).expect("a folder");
        let world = World::at(&root, &root.join("work"), "/usr/bin:/bin".as_ref(), Vec::new());
        let library = Library::open(Arc::new(world.expect("a world")));
        // A clock that is ahead: what was installed a moment ago counts as settled.
        let clock = || SystemTime::now() + Duration::from_hours(1);
        let machine = Self { home, library: Arc::new(library.with_clock(clock)) };
        machine.install();
        machine
    }

    fn data(&self) -> PathBuf {
        self.library.places().data.clone()
    }

    fn skill(&self) -> PathBuf {
        self.data().join("skills/parrot")
    }

    fn install(&self) {
        let folder = self.home.path().canonicalize().expect("it is there").join("source/parrot");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("SKILL.md"), SKILL).expect("it can be written");
        let key = SecretKey::generate_ed25519().expect("a key");
        let tree = Tree::read(&folder, &PackageLimits::PACKAGE).expect("a tree").tree;
        let metadata = prowess_store::metadata::read_metadata(&tree, "x", None).expect("a skill");
        let contents = prowess_store::install::contents_of(&metadata, &tree.hashes(), None);
        let record = sign(&contents, &key, "acme", Purpose::Release).expect("a signature");
        fs::write(folder.join("SIGNATURE.json"), record).expect("it can be written");
        let mut trust = TrustStore::empty();
        let trusted = || TrustedKey::new(Material::Key(key.public()), Role::Root);
        trust.add(trusted());
        fs::create_dir_all(self.data()).expect("a folder");
        update_trust_store(&self.data().join("trust.json"), |store| store.add(trusted()))
            .expect("it can be written");
        let store = Store::open(&self.data()).expect("a store");
        let installer = Installer {
            store: &store,
            source: &Local {
                current_folder: folder.clone(),
                home: None,
                limits: PackageLimits::PACKAGE,
            },
            catalogue: None,
            trust: &trust,
            now: Timestamp::from_unix(1_790_000_000),
            permissions: InstallPermissions { experimental: true, ..InstallPermissions::default() },
            min_age: None,
            known_bad: &prowess_scan::KnownBad::default(),
        };
        let requirement = SkillRequirement {
            reference: Reference::Path(folder),
            only: BTreeSet::new(),
            chosen: None,
            origin: "the test".to_owned(),
        };
        installer
            .store
            .apply(&installer.plan(&[requirement]).expect("a plan"))
            .expect("it is installed");
    }
}

#[test]
fn a_library_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Library>();
    is_shared::<Arc<prowess_engine::LoadedSkill>>();
}

#[test]
fn a_reference_is_a_skill_with_its_trust_and_perhaps_a_tool() {
    let machine = Machine::new();
    for (reference, tool) in [
        ("parrot", None),
        ("parrot/say", Some("say")),
        ("parrot@^1", None),
        ("parrot@^1/say", Some("say")),
    ] {
        let (skill, found) = machine.library.resolve_tool(reference).expect(reference);
        assert_eq!((skill.name.as_str(), found.as_deref()), ("parrot", tool), "{reference}");
        assert_eq!(skill.trust.tier(), Tier::Verified);
        assert_eq!(skill.trust.origin(), Origin::Local);
    }
    let code = |reference: &str| machine.library.resolve(reference).expect_err(reference).code;
    assert_eq!(code("parrot@^2"), "other-version-installed");
    assert_eq!(code("acme/parrot@^1"), "skill-not-found");
    assert_eq!(code("./parrot"), "path-not-found");
    assert_eq!(code("nobody"), "skill-not-found");
}

#[test]
fn one_reference_reads_one_lock_file_and_hashes_once() {
    let machine = Machine::new();
    machine.library.resolve_tool("parrot/say").expect("it is installed");
    let once = Statistics { lock_reads: 1, hashes: 1, loads: 1 };
    assert_eq!(machine.library.statistics(), once);
}

#[test]
fn a_skill_is_read_again_when_a_file_changes() {
    let machine = Machine::new();
    for _ in 0..3 {
        machine.library.resolve("parrot").expect("it is installed");
    }
    let once = Statistics { lock_reads: 1, hashes: 1, loads: 1 };
    assert_eq!(machine.library.statistics(), once, "nothing has changed");
    fs::write(machine.skill().join("more.txt"), "x").expect("it can be written");
    let problem = machine.library.resolve("parrot").expect_err("it has changed");
    assert_eq!(problem.code, "signed-skill-changed");
}

#[test]
fn every_way_to_a_changed_signed_skill_has_the_same_code() {
    let machine = Machine::new();
    let library = &machine.library;
    let file = machine.skill().join("SKILL.md");
    fs::write(&file, format!("{SKILL}\nMore.\n")).expect("it can be written");
    let read = |path: &Path| SkillFile::at(path).expect("it can be read");
    let folders = library.in_folders(vec![machine.data().join("skills")]);
    let codes = [
        library.resolve("parrot").expect_err("refused").code,
        library.resolve("parrot/say").expect_err("refused").code,
        library.resolve(&file.display().to_string()).expect_err("refused").code,
        library.resolve_tool("parrot@^1/say").expect_err("refused").code,
        library.load(&read(&machine.skill()), None).expect_err("refused").code,
        library.require_unchanged(&read(&file)).expect_err("refused").code,
        folders.resolve("parrot").expect_err("refused").code,
    ];
    assert_eq!(codes, ["signed-skill-changed"; 7]);
}
