//! The only program that Python tools start outside a sandbox: the user's own interpreter, to query its version and
//! paths.
//!
//! It runs isolated and without `site` (`-I -S`), so that neither variables nor packages affect it. An interpreter in
//! an environment is never queried, see `interpreter.rs`.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::polling::{self, Interest};
use crate::world::World;

/// Time limit, longer than the slowest start of an interpreter.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum size of the result.
const MAX_OUTPUT: usize = 64 << 10;
/// Variables that select environments.
const WITHHELD: &[&str] = &["VIRTUAL_ENV", "CONDA_PREFIX"];

/// Runs one of our scripts in an interpreter; returns its output.
pub(super) fn ask(interpreter: &Path, script: &str, world: &World) -> io::Result<Vec<u8>> {
    let mut command = Command::new(interpreter);
    // Not in the current folder: a project must not influence the query.
    command.args(["-I", "-S", "-c", script]).current_dir("/").env_clear();
    for (name, value) in &world.environment {
        if !name.starts_with("PYTHON") && !WITHHELD.contains(&name.as_str()) {
            command.env(name, value);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let output = child.stdout.take().map_or_else(|| Err(io::ErrorKind::BrokenPipe.into()), read);
    if output.is_err() {
        // It may have exited just now.
        let _ = child.kill();
    }
    let status = child.wait()?;
    if status.success() { output } else { Err(io::Error::other("it failed")) }
}

fn read(mut pipe: impl Read + AsFd) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + TIMEOUT;
    let mut output = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let [is_ready] = polling::wait(&[(pipe.as_fd(), Some(Interest::Read))], Some(deadline))?;
        if !is_ready {
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            continue;
        }
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(output),
            Ok(count) if output.len() + count <= MAX_OUTPUT => {
                output.extend_from_slice(&buffer[..count]);
            }
            Ok(_) => return Err(io::Error::other("its answer is too long")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
