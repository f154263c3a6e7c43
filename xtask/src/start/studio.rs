//! The studio with the example skills and a scripted model, so that the first click works without a key.

use std::fs;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::server::Server;
use crate::{process, terminal};

/// What the scripted model answers, in pieces as a real one does.
const PIECES: &[&str] = &[
    "This ",
    "is ",
    "a ",
    "scripted ",
    "model: ",
    "it ",
    "always ",
    "answers ",
    "this. ",
    "Configure ",
    "a ",
    "real ",
    "one ",
    "with ",
    "`prowess models`.",
];

/// Starts the studio beside the registry. On a terminal both run until Ctrl-C; elsewhere its health is asked for, and it is
/// stopped.
pub(super) fn run(prowess: &Path, root: &Path, registry: &Server) -> Result<()> {
    let data = root.join("target/studio");
    copy_examples(&root.join("examples"), &data.join("skills"))?;
    let model = scripted_model()?;
    let config = data.join("config/prowess");
    fs::create_dir_all(&config).context("could not create the settings of the studio")?;
    let settings = format!(
        "model = \"scripted/example\"\n[providers.scripted]\nkind = \"openai\"\nbase_url = \"http://{model}/v1\"\n"
    );
    fs::write(config.join("config.toml"), settings).context("could not write its settings")?;
    let mut command = process::command(prowess);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(&data)
        .env("XDG_CONFIG_HOME", data.join("config"))
        .env_remove("PROWESS_MODEL");
    let mut server = Server::start(&mut command)?;
    if !io::stdout().is_terminal() {
        return server.check_health();
    }
    server.check_health()?;
    terminal::say("");
    terminal::say(&format!("  The studio    http://{}", server.address));
    terminal::say(&format!("  The registry  http://{}", registry.address));
    terminal::say("");
    terminal::say("Both run until Ctrl-C.");
    while let Some(line) = server.next_line()? {
        terminal::say(&line);
    }
    Ok(())
}

/// Copies skills that are not there yet: what somebody has changed in the browser stays.
fn copy_examples(from: &Path, to: &Path) -> Result<()> {
    let entries = fs::read_dir(from).context("could not list the examples")?;
    for entry in entries.flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if !source.join("SKILL.md").is_file() || target.exists() {
            continue;
        }
        copy_folder(&source, &target)?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("could not create `{}`", to.display()))?;
    for entry in
        fs::read_dir(from).with_context(|| format!("could not list `{}`", from.display()))?
    {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            fs::copy(&source, &target)
                .with_context(|| format!("could not copy `{}`", source.display()))?;
        }
    }
    Ok(())
}

/// A model that always says the same, on a thread that ends with this process; returns its address.
fn scripted_model() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no port is free")?;
    let address = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                // A client that leaves is nothing to report.
                let _ = answer(stream);
            });
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    io::copy(&mut reader.take(length), &mut io::sink())?;
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    )?;
    for piece in PIECES {
        let chunk =
            serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": piece } }] });
        stream.write_all(format!("data: {chunk}\n\n").as_bytes())?;
        stream.flush()?;
        // As fast as a person reads, so that the stream can be seen.
        std::thread::sleep(Duration::from_millis(60));
    }
    let end = serde_json::json!({
        "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": PIECES.len() },
    });
    stream.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes())
}
