//! A storage with the interface of S3 for a test: moto on a free port of the loopback address, with one bucket in memory.
//!
//! ```no_run
//! let Some(storage) = prowess_testkit::s3::PrivateS3::start() else { return };
//! // … pass `storage.endpoint()` to a server, with any keys …
//! ```

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// The variable with the path of the program.
const PROGRAM: &str = "PROWESS_MOTO";
/// The bucket that every storage has.
pub const BUCKET: &str = "skills";
/// What the program says once it listens.
const READY: &str = "Running on http://";

/// A running storage. Dropping it ends it, and what it has is gone.
pub struct PrivateS3 {
    server: Child,
    address: String,
}

impl PrivateS3 {
    /// Starts a storage. `None`, with a line on standard error, if the program is not there.
    pub fn start() -> Option<Self> {
        let Some(program) = std::env::var_os(PROGRAM) else {
            say("SKIPPED: moto is not installed (`cargo xtask test` installs it)");
            return None;
        };
        let mut server = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("moto can be started");
        let log = server.stderr.take().expect("it is piped");
        let mut lines = BufReader::new(log).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains(READY)).expect("moto listens");
        let (_, rest) = line.split_once(READY).expect("it was found");
        let is_part = |letter: char| letter.is_ascii_digit() || ".:".contains(letter);
        let address = rest.chars().take_while(|letter| is_part(*letter)).collect();
        // A full pipe would stop the server.
        std::thread::spawn(move || lines.for_each(drop));
        let storage = Self { server, address };
        storage.create_bucket();
        Some(storage)
    }

    /// Its address, as the setting `endpoint` has it.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    fn create_bucket(&self) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let head = format!(
            "PUT /{BUCKET} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

impl Drop for PrivateS3 {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[expect(clippy::print_stderr, reason = "a test that was skipped must say so")]
fn say(text: &str) {
    eprintln!("{text}");
}
