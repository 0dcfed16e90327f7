//! Answers on their way through HTTP/2. hyper's part ends when h2 has an answer's body; the client may leave it there.

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body_util::Full;
use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_LENGTH, HeaderValue};

use crate::activity::Activity;

/// The answers of a connection that the client has not taken yet.
#[derive(Default)]
pub(super) struct Answers {
    unsent: Cell<usize>,
    moves: Cell<u64>,
}

impl Answers {
    /// Whether there are any, and a number that rises whenever some of one is on its way.
    pub(super) fn waiting(&self) -> (bool, u64) {
        (self.unsent.get() > 0, self.moves.get())
    }

    fn moved(&self) {
        self.moves.set(self.moves.get().wrapping_add(1));
    }
}

/// A request's time on its connection: until its answer is on the way as a whole, or the client has given it up.
pub(super) struct Turn {
    activity: Rc<Activity>,
    answers: Rc<Answers>,
    is_answered: bool,
}

impl Turn {
    pub(super) fn begin(activity: &Rc<Activity>, answers: &Rc<Answers>) -> Self {
        activity.begin();
        Self { activity: Rc::clone(activity), answers: Rc::clone(answers), is_answered: false }
    }

    fn answered(mut self) -> Self {
        self.is_answered = true;
        self.answers.unsent.set(self.answers.unsent.get() + 1);
        self.answers.moved();
        self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_answered {
            self.answers.unsent.set(self.answers.unsent.get() - 1);
            self.answers.moved();
        }
        self.activity.end();
    }
}

/// A body that knows whether it has been taken; none where there is nothing to take.
pub(super) struct Tracked(Option<(Full<Bytes>, Turn)>);

/// What h2 holds until the client has taken it.
pub(super) struct Piece {
    bytes: Bytes,
    turn: Turn,
}

impl Tracked {
    /// The same answer. hyper leaves it to the service to send no body where only the head was asked for.
    pub(super) fn response(response: Response<Full<Bytes>>, is_head: bool, turn: Turn) -> Response<Self> {
        let (mut parts, body) = response.into_parts();
        let length = body.size_hint().exact().unwrap_or(0);
        if is_head && length > 0 {
            parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        let body = (!is_head && length > 0).then(|| (body, turn.answered()));
        Response::from_parts(parts, Self(body))
    }
}

impl Body for Tracked {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        let Some((mut body, turn)) = self.0.take() else { return Poll::Ready(None) };
        // A body in one piece is there at once.
        let frame = ready!(Pin::new(&mut body).poll_frame(context));
        let bytes = frame.and_then(Result::ok).and_then(|frame| frame.into_data().ok());
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(Piece { bytes, turn }))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), |(body, _)| body.size_hint())
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.turn.answers.moved();
        self.bytes.advance(count);
    }
}
