//! Text files that people edit: byte order marks, and encodings other than UTF-8.

use std::path::Path;
use std::{fs, io};

/// The advice for a text in UTF-16, which some editors and shells write.
pub(crate) const UTF_16: &str = "it is in UTF-16: save it as UTF-8";

/// A byte order mark, which some editors put before a text in UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Returns a text without the byte order mark before it.
fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Returns bytes without the byte order mark before them.
pub(crate) fn bytes_without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(bytes)
}

/// Returns whether a text begins with a byte order mark of UTF-16.
pub(crate) fn is_utf_16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Reads a text file, without the byte order mark before it.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    if is_utf_16(&bytes) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, UTF_16));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not in UTF-8: save it as UTF-8"))?;
    Ok(without_mark(&text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_is_recognised_by_its_byte_order_mark() {
        assert!(is_utf_16(b"\xff\xfea\0") && is_utf_16(b"\xfe\xff\0a"));
        assert!(!is_utf_16(b"\xef\xbb\xbfa") && !is_utf_16(b"\xff") && !is_utf_16(b""));
    }

    #[test]
    fn one_byte_order_mark_at_the_beginning_is_removed() {
        assert_eq!(without_mark("\u{feff}a\u{feff}"), "a\u{feff}");
        assert_eq!(without_mark("a"), "a");
        assert_eq!(bytes_without_mark(b"\xef\xbb\xbfa"), b"a");
        assert_eq!(bytes_without_mark(b"\xef\xbb"), b"\xef\xbb");
    }
}
