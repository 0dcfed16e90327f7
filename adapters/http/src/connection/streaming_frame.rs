//! The tests of streaming answers that both protocols share, in simulated time: deadlines, the server's stop, and
//! bounds.
//!
//! Each protocol implements [`StreamClient`], and calls these functions from its own tests.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use petstore_domain::AccountId;
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::{Instant, sleep};

use crate::base::drain::Drain;
use crate::base::settings::Deadlines;
use crate::exchange::response_body::STREAM_END_TIME;
use crate::io::activity::{Activity, Phase};
use crate::response::body::{Body, CHUNK_MAX, Framing, Source, StreamBody, StreamPermit, StreamPlaces};

/// A source that sends the chunks of a test.
#[derive(Clone, Default)]
pub(super) struct ScriptedSource(Rc<RefCell<ScriptState>>);

#[derive(Default)]
struct ScriptState {
    chunks: Vec<Bytes>,
    is_over: bool,
    ends_at_stop: bool,
    task: Option<Waker>,
}

impl ScriptedSource {
    /// A source that sends `bye` and ends when the server stops.
    pub(super) fn ending_at_stop() -> Self {
        let source = Self::default();
        source.0.borrow_mut().ends_at_stop = true;
        source
    }

    pub(super) fn send(&self, chunk: impl Into<Bytes>) {
        let mut state = self.0.borrow_mut();
        state.chunks.push(chunk.into());
        state.task.take().into_iter().for_each(Waker::wake);
    }

    pub(super) fn end(&self) {
        let mut state = self.0.borrow_mut();
        state.is_over = true;
        state.task.take().into_iter().for_each(Waker::wake);
    }

    pub(super) fn body(&self, framing: Framing) -> Body {
        let place = StreamPlaces::default().take(AccountId::FIRST, 1, 1).unwrap();
        let permit = StreamPermit::OfAccount(place);
        Body::Stream(Box::new(StreamBody { source: Box::new(self.clone()), framing, permit }))
    }

    /// The number of chunks that were not polled yet.
    fn unpolled(&self) -> usize {
        self.0.borrow().chunks.len()
    }
}

impl Source for ScriptedSource {
    fn poll_chunk(&mut self, context: &mut Context<'_>, is_stopping: bool) -> Poll<Option<Bytes>> {
        let mut state = self.0.borrow_mut();
        if !state.chunks.is_empty() {
            return Poll::Ready(Some(state.chunks.remove(0)));
        }
        if state.is_over {
            return Poll::Ready(None);
        }
        if is_stopping && state.ends_at_stop {
            state.is_over = true;
            return Poll::Ready(Some(Bytes::from_static(b"bye")));
        }
        state.task = Some(context.waker().clone());
        Poll::Pending
    }
}

/// The server's side of a connection.
pub(super) struct ServedConnection {
    pub(super) activity: Rc<Activity>,
    pub(super) drain: Arc<Drain>,
    pub(super) task: JoinHandle<()>,
}

/// A client of one protocol that has requested a stream.
pub(super) trait StreamClient: Sized {
    /// Opens a connection whose transport buffers `buffer` bytes, and requests the stream of `source`.
    async fn open(source: &ScriptedSource, buffer: usize) -> (Self, ServedConnection);

    /// Reads the next chunk, which must be `text`.
    async fn expect_chunk(&mut self, text: &str);

    /// Reads the regular end of the stream.
    async fn expect_end(&mut self);

    /// Reads to the end of the stream. The client must be able to see that the stream is truncated.
    async fn expect_cut(&mut self);
}

/// Bytes that the transport buffers unless a test needs a small buffer.
pub(super) const BUFFER: usize = 1024 * 1024;

/// Runs a test on one thread whose clock advances only when all tasks wait.
pub(super) fn in_simulated_time(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.unwrap(), test);
}

pub(super) fn a_quiet_stream_outlives_the_idle_deadline<C: StreamClient>() {
    in_simulated_time(async {
        let source = ScriptedSource::default();
        let (mut client, served) = C::open(&source, BUFFER).await;
        source.send("one");
        client.expect_chunk("one").await;
        assert_eq!(served.activity.phase().0, Phase::Streaming);
        sleep(Duration::from_hours(1)).await;
        source.send("two");
        client.expect_chunk("two").await;
        source.end();
        client.expect_end().await;
        // The idle time begins with the end of the stream.
        sleep(Deadlines::DEFAULT.idle * 9 / 10).await;
        assert!(!served.task.is_finished());
        sleep(Deadlines::DEFAULT.idle / 5).await;
        assert!(served.task.is_finished());
    });
}

/// `lasts_at_most` is the longest time from the stop to the end of the connection.
pub(super) fn a_stop_ends_a_stream_with_its_last_chunk<C: StreamClient>(lasts_at_most: Duration) {
    in_simulated_time(async {
        let source = ScriptedSource::ending_at_stop();
        let (mut client, served) = C::open(&source, BUFFER).await;
        source.send("one");
        client.expect_chunk("one").await;
        let stop = Instant::now();
        served.drain.begin(stop);
        client.expect_chunk("bye").await;
        client.expect_end().await;
        served.task.await.unwrap();
        assert!(stop.elapsed() <= lasts_at_most, "{:?}", stop.elapsed());
    });
}

pub(super) fn a_stream_whose_source_does_not_end_is_cut_after_a_stop<C: StreamClient>() {
    in_simulated_time(async {
        let source = ScriptedSource::default();
        let (mut client, served) = C::open(&source, BUFFER).await;
        source.send("one");
        client.expect_chunk("one").await;
        let stop = Instant::now();
        served.drain.begin(stop);
        client.expect_cut().await;
        let lasted = stop.elapsed();
        assert!((STREAM_END_TIME..2 * STREAM_END_TIME).contains(&lasted), "{lasted:?}");
    });
}

/// `lasts_less_than` is the time within which a connection is closed if its client reads nothing. `buffered_max` is
/// the maximum number of chunks that the connection may buffer in that time.
pub(super) fn a_stalled_client_is_cut_after_the_stall_deadline_of_streams<C: StreamClient>(
    lasts_less_than: Duration,
    buffered_max: usize,
) {
    const CHUNKS: usize = 256;
    in_simulated_time(async {
        let source = ScriptedSource::default();
        let (client, served) = C::open(&source, 1024).await;
        let begun = Instant::now();
        for _ in 0..CHUNKS {
            source.send(vec![b'x'; CHUNK_MAX]);
        }
        served.task.await.unwrap();
        let lasted = begun.elapsed();
        assert!((Deadlines::DEFAULT.stream_stall..lasts_less_than).contains(&lasted), "{lasted:?}");
        let buffered = CHUNKS - source.unpolled();
        assert!(buffered <= buffered_max, "{buffered} chunks were polled although the client read nothing");
        drop(client);
    });
}

pub(super) fn a_chunk_above_the_bound_cuts_its_stream<C: StreamClient>() {
    in_simulated_time(async {
        let source = ScriptedSource::default();
        let (mut client, _served) = C::open(&source, BUFFER).await;
        source.send(vec![b'x'; CHUNK_MAX + 1]);
        client.expect_cut().await;
    });
}
