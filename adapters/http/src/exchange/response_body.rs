//! The body that hyper sends: the bytes of a response, or its stream within the bounds of a streaming response.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HyperBody, Frame, SizeHint};
use tokio::time::{Duration, Sleep, sleep};

use crate::io::activity::{Activity, DeliveryNotice, Streaming};
use crate::io::offered_stream::{ChunkStream, OfferedStream};
use crate::response::body::{Body, CHUNK_MAX, Framing, StreamBody};
use crate::thread::{AnswerEnd, AnswerRecord};

/// Time for a source to produce its last chunk after the server begins to stop. It only has to write a few bytes.
pub(crate) const STREAM_END_TIME: Duration = Duration::from_secs(1);

/// The error that cuts a stream: its source exceeded a bound, or did not end in time when the server stopped.
#[derive(Debug, thiserror::Error)]
#[error("the stream was cut")]
pub(crate) struct StreamCut;

/// The body of a response.
pub(crate) enum ResponseBody {
    /// The bytes; `None` after they were taken, or if the body is empty.
    Whole(Option<Bytes>),
    /// An answer that is recorded, with its bytes; none after they were taken. They are behind a pointer, because hyper
    /// moves every body several times.
    Recorded(Option<Box<dyn AnswerRecord>>),
    Stream(Rc<RefCell<OpenStream>>),
}

/// A stream that is being sent.
pub(crate) struct OpenStream {
    body: StreamBody,
    /// Marks the connection as streaming, so that it does not count as idle.
    streaming: Streaming,
    /// Starts when the server begins to stop.
    end_timer: Option<Pin<Box<Sleep>>>,
    is_over: bool,
    is_offered: bool,
    /// The record of the answer. If the stream is dropped before its end, the client has left.
    record: Option<Box<dyn AnswerRecord>>,
}

impl ResponseBody {
    pub(crate) fn new(body: Body, activity: &Rc<Activity>) -> Self {
        match body {
            Body::Whole(bytes) => Self::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())),
            Body::Stream(body) => Self::stream(*body, activity),
        }
    }

    /// Records the body while it is sent.
    pub(crate) fn record(&mut self, mut record: Box<dyn AnswerRecord>, activity: &Rc<Activity>) {
        match self {
            Self::Whole(unsent) => {
                // The bytes of an answer to HEAD stay, because hyper needs their length.
                let sent = if record.is_head() { None } else { unsent.take() };
                match sent {
                    Some(bytes) if activity.has_client_closed() => {
                        record.body(&bytes);
                        end_with_connection(record, activity);
                        *unsent = Some(bytes);
                    }
                    Some(bytes) => {
                        record.hold(bytes);
                        *self = Self::Recorded(Some(record));
                    }
                    None if activity.has_client_closed() => end_with_connection(record, activity),
                    None => record.end(AnswerEnd::Sent),
                }
            }
            Self::Stream(stream) => {
                record.begin_stream();
                stream.borrow_mut().record = Some(record);
            }
            Self::Recorded(_) => {}
        }
    }

    fn stream(body: StreamBody, activity: &Rc<Activity>) -> Self {
        Self::Stream(Rc::new(RefCell::new(OpenStream {
            body,
            streaming: Streaming::begin(activity),
            end_timer: None,
            is_over: false,
            is_offered: false,
            record: None,
        })))
    }
}

/// Records the end of an answer once the connection has ended, because the client has closed its side and may have left.
fn end_with_connection(record: Box<dyn AnswerRecord>, activity: &Activity) {
    let end = |is_taken| record.end(if is_taken { AnswerEnd::Sent } else { AnswerEnd::Gone });
    activity.notify_of_delivery(DeliveryNotice(Box::new(end)));
}

impl OpenStream {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamCut>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let is_stopping = self.streaming.is_stopping(context);
        match self.body.source.poll_chunk(context, is_stopping) {
            Poll::Ready(Some(chunk)) if chunk.len() <= CHUNK_MAX => {
                if let Some(record) = &mut self.record {
                    record.body(&chunk);
                }
                Poll::Ready(Some(Ok(chunk)))
            }
            Poll::Ready(Some(_)) => self.cut(),
            Poll::Ready(None) if self.body.source.is_cut() => {
                if let Some(record) = self.record.take() {
                    record.end(AnswerEnd::Cut);
                }
                self.cut()
            }
            Poll::Ready(None) => {
                self.is_over = true;
                if let Some(record) = self.record.take() {
                    record.end(AnswerEnd::Sent);
                }
                Poll::Ready(None)
            }
            Poll::Pending if is_stopping => {
                let timer = self.end_timer.get_or_insert_with(|| Box::pin(sleep(STREAM_END_TIME)));
                match timer.as_mut().poll(context) {
                    Poll::Ready(()) => self.cut(),
                    Poll::Pending => Poll::Pending,
                }
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn cut(&mut self) -> Poll<Option<Result<Bytes, StreamCut>>> {
        self.is_over = true;
        Poll::Ready(Some(Err(StreamCut)))
    }
}

impl ChunkStream for OpenStream {
    fn poll_next_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        self.poll_chunk(context).map(|chunk| chunk.map(|chunk| chunk.map_err(io::Error::other)))
    }
}

/// Offers a stream to its connection. hyper has already written the head when it polls the body for the first time.
#[cold]
fn offer(stream: &Rc<RefCell<OpenStream>>) {
    let mut open = stream.borrow_mut();
    open.is_offered = true;
    if let Framing::Chunked { closes } = open.body.framing {
        let chunks = Rc::downgrade(stream);
        open.streaming.activity().offer_stream(OfferedStream { chunks, closes });
    }
}

impl HyperBody for ResponseBody {
    type Data = Bytes;
    type Error = StreamCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamCut>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Recorded(answer) => {
                Poll::Ready(answer.take().map(|record| Ok(Frame::data(record.end_and_send()))))
            }
            Self::Stream(stream) => {
                if !stream.borrow().is_offered {
                    offer(stream);
                }
                let poll = stream.borrow_mut().poll_chunk(context);
                if poll.is_ready() {
                    // hyper buffers this chunk and writes it later.
                    stream.borrow().streaming.activity().set_drained(false);
                }
                poll.map(|chunk| Some(chunk?.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Recorded(answer) => answer.is_none(),
            Self::Stream(stream) => stream.borrow().is_over,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Recorded(answer) => {
                SizeHint::with_exact(answer.as_ref().map_or(0, |answer| answer.unsent().len() as u64))
            }
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
