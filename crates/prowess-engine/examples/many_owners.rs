//! How a server uses the engine: many owners, questions that are kept by id until somebody answers, a bounded pool, events
//! that are streamed to whoever reads them, and runs that are cancelled.
//!
//! A web server would have the parts of `main` in its handlers: one prepares a call and shows the question, one takes the
//! answer, one streams events, one cancels. Run it with `cargo run -p prowess-engine --example many_owners`.

use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Event, Problem, RunId};
use prowess_engine::service::{
    EventLimits, ExecutionService, Owner, QueueLimits, RunHandle, ServiceLimits, Shutdown,
    StreamLimits,
};
use prowess_engine::{
    ApprovalReply, ApprovalRequest, Call, Consent, Engine, LoadedSkill, PendingLimits, PendingRuns,
    RunDecision, SkillFolders, SkillResolver as _, SystemClock, World, prepare,
};
use prowess_policy::{Mode, Remember};
use serde_json::{Map, Value};

type Error = Box<dyn std::error::Error>;

const SKILL: &str = "---\nname: clock\nversion: 1.0.0\ndescription: Waits and says something\npermissions: [\"shell:execute:sleep\"]\n---\n\n### say\n\nSays it.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | yes | What to say |\n\n#### Command\n\n```bash\necho {{text}}\n```\n\n### wait\n\nWaits for an hour.\n\n#### Command\n\n```bash\nsleep 3600\n```\n";

/// What a server keeps: it is shared by all handlers.
struct Server {
    service: ExecutionService,
    engine: Engine,
    skill: Arc<LoadedSkill>,
    /// Runs that wait for a person, by the id that the person's page has.
    pending: PendingRuns,
}

/// What a request for a run comes to.
enum Requested {
    /// It is queued.
    Run(Box<RunHandle>),
    /// A person has to be asked; the page shows the question.
    Question(Box<ApprovalRequest>),
}

impl Server {
    /// Prepares a call and decides about it. Nothing waits here for a person.
    fn request(
        &self,
        owner: &Owner,
        tool: &str,
        values: Map<String, Value>,
    ) -> Result<Requested, Error> {
        let skill = Arc::clone(&self.skill);
        let tool = skill.skill.tool(tool).ok_or("the skill has the tool")?.clone();
        let call = Call { skill, tool, values, mode: Mode::Global };
        match prepare(call, &self.engine.world)?.decide(&self.engine, Consent::None)? {
            RunDecision::Ready(ready) => {
                Ok(Requested::Run(Box::new(self.service.submit_run(owner, ready)?)))
            }
            RunDecision::Ask(pending) => {
                let question = self.pending.keep(owner.as_str(), *pending)?;
                Ok(Requested::Question(Box::new(question)))
            }
            RunDecision::Denied(denied) => Err(format!("refused: {:?}", denied.reasons()).into()),
        }
    }

    /// Takes a person's yes, minutes later. Whatever has changed meanwhile is found when the run starts.
    fn approve(&self, owner: &Owner, id: RunId) -> Result<RunHandle, Error> {
        let pending = self.pending.take(owner.as_str(), id)?;
        let ready = pending.answer(ApprovalReply::Yes(Remember::Once))?;
        Ok(self.service.submit_run(owner, ready)?)
    }
}

/// Streams the events of a run, as a handler for server-sent events does.
#[expect(clippy::print_stdout, reason = "an example")]
async fn stream(name: &str, mut handle: RunHandle) -> Result<(), Error> {
    let mut events = handle.take_events().ok_or("they are there once")?;
    while let Some(frame) = events.recv().await {
        match frame.event {
            Event::Output { bytes, .. } => {
                println!("{name} #{}: {}", frame.sequence, String::from_utf8_lossy(&bytes).trim());
            }
            Event::Done(envelope) => {
                println!("{name} #{}: {}", frame.sequence, envelope.outcome.as_str());
            }
            _ => {}
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    for path in ["home", "project", "skills/clock"] {
        std::fs::create_dir_all(root.join(path))?;
    }
    std::fs::write(root.join("skills/clock/SKILL.md"), SKILL)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let limits = ServiceLimits {
        queue: QueueLimits { running: 2, running_per_owner: 1, queued: 8, queued_per_owner: 2 },
        streams: StreamLimits { running: 100, running_per_owner: 10 },
        events: EventLimits::USUAL,
    };
    let world = World::at(&root.join("home"), &root.join("project"), &path, Vec::new())?;
    let server = Server {
        service: ExecutionService::new(limits),
        engine: Engine::new(Arc::new(world)),
        skill: SkillFolders { folders: vec![root.join("skills")] }.resolve("clock")?,
        pending: PendingRuns::new(PendingLimits::USUAL, Arc::new(SystemClock)),
    };

    // Two people want something, and each is shown a question. Their pages may stay open for an hour.
    let mut pending = Vec::new();
    for name in ["ada", "grace"] {
        let values = Map::from_iter([("text".to_owned(), format!("hello from {name}").into())]);
        match server.request(&Owner::new(name), "say", values)? {
            Requested::Run(handle) => stream(name, *handle).await?,
            Requested::Question(question) => {
                println!("{name} is asked: {}", question.reasons.join("; "));
                pending.push((name, question.id));
            }
        }
    }
    for (name, id) in pending {
        let handle = server.approve(&Owner::new(name), id)?;
        stream(name, handle).await?;
    }

    // Ada fills her part of the queue; grace is not held up by it.
    let mut waiting = Vec::new();
    let ada = Owner::new("ada");
    let refused: Problem = loop {
        let Requested::Question(question) = server.request(&ada, "wait", Map::new())? else {
            return Err("it is asked about each time".into());
        };
        match server.approve(&ada, question.id) {
            Ok(handle) => waiting.push(handle),
            Err(error) => break *error.downcast::<Problem>()?,
        }
    };
    println!("ada has {} runs; the next one: {} ({})", waiting.len(), refused, refused.code);
    for handle in &waiting {
        println!("ada's run {} is {:?}", handle.id(), handle.state());
    }

    // A page is closed: its run is cancelled by id. The others go with the service.
    server.service.cancel(waiting[0].id());
    println!("cancelled: {}", waiting.remove(0).join().await.outcome.as_str());
    let ended = server.service.shutdown(Shutdown::Cancel, Duration::from_secs(10)).await;
    println!("everything has ended: {ended}");
    Ok(())
}
