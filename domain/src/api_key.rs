//! API keys: their format, the record that is stored, and their scopes.

use std::fmt;

use crate::ban::TICK;
use crate::text::{ShortText, TextError, parse_name};
use crate::{AccountId, Ban, KeyId, Timestamp};

/// The prefix of every key, so that a leaked key can be recognised.
const PREFIX: &[u8] = b"pet_";
const PREFIX_LEN: usize = PREFIX.len();

/// The number of base62 digits for 256 random bits.
const SECRET_LEN: usize = 43;

/// The number of base62 digits for the CRC-32 of all characters before them.
const CHECK_LEN: usize = 6;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A well-formed API key: `pet_`, 43 base62 digits of 256 random bits, and 6 of the CRC-32 (IEEE) of all before them.
///
/// It is a secret: its `Debug` shows the display prefix alone.
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

    /// Returns the secret itself. It is shown once, to the requester of the key.
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

    /// The characters.
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

/// The scopes that a key grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scopes {
    /// Reading: GET and HEAD.
    pub read: bool,
    /// Writing: every other method.
    pub write: bool,
}

impl Scopes {
    /// Both scopes: the default.
    pub const ALL: Self = Self { read: true, write: true };

    /// Parses a list such as `read,write`, with at least one scope.
    pub fn parse(list: &str) -> Option<Self> {
        let mut scopes = Self { read: false, write: false };
        for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
            match word {
                "read" => scopes.read = true,
                "write" => scopes.write = true,
                _ => return None,
            }
        }
        (scopes.read || scopes.write).then_some(scopes)
    }

    /// The list, as [`Scopes::parse`] takes it.
    pub const fn as_str(self) -> &'static str {
        match (self.read, self.write) {
            (true, true) => "read,write",
            (true, false) => "read",
            (false, true) => "write",
            (false, false) => "",
        }
    }

    /// Returns whether the key grants this scope.
    pub const fn permits(self, scope: Scope) -> bool {
        match scope {
            Scope::Read => self.read,
            Scope::Write => self.write,
        }
    }
}

/// One scope of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Reading.
    Read,
    /// Writing.
    Write,
}

impl Scope {
    /// The word in the list that [`Scopes::parse`] takes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// An operator's label for a key: empty, or a text of at most 100 characters, at least one of them visible and none a
/// control character.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyLabel(ShortText);

impl KeyLabel {
    /// Takes the text, trimmed; it may be empty.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        match parse_name(text) {
            Ok(text) => Ok(Self(ShortText::new(text))),
            Err(TextError::Empty) => Ok(Self(ShortText::new(""))),
            Err(error) => Err(error),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for KeyLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A key as a store keeps it: everything but the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its id.
    pub id: KeyId,
    /// The account that owns it.
    pub account: AccountId,
    /// The digest of the secret.
    pub digest: KeyDigest,
    /// The first characters of the secret.
    pub prefix: KeyPrefix,
    /// The operator's label for it.
    pub label: KeyLabel,
    /// The scopes that the key grants.
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: Timestamp,
    /// The expiry of the key, if it has one. A successor gets a lifetime of the same length.
    pub expires_at: Option<Timestamp>,
    /// The end of the key's overlap with a successor, if the key was rotated. It is kept apart from `expires_at`,
    /// because a further successor gets the lifetime that `expires_at` gives, and that must not be the length of the
    /// overlap.
    pub replaced_until: Option<Timestamp>,
    /// When an operator revoked it.
    pub revoked_at: Option<Timestamp>,
    /// Its last ban, in force or over.
    pub ban: Option<Ban>,
    /// The time at which an operator last lifted the key's ban. A ban that began at or before this time is void, even
    /// if it is recorded after the lift.
    pub ban_lifted_at: Option<Timestamp>,
}

/// The reason why an existing key is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// An operator revoked it.
    #[error("the key has been revoked")]
    Revoked,
    /// It has expired.
    #[error("the key has expired")]
    Expired,
}

impl KeyFault {
    /// Returns the fault of a key at a time, if it has one.
    pub fn of(is_revoked: bool, valid_until: Option<Timestamp>, now: Timestamp) -> Option<Self> {
        if is_revoked {
            return Some(Self::Revoked);
        }
        valid_until.filter(|end| *end <= now).map(|_| Self::Expired)
    }
}

impl KeyRecord {
    /// Records a ban. Has no effect if the key's ban was lifted or the key was revoked at or after the start of `ban`,
    /// or if the recorded ban outlasts `ban`. So a ban may be recorded late, and more than once.
    pub fn record_ban(&mut self, ban: Ban) {
        let is_revoked = self.revoked_at.is_some_and(|revoked| revoked >= ban.since);
        if !is_revoked && !ban.is_ended_by_lift(self.ban_lifted_at) && ban.outlasts(self.ban) {
            self.ban = Some(ban);
        }
    }

    /// Lifts the key's ban, and voids every ban that has begun and is not recorded yet.
    ///
    /// The recorded time of the lift is later than that of the previous lift, so that a quota store recognises a new
    /// lift. It is never before the start of the recorded ban, which may come from the clock of another node that is
    /// ahead.
    pub fn lift_ban(&mut self, now: Timestamp) {
        let after_last = self.ban_lifted_at.map(|last| last.plus(TICK));
        let start = self.ban.map(|ban| ban.since);
        self.ban_lifted_at = [Some(now), after_last, start].into_iter().flatten().max();
        self.ban = self.ban.map(|ban| ban.lifted(now));
    }

    /// Removes the key's last ban, as if the key had never been banned. Recording the removed ban again has no effect.
    pub fn forget_ban(&mut self) {
        if let Some(ban) = self.ban.take() {
            self.ban_lifted_at = self.ban_lifted_at.max(Some(ban.since));
        }
    }

    /// Returns the time from which the key is not valid, if it has one: the earlier of its expiry and the end of its
    /// overlap with a successor.
    pub fn valid_until(&self) -> Option<Timestamp> {
        [self.expires_at, self.replaced_until].into_iter().flatten().min()
    }

    /// Checks that the key is valid at a time.
    pub fn check(&self, now: Timestamp) -> Result<(), KeyFault> {
        KeyFault::of(self.revoked_at.is_some(), self.valid_until(), now).map_or(Ok(()), Err)
    }
}

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

    #[test]
    fn scopes_are_read_and_written_as_a_list() {
        for list in ["read", "write", "read,write"] {
            assert_eq!(Scopes::parse(list).map(Scopes::as_str), Some(list));
        }
        for list in ["", ",", "admin", "read,admin"] {
            assert_eq!(Scopes::parse(list), None, "{list}");
        }
    }
}
