//! The messages of PostgreSQL's protocol in a stream of bytes.

/// Splits a stream into messages. Only a node's first message has no byte that names its kind.
pub(super) struct Messages {
    bytes: Vec<u8>,
    is_started: bool,
}

/// The bytes of a length, and those of a kind.
const LENGTH: usize = 4;
const KIND: usize = 1;

impl Messages {
    /// The messages of a node.
    pub(super) fn of_node() -> Self {
        Self { bytes: Vec::new(), is_started: false }
    }

    /// The messages of a server.
    pub(super) fn of_server() -> Self {
        Self { bytes: Vec::new(), is_started: true }
    }

    /// Adds bytes, and returns the messages that are complete.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.bytes.extend_from_slice(bytes);
        let mut complete = Vec::new();
        loop {
            let kind = if self.is_started { KIND } else { 0 };
            let Some(length) = self.bytes.get(kind..kind + LENGTH) else { return complete };
            let length = u32::from_be_bytes(length.try_into().expect("four bytes"));
            let end = kind + usize::try_from(length).expect("a length in memory");
            if self.bytes.len() < end {
                return complete;
            }
            self.is_started = true;
            complete.push(self.bytes.drain(..end).collect());
        }
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
        let start = [&8_u32.to_be_bytes()[..], &[0, 3, 0, 0]].concat();
        let sent = [start, message(b'Q', "begin\0"), message(b'S', ""), message(b'Q', "commit\0")];
        let stream = sent.concat();
        for size in 1..=stream.len() {
            let mut messages = Messages::of_node();
            let found: Vec<_> = stream.chunks(size).flat_map(|piece| messages.add(piece)).collect();
            assert_eq!(found, sent, "pieces of {size}");
        }
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
