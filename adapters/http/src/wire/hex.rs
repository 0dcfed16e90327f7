//! Lower-case hexadecimal numbers, written without Rust's formatting machinery, because every entity tag contains two.

/// The two digits of each byte, so that a byte needs one look-up.
const PAIRS: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
        byte += 1;
    }
    pairs
};

/// The number of digits with all leading zeros.
pub(crate) const FULL_LEN: usize = 16;

/// Returns the digits of a number, with all leading zeros.
pub(crate) fn full(number: u64) -> [u8; FULL_LEN] {
    let mut digits = [0; FULL_LEN];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(number.to_be_bytes()) {
        pair.copy_from_slice(&PAIRS[usize::from(byte)]);
    }
    digits
}

/// Returns the number of leading zeros among the digits of [`full`]. The last digit never counts as one, so
/// the number 0 keeps one digit.
pub(crate) const fn leading_zeros(number: u64) -> usize {
    let zeros = number.leading_zeros() as usize / 4;
    if zeros == FULL_LEN { FULL_LEN - 1 } else { zeros }
}

/// Parses the form of [`full`] only.
pub(crate) fn parse_full(digits: &[u8]) -> Option<u64> {
    if digits.len() == FULL_LEN { parse_digits(digits) } else { None }
}

/// Parses a hexadecimal number. A number with a leading zero is refused.
pub(crate) fn parse_short(digits: &[u8]) -> Option<u64> {
    let canonical = match digits {
        [b'0'] => true,
        [b'0', ..] | [] => false,
        _ => digits.len() <= FULL_LEN,
    };
    if canonical { parse_digits(digits) } else { None }
}

fn parse_digits(digits: &[u8]) -> Option<u64> {
    let mut number = 0;
    for digit in digits {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        number = (number << 4) | u64::from(value);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_the_forms_that_it_writes() {
        for number in [0, 1, 15, 16, 0xabc, 1 << 60, (1 << 60) - 1, u64::MAX] {
            let digits = full(number);
            assert_eq!(digits, format!("{number:016x}").as_bytes());
            assert_eq!(parse_full(&digits), Some(number));
            let short = &digits[leading_zeros(number)..];
            assert_eq!(short, format!("{number:x}").as_bytes());
            assert_eq!(parse_short(short), Some(number));
        }
        for text in ["", "00", "01", "A", "g", "+1", " 1", "11112222333344445"] {
            assert_eq!(parse_short(text.as_bytes()), None, "{text:?}");
            assert_eq!(parse_full(text.as_bytes()), None, "{text:?}");
        }
    }
}
