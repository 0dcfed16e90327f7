//! HMAC-SHA256, and secrets and signatures as text (Standard Webhooks 1.0).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use petstore_ports::WebhookSecret;
use sha2::Sha256;

/// The prefix of a secret.
const SECRET_PREFIX: &str = "whsec_";

/// The version of the signatures: HMAC-SHA256.
pub(super) const VERSION: &str = "v1";

/// The bounds of the length of a secret in bytes (Standard Webhooks).
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Returns the HMAC-SHA256 of the parts, as one text.
pub(super) fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    keyed(key, parts).finalize().into_bytes().into()
}

fn keyed(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac
}

/// The parts of the signed text: `id.timestamp.body`.
fn signed<'a>(id: &'a str, timestamp: &'a str, body: &'a [u8]) -> [&'a [u8]; 5] {
    [id.as_bytes(), b".", timestamp.as_bytes(), b".", body]
}

/// Returns the signature of a request, as `v1,` and base64.
pub(super) fn sign(key: &[u8], id: &str, timestamp: &str, body: &[u8]) -> String {
    format!("{VERSION},{}", STANDARD.encode(mac(key, &signed(id, timestamp, body))))
}

/// Returns whether one of the signatures is that of a request. The comparison takes the same time for each signature.
pub(super) fn is_signed(signatures: &[Vec<u8>], key: &[u8], id: &str, timestamp: &str, body: &[u8]) -> bool {
    let mac = keyed(key, &signed(id, timestamp, body));
    signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok())
}

/// Returns the signatures of the version `v1` in a header, as bytes.
pub(super) fn signatures(header: &str) -> Vec<Vec<u8>> {
    let of_version = header.split(' ').filter_map(|signature| signature.strip_prefix("v1,"));
    of_version.filter_map(|base64| STANDARD.decode(base64).ok()).collect()
}

/// Returns the text of a secret.
pub(super) fn secret_text(bytes: &[u8]) -> WebhookSecret {
    WebhookSecret::from_text(format!("{SECRET_PREFIX}{}", STANDARD.encode(bytes)))
}

/// Returns the bytes of a secret: 24 to 64. The prefix may be missing, as in the libraries of Standard Webhooks.
pub(super) fn secret_bytes(text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text.strip_prefix(SECRET_PREFIX).unwrap_or(text)).ok()?;
    SECRET_BYTES.contains(&bytes.len()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification and of its Rust library.
    const VECTORS: [(&str, &str, &str, &str, &str); 2] = [
        (
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            "{\"test\": 2432232314}",
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        ),
        (
            "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
            "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
            "1649367553",
            "{\"email\":\"test@example.com\",\"username\":\"test_user\"}",
            "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
        ),
    ];

    #[test]
    fn the_signatures_are_those_of_standard_webhooks() {
        for (secret, id, timestamp, body, expected) in VECTORS {
            let key = secret_bytes(secret).unwrap();
            assert_eq!(sign(&key, id, timestamp, body.as_bytes()), expected);
            let received = signatures(&format!("v1a,xxxx v1,AAAA {expected} v2,{}", &expected[3..]));
            assert_eq!(received.len(), 2);
            assert!(is_signed(&received, &key, id, timestamp, body.as_bytes()));
            assert!(!is_signed(&received, &key, id, timestamp, b"{}"));
            assert!(!is_signed(&received, &key, id, "1", body.as_bytes()));
            assert!(!is_signed(&received, &key, "msg_", timestamp, body.as_bytes()));
            assert!(
                !is_signed(&received[..1], &key, id, timestamp, body.as_bytes()),
                "a part of a signature"
            );
        }
    }

    #[test]
    fn secrets_parse_back_and_other_texts_are_refused() {
        for length in [24, 32, 64] {
            let bytes = vec![7; length];
            let secret = secret_text(&bytes);
            assert_eq!(secret_bytes(secret.reveal()), Some(bytes.clone()));
            assert_eq!(secret_bytes(&secret.reveal()[SECRET_PREFIX.len()..]), Some(bytes));
        }
        let short = secret_text(&[7; 23]);
        for text in ["", "whsec_", "whsec_ä", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", short.reveal()] {
            assert_eq!(secret_bytes(text), None, "{text}");
        }
    }
}
