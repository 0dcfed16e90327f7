//! API keys: their format, and the parts of the secret that are kept.

use std::fmt;

/// The prefix of every key, so that a leaked key can be recognised.
const PREFIX: &[u8] = b"pet_";
const PREFIX_LEN: usize = PREFIX.len();

/// The number of base62 digits for 256 random bits.
const SECRET_LEN: usize = 43;

/// The number of base62 digits for the CRC-32 of all characters before them.
const CHECK_LEN: usize = 6;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A well-formed API key: `pet_`, then 43 base62 digits of 256 random bits, then 6 base62 digits of the CRC-32 (IEEE)
/// of all characters before them.
///
/// An API key is a secret, so its `Debug` shows only the display prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ApiKey([u8; ApiKey::LEN]);

/// A text that is not a well-formed API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an API key")]
pub struct ApiKeyError;

impl ApiKey {
    /// The number of characters of a key.
    pub const LEN: usize = PREFIX_LEN + SECRET_LEN + CHECK_LEN;

    /// Returns the key with these 256 random bits.
    pub fn from_entropy(entropy: [u8; 32]) -> Self {
        let mut key = [b'0'; Self::LEN];
        key[..PREFIX_LEN].copy_from_slice(PREFIX);
        let mut number = entropy;
        for place in key[PREFIX_LEN..PREFIX_LEN + SECRET_LEN].iter_mut().rev() {
            *place = DIGITS[usize::from(divide_by_62(&mut number))];
        }
        let check = check_digits(&key[..PREFIX_LEN + SECRET_LEN]);
        key[PREFIX_LEN + SECRET_LEN..].copy_from_slice(&check);
        Self(key)
    }

    /// Takes a text of the right length, alphabet and checksum.
    pub fn parse(text: &[u8]) -> Result<Self, ApiKeyError> {
        let key: [u8; Self::LEN] = text.try_into().map_err(|_| ApiKeyError)?;
        let (body, check) = key.split_at(PREFIX_LEN + SECRET_LEN);
        let well_formed = body.starts_with(PREFIX)
            && body[PREFIX_LEN..].iter().all(u8::is_ascii_alphanumeric)
            && check == check_digits(body);
        if well_formed { Ok(Self(key)) } else { Err(ApiKeyError) }
    }

    /// Returns the secret itself. The secret is shown only once, to the requester of the key.
    pub fn reveal(&self) -> &str {
        std::str::from_utf8(&self.0).expect("base62 is ASCII")
    }

    /// The secret's bytes, for a digest.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The first characters, by which an operator recognises the key.
    pub fn display_prefix(&self) -> KeyPrefix {
        let mut prefix = [0; KeyPrefix::LEN];
        prefix.copy_from_slice(&self.0[..KeyPrefix::LEN]);
        KeyPrefix(prefix)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({}…)", self.display_prefix())
    }
}

/// Divides a big-endian number by 62 in place and returns the remainder.
fn divide_by_62(number: &mut [u8; 32]) -> u8 {
    let mut remainder = 0_u16;
    for byte in number {
        let part = (remainder << 8) | u16::from(*byte);
        *byte = u8::try_from(part / 62).expect("the part is below 62 * 256");
        remainder = part % 62;
    }
    u8::try_from(remainder).expect("a remainder by 62")
}

fn check_digits(body: &[u8]) -> [u8; CHECK_LEN] {
    let mut rest = crc32(body);
    let mut digits = [0; CHECK_LEN];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    digits
}

/// Computes the CRC-32 of IEEE 802.3, four bits a step. A table for four bits fits one cache line, and the input has
/// only 47 bytes.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 16] = {
        let mut table = [0; 16];
        let mut index: u8 = 0;
        while index < 16 {
            let mut rest = index as u32;
            let mut bit = 0;
            while bit < 4 {
                rest = if rest & 1 == 1 { (rest >> 1) ^ 0xEDB8_8320 } else { rest >> 1 };
                bit += 1;
            }
            table[index as usize] = rest;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| {
        let crc = crc ^ u32::from(*byte);
        let crc = (crc >> 4) ^ TABLE[(crc & 15) as usize];
        (crc >> 4) ^ TABLE[(crc & 15) as usize]
    })
}

/// The first characters of a key: the part that lists and logs show.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPrefix([u8; KeyPrefix::LEN]);

impl KeyPrefix {
    /// The number of characters of a display prefix: `pet_` and eight digits.
    pub const LEN: usize = 12;

    /// Parses a display prefix that a store kept.
    pub fn parse(text: &str) -> Result<Self, ApiKeyError> {
        let prefix: [u8; Self::LEN] = text.as_bytes().try_into().map_err(|_| ApiKeyError)?;
        let well_formed =
            prefix.starts_with(PREFIX) && prefix[PREFIX_LEN..].iter().all(u8::is_ascii_alphanumeric);
        if well_formed { Ok(Self(prefix)) } else { Err(ApiKeyError) }
    }

    /// The prefix as text: the beginning of a key, which may be shown and stored.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("base62 is ASCII")
    }
}

impl fmt::Debug for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for KeyPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// SHA-256 of a key: all that is stored of the secret. A key has 256 random bits, so a slow hash would add nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyDigest(pub [u8; 32]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_ieee_crc_32() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_key_of_zeros_and_one_of_ones_are_well_formed() {
        let zeros = ApiKey::from_entropy([0; 32]);
        assert!(zeros.reveal().starts_with("pet_0000000000000000000000000000000000000000000"));
        let ones = ApiKey::from_entropy([0xFF; 32]);
        // 2^256 - 1 in base 62, by an independent calculation.
        assert_eq!(&ones.reveal()[4..47], "yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1");
        for key in [zeros, ones] {
            assert_eq!(key.reveal().len(), ApiKey::LEN);
            assert_eq!(ApiKey::parse(key.reveal().as_bytes()), Ok(key));
        }
    }

    #[test]
    fn any_single_wrong_character_is_refused() {
        let key = ApiKey::from_entropy([7; 32]);
        for place in 0..ApiKey::LEN {
            let mut wrong = *key.as_bytes();
            wrong[place] = if wrong[place] == b'a' { b'b' } else { b'a' };
            assert_eq!(ApiKey::parse(&wrong), Err(ApiKeyError), "at {place}");
        }
        for text in ["", "pet_", "pet_short", &format!("{}x", key.reveal())] {
            assert_eq!(ApiKey::parse(text.as_bytes()), Err(ApiKeyError), "{text}");
        }
    }

    #[test]
    fn debug_output_of_a_key_shows_only_its_prefix() {
        let key = ApiKey::from_entropy([7; 32]);
        let printed = format!("{key:?}");
        assert!(printed.contains(key.display_prefix().as_str()));
        assert!(!printed.contains(&key.reveal()[KeyPrefix::LEN..]));
    }
}
