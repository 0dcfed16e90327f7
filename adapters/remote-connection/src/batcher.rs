//! The batches of one runtime.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use petstore_ports::{Reply, StoreError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The maximum number of requests of one batch. A server executes a batch without interruption, so other nodes wait for it.
pub const BATCH_MAX: usize = 256;

/// The maximum number of requests that wait for their batch.
const WAITING_MAX: usize = 16_384;

/// The maximum number of batches that are under way at once.
const FLIGHTS_MAX: u32 = 2;

/// The number of waiting requests at which a second batch is sent while one is under way. Without a second batch a node and
/// its server would work in turns: while one works, the other one waits. With a lower number the batches would be smaller,
/// and each request would cost the server more.
const NEXT_FLIGHT: usize = 24;

/// The way to send a batch, and to answer its requests.
pub trait Exchange: Send + Sync + 'static {
    /// A request, one of many in a batch.
    type Request: Send + 'static;
    /// The answer to one request.
    type Answer: Send + 'static;

    /// The error for a request that comes while too many wait.
    const BUSY: &'static str;

    /// The error for a request whose runtime has shut down.
    const ABANDONED: &'static str;

    /// Sends a batch, which is not empty, and answers the requests in it. After an error, those that are left in `batch` fail
    /// with it, and so do the ones that wait, because they wait for the same connection.
    fn send(
        &self,
        batch: &mut Vec<Waiting<Self::Request, Self::Answer>>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// A request that waits for its answer.
#[derive(Debug)]
pub struct Waiting<R, A> {
    /// The request, as its caller gave it.
    pub request: R,
    answer: oneshot::Sender<Result<A, StoreError>>,
}

impl<R, A> Waiting<R, A> {
    /// Answers the request. Its caller may be gone.
    pub fn answer(self, answer: Result<A, StoreError>) {
        let _: Result<(), _> = self.answer.send(answer);
    }
}

/// Sends the requests of one turn of a runtime as one batch. While it is under way, the next batch forms.
pub struct Batcher<E: Exchange> {
    exchange: E,
    queue: Mutex<Queue<E>>,
}

struct Queue<E: Exchange> {
    waiting: VecDeque<Waiting<E::Request, E::Answer>>,
    /// The number of tasks that send batches.
    flights: u32,
}

impl<E: Exchange> Batcher<E> {
    /// A batcher without requests.
    pub const fn new(exchange: E) -> Self {
        Self { exchange, queue: Mutex::new(Queue { waiting: VecDeque::new(), flights: 0 }) }
    }

    /// Sends a request with a batch. If a new batch is needed, a task on `runtime` sends it.
    pub fn send(
        self: &Arc<Self>,
        request: E::Request,
        runtime: &Handle,
    ) -> Reply<Result<E::Answer, StoreError>> {
        let (answer, answered) = oneshot::channel();
        let starts = {
            let mut queue = self.queue.lock();
            if queue.waiting.len() >= WAITING_MAX {
                return Reply::now(Err(StoreError::busy(E::BUSY)));
            }
            queue.waiting.push_back(Waiting { request, answer });
            let starts = starts_flight(queue.flights, queue.waiting.len());
            queue.flights += u32::from(starts);
            starts
        };
        if starts {
            // A new task runs after the tasks that are ready now, whose requests join the batch.
            runtime.spawn(Flight { batcher: Arc::clone(self), has_ended: false }.run());
        }
        Reply::later(
            async move { answered.await.unwrap_or_else(|_| Err(StoreError::unavailable(E::ABANDONED))) },
        )
    }

    /// Moves the next batch into `batch`, which is empty. Returns `false` if no request waits, and the task then ends.
    fn take(&self, batch: &mut Vec<Waiting<E::Request, E::Answer>>) -> bool {
        let mut queue = self.queue.lock();
        while !queue.waiting.is_empty() {
            let requests = queue.waiting.len().min(BATCH_MAX);
            // A request whose caller has gone is not sent.
            batch.extend(queue.waiting.drain(..requests).filter(|waiting| !waiting.answer.is_closed()));
            if !batch.is_empty() {
                return true;
            }
        }
        queue.flights -= 1;
        false
    }

    async fn exchange(&self, batch: &mut Vec<Waiting<E::Request, E::Answer>>) {
        if let Err(error) = self.exchange.send(batch).await {
            batch.extend(self.queue.lock().waiting.drain(..));
            batch.drain(..).for_each(|waiting| waiting.answer(Err(error.clone())));
        }
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
struct Flight<E: Exchange> {
    batcher: Arc<Batcher<E>>,
    has_ended: bool,
}

impl<E: Exchange> Flight<E> {
    async fn run(mut self) {
        let mut batch = Vec::new();
        while self.batcher.take(&mut batch) {
            self.batcher.exchange(&mut batch).await;
        }
        self.has_ended = true;
    }
}

/// A runtime that shuts down drops the task before its end. Then the requests that wait fail, and the next request starts
/// a task on its own runtime.
impl<E: Exchange> Drop for Flight<E> {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut queue = self.batcher.queue.lock();
            queue.flights -= 1;
            queue.waiting.clear();
        }
    }
}
