//! Skills that are read without being installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::ProblemKind;
use prowess_engine::World;
use prowess_library::packages::SkillSources;
use prowess_library::{FetchedSkill, Found, Library, SkillChoice};
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::Tree;
use prowess_policy::{Origin, Tier};
use prowess_store::source::Local;
use prowess_trust::{Material, Purpose, Role, SecretKey, TrustedKey, sign, update_trust_store};
use tempfile::TempDir;

const SKILL: &str =
    "---\nname: parrot\nversion: 1.2.0\ndescription: Says what it is told\n---\n\n# Parrot\n";

/// A user with an archive of a signed skill, and nothing installed.
struct Machine {
    home: TempDir,
    library: Library,
    key: SecretKey,
}

impl Machine {
    fn new() -> Self {
        let home = TempDir::new().expect("a folder");
        let root = home.path().canonicalize().expect("it is there");
        let folder = root.join("parrot");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("SKILL.md"), SKILL).expect("it can be written");
        let key = SecretKey::generate_ed25519().expect("a key");
        let tree = Tree::read(&folder, &PackageLimits::PACKAGE).expect("a tree").tree;
        let metadata = prowess_store::metadata::read_metadata(&tree, "x", None).expect("a skill");
        let contents = prowess_store::install::contents_of(&metadata, &tree.hashes(), None);
        let record = sign(&contents, &key, "acme", Purpose::Release).expect("a signature");
        fs::write(folder.join("SIGNATURE.json"), record).expect("it can be written");
        let tree = Tree::read(&folder, &PackageLimits::PACKAGE).expect("a tree").tree;
        fs::write(root.join("parrot.tar.gz"), pack(&tree)).expect("it can be written");
        let world = World::at(&root, &root, "/usr/bin:/bin".as_ref(), Vec::new());
        let library = Library::open(Arc::new(world.expect("a world")));
        Self { home, library, key }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().expect("it is there").join(name)
    }

    fn fetch(&self, name: &str) -> FetchedSkill {
        let source =
            Local { current_folder: self.path(""), home: None, limits: PackageLimits::PACKAGE };
        let sources = SkillSources { source: &source, catalogue: None };
        let path = self.path(name).display().to_string();
        let fetched = self.library.fetch(&path, &SkillChoice::OnlyOne, &sources, None);
        fetched.expect("it is there").skills.remove(0)
    }
}

#[test]
fn a_fetched_skill_is_a_download_whose_signatures_count() {
    let machine = Machine::new();
    let trust = |machine: &Machine| {
        let fetched = machine.fetch("parrot.tar.gz");
        let file = fetched.file().expect("a main file");
        machine.library.load(&file, None).expect("a skill").trust
    };
    let before = trust(&machine);
    assert_eq!((before.tier(), before.origin()), (Tier::Experimental, Origin::Downloaded));
    let data = machine.library.places().data.clone();
    fs::create_dir_all(&data).expect("a folder");
    let trusted = TrustedKey::new(Material::Key(machine.key.public()), Role::Root);
    update_trust_store(&data.join("trust.json"), |store| store.add(trusted.clone()))
        .expect("it can be written");
    let after = trust(&machine);
    assert_eq!((after.tier(), after.origin()), (Tier::Verified, Origin::Downloaded));
}

#[test]
fn the_temporary_folder_lives_as_long_as_the_file() {
    let machine = Machine::new();
    let fetched = machine.fetch("parrot.tar.gz");
    let folder = fetched.temporary().expect("a temporary folder").to_owned();
    let file = fetched.file().expect("a main file");
    drop(fetched);
    assert!(folder.is_dir());
    assert_eq!(file.bytes, SKILL.as_bytes());
    drop(file);
    assert!(!folder.exists());
    // A folder is read where it is.
    let local = machine.fetch("parrot");
    assert!(local.temporary().is_none());
    assert_eq!(local.directory, machine.path("parrot"));
}

#[test]
fn only_what_can_be_elsewhere_is_looked_for_elsewhere() {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("bare.git/objects")).expect("a folder");
    fs::create_dir_all(machine.path("bare.git/refs")).expect("a folder");
    fs::write(machine.path("bare.git/HEAD"), "ref: refs/heads/main\n").expect("written");
    fs::create_dir_all(machine.path("empty")).expect("a folder");
    let find = |reference: &Path| match machine.library.find(reference) {
        Ok(Found::Here(_)) => "here",
        Ok(Found::Elsewhere { here: None }) => "elsewhere",
        Ok(Found::Elsewhere { here: Some(_) }) => "perhaps elsewhere",
        Err(problem) if problem.kind == ProblemKind::NotFound => "nowhere",
        Err(_) => "a problem",
    };
    for (reference, expected) in [
        (machine.path("parrot"), "here"),
        (machine.path("parrot/SKILL.md"), "here"),
        (machine.path("parrot.tar.gz"), "elsewhere"),
        (machine.path("bare.git"), "perhaps elsewhere"),
        (machine.path("empty"), "nowhere"),
        (machine.path("missing"), "nowhere"),
        ("https://host.example/x.git#v1".into(), "elsewhere"),
        ("github:acme/parrot".into(), "elsewhere"),
        ("host.example".into(), "perhaps elsewhere"),
        ("acme/parrot@^1".into(), "perhaps elsewhere"),
        ("./missing".into(), "nowhere"),
        ("src/missing".into(), "nowhere"),
    ] {
        assert_eq!(find(&reference), expected, "{}", reference.display());
    }
}
