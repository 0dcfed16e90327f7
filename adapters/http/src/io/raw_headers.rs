//! Header lines that bypass hyper's header map.
//!
//! hyper takes the headers of an answer as a map and serialises them line by line. The map is the most expensive part
//! of a GET, because it needs allocations, atomic reference counts for values that are not constant, and another pass
//! for the output. So without TLS the header lines are serialised directly (RFC 9112, section 5) and stored here. When
//! hyper writes the head, the socket inserts the lines after the status line.
//!
//! Nothing in a head shows which answer it belongs to, so the stored lines are inserted into the next head that hyper
//! writes. Lines may therefore be stored only while hyper holds no unwritten answer. (hyper 1.12 reads no request
//! before it has written the answer to the last one, but does not guarantee this.)

use std::cell::{Cell, RefCell};

/// The answers of a connection that hyper holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// hyper holds no answer: it has written all of them.
    Nothing,
    /// hyper holds an answer that includes its header lines, or the unwritten rest of an answer.
    Answer,
    /// hyper holds an answer whose header lines wait here.
    Lineless,
}

/// The header lines of one answer of a connection.
#[derive(Debug)]
pub(crate) struct RawHeaders {
    held: Cell<Held>,
    text: RefCell<Vec<u8>>,
}

impl RawHeaders {
    pub(crate) const fn new() -> Self {
        Self { held: Cell::new(Held::Nothing), text: RefCell::new(Vec::new()) }
    }

    /// Returns `true` if the header lines of the next answer may bypass hyper.
    pub(crate) fn may_wait(&self) -> bool {
        self.held.get() == Held::Nothing
    }

    /// Records that hyper gets an answer with its header lines.
    pub(crate) fn have_none(&self) {
        // If the lines of an earlier answer are still waiting, that state is kept.
        if self.held.get() == Held::Nothing {
            self.held.set(Held::Answer);
        }
    }

    /// Records that hyper gets an answer without its header lines, and stores these lines. In `text`, each line
    /// includes its line end.
    pub(crate) fn wait(&self, text: Vec<u8>) {
        debug_assert!(self.may_wait(), "hyper holds another answer");
        self.held.set(Held::Lineless);
        *self.text.borrow_mut() = text;
    }

    /// Returns a copy of the lines that are waiting, with room for `bytes` more bytes.
    pub(crate) fn copy(&self, bytes: usize) -> Vec<u8> {
        let text = self.text.borrow();
        let mut copy = Vec::with_capacity(text.len() + bytes);
        copy.extend_from_slice(&text);
        copy
    }

    /// Returns `true` if lines are waiting.
    pub(crate) fn are_waiting(&self) -> bool {
        self.held.get() == Held::Lineless
    }

    /// Records that hyper writes everything that it holds, beginning with the head of an answer. Returns the lines to
    /// insert, if there are any.
    pub(crate) fn hand_over(&self) -> Option<Vec<u8>> {
        match self.held.replace(Held::Nothing) {
            Held::Nothing | Held::Answer => None,
            Held::Lineless => Some(self.text.take()),
        }
    }
}

/// Splits a head at the place where the lines are inserted: after the status line.
pub(crate) fn split_at_insertion(head: &[u8]) -> (&[u8], &[u8]) {
    let end = head.iter().position(|byte| *byte == b'\n').map_or(head.len(), |end| end + 1);
    head.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_inserted_after_the_status_line() {
        assert_eq!(
            split_at_insertion(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
            (&b"HTTP/1.1 200 OK\r\n"[..], &b"A: b\r\n\r\n"[..])
        );
    }

    #[test]
    fn lines_wait_only_while_hyper_holds_no_other_answer() {
        let raw_headers = RawHeaders::new();
        assert!(raw_headers.may_wait());
        raw_headers.wait(b"a: b\r\n".to_vec());
        // The client reads nothing, and sends another request.
        assert!(!raw_headers.may_wait() && raw_headers.are_waiting());
        raw_headers.have_none();
        assert!(!raw_headers.may_wait());
        assert_eq!(
            raw_headers.hand_over().as_deref(),
            Some(&b"a: b\r\n"[..]),
            "the lines of the first answer"
        );
        assert!(raw_headers.may_wait());
        raw_headers.have_none();
        assert!(!raw_headers.may_wait() && !raw_headers.are_waiting());
        assert_eq!(raw_headers.hand_over(), None);
        assert_eq!(raw_headers.hand_over(), None);
        assert!(raw_headers.may_wait());
    }
}
