//! Batched sends: the answers of a thread are collected and sent one right after the other.
//!
//! A send wakes the process that waits for the answer. If that process is a client on another processor of this
//! machine, the wake-up costs about as much as the answer itself. So answers are collected while other requests are
//! handled, and are then sent together. A client that waits for several answers of a batch is woken once.
//!
//! No timer is involved. The flusher is a task in the thread's run queue, behind the tasks that were ready when the
//! first answer was added. It moves to the end of the queue again as long as further answers are added. The bytes and
//! the age of a batch are bounded too.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use petstore_domain::Timestamp;
use tokio::task::unconstrained;
use tokio::time::Instant;

/// The maximum number of bytes in a batch.
pub(crate) const BATCH_BYTES_MAX: usize = 128 * 1024;

/// The longest time for which the first answer of a batch waits. The time is checked after each request, so a single
/// long request may exceed it.
const BATCH_WAIT_MAX: Duration = Duration::from_micros(500);

/// The answers of one thread that have not been sent yet.
pub(crate) struct SendBatch {
    batch: RefCell<Batch>,
    /// The instant at which the batch must be sent.
    due: Cell<Instant>,
    /// The last reading of the clock.
    last_read: Cell<Instant>,
    /// The time of day, if it was read since the first answer was added.
    time: Cell<Option<Timestamp>>,
    flusher: RefCell<Option<Waker>>,
    /// Scratch buffer, reused for the next response's headers.
    buffer: Cell<Vec<u8>>,
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    segments: Vec<Segment>,
}

/// A part of the batch. The bytes from the end of the previous segment to `end` are for this recipient.
struct Segment {
    to: Rc<dyn Recipient>,
    end: usize,
}

/// The recipient of a part of a batch.
pub(crate) trait Recipient {
    /// Sends the bytes. Bytes that cannot be sent now are kept and sent later.
    fn send(&self, bytes: &[u8]);
}

impl SendBatch {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self {
            batch: RefCell::default(),
            due: Cell::new(now),
            last_read: Cell::new(now),
            time: Cell::default(),
            flusher: RefCell::default(),
            buffer: Cell::default(),
        }
    }

    /// Returns a task that flushes the batch, and never ends. Spawn the task once, on the thread of the batch.
    pub(crate) fn flusher(self: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        let send_batch = Rc::clone(self);
        // The flusher runs because a first segment was added. Only a second segment shows that further answers are
        // being added.
        let mut seen = 1;
        std::future::poll_fn(move |context| {
            if send_batch.flusher.borrow().is_none() {
                *send_batch.flusher.borrow_mut() = Some(context.waker().clone());
            }
            let segments = send_batch.batch.borrow().segments.len();
            if segments > seen {
                seen = segments;
                context.waker().wake_by_ref();
            } else {
                seen = 1;
                send_batch.flush();
            }
            Poll::Pending
        })
    }

    /// The current instant, for the start of a request. If the batch is not empty, the thread has not slept since it
    /// last read the clock, so that reading is reused.
    pub(crate) fn now(&self) -> Instant {
        if self.batch.borrow().segments.is_empty() { Instant::now() } else { self.last_read.get() }
    }

    /// The time of day, for a request. Requests whose answers are in one batch share a reading of the clock. The
    /// reading was taken after the first of these answers was added.
    pub(crate) fn time(&self, read: impl FnOnce() -> Timestamp) -> Timestamp {
        if self.batch.borrow().segments.is_empty() {
            return read();
        }
        let time = self.time.get().unwrap_or_else(read);
        self.time.set(Some(time));
        time
    }

    /// Records this reading of the clock, and flushes the batch if it has waited for too long.
    pub(crate) fn flush_if_due(&self, now: Instant) {
        self.last_read.set(now);
        if now > self.due.get() && !self.batch.borrow().segments.is_empty() {
            self.flush();
        }
    }

    /// Takes the scratch buffer, which is empty.
    pub(crate) fn take_buffer(&self) -> Vec<u8> {
        self.buffer.take()
    }

    /// Returns the scratch buffer after its content has been added to the batch.
    pub(crate) fn return_buffer(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.buffer.set(buffer);
    }

    /// Adds bytes, given in parts.
    pub(crate) fn push<R: Recipient + 'static>(&self, to: &Rc<R>, parts: &[&[u8]]) {
        let mut batch = self.batch.borrow_mut();
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if batch.bytes.len() + length > BATCH_BYTES_MAX {
            drop(batch);
            self.flush();
            batch = self.batch.borrow_mut();
        }
        let Batch { bytes: all, segments } = &mut *batch;
        for part in parts {
            all.extend_from_slice(part);
        }
        let end = all.len();
        match segments.last_mut() {
            // Consecutive answers to one recipient form one segment.
            Some(last) if std::ptr::addr_eq(Rc::as_ptr(&last.to), Rc::as_ptr(to)) => last.end = end,
            last => {
                let is_first = last.is_none();
                segments.push(Segment { to: Rc::clone(to) as _, end });
                if is_first {
                    // The clock is read here, because the last reading may be old. Bytes that are not the answer to a
                    // request are added without a reading of the clock.
                    let now = Instant::now();
                    self.last_read.set(now);
                    self.due.set(now + BATCH_WAIT_MAX);
                    self.time.set(None);
                    if let Some(flusher) = &*self.flusher.borrow() {
                        flusher.wake_by_ref();
                    }
                }
            }
        }
    }

    pub(crate) fn flush(&self) {
        // The batch is taken out of the cell first, because recipients are foreign code and may use the cell.
        let mut batch = self.batch.take();
        let mut from = 0;
        // `unconstrained` keeps the sends from using up tokio's cooperative budget of the task that flushes.
        let sending = pin!(unconstrained(async {
            for Segment { to, end } in batch.segments.drain(..) {
                to.send(&batch.bytes[from..end]);
                from = end;
            }
        }));
        let _ = sending.poll(&mut Context::from_waker(Waker::noop()));
        batch.bytes.clear();
        if self.batch.borrow().segments.is_empty() {
            self.batch.replace(batch);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::wake_counter::WakeCounter;

    /// The bytes that were sent, in order, with their recipients.
    type Sent = Rc<RefCell<Vec<(&'static str, Vec<u8>)>>>;

    struct TestRecipient(&'static str, Sent);

    impl Recipient for TestRecipient {
        fn send(&self, bytes: &[u8]) {
            self.1.borrow_mut().push((self.0, bytes.to_vec()));
        }
    }

    fn recipients() -> (Rc<TestRecipient>, Rc<TestRecipient>, Sent) {
        let sent = Sent::default();
        (Rc::new(TestRecipient("a", Rc::clone(&sent))), Rc::new(TestRecipient("b", Rc::clone(&sent))), sent)
    }

    /// Returns a batch whose flusher has been polled once, a function that polls the flusher again, and the counter of
    /// the flusher's wake-ups.
    fn with_flusher() -> (Rc<SendBatch>, impl FnMut(), Arc<WakeCounter>) {
        let (send_batch, counted) = (Rc::new(SendBatch::new()), Arc::new(WakeCounter::default()));
        let waker = Waker::from(Arc::clone(&counted));
        let mut flushing = Box::pin(send_batch.flusher());
        let mut poll_again =
            move || assert!(flushing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        poll_again();
        (send_batch, poll_again, counted)
    }

    #[test]
    fn a_single_answer_is_sent_at_the_next_poll_of_the_flusher() {
        let ((a, _, sent), (send_batch, mut poll_again, wakes)) = (recipients(), with_flusher());
        for round in 1..=2 {
            send_batch.push(&a, &[b"one"]);
            send_batch.push(&a, &[b"two"]);
            assert_eq!(sent.take(), []);
            poll_again();
            assert_eq!(sent.take(), [("a", b"onetwo".to_vec())]);
            assert_eq!(wakes.count(), round);
        }
        assert_eq!(Rc::strong_count(&a), 1, "the batch keeps no reference to a recipient");
    }

    #[test]
    fn the_flusher_waits_while_answers_are_added_and_sends_them_in_order() {
        let ((a, b, sent), (send_batch, mut poll_again, wakes)) = (recipients(), with_flusher());
        for round in 0..2 {
            for (to, bytes) in [(&a, "one"), (&a, "two"), (&b, "three"), (&a, "four")] {
                send_batch.push(to, &[bytes.as_bytes()]);
            }
            poll_again();
            send_batch.push(&b, &[b"five"]);
            poll_again();
            assert_eq!(sent.take(), []);
            assert_eq!(wakes.count(), 3 * round + 3, "for the first answer, and for two more polls");
            poll_again();
            let expected = [("a", "onetwo"), ("b", "three"), ("a", "four"), ("b", "five")];
            assert_eq!(sent.take(), expected.map(|(to, bytes)| (to, bytes.as_bytes().to_vec())));
            assert_eq!(wakes.count(), 3 * round + 3);
        }
        assert_eq!(Rc::strong_count(&a), 1, "the batch keeps no reference to a recipient");
    }

    #[test]
    fn the_clock_is_read_unless_a_batch_is_waiting() {
        let ((a, ..), send_batch) = (recipients(), SendBatch::new());
        let long_ago = Instant::now() - Duration::from_mins(1);
        send_batch.flush_if_due(long_ago);
        let before = Instant::now();
        assert!(send_batch.now() >= before);
        // Some bytes, such as a TLS handshake, are added without a reading of the clock.
        send_batch.push(&a, &[b"one"]);
        let posted = send_batch.now();
        assert!(posted >= before);
        send_batch.push(&a, &[b"two"]);
        assert_eq!(send_batch.now(), posted);
        send_batch.flush_if_due(posted + Duration::from_nanos(1));
        assert_eq!(send_batch.now(), posted + Duration::from_nanos(1));
    }

    #[test]
    fn the_time_of_day_is_read_once_for_a_batch() {
        let ((a, b, _), send_batch) = (recipients(), SendBatch::new());
        let at = |millis| Timestamp::from_millis(millis).unwrap();
        for start in [10, 20] {
            // Without a batch, an earlier reading may be old, so each request reads the time.
            assert_eq!(send_batch.time(|| at(start)), at(start));
            assert_eq!(send_batch.time(|| at(start + 1)), at(start + 1));
            send_batch.push(&a, &[b"one"]);
            assert_eq!(send_batch.time(|| at(start + 2)), at(start + 2));
            send_batch.push(&b, &[b"two"]);
            assert_eq!(send_batch.time(|| unreachable!("the time has been read")), at(start + 2));
            send_batch.flush();
        }
    }

    #[test]
    fn a_full_batch_is_sent_at_once() {
        let (a, b, sent) = recipients();
        let send_batch = SendBatch::new();
        send_batch.push(&a, &[&vec![1; BATCH_BYTES_MAX]]);
        assert_eq!(sent.take(), []);
        send_batch.push(&b, &[&[2]]);
        assert_eq!(sent.take(), [("a", vec![1; BATCH_BYTES_MAX])]);
        send_batch.flush();
        assert_eq!(sent.take(), [("b", vec![2])]);
    }

    #[test]
    fn a_batch_that_has_waited_too_long_is_sent() {
        let (a, _, sent) = recipients();
        let send_batch = SendBatch::new();
        send_batch.push(&a, &[b"one"]);
        let posted = send_batch.now();
        send_batch.flush_if_due(posted + BATCH_WAIT_MAX);
        assert_eq!(sent.take(), []);
        send_batch.flush_if_due(posted + BATCH_WAIT_MAX + Duration::from_nanos(1));
        assert_eq!(sent.take(), [("a", b"one".to_vec())]);
    }
}
