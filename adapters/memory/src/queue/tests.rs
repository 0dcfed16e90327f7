//! Tests of the queue.

use petstore_ports::StoreErrorKind;

use super::*;
use crate::group_commit::{CONCURRENT_DELAY_MAX, SATURATED_TARGET};
use crate::oneshot::channel;

fn watch() -> Request {
    watch_with(channel().0)
}

fn watch_with(sender: Sender<()>) -> Request {
    Request::Housekeeping(HousekeepingPart::Watch { now: Timestamp::from_millis(0).unwrap(), sender })
}

#[test]
fn a_full_queue_refuses_at_once() {
    let queue = Queue::default();
    for _ in 0..QUEUE_MAX {
        assert_eq!(queue.push(watch()), Ok(()));
    }
    assert!(matches!(queue.push(watch()), Err(error) if error.kind() == StoreErrorKind::Busy));
    queue.take(1, &mut Vec::new());
    assert_eq!(queue.push(watch()), Ok(()));
}

#[test]
fn a_closed_queue_accepts_nothing_and_keeps_its_requests() {
    let queue = Queue::default();
    queue.push(watch()).unwrap();
    queue.close();
    assert!(matches!(queue.push(watch()), Err(error) if error.kind() == StoreErrorKind::Unavailable));
    assert!(queue.wait());
    queue.wait_for_batch(true, Duration::ZERO);
    let mut taken = Vec::new();
    queue.take(10, &mut taken);
    assert_eq!(taken.len(), 1);
    assert!(!queue.wait());
}

#[test]
fn a_single_request_waits_for_others_only_for_a_while() {
    let queue = Queue::default();
    queue.push(watch()).unwrap();
    queue.wait_for_batch(true, Duration::ZERO);
    assert_eq!(queue.len(), 1);
    assert_eq!(queue.state.lock().wake_at, 0, "the next request wakes the writer again");
}

#[test]
fn a_batch_of_the_target_size_is_not_delayed_and_wakes_the_writer() {
    let queue = Queue::default();
    queue.wait_for_batch(true, Duration::ZERO);
    queue.state.lock().wake_at = SATURATED_TARGET;
    for _ in 1..SATURATED_TARGET {
        queue.push(watch()).unwrap();
        assert!(!queue.state.lock().wakes_writer());
    }
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while queue.len() < SATURATED_TARGET {
                queue.wait_for_batch(true, Duration::ZERO);
            }
        });
        queue.push(watch()).unwrap();
        writer.join().unwrap();
    });
    queue.state.lock().wake_at = SATURATED_TARGET;
    assert!(queue.state.lock().wakes_writer());
    // If a full batch were delayed, this loop would not end in time.
    for _ in 0..100_000 {
        queue.wait_for_batch(true, Duration::ZERO);
    }
}

#[test]
fn the_callers_of_the_last_batch_count_as_concurrent() {
    for (taken, waiting, expected) in
        [(0, 1, 1), (3, 4, 1), (0, 16, 12), (15, 0, 1), (16, 0, 12), (40, 24, 48), (256, 256, 48)]
    {
        let queue = Queue::default();
        (0..taken).for_each(|_| queue.push(watch()).unwrap());
        queue.take(taken, &mut Vec::new());
        (0..waiting).for_each(|_| queue.push(watch()).unwrap());
        let target = queue.state.lock().target(false, CONCURRENT_DELAY_MAX);
        assert_eq!(target.requests, expected, "after {taken}, with {waiting}");
    }
}

#[test]
fn a_batch_of_most_concurrent_callers_is_not_delayed() {
    let queue = Queue::default();
    (0..256).for_each(|_| queue.push(watch()).unwrap());
    queue.take(256, &mut Vec::new());
    (0..256).for_each(|_| queue.push(watch()).unwrap());
    // If a batch above the target were delayed, this loop would not end in time.
    for _ in 0..100_000 {
        queue.wait_for_batch(false, CONCURRENT_DELAY_MAX);
    }
}

#[test]
fn a_failing_queue_refuses_waiting_and_further_requests() {
    let queue = Queue::default();
    let (sender, receiver) = channel();
    queue.push(watch_with(sender)).unwrap();
    let broken = StoreError::unavailable("no space");
    queue.fail(&broken);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let answer = std::pin::pin!(receiver).poll(&mut context);
    assert_eq!(answer, std::task::Poll::Ready(Err(broken.clone())));
    assert_eq!((queue.check(), queue.push(watch())), (Err(broken.clone()), Err(broken)));
    let damaged = StoreError::corrupt("a page");
    let refused = StoreError::unavailable("the store is damaged: a page");
    queue.fail(&damaged);
    for _ in 0..2 {
        assert_eq!((queue.check(), queue.push(watch())), (Err(refused.clone()), Err(refused.clone())));
        assert_eq!(queue.check_at(Timestamp::MAX), Err(damaged.clone()));
    }
    queue.recover();
    assert_eq!(queue.check_at(Timestamp::MAX), Ok(()), "a refused watch is not waited for");
    assert_eq!(queue.push(watch()), Ok(()));
}
