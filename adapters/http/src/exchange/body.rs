//! Request bodies: read to a bound and a deadline, or thrown away.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use tokio::time::{Duration, timeout};

use crate::base::settings::{DRAIN_MAX, DRAIN_TIME, LINGER_MAX};
use crate::wire::error::{ApiError, Code};

/// The body of a request, until somebody wants it.
pub(crate) struct RequestBody {
    incoming: Incoming,
    /// Whether the client waits for a 100 before it sends. Reading would send that.
    waits: bool,
    /// Whether it ended early or was framed wrongly, so that hyper reads nothing more of that connection, or came too late,
    /// and was waited for long enough.
    broken: bool,
}

/// Why a body was not read.
enum Unread {
    TooLarge,
    Broken,
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming) -> Self {
        Self { incoming, waits: false, broken: false }
    }

    /// Says whether the client waits for a 100 before it sends.
    pub(crate) fn waits(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// The whole body.
    pub(crate) async fn read(&mut self, max: usize, deadline: Duration) -> Result<Bytes, ApiError> {
        // No 100 for a body that is refused by its length.
        if is_longer(&self.incoming, max) {
            return Err(too_large(max));
        }
        self.waits = false;
        let mut reading = pin!(read(&mut self.incoming, max));
        let read = match at_once(reading.as_mut()).await {
            Some(read) => Ok(read),
            None => timeout(deadline, reading).await,
        };
        match read {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(Unread::TooLarge)) => Err(too_large(max)),
            Ok(Err(Unread::Broken)) => {
                self.broken = true;
                Err(ApiError::new(Code::InvalidJson, "The body ended early or its framing is not valid."))
            }
            Err(_) => {
                self.broken = true;
                Err(ApiError::new(Code::RequestTimeout, "The body did not arrive in time."))
            }
        }
    }

    /// Whether all of it has been read.
    pub(crate) fn is_read(&self) -> bool {
        self.incoming.is_end_stream() && !self.broken
    }

    /// Throws away what nobody wanted, up to a bound. Says whether that was all of it: the connection can then live on.
    pub(crate) async fn discard(&mut self) -> bool {
        if self.waits || self.broken || is_longer(&self.incoming, DRAIN_MAX) {
            return false;
        }
        self.read_over(DRAIN_MAX).await
    }

    /// Reads over what still comes after an answer over HTTP/2, for a while: clients that are sent away while they send
    /// tell nobody of the answer. Over HTTP/1.1 it is the socket that lingers.
    pub(crate) async fn linger(mut self) {
        self.read_over(LINGER_MAX).await;
    }

    /// Reads over so many bytes at most, for [`DRAIN_TIME`]. Whether that was all.
    async fn read_over(&mut self, mut left: usize) -> bool {
        let all = async {
            while let Some(frame) = self.incoming.frame().await {
                let Ok(frame) = frame else { return false };
                match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
                    Some(rest) => left = rest,
                    None => return false,
                }
            }
            true
        };
        timeout(DRAIN_TIME, all).await.unwrap_or(false)
    }
}

/// Whether a body says itself that it has more bytes than this.
fn is_longer(incoming: &Incoming, max: usize) -> bool {
    incoming.size_hint().lower() > max as u64
}

fn too_large(max: usize) -> ApiError {
    ApiError::new(Code::BodyTooLarge, format!("The body is longer than {max} bytes."))
}

/// What a future comes to when it is asked twice. hyper hands over a body that came with its head at the second time,
/// and to set a timer until then would cost as much as all of the reading.
async fn at_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    let mut asked = false;
    poll_fn(move |context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if asked => Poll::Ready(None),
        Poll::Pending => {
            asked = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

async fn read(incoming: &mut Incoming, max: usize) -> Result<Bytes, Unread> {
    // Most bodies come in one piece, which is then the body, uncopied.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        if first.len() + rest.len() + data.len() > max {
            return Err(Unread::TooLarge);
        }
        if first.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&data);
        }
    }
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&rest);
    Ok(whole.freeze())
}
