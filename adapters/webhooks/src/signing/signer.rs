//! The signer: derives the secrets of webhooks, and signs requests with them.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::RwLock;
use petstore_domain::{MasterKeyId, Timestamp};
use petstore_ports::{Entropy, SignatureVerdict, SignedRequest, Signer, StoreError, WebhookSecret};

use super::master_key::{MasterKey, MasterKeyError};
use super::signature::{mac, secret_bytes, secret_text, sign};
use super::verify::verify;

/// The text that is signed for the digest of a master key.
const KEY_ID: &[u8] = b"petstore-webhook-key-id";

/// The text before the random bits of a webhook when its secret is derived. Its number changes with the derivation.
const DERIVATION: &[u8] = b"petstore-webhook-1";

/// The place of the master key.
enum Home {
    /// Memory: the key lasts as long as the process, like a store in memory.
    Memory,
    /// A file that is made when the first webhook is created.
    File(PathBuf),
    /// A file that an operator makes, because several servers share the key.
    SharedFile(PathBuf),
    /// No file was named, and the store has none beside it.
    Nowhere,
}

/// Derives secrets from a master key by HMAC-SHA256, and signs with them.
pub struct HmacSigner {
    home: Home,
    entropy: Arc<dyn Entropy>,
    key: RwLock<Option<MasterKey>>,
}

impl HmacSigner {
    /// Returns a signer whose key lasts as long as the process.
    pub fn in_memory(entropy: Arc<dyn Entropy>) -> Self {
        Self { home: Home::Memory, entropy, key: RwLock::new(None) }
    }

    /// Returns a signer with the key in a file. If there is no such file, it is made when the first webhook is created.
    pub fn with_own_file(file: PathBuf, entropy: Arc<dyn Entropy>) -> Self {
        Self { home: Home::File(file), entropy, key: RwLock::new(None) }
    }

    /// Returns a signer with the key in a file that an operator makes. Until the file exists there is no key.
    pub fn with_shared_file(file: PathBuf, entropy: Arc<dyn Entropy>) -> Self {
        Self { home: Home::SharedFile(file), entropy, key: RwLock::new(None) }
    }

    /// Returns a signer that has no key, for a store that several servers share, until an operator names a file.
    pub fn without_key(entropy: Arc<dyn Entropy>) -> Self {
        Self { home: Home::Nowhere, entropy, key: RwLock::new(None) }
    }

    /// Reads the key file. Returns the digest of its key; none if there is no file yet.
    ///
    /// # Errors
    /// [`MasterKeyError`] if the file is of no use. The signer has no key then.
    pub fn load(&self) -> Result<Option<MasterKeyId>, MasterKeyError> {
        self.reload()?;
        Ok(self.master())
    }

    /// Reads the key file again, and returns whether the key has changed. If the file is missing, the signer keeps its key.
    ///
    /// # Errors
    /// [`MasterKeyError`] if the file is of no use. The signer keeps its key.
    pub fn reload(&self) -> Result<bool, MasterKeyError> {
        let (Home::File(file) | Home::SharedFile(file)) = &self.home else { return Ok(false) };
        let Some(read) = MasterKey::read(file)? else { return Ok(false) };
        let before = self.master();
        *self.key.write() = Some(read);
        Ok(self.master() != before)
    }

    fn make(&self) -> Result<MasterKey, StoreError> {
        let unusable = |error: MasterKeyError| StoreError::unavailable("the webhook key").with_source(error);
        let new = || self.entropy.bits().map(MasterKey::from_entropy);
        match &self.home {
            Home::Memory => new(),
            Home::File(file) => match MasterKey::read(file).map_err(unusable)? {
                Some(key) => Ok(key),
                None => new()?.keep(file).map_err(unusable),
            },
            Home::SharedFile(file) => MasterKey::read(file).map_err(unusable)?.ok_or_else(|| {
                StoreError::unavailable(
                    "the file of the setting webhook-key-file does not exist: make it with `openssl rand -base64 32`, the \
                     same for each server",
                )
            }),
            Home::Nowhere => Err(StoreError::unavailable(
                "webhooks need the setting webhook-key-file: a file made with `openssl rand -base64 32`, the same for each \
                 server",
            )),
        }
    }
}

impl std::fmt::Debug for HmacSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HmacSigner")
    }
}

fn id_of(key: &MasterKey) -> MasterKeyId {
    let digest = mac(key.bytes(), &[KEY_ID]);
    MasterKeyId(*digest.first_chunk().expect("a digest is longer than its beginning"))
}

impl Signer for HmacSigner {
    fn master(&self) -> Option<MasterKeyId> {
        self.key.read().as_ref().map(id_of)
    }

    fn prepare(&self) -> Result<MasterKeyId, StoreError> {
        if let Some(id) = self.master() {
            return Ok(id);
        }
        // The lock is held while the file is written, so that one process makes one key.
        let mut key = self.key.write();
        if key.is_none() {
            *key = Some(self.make()?);
        }
        Ok(key.as_ref().map(id_of).expect("the key was made"))
    }

    fn secret(&self, nonce: &[u8; 32], generation: u32) -> Option<WebhookSecret> {
        let key = self.key.read();
        let bytes = mac(key.as_ref()?.bytes(), &[DERIVATION, nonce, &generation.to_be_bytes()]);
        Some(secret_text(&bytes))
    }

    fn read_secret(&self, text: &str) -> Option<WebhookSecret> {
        secret_bytes(text.trim()).map(|bytes| secret_text(&bytes))
    }

    fn sign_request(
        &self,
        secrets: &[WebhookSecret],
        event_id: &str,
        sent_at: Timestamp,
        body: &[u8],
    ) -> String {
        let timestamp = sent_at.as_millis().div_euclid(1_000).to_string();
        let keys = secrets.iter().filter_map(|secret| secret_bytes(secret.reveal()));
        let signatures: Vec<_> = keys.map(|key| sign(&key, event_id, &timestamp, body)).collect();
        signatures.join(" ")
    }

    fn verify(
        &self,
        secrets: &[WebhookSecret],
        request: SignedRequest<'_>,
        now: Timestamp,
    ) -> SignatureVerdict {
        verify(secrets, request, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u8);

    impl Entropy for Fixed {
        fn bits(&self) -> Result<[u8; 32], StoreError> {
            Ok([self.0; 32])
        }
    }

    #[test]
    fn secrets_depend_on_the_master_key_the_webhook_and_the_generation() {
        let [one, other] = [1, 2].map(|seed| HmacSigner::in_memory(Arc::new(Fixed(seed))));
        assert_eq!((one.master(), one.secret(&[0; 32], 1)), (None, None), "before the first webhook");
        let id = one.prepare().unwrap();
        assert_eq!((one.prepare().unwrap(), one.master()), (id, Some(id)));
        assert_ne!(other.prepare().unwrap(), id);
        let secrets = [
            one.secret(&[0; 32], 1),
            one.secret(&[0; 32], 2),
            one.secret(&[1; 32], 1),
            other.secret(&[0; 32], 1),
        ];
        for (index, secret) in secrets.iter().enumerate() {
            assert!(!secrets[..index].contains(secret), "{index}");
        }
        assert_eq!(one.secret(&[0; 32], 1), secrets[0]);
        // Existing webhooks keep their secrets, so the derivation never changes.
        assert_eq!(
            secrets[0].as_ref().unwrap().reveal(),
            "whsec_6Z5j2N/U1f4R1QT1PMbiZFPidsxCyCsX0oQ2OJwtMAc="
        );
    }

    #[test]
    fn no_debug_text_shows_a_secret() {
        let signer = HmacSigner::in_memory(Arc::new(Fixed(1)));
        signer.prepare().unwrap();
        let secret = signer.secret(&[0; 32], 1).unwrap();
        let shown = format!("{signer:?} {secret:?} {:?}", MasterKey::from_entropy([1; 32]));
        assert_eq!(shown, "HmacSigner WebhookSecret(…) MasterKey(…)");
    }

    #[test]
    fn a_rotation_signs_with_both_secrets_the_new_one_first() {
        let signer = HmacSigner::in_memory(Arc::new(Fixed(1)));
        signer.prepare().unwrap();
        let [old, new] = [1, 2].map(|generation| signer.secret(&[0; 32], generation).unwrap());
        let at = Timestamp::EPOCH.plus(std::time::Duration::from_millis(1_700_000_000_999));
        let of = |secrets: &[WebhookSecret]| signer.sign_request(secrets, "evt_1", at, b"{}");
        let both = of(&[new.clone(), old.clone()]);
        assert_eq!(both, format!("{} {}", of(&[new]), of(&[old])));
    }

    #[test]
    fn several_servers_need_a_file_that_an_operator_has_made() {
        let entropy = || Arc::new(Fixed(1));
        let error = HmacSigner::without_key(entropy()).prepare().unwrap_err();
        assert!(error.to_string().contains("webhook-key-file"), "{error}");
        let missing = std::env::temp_dir().join("petstore-no-such-webhook-key");
        let signer = HmacSigner::with_shared_file(missing.clone(), entropy());
        assert_eq!(signer.load().unwrap(), None);
        assert!(signer.prepare().unwrap_err().to_string().contains("webhook-key-file"));
        assert!(!missing.exists() && signer.master().is_none());
    }
}
