//! The elements of header fields that are lists, with their parameters and weights (RFC 9110, sections 5.6 and 12.4.2).

/// The weight of an element without a weight, in thousandths.
pub(super) const THOUSANDTHS: u16 = 1000;

/// Parses a weight into thousandths (RFC 9110, section 12.4.2). A malformed weight counts as 1, so that it excludes
/// nothing.
pub(super) fn weight(text: &[u8]) -> u16 {
    match text {
        [b'0'] => 0,
        [b'0', b'.', digits @ ..] if digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit) => {
            let digit = |place: usize| u16::from(digits.get(place).map_or(0, |digit| digit - b'0'));
            digit(0) * 100 + digit(1) * 10 + digit(2)
        }
        _ if is_zero(text) => 0,
        _ => THOUSANDTHS,
    }
}

fn is_zero(weight: &[u8]) -> bool {
    weight.starts_with(b"0") && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
}

/// Returns the value of a parameter with this name.
pub(super) fn parameter<'h>(part: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    let equals = part.iter().position(|byte| *byte == b'=')?;
    let (found, value) = part.split_at(equals);
    trim(found).eq_ignore_ascii_case(name).then(|| trim(&value[1..]))
}

/// Splits a header value at separators that are not in a quoted string.
pub(super) fn elements(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    value.split(move |byte| {
        if escaped {
            escaped = false;
        } else if *byte == b'"' {
            quoted = !quoted;
        } else if quoted {
            escaped = *byte == b'\\';
        } else {
            return *byte == separator;
        }
        false
    })
}

/// Returns the text without surrounding blanks and tabs.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}
