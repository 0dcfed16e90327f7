//! What waits for the writer: transitions and chores, a bounded number of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use petstore_domain::Timestamp;
use petstore_ports::{StoreError, StoreErrorKind, Transition};

use crate::oneshot::Sender;

/// Requests that may wait. A batch takes 256 of them in a millisecond or so: whoever is the last has waited for some
/// twenty milliseconds, and who comes after that had better come again.
pub(crate) const QUEUE_MAX: usize = 4_096;

/// How long a chore may take before the journal is said to hang: as long as clients of a service wait for a write.
const CHORE_TIME: Duration = Duration::from_secs(2);

/// Requests that are company enough where the processors are pressed. A batch costs a processor some 140 us, and each
/// request in it 10: more of them make each hardly any cheaper.
const COMPANY: usize = 32;

/// How long a request waits for company at most. On machine A of PERFORMANCE.md, under a mixed load on one processor,
/// answers a second with a wait of 2, 4 and 8 ms were 0.78, 0.81 and 0.83 of a server's that only sends constants.
const COMPANY_TIME: Duration = Duration::from_millis(8);

/// So many who write at once are a crowd: those of one batch soon write again, so most of them are waited for, though
/// nobody is pressed. On one processor, which clients and server share, 16 connections place a fifth more orders a second
/// by that, 64 some 7% more; with a processor for each of the two 64 place up to 4% fewer, and 8 would lose an eighth.
const CROWD: usize = 16;

/// Of a crowd so many are waited for at most: what more of them would spare is less than the disk's time, which is then
/// nobody's.
const CROWD_COMPANY: usize = 48;

/// How long for at most, if the batch before took longer than that. The time that it took is enough for those who were
/// in it, if they write again; and whoever comes at a time of their own is delayed by no more.
const CROWD_TIME: Duration = Duration::from_millis(2);

/// How often a wait looks meanwhile whether any more have come: if none have, all who write now are waiting already.
const LOOKS: u32 = 2;

/// What the writer is asked to do.
pub(crate) enum Request {
    /// To run a transition.
    Write {
        /// The transition.
        transition: Arc<dyn Transition>,
        /// Kept when the outcome is known.
        promise: Sender<()>,
    },
    /// To drop what has expired, and to note what is written behind.
    Prune {
        /// The time.
        now: Timestamp,
        /// How many records went.
        promise: Sender<usize>,
    },
}

impl Request {
    /// Answers that it was not done.
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Self::Write { promise, .. } => promise.keep(Err(error)),
            Self::Prune { promise, .. } => promise.keep(Err(error)),
        }
    }
}

/// A queue between any number of callers and one writer.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Something has come, the journal has failed, or the queue was closed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Request>,
    /// How many were taken together the last time: they may soon come again.
    taken: usize,
    /// The time of the oldest chore that is not done: the clock of this store, which has none of its own.
    chore_since: Option<Timestamp>,
    /// With how many requests the writer wants to be woken: those before would only wake it for nothing.
    wanted: usize,
    /// Why nothing is taken, while the journal fails.
    failing: Option<StoreError>,
    closed: bool,
}

impl State {
    /// Whether the writer wants to be woken for those that wait.
    fn are_wanted(&self) -> bool {
        self.waiting.len() >= self.wanted
    }

    /// How many requests a batch waits for, and how long at most; the one before took so long.
    fn company(&self, pressed: bool, took: Duration) -> (usize, Duration) {
        match self.taken + self.waiting.len() {
            _ if pressed => (COMPANY, COMPANY_TIME),
            crowd @ CROWD.. => ((crowd * 3 / 4).min(CROWD_COMPANY), took.min(CROWD_TIME)),
            _ => (1, Duration::ZERO),
        }
    }

    /// Why nothing is taken, in the words of the journal.
    fn health(&self) -> Result<(), StoreError> {
        match &self.failing {
            Some(error) => Err(error.clone()),
            None if self.closed => Err(StoreError::unavailable("the store is closed")),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        self.health().map_err(not_taken)
    }
}

/// The answer to a write that a failing journal cannot take. To its client a damaged file is a store that does not write:
/// nothing of the operation itself was found to be wrong.
fn not_taken(error: StoreError) -> StoreError {
    match error.kind() {
        StoreErrorKind::Corrupt => StoreError::unavailable(error.kind().to_string()).with_source(error),
        StoreErrorKind::Busy | StoreErrorKind::Unavailable | StoreErrorKind::Indeterminate => error,
    }
}

impl Queue {
    /// Whether a request would be taken, if there is room.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.state.lock().check()
    }

    /// The health of the journal at a time at which a chore should be done that was asked for some time before. Damage is
    /// told as damage.
    pub(crate) fn check_at(&self, now: Timestamp) -> Result<(), StoreError> {
        let state = self.state.lock();
        state.health()?;
        match state.chore_since.map(|since| now.since(since)) {
            Some(waited) if waited > CHORE_TIME => {
                Err(StoreError::unavailable("the journal does not come to an end with its last write"))
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with the journal while it fails.
    pub(crate) fn fault(&self) -> Option<StoreError> {
        self.state.lock().failing.clone()
    }

    /// How many requests wait.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// No chore is being done any more.
    pub(crate) fn chores_done(&self) {
        self.state.lock().chore_since = None;
    }

    /// Adds a request, or says at once why not.
    pub(crate) fn push(&self, request: Request) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        state.check()?;
        if state.waiting.len() == QUEUE_MAX {
            return Err(StoreError::busy(format!("{QUEUE_MAX} requests wait for the journal")));
        }
        if let Request::Prune { now, .. } = &request {
            state.chore_since.get_or_insert(*now);
        }
        state.waiting.push_back(request);
        let is_wanted = state.are_wanted();
        drop(state);
        if is_wanted {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Takes up to so many requests, those that came first.
    pub(crate) fn take(&self, max: usize, into: &mut Vec<Request>) {
        let mut state = self.state.lock();
        state.taken = max.min(state.waiting.len());
        let taken = state.taken;
        into.extend(state.waiting.drain(..taken));
    }

    /// Refuses what waits, and whatever comes, until [`Queue::heal`].
    pub(crate) fn fail(&self, error: &StoreError) {
        let mut state = self.state.lock();
        state.failing = Some(error.clone());
        state.chore_since = None;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        // It may be somebody else who has found out, while the writer sleeps: it is the writer who asks the journal again.
        self.changed.notify_all();
        let refused = not_taken(error.clone());
        for request in waiting {
            request.refuse(refused.clone());
        }
    }

    /// Takes requests again.
    pub(crate) fn heal(&self) {
        self.state.lock().failing = None;
    }

    /// Takes no more requests. Those that wait are still answered.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Waits until there is a request, or a journal that fails is to be asked how it stands. False if the queue is closed,
    /// and nothing waits.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while state.waiting.is_empty() && state.failing.is_none() && !state.closed {
            self.changed.wait(&mut state);
        }
        !state.waiting.is_empty() || !state.closed
    }

    /// If there is a request, waits until there are some more, for a while: where the processors are pressed, or where many
    /// write at once. The batch before took so long.
    pub(crate) fn wait_for_company(&self, pressed: bool, took: Duration) {
        let mut state = self.state.lock();
        let (company, time) = state.company(pressed, took);
        let is_alone = |state: &mut State| (1..company).contains(&state.waiting.len()) && !state.closed;
        let mut seen = 0;
        for _ in 0..LOOKS {
            if !is_alone(&mut state) || state.waiting.len() == seen {
                break;
            }
            seen = state.waiting.len();
            state.wanted = company;
            self.changed.wait_while_for(&mut state, is_alone, time / LOOKS);
            state.wanted = 0;
        }
    }

    /// Waits for so long; less if the queue is closed. True if it is.
    pub(crate) fn closes_within(&self, pause: Duration) -> bool {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.closed, pause);
        state.closed
    }
}

#[cfg(test)]
mod tests {
    use petstore_ports::StoreErrorKind;

    use super::*;
    use crate::oneshot::promise;

    fn chore() -> Request {
        Request::Prune { now: Timestamp::from_millis(0).unwrap(), promise: promise().0 }
    }

    #[test]
    fn a_full_queue_refuses_at_once() {
        let queue = Queue::default();
        for _ in 0..QUEUE_MAX {
            assert_eq!(queue.push(chore()), Ok(()));
        }
        assert!(matches!(queue.push(chore()), Err(error) if error.kind() == StoreErrorKind::Busy));
        queue.take(1, &mut Vec::new());
        assert_eq!(queue.push(chore()), Ok(()));
    }

    #[test]
    fn a_closed_queue_takes_nothing_and_gives_what_it_has() {
        let queue = Queue::default();
        queue.push(chore()).unwrap();
        queue.close();
        assert!(matches!(queue.push(chore()), Err(error) if error.kind() == StoreErrorKind::Unavailable));
        assert!(queue.wait());
        queue.wait_for_company(true, Duration::ZERO);
        let mut taken = Vec::new();
        queue.take(10, &mut taken);
        assert_eq!(taken.len(), 1);
        assert!(!queue.wait());
    }

    #[test]
    fn a_request_alone_waits_for_company_but_not_for_ever() {
        let queue = Queue::default();
        queue.push(chore()).unwrap();
        queue.wait_for_company(true, Duration::ZERO);
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.state.lock().wanted, 0, "the next one wakes the writer again");
    }

    #[test]
    fn company_enough_is_not_waited_for_and_wakes_who_waits() {
        let queue = Queue::default();
        queue.wait_for_company(true, Duration::ZERO);
        queue.state.lock().wanted = COMPANY;
        for _ in 1..COMPANY {
            queue.push(chore()).unwrap();
            assert!(!queue.state.lock().are_wanted());
        }
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                while queue.len() < COMPANY {
                    queue.wait_for_company(true, Duration::ZERO);
                }
            });
            queue.push(chore()).unwrap();
            writer.join().unwrap();
        });
        queue.state.lock().wanted = COMPANY;
        assert!(queue.state.lock().are_wanted());
        // It would wait for ever here if it waited for more.
        for _ in 0..100_000 {
            queue.wait_for_company(true, Duration::ZERO);
        }
    }

    #[test]
    fn most_of_a_crowd_is_waited_for_and_nobody_else() {
        let queue = Queue::default();
        let company = |queue: &Queue| queue.state.lock().company(false, CROWD_TIME).0;
        for (taken, waiting, expected) in
            [(0, 1, 1), (3, 4, 1), (0, CROWD, 12), (15, 0, 1), (16, 0, 12), (40, 24, 48), (256, 256, 48)]
        {
            *queue.state.lock() = State::default();
            (0..taken).for_each(|_| queue.push(chore()).unwrap());
            queue.take(taken, &mut Vec::new());
            (0..waiting).for_each(|_| queue.push(chore()).unwrap());
            assert_eq!(company(&queue), expected, "after {taken}, with {waiting}");
        }
        let time = |millis| queue.state.lock().company(false, Duration::from_millis(millis)).1;
        assert_eq!((time(1), time(9)), (Duration::from_millis(1), CROWD_TIME));
        // It would wait for ever here if it waited for more.
        for _ in 0..100_000 {
            queue.wait_for_company(false, CROWD_TIME);
        }
    }

    #[test]
    fn a_failing_queue_refuses_what_waits_and_what_comes() {
        let queue = Queue::default();
        let (promise, answer) = promise();
        queue.push(Request::Prune { now: Timestamp::from_millis(0).unwrap(), promise }).unwrap();
        let broken = StoreError::unavailable("no space");
        queue.fail(&broken);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let answer = std::pin::pin!(answer).poll(&mut context);
        assert_eq!(answer, std::task::Poll::Ready(Err(broken.clone())));
        assert_eq!((queue.check(), queue.push(chore())), (Err(broken.clone()), Err(broken)));
        let damaged = StoreError::corrupt("a page");
        let refused = StoreError::unavailable("the store is damaged: a page");
        queue.fail(&damaged);
        for _ in 0..2 {
            assert_eq!((queue.check(), queue.push(chore())), (Err(refused.clone()), Err(refused.clone())));
            assert_eq!(queue.check_at(Timestamp::MAX), Err(damaged.clone()));
        }
        queue.heal();
        assert_eq!(queue.check_at(Timestamp::MAX), Ok(()), "what was refused is not waited for");
        assert_eq!(queue.push(chore()), Ok(()));
    }
}
