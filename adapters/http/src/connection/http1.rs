//! One connection that speaks HTTP/1.1: hyper's state machine under the deadlines that hyper does not have.
//!
//! hyper's header time-out also ends idle connections, covers no body and no stalled write. Here every time-out is a
//! deadline of one alarm for each connection. The hot path only writes down what happens ([`Activity`]); the clock is
//! read once at the end of a poll in which the connection moved, and the alarm is set anew only when it fires or when
//! a nearer deadline comes up. So a request costs one look at the clock and no timer.

use std::cell::Cell;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWriteExt, ReadBuf};
use tokio::time::{Duration, Instant};

use crate::base::observe::Exchange;
use crate::base::settings::{Deadlines, READ_BUFFER_MAX};
use crate::connection::context::ConnectionContext;
use crate::connection::deadline_timer::{DeadlineTimer, StopSignal};
use crate::connection::read_filter::{FilteredStream, ReadFilter};
use crate::counts::counters::UNKNOWN;
use crate::exchange::exchange;
use crate::exchange::finish_response::RequestId;
use crate::exchange::response_body::ResponseBody;
use crate::io::activity::{Activity, Phase};
use crate::io::socket::{SendNow, Socket, Stream};
use crate::thread::thread_state::ThreadState;

/// Serves a stream in the clear to its end, and notes what happens on it.
pub(crate) async fn serve_connection<T: Stream>(stream: T, send: SendNow<T>, context: ConnectionContext) {
    let socket =
        Socket::new(stream, send, Rc::clone(&context.activity), Rc::clone(&context.thread.send_batch));
    serve_http1::<_, false>(socket, context).await;
}

/// Serves a stream of HTTP/1.1 to its end, of what is said in it: beneath it is a [`Socket`], and perhaps TLS.
pub(crate) async fn serve_http1<T: Stream, const SECURE: bool>(stream: T, context: ConnectionContext) {
    let ConnectionContext { peer, thread, activity, drain } = context;
    let _open = thread.load_shedder.opened();
    let deadlines = thread.app.settings.deadlines;
    let stream = FilteredStream { filter: ReceiveFilter(Rc::clone(&activity)), stream };
    let (serving, noted) = (Rc::clone(&thread), Rc::clone(&activity));
    let service =
        service_fn(move |request| exchange::<SECURE>(Rc::clone(&serving), Rc::clone(&noted), peer, request));
    let http = http1::Builder::new()
        // One flat buffer and one send for each answer: 4 to 5% over a vector of head and body.
        .writev(false)
        .max_buf_size(READ_BUFFER_MAX)
        // A client that sends no more may still wait for its answer; hyper would drop it with the connection.
        .half_close(true)
        // The deadlines are ours, all of them.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    match Connection::new(http, activity, deadlines, StopSignal::new(&drain)).serve().await {
        Some((_, Ended::Unreadable(status))) => {
            note_unread(&thread, peer, status, &RequestId::Made(thread.next_request_id()));
        }
        Some((stream, Ended::HeadTooSlow)) => {
            let id = RequestId::Made(thread.next_request_id());
            note_unread(&thread, peer, StatusCode::REQUEST_TIMEOUT, &id);
            Box::pin(refuse_late_head(stream, &id)).await;
        }
        // TLS has a last word: without it the client may think that something is missing (RFC 8446, section 6.1).
        Some((stream, Ended::Idle)) if SECURE => Box::pin(close(stream)).await,
        Some(_) | None => {}
    }
}

/// Notes when something of a request has come: above TLS, whose own messages (a change of keys, a ticket) are no
/// beginning of one.
struct ReceiveFilter(Rc<Activity>);

impl ReadFilter for ReceiveFilter {
    #[inline]
    fn poll_read<T: Stream>(
        &mut self,
        stream: &mut T,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let poll = Pin::new(stream).poll_read(context, buffer);
        if poll.is_ready() {
            self.0.received();
        }
        poll
    }
}

/// Ends a stream on which nothing is owed.
async fn close<T: Stream>(mut stream: T) {
    let _ = tokio::time::timeout(LAST_REQUEST_TIME, stream.shutdown()).await;
}

/// How long an idle connection may still send a request when the server wants to stop, and how long the rest of one whose
/// head has begun may take: one that is on its way when the connection closes would be lost.
pub(crate) const LAST_REQUEST_TIME: Duration = Duration::from_millis(500);

/// Counts and logs an answer to what never became an exchange.
fn note_unread(thread: &ThreadState, peer: IpAddr, status: StatusCode, id: &RequestId) {
    thread.counters.answered_unread(status);
    let told = Exchange {
        method: UNKNOWN,
        route: UNKNOWN,
        status: status.as_u16(),
        request_id: id.as_str(),
        traceparent: None,
        client: peer.to_canonical(),
        account: None,
        key: None,
        duration: Duration::ZERO,
        fault: None,
    };
    if let Some(observer) = &thread.app.settings.observer
        && observer.wants(told.status, told.duration, false)
    {
        observer.answered(&told);
    }
}

/// Answers what hyper cannot answer any more: the head did not come in time. What it would have said is not known.
async fn refuse_late_head<T: Stream>(mut stream: T, id: &RequestId) {
    const BODY: &str = "{\"code\":\"request_timeout\",\"message\":\"The request head did not arrive in time.\",\"status\":408}\n";
    let answer = format!(
        "HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\nx-request-id: {}\r\n\
         connection: close\r\n\r\n{BODY}",
        BODY.len(),
        id.as_str()
    );
    // A courtesy: if it does not fit into the socket's buffer at once, the client has asked for it.
    let _ = tokio::time::timeout(LAST_REQUEST_TIME, async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
}

/// Why a connection ended before its time.
enum Ended {
    /// In the ordinary way.
    Orderly,
    /// What came is no head of a request, or more than fits; hyper has answered with this status and nothing more.
    Unreadable(StatusCode),
    /// The head of a request did not come in time.
    HeadTooSlow,
    /// Nothing was asked for too long, or no more than half of a request when the server stops.
    Idle,
    /// Nothing of an answer was taken for too long.
    Stalled,
}

impl Ended {
    /// How hyper has ended a connection.
    fn by_hyper(result: hyper::Result<()>) -> Self {
        match result {
            Err(error) if error.is_parse_too_large() => {
                Self::Unreadable(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
            }
            // What begins as HTTP/2 does is closed without an answer.
            Err(error) if error.is_parse() && !error.is_parse_version_h2() => {
                Self::Unreadable(StatusCode::BAD_REQUEST)
            }
            // Whoever is gone is answered nothing.
            Ok(()) | Err(_) => Self::Orderly,
        }
    }
}

/// A connection and its deadlines.
struct Connection<T: Stream, S: HttpService<Incoming>> {
    http: http1::Connection<TokioIo<T>, S>,
    activity: Rc<Activity>,
    deadlines: Deadlines,
    timer: DeadlineTimer,
    phase: TimedValue<(Phase, u64)>,
    stall: TimedValue<(bool, u64)>,
    stop: StopSignal,
    draining: Draining,
}

/// A value, and since when it has been what it is.
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

/// The clock, read at most once a poll and only where something moved.
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
    /// The next answer, or soon after this point in time, ends the connection.
    Since(Instant),
    /// It ends with the answer that is on its way; since this point in time it has been known that it ends.
    Asked(Instant),
}

impl<T, S> Connection<T, S>
where
    T: Stream,
    S: HttpService<Incoming, ResBody = ResponseBody>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn new(
        http: http1::Connection<TokioIo<T>, S>,
        activity: Rc<Activity>,
        deadlines: Deadlines,
        stop: StopSignal,
    ) -> Self {
        let now = Instant::now();
        Self {
            http,
            phase: TimedValue { value: activity.phase(), since: now },
            stall: TimedValue { value: activity.stall(), since: now },
            activity,
            timer: DeadlineTimer::at(now + deadlines.head),
            deadlines,
            stop,
            draining: Draining::No,
        }
    }

    /// Serves the connection to its end. The stream, if it ended before its time, and why.
    async fn serve(mut self) -> Option<(T, Ended)> {
        let ended = std::future::poll_fn(|context| self.poll(context)).await;
        if matches!(ended, Ended::Orderly) {
            return None;
        }
        // None can be waiting; if some were, they would not belong into what is answered now.
        self.activity.raw_headers.hand_over();
        Some((self.http.into_parts().io.into_inner(), ended))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        if self.draining == Draining::No && self.stop.is_stopping(context) {
            self.draining = Draining::Since(Instant::now());
            self.activity.stop_streams();
        }
        if let Poll::Ready(result) = Pin::new(&mut self.http).poll(context) {
            return Poll::Ready(Ended::by_hyper(result));
        }
        let now = LazyNow(Cell::new(self.activity.take_ended()));
        self.phase.update(self.activity.phase(), || now.get());
        let stall = self.activity.stall();
        if stall.0 || self.stall.value.0 {
            self.stall.update(stall, || now.get());
        }
        // The common end of a poll: nothing has come closer than what the alarm is set to.
        if self.is_calm() && self.timer.is_armed() {
            return Poll::Pending;
        }
        loop {
            let Some((deadline, ended)) = self.deadline() else { return Poll::Pending };
            // An alarm that is set too early fires, and is then set to the deadline that holds.
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
                    self.draining = Draining::Asked(since);
                }
                Pin::new(&mut self.http).graceful_shutdown();
                if let Poll::Ready(result) = Pin::new(&mut self.http).poll(context) {
                    return Poll::Ready(Ended::by_hyper(result));
                }
            }
        }
    }

    /// Whether the connection is busy or idle, and nothing else, and the alarm rings in time for that. It may ring too
    /// early: it was set when the connection was idle before.
    fn is_calm(&self) -> bool {
        let in_time = match self.phase.value.0 {
            Phase::Busy | Phase::Streaming => true,
            Phase::Idle => self.timer.deadline() <= self.phase.since + self.deadlines.idle,
            Phase::Head => false,
        };
        in_time && !self.stall.value.0 && self.draining == Draining::No
    }

    /// The next point in time at which this connection has to be looked at, and what is wrong with it if nothing has
    /// moved by then; nothing is wrong with one that only waits to be drained.
    fn deadline(&self) -> Option<(Instant, Option<Ended>)> {
        let (phase, _) = self.phase.value;
        let end_of_head = self.phase.since + self.deadlines.head;
        let waiting = match (phase, self.draining) {
            // Whoever has been taking the last answer until now has not been idle for longer.
            (Phase::Idle, _) => {
                Some((self.phase.since.max(self.stall.since) + self.deadlines.idle, Some(Ended::Idle)))
            }
            (Phase::Head, Draining::No) => Some((end_of_head, Some(Ended::HeadTooSlow))),
            // It is owed no answer that an end could wait for, and gets none.
            (Phase::Head, Draining::Since(since) | Draining::Asked(since)) => {
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
            // A head has its own end: to hyper a connection on which one has begun may still be idle.
            Draining::Since(since) if phase != Phase::Head => Some((since + LAST_REQUEST_TIME, None)),
            Draining::No | Draining::Since(_) | Draining::Asked(_) => None,
        };
        // While the client does not take the last answer it is not idle.
        let waiting = if stalled { None } else { waiting };
        [waiting, stall, drain].into_iter().flatten().min_by_key(|(deadline, _)| *deadline)
    }
}

#[cfg(test)]
mod streaming_tests;
