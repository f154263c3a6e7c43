//! Measures `prowess serve` beside the provider called directly and beside bare axum servers: the start, the memory at rest,
//! the first token, the rate of tokens, CPU per event, and many streams at a time with every frame checked. Prints a name
//! and a figure per line; `cargo xtask bench studio` makes ratios of them. Takes the `prowess` binary and the number of streams
//! at a time; and the address of a provider that runs already, with the address of another gateway to it.
//!
//! `studio_figures provider` and `studio_figures bare URL` are the servers that it starts: each in a process of its own,
//! so that their CPU time is not ours.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Requests whose first token is measured, each way in turn.
const FIRSTS: usize = 60;
/// Tokens of the answer whose rate is measured.
const BURST: usize = 4_000;
/// Streams and events of the measurement of CPU, and the pause between events.
const PACED_STREAMS: usize = 50;
const PACED_EVENTS: usize = 40;
const PACE_MS: u64 = 50;
/// Events of each of many streams, and their pause.
const MANY_EVENTS: usize = 20;
const MANY_PACE_MS: u64 = 1_000;

const PASSWORD: &str = "correct horse battery";

fn main() -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["provider"] => runtime.block_on(serve(Router::new().fallback(provide))),
        ["bare", provider] => {
            let provider = provider.to_owned();
            let pass = move |body: Bytes| std::future::ready(pass(provider.clone(), body));
            runtime.block_on(serve(Router::new().fallback(pass)))
        }
        [prowess, streams] => runtime.block_on(measure(prowess, streams.parse()?, None)),
        [prowess, streams, provider, gateway] => {
            runtime.block_on(measure(prowess, streams.parse()?, Some((provider, gateway))))
        }
        _ => Err("expected the prowess binary and a number of streams".into()),
    }
}

/// Serves on a free port, which is printed.
async fn serve(router: Router) -> Result<(), Error> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    say(&listener.local_addr()?.to_string());
    axum::serve(listener, router).await?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "figures are the output")]
fn say(text: &str) {
    println!("{text}");
    let _ = std::io::stdout().flush();
}

/// The scripted provider: the last message is `TOKENS MILLISECONDS`, and the answer has as many tokens with such pauses.
async fn provide(body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = request["messages"].as_array().and_then(|all| all.last());
    let asked = asked.and_then(|message| message["content"].as_str()).unwrap_or("1 0");
    let mut numbers = asked.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let (tokens, pause) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(0));
    let token = |number: u64| {
        let delta = json!({ "content": format!("t{number} ") });
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": null });
        format!("data: {}\n\n", json!({ "object": "chat.completion.chunk", "choices": [choice] }))
    };
    let events = futures_util::stream::unfold(0, move |number| async move {
        if number > 0 && number < tokens && pause > 0 {
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        let text = match number {
            number if number < tokens => token(number),
            number if number == tokens => {
                let end = json!({ "index": 0, "delta": {}, "finish_reason": "stop" });
                let end = json!({ "object": "chat.completion.chunk", "choices": [end] });
                format!("data: {end}\n\ndata: [DONE]\n\n")
            }
            _ => return None,
        };
        Some((Ok::<_, std::convert::Infallible>(text), number + 1))
    });
    let mut response = Response::new(Body::from_stream(events));
    let kind = http::HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    response
}

/// A bare axum server that hands the provider's events on, as simply as that can be done.
fn pass(provider: String, body: Bytes) -> Response {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, Error>>(64);
    tokio::spawn(async move {
        let Ok(mut events) = Events::post(&provider, "/v1/chat/completions", "", &body).await
        else {
            return;
        };
        let mut number = 0;
        while let Ok(Some(content)) = events.token().await {
            number += 1;
            let data = json!({ "content": content });
            let frame = format!("id: {number}\nevent: token\ndata: {data}\n\n");
            if sender.send(Ok(Bytes::from(frame))).await.is_err() {
                return;
            }
        }
    });
    let frames = futures_util::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|frame| (frame, receiver))
    });
    let mut response = Response::new(Body::from_stream(frames.boxed()));
    let kind = http::HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    response
}

/// A response of server-sent events, read without a library that would be measured too.
struct Events {
    stream: TcpStream,
    raw: Vec<u8>,
    /// The body without its chunks.
    body: Vec<u8>,
    /// How much of the body was looked at.
    read: usize,
    /// Whether the last chunk was seen.
    is_over: bool,
    last_id: u64,
}

impl Events {
    async fn post(address: &str, path: &str, token: &str, body: &[u8]) -> Result<Self, Error> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).await?;
        let mut events =
            Self { stream, raw: Vec::new(), body: Vec::new(), read: 0, is_over: false, last_id: 0 };
        loop {
            if let Some(end) = find(&events.raw, b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&events.raw[..end]).into_owned();
                if !head.starts_with("HTTP/1.1 200") {
                    return Err(head.into());
                }
                events.raw.drain(..end + 4);
                return Ok(events);
            }
            if !events.fill().await? {
                return Err("the connection was closed".into());
            }
        }
    }

    async fn fill(&mut self) -> Result<bool, Error> {
        Ok(self.stream.read_buf(&mut self.raw).await? > 0)
    }

    /// Moves whole chunks into the body.
    fn unpack(&mut self) -> Result<(), Error> {
        while let Some(line) = find(&self.raw, b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..line])?.trim(), 16)?;
            if self.raw.len() < line + 2 + size + 2 {
                break;
            }
            self.body.extend_from_slice(&self.raw[line + 2..line + 2 + size]);
            self.raw.drain(..line + 2 + size + 2);
            self.is_over |= size == 0;
        }
        Ok(())
    }

    /// The next frame.
    async fn frame(&mut self) -> Result<Option<String>, Error> {
        loop {
            if let Some(end) = find(&self.body[self.read..], b"\n\n") {
                let frame = self.body[self.read..self.read + end].to_vec();
                self.read += end + 2;
                if self.read > 64 << 10 {
                    self.body.drain(..self.read);
                    self.read = 0;
                }
                return Ok(Some(String::from_utf8(frame)?));
            }
            if self.is_over {
                return Ok(None);
            }
            self.unpack()?;
            let has_frame = find(&self.body[self.read..], b"\n\n").is_some();
            if !has_frame && !self.is_over && !self.fill().await? {
                return Ok(None);
            }
        }
    }

    /// The text of the next token, of the studio or of a provider. Ids must count from 1 without gaps.
    async fn token(&mut self) -> Result<Option<String>, Error> {
        while let Some(frame) = self.frame().await? {
            if let Some(id) = frame.lines().find_map(|line| line.strip_prefix("id: ")) {
                let id: u64 = id.parse()?;
                if id != self.last_id + 1 {
                    return Err(format!("event {id} follows event {}", self.last_id).into());
                }
                self.last_id = id;
            }
            let Some(data) = frame.lines().find_map(|line| line.strip_prefix("data: ")) else {
                continue;
            };
            let is_other = frame.contains("event: ") && !frame.contains("event: token");
            let Ok(data) = serde_json::from_str::<Value>(data) else { continue };
            if data["status"] == "error" {
                return Err(frame.into());
            }
            let content =
                data["content"].as_str().or(data["choices"][0]["delta"]["content"].as_str());
            if let (Some(content), false) = (content, is_other) {
                return Ok(Some(content.to_owned()));
            }
        }
        Ok(None)
    }

    /// Reads to the end; every token must be there and in its place.
    async fn all(&mut self, expected: usize) -> Result<(), Error> {
        let mut text = String::new();
        while let Some(token) = self.token().await? {
            text.push_str(&token);
        }
        let words = text.split_terminator(' ').enumerate();
        let is_whole = words.clone().count() == expected
            && words.into_iter().all(|(number, word)| word == format!("t{number}"));
        if is_whole {
            return Ok(());
        }
        Err(format!("tokens were lost or are in another order: {text}").into())
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// A server of another process, which ends with this value.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(command: &mut Command) -> Result<Self, Error> {
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let address = line.trim().rsplit(['/', ' ']).next().unwrap_or_default().to_owned();
        Ok(Self { child, address })
    }

    fn ours(arguments: &[&str]) -> Result<Self, Error> {
        Self::start(Command::new(std::env::current_exe()?).args(arguments))
    }

    /// The resident memory in bytes.
    fn memory(&self) -> Result<f64, Error> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes * 1024.0)
    }

    /// The processor time so far, in seconds.
    fn cpu(&self) -> Result<f64, Error> {
        const TICKS: f64 = 100.0;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, rest) = stat.rsplit_once(") ").ok_or("no stat")?;
        let ticks = rest.split(' ').skip(11).take(2).filter_map(|word| word.parse::<f64>().ok());
        Ok(ticks.sum::<f64>() / TICKS)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A way to the provider.
struct Way<'w> {
    address: &'w str,
    path: &'w str,
    token: &'w str,
    /// The name of the model, or `None` for the studio.
    model: Option<&'w str>,
}

impl Way<'_> {
    fn body(&self, tokens: usize, pause: u64) -> Vec<u8> {
        let asked = format!("{tokens} {pause}");
        let body = match self.model {
            None => json!({ "inputs": { "asked": asked } }),
            Some(model) => json!({
                "model": model, "stream": true, "messages": [{ "role": "user", "content": asked }],
            }),
        };
        body.to_string().into_bytes()
    }

    async fn ask(&self, tokens: usize, pause: u64) -> Result<Events, Error> {
        let body = self.body(tokens, pause);
        Events::post(self.address, self.path, self.token, &body).await
    }

    /// The time to the first token, in milliseconds.
    async fn first(&self) -> Result<f64, Error> {
        let begin = Instant::now();
        let mut events = self.ask(3, 0).await?;
        events.token().await?.ok_or("no token")?;
        let time = begin.elapsed().as_secs_f64() * 1e3;
        while events.token().await?.is_some() {}
        Ok(time)
    }

    /// Tokens per second of a long answer.
    async fn rate(&self) -> Result<f64, Error> {
        let mut events = self.ask(BURST, 0).await?;
        events.token().await?.ok_or("no token")?;
        let begin = Instant::now();
        let mut count = 0.0;
        while events.token().await?.is_some() {
            count += 1.0;
        }
        Ok(count / begin.elapsed().as_secs_f64())
    }

    /// Streams at a time, each read to its end and checked.
    async fn streams(&self, count: usize, events: usize, pause: u64) -> Result<(), Error> {
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            let (address, path) = (self.address.to_owned(), self.path.to_owned());
            let (token, body) = (self.token.to_owned(), self.body(events, pause));
            tasks.spawn(async move {
                let mut stream = Events::post(&address, &path, &token, &body).await?;
                stream.all(events).await
            });
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        Ok(())
    }
}

async fn measure(
    prowess: &str,
    streams: usize,
    gateway: Option<(&str, &str)>,
) -> Result<(), Error> {
    let own = if gateway.is_none() { Some(Server::ours(&["provider"])?) } else { None };
    let provider = match (&own, gateway) {
        (Some(own), _) => own.address.as_str(),
        (None, gateway) => gateway.map_or("", |(provider, _)| provider),
    };
    let bare = Server::ours(&["bare", provider])?;
    let folder = tempfile::tempdir()?;
    let (studio, ready) = start_studio(prowess, folder.path(), provider).await?;
    say(&format!("ready-ms {:.1}", ready.as_secs_f64() * 1e3));
    say(&format!("rest-mib {:.1}", studio.memory()? / f64::from(1 << 20)));
    let token = prepare(&studio.address).await?;
    let chat = "/v1/chat/completions";
    let direct = Way { address: provider, path: chat, token: "", model: Some("small") };
    let through = Way {
        address: &studio.address,
        path: "/api/v1/skills/ask/run",
        token: &token,
        model: None,
    };
    let passed = Way { address: &bare.address, path: chat, token: "", model: Some("small") };
    let beside = gateway.map(|(_, address)| Way {
        address,
        path: chat,
        token: "none",
        model: Some("small"),
    });
    let mut ways = vec![("direct", &direct), ("studio", &through), ("bare", &passed)];
    ways.extend(beside.as_ref().map(|way| ("gateway", way)));
    for (name, way) in &ways {
        way.first().await.map_err(|error| format!("{name}: {error}"))?;
    }
    let mut firsts = vec![Vec::new(); ways.len()];
    for _ in 0..FIRSTS {
        for (times, (_, way)) in firsts.iter_mut().zip(&ways) {
            times.push(way.first().await?);
        }
    }
    for (times, (name, _)) in firsts.iter_mut().zip(&ways) {
        say(&format!("first-{name} {:.3}", median(times)));
    }
    for (name, way) in &ways {
        let mut rates = Vec::new();
        for _ in 0..3 {
            rates.push(way.rate().await?);
        }
        say(&format!("rate-{name} {:.0}", median(&mut rates)));
    }
    for (name, way, server) in [("studio", &through, &studio), ("bare", &passed, &bare)] {
        let before = server.cpu()?;
        way.streams(PACED_STREAMS, PACED_EVENTS, PACE_MS).await?;
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let events = (PACED_STREAMS * PACED_EVENTS) as f64;
        say(&format!("cpu-{name} {:.1}", (server.cpu()? - before) / events * 1e6));
    }
    let before = studio.memory()?;
    let many = through.streams(streams, MANY_EVENTS, MANY_PACE_MS);
    let watched = async {
        let mut most: f64 = 0.0;
        loop {
            most = most.max(studio.memory().unwrap_or(0.0));
            say(&format!("most-bytes {most:.0}"));
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    tokio::select! {
        result = many => result?,
        () = watched => {}
    }
    say(&format!("before-bytes {before:.0}"));
    say(&format!("streams {streams}"));
    Ok(())
}

async fn start_studio(
    prowess: &str,
    folder: &Path,
    provider: &str,
) -> Result<(Server, Duration), Error> {
    let config = folder.join("home/.config/prowess");
    std::fs::create_dir_all(&config)?;
    let provider = format!("kind = \"openai\"\nbase_url = \"http://{provider}/v1\"\n");
    let text = format!("model = \"test/small\"\n[providers.test]\n{provider}");
    std::fs::write(config.join("config.toml"), text)?;
    let data = folder.join("data");
    let command = |arguments: &[&str]| {
        let mut command = Command::new(prowess);
        command.args(arguments).arg("--data").arg(&data).env_clear();
        command.env("HOME", folder.join("home")).env("PATH", "/usr/bin:/bin");
        command
    };
    let mut add = command(&["serve", "user", "add", "ada", "--password-stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    add.stdin.take().ok_or("no input")?.write_all(PASSWORD.as_bytes())?;
    if !add.wait()?.success() {
        return Err("the user was not added".into());
    }
    let most = "1000000";
    let limits = ["--runs-per-minute", most, "--runs", "20000", "--runs-per-user", "20000"];
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
    let begin = Instant::now();
    let server = Server::start(serve.args(limits))?;
    loop {
        if get(&server.address, "/ready").await.is_ok() {
            return Ok((server, begin.elapsed()));
        }
        if begin.elapsed() > Duration::from_secs(30) {
            return Err("the studio does not become ready".into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Logs in and creates the skill.
async fn prepare(address: &str) -> Result<String, Error> {
    let log_in = json!({ "username": "ada", "password": PASSWORD });
    let tokens = request(address, "POST", "/api/v1/auth/login", "", &log_in).await?;
    let token = tokens["access_token"].as_str().ok_or("no token")?.to_owned();
    let content =
        "---\ndescription: x\ninputs:\n  - name: asked\n    required: true\n---\n{{asked}}";
    let skill = json!({ "name": "ask", "content": content });
    request(address, "POST", "/api/v1/skills", &token, &skill).await?;
    Ok(token)
}

async fn get(address: &str, path: &str) -> Result<(), Error> {
    exchange(address, "GET", path, "", b"").await.map(|_| ())
}

async fn request(
    address: &str,
    method: &str,
    path: &str,
    token: &str,
    body: &Value,
) -> Result<Value, Error> {
    let body = exchange(address, method, path, token, body.to_string().as_bytes()).await?;
    Ok(serde_json::from_str(&body)?)
}

async fn exchange(
    address: &str,
    method: &str,
    path: &str,
    token: &str,
    body: &[u8],
) -> Result<String, Error> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         authorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // A token that is empty would be refused where none is needed.
    let head = head.replace("authorization: Bearer \r\n", "");
    stream.write_all(&[head.as_bytes(), body].concat()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    if head.starts_with("HTTP/1.1 2") {
        return Ok(body.to_owned());
    }
    Err(answer.into())
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
