//! The certificates that the system trusts, read at the first connection that needs them.
//!
//! A server without webhooks to https never reads them, so they do not delay its start.

use std::sync::{Arc, OnceLock};

use petstore_remote_connection::{CertificateRule, Presented, client_config_by};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::{CertificateError, ClientConfig, Error, RootCertStore};

use super::client::{system_roots, unusable};
use super::provider;
use crate::failure::Failure;

/// Returns the configuration of a client that checks the server's certificate against the certificates that the system
/// trusts. `if_missing` is called once with the reason if there are none; then every check fails.
pub(crate) fn verifying_later(
    if_missing: impl Fn(&str) + Send + Sync + 'static,
) -> Result<ClientConfig, Failure> {
    let provider = provider();
    let roots = LazyRoots {
        provider: Arc::clone(&provider),
        if_missing: Box::new(if_missing),
        verifier: OnceLock::new(),
    };
    client_config_by(provider, roots).map_err(|error| unusable(&error))
}

struct LazyRoots {
    provider: Arc<CryptoProvider>,
    if_missing: Box<dyn Fn(&str) + Send + Sync>,
    /// The verifier; none if the system trusts no certificate.
    verifier: OnceLock<Option<Arc<WebPkiServerVerifier>>>,
}

impl LazyRoots {
    fn verifier(&self) -> Option<&WebPkiServerVerifier> {
        let verifier = self.verifier.get_or_init(|| {
            let read = system_roots().map_err(|failure| failure.message);
            let built = read.and_then(|roots| self.verifier_of(roots));
            built.inspect_err(|why| (self.if_missing)(why)).ok()
        });
        verifier.as_deref()
    }

    fn verifier_of(&self, roots: RootCertStore) -> Result<Arc<WebPkiServerVerifier>, String> {
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider));
        builder.build().map_err(|error| error.to_string())
    }
}

impl CertificateRule for LazyRoots {
    fn verify(&self, presented: &Presented<'_>) -> Result<ServerCertVerified, Error> {
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let verifier = self.verifier().ok_or(unknown)?;
        let Presented { certificate, intermediates, server_name, ocsp_response, now } = presented;
        verifier.verify_server_cert(certificate, intermediates, server_name, ocsp_response, *now)
    }
}
