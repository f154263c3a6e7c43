use std::time::Duration;

use super::memory::MemoryBuckets;
use super::{Limit, LimitExceeded, address_subject};
use crate::clock::Timestamp;
use prowess_core::Problem;

const LIMIT: Limit = Limit::per_minute("runs", 10);

#[test]
fn the_eleventh_request_waits_for_its_share_of_the_minute() {
    let buckets = MemoryBuckets::new();
    let now = Timestamp::from_seconds(1000);
    for _ in 0..10 {
        buckets.check(LIMIT, "ada", now).expect("room");
    }
    assert_eq!(buckets.check(LIMIT, "ada", now), Err(Duration::from_secs(6)));
    assert!(buckets.check(LIMIT, "grace", now).is_ok());
    let later = now + Duration::from_secs(6);
    assert!(buckets.check(LIMIT, "ada", later).is_ok());
    assert!(buckets.check(LIMIT, "ada", later).is_err());
}

#[test]
fn a_charge_above_the_limit_has_to_be_waited_for() {
    let buckets = MemoryBuckets::new();
    let now = Timestamp::from_seconds(1000);
    for _ in 0..20 {
        buckets.charge(LIMIT, "ada", now);
    }
    assert_eq!(buckets.check(LIMIT, "ada", now), Err(Duration::from_secs(66)));
    // Up to a bound: nobody is locked out for days.
    for _ in 0..10_000 {
        buckets.charge(LIMIT, "ada", now);
    }
    assert_eq!(buckets.check(LIMIT, "ada", now), Err(Duration::from_mins(9)));
}

#[test]
fn subjects_are_bounded_in_number() {
    let buckets = MemoryBuckets::new();
    let now = Timestamp::from_seconds(1000);
    for _ in 0..10 {
        buckets.check(LIMIT, "ada", now).expect("room");
    }
    for number in 0..200_000 {
        buckets.check(LIMIT, &number.to_string(), now + Duration::from_millis(number / 100)).ok();
    }
    let kept: usize = buckets.parts.iter().map(|part| part.lock().expect("a lock").len()).sum();
    assert!(kept <= 16 * 8192, "{kept}");
    // A subject that is refused stays so.
    assert!(buckets.check(LIMIT, "ada", now).is_err());
    buckets.sweep(now + Duration::from_mins(2));
    assert!(buckets.parts.iter().all(|part| part.lock().expect("a lock").is_empty()));
}

#[test]
fn neighbours_of_ipv6_share_a_limit() {
    let subject = |text: &str| address_subject(text.parse().expect("an address"));
    assert_eq!(subject("2001:db8:1:2::1"), subject("2001:db8:1:2:ffff::9"));
    assert_ne!(subject("2001:db8:1:2::1"), subject("2001:db8:1:3::1"));
    assert_eq!(subject("::ffff:10.0.0.1"), "10.0.0.1");
}

#[test]
fn the_message_names_the_limit() {
    let exceeded = LimitExceeded { limit: LIMIT, retry_after: Duration::from_millis(5400) };
    let problem = Problem::from(exceeded);
    assert_eq!(problem.message, "the limit of 10 requests per minute is reached");
    assert_eq!(problem.remedies[0].to_string(), "try again in 6 s");
}
