//! The status of an answer, found in the bytes of a connection before the head of the answer is complete.
//!
//! hyper gives an answer once its head is complete and valid. A receiver that has sent the status has decided by then, so
//! what becomes of the rest of the head changes nothing.

/// The number of bytes of a line that are kept: the version, the status and the byte behind it.
const LINE_KEPT: usize = 13;

/// Scans the answers to one request. Interim answers (1xx) may precede the final one.
#[derive(Debug, Default)]
pub(super) struct StatusScan {
    line: [u8; LINE_KEPT],
    /// The length of the current line so far, without its end.
    line_len: usize,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The next line is a status line.
    #[default]
    Status,
    /// The next line is a header of an interim answer, or the empty line behind them.
    InterimHeader,
    /// The status was found, or the answer is not HTTP.
    Ended,
}

impl StatusScan {
    /// Scans the next bytes of the connection. Returns the status of the final answer once its line is complete.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Option<u16> {
        for byte in bytes {
            if self.state == State::Ended {
                return None;
            }
            if *byte != b'\n' {
                if let Some(place) = self.line.get_mut(self.line_len) {
                    *place = *byte;
                }
                self.line_len = self.line_len.saturating_add(1);
            } else if let Some(status) = self.end_line() {
                return Some(status);
            }
        }
        None
    }

    fn end_line(&mut self) -> Option<u16> {
        let line = &self.line[..self.line_len.min(LINE_KEPT)];
        self.line_len = 0;
        let is_empty = matches!(line, [] | [b'\r']);
        match self.state {
            State::Status if !is_empty => match status(line) {
                Some(100 | 102..=199) => {
                    self.state = State::InterimHeader;
                    None
                }
                found => {
                    self.state = State::Ended;
                    found
                }
            },
            State::InterimHeader if is_empty => {
                self.state = State::Status;
                None
            }
            // Empty lines in front of a status line are ignored, as by hyper.
            State::Status | State::InterimHeader | State::Ended => None,
        }
    }
}

/// Returns the status of a line such as `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.1 ").or_else(|| line.strip_prefix(b"HTTP/1.0 "))?;
    let (digits, rest) = rest.split_first_chunk::<3>()?;
    let is_status =
        matches!(rest.first(), None | Some(b' ' | b'\r')) && digits.iter().all(u8::is_ascii_digit);
    let number = str::from_utf8(digits).ok()?.parse().ok()?;
    (is_status && number >= 100).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_found_once_its_line_is_complete() {
        for (sent, expected) in [
            ("HTTP/1.1 200 OK\r\n", Some(200)),
            ("HTTP/1.0 204\n", Some(204)),
            ("\r\nHTTP/1.1 500 \u{e4}\r\nx: y", Some(500)),
            ("HTTP/1.1 101 Switching Protocols\r\n", Some(101)),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nlink: y\r\nz\r\n\r\nHTTP/1.1 299 x\r\n",
                Some(299),
            ),
            ("HTTP/1.1 100 Continue\r\nHTTP/1.1 200 OK\r\n", None),
            ("HTTP/1.1 200 OK", None),
            ("HTTP/1.1 20\r\n", None),
            ("HTTP/1.1 2000 OK\r\n", None),
            ("HTTP/1.1 099 OK\r\n", None),
            ("HTTP/2 200\r\nHTTP/1.1 200 OK\r\n", None),
            ("SSH-2.0-OpenSSH_9.2\r\n", None),
            ("", None),
        ] {
            assert_eq!(StatusScan::default().add(sent.as_bytes()), expected, "{sent:?}");
            let mut scan = StatusScan::default();
            let one_by_one = sent.bytes().filter_map(|byte| scan.add(&[byte])).collect::<Vec<_>>();
            assert_eq!(one_by_one, Vec::from_iter(expected), "{sent:?}");
        }
    }
}
