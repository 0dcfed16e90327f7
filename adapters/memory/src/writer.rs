//! Who drives the committer: a thread of the store's own, or the caller of a simulation.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petstore_ports::StoreError;

use crate::committer::{Committer, Step};
use crate::queue::Queue;
use crate::recovery::{HELD_TIME, PAUSE_MIN, pause_after};

/// Says whether the processors have had no time to spare lately.
pub(crate) type Pressed = Box<dyn FnMut() -> bool + Send>;

/// What makes a store durable: a queue, and the committer at its end.
pub(crate) struct Durable {
    pub(crate) queue: Arc<Queue>,
    /// Locked for each step. Whoever else holds it is alone with the journal.
    pub(crate) committer: Arc<Mutex<Committer>>,
    /// None if the committer is driven from outside, or not any more.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Durable {
    /// Nobody drives the committer yet.
    pub(crate) fn new(committer: Committer) -> Self {
        let queue = Arc::clone(&committer.queue);
        Self { queue, committer: Arc::new(Mutex::new(committer)), thread: Mutex::default() }
    }

    /// From now on a thread drives the committer, until the queue is closed.
    pub(crate) fn spawn(&self, pressed: Pressed) -> Result<(), StoreError> {
        let (queue, committer) = (Arc::clone(&self.queue), Arc::clone(&self.committer));
        let thread = thread::Builder::new().name("petstore-writer".to_owned());
        let spawned = thread.spawn(move || drive(&queue, &committer, pressed));
        let spawned = spawned
            .map_err(|error| StoreError::unavailable("no thread for the writer").with_source(error))?;
        *self.thread.lock() = Some(spawned);
        Ok(())
    }

    /// Takes no more requests, does what waits, notes what is written behind, and ends the thread.
    pub(crate) fn close(&self) {
        self.queue.close();
        let Some(thread) = self.thread.lock().take() else {
            self.committer.lock().finish();
            return;
        };
        // A waker that the thread itself drops may have been the last to hold the store: then it ends by itself.
        if thread.thread().id() != thread::current().id() {
            // Its panic has been told to those who waited.
            let _ = thread.join();
        }
    }
}

/// The life of the writer's thread.
///
/// Most of what a batch of a few costs the processor is the batch's own: the calls, the sync, the turns of threads. Where
/// somebody else needs the processor, a batch therefore waits for company; where nobody does, waiting would help nobody.
/// So this does not slow down writers who have the processor to themselves: while they wait for a batch nobody is busy.
/// Where many write, most of them are waited for in any case: those of the batch before are about to write again.
fn drive(queue: &Queue, committer: &Mutex<Committer>, mut pressed: Pressed) {
    let ended = catch_unwind(AssertUnwindSafe(|| work(queue, committer, &mut pressed)));
    if ended.is_err() {
        committer.lock().give_up();
    }
}

fn work(queue: &Queue, committer: &Mutex<Committer>, pressed: &mut Pressed) {
    // The last batch.
    let mut took = Duration::ZERO;
    loop {
        let mut committing = committer.lock();
        let begun = now();
        let step = committing.step();
        drop(committing);
        let goes_on = match step {
            Step::Worked => {
                took = now().duration_since(begun);
                true
            }
            Step::Idle => queue.wait(),
            Step::Failing => {
                let pause = pause_after(now().duration_since(begun));
                let held = pause.min(HELD_TIME);
                let goes_on = !queue.closes_within(held);
                committer.lock().rest(held);
                goes_on && !queue.closes_within(pause.saturating_sub(held))
            }
        };
        if !goes_on {
            return committer.lock().finish();
        }
        queue.wait_for_company(pressed(), took);
    }
}

#[expect(clippy::disallowed_methods, reason = "how long the thread waits goes by how long it works")]
fn now() -> Instant {
    Instant::now()
}

/// Drives the committer of a store that was opened without a thread: for simulations, where one seed is one run.
pub struct Writer(Arc<Mutex<Committer>>);

impl Writer {
    pub(crate) fn of(durable: &Durable) -> Self {
        Self(Arc::clone(&durable.committer))
    }

    /// Does one batch of what waits. While the journal fails, asks it once how it stands instead, and takes it that a
    /// tenth of a second passes before the next step.
    pub fn step(&self) -> Step {
        let mut committer = self.0.lock();
        let step = committer.step();
        if step == Step::Failing {
            committer.rest(PAUSE_MIN);
        }
        step
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
