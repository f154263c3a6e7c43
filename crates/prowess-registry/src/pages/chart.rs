//! Installs per day as an SVG line, drawn by a template without styles of its own.

use std::fmt::Write as _;

use super::words::{counted, day, grouped};

/// The width of the drawing in its own units; the page scales it.
const WIDTH: u64 = 640;
/// The height of the part with the line.
const HEIGHT: u64 = 120;
/// The space above the highest point.
const TOP: u64 = 8;

/// A chart of one number per day.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// What is shown, its range and its trend, as the title of the drawing.
    pub(crate) title: String,
    /// The points of the line.
    pub(crate) line: String,
    /// The points of the area below it.
    pub(crate) area: String,
    /// The highest value.
    pub(crate) highest: String,
    /// The first and the last day.
    pub(crate) from: String,
    pub(crate) to: String,
    /// The same numbers per week, as a table.
    pub(crate) weeks: Vec<(String, String)>,
}

impl Chart {
    /// The chart of values of consecutive days, the last of which begins at `last_day`; none if there are no values, or only zeros.
    pub(crate) fn new(noun: &str, values: &[u64], last_day: i64) -> Option<Self> {
        const DAY: i64 = 86_400;
        let count = u64::try_from(values.len()).ok()?;
        if count < 2 {
            return None;
        }
        let highest = values.iter().copied().max().filter(|highest| *highest > 0)?;
        let mut line = String::new();
        for (index, value) in (0_u64..).zip(values) {
            let x = index * WIDTH / (count - 1);
            let y = TOP + HEIGHT - scaled(*value, highest);
            // Writing to a `String` does not fail.
            let _ = write!(line, "{}{x},{y}", if index == 0 { "" } else { " " });
        }
        let floor = TOP + HEIGHT;
        let area = format!("0,{floor} {line} {WIDTH},{floor}");
        let first_day = last_day - DAY * i64::try_from(count - 1).ok()?;
        let (from, to) = (day(first_day), day(last_day));
        let total: u64 = values.iter().fold(0, |sum, value| sum.saturating_add(*value));
        let title = format!(
            "{} from {from} to {to}, at most {} a day, {}",
            counted(total, noun),
            grouped(highest),
            trend(values)
        );
        let weeks = values
            .chunks(7)
            .enumerate()
            .map(|(index, week)| {
                let begins = first_day + DAY * 7 * i64::try_from(index).unwrap_or(0);
                let sum = week.iter().fold(0_u64, |sum, value| sum.saturating_add(*value));
                (day(begins), grouped(sum))
            })
            .collect();
        Some(Chart { title, line, area, highest: grouped(highest), from, to, weeks })
    }
}

fn scaled(value: u64, highest: u64) -> u64 {
    // In 128 bits, so that a huge number doesn't overflow; the result is at most `HEIGHT`.
    u64::try_from(u128::from(value) * u128::from(HEIGHT) / u128::from(highest)).unwrap_or(HEIGHT)
}

/// The trend in a word: the second half beside the first.
fn trend(values: &[u64]) -> &'static str {
    let (first, second) = values.split_at(values.len() / 2);
    let sum = |half: &[u64]| half.iter().fold(0_u128, |sum, value| sum + u128::from(*value));
    // Per day, since the halves may differ by one day.
    let first_rate = sum(first) * second.len() as u128;
    let second_rate = sum(second) * first.len() as u128;
    if second_rate * 10 > first_rate * 11 {
        "rising"
    } else if second_rate * 11 < first_rate * 10 {
        "falling"
    } else {
        "steady"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_says_what_it_shows() {
        let values: Vec<u64> = (0..14).map(|day| day * 10).collect();
        let chart = Chart::new("install", &values, 1_789_000_000).unwrap();
        assert_eq!(
            chart.title,
            "910 installs from 2026-08-28 to 2026-09-10, at most 130 a day, rising"
        );
        assert!(chart.line.starts_with("0,128 49,119"), "{}", chart.line);
        assert!(chart.line.ends_with("640,8"), "{}", chart.line);
        assert_eq!(
            chart.weeks,
            [
                ("2026-08-28".to_owned(), "210".to_owned()),
                ("2026-09-04".to_owned(), "700".to_owned())
            ]
        );
    }

    #[test]
    fn nothing_is_not_drawn_and_huge_numbers_are() {
        assert!(Chart::new("install", &[], 0).is_none());
        assert!(Chart::new("install", &[0, 0, 0], 0).is_none(), "a flat line says nothing");
        let huge = Chart::new("install", &[u64::MAX, 0], 0).unwrap();
        assert_eq!(huge.line, "0,8 640,128");
    }
}
