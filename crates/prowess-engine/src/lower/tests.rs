use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use prowess_format::skill::Skill;
use prowess_policy::{
    Answer, Approvals, Decision, Digest, Mode, Origin, Remember, Request, Tier, Trust, decide,
    grants,
};
use prowess_sandbox::{Access, Input};
use tempfile::TempDir;

use super::{FileError, Launch, Lowered, lower};
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

    fn lower(&self, permissions: &[&str], tier: Tier) -> Result<Lowered, FileError> {
        let path = OsStr::new("/usr/bin:bin:/bin");
        let home = self.root.join("home");
        let current = self.root.join(self.current);
        let world = World::at(&home, &current, path, self.environment.clone()).expect("a world");
        let skill = skill(permissions);
        let request = Request::of(&skill, "probe", "look", Digest::new("d"), Vec::new())
            .expect("it has the tool");
        let trust = Trust::of(&skill, tier, None, Origin::Local);
        let decision =
            decide(&request, trust, &grants::of(&skill), &Approvals::default(), Mode::Dev);
        let allowed = match decision {
            Decision::Ask(question) => question.approve(Answer { remember: Remember::Once, at: 0 }),
            Decision::Allow(allowed) => allowed,
            Decision::Deny(denied) => panic!("{:?}", denied.reasons()),
        };
        let images = Images {
            programs: vec![PathBuf::from("/usr/bin/env"), PathBuf::from("/opt/x/bin/tool")],
            ..Images::default()
        };
        let launch = Launch {
            skill: "probe",
            skill_directory: Some(&self.root.join("home/project/skill")),
            mode: Mode::Dev,
            images: &images,
            arguments: vec!["one".into()],
            variables: vec![("COLOUR".to_owned(), "red".to_owned())],
            input: Input::Empty,
        };
        lower(allowed.spec(), launch, &world)
    }

    /// The file grants, without the place's root.
    fn check(&self, permissions: &[&str]) -> String {
        match self.lower(permissions, Tier::Experimental) {
            Ok(lowered) => self.shown(&lowered),
            Err(error) => error.to_string().replace(&format!("{}/", self.root.display()), ""),
        }
    }

    fn shown(&self, lowered: &Lowered) -> String {
        let mut lines: Vec<String> = lowered
            .spec
            .files
            .iter()
            .map(|grant| {
                let access = match grant.access {
                    Access::Read => "r",
                    Access::Execute => "x",
                    Access::Write => "w",
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
        @"the grant `./output/**` goes through the symbolic link `home/project/output`: name the folder it leads to"
    );
    insta::assert_snapshot!(
        place.check(&["filesystem:read:./output/keys/*.pem"]),
        @"the grant `./output/keys/*.pem` goes through the symbolic link `home/project/output`: name the folder it leads to"
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
        @"the grant `~/**/*.csv` reaches into `home/.ssh`, which no pattern opens: name a folder"
    );
    insta::assert_snapshot!(
        place.check(&["filesystem:write:~/.bash*"]),
        @"the grant `~/.bash*` reaches into `home/.bashrc`, which no pattern opens: name a folder"
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
    assert_eq!(access(Path::new("/usr")), Some(Access::Read));
    assert_eq!(access(Path::new("/proc")), None);
    assert!(!lowered.spec.files.iter().any(|grant| grant.path.ends_with(".ssh")));
}

#[test]
fn running_inside_the_skill_does_not_open_it() {
    let mut place = Place::new(&["home/project/skill/.git/HEAD", "home/project/skill/sub/a"]);
    place.current = "home/project/skill/sub";
    insta::assert_snapshot!(place.check(&[]), @"
    x home/project/skill
    warning: `home/project/skill` belongs to the skill itself and stays read-only
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
