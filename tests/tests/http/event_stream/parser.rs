//! A strict parser of server-sent events by the standard (WHATWG HTML, section 9.2.6). The bytes may be split anywhere.

/// An event as a browser would dispatch it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Dispatched {
    /// The event's type; empty for the default `message`.
    pub(super) event: String,
    pub(super) data: String,
    /// The value of `lastEventId` when the event was dispatched.
    pub(super) id: String,
}

/// The state of an `EventSource`.
#[derive(Default)]
pub(super) struct Parser {
    bytes: Vec<u8>,
    begun: bool,
    event: String,
    data: String,
    id: String,
    /// The last event id, which a reconnection sends.
    pub(super) last_id: String,
    /// The reconnection time, if the stream set it.
    pub(super) retry: Option<u64>,
    /// The number of empty lines after which nothing was dispatched, although fields came before.
    pub(super) frames_without_data: usize,
    /// `true` if a field or a comment came since the last empty line.
    has_field: bool,
    /// The number of comments so far.
    pub(super) comments: usize,
}

impl Parser {
    /// Takes bytes of the stream. Returns the events that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Dispatched> {
        self.bytes.extend_from_slice(bytes);
        if !self.begun {
            const BOM: &[u8] = b"\xef\xbb\xbf";
            if self.bytes.len() < BOM.len() && BOM.starts_with(&self.bytes) {
                return vec![];
            }
            self.begun = true;
            if self.bytes.starts_with(BOM) {
                self.bytes.drain(..BOM.len());
            }
        }
        let mut dispatched = Vec::new();
        while let Some(line) = self.next_line() {
            dispatched.extend(self.take(&line));
        }
        dispatched
    }

    /// Removes the first line, which ends with CR, LF or both. If the bytes end with a CR, the line is not removed yet,
    /// because an LF may follow.
    fn next_line(&mut self) -> Option<String> {
        let end = self.bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
        let width = match self.bytes[end..] {
            [b'\r'] => return None,
            [b'\r', b'\n', ..] => 2,
            _ => 1,
        };
        let line = String::from_utf8(self.bytes[..end].to_vec()).expect("a stream is UTF-8");
        self.bytes.drain(..end + width);
        Some(line)
    }

    fn take(&mut self, line: &str) -> Option<Dispatched> {
        if line.is_empty() {
            return self.dispatch();
        }
        self.has_field = true;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => self.comments += 1,
            "event" => value.clone_into(&mut self.event),
            "data" => self.data.extend([value, "\n"]),
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => self.retry = value.parse().ok(),
            other => panic!("the server sends no field {other:?}"),
        }
        None
    }

    fn dispatch(&mut self) -> Option<Dispatched> {
        self.last_id.clone_from(&self.id);
        let (event, data) = (std::mem::take(&mut self.event), std::mem::take(&mut self.data));
        let has_field = std::mem::take(&mut self.has_field);
        let Some(data) = data.strip_suffix('\n').map(str::to_owned) else {
            self.frames_without_data += usize::from(has_field);
            return None;
        };
        Some(Dispatched { event, data, id: self.last_id.clone() })
    }
}

#[test]
fn the_parser_reads_what_the_standard_describes() {
    let text = "\u{feff}: hello\r\nretry: 10\nid: 1\r\n\r\nid: 2\rdata: a\rdata:b\r\revent: end\ndata: c\n\ndata: cut\n";
    for split in 1..text.len() {
        let mut parser = Parser::default();
        let dispatched: Vec<_> = text.as_bytes().chunks(split).flat_map(|part| parser.feed(part)).collect();
        let expected = [("", "a\nb", "2"), ("end", "c", "2")].map(|(event, data, id)| Dispatched {
            event: event.into(),
            data: data.into(),
            id: id.into(),
        });
        assert_eq!(dispatched, expected, "split at {split}");
        assert_eq!((parser.retry, parser.comments, parser.last_id.as_str()), (Some(10), 1, "2"));
        assert_eq!(parser.frames_without_data, 1, "the first one");
    }
}
