//! The certificate and its key: read at the start and at each reload.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use petstore_domain::Timestamp;
use petstore_shop_lines::bytes_without_mark;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, Error, InconsistentKeys, RootCertStore, ServerConfig};

use crate::failure::Failure;
use crate::settings::{Loaded, Reading, ServeArgs};
use crate::text_file::FileBound;

pub(crate) mod client;
pub(crate) mod lazy_roots;

/// The maximum size of a file with certificates or a key.
const PEM_MAX: FileBound = FileBound { bytes: 1024 * 1024, content: "certificates or a key (PEM)" };

/// The provider of cryptography. It is passed explicitly, because no default is installed.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Reads the certificate and the key that the settings name; none without TLS.
pub(crate) fn read(
    args: &ServeArgs,
    loaded: &Loaded,
    reading: Reading,
) -> Result<Option<(Files, CertifiedKey)>, Failure> {
    let Some(files) = Files::of(args) else { return Ok(None) };
    let read = files.read(reading).map_err(|why| {
        Failure::usage(format!("{} and {}: {why}", loaded.named("tls-cert"), loaded.named("tls-key")))
    })?;
    Ok(Some((files, read)))
}

/// The paths of the certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    cert: PathBuf,
    key: PathBuf,
}

impl Files {
    fn of(args: &ServeArgs) -> Option<Self> {
        let (cert, key) = (args.tls_cert.clone()?, args.tls_key.clone()?);
        Some(Self { cert, key })
    }

    fn read(&self, reading: Reading) -> Result<CertifiedKey, String> {
        for file in [&self.cert, &self.key] {
            reading.check(file).map_err(|error| unreadable(file, &pem::Error::Io(error)))?;
        }
        let chain = chain(&self.cert)?;
        let key = key(&self.key)?;
        CertifiedKey::from_der(chain, key, &provider()).map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                format!("{} is not the key of {}", self.key.display(), self.cert.display())
            }
            Error::InvalidCertificate(_) => format!("{} is not a certificate: {error}", self.cert.display()),
            error => format!("{} cannot be used: {error}", self.key.display()),
        })
    }
}

/// Returns a warning for a certificate that has expired or is not yet valid. The certificate is served anyway, because
/// the machine's clock may be wrong.
pub(crate) fn date_warning(files: &Files, read: &CertifiedKey, now: Timestamp) -> Option<String> {
    let parsed = ParsedCertificate::try_from(read.cert.first()?).ok()?;
    let now = UnixTime::since_unix_epoch(Duration::from_millis(now.as_millis().try_into().unwrap_or(0)));
    let algorithms = provider().signature_verification_algorithms.all;
    // The root store is empty, so no issuer is trusted. A certificate with valid dates therefore fails with the error
    // about its issuer, and other certificates fail with the error about their dates.
    let judged =
        verify_server_cert_signed_by_trust_anchor(&parsed, &RootCertStore::empty(), &[], now, algorithms);
    let date = |time: UnixTime| Timestamp::EPOCH.plus(Duration::from_secs(time.as_secs()));
    let why = match judged {
        Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            format!("expired on {}", date(not_after))
        }
        Err(Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. })) => {
            format!("is not valid before {}", date(not_before))
        }
        _ => return None,
    };
    Some(format!("the certificate in {} {why}: clients refuse it", files.cert.display()))
}

fn chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = PEM_MAX.read(file).map_err(|error| unreadable(file, &pem::Error::Io(error)))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match chain.map_err(|error| unreadable(file, &error))? {
        none if none.is_empty() => Err(format!("{} holds no certificate (PEM)", file.display())),
        chain => Ok(chain),
    }
}

fn key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let text = PEM_MAX.read(file).map_err(|error| unreadable(file, &pem::Error::Io(error)))?;
    PrivateKeyDer::from_pem_slice(bytes_without_mark(&text)).map_err(|error| match error {
        // Encrypted keys have two forms. The parser does not recognise the older form, which has header lines before
        // the base64, so the text is searched.
        _ if is_encrypted(&text) => {
            format!("{} is encrypted: remove the passphrase with `openssl pkey`", file.display())
        }
        pem::Error::NoItemsFound => format!("{} holds no private key (PEM)", file.display()),
        error => unreadable(file, &error),
    })
}

/// Returns whether a PEM file holds an encrypted key, in the form of PKCS #8 or in the older one.
fn is_encrypted(text: &[u8]) -> bool {
    let holds = |words: &[u8]| text.windows(words.len()).any(|window| window == words);
    holds(b"BEGIN ENCRYPTED PRIVATE KEY") || holds(b"Proc-Type: 4,ENCRYPTED")
}

fn unreadable(file: &Path, error: &pem::Error) -> String {
    let why: &dyn std::fmt::Display = if let pem::Error::Io(cause) = error { cause } else { error };
    format!("{} cannot be read: {why}", file.display())
}

/// The certificate in force. Each handshake reads it, and a reload replaces it.
#[derive(Debug)]
pub(crate) struct Certificate {
    files: Files,
    in_force: RwLock<Arc<CertifiedKey>>,
}

impl Certificate {
    /// Returns the certificate that was read from these files.
    pub(crate) fn new(files: Files, read: CertifiedKey) -> Arc<Self> {
        Arc::new(Self { files, in_force: RwLock::new(Arc::new(read)) })
    }

    /// Returns whether the certificate was read from these files.
    pub(crate) fn is_from(&self, files: &Files) -> bool {
        self.files == *files
    }

    /// Replaces the certificate for new handshakes. Existing connections keep the old one. Returns whether the two
    /// certificates differ.
    pub(crate) fn replace(&self, new: CertifiedKey) -> bool {
        let old = std::mem::replace(&mut *self.in_force.write(), Arc::new(new));
        old.cert != self.in_force.read().cert
    }

    /// The TLS configuration: TLS 1.3 and 1.2, with the default cipher suites of the library `ring`.
    pub(crate) fn config(self: &Arc<Self>) -> Result<ServerConfig, Error> {
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?;
        Ok(config.with_no_client_auth().with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>))
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.in_force.read()))
    }
}
