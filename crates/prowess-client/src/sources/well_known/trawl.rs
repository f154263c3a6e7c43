//! Many domains at once: which of them publish a skill at the oldest of the addresses.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_store::source::{MOST_MANIFEST_BYTES, Offer};
use url::Url;

use super::{DEFAULT_SKILL, WellKnown, single};
use crate::sources::web::{Ask, ChosenBy, is_loopback};

/// How long a domain may take (skillli `.well-known`: five seconds).
pub const TRAWL_TIME: Duration = Duration::from_secs(5);
/// How many domains are asked at the same time.
const AT_ONCE: usize = 16;
/// How many domains are asked in all.
const MOST_DOMAINS: usize = 1_000;

/// What a trawl brought up.
#[derive(Debug, Default)]
pub struct Trawl {
    /// The skills, in the order of the domains.
    pub found: Vec<Trawled>,
    /// How many domains have none, or did not answer.
    pub failed: usize,
    /// How many were not asked, because there were too many.
    pub skipped: usize,
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
    /// Asks all domains for their default skill. What fails is counted and nothing else: of a long list some always do.
    pub(crate) fn trawl(&self, domains: &[String], limit: Duration) -> Trawl {
        let asked = &domains[..domains.len().min(MOST_DOMAINS)];
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..asked.len().min(AT_ONCE) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(domain) = asked.get(number) else { return };
                        if let Some(offer) = self.default_skill(domain, limit) {
                            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                            found.push((number, Trawled { domain: domain.clone(), offer }));
                        }
                    }
                });
            }
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by_key(|(number, _)| *number);
        Trawl {
            failed: asked.len() - found.len(),
            skipped: domains.len() - asked.len(),
            found: found.into_iter().map(|(_, trawled)| trawled).collect(),
        }
    }

    fn default_skill(&self, domain: &str, limit: Duration) -> Option<Offer> {
        let base = base_of(domain)?;
        let reply = self.web.get(&Ask {
            url: &base.join(DEFAULT_SKILL).ok()?,
            accept: "text/markdown, text/plain, */*",
            most: MOST_MANIFEST_BYTES,
            limit,
            // Nobody has looked at each of many domains.
            chosen_by: ChosenBy::List,
            etag: None,
            token: None,
        });
        let reply = reply.ok().filter(|reply| reply.status == 200)?;
        single(&reply, base.as_str().trim_end_matches('/'))
    }
}

/// `host.example`, with a port or a scheme where there is one. Only this machine is asked without encryption.
fn base_of(domain: &str) -> Option<Url> {
    let domain = domain.trim().trim_end_matches('/');
    if domain.contains("://") {
        return Url::parse(domain).ok();
    }
    let secure = Url::parse(&format!("https://{domain}")).ok()?;
    if is_loopback(&secure) {
        return Url::parse(&format!("http://{domain}")).ok();
    }
    Some(secure)
}
