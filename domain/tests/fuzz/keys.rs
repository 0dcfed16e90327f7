//! API keys, idempotency keys, ids and scopes.

use petstore_domain::{ApiKey, IdError, IdempotencyKey, KeyPrefix, PetId, Scopes};

use crate::woven::both;

#[test]
fn an_api_key_is_taken_whole_or_not_at_all_and_shows_its_prefix_alone() {
    bolero::check!(name = "api_key").for_each(|input: &[u8]| {
        if let Ok(key) = ApiKey::parse(input) {
            assert_eq!(key.reveal().as_bytes(), input);
        }
        let mut entropy = [0; 32];
        entropy.iter_mut().zip(input).for_each(|(place, byte)| *place = *byte);
        let key = ApiKey::from_entropy(entropy);
        assert_eq!(ApiKey::parse(key.reveal().as_bytes()), Ok(key));
        assert_eq!(check_digits(&key.reveal()[..47]), key.reveal()[47..]);
        assert_eq!(KeyPrefix::parse(key.display_prefix().as_str()), Ok(key.display_prefix()));
        // Debug and display output contain only the prefix.
        let prefix = &key.reveal()[..KeyPrefix::LEN];
        assert_eq!(format!("{key:?} {}", key.display_prefix()), format!("ApiKey({prefix}…) {prefix}"));
        // A key with one wrong byte must be refused.
        if let [.., place, byte] = input {
            let mut wrong = *key.as_bytes();
            wrong[usize::from(*place) % ApiKey::LEN] = *byte;
            assert_eq!(ApiKey::parse(&wrong).is_ok(), wrong == *key.as_bytes());
        }
    });
}

/// Computes the check digits, one bit at a time.
fn check_digits(body: &str) -> String {
    let mut crc = !0_u32;
    for byte in body.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    let digits: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
    (0..6).rev().map(|place| digits[(!crc / 62_u32.pow(place) % 62) as usize]).collect()
}

#[test]
fn an_idempotency_key_is_the_same_bare_and_quoted() {
    const WORDS: &[&str] = &["\"", "\\", " ", "a", "8f14e45f-ceea-467f", "~", "!", "\u{7f}", "é", "\t"];
    bolero::check!(name = "idempotency_key").for_each(|input| {
        both(input, WORDS, |text| {
            let Ok(key) = IdempotencyKey::parse(text) else { return };
            let characters = key.as_str();
            assert!((1..=IdempotencyKey::MAX).contains(&characters.len()));
            assert!(characters.bytes().all(|byte| byte.is_ascii_graphic()));
            assert!(text == characters.as_bytes() || text == format!("\"{characters}\"").as_bytes());
            // A quoted key contains neither a quote nor a backslash.
            let quotable = !characters.contains(['"', '\\']);
            let quoted = IdempotencyKey::parse(format!("\"{characters}\"").as_bytes());
            assert_eq!(
                quoted.as_ref(),
                if quotable { Ok(&key) } else { Err(&petstore_domain::IdempotencyKeyError) }
            );
        });
    });
}

#[test]
fn an_id_is_a_plain_decimal_number() {
    const WORDS: &[&str] =
        &["0", "1", "9", "900719925474099", "18446744073709551615", "+", "-", ".", "e", " ", "١"];
    bolero::check!(name = "id").for_each(|input| {
        both(input, WORDS, |text| {
            let Ok(text) = std::str::from_utf8(text) else { return };
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let expected = if !plain || (text.len() > 1 && text.starts_with('0')) {
                Err(IdError::NotDecimal)
            } else {
                // More than 128 bits are out of range too.
                let number = text.parse::<u128>().unwrap_or(u128::MAX);
                u64::try_from(number).ok().filter(|id| (1..1 << 53).contains(id)).ok_or(IdError::OutOfRange)
            };
            assert_eq!(PetId::parse(text).map(PetId::get), expected, "{text}");
            if let Ok(id) = PetId::parse(text) {
                assert_eq!(id.to_string(), text);
            }
        });
    });
}

#[test]
fn scopes_are_a_list_of_words() {
    const WORDS: &[&str] = &["read", "write", "admin", ",", " ", "READ"];
    bolero::check!(name = "scopes").for_each(|input| {
        both(input, WORDS, |text| {
            let Ok(text) = std::str::from_utf8(text) else { return };
            let scopes = Scopes::parse(text);
            assert_eq!(scopes.map(Scopes::as_str).map(Scopes::parse), scopes.map(Some), "{text}");
            assert!(scopes.is_none_or(|scopes| {
                scopes.read == text.contains("read") && scopes.write == text.contains("write")
            }));
        });
    });
}
