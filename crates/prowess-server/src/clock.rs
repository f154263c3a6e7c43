//! The time, handed in so that tests can move it.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::database::{FromValue, Value};

/// A point in time, in milliseconds since 1970. It is stored as a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A point in time from milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Timestamp {
        Timestamp(millis)
    }

    /// A point in time from seconds since 1970.
    pub const fn from_seconds(seconds: i64) -> Timestamp {
        Timestamp(seconds.saturating_mul(1000))
    }

    /// Milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Seconds since 1970.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The time from `earlier` to this; zero if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).try_into().unwrap_or(0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, duration: Duration) -> Timestamp {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(millis))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;

    fn sub(self, duration: Duration) -> Timestamp {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(millis))
    }
}

/// As in RFC 3339, in UTC: `2026-11-19T04:13:00.250Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = i128::from(self.0) * 1_000_000;
        let text = OffsetDateTime::from_unix_timestamp_nanos(nanoseconds)
            .ok()
            .and_then(|time| time.format(&Rfc3339).ok());
        // Years of five digits, which RFC 3339 can't express.
        formatter.write_str(text.as_deref().unwrap_or("9999-12-31T23:59:59Z"))
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<Timestamp> for Value {
    fn from(timestamp: Timestamp) -> Value {
        Value::Integer(timestamp.0)
    }
}

impl FromValue for Timestamp {
    const EXPECTED: &'static str = "a point in time";

    fn from_value(value: Value) -> Option<Timestamp> {
        i64::from_value(value).map(Timestamp)
    }
}

/// A source of the time.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// A clock that is shared.
pub type SharedClock = Arc<dyn Clock>;

/// The clock of the system.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp(since.as_millis().try_into().unwrap_or(i64::MAX))
    }
}

/// A clock that only moves when it is told to, for tests. Clones share the time.
#[derive(Clone, Debug)]
pub struct ManualClock {
    millis: Arc<AtomicI64>,
}

impl ManualClock {
    /// A clock that stands at a point in time.
    pub fn new(now: Timestamp) -> ManualClock {
        ManualClock { millis: Arc::new(AtomicI64::new(now.millis())) }
    }

    /// Moves the time forward.
    pub fn advance(&self, duration: Duration) {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.millis.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Clock as _, ManualClock, Timestamp};

    #[test]
    fn timestamps_are_shown_as_in_rfc_3339() {
        assert_eq!(
            Timestamp::from_millis(1_700_000_000_250).to_string(),
            "2023-11-14T22:13:20.25Z"
        );
        assert_eq!(Timestamp::from_seconds(0).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn arithmetic_saturates() {
        let last = Timestamp::from_millis(i64::MAX);
        assert_eq!(last + Duration::MAX, last);
        assert_eq!(Timestamp::from_seconds(1).since(last), Duration::ZERO);
    }

    #[test]
    fn a_manual_clock_moves_for_all_its_clones() {
        let clock = ManualClock::new(Timestamp::from_seconds(5));
        clock.clone().advance(Duration::from_secs(2));
        assert_eq!(clock.now(), Timestamp::from_seconds(7));
    }
}
