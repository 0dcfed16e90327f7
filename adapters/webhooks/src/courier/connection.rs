//! One connection to a receiver.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use petstore_domain::{AnswerCut, AttemptError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::metered::{Meter, Metered};

/// The maximum size of the head of an answer.
const HEAD_MAX: usize = 64 * 1024;

/// The number of bytes that are read until the head of the final answer is complete: interim answers (1xx), of which a
/// receiver may send any number, the head itself, and the beginning of the body, which is read together with it.
const READ_BEFORE_ANSWER_MAX: usize = 2 * HEAD_MAX;

/// The reason why a request was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExchangeError {
    /// The connection ended, or the answer was not HTTP.
    Closed,
    /// The head of the answer was too large.
    TooLarge,
}

/// An answer whose status was read.
pub(super) enum Answered {
    /// The head is complete, and the body follows.
    Head(Response<Incoming>),
    /// The head was not read to its end, for this reason. The status has decided all the same.
    Status(u16, AnswerCut),
}

/// An open connection, which is closed when it is dropped.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    meter: Arc<Meter>,
    task: JoinHandle<()>,
    peer: IpAddr,
}

impl Connection {
    /// Begins HTTP/1.1 on a stream.
    pub(super) async fn start(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: IpAddr,
    ) -> Result<Self, AttemptError> {
        let meter = Arc::new(Meter::default());
        meter.begin(READ_BEFORE_ANSWER_MAX);
        let stream = Metered { stream, meter: Arc::clone(&meter) };
        let started = Builder::new().max_buf_size(HEAD_MAX).handshake(TokioIo::new(stream)).await;
        let (sender, connection) = started.map_err(|_| AttemptError::Closed)?;
        // The request in progress reports an error of the connection, too.
        let task = tokio::spawn(async {
            let _ = connection.await;
        });
        Ok(Self { sender, meter, task, peer })
    }

    /// The address of the other end.
    pub(super) const fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Returns whether another request can be sent.
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request, and returns its answer without the body. The rest of the head may come for `wait` after the status,
    /// and until the deadline.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        wait: Duration,
        deadline: Instant,
    ) -> Result<Answered, ExchangeError> {
        let meter = &self.meter;
        let failed = |error: hyper::Error| {
            let is_too_large = error.is_parse_too_large() || meter.is_used_up();
            if is_too_large { ExchangeError::TooLarge } else { ExchangeError::Closed }
        };
        self.sender.ready().await.map_err(failed)?;
        meter.begin(READ_BEFORE_ANSWER_MAX);
        let mut answer = pin!(self.sender.send_request(request));
        let late = async {
            let status = meter.await_status().await;
            sleep_until(deadline.min(Instant::now() + wait)).await;
            status
        };
        let mut late = pin!(late);
        let ended = poll_fn(|context| match answer.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Ok(answer)),
            Poll::Pending => late.as_mut().poll(context).map(Err),
        });
        let error = match ended.await {
            Ok(Ok(response)) => {
                // The body has its own bound.
                meter.set(usize::MAX);
                return Ok(Answered::Head(response));
            }
            Ok(Err(error)) => failed(error),
            Err(status) => return Ok(Answered::Status(status, AnswerCut::Late)),
        };
        let Some(status) = meter.status() else { return Err(error) };
        let cut = match error {
            ExchangeError::TooLarge => AnswerCut::TooLong,
            ExchangeError::Closed => AnswerCut::Closed,
        };
        Ok(Answered::Status(status, cut))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Otherwise the task would run until the end of an answer, which a hostile receiver never sends.
        self.task.abort();
    }
}
