use std::time::Duration;

use prowess_core::ProblemKind;
use prowess_server::Server;
use prowess_server::limits::Limit;

use crate::support::{Bed, on_both};

on_both! {
    a_limit_has_room_for_so_many_and_fills_again,
    concurrent_requests_are_counted_exactly,
    counts_that_no_longer_matter_are_removed,
}

const LIMIT: Limit = Limit::per_minute("runs", 10);

async fn is_allowed(server: &Server, subject: &str) -> bool {
    server.limits().check(LIMIT, subject).await.is_ok()
}

async fn a_limit_has_room_for_so_many_and_fills_again(bed: Bed) {
    let limits = bed.server.limits();
    let first = limits.check(LIMIT, "ada").await.expect("room");
    assert_eq!((first.remaining, first.reset), (9, Duration::from_secs(6)));
    let mut headers = http::HeaderMap::new();
    first.write_headers(&mut headers);
    assert_eq!(headers["ratelimit-limit"], "10");
    assert_eq!(headers["ratelimit-remaining"], "9");
    assert_eq!(headers["ratelimit-reset"], "6");
    for _ in 0..9 {
        assert!(is_allowed(&bed.server, "ada").await);
    }
    let problem = limits.check(LIMIT, "ada").await.expect_err("no room");
    let wait = Duration::from_secs(6);
    assert_eq!(problem.kind, ProblemKind::RateLimited { retry_after: Some(wait) });
    assert!(is_allowed(&bed.server, "grace").await);
    let other = Limit::per_minute("reads", 10);
    assert!(limits.check(other, "ada").await.is_ok());
    bed.clock.advance(wait);
    assert!(is_allowed(&bed.server, "ada").await);
    assert!(!is_allowed(&bed.server, "ada").await);
    // Looking does not count, and a charge counts in any case.
    bed.clock.advance(wait);
    for _ in 0..5 {
        limits.peek(LIMIT, "ada").await.expect("room for one");
    }
    for _ in 0..3 {
        limits.charge(LIMIT, "ada").await.expect("it is counted");
    }
    let problem = limits.peek(LIMIT, "ada").await.expect_err("no room");
    assert_eq!(problem.kind, ProblemKind::RateLimited { retry_after: Some(wait * 3) });
}

async fn concurrent_requests_are_counted_exactly(bed: Bed) {
    // With Postgres the other node shares the counts; with SQLite there is one node.
    let other = if bed.postgres.is_some() { bed.node().await } else { bed.server.clone() };
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40 {
        let node = if number % 2 == 0 { bed.server.clone() } else { other.clone() };
        tasks.spawn(async move { is_allowed(&node, "ada").await });
    }
    let mut allowed = 0;
    while let Some(task) = tasks.join_next().await {
        allowed += u32::from(task.expect("a task"));
    }
    assert_eq!(allowed, 10);
}

async fn counts_that_no_longer_matter_are_removed(bed: Bed) {
    assert!(is_allowed(&bed.server, "ada").await);
    bed.clock.advance(Duration::from_mins(2));
    bed.server.maintain().await.expect("what has expired is removed");
    let left = bed
        .database()
        .read(|connection| {
            connection.query_one("SELECT COUNT(*) FROM rate_limits", &[])?.get::<i64>(0)
        })
        .await;
    assert_eq!(left, Ok(0));
    assert!(is_allowed(&bed.server, "ada").await);
}
