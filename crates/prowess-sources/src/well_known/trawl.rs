//! Asks many domains concurrently whether they publish a skill at `/.well-known/skills/default/skill.md`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_store::source::{MOST_MANIFEST_BYTES, Offer};
use url::Url;

use super::{DEFAULT_SKILL, WellKnown, single};
use crate::web::{Ask, ChosenBy, is_loopback};

/// Time limit per domain (skillli `.well-known`: five seconds).
pub const TRAWL_TIME: Duration = Duration::from_secs(5);
/// Maximum number of concurrent requests.
const AT_ONCE: usize = 16;
/// Maximum number of domains.
const MOST_DOMAINS: usize = 1_000;

/// The result of asking many domains.
#[derive(Debug, Default)]
pub struct Trawl {
    /// The skills, in the order of the domains.
    pub found: Vec<Trawled>,
    /// The domains without a skill and the reasons, in their order.
    pub failed: Vec<Missed>,
    /// The number of domains above the limit, which were not asked.
    pub skipped: usize,
}

/// A domain without a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed {
    /// The domain as given.
    pub domain: String,
    /// The reason.
    pub reason: String,
}

/// A skill of a domain.
#[derive(Debug)]
pub struct Trawled {
    /// The domain.
    pub domain: String,
    /// The skill.
    pub offer: Offer,
}

impl WellKnown {
    /// Asks all domains for their default skill. A failure is reported with its reason and doesn't stop the others: in
    /// a long list some always fail.
    pub(crate) fn trawl(&self, domains: &[String], limit: Duration) -> Trawl {
        let asked = &domains[..domains.len().min(MOST_DOMAINS)];
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..asked.len().min(AT_ONCE) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(domain) = asked.get(number) else { return };
                        let answer = self.default_skill(domain, limit);
                        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                        answers.push((number, domain.clone(), answer));
                    }
                });
            }
        });
        let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        answers.sort_by_key(|(number, ..)| *number);
        let mut trawl = Trawl { skipped: domains.len() - asked.len(), ..Trawl::default() };
        for (_, domain, answer) in answers {
            match answer {
                Ok(offer) => trawl.found.push(Trawled { domain, offer }),
                Err(reason) => trawl.failed.push(Missed { domain, reason }),
            }
        }
        trawl
    }

    fn default_skill(&self, domain: &str, limit: Duration) -> Result<Offer, String> {
        let no_domain = || "not a valid domain".to_owned();
        let base = base_of(domain).ok_or_else(no_domain)?;
        let reply = self.web.get(&Ask {
            url: &base.join(DEFAULT_SKILL).map_err(|_| no_domain())?,
            accept: "text/markdown, text/plain, */*",
            most: MOST_MANIFEST_BYTES,
            limit,
            // The user has not checked each domain of a long list.
            chosen_by: ChosenBy::List,
            etag: None,
            token: None,
        });
        let reply = reply.map_err(|error| error.what)?;
        match reply.status {
            200 => single(&reply, base.as_str().trim_end_matches('/'))
                .ok_or_else(|| "the published file is not a skill".to_owned()),
            404 | 410 => Err("it publishes no skill".to_owned()),
            status => Err(format!("it answered with status {status}")),
        }
    }
}

/// Parses `host.example`, optionally with a port or a scheme. Only this machine is asked without encryption.
fn base_of(domain: &str) -> Option<Url> {
    let domain = domain.trim().trim_end_matches('/');
    // The URL parser skips slashes, and would turn `/etc/passwd` into the host `etc`.
    if domain.starts_with('/') {
        return None;
    }
    if domain.contains("://") {
        return Url::parse(domain).ok();
    }
    let secure = Url::parse(&format!("https://{domain}")).ok()?;
    if is_loopback(&secure) {
        return Url::parse(&format!("http://{domain}")).ok();
    }
    Some(secure)
}
