//! A skill with a `tools.py`, and the one way in which tests call its tools.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Envelope, Event};
use prowess_engine::{
    Call, CancellationToken, Clock, Consent, Engine, LoadError, LoadOptions, LoadedSkill,
    NoApprover, PythonWorkers, RunError, ToolRegistry, World, Writes, approve, load_skill, prepare,
};
use prowess_format::skill::Skill;
use prowess_policy::{Mode, Origin, Tier, Trust};
use serde_json::{Map, Value};
use tempfile::TempDir;

/// A home, a repository and a skill.
pub(crate) struct Scene {
    pub(crate) _folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) workers: PythonWorkers,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) path: String,
    pub(crate) consent: Consent,
    pub(crate) patience: Option<(Duration, Duration)>,
    pub(crate) cancel: CancellationToken,
    /// Where what tools write goes.
    pub(crate) writes: Writes,
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> u64 {
        1_700_000_000
    }
}

/// The first lines of every `tools.py`.
pub(crate) const IMPORT: &str = "from gaia.agents.base.tools import tool\n";

impl Scene {
    /// A skill with one tool `go` that takes an optional text, whose body is given.
    pub(crate) fn body(body: &str) -> Self {
        Self::with("", body)
    }

    /// A skill with additional front matter.
    pub(crate) fn with(front_matter: &str, body: &str) -> Self {
        let mut text =
            format!("{IMPORT}\n@tool\ndef go(text: str = \"\"):\n    \"\"\"Goes.\"\"\"\n");
        for line in body.lines() {
            let _ = writeln!(text, "    {line}");
        }
        Self::module(front_matter, &["go"], &text)
    }

    /// A skill with some tools, each with an optional text.
    pub(crate) fn module(front_matter: &str, tools: &[&str], python: &str) -> Self {
        let permissions = if front_matter.contains("permissions:") {
            ""
        } else {
            "permissions: [filesystem:none, network:none]\n"
        };
        let mut text = format!(
            "---\nname: probe\nversion: 1.0.0\ndescription: Looks around\nauthor: a\nlicense: MIT\nsecurity_tier: experimental\n{permissions}{front_matter}tools:\n"
        );
        for tool in tools {
            let _ = write!(
                text,
                "  - name: {tool}\n    description: Goes\n    parameters:\n      text: {{type: string, required: false}}\n"
            );
        }
        text.push_str("---\n\n# Probe\n");
        Self::files(&[("SKILL.md", &text), ("tools.py", python)])
    }

    /// A skill of these files.
    pub(crate) fn files(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        let scene = Self {
            _folder: folder,
            workers: PythonWorkers::one_shot(),
            variables: vec![("HOME".to_owned(), root.join("home").display().to_string())],
            root,
            path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
            consent: Consent::InAdvance,
            patience: None,
            cancel: CancellationToken::default(),
            writes: Writes::Live,
        };
        for folder in ["home", "repo/.git"] {
            fs::create_dir_all(scene.root.join(folder)).expect("a folder can be made");
        }
        scene.write("repo/.git/HEAD", "ref: refs/heads/main\n");
        for (name, text) in files {
            scene.write(&format!("probe/{name}"), text);
        }
        scene
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    pub(crate) fn skill_folder(&self) -> PathBuf {
        self.root.join("probe")
    }

    pub(crate) fn world(&self) -> World {
        let home = self.root.join("home");
        let repository = self.root.join("repo");
        let world = World::at(&home, &repository, self.path.as_ref(), self.variables.clone());
        World { writes: self.writes, ..world.expect("the folders are there") }
    }

    pub(crate) fn skill(&self) -> Skill {
        let text = fs::read_to_string(self.root.join("probe/SKILL.md")).expect("it is there");
        prowess_format::check(&text, prowess_format::ReadOptions::DETECT).skill
    }

    /// Calls a tool with values, as far as it comes.
    pub(crate) fn call(
        &self,
        tool: &str,
        values: &Value,
    ) -> Result<(Envelope, Vec<Event>), RunError> {
        self.call_after(tool, values, || {})
    }

    /// Calls a tool while somebody watches.
    pub(crate) fn watched(
        &self,
        tool: &str,
        values: &Value,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Envelope, RunError> {
        self.call_watched(tool, values, || {}, watch).map(|(envelope, _)| envelope)
    }

    /// Runs a tool, with a callback between the decision and the run.
    pub(crate) fn call_after(
        &self,
        tool: &str,
        values: &Value,
        meanwhile: impl FnOnce(),
    ) -> Result<(Envelope, Vec<Event>), RunError> {
        self.call_watched(tool, values, meanwhile, &mut |_| {})
    }

    fn call_watched(
        &self,
        tool: &str,
        values: &Value,
        meanwhile: impl FnOnce(),
        watch: &mut dyn FnMut(&Event),
    ) -> Result<(Envelope, Vec<Event>), RunError> {
        let world = Arc::new(self.world());
        let skill = self.skill();
        let directory = self.skill_folder();
        let values: Map<String, Value> = values.as_object().cloned().unwrap_or_default();
        let tool = skill.tool(tool).expect("the skill has the tool").clone();
        let skill = Arc::new(LoadedSkill {
            name: skill.name_or("probe").to_owned(),
            trust: trust(&skill),
            skill,
            file: directory.join("SKILL.md"),
            directory: Some(directory),
            diagnostics: Vec::new(),
            digest: None,
        });
        let call = Call { skill, tool, values, mode: Mode::Global };
        let mut prepared = prepare(call, &world)?;
        if let Some((time, grace)) = self.patience {
            prepared.shorten(time, grace);
        }
        let ready = approve(prepared, &self.engine(world), self.consent, &mut NoApprover)?;
        meanwhile();
        let mut events = Vec::new();
        let mut sink = |event: &Event| {
            watch(event);
            events.push(event.clone());
        };
        let envelope = ready.run(&self.cancel, &mut sink);
        Ok((envelope, events))
    }

    fn engine(&self, world: Arc<World>) -> Engine {
        Engine { clock: Arc::new(Noon), workers: self.workers.clone(), ..Engine::new(world) }
    }

    /// Calls the tool `go`.
    pub(crate) fn go(&self) -> Envelope {
        self.call("go", &Value::Null).expect("it starts").0
    }

    /// What the tool `go` returns.
    pub(crate) fn returned(&self) -> Value {
        let envelope = self.go();
        assert!(envelope.is_success(), "{envelope:#?}");
        envelope.parsed.expect("a success has a result")
    }

    /// What went wrong with the tool `go`.
    pub(crate) fn error(&self) -> String {
        let envelope = self.go();
        envelope.error.unwrap_or_else(|| panic!("it went well: {:?}", envelope.parsed))
    }

    /// Loads the skill into a registry.
    pub(crate) fn load(&self, registry: &mut ToolRegistry) -> Result<Vec<String>, LoadError> {
        let world = Arc::new(self.world());
        let engine = self.engine(world);
        let mut loading = LoadOptions {
            engine: &engine,
            mode: Mode::Global,
            trust: &trust,
            consent: self.consent,
            approver: &mut NoApprover,
            cancel: &self.cancel,
            sink: &mut |_| {},
        };
        load_skill(&self.skill_folder(), &mut loading, registry)
    }

    /// Everything below the folder of environments, sorted; locks do not count.
    pub(crate) fn environments(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.join("home/.local/share/prowess/venvs"));
        let names = entries.into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> =
            names.filter(|name| name.split('.').nth(1) != Some("lock")).collect();
        names.sort();
        names
    }
}

fn trust(skill: &Skill) -> Trust {
    Trust::of(skill, Tier::Experimental, None, Origin::Local)
}

/// Processes that this test has started and that are still there.
pub(crate) fn children() -> usize {
    let children = fs::read_to_string("/proc/thread-self/children").expect("/proc is there");
    children.split_whitespace().count()
}
