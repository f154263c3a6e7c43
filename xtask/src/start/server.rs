//! A server of the binary, as a child of its own that never outlives this process.

use std::io::{self, BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::terminal;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that listens.
pub(super) struct Server {
    child: Child,
    /// The address that it chose.
    pub(super) address: String,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Starts a server, and waits for the line with its address.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let mut child =
            command.stdout(Stdio::piped()).spawn().context("could not start the server")?;
        let output = child.stdout.take().context("the server has no output")?;
        let mut server =
            Self { child, address: String::new(), lines: BufReader::new(output).lines() };
        let first = server.lines.next().transpose()?.unwrap_or_default();
        match first.strip_prefix("listening on http://") {
            Some(address) => address.clone_into(&mut server.address),
            None => bail!("the server did not start: {first}"),
        }
        Ok(server)
    }

    /// Asks for its health, and fails unless it is well.
    pub(super) fn check_health(&self) -> Result<()> {
        let mut stream = TcpStream::connect(&self.address).context("the server does not listen")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream
            .write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).context("the server does not answer")?;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        terminal::say(&format!("GET http://{}/health: {status}", self.address));
        if status == "200" { Ok(()) } else { bail!("the server is not healthy") }
    }

    /// The next line that it prints, until it ends.
    pub(super) fn next_line(&mut self) -> io::Result<Option<String>> {
        self.lines.next().transpose()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
