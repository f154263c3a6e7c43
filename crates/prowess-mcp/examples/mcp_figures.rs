//! Measures `prowess mcp` beside a bare server on the same SDK: the first list of tools of 500 skills, calls of a command
//! in the same sandbox, calls of a warm Python function, and the memory for 10,000 skills. Prints a name and a figure per
//! line; `cargo xtask bench mcp` makes ratios of them. Takes the `prowess` binary and the folder of the example `greeting`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prowess_engine::{
    ApprovalReply, Call, Consent, RunDecision, SkillResolver as _, World, prepare,
};
use prowess_policy::{Mode, Remember};
use prowess_sandbox::{Observer, OutputStream, Spec};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};

type Error = Box<dyn std::error::Error>;

const CALLS: usize = 1_000;
const WARM_UP_CALLS: usize = 20;
const LISTED: usize = 500;
const MANY: usize = 10_000;
/// How often the first list is measured: each time in a new process.
const LISTS: usize = 7;

/// The function of the example, without anything around it.
const BARE: &str = r#"
import json, sys
GREETINGS = {"en": "Hello, {}!", "de": "Hallo, {}!"}
def greet(name, language="en"):
    return {"message": GREETINGS[language].format(name), "language": language}
for line in sys.stdin:
    print(json.dumps(greet(**json.loads(line))), flush=True)
"#;

/// A server that does nothing but what it is called for.
struct BareServer {
    python: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

struct Collected(Vec<u8>);

impl Observer for Collected {
    fn output(&mut self, _: OutputStream, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

impl BareServer {
    fn start() -> Result<Self, Error> {
        let mut python = Command::new("/usr/bin/python3")
            .args(["-I", "-c", BARE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = python.stdin.take().ok_or("stdin is piped")?;
        let output = BufReader::new(python.stdout.take().ok_or("stdout is piped")?);
        Ok(Self { python: Mutex::new((input, output)) })
    }

    fn greet(&self, arguments: &Value) -> Result<String, Error> {
        let mut python = self.python.lock().unwrap_or_else(PoisonError::into_inner);
        let (input, output) = &mut *python;
        writeln!(input, "{arguments}")?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        Ok(line)
    }
}

/// `echo` behind the walls of a skill that may read its working directory.
fn echo(text: &str) -> Result<String, Error> {
    let mut spec = Spec::new("/bin/echo");
    spec.arguments = vec![text.into()];
    let mut collected = Collected(Vec::new());
    prowess_sandbox::run(spec, &mut collected)?;
    Ok(String::from_utf8(collected.0)?)
}

impl ServerHandler for BareServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let text = if request.name == "greet" {
            self.greet(&arguments)
        } else {
            let text = arguments["text"].as_str().unwrap_or_default().to_owned();
            tokio::task::spawn_blocking(move || echo(&text).map_err(|error| error.to_string()))
                .await
                .map_err(|error| error.to_string())
                .and_then(|result| result)
                .map_err(Into::into)
        };
        let text = text.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// A client that sends one request at a time.
struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Client {
    fn start(command: &mut Command) -> Result<Self, Error> {
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = server.stdin.take().ok_or("stdin is piped")?;
        let output = BufReader::new(server.stdout.take().ok_or("stdout is piped")?);
        let mut client = Self { server, input, output, number: 0 };
        client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "bench", "version": "1" },
            }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> Result<(), Error> {
        self.input.write_all(format!("{message}\n").as_bytes())?;
        Ok(())
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, Error> {
        self.number += 1;
        let number = self.number;
        self.send(&json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server has ended".into());
            }
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == number {
                return Ok(answer["result"].clone());
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Duration, Error> {
        let started = Instant::now();
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", &params)?;
        let time = started.elapsed();
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        // A figure of something else would be worse than none.
        if answer["isError"] == true || text.is_empty() {
            return Err(format!("`{tool}` failed: {answer}").into());
        }
        Ok(time)
    }

    /// The number of tools on all pages.
    fn tools(&mut self) -> Result<usize, Error> {
        let (mut count, mut params) = (0, json!({}));
        loop {
            let page = self.request("tools/list", &params)?;
            count += page["tools"].as_array().map_or(0, Vec::len);
            match page.get("nextCursor") {
                Some(cursor) if cursor.is_string() => params = json!({ "cursor": cursor }),
                _ => return Ok(count),
            }
        }
    }

    /// The resident memory of the server, in MiB.
    fn memory(&self) -> Result<u64, Error> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?;
        Ok(kib.parse::<u64>()? / 1024)
    }

    fn end(mut self) -> Result<(), Error> {
        drop(self.input);
        self.server.wait()?;
        Ok(())
    }
}

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn median(mut times: Vec<Duration>) -> u128 {
    times.sort();
    times[times.len() / 2].as_micros()
}

fn write_skills(folder: &Path, count: usize) -> Result<(), Error> {
    for number in 0..count {
        let name = format!("skill-{number}");
        let folder = folder.join(&name);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("SKILL.md"), command_skill(&name))?;
    }
    Ok(())
}

fn command_skill(name: &str) -> String {
    format!(
        "---\nname: {name}\nversion: 1.0.0\ndescription: Says a text. Use to say {name}.\npermissions: [\"shell:execute:echo\", \"filesystem:none\"]\n---\n\n### say\n\nSays a text.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | yes | What to say |\n\n#### Command\n\n```bash\necho {{{{text}}}}\n```\n"
    )
}

/// Approves every tool of the skills in a folder, as somebody at a terminal would.
fn approve(folder: &Path, world: &Arc<World>) -> Result<(), Error> {
    let engine = prowess_library::engine(Arc::clone(world));
    let library = prowess_library::Library::open(Arc::clone(world));
    let values: BTreeMap<&str, Value> =
        BTreeMap::from([("greeting", json!({ "name": "x" })), ("echo", json!({ "text": "x" }))]);
    for (name, values) in values {
        let skill = library.resolve(&folder.join(name).to_string_lossy())?;
        let tool = skill.skill.tools.first().cloned().ok_or("the skill has a tool")?;
        let Value::Object(values) = values else { return Err("an object".into()) };
        let call = Call { skill, tool, values, mode: Mode::Global };
        match prepare(call, world)?.decide(&engine, Consent::None)? {
            RunDecision::Ready(_) => {}
            RunDecision::Ask(pending) => {
                pending.answer(ApprovalReply::Yes(Remember::Tool))?;
            }
            RunDecision::Denied(denied) => return Err(format!("{denied:?}").into()),
        }
    }
    Ok(())
}

fn prowess(program: &Path, scratch: &Path, skills: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg("mcp")
        .arg(skills)
        .current_dir(scratch.join("repo"))
        .env_clear()
        .env("HOME", scratch.join("home"))
        .env("PATH", "/usr/bin:/bin");
    command
}

fn bare_server() -> Result<Command, Error> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--serve");
    Ok(command)
}

#[expect(clippy::print_stdout, reason = "the result")]
fn measure(program: &Path, greeting: &Path) -> Result<(), Error> {
    let scratch = Scratch(std::env::temp_dir().join(format!("mcp-figures-{}", std::process::id())));
    let root = &scratch.0;
    for folder in ["home", "repo/.git", "called/echo", "called/greeting", "listed", "many"] {
        std::fs::create_dir_all(root.join(folder))?;
    }
    let root = root.canonicalize()?;
    std::fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/main\n")?;
    std::fs::write(root.join("called/echo/SKILL.md"), command_skill("echo"))?;
    for file in ["SKILL.md", "tools.py"] {
        std::fs::copy(greeting.join(file), root.join("called/greeting").join(file))?;
    }
    write_skills(&root.join("listed"), LISTED)?;
    write_skills(&root.join("many"), MANY)?;
    let world = World::at(
        &root.join("home"),
        &root.join("repo"),
        "/usr/bin:/bin".as_ref(),
        vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
    )?;
    approve(&root.join("called"), &Arc::new(world))?;

    let (mut first, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..LISTS {
        let started = Instant::now();
        let mut client = Client::start(&mut prowess(program, &root, &root.join("listed")))?;
        let listing = Instant::now();
        let count =
            client.request("tools/list", &json!({}))?["tools"].as_array().map_or(0, Vec::len);
        first.push(listing.elapsed());
        whole.push(started.elapsed());
        assert_eq!(count, LISTED, "tools on the first page");
        client.end()?;
    }
    println!("first-list {}", median(first));
    println!("start-and-list {}", median(whole));

    let mut ours = Client::start(&mut prowess(program, &root, &root.join("called")))?;
    let mut bare = Client::start(&mut bare_server()?)?;
    let mut times: [Vec<Duration>; 4] = Default::default();
    let (text, name) = (json!({ "text": "hello" }), json!({ "name": "world" }));
    for turn in 0..WARM_UP_CALLS + CALLS {
        let turns = [
            bare.call("echo", &text)?,
            ours.call("echo__say", &text)?,
            bare.call("greet", &name)?,
            ours.call("greeting__greet", &name)?,
        ];
        if turn >= WARM_UP_CALLS {
            for (times, time) in times.iter_mut().zip(turns) {
                times.push(time);
            }
        }
    }
    let names = ["bare-command", "command", "bare-python", "python"];
    for (name, times) in names.into_iter().zip(times) {
        println!("{name} {}", median(times));
    }
    ours.end()?;
    bare.end()?;

    let mut client = Client::start(&mut prowess(program, &root, &root.join("many")))?;
    assert_eq!(client.tools()?, MANY, "tools on all pages");
    println!("memory {}", client.memory()?);
    client.end()
}

fn main() -> Result<(), Error> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match arguments.as_slice() {
        [option] if option.as_os_str() == "--serve" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let running = BareServer::start()?.serve(rmcp::transport::stdio_pipes()).await?;
                running.waiting().await?;
                Ok(())
            })
        }
        [program, greeting] => measure(&program.canonicalize()?, &greeting.canonicalize()?),
        _ => Err("give the `prowess` binary and the folder of the example `greeting`".into()),
    }
}
