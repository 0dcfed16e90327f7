//! One HTTP/2 connection: the state machine of hyper and h2, with bounds and deadlines.
//!
//! The deadlines of bodies, of the store and of a stop are the same as with HTTP/1.1. A connection without a request,
//! or with a part of a head, ends at the idle deadline. A client that does not read is detected in two ways. Either
//! writes to the socket stall, or the client has closed the flow-control windows of its streams, so that h2 still holds
//! an answer after the stall deadline. The number of answers that h2 holds is bounded. These deadlines end every
//! inactive connection, so keep-alive pings are not needed.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::{HttpService, service_fn};
use hyper::{HeaderMap, Method, Request};
use hyper_util::rt::TokioIo;
use tokio::io::ReadBuf;
use tokio::time::{Duration, Instant};

use crate::base::settings::{
    CONNECTION_WINDOW, Deadlines, FIELDS_MAX, IDLE_END_TIME, LOCAL_RESETS_MAX, PENDING_RESETS_MAX,
    READ_BUFFER_MAX, READ_TURN_MAX, SEND_BUFFER_MAX, STREAM_WINDOW, STREAMS_MAX,
};
use crate::connection::context::ConnectionContext;
use crate::connection::deadline_timer::{DeadlineTimer, StopSignal};
use crate::connection::http1::{LAST_REQUEST_TIME, TimedValue};
use crate::connection::read_filter::{FilteredStream, ReadFilter};
use crate::exchange::{QueueFull, exchange};
use crate::io::activity::{Activity, Phase};
use crate::io::socket::Stream;
use crate::thread::Dropped;

mod detached_exchange;
mod flow_control;

use detached_exchange::DetachedExchange;
use flow_control::{FlowControl, RequestGuard, TrackedBody};

/// Serves a stream on which HTTP/2 was negotiated, to its end.
pub(crate) async fn serve<T: Stream>(stream: T, context: ConnectionContext) {
    let ConnectionContext { peer, thread, activity, drain } = context;
    let deadlines = thread.app.settings.deadlines;
    let flow_control = Rc::new(FlowControl::new(&activity));
    let (noted, accepted) = (Rc::clone(&activity), Rc::clone(&flow_control));
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (request_guard, flow_control) =
            (RequestGuard::begin(&accepted, thread.load_shedder.opened()), Rc::clone(&accepted));
        let (thread, noted) = (Rc::clone(&thread), Rc::clone(&noted));
        let is_head = request.method() == Method::HEAD;
        truncate_fields(request.headers_mut());
        async move {
            if !flow_control.room(&request).await {
                request.extensions_mut().insert(QueueFull);
            }
            // The exchange is created only now, so that a waiting request takes less memory.
            let answering = exchange::<true>(thread, noted, peer, request);
            let response = DetachedExchange::new(answering, &flow_control).await?;
            Ok::<_, Dropped>(TrackedBody::response(response, is_head, request_guard))
        }
    });
    let stop = StopSignal::new(&drain);
    let connection = Connection::new(stream, service, activity, flow_control, deadlines, stop);
    connection.serve().await;
}

/// hyper's state machine under the bounds of [`settings`](crate::base::settings).
fn builder() -> http2::Builder<ThisThread> {
    let mut builder = http2::Builder::new(ThisThread);
    builder
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(READ_BUFFER_MAX).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(PENDING_RESETS_MAX)
        .max_local_error_reset_streams(LOCAL_RESETS_MAX)
        .max_send_buf_size(SEND_BUFFER_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    builder
}

/// Truncates a head with too many fields to one field more than the bound. Because of this one field the head is still
/// refused. The other fields are dropped to save memory: a field of a single byte on the wire takes about a hundred
/// bytes while the request waits.
fn truncate_fields(headers: &mut HeaderMap) {
    if headers.len() > FIELDS_MAX {
        let mut kept = HeaderMap::new();
        kept.extend(headers.drain().take(FIELDS_MAX + 1));
        *headers = kept;
    }
}

/// Spawns the tasks of a connection on the thread that serves the connection.
#[derive(Clone, Copy)]
struct ThisThread;

impl<F: Future<Output = ()> + 'static> Executor<F> for ThisThread {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// A connection and its deadlines.
struct Connection<T: Stream, S: HttpService<Incoming>> {
    http: http2::Connection<TokioIo<FilteredStream<ReadBudget, T>>, S, ThisThread>,
    activity: Rc<Activity>,
    flow_control: Rc<FlowControl>,
    /// Bytes that may still be read in this poll of the connection.
    budget: Rc<Cell<usize>>,
    deadlines: Deadlines,
    timer: DeadlineTimer,
    /// `true` while requests are open, and a number that changes with each request.
    busy: TimedValue<(bool, u64)>,
    /// `true` while the client does not read from the socket, and a number that changes with each write.
    stall: TimedValue<(bool, u64)>,
    stop: StopSignal,
    /// The server is stopping.
    is_stopping: bool,
    /// The instant at which the client was told that the connection ends.
    ending: Option<Instant>,
}

impl<T, S, F> Connection<T, S>
where
    T: Stream,
    S: HttpService<Incoming, ResBody = TrackedBody, Error = Dropped, Future = F>,
    F: Future<Output = Result<hyper::Response<TrackedBody>, Dropped>> + 'static,
{
    fn new(
        stream: T,
        service: S,
        activity: Rc<Activity>,
        flow_control: Rc<FlowControl>,
        deadlines: Deadlines,
        stop: StopSignal,
    ) -> Self {
        let budget = Rc::new(Cell::new(READ_TURN_MAX));
        let stream = FilteredStream { filter: ReadBudget { budget: Rc::clone(&budget) }, stream };
        let now = Instant::now();
        Self {
            http: builder().serve_connection(TokioIo::new(stream), service),
            busy: TimedValue { value: (false, 0), since: now },
            stall: TimedValue { value: activity.stall(), since: now },
            activity,
            flow_control,
            budget,
            timer: DeadlineTimer::at(now + deadlines.idle),
            deadlines,
            stop,
            is_stopping: false,
            ending: None,
        }
    }

    /// Serves the connection to its end. Then waits until the exchanges have ended whose streams the client has reset.
    async fn serve(mut self) {
        std::future::poll_fn(|context| self.poll(context)).await;
        let flow_control = Rc::clone(&self.flow_control);
        drop(self);
        // These exchanges must end before the connection slot is released and before the thread may end.
        flow_control.end().await;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_stopping && self.stop.is_stopping(context) {
            self.is_stopping = true;
            self.activity.stop_streams();
            if self.ending.is_none() {
                self.end();
            }
        }
        self.budget.set(READ_TURN_MAX);
        loop {
            if Pin::new(&mut self.http).poll(context).is_ready() {
                return Poll::Ready(());
            }
            let now = Instant::now();
            self.observe(now);
            // The deadline is also checked periodically, because a request that ends by a reset of its stream causes
            // no poll here.
            let (deadline, end) = self.deadline().unwrap_or((now + self.deadlines.idle, End::Graceful));
            if deadline <= now {
                match end {
                    End::Graceful => self.end(),
                    End::Immediate => return Poll::Ready(()),
                }
                continue;
            }
            if deadline < self.timer.deadline() || !self.timer.is_armed() {
                self.timer.set(deadline);
            }
            if !self.timer.has_fired(context) {
                return Poll::Pending;
            }
        }
    }

    /// Tells the client that no new request is served on this connection (GOAWAY).
    fn end(&mut self) {
        self.ending = Some(Instant::now());
        Pin::new(&mut self.http).graceful_shutdown();
    }

    fn observe(&mut self, now: Instant) {
        let (phase, requests) = self.activity.phase();
        // Frames that belong to no request do not count: a client that only sends pings is idle.
        self.busy.update((phase.is_owed(), requests), || now);
        self.stall.update(self.activity.stall(), || now);
    }

    /// The time for which a connection without a request stays open after the client was told, at `ending`, that the
    /// connection ends. In this time the client acknowledges, h2 sends the final GOAWAY, and the client closes its side.
    fn time_to_leave(&self, ending: Instant) -> Duration {
        let was_idle = self.busy.since <= ending && !self.stall.value.0;
        if self.is_stopping && was_idle { 2 * IDLE_END_TIME } else { LAST_REQUEST_TIME }
    }

    /// The earliest deadline, and the way in which the connection ends at it.
    fn deadline(&self) -> Option<(Instant, End)> {
        let idle = (!self.busy.value.0).then(|| match self.ending {
            Some(since) => (since.max(self.busy.since) + self.time_to_leave(since), End::Immediate),
            None => (self.busy.since + self.deadlines.idle, End::Graceful),
        });
        let end_of_stall = |limit, since| self.deadlines.end_of_stall(limit, since, self.stop.since());
        let limit = match self.activity.phase().0 {
            Phase::Streaming => self.deadlines.stream_stall,
            Phase::Idle | Phase::Head | Phase::Busy => self.deadlines.write_stall,
        };
        let stall = self.stall.value.0.then(|| (end_of_stall(limit, self.stall.since), End::Immediate));
        // After GOAWAY, the stall deadline of each answer that h2 still holds begins again.
        let stuck = self.flow_control.first_due(&self.deadlines).map(|(limit, moved)| match self.ending {
            Some(since) => (end_of_stall(limit, since.max(moved)), End::Immediate),
            None => (end_of_stall(limit, moved), End::Graceful),
        });
        [idle, stall, stuck].into_iter().flatten().min_by_key(|(deadline, _)| *deadline)
    }
}

/// The way in which a connection ends at a deadline.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The client is told, and its open requests are answered.
    Graceful,
    /// The connection is closed at once.
    Immediate,
}

/// Limits the bytes that one poll of a connection reads. h2 reads as long as bytes are available. Without the limit, a
/// client that sends many small frames would block the other connections of the thread.
struct ReadBudget {
    budget: Rc<Cell<usize>>,
}

impl ReadFilter for ReadBudget {
    fn poll_read<T: Stream>(
        &mut self,
        stream: &mut T,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.budget.get() == 0 {
            // The connection is polled again after the other ready tasks.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let poll = Pin::new(stream).poll_read(context, buffer);
        self.budget.set(self.budget.get().saturating_sub(buffer.filled().len() - before));
        poll
    }
}

#[cfg(test)]
mod stop_tests;
#[cfg(test)]
mod streaming_tests;

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use hyper::header::{HeaderName, HeaderValue};
    use tokio::io::{AsyncRead, AsyncWriteExt};

    use super::*;

    #[test]
    fn a_head_with_too_many_fields_is_truncated_and_still_over_the_bound() {
        let headers = |fields: usize| {
            let name = |number| HeaderName::try_from(format!("x-{number}")).unwrap();
            (0..fields).map(|number| (name(number), HeaderValue::from_static(""))).collect::<HeaderMap>()
        };
        for (fields, kept) in [(0, 0), (FIELDS_MAX, FIELDS_MAX), (990, FIELDS_MAX + 1)] {
            let mut headers = headers(fields);
            truncate_fields(&mut headers);
            assert_eq!(headers.len(), kept);
            assert!(headers.capacity() < 2 * FIELDS_MAX);
        }
    }

    #[tokio::test]
    async fn a_poll_reads_no_more_than_its_budget_and_the_next_one_continues() {
        let (near, mut far) = tokio::io::duplex(4 * READ_TURN_MAX);
        far.write_all(&vec![b'x'; 3 * READ_TURN_MAX / 2]).await.unwrap();
        let budget = Rc::new(Cell::new(READ_TURN_MAX));
        let mut budgeted = FilteredStream { filter: ReadBudget { budget: Rc::clone(&budget) }, stream: near };
        let mut read = 0;
        let mut request_guard = async || {
            budget.set(READ_TURN_MAX);
            poll_fn(|context| {
                let mut space = [0; 1_000];
                let mut buffer = ReadBuf::new(&mut space);
                while Pin::new(&mut budgeted).poll_read(context, &mut buffer).is_ready() {
                    read += buffer.filled().len();
                    buffer.clear();
                }
                Poll::Ready(read)
            })
            .await
        };
        // The last read may exceed the budget by the size of one buffer.
        assert!((READ_TURN_MAX..READ_TURN_MAX + 1_000).contains(&request_guard().await));
        assert_eq!(request_guard().await, 3 * READ_TURN_MAX / 2);
    }
}
