//! The driver of the committer: the store's own thread, or the caller of a simulation.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petstore_ports::StoreError;

use crate::backoff::{PAUSE_MIN, pause_after};
use crate::committer::{Committer, Step};
use crate::older_events::OlderEvents;
use crate::queue::Queue;
use crate::recovery::IN_DOUBT_MAX;

/// Returns true if the CPU has had no idle time lately.
pub(crate) type IsCpuSaturated = Box<dyn FnMut() -> bool + Send>;

/// The parts that make a store durable: a queue and its committer.
pub(crate) struct Durable {
    pub(crate) queue: Arc<Queue>,
    /// The committer, locked for each step. Another holder of the lock has exclusive use of the journal.
    pub(crate) committer: Arc<Mutex<Committer>>,
    pub(crate) older_events: OlderEvents,
    /// None if a simulation drives the committer, or once the thread was joined.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Durable {
    /// Parts without a driver. The committer takes its requests from `queue`.
    pub(crate) fn new(queue: Arc<Queue>, committer: Committer, older_events: OlderEvents) -> Self {
        let committer = Arc::new(Mutex::new(committer));
        Self { queue, committer, older_events, thread: Mutex::default() }
    }

    /// Starts a thread that drives the committer until the queue is closed, and a thread that reads older events.
    pub(crate) fn spawn(&self, is_cpu_saturated: IsCpuSaturated) -> Result<(), StoreError> {
        self.older_events.spawn()?;
        let (queue, committer) = (Arc::clone(&self.queue), Arc::clone(&self.committer));
        let thread = thread::Builder::new().name("petstore-writer".to_owned());
        let spawned = thread.spawn(move || drive(&queue, &committer, is_cpu_saturated));
        let spawned = spawned.map_err(|error| {
            StoreError::unavailable("cannot start the writer's thread").with_source(error)
        })?;
        *self.thread.lock() = Some(spawned);
        Ok(())
    }

    /// Refuses further requests, processes the waiting ones, writes changed usage to the journal, and ends the
    /// threads.
    pub(crate) fn close(&self) {
        self.older_events.close();
        self.queue.close();
        let Some(thread) = self.thread.lock().take() else {
            self.committer.lock().finish();
            return;
        };
        // This function may run on the writer's thread itself, if a waker that the thread called has dropped the last
        // reference to the store. A thread cannot join itself, and this thread ends anyway.
        if thread.thread().id() != thread::current().id() {
            // The error means that the thread has panicked. It is ignored, because the waiting callers were already
            // told of the panic.
            let _ = thread.join();
        }
    }
}

/// Main function of the writer's thread.
fn drive(queue: &Queue, committer: &Mutex<Committer>, mut is_cpu_saturated: IsCpuSaturated) {
    let ended = catch_unwind(AssertUnwindSafe(|| run_steps(queue, committer, &mut is_cpu_saturated)));
    if ended.is_err() {
        committer.lock().die();
    }
}

fn run_steps(queue: &Queue, committer: &Mutex<Committer>, is_cpu_saturated: &mut IsCpuSaturated) {
    let mut last_batch = Duration::ZERO;
    loop {
        let mut locked = committer.lock();
        let begin = now();
        let step = locked.step();
        drop(locked);
        let goes_on = match step {
            Step::Worked => {
                last_batch = now().duration_since(begin);
                true
            }
            Step::Idle => queue.wait(),
            Step::Failing => {
                let pause = pause_after(now().duration_since(begin));
                let until_told = pause.min(IN_DOUBT_MAX);
                let goes_on = !queue.closes_within(until_told);
                committer.lock().add_pause(until_told);
                goes_on && !queue.closes_within(pause.saturating_sub(until_told))
            }
        };
        if !goes_on {
            return committer.lock().finish();
        }
        queue.wait_for_batch(is_cpu_saturated(), last_batch);
    }
}

#[expect(clippy::disallowed_methods, reason = "the writer's thread times its own batches")]
fn now() -> Instant {
    Instant::now()
}

/// The driver of the committer of a store that was opened without a thread. It is for simulations, which are
/// deterministic.
pub struct Writer(Arc<Mutex<Committer>>);

impl Writer {
    pub(crate) fn of(durable: &Durable) -> Self {
        Self(Arc::clone(&durable.committer))
    }

    /// Processes one batch of waiting requests. While the journal fails, asks it once to recover instead, and assumes a
    /// pause of a tenth of a second before the next step.
    pub fn step(&self) -> Step {
        let mut committer = self.0.lock();
        let step = committer.step();
        if step == Step::Failing {
            committer.add_pause(PAUSE_MIN);
        }
        step
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
