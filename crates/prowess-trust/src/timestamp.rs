//! Moments, in whole seconds. The clock itself is somebody else's: every function here gets the time handed in.

use std::fmt;
use std::str::FromStr;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A moment, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time, expected one like `2026-01-31T12:00:00Z`")]
pub struct TimestampError(String);

/// Year 9999 ends here; later moments can't be written as RFC 3339.
const LATEST: i64 = 253_402_300_799;

impl Timestamp {
    /// The moment this many seconds after 1970. What can't be written down is moved to the nearest that can.
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
