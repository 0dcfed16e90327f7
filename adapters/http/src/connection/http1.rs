//! One HTTP/1.1 connection: hyper's state machine, with deadlines that hyper does not have.
//!
//! hyper's header time-out is not used, because it also ends idle connections, and covers neither bodies nor stalled
//! writes. Each connection has one timer for all deadlines. The hot path only records activity ([`Activity`]). The
//! clock is read once at the end of a poll that made progress, and the timer is reset only when it fires or when a
//! deadline is earlier than the timer. A request thus costs one read of the clock and no timer operation.

mod detached_stream;
mod receive_filter;
mod unread;

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::TokioIo;
use tokio::time::{Duration, Instant};

use crate::base::settings::{Deadlines, IDLE_END_TIME, READ_BUFFER_MAX};
use crate::connection::context::ConnectionContext;
use crate::connection::deadline_timer::{DeadlineTimer, StopSignal};
use crate::connection::read_filter::FilteredStream;
use crate::exchange::exchange;
use crate::exchange::response_body::ResponseBody;
use crate::io::activity::{Activity, Phase};
use crate::io::offered_stream::TakenStream;
use crate::io::socket::{SendNow, Socket, Stream};
use crate::thread::request_id::RequestId;
use detached_stream::DetachedStream;
use receive_filter::ReceiveFilter;
use unread::{close, note_unread, refuse_late_head};

/// Serves a stream without TLS to its end.
pub(crate) async fn serve_connection<T: Stream>(stream: T, send: SendNow<T>, context: ConnectionContext) {
    let socket =
        Socket::new(stream, send, Rc::clone(&context.activity), Rc::clone(&context.thread.send_batch));
    serve_http1::<_, false>(socket, context).await;
}

/// Serves HTTP/1.1 on a stream to its end. The stream is a [`Socket`], or a TLS stream over a [`Socket`].
pub(crate) async fn serve_http1<T: Stream, const SECURE: bool>(stream: T, context: ConnectionContext) {
    let ConnectionContext { peer, thread, activity, drain } = context;
    let _open = thread.load_shedder.opened();
    let deadlines = thread.app.settings.deadlines;
    let stream = FilteredStream { filter: ReceiveFilter::new(&activity), stream };
    let (serving, noted) = (Rc::clone(&thread), Rc::clone(&activity));
    let service =
        service_fn(move |request| exchange::<SECURE>(Rc::clone(&serving), Rc::clone(&noted), peer, request));
    match Connection::new(stream, service, activity, deadlines, StopSignal::new(&drain)).serve().await {
        Some((_, Ended::Unreadable(status))) => {
            note_unread(&thread, peer, status, &RequestId::Made(thread.next_request_id()));
        }
        Some((stream, Ended::HeadTooSlow)) => {
            let id = RequestId::Made(thread.next_request_id());
            note_unread(&thread, peer, StatusCode::REQUEST_TIMEOUT, &id);
            Box::pin(refuse_late_head(stream, &id)).await;
        }
        // Without the TLS alert `close_notify`, a client may suspect a truncated answer (RFC 8446, section 6.1).
        Some((stream, Ended::Idle)) if SECURE => Box::pin(close(stream)).await,
        Some(_) | None => {}
    }
}

/// Starts hyper's state machine on a stream.
fn hyper_on<T: Stream, S>(stream: FilteredStream<ReceiveFilter, T>, service: S) -> HyperConnection<T, S>
where
    S: HttpService<Incoming, ResBody = ResponseBody>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    http1::Builder::new()
        // hyper writes head and body into one flat buffer, which is sent in one call. That is faster than a vectored
        // write.
        .writev(false)
        .max_buf_size(READ_BUFFER_MAX)
        // A client that has shut down its writing side may still wait for its answer. [`ReceiveFilter`] ends the
        // connection if the answer takes long.
        .half_close(true)
        // `Connection` enforces all deadlines.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service)
}

/// The time for the last request of a connection after the server began to stop. In this time, the rest of an incomplete
/// head may arrive, and a client may begin to read the rest of its answer. A connection that is idle has
/// [`IDLE_END_TIME`] for a last request. If it closed at once, a request in transit would be lost.
pub(crate) const LAST_REQUEST_TIME: Duration = Duration::from_millis(500);

/// The reason why a connection ended.
enum Ended {
    /// It ended normally.
    Orderly,
    /// The bytes were not a valid request head, or the head was too long. hyper has answered with this status and
    /// without a body.
    Unreadable(StatusCode),
    /// The head of a request did not arrive in time.
    HeadTooSlow,
    /// No request arrived in time. This is also the reason if the server stopped while a head was incomplete.
    Idle,
    /// The client did not read its answer for too long.
    Stalled,
}

impl Ended {
    /// Converts the result with which hyper ended a connection.
    fn by_hyper(result: hyper::Result<()>) -> Self {
        match result {
            Err(error) if error.is_parse_too_large() => {
                Self::Unreadable(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
            }
            // A client that speaks HTTP/2 gets no answer.
            Err(error) if error.is_parse() && !error.is_parse_version_h2() => {
                Self::Unreadable(StatusCode::BAD_REQUEST)
            }
            // The client is gone.
            Ok(()) | Err(_) => Self::Orderly,
        }
    }
}

type HyperConnection<T, S> = http1::Connection<TokioIo<FilteredStream<ReceiveFilter, T>>, S>;

/// The code that writes to the connection.
#[expect(clippy::large_enum_variant, reason = "nearly all connections have the large one")]
enum Server<T: Stream, S: HttpService<Incoming>> {
    /// hyper reads requests and writes answers.
    Hyper(HyperConnection<T, S>),
    /// A stream is being written. After the stream, hyper serves the connection again, with this service.
    Streaming(DetachedStream<FilteredStream<ReceiveFilter, T>>, S),
    /// The state during a change between `Hyper` and `Streaming`.
    Changing,
}

/// A connection and its deadlines.
struct Connection<T: Stream, S: HttpService<Incoming>> {
    server: Server<T, S>,
    activity: Rc<Activity>,
    deadlines: Deadlines,
    timer: DeadlineTimer,
    phase: TimedValue<(Phase, u64)>,
    stall: TimedValue<(bool, u64)>,
    stop: StopSignal,
    draining: Draining,
}

/// A value, and the instant of its last change.
pub(crate) struct TimedValue<T> {
    pub(crate) value: T,
    pub(crate) since: Instant,
}

impl<T: PartialEq> TimedValue<T> {
    pub(crate) fn update(&mut self, value: T, now: impl FnOnce() -> Instant) {
        if value != self.value {
            *self = Self { value, since: now() };
        }
    }
}

/// The current instant. The clock is read at most once in a poll, and only if a recorded value has changed.
struct LazyNow(Cell<Option<Instant>>);

impl LazyNow {
    fn get(&self) -> Instant {
        let now = self.0.get().unwrap_or_else(Instant::now);
        self.0.set(Some(now));
        now
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Draining {
    No,
    /// The server has been stopping since this instant. The connection ends with the next answer, or after
    /// [`IDLE_END_TIME`] if no request arrives.
    Since(Instant),
    /// hyper was told to end the connection after the current answer. The server has been stopping since this instant.
    Requested(Instant),
}

impl<T, S> Connection<T, S>
where
    T: Stream,
    S: HttpService<Incoming, ResBody = ResponseBody>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn new(
        stream: FilteredStream<ReceiveFilter, T>,
        service: S,
        activity: Rc<Activity>,
        deadlines: Deadlines,
        stop: StopSignal,
    ) -> Self {
        let now = Instant::now();
        Self {
            server: Server::Hyper(hyper_on(stream, service)),
            phase: TimedValue { value: activity.phase(), since: now },
            stall: TimedValue { value: activity.stall(), since: now },
            activity,
            timer: DeadlineTimer::at(now + deadlines.head),
            deadlines,
            stop,
            draining: Draining::No,
        }
    }

    /// Serves the connection to its end. If it did not end normally, returns the stream and the reason.
    async fn serve(mut self) -> Option<(FilteredStream<ReceiveFilter, T>, Ended)> {
        let ended = std::future::poll_fn(|context| self.poll(context)).await;
        if matches!(ended, Ended::Orderly) {
            return None;
        }
        // Header lines of an earlier answer may still be waiting. They are discarded, because they must not be inserted
        // into the answer that is written now.
        self.activity.raw_headers.hand_over();
        let stream = match self.server {
            Server::Hyper(http) => http.into_parts().io.into_inner(),
            Server::Streaming(detached, _) => detached.stream,
            Server::Changing => return None,
        };
        Some((stream, ended))
    }

    /// Polls hyper, or the stream that is written in its place.
    fn poll_server(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        loop {
            let is_last = self.draining != Draining::No;
            match &mut self.server {
                Server::Hyper(http) => {
                    if let Poll::Ready(result) = Pin::new(http).poll(context) {
                        return Poll::Ready(Ended::by_hyper(result));
                    }
                    if self.activity.phase().0 != Phase::Streaming {
                        return Poll::Pending;
                    }
                    let Some(source) = self.activity.take_offered_stream() else { return Poll::Pending };
                    self.detach(source);
                }
                Server::Streaming(detached, _) => {
                    if ready!(detached.poll(context, is_last)).is_err() {
                        // The client is gone, or the stream was cut.
                        return Poll::Ready(Ended::Orderly);
                    }
                    if is_last || detached.closes() {
                        return Poll::Ready(Ended::Orderly);
                    }
                    self.reattach();
                }
                Server::Changing => return Poll::Ready(Ended::Orderly),
            }
        }
    }

    /// Drops hyper while a stream is written. hyper has written the head and the chunks so far.
    #[cold]
    fn detach(&mut self, source: TakenStream) {
        if let Server::Hyper(http) = std::mem::replace(&mut self.server, Server::Changing) {
            let parts = http.into_parts();
            let mut stream = parts.io.into_inner();
            stream.filter.unread(&parts.read_buf);
            self.server = Server::Streaming(DetachedStream::new(stream, source), parts.service);
        }
    }

    /// Creates hyper's state machine again after a stream, so that it reads the next request.
    #[cold]
    fn reattach(&mut self) {
        if let Server::Streaming(detached, service) = std::mem::replace(&mut self.server, Server::Changing) {
            self.server = Server::Hyper(hyper_on(detached.into_stream(), service));
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        if self.draining == Draining::No && self.stop.is_stopping(context) {
            self.draining = Draining::Since(Instant::now());
            self.activity.stop_streams();
        }
        if let Poll::Ready(ended) = self.poll_server(context) {
            return Poll::Ready(ended);
        }
        let now = LazyNow(Cell::new(self.activity.take_ended()));
        self.phase.update(self.activity.phase(), || now.get());
        let stall = self.activity.stall();
        if stall.0 || self.stall.value.0 {
            self.stall.update(stall, || now.get());
        }
        // The common case: the timer fires no later than the earliest deadline.
        if self.is_covered_by_timer() && self.timer.is_armed() {
            return Poll::Pending;
        }
        loop {
            let Some((deadline, ended)) = self.deadline() else { return Poll::Pending };
            // A timer that is set too early fires, and is then reset to the deadline in force.
            if deadline < self.timer.deadline() {
                self.timer.set(deadline);
            }
            if !self.timer.has_fired(context) {
                return Poll::Pending;
            }
            if Instant::now() < deadline {
                self.timer.set(deadline);
            } else if let Some(ended) = ended {
                return Poll::Ready(ended);
            } else {
                if let Draining::Since(since) = self.draining {
                    self.draining = Draining::Requested(since);
                    if self.is_idle() {
                        self.activity.end_idle();
                    }
                }
                // Only hyper needs this call. If a stream is being written, the connection ends after the stream
                // anyway, because the connection is draining.
                if let Server::Hyper(http) = &mut self.server {
                    Pin::new(http).graceful_shutdown();
                }
                if let Poll::Ready(ended) = self.poll_server(context) {
                    return Poll::Ready(ended);
                }
            }
        }
    }

    /// Returns `true` if the timer certainly fires no later than every deadline: either no deadline applies, or only
    /// that of idle connections, and the timer is not set beyond it. (It may still be set for an earlier idle period.)
    fn is_covered_by_timer(&self) -> bool {
        let in_time = match self.phase.value.0 {
            Phase::Busy | Phase::Streaming => true,
            Phase::Idle => self.timer.deadline() <= self.phase.since + self.deadlines.idle,
            Phase::Head => false,
        };
        in_time && !self.stall.value.0 && self.draining == Draining::No
    }

    /// Returns `true` if the client waits neither for an answer nor for the rest of an answer.
    fn is_idle(&self) -> bool {
        self.phase.value.0 == Phase::Idle && !self.stall.value.0
    }

    /// The instant at which hyper is told to end the connection, if the server has been stopping since `since`. The last
    /// answer may have begun before the stop. Then its client does not know of the stop, and may send another request.
    fn end_of_drain(&self, since: Instant) -> Instant {
        let last = since + LAST_REQUEST_TIME;
        if !self.is_idle() {
            return last;
        }
        let idle_since = self.phase.since.max(self.stall.since).max(since);
        last.min(idle_since + IDLE_END_TIME)
    }

    /// The earliest deadline, and the reason with which the connection ends at it. If the reason is `None`, hyper
    /// shuts the connection down gracefully.
    fn deadline(&self) -> Option<(Instant, Option<Ended>)> {
        let (phase, _) = self.phase.value;
        let end_of_head = self.phase.since + self.deadlines.head;
        let waiting = match (phase, self.draining) {
            // A connection is not idle while its client still reads the last answer.
            (Phase::Idle, _) => {
                Some((self.phase.since.max(self.stall.since) + self.deadlines.idle, Some(Ended::Idle)))
            }
            (Phase::Head, Draining::No) => Some((end_of_head, Some(Ended::HeadTooSlow))),
            // During a stop, the server waits only for a short time for the rest of a head, and sends no answer if the
            // rest does not arrive.
            (Phase::Head, Draining::Since(since) | Draining::Requested(since)) => {
                let last = self.phase.since.max(since) + LAST_REQUEST_TIME;
                Some((end_of_head.min(last), Some(Ended::Idle)))
            }
            (Phase::Busy | Phase::Streaming, _) => None,
        };
        let (stalled, _) = self.stall.value;
        let stall = stalled.then(|| {
            let limit = match phase {
                Phase::Streaming => self.deadlines.stream_stall,
                Phase::Idle | Phase::Head | Phase::Busy => self.deadlines.write_stall,
            };
            (self.deadlines.end_of_stall(limit, self.stall.since, self.stop.since()), Some(Ended::Stalled))
        });
        let drain = match self.draining {
            // An incomplete head has its own deadline, in `waiting`. A graceful shutdown could end the connection at
            // once, because hyper may still regard it as idle.
            Draining::Since(since) if phase != Phase::Head => Some((self.end_of_drain(since), None)),
            Draining::No | Draining::Since(_) | Draining::Requested(_) => None,
        };
        // While the client does not read the last answer, neither the idle deadline nor the deadline for a head
        // applies.
        let waiting = if stalled { None } else { waiting };
        [waiting, stall, drain].into_iter().flatten().min_by_key(|(deadline, _)| *deadline)
    }
}

#[cfg(test)]
mod stop_tests;
#[cfg(test)]
mod streaming_tests;
