use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Returns whether the body was signed with the secret, at most 5 minutes before or after `now`, in seconds since 1970.
pub fn verify(secret: &str, id: &str, timestamp: &str, signatures: &str, body: &[u8], now: u64) -> bool {
    let key = STANDARD.decode(secret.trim_start_matches("whsec_"));
    let (Ok(sent_at), Ok(key)) = (timestamp.parse::<u64>(), key) else { return false };
    let Ok(mac) = Hmac::<Sha256>::new_from_slice(&key) else { return false };
    let mac = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body);
    let is_expected = |signature: &str| {
        let received = signature.strip_prefix("v1,").and_then(|base64| STANDARD.decode(base64).ok());
        received.is_some_and(|received| mac.clone().verify_slice(&received).is_ok())
    };
    now.abs_diff(sent_at) <= 300 && signatures.split(' ').any(is_expected)
}
