//! Encodings of texts that people edit.

/// The advice for a text in UTF-16, which some editors and shells write.
pub const UTF_16: &str = "it is in UTF-16: save it as UTF-8";

/// A byte order mark, which some editors put before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Returns bytes without the byte order mark before them.
pub fn bytes_without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// Returns whether a text begins with a byte order mark of UTF-16.
pub fn is_utf_16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
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
        assert_eq!(bytes_without_mark(b"\xef\xbb\xbfa\xef\xbb\xbf"), b"a\xef\xbb\xbf");
        assert_eq!(bytes_without_mark(b"\xef\xbb"), b"\xef\xbb");
    }
}
