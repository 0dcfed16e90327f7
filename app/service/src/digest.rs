//! SHA-256 digests of API keys and of request bodies.

use petstore_domain::{ApiKey, Fingerprint, KeyDigest};
use sha2::{Digest, Sha256};

pub(crate) fn of_key(key: &ApiKey) -> KeyDigest {
    KeyDigest(Sha256::digest(key.as_bytes()).into())
}

pub(crate) fn of_body(body: &[u8]) -> Fingerprint {
    Fingerprint(Sha256::digest(body).into())
}
