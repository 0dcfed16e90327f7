//! Batches: their sizes and their number, requests that are refused, fail or are abandoned.

use std::sync::{Arc, Mutex};

use petstore_ports::{Reply, StoreError, StoreErrorKind};
use petstore_remote_connection::{BATCH_MAX, Batcher, Exchange, Waiting};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// Doubles numbers, one batch for each permit. A batch with a 0 fails.
#[derive(Clone)]
struct Doubling {
    permits: Arc<Semaphore>,
    /// The sizes of the batches that have begun.
    sizes: Arc<Mutex<Vec<usize>>>,
}

impl Exchange for Doubling {
    type Request = u64;
    type Answer = u64;

    const BUSY: &'static str = "too many numbers wait";
    const ABANDONED: &'static str = "the number was abandoned";

    async fn send(&self, batch: &mut Vec<Waiting<u64, u64>>) -> Result<(), StoreError> {
        self.sizes.lock().unwrap().push(batch.len());
        self.permits.acquire().await.unwrap().forget();
        if batch.iter().any(|waiting| waiting.request == 0) {
            return Err(StoreError::unavailable("a zero"));
        }
        for waiting in batch.drain(..) {
            let double = 2 * waiting.request;
            waiting.answer(Ok(double));
        }
        Ok(())
    }
}

impl Doubling {
    fn new(permits: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(permits)), sizes: Arc::default() }
    }

    fn batcher(&self) -> Arc<Batcher<Self>> {
        Arc::new(Batcher::new(self.clone()))
    }

    fn sizes(&self) -> Vec<usize> {
        self.sizes.lock().unwrap().clone()
    }
}

fn send(batcher: &Arc<Batcher<Doubling>>, number: u64) -> Reply<Result<u64, StoreError>> {
    batcher.send(number, &Handle::current())
}

#[tokio::test]
async fn a_second_batch_starts_once_enough_requests_wait_and_a_third_does_not() {
    let doubling = Doubling::new(0);
    let batcher = doubling.batcher();
    let mut replies = Vec::new();
    for (requests, sizes) in [(1, &[1][..]), (23, &[1]), (1, &[1, 24]), (200, &[1, 24])] {
        replies.extend((0..requests).map(|_| send(&batcher, 1)));
        yield_now().await;
        assert_eq!(doubling.sizes(), sizes, "{requests} more");
    }
    doubling.permits.add_permits(3);
    for reply in replies {
        assert_eq!(reply.await.unwrap(), 2);
    }
    assert_eq!(doubling.sizes(), [1, 24, 200]);
}

#[tokio::test]
async fn the_requests_of_a_turn_are_one_batch_and_no_batch_exceeds_its_bound() {
    let doubling = Doubling::new(10);
    let batcher = doubling.batcher();
    let replies: Vec<_> = (1..=600).map(|number| send(&batcher, number)).collect();
    for (reply, number) in replies.into_iter().zip(1..) {
        assert_eq!(reply.await.unwrap(), 2 * number);
    }
    assert_eq!(doubling.sizes(), [BATCH_MAX, BATCH_MAX, 600 - 2 * BATCH_MAX]);
}

#[tokio::test]
async fn a_request_whose_caller_has_gone_is_not_sent() {
    let doubling = Doubling::new(1);
    let batcher = doubling.batcher();
    drop(send(&batcher, 7));
    assert_eq!(send(&batcher, 1).await.unwrap(), 2);
    assert_eq!(doubling.sizes(), [1]);
}

#[tokio::test]
async fn a_failure_is_the_answer_to_all_that_wait() {
    let doubling = Doubling::new(0);
    let batcher = doubling.batcher();
    let in_batch = send(&batcher, 0);
    yield_now().await;
    let behind = send(&batcher, 1);
    doubling.permits.add_permits(1);
    for reply in [in_batch, behind] {
        assert_eq!(reply.await.unwrap_err().message(), "a zero");
    }
    doubling.permits.add_permits(1);
    assert_eq!(send(&batcher, 2).await.unwrap(), 4);
}

#[tokio::test]
async fn beyond_the_bound_requests_are_refused() {
    let batcher = Doubling::new(0).batcher();
    let _waiting: Vec<_> = (0..16_384).map(|_| send(&batcher, 1)).collect();
    let refused = send(&batcher, 1).await.unwrap_err();
    assert_eq!((refused.kind(), refused.message()), (StoreErrorKind::Busy, Doubling::BUSY));
}

#[test]
fn requests_of_a_runtime_that_ends_are_abandoned_and_the_next_one_is_sent() {
    let runtime = || Builder::new_current_thread().build().unwrap();
    let doubling = Doubling::new(0);
    let batcher = doubling.batcher();
    let ending = runtime();
    let abandoned = batcher.send(1, ending.handle());
    ending.block_on(yield_now());
    drop(ending);
    let other = runtime();
    assert_eq!(other.block_on(abandoned).unwrap_err().message(), Doubling::ABANDONED);
    doubling.permits.add_permits(1);
    assert_eq!(other.block_on(batcher.send(3, other.handle())).unwrap(), 6);
}
