//! One connection that speaks HTTP/2: hyper's and h2's state machine under our bounds and deadlines.
//!
//! The deadlines are those of HTTP/1.1 as far as they apply. Body, store and drain are the same. A connection without
//! a request, or with half a head, ends when it has been idle for too long. A client that takes nothing is found at
//! the socket and, because it may also shut the windows of its streams, by the answers that are still with us. Pings
//! are not needed beside these: nobody stays who does nothing.

use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::{HttpService, service_fn};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use crate::activity::{Activity, Phase};
use crate::alarm::{Alarm, StopWish};
use crate::connection::{LAST_REQUEST_TIME, Watch};
use crate::drain::Drain;
use crate::exchange::{Dropped, exchange};
use crate::settings::{
    CONNECTION_WINDOW, Deadlines, HEAD_MAX, LOCAL_RESETS_MAX, PENDING_RESETS_MAX, SEND_BUFFER_MAX,
    STREAM_WINDOW, STREAMS_MAX,
};
use crate::socket::Stream;
use crate::worker::Worker;

mod answers;

use answers::{Answers, Tracked, Turn};

/// Serves a stream on which HTTP/2 was agreed on to its end.
pub(crate) async fn serve<T: Stream>(
    stream: T,
    activity: Rc<Activity>,
    peer: IpAddr,
    worker: Rc<Worker>,
    drain: &Arc<Drain>,
) {
    let deadlines = worker.app.settings.deadlines;
    let answers = Rc::<Answers>::default();
    let (noted, unsent) = (Rc::clone(&activity), Rc::clone(&answers));
    let service = service_fn(move |request: Request<Incoming>| {
        let turn = Turn::begin(&noted, &unsent);
        let is_head = request.method() == Method::HEAD;
        let answering = exchange::<true>(Rc::clone(&worker), Rc::clone(&noted), peer, request);
        async move {
            let response = answering.await?;
            Ok::<_, Dropped>(Tracked::response(response, is_head, turn))
        }
    });
    let http = http2::Builder::new(ThisThread)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(HEAD_MAX).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(PENDING_RESETS_MAX)
        .max_local_error_reset_streams(LOCAL_RESETS_MAX)
        .max_send_buf_size(SEND_BUFFER_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .serve_connection(TokioIo::new(stream), service);
    let now = Instant::now();
    let mut connection = Connection {
        http,
        busy: Watch { value: (false, 0), since: now },
        stall: Watch { value: activity.stall(), since: now },
        waiting: Watch { value: answers.waiting(), since: now },
        activity,
        answers,
        alarm: Alarm::at(now + deadlines.idle),
        deadlines,
        stop: StopWish::new(drain),
        ending: None,
    };
    std::future::poll_fn(|context| connection.poll(context)).await;
}

/// Runs the answers of a connection on its own thread.
#[derive(Clone, Copy)]
struct ThisThread;

impl<F: Future<Output = ()> + 'static> Executor<F> for ThisThread {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// A connection and its deadlines.
struct Connection<T: Stream, S: HttpService<Incoming>> {
    http: http2::Connection<TokioIo<T>, S, ThisThread>,
    activity: Rc<Activity>,
    answers: Rc<Answers>,
    deadlines: Deadlines,
    alarm: Alarm,
    /// Whether there are requests, and a number that is another one when there was one in between.
    busy: Watch<(bool, u64)>,
    /// Whether the client takes nothing from the socket.
    stall: Watch<(bool, u64)>,
    /// Whether it takes nothing of the answers that are with us.
    waiting: Watch<(bool, u64)>,
    stop: StopWish,
    /// Since when the client has known that this connection ends.
    ending: Option<Instant>,
}

impl<T, S, F> Connection<T, S>
where
    T: Stream,
    S: HttpService<Incoming, ResBody = Tracked, Error = Dropped, Future = F>,
    F: Future<Output = Result<hyper::Response<Tracked>, Dropped>> + 'static,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.ending.is_none() && self.stop.is_there(context) {
            self.end();
        }
        loop {
            if Pin::new(&mut self.http).poll(context).is_ready() {
                return Poll::Ready(());
            }
            let now = Instant::now();
            self.look(now);
            let deadline = self.deadline();
            if deadline.is_some_and(|deadline| deadline <= now) {
                if self.ending.is_some() || self.busy.value.0 {
                    return Poll::Ready(());
                }
                self.end();
                continue;
            }
            // A request that its client gives up ends unseen from here: hence a look now and then.
            let look = deadline.unwrap_or(now + self.deadlines.idle);
            if look < self.alarm.deadline() || !self.alarm.waits() {
                self.alarm.set(look);
            }
            if !self.alarm.rings(context) {
                return Poll::Pending;
            }
        }
    }

    /// Tells the client that no request beyond those on their way is served here.
    fn end(&mut self) {
        self.ending = Some(Instant::now());
        Pin::new(&mut self.http).graceful_shutdown();
    }

    fn look(&mut self, now: Instant) {
        let (phase, requests) = self.activity.phase();
        // Frames that belong to no request change nothing: a client that only sends pings is idle.
        self.busy.see((phase == Phase::Busy, requests), || now);
        self.stall.see(self.activity.stall(), || now);
        self.waiting.see(self.answers.waiting(), || now);
    }

    /// When the connection ends unless something moves.
    fn deadline(&self) -> Option<Instant> {
        let idle = (!self.busy.value.0).then(|| match self.ending {
            Some(since) => since.max(self.busy.since) + LAST_REQUEST_TIME,
            None => self.busy.since + self.deadlines.idle,
        });
        let stalls = [&self.stall, &self.waiting].into_iter().filter(|watch| watch.value.0);
        stalls.map(|watch| watch.since + self.deadlines.write_stall).chain(idle).min()
    }
}
