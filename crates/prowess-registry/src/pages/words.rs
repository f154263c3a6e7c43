//! Numbers and times in the words of the pages.

use time::OffsetDateTime;

/// A moment, as `<time>` needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// For programs: RFC 3339.
    pub(crate) iso: String,
    /// For people: the absolute time.
    pub(crate) absolute: String,
    /// For people: how long ago.
    pub(crate) relative: String,
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Moment {
    /// The moment `seconds` after 1970, seen from `now`.
    pub(crate) fn new(seconds: i64, now: i64) -> Self {
        Moment { iso: iso(seconds), absolute: absolute(seconds), relative: relative(seconds, now) }
    }
}

fn date(seconds: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// A moment as RFC 3339, which feeds need as well.
pub(crate) fn iso(seconds: i64) -> String {
    let moment = date(seconds);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        moment.year(),
        u8::from(moment.month()),
        moment.day(),
        moment.hour(),
        moment.minute(),
        moment.second()
    )
}

/// A day, such as `2026-11-19`.
pub(crate) fn day(seconds: i64) -> String {
    iso(seconds)[..10].to_owned()
}

fn absolute(seconds: i64) -> String {
    let moment = date(seconds);
    let month = MONTHS[usize::from(u8::from(moment.month())) - 1];
    format!(
        "{} {month} {}, {:02}:{:02} UTC",
        moment.day(),
        moment.year(),
        moment.hour(),
        moment.minute()
    )
}

fn relative(seconds: i64, now: i64) -> String {
    let past = now.saturating_sub(seconds);
    if past < 0 {
        return match past.saturating_neg() {
            ahead if ahead < HOUR => "in less than an hour".to_owned(),
            ahead if ahead < DAY => format!("in {}", counted(ahead / HOUR, "hour")),
            ahead => format!("in {}", counted(ahead / DAY, "day")),
        };
    }
    match past {
        0..MINUTE => "just now".to_owned(),
        _ if past < HOUR => format!("{} ago", counted(past / MINUTE, "minute")),
        _ if past < DAY => format!("{} ago", counted(past / HOUR, "hour")),
        _ if past < 30 * DAY => format!("{} ago", counted(past / DAY, "day")),
        _ if past < 365 * DAY => format!("{} ago", counted(past / (30 * DAY), "month")),
        _ => format!("{} ago", counted(past / (365 * DAY), "year")),
    }
}

/// `1 file`, `2 files`.
pub(crate) fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(0);
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// `41,207`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `41k`, `1.2M`: for lists, where the exact number is one click away.
pub(crate) fn rounded(number: u64) -> String {
    let tenths = |unit: u64, suffix: &str| {
        let tenths = number / (unit / 10);
        if tenths < 100 && !tenths.is_multiple_of(10) {
            format!("{}.{}{suffix}", tenths / 10, tenths % 10)
        } else {
            format!("{}{suffix}", tenths / 10)
        }
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => tenths(1_000, "k"),
        _ => tenths(1_000_000, "M"),
    }
}

/// `812 B`, `3.4 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    let tenths = |unit: u64, suffix: &str| {
        let tenths = bytes.saturating_mul(10) / unit;
        format!("{}.{} {suffix}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => tenths(1_024, "KiB"),
        _ => tenths(1_048_576, "MiB"),
    }
}

/// `Development` of `development`.
pub(crate) fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", characters.as_str())
}

/// A mean of ratings from its hundredths: `4.25` of 425, `4.5` of 450.
pub(crate) fn hundredths(value: u64) -> String {
    let text = format!("{}.{:02}", value / 100, value % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A digest short enough to compare by eye; the whole one is beside it.
pub(crate) fn short_digest(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

#[cfg(test)]
mod tests;
