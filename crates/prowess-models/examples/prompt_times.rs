//! What a prompt skill costs beyond the model: the time to the first token and the rate of tokens through the engine,
//! beside the same request by a bare streaming client, and the memory of many runs at a time. Prints a name and a figure
//! per line; `cargo xtask bench prompt` makes ratios of them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_core::{Event, Model};
use prowess_engine::quiz::Quizzes;
use prowess_engine::{
    CancellationToken, CommandOutputs, LoadedSkill, PromptCall, PromptContext, SkillFolders, World,
    run_prompt,
};
use prowess_format::skill::Skill;
use prowess_models as models;
use prowess_policy::{Origin, Tier, Trust};
use serde_json::Map;

const RUNS: usize = 300;
const WARM_UP_RUNS: usize = 30;
const TOKENS: usize = 200;
const CONCURRENT: usize = 1000;
/// In a prompt, it asks for one token and then silence.
const HOLD: &str = "hold-the-line";

type Error = Box<dyn std::error::Error>;

const SKILL: &str = "---\nname: bench\ndescription: Asks\nmodel:\n  temperature: 0.5\n---\n\nSay something about cheese.\n";

/// A server that says tokens as fast as it can, one write each.
fn serve() -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", listener.local_addr()?.port())?;
    out.flush()?;
    for connection in listener.incoming() {
        let connection = connection?;
        connection.set_nodelay(true)?;
        // Small, because there is a thread for each of a thousand connections.
        std::thread::Builder::new().stack_size(64 << 10).spawn(move || answer(connection))?;
    }
    Ok(())
}

fn answer(connection: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(4 << 10, connection.try_clone()?);
    let mut writer = connection;
    loop {
        let mut length = 0;
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
        let mut chunk = |text: &str| write!(writer, "{:x}\r\n{text}\r\n", text.len());
        let token = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"cheese \"}}]}\n\n";
        chunk(token)?;
        if body.windows(HOLD.len()).any(|window| window == HOLD.as_bytes()) {
            // Until the client has gone.
            let _ = reader.read(&mut [0])?;
            return Ok(());
        }
        for _ in 1..TOKENS {
            chunk(token)?;
        }
        chunk(
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        )?;
        chunk("")?;
    }
}

struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Result<Self, Error> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut port = String::new();
        BufReader::new(child.stdout.take().ok_or("stdout is piped")?).read_line(&mut port)?;
        Ok(Self { child, url: format!("http://127.0.0.1:{}/v1", port.trim()) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The request that the engine makes, by hand; the times of the first token and of the last one.
async fn bare(client: &reqwest::Client, url: &str) -> Result<[Duration; 2], Error> {
    let body = format!(
        "{{\"model\":\"m\",\"messages\":[{{\"role\":\"system\",\"content\":\"You are a helpful AI assistant.\"}},{{\"role\":\"user\",\"content\":\"{}\"}}],\"stream\":true}}",
        "Say something about cheese."
    );
    let started = Instant::now();
    let request = client.post(format!("{url}/chat/completions"));
    let mut response = request.header("content-type", "application/json").body(body).send().await?;
    let mut first = None;
    let mut bytes = 0;
    while let Some(chunk) = response.chunk().await? {
        first.get_or_insert_with(|| started.elapsed());
        bytes += chunk.len();
    }
    assert!(bytes > TOKENS * 10, "everything came");
    Ok([first.ok_or("nothing came")?, started.elapsed()])
}

fn loaded(skill: Skill) -> LoadedSkill {
    LoadedSkill {
        trust: Trust::of(&skill, Tier::Experimental, None, Origin::Local),
        skill,
        name: "bench".to_owned(),
        directory: None,
        file: PathBuf::from("SKILL.md"),
        diagnostics: Vec::new(),
        digest: None,
    }
}

/// The same through the engine.
async fn engine(skill: &LoadedSkill, world: &World, model: &dyn Model) -> [Duration; 2] {
    let (values, skills, cancel) =
        (Map::new(), SkillFolders::default(), CancellationToken::default());
    let quizzes = Quizzes::of_user(world);
    let around = PromptContext {
        world,
        model: Ok(model),
        retriever: None,
        skills: &skills,
        quizzes: &quizzes,
        cancel: &cancel,
        hooks: None,
    };
    let call = PromptCall {
        skill,
        values: &values,
        arguments: None,
        history: &[],
        time: None,
        commands: CommandOutputs::NotRun,
    };
    let started = Instant::now();
    let mut first = None;
    let mut tokens = 0;
    let envelope = run_prompt(&call, &around, &mut |event| {
        if matches!(event, Event::Token { .. }) {
            first.get_or_insert_with(|| started.elapsed());
            tokens += 1;
        }
    })
    .await;
    assert!(envelope.is_success(), "{:?}", envelope.error);
    assert_eq!(tokens, TOKENS);
    [first.unwrap_or_default(), started.elapsed()]
}

fn resident_kib() -> Result<u64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// The memory of a run that has begun to answer, with many of them at a time.
async fn memory(world: &Arc<World>, model: &Arc<Box<dyn Model>>) -> Result<u64, Error> {
    let text = SKILL.replace("Say something about cheese.", HOLD);
    let skill =
        Arc::new(loaded(prowess_format::check(&text, prowess_format::ReadOptions::DETECT).skill));
    let before = resident_kib()?;
    let (begun, mut told) = tokio::sync::mpsc::unbounded_channel();
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..CONCURRENT {
        let (skill, world, model, begun) =
            (Arc::clone(&skill), Arc::clone(world), Arc::clone(model), begun.clone());
        runs.spawn(async move {
            let (values, skills, cancel) =
                (Map::new(), SkillFolders::default(), CancellationToken::default());
            let quizzes = Quizzes::of_user(&world);
            let around = PromptContext {
                world: &world,
                model: Ok(&**model),
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
            run_prompt(&call, &around, &mut |event| {
                if matches!(event, Event::Token { .. }) {
                    let _ = begun.send(());
                }
            })
            .await;
        });
    }
    for _ in 0..CONCURRENT {
        told.recv().await.ok_or("a run ended early")?;
    }
    let after = resident_kib()?;
    runs.shutdown().await;
    Ok((after.saturating_sub(before)) / CONCURRENT as u64)
}

fn median(mut times: Vec<Duration>) -> u128 {
    times.sort();
    times[times.len() / 2].as_micros()
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Error> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    let server = Server::start()?;
    let variables = vec![
        ("OPENAI_BASE_URL".to_owned(), server.url.clone()),
        ("OPENAI_API_KEY".to_owned(), "sk-bench-key".to_owned()),
    ];
    let model = models::choose(Some("openai/m"), &variables, Path::new("/nonexistent"))
        .map_err(|error| error.to_string())?;
    let model = Arc::new(model);
    let world = Arc::new(World::of_this_process()?);
    let skill = loaded(prowess_format::check(SKILL, prowess_format::ReadOptions::DETECT).skill);
    // The bare client asks for one, though nothing here is encrypted; a second one would be refused.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut times: [Vec<Duration>; 4] = Default::default();
    for turn in 0..WARM_UP_RUNS + RUNS {
        // In turns, so that whatever else the machine does happens to both.
        let bare = runtime.block_on(bare(&client, &server.url))?;
        let engine = runtime.block_on(engine(&skill, &world, &**model));
        if turn >= WARM_UP_RUNS {
            for (times, time) in times.iter_mut().zip([bare[0], engine[0], bare[1], engine[1]]) {
                times.push(time);
            }
        }
    }
    let [bare_first, engine_first, bare_all, engine_all] = times.map(median);
    println!("bare-first {bare_first}\nengine-first {engine_first}");
    println!("bare-all {bare_all}\nengine-all {engine_all}");
    println!("kib-per-run {}", runtime.block_on(memory(&world, &model))?);
    Ok(())
}
