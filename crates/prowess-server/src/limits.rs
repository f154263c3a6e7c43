//! Rate limits per user, address or anything else, on one node or across all of them.
//!
//! A limit is a bucket with room for `burst` requests that drains evenly over `period` (the generic cell rate algorithm):
//! all that is stored per subject is one point in time, at which the bucket is empty again.

mod memory;

use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use prowess_core::{Problem, ProblemKind};

use self::memory::MemoryBuckets;
use crate::clock::{SharedClock, Timestamp};
use crate::database::{Connection, Database, DatabaseError, Transaction, values};

/// How many times its burst a subject can be over its limit.
const MOST_OVERDRAWN: i64 = 10;

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name, in kebab case. Limits with the same name share their counts.
    pub name: &'static str,
    /// Requests that are allowed at once, and within each period on average.
    pub burst: u32,
    /// The time in which a used-up limit is full again.
    pub period: Duration,
}

impl Limit {
    /// A limit of so many requests per minute.
    pub const fn per_minute(name: &'static str, burst: u32) -> Limit {
        Limit { name, burst, period: Duration::from_mins(1) }
    }

    /// A limit of so many requests per hour.
    pub const fn per_hour(name: &'static str, burst: u32) -> Limit {
        Limit { name, burst, period: Duration::from_hours(1) }
    }

    /// The time that one request takes away.
    fn interval_millis(self) -> i64 {
        let period = i64::try_from(self.period.as_millis()).unwrap_or(i64::MAX);
        (period / i64::from(self.burst.max(1))).max(1)
    }

    fn burst_millis(self) -> i64 {
        self.interval_millis().saturating_mul(i64::from(self.burst.max(1)))
    }

    /// The time when a subject's bucket is empty again, after a request now. `Err` if there is no room for it.
    fn advance(self, free_at: Timestamp, now: Timestamp) -> Result<Timestamp, Duration> {
        let next = self.add(free_at, now);
        let over = next.millis().saturating_sub(now.millis()).saturating_sub(self.burst_millis());
        if over > 0 {
            return Err(Duration::from_millis(over.unsigned_abs()));
        }
        Ok(next)
    }

    /// Counts one more request, whether there is room or not, up to a bound.
    fn add(self, free_at: Timestamp, now: Timestamp) -> Timestamp {
        let most = self.burst_millis().saturating_mul(MOST_OVERDRAWN);
        let next = free_at.max(now).millis().saturating_add(self.interval_millis());
        Timestamp::from_millis(next.min(now.millis().saturating_add(most)))
    }

    fn remaining(self, free_at: Timestamp, now: Timestamp) -> u32 {
        let used = free_at.millis().saturating_sub(now.millis()).max(0);
        let left = self.burst_millis().saturating_sub(used) / self.interval_millis();
        u32::try_from(left).unwrap_or(0).min(self.burst)
    }
}

/// What is left of a limit after a request that it allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitState {
    /// The limit.
    pub limit: Limit,
    /// Requests that are still allowed at once.
    pub remaining: u32,
    /// The time until all of them are allowed again.
    pub reset: Duration,
}

impl LimitState {
    /// Adds the `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` headers to a response.
    pub fn write_headers(&self, headers: &mut HeaderMap) {
        let mut write = |name, value: u64| {
            headers.insert(HeaderName::from_static(name), HeaderValue::from(value));
        };
        write("ratelimit-limit", self.limit.burst.into());
        write("ratelimit-remaining", self.remaining.into());
        write("ratelimit-reset", whole_seconds(self.reset));
    }
}

/// A request that a limit refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// The limit.
    pub limit: Limit,
    /// When a request will be allowed again.
    pub retry_after: Duration,
}

impl From<LimitExceeded> for Problem {
    fn from(exceeded: LimitExceeded) -> Problem {
        let LimitExceeded { limit, retry_after } = exceeded;
        let mut message = format!("the limit of {} requests ", limit.burst);
        match limit.period.as_secs() {
            60 => message.push_str("per minute"),
            3600 => message.push_str("per hour"),
            // Writing to a text can't fail.
            seconds => write!(message, "in {seconds} seconds").unwrap_or(()),
        }
        message.push_str(" is reached");
        Problem::new(
            "rate-limited",
            ProblemKind::RateLimited { retry_after: Some(retry_after) },
            message,
        )
        .advice(format!("try again in {} s", whole_seconds(retry_after)))
    }
}

fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// Where the counts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitStore {
    /// In the memory of this node.
    Memory,
    /// In the database, for several nodes.
    Database,
}

/// The rate limits of a server.
pub struct Limits {
    clock: SharedClock,
    counts: Counts,
}

enum Counts {
    Memory(Box<MemoryBuckets>),
    Database(Database),
}

impl Limits {
    pub(crate) fn new(store: LimitStore, database: Database, clock: SharedClock) -> Limits {
        let counts = match store {
            LimitStore::Memory => Counts::Memory(Box::new(MemoryBuckets::new())),
            LimitStore::Database => Counts::Database(database),
        };
        Limits { clock, counts }
    }

    /// Counts a request of a subject. A subject is an identifier: of a user, or [`address_subject`].
    pub async fn check(&self, limit: Limit, subject: &str) -> Result<LimitState, Problem> {
        let now = self.clock.now();
        let outcome = match &self.counts {
            Counts::Memory(buckets) => buckets.check(limit, subject, now),
            Counts::Database(database) => check_in(database, limit, subject, now).await?,
        };
        match outcome {
            Ok(free_at) => Ok(LimitState {
                limit,
                remaining: limit.remaining(free_at, now),
                reset: free_at.since(now),
            }),
            Err(retry_after) => Err(LimitExceeded { limit, retry_after }.into()),
        }
    }

    /// Whether a request of a subject would be allowed, without counting it.
    pub async fn peek(&self, limit: Limit, subject: &str) -> Result<(), Problem> {
        let now = self.clock.now();
        let free_at = match &self.counts {
            Counts::Memory(buckets) => buckets.free_at(limit, subject),
            Counts::Database(database) => {
                let subject = subject.to_owned();
                database.read(move |connection| free_at(connection, limit, &subject)).await?
            }
        };
        match limit.advance(free_at.unwrap_or(now), now) {
            Ok(_) => Ok(()),
            Err(retry_after) => Err(LimitExceeded { limit, retry_after }.into()),
        }
    }

    /// Counts a request of a subject, also above the limit: several that were let through by [`Limits::peek`] at the same time
    /// make the subject wait for all of them.
    pub async fn charge(&self, limit: Limit, subject: &str) -> Result<(), Problem> {
        let now = self.clock.now();
        match &self.counts {
            Counts::Memory(buckets) => buckets.charge(limit, subject, now),
            Counts::Database(database) => {
                let subject = subject.to_owned();
                database
                    .write(move |transaction| {
                        let before = free_at(transaction, limit, &subject)?.unwrap_or(now);
                        store(transaction, limit, &subject, limit.add(before, now))
                    })
                    .await?;
            }
        }
        Ok(())
    }

    /// Removes the counts that no longer matter.
    pub(crate) async fn sweep(&self) -> Result<(), DatabaseError> {
        let now = self.clock.now();
        match &self.counts {
            Counts::Memory(buckets) => buckets.sweep(now),
            Counts::Database(database) => {
                database
                    .write(move |transaction| {
                        transaction.execute(
                            "DELETE FROM rate_limits WHERE free_at <= ?1",
                            &values![now],
                        )?;
                        Ok::<_, DatabaseError>(())
                    })
                    .await?;
            }
        }
        Ok(())
    }
}

/// Counts a request in the database. Nodes that do so at the same time are counted one after the other.
async fn check_in(
    database: &Database,
    limit: Limit,
    subject: &str,
    now: Timestamp,
) -> Result<Result<Timestamp, Duration>, DatabaseError> {
    let subject = subject.to_owned();
    database
        .write(move |transaction| {
            let before = free_at(transaction, limit, &subject)?.unwrap_or(now);
            let outcome = limit.advance(before, now);
            if let Ok(free_at) = outcome {
                store(transaction, limit, &subject, free_at)?;
            }
            Ok(outcome)
        })
        .await
}

fn free_at(
    connection: &mut Connection<'_>,
    limit: Limit,
    subject: &str,
) -> Result<Option<Timestamp>, DatabaseError> {
    connection
        .query_optional(
            "SELECT free_at FROM rate_limits WHERE limit_name = ?1 AND subject = ?2",
            &values![limit.name, subject],
        )?
        .map(|row| row.get("free_at"))
        .transpose()
}

fn store(
    transaction: &mut Transaction<'_>,
    limit: Limit,
    subject: &str,
    free_at: Timestamp,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "INSERT INTO rate_limits (limit_name, subject, free_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (limit_name, subject) DO UPDATE SET free_at = excluded.free_at",
        &values![limit.name, subject, free_at],
    )?;
    Ok(())
}

/// The subject for an address: the address itself, or the network of an IPv6 address, because one customer has 2⁶⁴ of them.
pub fn address_subject(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

#[cfg(test)]
mod tests;
