//! Times as text: RFC 3339 in UTC with milliseconds, so that their order is that of the text.

use std::time::{Duration, SystemTime};

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const FORMAT: &[BorrowedFormatItem<'static>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
const DATE: &[BorrowedFormatItem<'static>] = format_description!("[year]-[month]-[day]");

/// A time as text.
pub(crate) fn of(time: SystemTime) -> String {
    // A time outside of four-digit years comes from a wrong clock; the epoch is as good.
    OffsetDateTime::from(time)
        .format(FORMAT)
        .unwrap_or_else(|_| "1970-01-01T00:00:00.000Z".to_owned())
}

/// Milliseconds since 1970, as databases keep them.
pub(crate) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A time from a database as text.
pub(crate) fn of_millis(millis: i64) -> String {
    let millis = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    of(SystemTime::UNIX_EPOCH.checked_add(millis).unwrap_or(SystemTime::UNIX_EPOCH))
}

/// The date of a time from a database.
pub(crate) fn date_of_millis(millis: i64) -> String {
    of_millis(millis)[..10].to_owned()
}

/// The first millisecond of a date such as `2026-11-19`.
pub(crate) fn start_of_date(text: &str) -> Option<i64> {
    let date = time::Date::parse(text, DATE).ok()?;
    Some(date.midnight().assume_utc().unix_timestamp() * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_form() {
        let millis = 1_795_061_725_123;
        assert_eq!(of_millis(millis), "2026-11-19T04:15:25.123Z");
        assert_eq!(date_of_millis(millis), "2026-11-19");
        assert_eq!(
            start_of_date("2026-11-19").map(of_millis).as_deref(),
            Some("2026-11-19T00:00:00.000Z")
        );
        assert_eq!(start_of_date("2026-13-19"), None);
        assert_eq!(self::millis(SystemTime::UNIX_EPOCH + Duration::from_millis(5)), 5);
    }
}
