//! Points in time, in whole seconds. No function here reads the clock: callers pass the time.

use std::fmt;
use std::str::FromStr;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A point in time, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The error for text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time, expected one like `2026-01-31T12:00:00Z`")]
pub struct TimestampError(String);

/// The end of the year 9999; later times can't be written as RFC 3339.
const LATEST: i64 = 253_402_300_799;

impl Timestamp {
    /// Creates a time from seconds since 1970, clamped to the range of RFC 3339.
    pub fn from_unix(seconds: i64) -> Self {
        Self(seconds.clamp(0, LATEST))
    }

    /// Seconds since 1970.
    pub fn unix(self) -> i64 {
        self.0
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let moment = OffsetDateTime::parse(text, &Rfc3339);
        let moment = moment.map_err(|_| TimestampError(text.to_owned()))?;
        Ok(Self::from_unix(moment.unix_timestamp()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = OffsetDateTime::from_unix_timestamp(self.0)
            .expect("`from_unix` keeps to years that have four digits");
        let text =
            moment.format(&Rfc3339).expect("a year of four digits can be written as RFC 3339");
        f.write_str(&text)
    }
}
