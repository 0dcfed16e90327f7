//! User information of URLs: a name and often a password in front of the host.

use super::Secret;
use super::escapes::{characters, spelled};

/// Returns the user information of the URL whose `://` begins at `start`.
pub(super) fn user_info(text: &[u8], start: usize) -> Option<Secret> {
    let begin = start + spelled(&text[start..], b"://")?;
    // In a URL that is not escaped, an escaped slash or at sign is a part of the name or the password.
    let is_escaped = text[begin - 1].is_ascii_hexdigit();
    let (mut place, mut end) = (begin, begin);
    for (byte, len) in characters(&text[begin..]) {
        let counts = is_escaped || text[place] != b'%';
        if counts && is_end(byte) {
            break;
        }
        if counts && byte == b'@' {
            end = place;
        }
        place += len;
    }
    (end > begin).then_some(Secret { start: begin, end, shown: Vec::new() })
}

/// Returns whether a character ends the authority of a URL.
fn is_end(byte: u8) -> bool {
    b"/?#\\\"<>".contains(&byte) || byte.is_ascii_whitespace() || byte.is_ascii_control()
}
