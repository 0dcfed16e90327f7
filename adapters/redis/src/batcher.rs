//! The batches of one runtime.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use petstore_ports::{Reply, StoreError, Verdict};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::begun_bans::BegunBans;
use crate::link::RedisLink;
use crate::packing::{Verdicts, pack};
use crate::request::{Group, Request, merged};
use crate::script::Script;

/// The maximum number of requests of one batch. Redis executes a batch without interruption, so other nodes wait for it.
pub(crate) const BATCH_MAX: usize = 256;

/// The maximum number of requests that wait for their batch.
const WAITING_MAX: usize = 16_384;

/// The maximum number of batches that are under way at once.
const FLIGHTS_MAX: u32 = 2;

/// The number of waiting requests at which a second batch is sent while one is under way. Without a second batch the node
/// and Redis would work in turns. With a lower number the batches would be smaller, and each request would cost more.
const NEXT_FLIGHT: usize = 24;

type Answer = Result<Verdict, StoreError>;

/// A request that waits for its verdict.
struct Waiting {
    request: Request,
    answer: oneshot::Sender<Answer>,
}

/// Sends the requests of one turn of a runtime as one batch. While it is under way, the next batch forms.
pub(crate) struct Batcher {
    link: Arc<dyn RedisLink>,
    script: Arc<Script>,
    bans: Arc<BegunBans>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// The number of tasks that send batches.
    flights: u32,
}

impl Batcher {
    pub(crate) fn new(link: Arc<dyn RedisLink>, script: Arc<Script>, bans: Arc<BegunBans>) -> Self {
        Self { link, script, bans, state: Mutex::default() }
    }

    /// Decides a request. If a new batch is needed, a task on `runtime` sends it.
    pub(crate) fn decide(self: &Arc<Self>, request: Request, runtime: &Handle) -> Reply<Answer> {
        let (answer, answered) = oneshot::channel();
        let starts = {
            let mut state = self.state.lock();
            if state.waiting.len() >= WAITING_MAX {
                return Reply::now(Err(StoreError::busy("too many requests wait for Redis")));
            }
            state.waiting.push_back(Waiting { request, answer });
            let starts = starts_flight(state.flights, state.waiting.len());
            state.flights += u32::from(starts);
            starts
        };
        if starts {
            // A new task runs after the tasks that are ready now, whose requests join the batch.
            runtime.spawn(Flight { batcher: Arc::clone(self), has_ended: false }.run());
        }
        Reply::later(async move {
            answered.await.unwrap_or_else(|_| Err(StoreError::unavailable("the request was abandoned")))
        })
    }

    /// Moves the next batch into `batch`, which is empty. Returns `false` if no request waits, and the task then ends.
    fn take(&self, batch: &mut Vec<Waiting>) -> bool {
        let mut state = self.state.lock();
        while !state.waiting.is_empty() {
            let requests = state.waiting.len().min(BATCH_MAX);
            // A request whose caller has gone is not counted.
            batch.extend(state.waiting.drain(..requests).filter(|waiting| !waiting.answer.is_closed()));
            if !batch.is_empty() {
                return true;
            }
        }
        state.flights -= 1;
        false
    }

    async fn send(&self, batch: &mut Vec<Waiting>) {
        // None of the requests has an answer, so every order of them is a possible order of their arrival.
        batch.sort_by_cached_key(|waiting| waiting.request.order());
        let groups = merged(batch.iter().map(|waiting| waiting.request));
        let verdicts = match self.script.run(&*self.link, &pack(&groups)).await {
            Ok(packed) => self.read(&packed, &groups, batch.len()),
            Err(error) => Err(error),
        };
        match verdicts {
            Ok(verdicts) => {
                for (waiting, verdict) in batch.drain(..).zip(verdicts) {
                    // The caller may be gone.
                    let _: Result<(), _> = waiting.answer.send(Ok(verdict));
                }
            }
            Err(error) => {
                // The requests that came meanwhile have waited for the same link, so they fail with it.
                batch.extend(self.state.lock().waiting.drain(..));
                for waiting in batch.drain(..) {
                    let _: Result<(), _> = waiting.answer.send(Err(error.clone()));
                }
            }
        }
    }

    /// Reads the verdicts of all requests of a batch, in its order, and takes note of bans.
    fn read(&self, packed: &[u8], groups: &[Group], requests: usize) -> Result<Vec<Verdict>, StoreError> {
        let mut verdicts = Vec::with_capacity(requests);
        let mut reader = Verdicts::new(packed);
        for group in groups {
            reader.read(group, |verdict| {
                if let Verdict::Banned { unrecorded: Some(ban), .. } = verdict {
                    self.bans.keep(group.request.key, ban);
                }
                verdicts.push(verdict);
            })?;
        }
        self.bans.count(reader.end()?);
        Ok(verdicts)
    }
}

/// Returns whether a request that joins the queue starts another batch. `flights` batches are under way, and `waiting`
/// requests wait, with the new one.
const fn starts_flight(flights: u32, waiting: usize) -> bool {
    match flights {
        0 => true,
        FLIGHTS_MAX.. => false,
        // The number may be passed while the maximum of batches is under way.
        _ => waiting >= NEXT_FLIGHT,
    }
}

/// The task that sends batches until no request waits.
struct Flight {
    batcher: Arc<Batcher>,
    has_ended: bool,
}

impl Flight {
    async fn run(mut self) {
        let mut batch = Vec::new();
        while self.batcher.take(&mut batch) {
            self.batcher.send(&mut batch).await;
        }
        self.has_ended = true;
    }
}

/// A runtime that shuts down drops the task before its end. Then the requests that wait fail, and the next request starts
/// a task on its own runtime.
impl Drop for Flight {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut state = self.batcher.state.lock();
            state.flights -= 1;
            state.waiting.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_batch_starts_once_enough_requests_wait() {
        for (flights, waiting, starts) in [
            (0, 1, true),
            (1, NEXT_FLIGHT - 1, false),
            (1, NEXT_FLIGHT, true),
            (1, NEXT_FLIGHT + 1, true),
            (FLIGHTS_MAX, WAITING_MAX, false),
        ] {
            assert_eq!(starts_flight(flights, waiting), starts, "{flights} batches, {waiting} requests");
        }
    }
}
