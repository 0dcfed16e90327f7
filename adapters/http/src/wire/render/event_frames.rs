//! Events as server-sent events (WHATWG HTML, section 9.2). Each frame ends with an empty line, and has data, because many
//! clients parse the data of each frame as JSON. A frame without an event of the log has an `event` field, so that a browser
//! passes exactly the events of the log to `onmessage`.

use petstore_domain::{Event, EventId};

use super::push_event;

/// A comment, which shows that the connection is still open. It belongs to the frame that follows: an empty line would end
/// a frame without data.
pub(crate) const COMMENT: &[u8] = b":\n";

const POSITION: &[u8] = b"event: position\n";
const NO_DATA: &[u8] = b"data: {}\n\n";

/// The number of bytes of [`push_bookmark`].
pub(crate) const BOOKMARK_BYTES: usize = POSITION.len() + EventId::LEN + 5 + NO_DATA.len();

/// The first frame: the time in milliseconds that a client waits before it reconnects, and the position at which the
/// stream begins.
pub(crate) fn push_opening(out: &mut Vec<u8>, begin: EventId) {
    out.extend_from_slice(b"retry: 3000\n");
    push_bookmark(out, begin);
}

/// A frame that only carries a position. A client keeps its id for the next connection.
pub(crate) fn push_bookmark(out: &mut Vec<u8>, place: EventId) {
    out.extend_from_slice(POSITION);
    push_id(out, place);
    out.extend_from_slice(NO_DATA);
}

/// A frame with an event.
pub(crate) fn push_event_frame(out: &mut Vec<u8>, event: &Event) {
    push_id(out, event.id);
    out.extend_from_slice(b"data: ");
    push_event(out, event);
    out.extend_from_slice(b"\n\n");
}

/// The last frame, with the reason why the stream ends.
pub(crate) fn push_end(out: &mut Vec<u8>, reason: &str) {
    out.extend_from_slice(b"event: end\ndata: {\"reason\":\"");
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(b"\"}\n\n");
}

fn push_id(out: &mut Vec<u8>, id: EventId) {
    out.extend_from_slice(b"id: ");
    out.extend_from_slice(&id.to_ascii());
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use petstore_domain::Position;

    use super::*;

    #[test]
    fn frames_are_written_as_the_standard_says() {
        let id = EventId { epoch: 0, position: Position::new(1).unwrap() };
        let mut out = Vec::new();
        push_opening(&mut out, id);
        let opening = out.len();
        push_bookmark(&mut out, id);
        assert_eq!(out.len() - opening, BOOKMARK_BYTES);
        push_end(&mut out, "limit");
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "retry: 3000\nevent: position\nid: evt_0000000000000000000001\ndata: {}\n\n\
             event: position\nid: evt_0000000000000000000001\ndata: {}\n\n\
             event: end\ndata: {\"reason\":\"limit\"}\n\n"
        );
    }
}
