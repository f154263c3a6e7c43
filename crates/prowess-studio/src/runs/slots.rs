//! How many models answer at a time, and who waits: owners take turns, and everybody who waits knows the position.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Limits of running and waiting runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotLimits {
    /// Maximum number of running runs.
    pub(crate) running: usize,
    /// Maximum number of running runs of one owner.
    pub(crate) running_per_owner: usize,
    /// Maximum number of waiting runs.
    pub(crate) waiting: usize,
    /// Maximum number of waiting runs of one owner.
    pub(crate) waiting_per_owner: usize,
}

impl SlotLimits {
    /// Limits for a server.
    pub(crate) const USUAL: Self =
        Self { running: 5_000, running_per_owner: 20, waiting: 10_000, waiting_per_owner: 50 };
}

/// The slots of all runs.
#[derive(Clone, Debug)]
pub(crate) struct RunSlots {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limits: SlotLimits,
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    running_of: HashMap<String, usize>,
    /// In the order of arrival.
    waiting: Vec<Ticket>,
    next: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Ticket {
    number: u64,
    owner: String,
}

/// Why a run can't wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotsFull {
    /// The owner has too many.
    Owner,
    /// There are too many in all.
    All,
}

/// A place in the queue, or a slot already.
#[derive(Debug)]
pub(crate) struct Place {
    slots: RunSlots,
    owner: String,
    /// `None` when it has a slot.
    ticket: Option<u64>,
}

impl RunSlots {
    pub(crate) fn new(limits: SlotLimits) -> Self {
        let (changes, _) = watch::channel(0);
        Self { inner: Arc::new(Inner { limits, state: Mutex::default(), changes }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot or a place in the queue. Whoever can run at once is never refused.
    pub(crate) fn enter(&self, owner: &str) -> Result<Place, SlotsFull> {
        let limits = self.inner.limits;
        let mut state = self.lock();
        let place = |ticket| Place { slots: self.clone(), owner: owner.to_owned(), ticket };
        let has_room = state.running < limits.running;
        if has_room && state.running_of(owner) < limits.running_per_owner {
            state.begin(owner);
            return Ok(place(None));
        }
        let of_owner = state.waiting.iter().filter(|ticket| ticket.owner == owner).count();
        if of_owner >= limits.waiting_per_owner {
            return Err(SlotsFull::Owner);
        }
        if state.waiting.len() >= limits.waiting {
            return Err(SlotsFull::All);
        }
        state.next += 1;
        let number = state.next;
        state.waiting.push(Ticket { number, owner: owner.to_owned() });
        Ok(place(Some(number)))
    }

    /// The numbers of running and waiting runs.
    #[cfg(test)]
    fn load(&self) -> (usize, usize) {
        let state = self.lock();
        (state.running, state.waiting.len())
    }
}

impl State {
    fn running_of(&self, owner: &str) -> usize {
        self.running_of.get(owner).copied().unwrap_or(0)
    }

    fn begin(&mut self, owner: &str) {
        self.running += 1;
        *self.running_of.entry(owner.to_owned()).or_default() += 1;
    }

    fn end(&mut self, owner: &str) {
        self.running = self.running.saturating_sub(1);
        if let Some(count) = self.running_of.get_mut(owner) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.running_of.remove(owner);
            }
        }
    }

    /// The order in which the waiting ones start if nothing else happens: the owner with the fewest runs first, and of one
    /// owner the earliest.
    fn next(&self, limits: SlotLimits) -> Option<usize> {
        let may = |ticket: &&Ticket| self.running_of(&ticket.owner) < limits.running_per_owner;
        let fewest = self.waiting.iter().filter(may).map(|it| self.running_of(&it.owner)).min()?;
        self.waiting.iter().position(|it| self.running_of(&it.owner) == fewest)
    }

    /// Gives free slots to those that wait.
    fn grant(&mut self, limits: SlotLimits) {
        while self.running < limits.running {
            let Some(at) = self.next(limits) else { return };
            let ticket = self.waiting.remove(at);
            self.begin(&ticket.owner);
        }
    }
}

impl Place {
    /// The number of runs before this one in the queue; `None` when it may run.
    fn position(&mut self) -> Option<usize> {
        let number = self.ticket?;
        let position = self.slots.lock().waiting.iter().position(|it| it.number == number);
        if position.is_none() {
            self.ticket = None;
        }
        position
    }

    /// Waits for the slot. `tell` hears the position at first and whenever it changes.
    pub(crate) async fn wait(&mut self, mut tell: impl FnMut(usize)) {
        let mut changes = self.slots.inner.changes.subscribe();
        let mut told = None;
        loop {
            changes.mark_unchanged();
            let Some(position) = self.position() else { return };
            if told != Some(position) {
                tell(position);
                told = Some(position);
            }
            // The sender lives as long as this place.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let is_running = self.position().is_none();
        let mut state = self.slots.lock();
        if is_running {
            state.end(&self.owner);
        } else if let Some(number) = self.ticket {
            state.waiting.retain(|ticket| ticket.number != number);
        }
        state.grant(self.slots.inner.limits);
        drop(state);
        self.slots.inner.changes.send_modify(|count| *count += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SlotLimits =
        SlotLimits { running: 2, running_per_owner: 1, waiting: 3, waiting_per_owner: 2 };

    #[tokio::test]
    async fn owners_take_turns_and_know_their_position() {
        let slots = RunSlots::new(LIMITS);
        let first = slots.enter("ada").expect("a slot");
        let mut second = slots.enter("ada").expect("a place");
        let mut third = slots.enter("ada").expect("a place");
        assert_eq!(slots.enter("ada").expect_err("two wait"), SlotsFull::Owner);
        // Another owner is not held up.
        let grace = slots.enter("grace").expect("a slot");
        let mut waiting = slots.enter("grace").expect("a place");
        assert_eq!(slots.enter("hedy").expect_err("the queue is full"), SlotsFull::All);
        assert_eq!((second.position(), third.position()), (Some(0), Some(1)));
        assert_eq!(slots.load(), (2, 3));
        drop(first);
        assert_eq!((second.position(), third.position()), (None, Some(0)));
        assert_eq!(waiting.position(), Some(1));
        drop(grace);
        waiting.wait(|_| panic!("it has a slot")).await;
        let mut told = Vec::new();
        let wait = third.wait(|position| told.push(position));
        tokio::join!(wait, async { drop(second) });
        assert_eq!(told, [0]);
        drop((third, waiting));
        assert_eq!(slots.load(), (0, 0));
        assert!(slots.lock().running_of.is_empty());
    }

    #[tokio::test]
    async fn who_stops_waiting_leaves_no_trace() {
        let slots = RunSlots::new(LIMITS);
        let running = slots.enter("ada").expect("a slot");
        drop(slots.enter("ada").expect("a place"));
        assert_eq!(slots.load(), (1, 0));
        drop(running);
        assert_eq!(slots.load(), (0, 0));
    }
}
