//! The package manager as a server uses it: changes are prepared, kept, shown and applied later.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::{Problem, ProblemKind};
use prowess_engine::World;
use prowess_library::Library;
use prowess_library::packages::{
    AgentTargets, ChangeGoal, ChangeReport, ChangeRequest, Decision, PackageManager,
    PreparedChange, PreparedRemoval, SkillSources,
};
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_store::agents;
use prowess_store::install::SkillRequirement;
use prowess_store::placement::PlacementMode;
use prowess_store::places::Scope;
use prowess_store::reference::Reference;
use prowess_store::review::InstallPermissions;
use prowess_store::source::Local;
use tempfile::TempDir;

/// A user with a project and a folder of skills to install.
struct Machine {
    _home: TempDir,
    root: PathBuf,
    packages: PackageManager,
}

impl Machine {
    fn new() -> Self {
        let home = TempDir::new().expect("a folder");
        let root = home.path().canonicalize().expect("it exists");
        fs::create_dir_all(root.join("work/.git")).expect("a folder");
        let world = World::at(&root, &root.join("work"), "/usr/bin:/bin".as_ref(), Vec::new());
        let library = Library::open(Arc::new(world.expect("a world")));
        Self { _home: home, root, packages: library.packages() }
    }

    /// Writes a skill of the author.
    fn write(&self, name: &str, version: &str, more: &str) {
        let folder = self.root.join("source").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "---\nname: {name}\nversion: {version}\ndescription: Greets people by name\n{more}---\n\n# Greet\n"
        );
        fs::write(folder.join("SKILL.md"), text).expect("it can be written");
    }

    fn local(&self) -> Local {
        Local { current_folder: self.root.clone(), home: None, limits: PackageLimits::PACKAGE }
    }

    fn prepare(&self, request: &ChangeRequest) -> Result<PreparedChange, Problem> {
        let source = self.local();
        self.packages.prepare(request, &SkillSources { source: &source, catalogue: None })
    }

    fn install(&self, name: &str) -> ChangeRequest {
        let requirement = SkillRequirement {
            reference: Reference::Path(self.root.join("source").join(name)),
            only: BTreeSet::new(),
            chosen: None,
            origin: "the test".to_owned(),
        };
        request(ChangeGoal::Install(vec![requirement]))
    }

    fn installed(&self) -> Vec<String> {
        let lock = self.packages.lock_file(Scope::User).expect("a lock file");
        lock.skills.iter().map(|(name, entry)| format!("{name} {}", entry.version)).collect()
    }

    fn installed_text(&self, name: &str) -> String {
        let folder = self.packages.store_path(Scope::User).join("skills").join(name);
        fs::read_to_string(folder.join("SKILL.md")).expect("it is installed")
    }
}

fn request(goal: ChangeGoal) -> ChangeRequest {
    ChangeRequest {
        goal,
        scope: Scope::User,
        permissions: InstallPermissions { experimental: true, ..Default::default() },
        min_age: None,
        agents: AgentTargets::Existing,
    }
}

fn names(names: &[&str]) -> BTreeSet<SkillName> {
    names.iter().map(|name| name.parse().expect("a name")).collect()
}

#[test]
fn prepared_changes_can_be_kept_and_sent_to_other_threads() {
    fn owned<T: Send + Sync + 'static>() {}
    owned::<PackageManager>();
    owned::<PreparedChange>();
    owned::<PreparedRemoval>();
    owned::<ChangeReport>();
}

#[test]
fn a_change_waits_for_an_answer_and_is_applied_from_another_thread() {
    let machine = Machine::new();
    machine.write("greet", "1.0.0", "permissions:\n  - shell:execute\n");
    let change = machine.prepare(&machine.install("greet")).expect("a change");
    assert!(change.needs_consent());
    assert_eq!(change.to_json()["skills"][0]["questions"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        machine.installed(),
        Vec::<String>::new(),
        "nothing is written before it is applied"
    );
    // The author changes the files while a person reads: what was shown is what is installed.
    machine.write("greet", "6.6.6", "permissions:\n  - shell:execute\n");
    let report = std::thread::spawn(move || change.apply()).join().expect("no panic");
    let report = report.expect("it is applied");
    assert_eq!(report.to_json()["installed"], true);
    assert_eq!(machine.installed(), ["greet 1.0.0"]);
    assert!(machine.installed_text("greet").contains("version: 1.0.0"));
}

#[test]
fn the_second_of_two_changes_that_were_prepared_together_is_a_conflict() {
    let machine = Machine::new();
    machine.write("one", "1.0.0", "");
    machine.write("two", "1.0.0", "");
    let first = machine.prepare(&machine.install("one")).expect("a change");
    let second = machine.prepare(&machine.install("two")).expect("a change");
    first.apply().expect("it is applied");
    let problem = second.apply().expect_err("the store has changed");
    assert_eq!((problem.code, problem.kind), ("store-changed", ProblemKind::Conflict));
    assert_eq!(machine.installed(), ["one 1.0.0"]);
}

#[test]
fn a_change_without_questions_is_prepared_again_when_another_one_comes_first() {
    let machine = Machine::new();
    machine.write("one", "1.0.0", "");
    machine.write("two", "1.0.0", "");
    let source = machine.local();
    let sources = SkillSources { source: &source, catalogue: None };
    let mut other = Some(machine.prepare(&machine.install("one")).expect("a change"));
    let mut decisions = 0;
    let report = machine.packages.change(&machine.install("two"), &sources, |_| {
        decisions += 1;
        if let Some(other) = other.take() {
            other.apply()?;
        }
        Ok::<Decision, Problem>(Decision::Apply)
    });
    assert_eq!(report.expect("it is applied").expect("a report").installed.len(), 1);
    assert_eq!(decisions, 2);
    assert_eq!(machine.installed(), ["one 1.0.0", "two 1.0.0"]);
}

#[test]
fn what_a_person_agreed_to_is_never_replaced_by_another_plan() {
    let machine = Machine::new();
    machine.write("one", "1.0.0", "");
    machine.write("two", "1.0.0", "");
    let source = machine.local();
    let sources = SkillSources { source: &source, catalogue: None };
    let mut other = Some(machine.prepare(&machine.install("one")).expect("a change"));
    let result = machine.packages.change(&machine.install("two"), &sources, |_| {
        if let Some(other) = other.take() {
            other.apply()?;
        }
        Ok::<Decision, Problem>(Decision::ApplyAsShown)
    });
    assert_eq!(result.expect_err("a conflict").code, "store-changed");
    assert_eq!(machine.installed(), ["one 1.0.0"]);
}

#[test]
fn a_refused_change_says_why_and_is_not_applied() {
    let machine = Machine::new();
    machine.write("greet", "1.0.0", "");
    let request =
        ChangeRequest { permissions: InstallPermissions::default(), ..machine.install("greet") };
    let change = machine.prepare(&request).expect("a change");
    let refusal = change.refusal().expect("it is experimental");
    assert_eq!(refusal.kind, ProblemKind::Refused);
    assert!(refusal.message.starts_with("`greet` was not installed: "), "{refusal:?}");
    assert_eq!(change.apply().expect_err("it is refused").kind, ProblemKind::Refused);
    assert_eq!(machine.installed(), Vec::<String>::new());
}

#[test]
fn skills_are_updated_placed_verified_and_removed() {
    let machine = Machine::new();
    machine.write("greet", "1.0.0", "");
    let agent = agents::by_id("claude-code").expect("an agent");
    let agents = AgentTargets::Also(vec![agent], PlacementMode::AsSeen);
    let request = ChangeRequest { agents, ..machine.install("greet") };
    let report = machine.prepare(&request).expect("a change").apply().expect("it is applied");
    assert_eq!(report.placed.placements.len(), 1, "{:?}", report.placed);
    let placed = report.placed.placements[0].path.clone();
    assert!(placed.join("SKILL.md").exists());

    machine.write("greet", "1.1.0", "");
    let source = machine.local();
    let sources = SkillSources { source: &source, catalogue: None };
    let outdated = machine.packages.outdated(BTreeSet::new(), Scope::User, None, &sources);
    let outdated = outdated.expect("a report").skills;
    assert_eq!(outdated[0].to_json()["update"], "1.1.0");
    let update = self::request(ChangeGoal::Update(BTreeSet::new()));
    machine.prepare(&update).expect("a change").apply().expect("it is applied");
    assert_eq!(machine.installed(), ["greet 1.1.0"]);

    assert!(machine.packages.verify(&[], Scope::User).expect("a report").is_ok());
    tamper(&machine.packages.store_path(Scope::User).join("skills/greet/SKILL.md"));
    assert!(!machine.packages.verify(&[], Scope::User).expect("a report").is_ok());
    let restore = self::request(ChangeGoal::Restore);
    machine.prepare(&restore).expect("a change").apply().expect("it is applied");
    assert!(machine.packages.verify(&[], Scope::User).expect("a report").is_ok());

    let removal = machine.packages.prepare_removal(&names(&["greet"]), Scope::User, false);
    let removed = removal.expect("a removal").apply().expect("it is applied");
    assert_eq!(removed.skills[0].to_json()["name"], "greet");
    assert!(!placed.exists());
    assert_eq!(machine.installed(), Vec::<String>::new());
}

fn tamper(file: &Path) {
    let text = fs::read_to_string(file).expect("it is installed");
    fs::write(file, format!("{text}\nAnd more.\n")).expect("it can be written");
}
