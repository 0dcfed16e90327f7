//! Numbers of 128 bits as 22 base62 digits, for the ids of events and webhooks.

/// The number of base62 digits for 128 bits.
pub(crate) const DIGITS_LEN: usize = 22;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Returns the digits, with leading zeros. The texts rise with the numbers.
pub(crate) fn digits(number: u128) -> [u8; DIGITS_LEN] {
    let mut text = [b'0'; DIGITS_LEN];
    let mut rest = number;
    for place in text.iter_mut().rev() {
        *place = DIGITS[usize::try_from(rest % 62).unwrap_or(0)];
        rest /= 62;
    }
    text
}

/// Parses exactly [`DIGITS_LEN`] digits; none if the text is not a number of 128 bits.
pub(crate) fn parse(text: &str) -> Option<u128> {
    let number = parse_clamped(text)?;
    // A number that did not fit was replaced by another one.
    (digits(number) == *text.as_bytes()).then_some(number)
}

/// Parses exactly [`DIGITS_LEN`] digits. A number above 128 bits becomes the largest number of 128 bits.
pub(crate) fn parse_clamped(text: &str) -> Option<u128> {
    if text.len() != DIGITS_LEN {
        return None;
    }
    let mut number = 0_u128;
    for digit in text.bytes() {
        let value = DIGITS.binary_search(&digit).ok()?;
        number = number.saturating_mul(62).saturating_add(value as u128);
    }
    Some(number)
}
