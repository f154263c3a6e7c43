mod laws;

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use prowess_format::skill::Skill;
use prowess_policy::{
    ApprovalAnswer, Approvals, Decision, Digest, Grant, LineKind, Mode, Origin, Remember,
    RunRequest, Tier, Trust, decide_with_effects, grants,
};
use prowess_sandbox::{FileAccess, Input};
use tempfile::TempDir;

use super::{FileError, GrantEffects, GrantPreview, Launch, LoweredSpec, lower};
use crate::programs::Images;
use crate::world::World;

/// A home with a project in it.
struct Place {
    _folder: TempDir,
    root: PathBuf,
    environment: Vec<(String, String)>,
    current: &'static str,
}

impl Place {
    fn new(files: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        for path in files.iter().chain(&["home/project/.git/HEAD", "home/project/skill/SKILL.md"]) {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            std::fs::write(path, "").expect("it can be written");
        }
        Self { _folder: folder, root, environment: Vec::new(), current: "home/project" }
    }

    /// The machine, on which Anna has a home too.
    fn world(&self, path: &str) -> World {
        let home = self.root.join("home");
        let current = self.root.join(self.current);
        let world = World::at(&home, &current, OsStr::new(path), self.environment.clone());
        let users = self.root.join("passwd");
        let anna = self.root.join("anna").display().to_string();
        std::fs::write(&users, format!("anna:x:7:7::{anna}:/bin/sh\n")).expect("a file");
        World { users, ..world.expect("a world") }
    }

    fn lower(&self, permissions: &[&str], tier: Tier) -> Result<LoweredSpec, FileError> {
        self.lower_in(&self.world("/usr/bin:bin:/bin"), permissions, tier)
    }

    fn lower_in(
        &self,
        world: &World,
        permissions: &[&str],
        tier: Tier,
    ) -> Result<LoweredSpec, FileError> {
        let skill = skill(permissions);
        let request = RunRequest::of(&skill, "probe", "look", Digest::new("d"), Vec::new())
            .expect("it has the tool");
        let trust = Trust::of(&skill, tier, None, Origin::Local);
        let folder = self.root.join("home/project/skill");
        let decision = decided(&skill, &request, trust, world, &folder);
        let allowed = match decision {
            Decision::Ask(question) => {
                question.approve(ApprovalAnswer { remember: Remember::Once, at: 0 })
            }
            Decision::Allow(allowed) => allowed,
            Decision::Deny(denied) => panic!("{:?}", denied.reasons()),
        };
        let images = Images {
            programs: vec![PathBuf::from("/usr/bin/env"), PathBuf::from("/opt/x/bin/tool")],
            ..Images::default()
        };
        let launch = Launch {
            skill: "probe",
            is_server: false,
            skill_directory: Some(&self.root.join("home/project/skill")),
            mode: Mode::Dev,
            images: &images,
            arguments: vec!["one".into()],
            variables: vec![("COLOUR".to_owned(), "red".to_owned())],
            input: Input::Empty,
        };
        let mut lowered = lower(allowed.spec(), launch, world)?;
        let told: Vec<String> = allowed.unavailable_grants().collect();
        lowered.warnings.splice(..0, told);
        Ok(lowered)
    }

    /// What the user is told about files before the answer, without the place's root.
    fn told(&self, permissions: &[&str], skill_directory: &str, program: &str) -> String {
        let world = self.world("/usr/bin");
        let skill = skill(permissions);
        let request = RunRequest::of(&skill, "probe", "look", Digest::new("d"), Vec::new())
            .expect("it has the tool");
        let trust = Trust::of(&skill, Tier::Experimental, None, Origin::Local);
        let folder = self.root.join(skill_directory);
        let decision = decided(&skill, &request, trust, &world, &folder);
        let images = Images { programs: vec![PathBuf::from(program)], ..Images::default() };
        let lines = GrantPreview::of(&decision, &images, Some(&folder), &world).explain(&decision);
        let about_files = lines.iter().filter(|line| {
            matches!(line.kind, LineKind::May | LineKind::MayNot | LineKind::Closed)
                && !line.text.starts_with("may not ")
                && !line.text.starts_with("may run ")
        });
        let lines: Vec<String> = about_files
            .map(|line| {
                let mark = if line.kind == LineKind::May { "+" } else { "-" };
                format!("{mark} {}", line.text.replace(&format!("{}/", self.root.display()), ""))
            })
            .collect();
        lines.join("\n")
    }

    /// The file grants, without the place's root.
    fn check(&self, permissions: &[&str]) -> String {
        match self.lower(permissions, Tier::Experimental) {
            Ok(lowered) => self.shown(&lowered),
            Err(error) => error.to_string().replace(&format!("{}/", self.root.display()), ""),
        }
    }

    fn shown(&self, lowered: &LoweredSpec) -> String {
        let mut lines: Vec<String> = lowered
            .spec
            .files
            .iter()
            .map(|grant| {
                let access = match grant.access {
                    FileAccess::Read => "r",
                    FileAccess::Execute => "x",
                    FileAccess::Write => "w",
                };
                let path = grant.path.strip_prefix(&self.root).unwrap_or(&grant.path).display();
                let pattern =
                    grant.pattern.as_ref().map_or(String::new(), |text| format!(" {text}"));
                let create = if grant.create { " create" } else { "" };
                format!("{access} {path}{pattern}{create}")
            })
            .collect();
        lines.sort();
        let warnings = lowered.warnings.iter().map(|warning| format!("warning: {warning}"));
        lines.extend(
            warnings.map(|warning| warning.replace(&format!("{}/", self.root.display()), "")),
        );
        lines.join("\n")
    }
}

fn decided(
    skill: &Skill,
    request: &RunRequest,
    trust: Trust,
    world: &World,
    folder: &Path,
) -> Decision {
    let effects = GrantEffects::new(world, Some(folder));
    let effect_of = |grant: &Grant| effects.effect_of(grant);
    let (grants, approvals) = (grants::of(skill), Approvals::default());
    decide_with_effects(request, trust, &grants, &approvals, Mode::Dev, &effect_of)
}

fn skill(permissions: &[&str]) -> Skill {
    let permissions: Vec<String> =
        permissions.iter().map(|text| format!("  - \"{text}\"\n")).collect();
    let permissions = if permissions.is_empty() {
        String::new()
    } else {
        format!("permissions:\n{}", permissions.concat())
    };
    let text = format!(
        "---\nname: probe\nversion: 1.0.0\ndescription: Looks\n{permissions}---\n\n### look\n\nLooks.\n\n#### Command\n\n```bash\nenv\n```\n"
    );
    prowess_format::check(&text, prowess_format::ReadOptions::DETECT).skill
}

#[test]
fn the_skill_is_read_only_inside_what_is_written() {
    let place = Place::new(&["home/project/src/main.rs"]);
    insta::assert_snapshot!(place.check(&[]), @"
    r home/project/.git/hooks
    w home/project
    x home/project/skill
    ");
}

#[test]
fn hooks_and_settings_of_every_repository_stay_as_they_are() {
    let place = Place::new(&[
        "home/project/.git/config",
        "home/project/.git/hooks/pre-commit",
        "home/project/vendor/sub/.git/config",
        "home/project/vendor/sub/.git/HEAD",
        "home/project/module/.git",
        "home/project/.vscode/tasks.json",
        "home/project/deep/down/.mcp.json",
    ]);
    insta::assert_snapshot!(place.check(&[]), @"
    r home/project/.git/config
    r home/project/.git/hooks
    r home/project/.vscode
    r home/project/deep/down/.mcp.json
    r home/project/module/.git
    r home/project/vendor/sub/.git/config
    r home/project/vendor/sub/.git/hooks
    w home/project
    x home/project/skill
    ");
}

#[test]
fn declared_files_replace_the_working_directory() {
    let place = Place::new(&["home/.gaia/data/a", "home/project/data/a.csv"]);
    insta::assert_snapshot!(
        place.check(&["filesystem:read:~/.gaia/data/**", "filesystem:write:./output/**"]), @"
    r home/.gaia/data
    w home/project/output create
    x home/project/skill
    ");
    insta::assert_snapshot!(
        place.check(&["filesystem:read:./data/*.csv", "filesystem:write:./report.md"]), @"
    r home/project/.git/hooks
    r home/project/data *.csv
    w home/project report.md create
    w home/project report.md/** create
    x home/project/skill
    ");
    insta::assert_snapshot!(place.check(&["filesystem:none"]), @"x home/project/skill");
}

#[test]
fn a_grant_through_a_link_is_refused() {
    let place = Place::new(&["home/.ssh/id"]);
    symlink(place.root.join("home/.ssh"), place.root.join("home/project/output")).expect("a link");
    insta::assert_snapshot!(
        place.check(&["filesystem:write:./output/**"]),
        @"the grant `./output/**` goes through the symbolic link `home/project/output`: name the folder it points to"
    );
    insta::assert_snapshot!(
        place.check(&["filesystem:read:./output/keys/*.pem"]),
        @"the grant `./output/keys/*.pem` goes through the symbolic link `home/project/output`: name the folder it points to"
    );
}

#[test]
fn a_home_is_opened_without_its_secrets() {
    let mut place = Place::new(&[
        "home/.ssh/id",
        "home/.bashrc",
        "home/.config/gh/hosts.yml",
        "home/.config/editor/settings",
        "home/.local/share/prowess/approvals.json",
        "home/.local/share/notes/a",
        "home/docs/letter.txt",
    ]);
    place.current = "home/docs";
    symlink("/etc", place.root.join("home/etc")).expect("a link");
    // Outside of a repository the working directory is the home, and `./` is all of it.
    insta::assert_snapshot!(place.check(&[]), @"
    r home/.bashrc
    r home/project/.git/hooks
    w home/.config/editor
    w home/.local/share/notes
    w home/docs
    w home/project
    x home/project/skill
    ");
    insta::assert_snapshot!(place.check(&["filesystem:read:~/.ssh/config"]), @"x home/project/skill");
    std::fs::write(place.root.join("home/.ssh/config"), "").expect("it can be written");
    insta::assert_snapshot!(place.check(&["filesystem:read:~/.ssh/config"]), @"
    r home/.ssh/config
    x home/project/skill
    ");
}

#[test]
fn a_pattern_does_not_reach_into_secrets() {
    let place = Place::new(&["home/.ssh/id", "home/a.csv"]);
    insta::assert_snapshot!(place.check(&["filesystem:read:~/*.csv"]), @"
    r home *.csv
    x home/project/skill
    ");
    insta::assert_snapshot!(
        place.check(&["filesystem:read:~/**/*.csv"]),
        @"the grant `~/**/*.csv` includes `home/.ssh`, which no pattern may include: name a folder"
    );
    insta::assert_snapshot!(
        place.check(&["filesystem:write:~/.bash*"]),
        @"the grant `~/.bash*` includes `home/.bash_history`, which no pattern may include: name a folder"
    );
}

#[test]
fn everything_is_everything_but_the_kernel_and_the_secrets() {
    let place = Place::new(&["home/.ssh/id", "home/docs/a"]);
    // Not for writing: that would look for repositories on the whole machine, and mean it.
    let lowered = place.lower(&["filesystem:read"], Tier::Verified).expect("it can be lowered");
    let access = |path: &Path| {
        lowered.spec.files.iter().find(|grant| grant.path == path).map(|grant| grant.access)
    };
    assert_eq!(access(Path::new("/usr")), Some(FileAccess::Read));
    assert_eq!(access(Path::new("/proc")), None);
    assert!(!lowered.spec.files.iter().any(|grant| grant.path.ends_with(".ssh")));
}

#[test]
fn running_inside_the_skill_does_not_open_it() {
    let mut place = Place::new(&["home/project/skill/.git/HEAD", "home/project/skill/sub/a"]);
    place.current = "home/project/skill/sub";
    insta::assert_snapshot!(place.check(&[]), @"
    r home/project/skill/.git
    x home/project/skill
    warning: gets no access from `filesystem:write:./**`: home/project/skill is the skill itself and stays read-only
    ");
}

#[test]
fn the_environment_is_a_short_list() {
    let mut place = Place::new(&[]);
    for (name, value) in [
        ("LANG", "C.UTF-8"),
        ("LC_TIME", "de_DE.UTF-8"),
        ("TERM", "xterm"),
        ("USER", "anna"),
        ("HOME", "/home/anna"),
        ("PATH", "/home/anna/bin"),
        ("GITHUB_TOKEN", "secret"),
        ("AWS_REGION", "secret"),
        ("my_secret", "secret"),
        ("LD_PRELOAD", "/tmp/x.so"),
        ("EDITOR", "vi"),
        ("PROWESS_SKILL_NAME", "forged"),
    ] {
        place.environment.push((name.to_owned(), value.to_owned()));
    }
    let shown = |permissions: &[&str]| {
        let lowered = place.lower(permissions, Tier::Experimental).expect("it can be lowered");
        let variables = lowered.spec.environment.iter();
        let lines =
            variables.map(|(name, value)| format!("{}={}", name.display(), value.display()));
        lines.collect::<Vec<_>>().join("\n").replace(&*place.root.to_string_lossy(), "[ROOT]")
    };
    // GIB-5.2-1, GIB-5.2-2, GIB-5.2-3
    insta::assert_snapshot!(shown(&[]), @"
    COLOUR=red
    GIBBERISH_MODE=Dev
    GIBBERISH_SKILL_DIR=[ROOT]/home/project/skill
    GIBBERISH_SKILL_NAME=probe
    HOME=/home/skill
    LANG=C.UTF-8
    LC_TIME=de_DE.UTF-8
    PATH=/usr/bin:/opt/x/bin
    PROWESS_MODE=Dev
    PROWESS_SKILL_DIR=[ROOT]/home/project/skill
    PROWESS_SKILL_NAME=probe
    TERM=xterm
    USER=anna
    ");
    let granted = shown(&["env:read:GITHUB_TOKEN", "filesystem:read:~/notes/**"]);
    assert!(granted.contains("GITHUB_TOKEN=secret"), "{granted}");
    assert!(granted.contains("HOME=[ROOT]/home\n"), "`~` means inside what it means outside");
    assert!(!granted.contains("AWS_REGION"), "{granted}");
}

#[test]
fn limits_come_from_the_tier() {
    let place = Place::new(&[]);
    let limits = |tier| place.lower(&[], tier).expect("it can be lowered").spec.limits;
    assert_eq!(limits(Tier::Experimental).memory, Some(2 << 30));
    assert_eq!(limits(Tier::Experimental).time.as_secs(), 30);
    assert_eq!(limits(Tier::Experimental).grace.as_secs(), 5);
    assert_eq!(limits(Tier::Verified).memory, None);
}

#[test]
fn what_is_granted_and_never_opened_is_told_before_the_answer() {
    let place = Place::new(&[
        "home/.bashrc",
        "home/.config/prowess/credentials/KEY",
        "home/.config/editor/settings",
        "home/.local/share/prowess/approvals.json",
        "home/project/.git/hooks/pre-commit",
        "home/project/data/a",
    ]);
    let told = |permissions: &[&str]| place.told(permissions, "home/project/skill", "/usr/bin/env");
    insta::assert_snapshot!(told(&["filesystem:write:~/.bashrc"]), @"
    + may read files at ~/.bashrc, because the skill declares `filesystem:write:~/.bashrc`
    - gets only read access from `filesystem:write:~/.bashrc`: no tool may change home/.bashrc, because shells run it when they start
    ");
    insta::assert_snapshot!(told(&["filesystem:write:~/.config/**"]), @"
    + may write files below ~/.config, because the skill declares `filesystem:write:~/.config/**`
    - may change only home/.config/editor in home/.config, and create nothing next to them; never home/.config/prowess
    ");
    insta::assert_snapshot!(told(&["filesystem:write:~/.local/**"]), @"
    + may read files below ~/.local, because the skill declares `filesystem:write:~/.local/**`
    - gets only read access from `filesystem:write:~/.local/**`: home/.local contains nothing that a tool may change, and nothing new may be created in it
    ");
    insta::assert_snapshot!(told(&["filesystem:write:./.git/hooks/**"]), @"
    + may read files below ./.git/hooks, because the skill declares `filesystem:write:./.git/hooks/**`
    - gets only read access from `filesystem:write:./.git/hooks/**`: no tool may change `.git/hooks`, because git runs programs that it names
    ");
    insta::assert_snapshot!(told(&["filesystem:write:./data/**", "filesystem:read:./**"]), @"
    + may write files below ./data, because the skill declares `filesystem:write:./data/**`
    + may read files in the working directory, because the skill declares `filesystem:read:./**`
    ");
    insta::assert_snapshot!(place.check(&["filesystem:write:~/.bashrc"]), @"
    r home/.bashrc
    x home/project/skill
    warning: gets only read access from `filesystem:write:~/.bashrc`: no tool may change home/.bashrc, because shells run it when they start
    ");
    insta::assert_snapshot!(place.check(&["filesystem:write:~/.local/**"]), @"
    x home/project/skill
    warning: gets only read access from `filesystem:write:~/.local/**`: home/.local contains nothing that a tool may change, and nothing new may be created in it
    ");
    insta::assert_snapshot!(place.check(&["filesystem:write:./.git/hooks/**"]), @"
    r home/project/.git/hooks
    x home/project/skill
    warning: gets only read access from `filesystem:write:./.git/hooks/**`: no tool may change `.git/hooks`, because git runs programs that it names
    ");
}

/// Attack sandbox-A10: what is protected stays so where a grant names it, or the folder around it.
#[test]
fn naming_what_is_protected_does_not_open_it() {
    let place = Place::new(&[
        "home/project/.git/config",
        "home/project/.git/hooks/pre-commit",
        "home/project/.git/modules/sub/config",
        "home/project/.vscode/tasks.json",
    ]);
    insta::assert_snapshot!(place.check(&["filesystem:write:./.git/**"]), @"
    r home/project/.git/config
    r home/project/.git/hooks
    r home/project/.git/modules
    w home/project/.git
    x home/project/skill
    ");
    insta::assert_snapshot!(place.check(&["filesystem:write:./.git/*"]), @"
    r home/project/.git/config
    r home/project/.git/hooks
    r home/project/.git/modules
    w home/project/.git * create
    x home/project/skill
    ");
    insta::assert_snapshot!(place.check(&["filesystem:write:./.git/config"]), @"
    r home/project/.git/config
    x home/project/skill
    warning: gets only read access from `filesystem:write:./.git/config`: no tool may change `.git/config`, because git runs programs that it names
    ");
    insta::assert_snapshot!(place.check(&["filesystem:write:./.git/hooks/*.sh"]), @"
    r home/project/.git/hooks *.sh
    x home/project/skill
    warning: gets only read access from `filesystem:write:./.git/hooks/*.sh`: no tool may change `.git/hooks`, because git runs programs that it names
    ");
    insta::assert_snapshot!(place.check(&["filesystem:write:./.vscode"]), @"
    r home/project/.vscode
    x home/project/skill
    warning: gets only read access from `filesystem:write:./.vscode`: no tool may change `.vscode`, because editors run programs that it names
    ");
    insta::assert_snapshot!(place.check(&["filesystem:write:~/project/.git/hooks/**"]), @"
    r home/project/.git/hooks
    x home/project/skill
    warning: gets only read access from `filesystem:write:~/project/.git/hooks/**`: no tool may change `.git/hooks`, because git runs programs that it names
    ");
    insta::assert_snapshot!(place.check(&["filesystem:write:./.mcp.json"]), @"
    x home/project/skill
    warning: gets no access from `filesystem:write:./.mcp.json`: no tool may change `.mcp.json`, because agents start programs that it names
    ");
}

#[test]
fn a_skill_that_is_the_working_directory_gets_no_promise_to_change_it() {
    let place = Place::new(&[]);
    insta::assert_snapshot!(place.told(&[], "home/project", "/usr/bin/env"), @"- gets no access from `filesystem:write:./**`: home/project is the skill itself and stays read-only");
}

#[test]
fn the_repository_of_a_linked_worktree_is_told() {
    let place = Place::new(&[
        "home/main/.git/HEAD",
        "home/main/.git/objects/x",
        "home/main/.git/refs/x",
        "home/main/.git/logs/x",
    ]);
    let own = place.root.join("home/main/.git/worktrees/project");
    std::fs::create_dir_all(&own).expect("a folder");
    let tree = place.root.join("home/project/.git");
    std::fs::remove_dir_all(&tree).expect("it is ours");
    let texts = [
        (tree.clone(), format!("gitdir: {}\n", own.display())),
        (own.join("gitdir"), format!("{}\n", tree.display())),
        (own.join("commondir"), "../..\n".to_owned()),
    ];
    for (path, text) in texts {
        std::fs::write(path, text).expect("it can be written");
    }
    insta::assert_snapshot!(place.told(&[], "home/skill", "/usr/bin/git"), @"
    + may write files in the working directory, where commands run
    + may read the repository home/main/.git and change its objects, refs, logs, worktrees/project, because the working directory is a linked worktree of it
    ");
    insta::assert_snapshot!(place.told(&["filesystem:read:./**"], "home/skill", "/usr/bin/git"), @"
    + may read files in the working directory, because the skill declares `filesystem:read:./**`
    + may read the repository home/main/.git, because the working directory is a linked worktree of it
    ");
    insta::assert_snapshot!(place.told(&[], "home/skill", "/usr/bin/env"), @"+ may write files in the working directory, where commands run");
}

/// Attack sandbox-A10: what runs later on the machine, and what everybody's shells start with.
#[test]
fn places_of_the_machine_and_of_others_are_not_changed() {
    let place = Place::new(&[
        "anna/.bashrc",
        "anna/.ssh/id",
        "anna/notes/x",
        "home/.local/lib/python3/x",
        "home/.inputrc",
    ]);
    let told = |permission: &str| place.told(&[permission], "home/project/skill", "/usr/bin/env");
    for (permission, why) in [
        ("filesystem:write:/etc/cron.d/**", "system settings that control"),
        ("filesystem:write:/etc/passwd", "system settings that control"),
        ("filesystem:write:/etc/ld.so.preload", "system settings that control"),
        ("filesystem:write:/etc/systemd/system/x.service", "system settings that control"),
        ("filesystem:write:/usr/lib/python3/**", "programs and libraries of the system"),
        ("filesystem:write:/usr/local/bin/**", "programs and libraries of the system"),
        ("filesystem:write:/boot/**", "loaded at boot"),
        ("filesystem:write:/var/spool/cron/**", "it schedules programs"),
        ("filesystem:write:~/.local/lib/**", "interpreters run code from it"),
        ("filesystem:write:~/.config/pip/**", "package managers run or download"),
        ("filesystem:write:~/.pam_environment", "on login"),
        ("filesystem:write:~/.inputrc", "terminals and shells"),
        ("filesystem:write:~/.pythonrc.py", "interpreters run code from it"),
    ] {
        let told = told(permission);
        assert!(told.contains(why) && !told.contains("may write files"), "{permission}: {told}");
        let lowered = place.lower(&[permission], Tier::Experimental).expect("it can be lowered");
        let is_written = lowered.spec.files.iter().any(|grant| grant.access == FileAccess::Write);
        assert!(!is_written, "{permission}: {:?}", lowered.spec.files);
    }
    let anna = |rest: &str| format!("filesystem:write:{}/anna{rest}", place.root.display());
    insta::assert_snapshot!(told(&anna("/.bashrc")).replace(&*place.root.to_string_lossy(), ""), @"
    + may read files at anna/.bashrc, because the skill declares `filesystem:write:anna/.bashrc`
    - gets only read access from `filesystem:write:anna/.bashrc`: anna/.bashrc is protected, because shells run it when they start
    ");
    insta::assert_snapshot!(place.check(&[&anna("/.profile")]).replace(&*place.root.to_string_lossy(), ""), @"
    x home/project/skill
    warning: gets no access from `filesystem:write:anna/.profile`: anna/.profile is protected, because shells run it when they start
    ");
    insta::assert_snapshot!(place.check(&[&anna("/**")]).replace(&*place.root.to_string_lossy(), ""), @"
    r anna/.bashrc
    w anna/notes
    x home/project/skill
    ");
    insta::assert_snapshot!(place.check(&[&anna("/notes/**")]), @"
    w anna/notes
    x home/project/skill
    ");
}

/// A place of keys that is not there yet is one that is missing, and not one that nobody reads.
#[test]
fn what_is_missing_and_what_is_closed_are_told_apart() {
    let place = Place::new(&[]);
    let said = |permission: &str| {
        let skill = skill(&[permission]);
        let request = RunRequest::of(&skill, "probe", "look", Digest::new("d"), Vec::new())
            .expect("it has the tool");
        let trust = Trust::of(&skill, Tier::Experimental, None, Origin::Local);
        let (world, folder) = (place.world("/usr/bin"), place.root.join("home/project/skill"));
        let decision = decided(&skill, &request, trust, &world, &folder);
        let lines = GrantPreview::of(&decision, &Images::default(), Some(&folder), &world);
        let lines = lines.explain(&decision).into_iter().filter(|line| {
            !matches!(
                line.kind,
                LineKind::Verdict | LineKind::Trust | LineKind::Limit | LineKind::FurtherLimit
            ) && !line.text.contains("best effort")
                && !line.text.starts_with("may not ")
        });
        let lines: Vec<String> = lines.map(|line| line.text).collect();
        lines.join("\n").replace(&format!("{}/", place.root.display()), "")
    };
    insta::assert_snapshot!(said("filesystem:read:~/.ssh"), @"
    may read files at ~/.ssh, because the skill declares `filesystem:read:~/.ssh`
    may run `env`, which runs arbitrary code, because its command starts `env`
    asks, because you have not approved it yet
    asks, because `filesystem:read:~/.ssh` gives access to a location where keys are stored
    asks, because `shell:execute:env` needs your consent
    home/.ssh does not exist, so nothing can be read there
    ");
    insta::assert_snapshot!(said("filesystem:write:~/.config/autostart/**"), @"
    may run `env`, which runs arbitrary code, because its command starts `env`
    gets no access from `filesystem:write:~/.config/autostart/**`: no tool may change home/.config/autostart, because it is read on login or when a desktop starts
    asks, because you have not approved it yet
    asks, because `shell:execute:env` needs your consent
    ");
    insta::assert_snapshot!(said("filesystem:write:~/new/**"), @"
    may write files below ~/new, because the skill declares `filesystem:write:~/new/**`
    may run `env`, which runs arbitrary code, because its command starts `env`
    asks, because you have not approved it yet
    asks, because `filesystem:write:~/new/**` needs your consent
    asks, because `shell:execute:env` needs your consent
    home/new does not exist yet: that folder is created, and kept if it is not empty
    ");
}

#[test]
fn prowess_itself_stays_as_it_is() {
    let place = Place::new(&["home/project/tools/prowess", "home/project/tools/other"]);
    let program = Some(place.root.join("home/project/tools/prowess"));
    let world = World { program, ..place.world("/usr/bin") };
    let shown = |permission: &str| {
        let lowered = place.lower_in(&world, &[permission], Tier::Experimental);
        place.shown(&lowered.expect("it can be lowered"))
    };
    insta::assert_snapshot!(shown("filesystem:write:./tools/**"), @"
    r home/project/tools/prowess
    w home/project/tools
    x home/project/skill
    ");
    insta::assert_snapshot!(shown("filesystem:write:./tools/prowess"), @"
    r home/project/tools/prowess
    x home/project/skill
    warning: gets only read access from `filesystem:write:./tools/prowess`: home/project/tools/prowess is prowess itself
    ");
}
