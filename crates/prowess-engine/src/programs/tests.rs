use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use prowess_policy::scope::Program;
use tempfile::TempDir;

use super::{Finder, Images, ProgramLookupError};

/// A machine with two folders on PATH and a skill.
struct Machine {
    folder: TempDir,
    search_path: Vec<PathBuf>,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        for name in ["prefix/bin", "other/bin", "pyenv/shims", "skill"] {
            std::fs::create_dir_all(root.join(name)).expect("a folder can be made");
        }
        for (path, text) in files {
            let (path, mode) = match path.strip_suffix(" -x") {
                Some(path) => (path, 0o644),
                None => (*path, 0o755),
            };
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            std::fs::write(&path, text.replace("[ROOT]", &root.to_string_lossy()))
                .expect("written");
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("it is ours");
        }
        let search_path = ["pyenv/shims", "prefix/bin", "other/bin"];
        Self { search_path: search_path.map(|name| root.join(name)).to_vec(), folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there")
    }

    fn images(&self, start: &Program, granted: &[&str]) -> Result<Images, ProgramLookupError> {
        let skill = self.root().join("skill");
        let finder = Finder { search_path: &self.search_path, skill_directory: Some(&skill) };
        let granted: Vec<Program> =
            granted.iter().map(|name| Program::parse(name).expect("a program")).collect();
        finder.images(start, &granted)
    }

    /// The paths of everything found, without the machine's root.
    fn check(&self, start: &str, granted: &[&str]) -> String {
        let start = Program::of_command(start).expect("a program");
        let root = format!("{}/", self.root().display());
        match self.images(&start, granted) {
            Ok(images) => {
                let shown = |paths: &[PathBuf]| {
                    let paths = paths.iter().map(|path| path.display().to_string());
                    paths.map(|path| path.replace(&root, "")).collect::<Vec<_>>().join(" ")
                };
                format!(
                    "programs: {}; execute: {}; support: {}",
                    shown(&images.programs),
                    shown(&images.execute),
                    shown(&images.support)
                )
            }
            Err(error) => error.to_string().replace(&root, ""),
        }
    }
}

#[test]
fn names_are_looked_up_on_path_in_order() {
    let machine = Machine::new(&[("prefix/bin/tool", "1"), ("other/bin/tool", "2")]);
    assert_eq!(machine.check("tool", &[]), "programs: prefix/bin/tool; execute: ; support: ");
    assert_eq!(machine.check("gone", &[]), "the program `gone` was not found");
}

#[test]
fn what_can_not_be_executed_is_passed_over_and_named() {
    let machine = Machine::new(&[("prefix/bin/tool -x", ""), ("other/bin/tool", "")]);
    assert_eq!(machine.check("tool", &[]), "programs: other/bin/tool; execute: ; support: ");
    let machine = Machine::new(&[("prefix/bin/tool -x", "")]);
    assert_eq!(
        machine.check("tool", &[]),
        "`tool` can't be executed: permission denied (try `chmod +x prefix/bin/tool`)"
    );
}

#[test]
fn a_stand_in_of_a_version_manager_is_passed_over() {
    let machine =
        Machine::new(&[("pyenv/shims/python3", "#!/bin/sh"), ("other/bin/python3", "elf")]);
    assert_eq!(machine.check("python3", &[]), "programs: other/bin/python3; execute: ; support: ");
    let machine = Machine::new(&[("pyenv/shims/python3", "#!/bin/sh")]);
    assert_eq!(
        machine.check("python3", &[]),
        "the program `python3` was not found: `pyenv/shims/python3` only starts another program, which is not on PATH"
    );
}

#[test]
fn a_script_brings_its_interpreter_and_nothing_else() {
    // GIB-3.5-5
    let machine = Machine::new(&[
        ("skill/scripts/x.sh", "#![ROOT]/prefix/bin/sh -e\ncat\n"),
        ("skill/scripts/plain -x", "#![ROOT]/prefix/bin/sh\n"),
        ("skill/scripts/env.py", "#![ROOT]/other/bin/env -S python3 -B\n"),
        ("skill/scripts/lost", "#!/nowhere/sh\n"),
        ("prefix/bin/sh", "elf"),
        ("prefix/bin/cat", "elf"),
        ("other/bin/env", "elf"),
        ("other/bin/python3", "elf"),
    ]);
    assert_eq!(
        machine.check("./scripts/x.sh", &[]),
        "programs: skill/scripts/x.sh prefix/bin/sh; execute: ; support: "
    );
    assert_eq!(
        machine.check("./scripts/env.py", &[]),
        "programs: skill/scripts/env.py other/bin/env other/bin/python3; execute: ; support: "
    );
    assert_eq!(
        machine.check("./scripts/lost", &[]),
        "`skill/scripts/lost` can't be executed: its interpreter `/nowhere/sh` does not exist"
    );
    assert_eq!(
        machine.check("./scripts/plain", &[]),
        "`./scripts/plain` can't be executed: permission denied (try `chmod +x skill/scripts/plain`)"
    );
    assert_eq!(
        machine.check("./scripts/none", &[]),
        "the program `./scripts/none` was not found: the skill has no such file"
    );
}

#[test]
fn a_script_that_leads_out_of_the_skill_is_none() {
    let machine = Machine::new(&[("prefix/bin/sh", "elf")]);
    symlink(machine.root().join("prefix/bin/sh"), machine.root().join("skill/run"))
        .expect("a link");
    assert_eq!(
        machine.check("./run", &[]),
        "the program `./run` was not found: it points outside the skill's folder"
    );
}

#[test]
fn closures_follow_the_prefix_of_the_image() {
    let machine = Machine::new(&[
        ("prefix/bin/git", "elf"),
        ("prefix/libexec/git-core/git-remote-https", "elf"),
        ("prefix/share/git-core/templates/info/exclude", ""),
        ("other/bin/node", "elf"),
        ("other/bin/env", "elf"),
        ("other/bin/sh", "elf"),
        ("other/lib/node_modules/npm/bin/npm-cli.js", "#![ROOT]/other/bin/env node\n"),
        ("other/bin/python3.12", "elf"),
        ("other/lib/python3.12/os.py -x", ""),
    ]);
    let link = |target: &str, at: &str| {
        symlink(Path::new(target), machine.root().join(at)).expect("a link can be made");
    };
    link("../lib/node_modules/npm/bin/npm-cli.js", "other/bin/npm");
    link("python3.12", "other/bin/python3");
    assert_eq!(
        machine.check("git", &[]),
        "programs: prefix/bin/git; execute: prefix/libexec/git-core; support: prefix/share/git-core"
    );
    assert_eq!(
        machine.check("npm", &[]),
        "programs: other/bin/npm other/bin/node other/bin/env other/bin/sh; execute: ; support: other/lib/node_modules/npm"
    );
    assert_eq!(
        machine.check("python3", &[]),
        "programs: other/bin/python3; execute: ; support: other/lib/python3.12"
    );
    // GAIA §3.2: `shell:execute:git,npm` is these two with what they need; missing programs are omitted.
    assert_eq!(
        machine.check("git", &["npm", "docker"]),
        "programs: prefix/bin/git other/bin/npm other/bin/node other/bin/env other/bin/sh; execute: prefix/libexec/git-core; support: prefix/share/git-core other/lib/node_modules/npm"
    );
}

#[test]
fn interpreters_of_interpreters_end() {
    let machine = Machine::new(&[
        ("prefix/bin/a", "#![ROOT]/prefix/bin/b\n"),
        ("prefix/bin/b", "#![ROOT]/prefix/bin/c\n"),
        ("prefix/bin/c", "#![ROOT]/prefix/bin/d\n"),
        ("prefix/bin/d", "#![ROOT]/prefix/bin/e\n"),
        ("prefix/bin/e", "#![ROOT]/prefix/bin/f\n"),
        ("prefix/bin/f", "#![ROOT]/prefix/bin/a\n"),
        ("prefix/bin/self", "#![ROOT]/prefix/bin/self\n"),
    ]);
    assert!(machine.check("a", &[]).contains("nested too deeply"));
    assert_eq!(machine.check("self", &[]), "programs: prefix/bin/self; execute: ; support: ");
}
