//! A buffer of each thread. Small bodies and header values are slices of it.
//!
//! A slice of a shared allocation costs less than a separate allocation for each body and value. Splitting a slice
//! costs even less. So values that are known at the same time are written into one slice, which is then split. The
//! slices of a response live only until the response was copied into the connection's buffer. So when a chunk is full,
//! nearly always none of its slices is in use, and the chunk is reused.

use std::cell::RefCell;

use bytes::{Bytes, BytesMut};
use hyper::header::HeaderValue;

/// Number of bytes of one allocation: room for about thirty responses.
const CHUNK: usize = 16 * 1024;

/// The buffer of a thread.
pub(crate) struct Arena {
    chunk: RefCell<BytesMut>,
    /// Scratch buffer for text whose length is not known yet.
    draft: RefCell<Vec<u8>>,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self { chunk: RefCell::new(BytesMut::new()), draft: RefCell::new(Vec::new()) }
    }

    /// Returns a slice with the text that `write` writes. `write` must not use the arena itself.
    pub(crate) fn cut(&self, write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
        let mut draft = self.draft.borrow_mut();
        draft.clear();
        write(&mut draft);
        self.copy(&draft)
    }

    /// Returns a copy of these bytes.
    #[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
    #[inline(always)]
    pub(crate) fn copy(&self, bytes: &[u8]) -> Bytes {
        let mut chunk = self.chunk.borrow_mut();
        if chunk.capacity() < bytes.len() {
            chunk.reserve(bytes.len().max(CHUNK));
        }
        chunk.extend_from_slice(bytes);
        chunk.split().freeze()
    }
}

/// Makes a header value of a text that is known to be visible ASCII.
pub(crate) fn visible(text: Bytes) -> HeaderValue {
    HeaderValue::from_maybe_shared(text).expect("what is written here is visible ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_keeps_its_bytes_after_later_cuts() {
        let arena = Arena::new();
        let slices: Vec<_> = (0..5_000_u32).map(|n| (n, arena.copy(n.to_string().as_bytes()))).collect();
        for (n, slice) in slices {
            assert_eq!(slice, n.to_string());
        }
        let long = arena.cut(|out| out.resize(3 * CHUNK, b'x'));
        assert_eq!(long.len(), 3 * CHUNK);
    }

    #[test]
    fn a_chunk_without_slices_is_reused() {
        let arena = Arena::new();
        let first = arena.copy(&[1; CHUNK / 2]);
        let place = first.as_ptr();
        drop(first);
        let places: Vec<_> = (0..4).map(|_| arena.copy(&[2; CHUNK / 2]).as_ptr()).collect();
        assert!(places.contains(&place));
    }
}
