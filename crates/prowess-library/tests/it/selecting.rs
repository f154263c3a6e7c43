//! The skills that an agent is offered: all visible ones, or those that references name.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use prowess_engine::World;
use prowess_library::{Library, SkillSelection};
use prowess_store::places::Scope;
use tempfile::TempDir;

/// A home, and a repository `work` in it.
struct Machine {
    home: TempDir,
}

impl Machine {
    fn with(files: &[(&str, &str)]) -> Self {
        let machine = Self { home: TempDir::new().expect("a folder") };
        fs::create_dir_all(machine.root().join("work/.git")).expect("a folder");
        fs::write(machine.root().join("work/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        for (path, text) in files {
            let path = machine.root().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            fs::write(path, text).expect("it can be written");
        }
        machine
    }

    fn root(&self) -> PathBuf {
        self.home.path().canonicalize().expect("it is there")
    }

    fn library(&self) -> Library {
        let root = self.root();
        let world = World::at(&root, &root.join("work"), "/usr/bin:/bin".as_ref(), Vec::new());
        Library::open(Arc::new(world.expect("a world")))
    }

    fn select(&self, references: &[&str]) -> Result<SkillSelection, prowess_core::Problem> {
        let references: Vec<PathBuf> =
            references.iter().map(|reference| self.root().join(reference)).collect();
        self.library().select_skills(&references, None)
    }

    /// The names of what is offered, and the paths of what is left out with the codes of the problems.
    fn shown(&self, selection: &SkillSelection) -> (Vec<String>, Vec<String>) {
        let names = selection.skills.iter().map(|skill| skill.name.clone()).collect();
        let left_out = selection.left_out.iter().map(|skill| {
            let path = skill.path.strip_prefix(self.root()).unwrap_or(&skill.path);
            format!("{}: {}", path.display(), skill.problem.code)
        });
        (names, left_out.collect())
    }
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n---\n\n# {name}\n")
}

#[test]
fn every_active_skill_is_visible_and_the_unusable_are_reported() {
    let machine = Machine::with(&[
        ("work/.claude/skills/review/SKILL.md", &skill("review")),
        ("work/.claude/skills/broken/SKILL.md", "---\nname: broken\n---\nNo description\n"),
        (".agents/skills/review/SKILL.md", &skill("review")),
        (".agents/skills/deploy/SKILL.md", &skill("deploy")),
    ]);
    let visible = machine.library().visible_skills(None);
    let (names, left_out) = machine.shown(&visible);
    assert_eq!(names, ["review", "deploy"]);
    assert_eq!(left_out, ["work/.claude/skills/broken: invalid-skill"]);
    assert!(visible.skills[0].file.starts_with(machine.root().join("work")), "the project wins");
    // Nothing is installed in a store.
    for scope in [Scope::Project, Scope::User] {
        assert_eq!(machine.library().visible_skills(Some(scope)).skills.len(), 0);
    }
}

#[test]
fn references_are_skills_files_and_folders_of_skills() {
    let pack = r#"{"name":"pack","description":"d","command":"date"}"#;
    let machine = Machine::with(&[
        ("all/b/SKILL.md", &skill("b")),
        ("all/group/a/SKILL.md", &skill("a")),
        ("all/group/a/references/inner/SKILL.md", &skill("inner")),
        ("all/.hidden/SKILL.md", &skill("hidden")),
        ("all/node_modules/x/SKILL.md", &skill("x")),
        ("all/wrong/SKILL.md", "---\nname: wrong\n---\nNo description\n"),
        ("all/agent/AGENT.yaml", "name: agent\n"),
        ("packs/one.tool.json", pack),
        ("notes/todo.txt", "Nothing\n"),
    ]);
    let (names, left_out) = machine.shown(&machine.select(&["all"]).expect("a folder"));
    assert_eq!(names, ["b", "a"]);
    assert_eq!(left_out, ["all/wrong: invalid-skill"]);
    // Each once, in the order of the references; what is not a skill is left out where there are several.
    let several = ["all/group/a/SKILL.md", "notes", "notes/todo.txt", "all/b", "all"];
    let (names, left_out) = machine.shown(&machine.select(&several).expect("folders"));
    assert_eq!(names, ["a", "b"]);
    assert_eq!(
        left_out,
        ["notes: not-a-skill", "notes/todo.txt: not-a-skill", "all/wrong: invalid-skill"]
    );
    let code = |reference: &str| machine.select(&[reference]).expect_err(reference).code;
    assert_eq!(code("notes"), "skill-not-found");
    assert_eq!(code("nowhere"), "path-not-found");
    let wrong = machine.select(&["all/wrong"]).expect("it is there");
    assert!(wrong.left_out[0].is_named);
}

#[cfg(unix)]
#[test]
fn a_cycle_of_links_ends() {
    let machine = Machine::with(&[("all/b/SKILL.md", &skill("b"))]);
    let all = machine.root().join("all");
    std::os::unix::fs::symlink(&all, all.join("again")).expect("a link");
    let (names, _) = machine.shown(&machine.select(&["all"]).expect("a folder"));
    assert_eq!(names, ["b"]);
}
