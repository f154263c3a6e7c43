//! Polls several pipes at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// The events to poll for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    Read,
    Write,
}

/// Waits until one of several descriptors is ready, or the deadline; returns which are ready. A closed pipe counts as
/// ready.
pub(super) fn wait<const COUNT: usize>(
    wanted: &[(BorrowedFd<'_>, Option<Interest>); COUNT],
    until: Option<Instant>,
) -> io::Result<[bool; COUNT]> {
    let flags = |interest: Interest| match interest {
        Interest::Read => PollFlags::IN,
        Interest::Write => PollFlags::OUT,
    };
    // Descriptors without interest are omitted: their closed state would wake us again and again.
    let places: Vec<usize> = (0..COUNT).filter(|at| wanted[*at].1.is_some()).collect();
    let mut events: Vec<PollFd<'_>> = wanted
        .iter()
        .filter_map(|(descriptor, interest)| {
            interest.map(|interest| PollFd::from_borrowed_fd(*descriptor, flags(interest)))
        })
        .collect();
    let left = until.map(|until| {
        let left = until.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        }
    });
    match poll(&mut events, left.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut ready = [false; COUNT];
    for (place, event) in places.into_iter().zip(&events) {
        ready[place] = !event.revents().is_empty();
    }
    Ok(ready)
}

/// Makes a pipe non-blocking.
pub(super) fn set_nonblocking(pipe: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&pipe)?;
    Ok(fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?)
}
