//! A home, a repository and a skill in a temporary folder, and the one way in which tests call the engine.

use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Envelope, Event};
use prowess_engine::{
    ApprovalReply, ApprovalRequest, Approver, Call, CancellationToken, Clock, Consent, Engine,
    LoadedSkill, RunError, World, Writes, approve, prepare,
};
use prowess_format::skill::Skill;
use prowess_policy::{Mode, Origin, Tier, Trust};
use prowess_proxy::UpstreamRoots;
use serde_json::{Map, Value};
use tempfile::TempDir;

/// A folder with everything in it.
pub(crate) struct Scene {
    pub(crate) _folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) origin: Origin,
    pub(crate) attested: Tier,
    pub(crate) consent: Consent,
    pub(crate) mode: Mode,
    /// Time limit and grace period, where a test has to wait for them.
    pub(crate) patience: Option<(Duration, Duration)>,
    /// Who looks up names, where a test has servers on the loopback.
    pub(crate) outside: Option<Arc<dyn prowess_proxy::Resolver>>,
    /// Whom those servers are believed because of.
    pub(crate) roots: UpstreamRoots,
    /// Bytes sent and received, where a test has to reach the limit.
    pub(crate) traffic: Option<u64>,
    /// Variables of the user.
    pub(crate) variables: Vec<(String, String)>,
    /// Credentials that the user binds: `NAME=HOST`.
    pub(crate) credentials: Vec<&'static str>,
    /// Folders of the scene that come first in PATH.
    pub(crate) on_path: Vec<&'static str>,
    /// Where the skill is.
    pub(crate) skill_folder: &'static str,
    /// Where what tools write goes.
    pub(crate) writes: Writes,
}

/// Noon on some day.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> u64 {
        1_700_000_000
    }
}

/// Gives the same answer each time, and counts how often it was asked.
pub(crate) struct Scripted {
    pub(crate) reply: ApprovalReply,
    pub(crate) asked: usize,
    pub(crate) banners: usize,
    pub(crate) commands: Vec<Vec<String>>,
}

impl Scripted {
    pub(crate) fn new(reply: ApprovalReply) -> Self {
        Self { reply, asked: 0, banners: 0, commands: Vec::new() }
    }
}

impl Approver for Scripted {
    fn ask(&mut self, asked: &ApprovalRequest) -> ApprovalReply {
        self.asked += 1;
        self.banners += usize::from(asked.has_banner);
        self.commands.push(asked.command.clone());
        self.reply
    }
}

impl Scene {
    /// A scene with a skill of this front matter and these tools: name, command.
    pub(crate) fn new(front_matter: &str, tools: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        let scene = Self {
            _folder: folder,
            root,
            origin: Origin::Local,
            attested: Tier::Experimental,
            consent: Consent::InAdvance,
            mode: Mode::Global,
            patience: None,
            outside: None,
            roots: UpstreamRoots::Only(Vec::new()),
            traffic: None,
            variables: Vec::new(),
            credentials: Vec::new(),
            on_path: Vec::new(),
            skill_folder: "skill",
            writes: Writes::Live,
        };
        for folder in ["home", "repo/.git", "repo/sub"] {
            std::fs::create_dir_all(scene.root.join(folder)).expect("a folder can be made");
        }
        let mut text = format!(
            "---\nname: probe\nversion: 1.0.0\ndescription: Looks around\n{front_matter}---\n"
        );
        for (name, command) in tools {
            let line = format!(
                "\n### {name}\n\nDoes it.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | no | Some text |\n\n#### Command\n\n```bash\n{command}\n```\n"
            );
            text.push_str(&line);
        }
        scene.file("repo/.git/HEAD", "ref: refs/heads/main\n").file("skill/SKILL.md", &text)
    }

    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }

    pub(crate) fn script(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.root.join(path), mode).expect("it is ours");
        self
    }

    /// A variable of the user.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn world(&self) -> World {
        let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        // What stands for the folder one is in stays so.
        let on_path = self.on_path.iter().map(|folder| match *folder {
            "." | "" => PathBuf::from(folder),
            folder => self.root.join(folder),
        });
        let path = on_path.chain(usual);
        let path = std::env::join_paths(path).expect("no colon in them");
        let (home, current) = (self.root.join("home"), self.root.join("repo/sub"));
        let world = World::at(&home, &current, &path, self.variables.clone());
        World { writes: self.writes, ..world.expect("the folders are there") }
    }

    pub(crate) fn skill(&self) -> Skill {
        let file = self.root.join(self.skill_folder).join("SKILL.md");
        let text = std::fs::read_to_string(file).expect("it is there");
        prowess_format::check(&text, prowess_format::ReadOptions::DETECT).skill
    }

    /// The skill of the scene, with a trust.
    pub(crate) fn loaded(&self, trust: Trust) -> Arc<LoadedSkill> {
        let directory = self.root.join(self.skill_folder);
        Arc::new(LoadedSkill {
            skill: self.skill(),
            name: "probe".to_owned(),
            file: directory.join("SKILL.md"),
            directory: Some(directory),
            trust,
            diagnostics: Vec::new(),
            digest: None,
        })
    }

    /// Runs a tool with a text, as far as it comes.
    pub(crate) fn run(
        &self,
        tool: &str,
        text: Option<&str>,
        approver: &mut dyn Approver,
    ) -> Result<(Envelope, Vec<Event>), RunError> {
        self.run_cancelled(tool, text, approver, &CancellationToken::default())
    }

    pub(crate) fn run_cancelled(
        &self,
        tool: &str,
        text: Option<&str>,
        approver: &mut dyn Approver,
        cancel: &CancellationToken,
    ) -> Result<(Envelope, Vec<Event>), RunError> {
        let mut events = Vec::new();
        let mut sink = |event: &Event| events.push(event.clone());
        let envelope = self.run_to(tool, text, approver, cancel, &mut sink)?;
        Ok((envelope, events))
    }

    /// Runs a tool and hands its events on while they happen.
    pub(crate) fn run_to(
        &self,
        tool: &str,
        text: Option<&str>,
        approver: &mut dyn Approver,
        cancel: &CancellationToken,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Envelope, RunError> {
        let mut world = self.world();
        for credential in &self.credentials {
            world.bind_credential(credential)?;
        }
        let skill = self.skill();
        let values: Map<String, Value> =
            text.map(|text| ("text".to_owned(), Value::from(text))).into_iter().collect();
        let world = Arc::new(world);
        let tool = skill.tool(tool).expect("the skill has the tool").clone();
        let skill = self.loaded(Trust::of(&skill, self.attested, None, self.origin));
        let call = Call { skill, tool, values, mode: self.mode };
        let mut prepared = prepare(call, &world)?;
        if let Some((time, grace)) = self.patience {
            prepared.shorten(time, grace);
        }
        if let Some(resolver) = &self.outside {
            let here = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
            prepared.replace_outside(Arc::clone(resolver), self.roots.clone(), here);
        }
        if let Some(bytes) = self.traffic {
            prepared.limit_traffic(bytes);
        }
        let engine = Engine { clock: Arc::new(Noon), ..Engine::new(world) };
        Ok(approve(prepared, &engine, self.consent, approver)?.run(cancel, sink))
    }

    /// Runs a tool and gives its envelope; nobody is asked.
    pub(crate) fn envelope(&self, tool: &str) -> Envelope {
        let mut approver = Scripted::new(ApprovalReply::Nobody);
        self.run(tool, None, &mut approver).expect("it starts").0
    }
}

/// Runs a test of this program again, as somebody who is not root: much is built in another way then.
pub(crate) fn repeat_as_nobody(test: &str) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let copy = home.path().join("tests");
    std::fs::copy(std::env::current_exe().expect("this program"), &copy).expect("a copy");
    for path in [home.path(), &copy] {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, mode).expect("it is ours");
    }
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", "/tmp")
        .env("HOME", "/nonexistent")
        .output()
        .expect("`setpriv` is needed to become somebody else");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
