//! What the execution service costs: queued tool runs beside the bare sandbox with as many threads, and thousands of
//! prompts that are answered at the same time. Prints a line of JSON per figure; `cargo xtask bench engine` makes a table
//! of them.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use prowess_core::{
    BoxFuture, Event, Model, ModelDelta, ModelError, ModelFacts, ModelRequest, ModelStream,
    StopReason,
};
use prowess_engine::quiz::Quizzes;
use prowess_engine::service::{
    EventLimits, EventReceiver, ExecutionService, Owner, QueueLimits, ServiceLimits, StreamLimits,
};
use prowess_engine::{
    Call, CancellationToken, CommandOutputs, Consent, Engine, LoadedSkill, NoApprover, PromptCall,
    PromptContext, SkillFolders, SkillResolver as _, World, approve, prepare, run_prompt,
};
use prowess_policy::{Mode, Origin, Tier, Trust};
use prowess_sandbox::{FileAccess, FileGrant, Observer, OutputStream, Spec};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

type Error = Box<dyn std::error::Error>;

const OWNERS: usize = 10;
const STREAMS: usize = 5000;
const TOKENS: usize = 20;
const TOKEN: &str = "cheese ";
const TOOL: &str = "---\nname: bench\nversion: 1.0.0\ndescription: Says something\n---\n\n### say\n\nSays it.\n\n#### Command\n\n```bash\necho hello\n```\n";
const PROMPT: &str = "---\nname: bench\ndescription: Asks\nmodel:\n  temperature: 0.5\n---\n\nSay something about cheese.\n";

/// A number of `/proc/self/status`.
fn status(name: &str) -> Result<u64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such figure")?;
    Ok(line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse()?)
}

fn limits(running: usize) -> ServiceLimits {
    ServiceLimits {
        queue: QueueLimits {
            running,
            running_per_owner: running,
            queued: 10_000,
            queued_per_owner: 10_000,
        },
        streams: StreamLimits { running: STREAMS, running_per_owner: STREAMS },
        events: EventLimits::USUAL,
    }
}

#[derive(Default)]
struct Printed(usize);

impl Observer for Printed {
    fn output(&mut self, _: OutputStream, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Runs per second of the bare sandbox, with as many threads as the service has and what the tool's sandbox is made of: the
/// working directory with its hooks kept read-only, the folder of the skill, and 2 GiB of memory.
fn bare(count: usize, threads: usize, tools: &Tools) -> f64 {
    let folder = &tools.world.working_directory;
    let hooks = folder.join(".git/hooks");
    let skill = tools.skill.directory.as_deref().expect("it was read from a folder");
    let files = [
        (folder.as_path(), FileAccess::Write),
        (&hooks, FileAccess::Read),
        (skill, FileAccess::Execute),
    ];
    let grant = |(path, access): (&Path, FileAccess)| FileGrant {
        path: path.to_owned(),
        access,
        pattern: None,
        create: false,
    };
    let started = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for _ in (thread..count).step_by(threads) {
                    let mut spec = Spec::new("/bin/echo");
                    spec.arguments = vec!["hello".into()];
                    spec.limits.memory = Some(2 << 30);
                    spec.files = files.map(grant).to_vec();
                    let mut printed = Printed::default();
                    prowess_sandbox::run(spec, &mut printed).expect("it runs");
                    assert_eq!(printed.0, 6);
                }
            });
        }
    });
    rate(count, started.elapsed())
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// What is the same for all tool runs.
struct Tools {
    skill: Arc<LoadedSkill>,
    world: Arc<World>,
}

impl Tools {
    /// Prepares and approves a run, and queues it.
    fn submit(
        &self,
        service: &ExecutionService,
        owner: &Owner,
    ) -> Result<prowess_engine::service::RunHandle, Error> {
        let skill = Arc::clone(&self.skill);
        let tool = skill.skill.tool("say").ok_or("the skill has the tool")?.clone();
        let call = Call { skill, tool, values: Map::new(), mode: Mode::Global };
        let prepared = prepare(call, &self.world)?;
        let engine = Engine::new(Arc::clone(&self.world));
        let ready = approve(prepared, &engine, Consent::InAdvance, &mut NoApprover)?;
        Ok(service.submit_run(owner, ready)?)
    }
}

/// How many events a run should have told and has not.
fn lost(events: &mut EventReceiver) -> usize {
    let (mut bytes, mut next, mut gaps, mut is_done) = (0, 0, 0, false);
    while let Some(frame) = events.recv_blocking() {
        gaps += usize::from(frame.sequence != next || is_done);
        next = frame.sequence + 1;
        match frame.event {
            Event::Output { bytes: printed, .. } => bytes += printed.len(),
            Event::Done(_) => is_done = true,
            _ => {}
        }
    }
    gaps + usize::from(bytes != 6) + usize::from(!is_done)
}

fn tools(count: usize, threads: usize, tools: &Tools) -> Result<Value, Error> {
    let service = ExecutionService::new(limits(threads));
    let bare_before = bare(count, threads, tools);
    let (memory, before) = (status("VmRSS")?, status("Threads")?);
    let preparing = Instant::now();
    // The first run holds the others up until all of them are queued, so that waiting is what is measured.
    let (go, _) = watch::channel(false);
    let gates: Vec<_> = (0..threads)
        .map(|number| {
            let mut wait = go.subscribe();
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            service.submit(&Owner::new(&format!("gate-{number}")), move |_, _| {
                let runtime = runtime.expect("it starts");
                let _ = runtime.block_on(wait.wait_for(|is_open| *is_open));
                prowess_core::Envelope::answered(prowess_core::AnswerDetails::default())
            })
        })
        .collect::<Result<_, _>>()?;
    let mut handles = Vec::with_capacity(count);
    for number in 0..count {
        let owner = Owner::new(&format!("owner-{}", number % OWNERS));
        handles.push(tools.submit(&service, &owner)?);
    }
    let prepared = preparing.elapsed();
    let queued = service.load().queued;
    let grown = status("VmRSS")?.saturating_sub(memory);
    let started = Instant::now();
    go.send(true)?;
    drop(gates);
    let mut most_threads = 0;
    let mut lost_events = 0;
    for mut handle in handles {
        let mut events = handle.take_events().ok_or("they are there once")?;
        lost_events += lost(&mut events);
        most_threads = most_threads.max(status("Threads")?);
        let envelope = handle.join_blocking();
        assert!(envelope.is_success(), "{:?}", envelope.error);
    }
    let time = started.elapsed();
    // Before and after, so that whatever else the machine does happens to both.
    let bare = f64::midpoint(bare_before, bare(count, threads, tools));
    Ok(json!({
        "figure": "tools",
        "runs": count,
        "queued": queued,
        "prepare_us": prepared.as_micros() / count as u128,
        "kib_per_run": grown / count as u64,
        "threads": most_threads.saturating_sub(before),
        "per_s": rate(count, time),
        "bare_per_s": bare,
        "ratio": rate(count, time) / bare,
        "lost": lost_events,
    }))
}

/// Says one token, waits until all runs have come so far, and says the rest.
struct Together {
    begun: watch::Sender<usize>,
}

struct Tokens {
    left: usize,
    begun: watch::Sender<usize>,
    wait: BoxFuture<'static, ()>,
    is_open: bool,
}

impl futures_core::Stream for Tokens {
    type Item = Result<ModelDelta, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == TOKENS - 1 && !self.is_open {
            if self.wait.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.is_open = true;
        }
        if self.left == 0 {
            return Poll::Ready(Some(Ok(ModelDelta::End(StopReason::Done))));
        }
        self.left -= 1;
        if self.left == TOKENS - 1 {
            self.begun.send_modify(|count| *count += 1);
        }
        Poll::Ready(Some(Ok(ModelDelta::Text(TOKEN.to_owned()))))
    }
}

impl Model for Together {
    fn name(&self) -> &'static str {
        "bench/together"
    }

    fn facts(&self) -> BoxFuture<'_, Result<ModelFacts, ModelError>> {
        Box::pin(async { Ok(ModelFacts::default()) })
    }

    fn answer<'m>(&'m self, _: &'m ModelRequest) -> BoxFuture<'m, Result<ModelStream, ModelError>> {
        let mut all = self.begun.subscribe();
        let wait = Box::pin(async move {
            // One more than there are runs: it is opened by hand, after everything was counted.
            let _ = all.wait_for(|count| *count > STREAMS).await;
        });
        let begun = self.begun.clone();
        let tokens = Tokens { left: TOKENS, begun, wait, is_open: false };
        Box::pin(async { Ok(Box::pin(tokens) as ModelStream) })
    }
}

async fn streams() -> Result<Value, Error> {
    let skill = prowess_format::check(PROMPT, prowess_format::ReadOptions::DETECT).skill;
    let skill = Arc::new(LoadedSkill {
        trust: Trust::of(&skill, Tier::Experimental, None, Origin::Local),
        skill,
        name: "bench".to_owned(),
        directory: None,
        file: "SKILL.md".into(),
        diagnostics: Vec::new(),
        digest: None,
    });
    let world = Arc::new(World::of_this_process()?);
    let (begun, mut all) = watch::channel(0);
    let model = Arc::new(Together { begun: begun.clone() });
    let service = ExecutionService::new(limits(1));
    let (memory, before) = (status("VmRSS")?, status("Threads")?);
    let started = Instant::now();
    let mut readers = tokio::task::JoinSet::new();
    for number in 0..STREAMS {
        let owner = Owner::new(&format!("owner-{}", number % OWNERS));
        let (skill, world, model) = (Arc::clone(&skill), Arc::clone(&world), Arc::clone(&model));
        let mut handle = service.spawn(&owner, |context, mut sink| async move {
            let cancel: CancellationToken = context.cancel().clone();
            let (values, skills) = (Map::new(), SkillFolders::default());
            let quizzes = Quizzes::of_user(&world);
            let around = PromptContext {
                world: &world,
                model: Ok(&*model),
                retriever: None,
                skills: &skills,
                quizzes: &quizzes,
                cancel: &cancel,
                hooks: None,
            };
            let call = PromptCall {
                skill: &skill,
                values: &values,
                arguments: None,
                history: &[],
                time: None,
                commands: CommandOutputs::NotRun,
            };
            run_prompt(&call, &around, &mut |event| sink.send(event)).await
        })?;
        readers.spawn(async move {
            let mut events = handle.take_events().expect("they are there once");
            let (mut text, mut next, mut gaps, mut is_done) = (0, 0, 0, false);
            while let Some(frame) = events.recv().await {
                gaps += usize::from(frame.sequence != next || is_done);
                next = frame.sequence + 1;
                match frame.event {
                    Event::Token { content } => text += content.len(),
                    Event::Done(_) => is_done = true,
                    _ => {}
                }
            }
            assert!(handle.join().await.is_success());
            gaps + usize::from(text != TOKENS * TOKEN.len()) + usize::from(!is_done)
        });
    }
    all.wait_for(|count| *count == STREAMS).await?;
    let concurrent = service.active();
    let (grown, threads) = (status("VmRSS")?.saturating_sub(memory), status("Threads")?);
    begun.send_modify(|count| *count += 1);
    let mut lost = 0;
    while let Some(reader) = readers.join_next().await {
        lost += reader?;
    }
    Ok(json!({
        "figure": "streams",
        "runs": concurrent,
        "kib_per_run": grown / STREAMS as u64,
        "threads": threads.saturating_sub(before),
        "tokens_per_s": rate(STREAMS * TOKENS, started.elapsed()),
        "lost": lost,
    }))
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    std::fs::create_dir_all(root.join("home"))?;
    std::fs::create_dir_all(root.join("repo/.git/hooks"))?;
    std::fs::create_dir_all(root.join("skills/bench"))?;
    std::fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/main\n")?;
    std::fs::write(root.join("skills/bench/SKILL.md"), TOOL)?;
    let path = std::ffi::OsString::from("/usr/local/bin:/usr/bin:/bin");
    let world = World::at(&root.join("home"), &root.join("repo"), &path, Vec::new())?;
    let skill = SkillFolders { folders: vec![root.join("skills")] }.resolve("bench")?;
    let shared = Tools { skill, world: Arc::new(world) };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // Whatever happens once per process happens here.
    tools(20, threads, &shared)?;
    for count in [1, 10, 100, 1000] {
        println!("{}", tools(count, threads, &shared)?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", runtime.block_on(streams())?);
    Ok(())
}
