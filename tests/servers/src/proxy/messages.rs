//! The messages of PostgreSQL's protocol in a stream of bytes.

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The node.
    Node,
    /// The PostgreSQL server.
    Server,
}

/// Splits a stream into messages. A connection that becomes encrypted has none.
pub(super) struct Messages {
    bytes: Vec<u8>,
    sender: Side,
    is_started: bool,
    /// True if the protocol is another one.
    is_opaque: bool,
}

/// The bytes of a length, and those of a kind.
const LENGTH: usize = 4;
const KIND: usize = 1;

/// The numbers in a node's messages that ask for encryption. The server answers each with one byte.
const ASKS_FOR_ENCRYPTION: [u32; 2] = [80_877_103, 80_877_104];

impl Messages {
    /// The messages of a sender, from the beginning of a connection.
    pub(super) fn of(sender: Side) -> Self {
        Self { bytes: Vec::new(), sender, is_started: false, is_opaque: false }
    }

    /// The bytes of a sender that speaks another protocol: those that arrive together count as a message.
    pub(super) fn opaque(sender: Side) -> Self {
        Self { is_opaque: true, ..Self::of(sender) }
    }

    /// Adds bytes, and returns the messages that are complete.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        if self.is_opaque {
            return vec![bytes.to_vec()];
        }
        self.bytes.extend_from_slice(bytes);
        let mut complete = Vec::new();
        while let Some(end) = self.end().filter(|end| self.bytes.len() >= *end) {
            complete.push(self.bytes.drain(..end).collect());
        }
        complete
    }

    /// Returns the length of the first message; none if it is not known yet.
    fn end(&mut self) -> Option<usize> {
        let refuses_encryption = self.sender == Side::Server && self.bytes.first() == Some(&b'N');
        if !self.is_started && refuses_encryption {
            return Some(KIND);
        }
        // Until a connection has started, the messages of a node have no byte that names their kind.
        let kind = if self.sender == Side::Server || self.is_started { KIND } else { 0 };
        let number = |place: usize| {
            let bytes = self.bytes.get(place..place + LENGTH)?;
            Some(u32::from_be_bytes(bytes.try_into().expect("four bytes")))
        };
        let length = number(kind)?;
        let is_started = kind > 0 || !ASKS_FOR_ENCRYPTION.contains(&number(LENGTH)?);
        self.is_started |= is_started;
        Some(kind + usize::try_from(length).expect("a length in memory"))
    }
}

/// Returns whether a message of a node is a statement that begins a transaction.
pub(super) fn begins_transaction(message: &[u8]) -> bool {
    let Some((b'Q', rest)) = message.split_first() else { return false };
    let text = String::from_utf8_lossy(&rest[LENGTH..]);
    text.split(';').any(|statement| statement.trim_start().starts_with("begin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, text: &str) -> Vec<u8> {
        let length = u32::try_from(LENGTH + text.len()).unwrap().to_be_bytes();
        [&[kind][..], &length, text.as_bytes()].concat()
    }

    #[test]
    fn a_stream_is_split_into_its_messages_wherever_its_pieces_end() {
        let start = |code: u32| [8_u32.to_be_bytes(), code.to_be_bytes()].concat();
        let sent = [
            start(80_877_103),
            start(196_608),
            message(b'Q', "begin\0"),
            message(b'S', ""),
            message(b'Q', "commit\0"),
        ];
        let stream = sent.concat();
        for size in 1..=stream.len() {
            let mut messages = Messages::of(Side::Node);
            let found: Vec<_> = stream.chunks(size).flat_map(|piece| messages.add(piece)).collect();
            assert_eq!(found, sent, "pieces of {size}");
        }
    }

    #[test]
    fn the_answer_to_a_request_for_encryption_is_one_byte() {
        let sent = [b"N".to_vec(), b"N".to_vec(), message(b'R', "ok"), message(b'N', "a notice")];
        let mut messages = Messages::of(Side::Server);
        let found: Vec<_> = sent.concat().chunks(3).flat_map(|piece| messages.add(piece)).collect();
        assert_eq!(found, sent);
    }

    #[test]
    fn the_start_of_a_transaction_is_found_among_statements() {
        for (text, begins) in
            [("begin; set x\0", true), ("discard plans; begin\0", true), ("commit\0", false)]
        {
            assert_eq!(begins_transaction(&message(b'Q', text)), begins, "{text}");
        }
        assert!(!begins_transaction(&message(b'P', "begin\0")));
    }
}
