//! Characters of a text in which some may be escaped, as in URLs and in JSON.

/// The characters at the beginning of a text that belong together.
#[derive(Default)]
pub(super) struct Run {
    pub(super) characters: usize,
    /// The length in the text, with escapes.
    pub(super) bytes: usize,
}

/// Returns the characters at the beginning of a text up to the first one that does not belong to them.
pub(super) fn run(text: &[u8], belongs: impl Fn(u8) -> bool) -> Run {
    let belonging = characters(text).take_while(|(byte, _)| belongs(*byte));
    belonging
        .fold(Run::default(), |run, (_, len)| Run { characters: run.characters + 1, bytes: run.bytes + len })
}

/// Returns the length of a word with which a text begins, with its escapes; `None` if the text does not begin with it.
pub(super) fn spelled(text: &[u8], word: &[u8]) -> Option<usize> {
    let mut rest = characters(text);
    word.iter().try_fold(0, |len, expected| match rest.next() {
        Some((byte, bytes)) if byte == *expected => Some(len + bytes),
        _ => None,
    })
}

/// Returns the characters of a text, each with its length in the text. The escape of a character in a URL or in JSON is
/// read as the character.
pub(super) fn characters(mut text: &[u8]) -> impl Iterator<Item = (u8, usize)> {
    std::iter::from_fn(move || {
        let (byte, len) = match *text {
            [b'%', high, low, ..] => hex_byte(high, low).map_or((b'%', 1), |byte| (byte, 3)),
            [b'\\', b'u', b'0', b'0', high, low, ..] => {
                hex_byte(high, low).map_or((b'\\', 1), |byte| (byte, 6))
            }
            [b'\\', b'/', ..] => (b'/', 2),
            [byte, ..] => (byte, 1),
            [] => return None,
        };
        text = &text[len..];
        Some((byte, len))
    })
}

fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}
