//! Traffic and bandwidth limits of a run.
//!
//! Every byte to or from a server passes through a [`Metered`] socket, whatever the protocol, so
//! the limits can't be bypassed (attack sandbox-C30, GAIA §4.3).

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Minimum number of bytes to wait for, rather than for single bytes.
const QUANTUM: u64 = 4096;
/// Maximum number of bytes of a single read or write.
const MAX_PORTION: u64 = 64 * 1024;

/// The traffic of a run, and its limits.
#[derive(Debug)]
pub(crate) struct Meter {
    up: AtomicU64,
    down: AtomicU64,
    cap: Option<u64>,
    cap_reached: AtomicBool,
    bucket: Option<Mutex<Bucket>>,
}

/// The result of a request to transfer bytes.
enum Allowance {
    /// This many bytes now.
    Bytes(usize),
    /// Nothing until this much time has passed.
    After(Duration),
    /// Nothing: the limit is reached.
    Exhausted,
}

impl Meter {
    pub(crate) fn new(cap: Option<u64>, bytes_per_second: Option<u64>) -> Self {
        Meter {
            up: AtomicU64::new(0),
            down: AtomicU64::new(0),
            cap,
            cap_reached: AtomicBool::new(false),
            bucket: bytes_per_second.map(|rate| Mutex::new(Bucket::new(rate))),
        }
    }

    pub(crate) fn bytes_up(&self) -> u64 {
        self.up.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes_down(&self) -> u64 {
        self.down.load(Ordering::Relaxed)
    }

    /// Whether a transfer was aborted.
    pub(crate) fn cap_reached(&self) -> bool {
        self.cap_reached.load(Ordering::Relaxed)
    }

    /// The limit, if it is reached. Records that a transfer was aborted.
    pub(crate) fn exhausted(&self) -> Option<u64> {
        let cap = self.cap.filter(|&cap| self.bytes_up() + self.bytes_down() >= cap)?;
        self.cap_reached.store(true, Ordering::Relaxed);
        Some(cap)
    }

    fn allowance(&self, wanted: usize, now: Instant) -> Allowance {
        let wanted = (wanted as u64).min(MAX_PORTION);
        let wanted = match self.cap {
            Some(cap) => match cap.saturating_sub(self.bytes_up() + self.bytes_down()) {
                0 => return Allowance::Exhausted,
                left => wanted.min(left),
            },
            None => wanted,
        };
        let granted = match &self.bucket {
            None => wanted,
            Some(bucket) => {
                let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
                match bucket.available(wanted, now) {
                    Ok(available) => available,
                    Err(wait) => return Allowance::After(wait),
                }
            }
        };
        Allowance::Bytes(usize::try_from(granted).expect("at most MAX_PORTION"))
    }

    fn count(&self, direction: &AtomicU64, bytes: usize) {
        direction.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(bucket) = &self.bucket {
            bucket.lock().unwrap_or_else(PoisonError::into_inner).take(bytes as u64);
        }
    }

    fn cut(&self) -> io::Error {
        self.cap_reached.store(true, Ordering::Relaxed);
        io::Error::other("the traffic limit of the run is reached")
    }
}

/// A token bucket: `rate` bytes per second, with a capacity of a tenth of a second.
#[derive(Debug)]
struct Bucket {
    rate: u64,
    capacity: u64,
    bytes: u64,
    filled: Instant,
}

impl Bucket {
    fn new(rate: u64) -> Self {
        let capacity = (rate / 10).max(1);
        Bucket { rate, capacity, bytes: capacity, filled: Instant::now() }
    }

    /// How many bytes may be transferred now, or how long to wait.
    fn available(&mut self, wanted: u64, now: Instant) -> Result<u64, Duration> {
        self.refill(now);
        let enough = wanted.min(QUANTUM).min(self.capacity);
        if self.bytes >= enough {
            return Ok(wanted.min(self.bytes));
        }
        let missing = u128::from(enough - self.bytes);
        let nanos = (missing * 1_000_000_000).div_ceil(u128::from(self.rate));
        Err(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    fn take(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    fn refill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.filled).as_nanos();
        let inflow = elapsed * u128::from(self.rate) / 1_000_000_000;
        if inflow >= u128::from(self.capacity - self.bytes) {
            self.bytes = self.capacity;
            self.filled = now;
            return;
        }
        // Advance the time by the whole bytes only, so that the remainder is not lost.
        let nanos = inflow * 1_000_000_000 / u128::from(self.rate);
        self.bytes += u64::try_from(inflow).expect("smaller than the capacity");
        self.filled += Duration::from_nanos(u64::try_from(nanos).expect("at most what elapsed"));
    }
}

/// A stream whose bytes are counted and rate-limited.
#[derive(Debug)]
pub(crate) struct Metered<S> {
    stream: S,
    meter: Arc<Meter>,
    // Both directions may wait at once, in different tasks.
    read_delay: Option<Pin<Box<Sleep>>>,
    write_delay: Option<Pin<Box<Sleep>>>,
}

impl<S> Metered<S> {
    pub(crate) fn new(stream: S, meter: Arc<Meter>) -> Self {
        Metered { stream, meter, read_delay: None, write_delay: None }
    }
}

/// Waits until a transfer is allowed; 0 means that the limit is reached.
fn poll_allowance(
    meter: &Meter,
    delay: &mut Option<Pin<Box<Sleep>>>,
    wanted: usize,
    ctx: &mut Context<'_>,
) -> Poll<usize> {
    loop {
        if let Some(sleep) = delay {
            ready!(sleep.as_mut().poll(ctx));
            *delay = None;
        }
        match meter.allowance(wanted, Instant::now()) {
            Allowance::Bytes(granted) => return Poll::Ready(granted),
            Allowance::After(wait) => *delay = Some(Box::pin(tokio::time::sleep(wait))),
            Allowance::Exhausted => return Poll::Ready(0),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let granted =
            ready!(poll_allowance(&this.meter, &mut this.read_delay, buf.remaining(), ctx));
        if granted == 0 {
            // A transfer of exactly the limit may still end properly. One byte more is not
            // delivered.
            let mut byte = [0];
            let mut probe = ReadBuf::new(&mut byte);
            ready!(Pin::new(&mut this.stream).poll_read(ctx, &mut probe))?;
            return Poll::Ready(match probe.filled() {
                [] => Ok(()),
                _ => Err(this.meter.cut()),
            });
        }
        let mut portion = ReadBuf::new(buf.initialize_unfilled_to(granted));
        ready!(Pin::new(&mut this.stream).poll_read(ctx, &mut portion))?;
        let length = portion.filled().len();
        buf.advance(length);
        this.meter.count(&this.meter.down, length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let granted = ready!(poll_allowance(&this.meter, &mut this.write_delay, bytes.len(), ctx));
        if granted == 0 {
            return Poll::Ready(Err(this.meter.cut()));
        }
        let length = ready!(Pin::new(&mut this.stream).poll_write(ctx, &bytes[..granted]))?;
        this.meter.count(&this.meter.up, length);
        Poll::Ready(Ok(length))
    }

    fn poll_flush(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(ctx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(ctx)
    }
}

#[cfg(test)]
mod tests;
