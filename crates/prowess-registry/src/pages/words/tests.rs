use super::*;

#[test]
fn numbers_are_grouped_and_rounded() {
    let shown: Vec<_> = [0, 7, 999, 1_000, 1_240, 41_207, 999_999, 1_250_000]
        .into_iter()
        .map(|number| (grouped(number), rounded(number)))
        .collect();
    let shown: Vec<_> = shown.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        shown,
        [
            ("0", "0"),
            ("7", "7"),
            ("999", "999"),
            ("1,000", "1k"),
            ("1,240", "1.2k"),
            ("41,207", "41k"),
            ("999,999", "999k"),
            ("1,250,000", "1.2M"),
        ]
    );
}

#[test]
fn sizes_have_a_unit() {
    assert_eq!(size(812), "812 B");
    assert_eq!(size(3_500), "3.4 KiB");
    assert_eq!(size(5 << 20), "5.0 MiB");
    assert_eq!(hundredths(425), "4.25");
}

#[test]
fn moments_are_relative_with_the_absolute_time() {
    let now = 1_789_000_000;
    let moment = Moment::new(now - 3 * DAY, now);
    assert_eq!(moment.iso, "2026-09-07T00:26:40Z");
    assert_eq!(moment.absolute, "7 Sep 2026, 00:26 UTC");
    assert_eq!(moment.relative, "3 days ago");
    let relative: Vec<_> = [5, 70, 2 * HOUR, 40 * DAY, 800 * DAY, -2 * DAY]
        .map(|past| relative(now - past, now))
        .to_vec();
    assert_eq!(
        relative,
        ["just now", "1 minute ago", "2 hours ago", "1 month ago", "2 years ago", "in 2 days"]
    );
}

#[test]
fn a_time_out_of_range_does_not_panic() {
    assert_eq!(iso(i64::MAX), "1970-01-01T00:00:00Z");
    assert!(relative(i64::MIN, i64::MAX).ends_with("ago"));
}
