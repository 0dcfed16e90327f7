//! Lists that are written in pieces while the client reads them.
//!
//! An element may be much larger as JSON than in memory, because a recorded body may be compressed. So a long list is never
//! rendered as a whole: the elements are rendered in order, each when the client has taken those before it, and not on the
//! thread that serves connections.

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use tokio::task::spawn_blocking;

use super::readers::Readers;
use crate::exchange::outlet::{Outlet, WrittenSource};
use crate::response::answer::Answer;
use crate::response::body::{Body, Framing, StreamBody, StreamPermit};

/// The number of bytes from which a piece is complete. It may exceed them by one element.
const PIECE_MIN: usize = 64 * 1024;

/// The number of bytes in memory of a list that is rendered at once.
const SMALL_MAX: usize = 64 * 1024;

/// The elements of a list.
pub(super) trait Elements: Send + 'static {
    /// Adds the next element, after a comma unless it is the first one. Returns `false` if there is none.
    fn push_next(&mut self, out: &mut Vec<u8>) -> bool;

    /// Returns the number of bytes of the elements in memory, from which they are rendered without being decompressed; `None`
    /// if one of them is compressed.
    fn plain_bytes(&self) -> Option<usize>;
}

/// The bytes around the elements of a list.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) start: Vec<u8>,
    pub(super) end: &'static [u8],
}

impl Frame {
    /// Nothing around a single element.
    pub(super) const NONE: Self = Self { start: Vec::new(), end: b"" };

    /// The frame of a JSON array.
    pub(super) fn array() -> Self {
        Self { start: b"[".to_vec(), end: b"]" }
    }
}

/// A piece of a list, and the elements after it; none if it is the last piece.
type Piece<E> = (Vec<u8>, Option<E>);

/// Adds elements to a piece until it is complete.
fn fill<E: Elements>(mut piece: Vec<u8>, mut elements: E, end: &[u8]) -> Piece<E> {
    while elements.push_next(&mut piece) {
        if piece.len() >= PIECE_MIN {
            return (piece, Some(elements));
        }
    }
    piece.extend_from_slice(end);
    (piece, None)
}

/// Returns a list as an answer: a short one as a whole, and a long one in pieces.
pub(super) async fn answer<E: Elements>(
    readers: &Readers,
    parts: &Parts,
    frame: Frame,
    elements: E,
) -> Result<Answer, Answer> {
    let Frame { start, end } = frame;
    if elements.plain_bytes().is_some_and(|bytes| bytes <= SMALL_MAX) {
        let mut whole = start;
        let mut elements = elements;
        while elements.push_next(&mut whole) {}
        whole.extend_from_slice(end);
        return Ok(Answer::json(StatusCode::OK, whole));
    }
    if parts.method == Method::HEAD {
        return Ok(Answer::json(StatusCode::OK, Body::EMPTY));
    }
    let permit = readers.enter().await.ok_or_else(Answer::overloaded)?;
    let first = spawn_blocking(move || fill(start, elements, end)).await;
    match first.map_err(|_| Answer::failed("a list of the sandbox panicked"))? {
        (whole, None) => Ok(Answer::json(StatusCode::OK, whole)),
        (first, Some(rest)) => {
            let source = Box::new(WrittenSource::new(move |outlet| write(outlet, first, rest, end)));
            let permit = StreamPermit::OfSandbox(permit);
            let body = Body::Stream(Box::new(StreamBody { source, framing: Framing::ByHyper, permit }));
            Ok(Answer { body, ..Answer::json(StatusCode::OK, Body::EMPTY) })
        }
    }
}

/// Writes a list. If an element cannot be rendered, the list has no end, which its reader notices.
async fn write<E: Elements>(outlet: Outlet, first: Vec<u8>, rest: E, end: &'static [u8]) {
    let mut next = Some((first, Some(rest)));
    while let Some((piece, rest)) = next {
        outlet.send_all(Bytes::from(piece)).await;
        next = match rest {
            Some(rest) => spawn_blocking(move || fill(Vec::new(), rest, end)).await.ok(),
            None => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers(std::ops::Range<usize>);

    impl Elements for Numbers {
        fn push_next(&mut self, out: &mut Vec<u8>) -> bool {
            let Some(number) = self.0.next() else { return false };
            out.extend_from_slice(if number == 0 { b"" } else { b"," });
            out.extend(std::iter::repeat_n(b'1', 10_000));
            true
        }

        fn plain_bytes(&self) -> Option<usize> {
            None
        }
    }

    #[test]
    fn a_piece_has_one_element_more_than_its_size_at_most() {
        let (mut all, mut rest, mut pieces) = (Vec::new(), Some(Numbers(0..50)), 0);
        while let Some(elements) = rest {
            let start = if pieces == 0 { b"[".to_vec() } else { Vec::new() };
            let (piece, next) = fill(start, elements, b"]");
            assert!(piece.len() < PIECE_MIN + 10_002, "{}", piece.len());
            all.extend_from_slice(&piece);
            (rest, pieces) = (next, pieces + 1);
        }
        assert!(pieces > 5, "{pieces}");
        let list = [b"[", &vec![b"1".repeat(10_000); 50].join(&b","[..])[..], b"]"].concat();
        assert!(all == list);
    }
}
