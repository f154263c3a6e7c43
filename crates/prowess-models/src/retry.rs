//! Retries. A request is only retried before the first token, because a part of the answer may have been shown after it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use prowess_core::ModelErrorKind;

/// How often and after which delays a request is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of attempts, including the first.
    pub attempts: u32,
    /// The first delay; each further one is twice as long.
    pub pause: Duration,
    /// The first delay if the connection is refused: a server that restarts is back soon.
    pub short_pause: Duration,
    /// Maximum delay; if a provider asks for a longer one, the request fails.
    pub longest_pause: Duration,
}

impl RetryPolicy {
    /// The default policy.
    pub const USUAL: Self = Self {
        attempts: 4,
        pause: Duration::from_millis(500),
        short_pause: Duration::from_millis(100),
        longest_pause: Duration::from_mins(1),
    };

    /// The delay before the next attempt; `None` if there is none. `spread`, from 0 to 1, is the jitter that keeps many
    /// clients from retrying at the same time.
    pub(crate) fn pause(&self, failed: u32, kind: ModelErrorKind, spread: f64) -> Option<Duration> {
        if failed >= self.attempts {
            return None;
        }
        let doubled = |first: Duration| {
            let pause = first.saturating_mul(1 << (failed - 1).min(16));
            pause.mul_f64(0.75 + spread / 2.0).min(self.longest_pause)
        };
        match kind {
            ModelErrorKind::RateLimited { retry_after: Some(wait) } => {
                (wait <= self.longest_pause).then_some(wait)
            }
            ModelErrorKind::RateLimited { retry_after: None } | ModelErrorKind::Provider => {
                Some(doubled(self.pause))
            }
            ModelErrorKind::Unreachable => Some(doubled(self.short_pause)),
            ModelErrorKind::NotConfigured
            | ModelErrorKind::Unauthorized
            | ModelErrorKind::UnknownModel
            | ModelErrorKind::Rejected
            | ModelErrorKind::Protocol
            | ModelErrorKind::TimedOut => None,
        }
    }
}

/// A random number from 0 to 1, from the hash seeds of the standard library.
pub(crate) fn spread() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    f64::from(u16::try_from(bits & 0xffff).expect("sixteen bits")) / f64::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prowess_core::ModelErrorKind::{
        Provider, RateLimited, Rejected, TimedOut, Unauthorized, Unreachable,
    };

    use super::{RetryPolicy, spread};

    #[test]
    fn delays_grow_and_end() {
        let wanted = |seconds| RateLimited { retry_after: Some(Duration::from_secs(seconds)) };
        for (failed, kind, milliseconds) in [
            (1, Provider, Some(500)),
            (2, Provider, Some(1000)),
            (3, Provider, Some(2000)),
            (4, Provider, None),
            (1, Unreachable, Some(100)),
            (3, Unreachable, Some(400)),
            (1, RateLimited { retry_after: None }, Some(500)),
            (1, wanted(7), Some(7000)),
            (3, wanted(0), Some(0)),
            (1, wanted(60), Some(60_000)),
            (1, wanted(61), None),
            (4, wanted(1), None),
            (1, Rejected, None),
            (1, Unauthorized, None),
            (1, TimedOut, None),
        ] {
            let pause = RetryPolicy::USUAL.pause(failed, kind, 0.5);
            assert_eq!(pause, milliseconds.map(Duration::from_millis), "{failed} {kind:?}");
        }
    }

    #[test]
    fn delays_have_jitter() {
        for (spread, milliseconds) in [(0.0, 375), (1.0, 625)] {
            let pause = RetryPolicy::USUAL.pause(1, Provider, spread);
            assert_eq!(pause, Some(Duration::from_millis(milliseconds)));
        }
        assert!((0..100).map(|_| spread()).all(|number| (0.0..=1.0).contains(&number)));
    }
}
