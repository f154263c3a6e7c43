//! Times as people read them.

use time::OffsetDateTime;

/// A day, such as `2026-11-19`.
pub(crate) fn date(seconds: i64) -> String {
    match OffsetDateTime::from_unix_timestamp(seconds) {
        Ok(time) => format!("{:04}-{:02}-{:02}", time.year(), u8::from(time.month()), time.day()),
        Err(_) => "an unknown day".to_owned(),
    }
}
