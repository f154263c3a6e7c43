//! Programs of the user's own that run outside any sandbox: an interpreter that is asked about itself, an installer.
//!
//! None of them ever runs code of a skill.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::polling::{self, Interest};
use crate::run::Cancel;
use crate::world::World;

/// What is kept of standard output, and of the end of everything that was said.
const MOST_OUTPUT: usize = 64 << 10;
const MOST_SAID: usize = 4 << 10;
/// How often it is looked whether the user has had enough.
const TICK: Duration = Duration::from_millis(100);

/// Variables that would send packages or modules somewhere else than asked. Where indexes are and how they are reached
/// is the user's business and stays.
const WITHHELD: &[&str] = &[
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_PYTHON",
    "PIP_NO_BINARY",
    "PIP_ONLY_BINARY",
    "PIP_REQUIREMENT",
    "PIP_EDITABLE",
    "PIP_REQUIRE_VIRTUALENV",
    "UV_TARGET",
    "UV_PREFIX",
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
    "UV_NO_BINARY",
    "UV_PROJECT",
    "UV_PROJECT_ENVIRONMENT",
    "UV_WORKING_DIRECTORY",
];

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) is_success: bool,
    pub(super) stdout: Vec<u8>,
    /// The end of both streams.
    pub(super) said: String,
}

/// Why there is no end to speak of.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutsideError {
    #[error("it can't be started: {0}")]
    Start(io::Error),
    #[error("it did not end within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("it was cancelled")]
    Cancelled,
}

/// Runs a program to its end, in bounded time and memory.
pub(super) fn run(
    program: &Path,
    arguments: &[OsString],
    folder: &Path,
    world: &World,
    time: Duration,
    cancel: &Cancel,
) -> Result<Ended, OutsideError> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear();
    for (name, value) in &world.environment {
        if !name.starts_with("PYTHON") && !WITHHELD.contains(&name.as_str()) {
            command.env(name, value);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(OutsideError::Start)?;
    let (Some(mut output), Some(mut error)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(OutsideError::Start(io::Error::other("its output can't be read")));
    };
    let deadline = Instant::now() + time;
    let mut ended = Ended { is_success: false, stdout: Vec::new(), said: String::new() };
    let mut said = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    let mut open = [true, true];
    let stopped = loop {
        if open == [false, false] {
            break None;
        }
        if cancel.is_asked() {
            break Some(OutsideError::Cancelled);
        }
        let now = Instant::now();
        if now >= deadline {
            break Some(OutsideError::TimedOut(time));
        }
        let wanted = [
            (output.as_fd(), open[0].then_some(Interest::Read)),
            (error.as_fd(), open[1].then_some(Interest::Read)),
        ];
        let ready =
            polling::wait(&wanted, Some(deadline.min(now + TICK))).map_err(OutsideError::Start)?;
        for at in (0..ready.len()).filter(|at| ready[*at]) {
            let read = if at == 0 { output.read(&mut buffer) } else { error.read(&mut buffer) };
            let bytes = match read {
                Ok(0) => {
                    open[at] = false;
                    continue;
                }
                Ok(count) => &buffer[..count],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(OutsideError::Start(error)),
            };
            if at == 0 {
                let room = MOST_OUTPUT - ended.stdout.len();
                ended.stdout.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            said.extend_from_slice(bytes);
            let excess = said.len().saturating_sub(MOST_SAID);
            said.drain(..excess);
        }
    };
    if let Some(stopped) = stopped {
        // It may have ended in this very moment, which is just as well.
        let _ = child.kill();
        let _ = child.wait();
        return Err(stopped);
    }
    ended.is_success = child.wait().map_err(OutsideError::Start)?.success();
    String::from_utf8_lossy(&said).trim().clone_into(&mut ended.said);
    Ok(ended)
}
