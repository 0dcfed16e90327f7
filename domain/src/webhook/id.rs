//! Ids of webhooks.

use crate::base62::{self, DIGITS_LEN};

const PREFIX: &str = "whk_";

/// The id of a webhook: `whk_` and the 22 base62 digits of 128 random bits.
///
/// It holds bytes, not a number, whose alignment would enlarge the references to all kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WebhookId([u8; 16]);

/// A text that is not the id of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an id of a webhook: whk_ and 22 letters or digits")]
pub struct WebhookIdError;

impl WebhookId {
    /// The number of characters of an id.
    pub const LEN: usize = PREFIX.len() + DIGITS_LEN;

    /// Returns the id with these random bits.
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits.to_be_bytes())
    }

    /// The random bits, as stores keep the id.
    pub const fn bits(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// Parses an id. The text may be well-formed although no webhook has this id.
    pub fn parse(text: &str) -> Result<Self, WebhookIdError> {
        let digits = text.strip_prefix(PREFIX).ok_or(WebhookIdError)?;
        base62::parse(digits).map(Self::from_bits).ok_or(WebhookIdError)
    }

    /// Parses an id that a client sends. A text in the form of an id that has more than 128 bits becomes the id with all
    /// bits set, which no webhook gets: ids are random.
    pub fn parse_clamped(text: &str) -> Result<Self, WebhookIdError> {
        let digits = text.strip_prefix(PREFIX).ok_or(WebhookIdError)?;
        base62::parse_clamped(digits).map(Self::from_bits).ok_or(WebhookIdError)
    }

    /// The text, as ASCII.
    pub fn to_ascii(self) -> [u8; Self::LEN] {
        let mut text = [b'0'; Self::LEN];
        text[..PREFIX.len()].copy_from_slice(PREFIX.as_bytes());
        text[PREFIX.len()..].copy_from_slice(&base62::digits(self.bits()));
        text
    }
}

impl std::fmt::Display for WebhookId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_ascii()).expect("base62 is ASCII"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_parse_back_and_other_texts_are_refused() {
        for bits in [0, 1, 61, 62, u128::MAX] {
            let id = WebhookId::from_bits(bits);
            assert_eq!(id.to_string().len(), WebhookId::LEN);
            assert_eq!(WebhookId::parse(&id.to_string()), Ok(id));
        }
        for text in ["", "whk_", "whk_0", "evt_0000000000000000000000", "whk_zzzzzzzzzzzzzzzzzzzzzz"] {
            assert_eq!(WebhookId::parse(text), Err(WebhookIdError), "{text}");
        }
        let highest = WebhookId::from_bits(u128::MAX);
        assert_eq!(WebhookId::parse_clamped("whk_zzzzzzzzzzzzzzzzzzzzzz"), Ok(highest));
        assert_eq!(WebhookId::parse_clamped(&highest.to_string()), Ok(highest));
        for text in ["", "whk_", "whk_0", "evt_0000000000000000000000", "whk_zzzzzzzzzzzzzzzzzzzzz-"] {
            assert_eq!(WebhookId::parse_clamped(text), Err(WebhookIdError), "{text}");
        }
    }
}
