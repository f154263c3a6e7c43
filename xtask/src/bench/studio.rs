//! `cargo xtask bench studio`: `prowess serve` beside the provider called directly, bare axum, and `LiteLLM`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::example::{self, goal};
use crate::process::{self, Profile, cargo, command};
use crate::{terminal, usage};

pub(crate) const SUMMARY: &str = "`prowess serve` beside the provider itself, bare axum and LiteLLM \
     (`--streams N`, `--no-peer`, `--debug`: without optimization)";

/// What the first token may take longer through the studio, in milliseconds.
const FIRST_GOAL: f64 = 0.5;
/// The rate of tokens beside the provider's.
const RATE_GOAL: f64 = 0.95;
/// CPU per event beside a bare axum server that does the same.
const CPU_GOAL: f64 = 1.5;
/// From the start to the first answer of `/ready`, in milliseconds.
const READY_GOAL: f64 = 300.0;
/// Memory at rest, in MiB.
const REST_GOAL: f64 = 80.0;
/// Memory per open stream, in KiB.
const STREAM_GOAL: f64 = 25.0;
/// Streams at a time.
const STREAMS: &str = "5000";
/// How long the peer may take to start.
const PEER_TIME: Duration = Duration::from_mins(2);
/// A version that installs together with its own requirements.
const PEER: &str = "litellm[proxy]";

struct Options {
    profile: Profile,
    streams: String,
    has_peer: bool,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let prowess = process::build_prowess(options.profile)?;
    let program = build(options.profile)?;
    terminal::heading(&format!("Streaming, also {} answers at a time", options.streams));
    let peer = if options.has_peer { Peer::start(&program) } else { Ok(None) };
    let peer = peer.unwrap_or_else(|error| {
        println!("without LiteLLM: {error:#}");
        None
    });
    let mut measuring = command(&program);
    measuring.arg(&prowess).arg(&options.streams).stderr(Stdio::inherit());
    if let Some(peer) = &peer {
        measuring.args([&peer.provider, &peer.address]);
    }
    let output = measuring.output()?;
    ensure!(output.status.success(), "measuring failed: {}", output.status);
    print(&String::from_utf8(output.stdout)?)
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options =
        Options { profile: Profile::Release, streams: STREAMS.to_owned(), has_peer: true };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            // Its figures say little; it shows that the measurement works.
            "--debug" => options.profile = Profile::Dev,
            "--no-peer" => options.has_peer = false,
            "--streams" => {
                let number = rest.next().context("`--streams` needs a number")?;
                number.parse::<usize>().context("`--streams` needs a number")?;
                number.clone_into(&mut options.streams);
            }
            other => return Err(usage::unexpected(other)),
        }
    }
    Ok(options)
}

fn build(profile: Profile) -> Result<PathBuf> {
    let (folder, options): (_, &[&str]) = match profile {
        Profile::Release => ("release", &["--release"]),
        Profile::Dev | Profile::Start => ("debug", &[]),
    };
    process::run(
        cargo()
            .args([
                "build",
                "--quiet",
                "--package",
                "prowess-studio",
                "--example",
                "studio_figures",
            ])
            .args(options),
    )?;
    Ok(process::target_dir().join(folder).join("examples/studio_figures"))
}

fn print(text: &str) -> Result<()> {
    let figure = |name: &str| {
        example::figure(text, name).with_context(|| format!("the figure `{name}` is missing"))
    };
    let ready = figure("ready-ms")?;
    println!(
        "start to ready        {ready:.0} ms: {}",
        goal(ready < READY_GOAL, &format!("< {READY_GOAL} ms"))
    );
    let rest = figure("rest-mib")?;
    println!(
        "memory at rest        {rest:.0} MiB: {}",
        goal(rest < REST_GOAL, &format!("< {REST_GOAL} MiB"))
    );
    let (direct, studio, bare) =
        (figure("first-direct")?, figure("first-studio")?, figure("first-bare")?);
    println!(
        "first token           {studio:.2} ms, directly {direct:.2} ms, bare axum {bare:.2} ms: {}",
        goal(studio - direct < FIRST_GOAL, &format!("+{:.2} ms, < {FIRST_GOAL}", studio - direct))
    );
    let (direct, studio) = (figure("rate-direct")?, figure("rate-studio")?);
    println!(
        "tokens per second     {studio:.0}, directly {direct:.0}: {}",
        goal(studio / direct >= RATE_GOAL, &format!("{:.2} ×, ≥ {RATE_GOAL}", studio / direct))
    );
    if let (Some(first), Some(rate)) =
        (example::figure(text, "first-gateway"), example::figure(text, "rate-gateway"))
    {
        println!(
            "through LiteLLM       first token {first:.2} ms ({:.1} × ours), {rate:.0} tokens per second ({:.2} × ours)",
            first / figure("first-studio")?,
            rate / studio
        );
    }
    let (studio, bare) = (figure("cpu-studio")?, figure("cpu-bare")?);
    println!(
        "CPU per event         {studio:.0} µs, bare axum {bare:.0} µs: {}",
        goal(studio / bare <= CPU_GOAL, &format!("{:.2} ×, ≤ {CPU_GOAL}", studio / bare))
    );
    let streams = figure("streams")?;
    let most =
        text.lines().filter_map(|line| line.strip_prefix("most-bytes ")?.parse::<f64>().ok());
    let most = most.fold(0.0, f64::max);
    let each = (most - figure("before-bytes")?).max(0.0) / streams / 1024.0;
    println!(
        "{streams:.0} streams at a time  {each:.1} KiB each, no frame lost or in another place: {}",
        goal(each <= STREAM_GOAL, &format!("≤ {STREAM_GOAL} KiB"))
    );
    Ok(())
}

/// `LiteLLM` from `PyPI` in front of a scripted provider. Dropping it ends both.
struct Peer {
    provider_process: Child,
    process: Child,
    provider: String,
    address: String,
}

impl Peer {
    fn start(figures: &Path) -> Result<Option<Self>> {
        let program = install()?;
        let mut provider_process =
            command(figures).arg("provider").stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let mut provider = String::new();
        let lines = provider_process.stdout.take().context("no output")?;
        BufReader::new(lines).read_line(&mut provider)?;
        let provider = provider.trim().to_owned();
        let folder = process::target_dir().join("tools/litellm");
        let config = folder.join("bench.yaml");
        let model = format!(
            "model_list:\n  - model_name: small\n    litellm_params:\n      model: openai/small\n      \
             api_base: http://{provider}/v1\n      api_key: none\n"
        );
        fs::write(&config, model)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = fs::File::create(folder.join("bench.log"))?;
        let process = command(&program)
            .arg("--config")
            .arg(&config)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let address = format!("127.0.0.1:{port}");
        let mut peer = Self { provider_process, process, provider, address };
        let begin = Instant::now();
        while TcpStream::connect(&peer.address).is_err() {
            if let Some(status) = peer.process.try_wait()? {
                bail!("it does not start ({status}): see {}", folder.join("bench.log").display());
            }
            ensure!(begin.elapsed() < PEER_TIME, "it does not start in time");
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(Some(peer))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        for child in [&mut self.process, &mut self.provider_process] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Installs `LiteLLM` into an environment of its own, once.
fn install() -> Result<PathBuf> {
    let folder = process::target_dir().join("tools/litellm");
    let program = folder.join("bin/litellm");
    if program.is_file() {
        return Ok(program);
    }
    process::run(command("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = folder.join("bin/pip");
    process::run(command(pip).args(["install", "--quiet", PEER]))?;
    Ok(program)
}
