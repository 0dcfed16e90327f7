//! Request bodies: read within a size and a deadline, or discarded.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::error::Elapsed;
use tokio::time::{Duration, timeout};

use crate::base::body_copy::BodyCopy;
use crate::base::settings::{DRAIN_MAX, DRAIN_TIME, LINGER_MAX};
use crate::wire::error::{ApiError, Code};

/// The longest wait for the first byte of a body whose type is refused.
const FIRST_BYTE_WAIT: Duration = Duration::from_secs(1);

/// The body of a request that may still have to be read.
pub(crate) struct RequestBody {
    incoming: Received,
    /// `true` if the client waits for a 100 (Continue) before it sends the body. hyper sends the 100 when the body is
    /// read.
    waits: bool,
    /// `true` if the body ended early, was framed wrongly or missed its deadline. In the first two cases hyper reads
    /// nothing more from the connection.
    broken: bool,
    /// A copy for the record of the request, which shares it.
    copy: Option<Rc<RefCell<BodyCopy>>>,
}

/// The source of a body.
enum Received {
    Connection(Incoming),
    /// The body of a request that came inside of another one; none after it was read.
    Given(Option<Bytes>),
}

impl Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Connection(incoming) => Pin::new(incoming).poll_frame(context),
            Self::Given(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Connection(incoming) => incoming.is_end_stream(),
            Self::Given(bytes) => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Connection(incoming) => incoming.size_hint(),
            Self::Given(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
        }
    }
}

/// The reason why a body was not read.
enum Unread {
    TooLarge,
    Broken,
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming) -> Self {
        Self { incoming: Received::Connection(incoming), waits: false, broken: false, copy: None }
    }

    /// The body of a request that came inside of another one.
    pub(crate) fn given(body: Bytes) -> Self {
        let incoming = Received::Given(Some(body).filter(|body| !body.is_empty()));
        Self { incoming, waits: false, broken: false, copy: None }
    }

    /// Sets whether the client waits for a 100 (Continue) before it sends the body.
    pub(crate) fn waits(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// Copies what is read of the body, up to `max` bytes. Returns the copy; none if the request has no body.
    pub(crate) fn copied(&mut self, max: usize) -> Option<Rc<RefCell<BodyCopy>>> {
        if !self.incoming.is_end_stream() {
            self.copy = Some(Rc::new(RefCell::new(BodyCopy::up_to(max))));
        }
        self.copy.clone()
    }

    /// Reads the whole body.
    pub(crate) async fn read(&mut self, max: usize, deadline: Duration) -> Result<Bytes, ApiError> {
        // The declared length is checked first, so that a body that is too long gets no 100 (Continue).
        if is_longer(&self.incoming, max) {
            return Err(too_large(max));
        }
        self.waits = false;
        let mut reading = pin!(read(&mut self.incoming, max, self.copy.as_deref()));
        let read = match poll_twice(reading.as_mut()).await {
            Some(read) => Ok(read),
            None => timeout(deadline, reading).await,
        };
        settle(&mut self.broken, read, max)
    }

    /// Returns whether the request has no body.
    pub(crate) fn is_absent(&self) -> bool {
        self.incoming.is_end_stream() && !self.broken
    }

    /// Returns whether the body ends without any byte, although its head does not say so: a chunked body, or one over
    /// HTTP/2. At most the first bytes are read. A body that the client sends only after a 100 (Continue) is not asked
    /// for, and counts as one with bytes. So does a body of which nothing comes within [`FIRST_BYTE_WAIT`]; it counts as
    /// broken, too.
    pub(crate) async fn ends_at_once(&mut self, deadline: Duration) -> Result<bool, ApiError> {
        if self.is_absent() {
            return Ok(true);
        }
        // A declared length is not 0 here.
        if self.waits || self.broken || is_longer(&self.incoming, 0) {
            return Ok(false);
        }
        let first = async {
            while let Some(frame) = self.incoming.frame().await {
                let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
                if !data.is_empty() {
                    if let Some(copy) = &self.copy {
                        copy.borrow_mut().add(&data);
                    }
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let looked = timeout(deadline.min(FIRST_BYTE_WAIT), first).await;
        if looked.is_err() {
            self.broken = true;
            return Ok(false);
        }
        settle(&mut self.broken, looked, 0)
    }

    /// Returns whether the whole body has been read.
    pub(crate) fn is_read(&self) -> bool {
        self.incoming.is_end_stream() && !self.broken
    }

    /// Discards an unread body up to a bound. Returns `true` if the whole body was discarded. Only then can the
    /// connection stay open.
    pub(crate) async fn discard(&mut self) -> bool {
        if self.waits || self.broken || is_longer(&self.incoming, DRAIN_MAX) {
            return false;
        }
        self.discard_up_to(DRAIN_MAX).await
    }

    /// Discards the rest of a body that arrives after a response over HTTP/2, for a limited time. Many clients do not
    /// read a response while they are still sending. Over HTTP/1.1 the socket does this.
    pub(crate) async fn linger(mut self) {
        self.discard_up_to(LINGER_MAX).await;
    }

    /// Discards at most `left` bytes within [`DRAIN_TIME`]. Returns whether the body ended.
    async fn discard_up_to(&mut self, mut left: usize) -> bool {
        let all = async {
            while let Some(frame) = self.incoming.frame().await {
                let Ok(frame) = frame else { return false };
                if let (Some(copy), Some(data)) = (&self.copy, frame.data_ref()) {
                    copy.borrow_mut().add(data);
                }
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

/// Returns the outcome of a read, or its error. Sets `broken` if hyper may read nothing more from the connection.
fn settle<T>(broken: &mut bool, read: Result<Result<T, Unread>, Elapsed>, max: usize) -> Result<T, ApiError> {
    match read {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(Unread::TooLarge)) => Err(too_large(max)),
        Ok(Err(Unread::Broken)) => {
            *broken = true;
            Err(ApiError::new(Code::InvalidJson, "The body ended early or its framing is not valid."))
        }
        Err(_) => {
            *broken = true;
            Err(ApiError::new(Code::RequestTimeout, "The body did not arrive in time."))
        }
    }
}

/// Returns `true` if a body has a declared length of more than `max` bytes.
fn is_longer(incoming: &Received, max: usize) -> bool {
    incoming.size_hint().lower() > max as u64
}

fn too_large(max: usize) -> ApiError {
    ApiError::new(Code::BodyTooLarge, format!("The body is longer than {max} bytes."))
}

/// Polls a future twice and returns its output if it is ready. A body that came with its head is ready at the second
/// poll of hyper's future. A timer for such a body would cost as much as reading it.
async fn poll_twice<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
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

async fn read(
    incoming: &mut Received,
    max: usize,
    copy: Option<&RefCell<BodyCopy>>,
) -> Result<Bytes, Unread> {
    // Most bodies come in one chunk. That chunk is returned without a copy.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        if let Some(copy) = copy {
            copy.borrow_mut().add(&data);
        }
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
