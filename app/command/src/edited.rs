//! Text that people edit: what editors put before it, and is none of it.

/// A byte order mark, which some editors put before a text in UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Returns a text without the byte order mark before it.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Returns bytes without the byte order mark before them.
pub(crate) fn bytes_without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mark_at_the_beginning_is_no_text() {
        assert_eq!(without_mark("\u{feff}a\u{feff}"), "a\u{feff}");
        assert_eq!(without_mark("a"), "a");
        assert_eq!(bytes_without_mark(b"\xef\xbb\xbfa"), b"a");
        assert_eq!(bytes_without_mark(b"\xef\xbb"), b"\xef\xbb");
    }
}
