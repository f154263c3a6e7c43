//! A folder with skills, a model that says what a test wants, and the one way in which tests run workflows.

use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use prowess_core::{
    BoxFuture, Event, Message, Model, ModelDelta, ModelError, ModelErrorKind, ModelFacts,
    ModelRequest, ModelStream, Passage, Query, RetrieveError, Retriever, StopReason, wire,
};
use prowess_engine::workflow::{
    self, CheckContext, FileRuns, ModelLookup, NodeExecutor, OpenRun, RunRecord, RunStore as _,
    WorkflowContext, WorkflowLimits, WorkflowOutcome, inputs_of,
};
use prowess_engine::{
    Approver, BlockingApprover, CancellationToken, Consent, Engine, NoApprover, SkillFolders, World,
};
use prowess_policy::Mode;
use prowess_proxy::{Fetcher, Resolver, UpstreamRoots};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Barrier;

/// A test that waits longer than this waits in vain. No test passes because of it.
const IN_VAIN: Duration = Duration::from_mins(1);

/// What a model says to a request.
pub(crate) enum Say {
    Text(String),
    Fail(&'static str),
    /// Nothing, for ever.
    Nothing,
    /// Waits until so many requests are open at once.
    Together(Arc<Barrier>, String),
}

type Script = dyn Fn(&ModelRequest) -> Say + Send + Sync;

/// A model that says what a test wants, and remembers what it was asked.
#[derive(Clone)]
pub(crate) struct Parrot {
    script: Arc<Script>,
    asked: Arc<Mutex<Vec<ModelRequest>>>,
}

impl Parrot {
    pub(crate) fn new(script: impl Fn(&ModelRequest) -> Say + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), asked: Arc::default() }
    }

    /// Says the system prompt and the last message again.
    pub(crate) fn echo() -> Self {
        Self::new(|request| Say::Text(format!("<{}|{}>", system(request), said(request))))
    }

    pub(crate) fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

pub(crate) fn system(request: &ModelRequest) -> &str {
    request.system.as_deref().unwrap_or_default()
}

pub(crate) fn said(request: &ModelRequest) -> &str {
    match request.messages.last() {
        Some(Message::User(text)) => text,
        _ => "",
    }
}

struct Pieces(Vec<ModelDelta>);

impl futures_core::Stream for Pieces {
    type Item = Result<ModelDelta, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop().map(Ok))
    }
}

impl Model for Parrot {
    fn name(&self) -> &'static str {
        "test/parrot"
    }

    fn facts(&self) -> BoxFuture<'_, Result<ModelFacts, ModelError>> {
        Box::pin(async { Ok(ModelFacts::default()) })
    }

    fn answer<'m>(
        &'m self,
        request: &'m ModelRequest,
    ) -> BoxFuture<'m, Result<ModelStream, ModelError>> {
        self.asked.lock().expect("nobody panicked").push(request.clone());
        Box::pin(async {
            let text = match (self.script)(request) {
                Say::Text(text) => text,
                Say::Fail(message) => {
                    return Err(ModelError::new(ModelErrorKind::Provider, message));
                }
                Say::Nothing => std::future::pending().await,
                Say::Together(barrier, text) => {
                    barrier.wait().await;
                    text
                }
            };
            let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
            let pieces = [first, rest].map(|text| ModelDelta::Text(text.to_owned()));
            let pieces =
                pieces.into_iter().chain([ModelDelta::End(StopReason::Done)]).rev().collect();
            Ok(Box::pin(Pieces(pieces)) as ModelStream)
        })
    }
}

impl ModelLookup for Parrot {
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn Model>, ModelError> {
        match name {
            Some("none/none") => {
                Err(ModelError::new(ModelErrorKind::NotConfigured, "there is no such model"))
            }
            _ => Ok(Arc::new(self.clone())),
        }
    }
}

/// All names lead to the servers of the tests, except one.
struct Names;

impl Resolver for Names {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let address = if host == "inside.test" { [10, 0, 0, 1] } else { [127, 0, 0, 1] };
        Ok(vec![Ipv4Addr::from(address).into()])
    }
}

/// A base with two passages.
pub(crate) struct Library;

impl Retriever for Library {
    fn search<'r>(
        &'r self,
        base: &'r str,
        query: &'r Query,
    ) -> BoxFuture<'r, Result<Vec<Passage>, RetrieveError>> {
        Box::pin(async move {
            if base != "docs" {
                return Err(RetrieveError::new(
                    prowess_core::RetrieveErrorKind::NotFound,
                    "there is no such base",
                )
                .remedy(prowess_core::Remedy::Advice("make one".to_owned())));
            }
            let passages =
                ["Tea is green.", "About: "].iter().enumerate().map(|(at, text)| Passage {
                    doc_id: format!("doc-{at}"),
                    chunk_index: at as u64,
                    score: 1.0,
                    text: if at == 0 {
                        (*text).to_owned()
                    } else {
                        format!("{text}{}", query.text)
                    },
                    range: 0..5,
                    pages: None,
                });
            Ok(passages.collect())
        })
    }
}

/// A home with skills, and how workflows run there.
pub(crate) struct Scene {
    _folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) consent: Consent,
    pub(crate) limits: WorkflowLimits,
    pub(crate) history: Vec<Message>,
    pub(crate) cancel: CancellationToken,
}

/// What came of a run.
pub(crate) struct FinishedWorkflow {
    pub(crate) ended: WorkflowOutcome,
    pub(crate) run: String,
    /// The events as the wire has them: name and data.
    pub(crate) lines: Vec<String>,
}

impl FinishedWorkflow {
    pub(crate) fn output(&self) -> &Value {
        self.ended.result.as_ref().expect("the workflow ended well")
    }

    pub(crate) fn error(&self) -> &str {
        self.ended.result.as_ref().expect_err("the workflow failed")
    }

    /// The events without the tokens and thoughts of nodes.
    pub(crate) fn steps(&self) -> String {
        let is_step = |line: &&String| line.starts_with("node_") || line.starts_with("workflow_");
        let lines: Vec<&str> = self.lines.iter().filter(is_step).map(String::as_str).collect();
        lines.join("\n").replace(&self.run, "RUN")
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        for name in ["home", "repo/.git", "skills"] {
            std::fs::create_dir_all(root.join(name)).expect("a folder can be made");
        }
        std::fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/main\n").expect("written");
        Self {
            _folder: folder,
            root,
            consent: Consent::None,
            limits: WorkflowLimits::USUAL,
            history: Vec::new(),
            cancel: CancellationToken::default(),
        }
    }

    pub(crate) fn skill(self, name: &str, text: &str) -> Self {
        let folder = self.root.join("skills").join(name);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        std::fs::write(folder.join("SKILL.md"), text).expect("it can be written");
        self
    }

    /// A skill that is a prompt, with these further lines of front matter.
    pub(crate) fn prompt(self, name: &str, front_matter: &str, body: &str) -> Self {
        let text = format!("---\nname: {name}\ndescription: Asks\n{front_matter}---\n\n{body}\n");
        self.skill(name, &text)
    }

    pub(crate) fn world(&self) -> World {
        let path = OsStr::new("/usr/local/bin:/usr/bin:/bin");
        World::at(&self.root.join("home"), &self.root.join("repo"), path, Vec::new())
            .expect("folders")
    }

    pub(crate) fn store(&self) -> FileRuns {
        FileRuns::of(&self.world().state)
    }

    fn skills(&self) -> SkillFolders {
        SkillFolders { folders: vec![self.root.join("skills")] }
    }

    /// Starts a workflow that has to be sound.
    pub(crate) fn run(&self, graph: &Value, inputs: &Value, model: &Parrot) -> FinishedWorkflow {
        self.run_asking(graph, inputs, model, &mut NoApprover)
    }

    pub(crate) fn run_asking(
        &self,
        graph: &Value,
        inputs: &Value,
        model: &Parrot,
        approver: &mut dyn Approver,
    ) -> FinishedWorkflow {
        self.go_on(self.create(graph, inputs), model, approver)
    }

    /// Writes down a run of a workflow that has to be sound.
    pub(crate) fn create(&self, graph: &Value, inputs: &Value) -> OpenRun {
        let text = graph.to_string();
        let skills = self.skills();
        let around = CheckContext { skills: &skills, bases: None };
        let (workflow, findings) = workflow::check(&text, around);
        // The servers of tests are on this machine.
        let unexpected = findings.iter().any(|it| it.rule.name != "workflow-guarded-address");
        assert!(!unexpected, "{findings:?}");
        let inputs = inputs.as_object().cloned().unwrap_or_default();
        let inputs = inputs_of(&workflow.expect("it was read"), inputs).expect("the inputs fit");
        let record = RunRecord { text, inputs, settings: Value::Null };
        self.store().create("Test flow", record).expect("it can be written down")
    }

    /// Goes on with a run.
    pub(crate) fn resume(&self, run: &str, model: &Parrot) -> FinishedWorkflow {
        let open = self.store().open(run).expect("the run is there");
        self.go_on(open, model, &mut NoApprover)
    }

    /// What workflows run with here.
    pub(crate) fn context(&self, model: &Parrot) -> WorkflowContext {
        let permit = vec![Ipv4Addr::LOCALHOST.into()];
        let fetcher = Fetcher::new(Arc::new(Names), UpstreamRoots::Only(Vec::new()), permit);
        WorkflowContext {
            engine: Engine::new(Arc::new(self.world())),
            models: Arc::new(model.clone()),
            retriever: Some(Arc::new(Library)),
            skills: Arc::new(self.skills()),
            fetcher: Arc::new(fetcher),
            consent: self.consent,
            mode: Mode::Global,
            history: self.history.clone().into(),
            cancel: self.cancel.clone(),
            limits: self.limits,
            executor: NodeExecutor::default(),
        }
    }

    fn go_on(
        &self,
        mut open: OpenRun,
        model: &Parrot,
        approver: &mut dyn Approver,
    ) -> FinishedWorkflow {
        let (workflow, _) = workflow::read(&open.record.text);
        let workflow = workflow.expect("it was read");
        let context = self.context(model);
        let mut writer = wire::EventWriter::default();
        let mut lines = Vec::new();
        let mut sink = |event: &Event| {
            lines.extend(writer.write(event).iter().map(|frame| {
                format!("{} {}", frame["event"].as_str().unwrap_or_default(), frame["data"])
            }));
        };
        let run = open.id.as_str().to_owned();
        let mut approver = BlockingApprover(approver);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let ended = runtime.expect("a runtime").block_on(async {
            let work = workflow::run(&workflow, &mut open, &context, &mut approver, &mut sink);
            tokio::time::timeout(IN_VAIN, work).await.expect("the workflow ends")
        });
        FinishedWorkflow { ended, run, lines }
    }
}

/// `"s:start a:llm"` with `"s>a a>e:true"`, and data for some of the nodes.
pub(crate) fn graph(nodes: &str, edges: &str, data: &Value) -> Value {
    let nodes: Vec<Value> = nodes
        .split_whitespace()
        .map(|node| {
            let (id, kind) = node.split_once(':').expect("an id and a type");
            json!({ "id": id, "type": kind, "data": data.get(id).cloned().unwrap_or(json!({})) })
        })
        .collect();
    let edges: Vec<Value> = edges
        .split_whitespace()
        .map(|edge| {
            let (ends, branch) =
                edge.split_once(':').map_or((edge, None), |(it, at)| (it, Some(at)));
            let (source, target) = ends.split_once('>').expect("an edge has two ends");
            json!({ "source": source, "target": target, "sourceHandle": branch })
        })
        .collect();
    json!({ "nodes": nodes, "edges": edges })
}
