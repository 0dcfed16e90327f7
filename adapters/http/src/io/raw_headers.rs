//! An answer's header lines, past hyper's header map.
//!
//! hyper takes an answer's headers as a map and writes them out line by line. The map costs more than all else that is
//! done for a GET: a copy of a prepared one is two allocations, each value that is no constant is counted twice with
//! locked instructions, and each line is looked at once more on its way out. So the lines of an answer in the clear are
//! written as HTTP/1.1 has them (RFC 9112, section 5), wait here, and the socket puts them behind the status line when
//! hyper hands over the head: 3,500 instructions, and 0.45 of 5.5 us of a processor.
//!
//! The head that they belong to is told by its place alone: it is what hyper hands over next. So lines wait only while
//! hyper holds nothing that it wrote before. (hyper 1.12 reads no request before it has handed over the answer to the
//! last one, but does not promise that.)

use std::cell::{Cell, RefCell};

/// What hyper holds of the answers of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Nothing: all that was answered has been handed over.
    Nothing,
    /// An answer that has its lines, or had not been handed over as a whole.
    Answer,
    /// An answer whose lines wait here.
    Lineless,
}

/// The lines of one answer of a connection, on their way.
#[derive(Debug)]
pub(crate) struct RawHeaders {
    held: Cell<Held>,
    text: RefCell<Vec<u8>>,
}

impl RawHeaders {
    pub(crate) const fn new() -> Self {
        Self { held: Cell::new(Held::Nothing), text: RefCell::new(Vec::new()) }
    }

    /// Whether the next answer's lines may go past hyper.
    pub(crate) fn may_wait(&self) -> bool {
        self.held.get() == Held::Nothing
    }

    /// hyper gets an answer that has its lines.
    pub(crate) fn have_none(&self) {
        // Those of an answer before it may be waiting still.
        if self.held.get() == Held::Nothing {
            self.held.set(Held::Answer);
        }
    }

    /// hyper gets an answer without lines. These are the lines, each with its end.
    pub(crate) fn wait(&self, text: Vec<u8>) {
        debug_assert!(self.may_wait(), "hyper holds another answer");
        self.held.set(Held::Lineless);
        *self.text.borrow_mut() = text;
    }

    /// Whether lines are waiting.
    pub(crate) fn are_waiting(&self) -> bool {
        self.held.get() == Held::Lineless
    }

    /// hyper hands over what it holds, from the head of an answer on. The lines that belong there, if they are not in it.
    pub(crate) fn hand_over(&self) -> Option<Vec<u8>> {
        match self.held.replace(Held::Nothing) {
            Held::Nothing | Held::Answer => None,
            Held::Lineless => Some(self.text.take()),
        }
    }
}

/// What comes before the lines, and what comes after them: the status line, and the rest.
pub(crate) fn around(head: &[u8]) -> (&[u8], &[u8]) {
    let end = head.iter().position(|byte| *byte == b'\n').map_or(head.len(), |end| end + 1);
    head.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_belong_behind_the_status_line() {
        assert_eq!(
            around(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
            (&b"HTTP/1.1 200 OK\r\n"[..], &b"A: b\r\n\r\n"[..])
        );
    }

    #[test]
    fn lines_wait_only_while_hyper_holds_nothing_else() {
        let lines = RawHeaders::new();
        assert!(lines.may_wait());
        lines.wait(b"a: b\r\n".to_vec());
        // The client takes nothing, and asks again.
        assert!(!lines.may_wait() && lines.are_waiting());
        lines.have_none();
        assert!(!lines.may_wait());
        assert_eq!(lines.hand_over().as_deref(), Some(&b"a: b\r\n"[..]), "those of the first of the two");
        assert!(lines.may_wait());
        lines.have_none();
        assert!(!lines.may_wait() && !lines.are_waiting());
        assert_eq!(lines.hand_over(), None);
        assert_eq!(lines.hand_over(), None);
        assert!(lines.may_wait());
    }
}
