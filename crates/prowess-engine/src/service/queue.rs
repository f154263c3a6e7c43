//! A bounded queue that is fair between owners.
//!
//! It is pure: it starts nothing and never blocks. [`Pool`](super::pool::Pool) does both.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Problem, ProblemKind};

/// The owner of a run: a user, a tenant, a session. Runs of one owner wait for each other, not for those of others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner(Arc<str>);

impl Owner {
    /// Creates an owner with this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Limits of concurrent and queued runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Maximum number of running runs of all owners. Each has a thread.
    pub running: usize,
    /// Maximum number of running runs per owner.
    pub running_per_owner: usize,
    /// Maximum number of queued runs of all owners.
    pub queued: usize,
    /// Maximum number of queued runs per owner.
    pub queued_per_owner: usize,
}

impl QueueLimits {
    /// As many runs as the machine has cores, half of them per owner, and a thousand queued ones.
    pub fn of_this_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let running = cores.max(2);
        Self {
            running,
            running_per_owner: running.div_ceil(2),
            queued: 1000,
            queued_per_owner: 100,
        }
    }
}

/// The ticket of a run in the queue. Later runs have larger tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// A queue with one line per owner.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    limits: QueueLimits,
    owners: HashMap<Owner, Share<T>>,
    /// The owners with queued runs, in the order of their turns.
    rotation: VecDeque<Owner>,
    running: usize,
    queued: usize,
    next: u64,
}

/// The queued and running runs of one owner.
#[derive(Debug)]
struct Share<T> {
    queued: VecDeque<(Ticket, T)>,
    running: usize,
}

impl<T> FairQueue<T> {
    /// Creates an empty queue. A limit of zero running runs counts as one.
    pub(crate) fn new(limits: QueueLimits) -> Self {
        let limits = QueueLimits {
            running: limits.running.max(1),
            running_per_owner: limits.running_per_owner.max(1),
            ..limits
        };
        Self {
            limits,
            owners: HashMap::new(),
            rotation: VecDeque::new(),
            running: 0,
            queued: 0,
            next: 0,
        }
    }

    pub(crate) fn limits(&self) -> QueueLimits {
        self.limits
    }

    /// Number of running runs.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Number of queued runs.
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// Appends a run to its owner's line. A run that can start at once is never refused.
    pub(crate) fn push(&mut self, owner: &Owner, item: T) -> Result<Ticket, (T, Problem)> {
        let share = self.owners.get(owner);
        let (mine, my_running) = share.map_or((0, 0), |share| (share.queued.len(), share.running));
        let starts_at_once = self.running < self.limits.running
            && my_running < self.limits.running_per_owner
            && self.next_turn().is_none();
        if !starts_at_once {
            if mine >= self.limits.queued_per_owner {
                return Err((item, too_many_of_owner(mine)));
            }
            if self.queued >= self.limits.queued {
                return Err((item, queue_full(self.queued)));
            }
        }
        let ticket = Ticket(self.next);
        self.next += 1;
        let share = self
            .owners
            .entry(owner.clone())
            .or_insert_with(|| Share { queued: VecDeque::new(), running: 0 });
        if share.queued.is_empty() {
            self.rotation.push_back(owner.clone());
        }
        share.queued.push_back((ticket, item));
        self.queued += 1;
        Ok(ticket)
    }

    /// The next run that may start; it counts as running from now on. Owners take turns. An owner at its limit is
    /// skipped and keeps its turn.
    pub(crate) fn pop(&mut self) -> Option<(Owner, T)> {
        if self.running >= self.limits.running {
            return None;
        }
        let turn = self.next_turn()?;
        let owner = self.rotation.remove(turn)?;
        let share = self.owners.get_mut(&owner)?;
        let (_, item) = share.queued.pop_front()?;
        share.running += 1;
        if !share.queued.is_empty() {
            self.rotation.push_back(owner.clone());
        }
        self.running += 1;
        self.queued -= 1;
        Some((owner, item))
    }

    /// Records that a run of this owner has ended.
    pub(crate) fn finished(&mut self, owner: &Owner) {
        if let Some(share) = self.owners.get_mut(owner) {
            share.running = share.running.saturating_sub(1);
            self.running = self.running.saturating_sub(1);
        }
        self.forget_if_idle(owner);
    }

    /// Removes a queued run; `None` if it has started or was removed before.
    pub(crate) fn remove(&mut self, owner: &Owner, ticket: Ticket) -> Option<T> {
        let share = self.owners.get_mut(owner)?;
        let at = share.queued.binary_search_by_key(&ticket, |(ticket, _)| *ticket).ok()?;
        let (_, item) = share.queued.remove(at)?;
        if share.queued.is_empty() {
            self.rotation.retain(|waiting| waiting != owner);
        }
        self.queued -= 1;
        self.forget_if_idle(owner);
        Some(item)
    }

    /// Removes all queued runs, in the order in which they would have started.
    pub(crate) fn remove_all(&mut self) -> Vec<T> {
        let mut removed = Vec::with_capacity(self.queued);
        while let Some(owner) = self.rotation.pop_front() {
            let Some(share) = self.owners.get_mut(&owner) else { continue };
            removed.extend(share.queued.pop_front().map(|(_, item)| item));
            if share.queued.is_empty() {
                self.forget_if_idle(&owner);
            } else {
                self.rotation.push_back(owner);
            }
        }
        self.queued = 0;
        removed
    }

    /// The number of queued runs that start before this one, if nothing is added or removed and no owner is at its
    /// limit; `None` if it is not queued.
    ///
    /// In each round every owner starts one run. A run that is `k`-th in its own line starts in round `k`: before it come
    /// `k + 1` runs of each owner whose turn is earlier, and `k` of each whose turn is later.
    pub(crate) fn position(&self, owner: &Owner, ticket: Ticket) -> Option<usize> {
        let mine = &self.owners.get(owner)?.queued;
        let round = mine.binary_search_by_key(&ticket, |(ticket, _)| *ticket).ok()?;
        let mut ahead = round;
        let mut is_earlier = true;
        for other in &self.rotation {
            if other == owner {
                is_earlier = false;
                continue;
            }
            let length = self.owners.get(other).map_or(0, |share| share.queued.len());
            ahead += length.min(round + usize::from(is_earlier));
        }
        Some(ahead)
    }

    /// The index in the rotation of the first owner that may start another run.
    fn next_turn(&self) -> Option<usize> {
        let most = self.limits.running_per_owner;
        let may_start = |owner| self.owners.get(owner).is_some_and(|share| share.running < most);
        self.rotation.iter().position(may_start)
    }

    fn forget_if_idle(&mut self, owner: &Owner) {
        if self.owners.get(owner).is_some_and(|it| it.queued.is_empty() && it.running == 0) {
            self.owners.remove(owner);
        }
    }
}

fn too_many_of_owner(queued: usize) -> Problem {
    let kind = ProblemKind::RateLimited { retry_after: Some(Duration::from_secs(1)) };
    Problem::new("too-many-runs", kind, format!("{queued} of your runs are waiting already"))
        .advice("wait until one of them has started, or cancel one")
}

fn queue_full(queued: usize) -> Problem {
    Problem::new(
        "queue-full",
        ProblemKind::Unavailable,
        format!("{queued} runs are waiting already, and the queue takes no more"),
    )
    .advice("try again in a moment")
}

#[cfg(test)]
mod tests;
