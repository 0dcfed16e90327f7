//! The certificates that the system trusts, read at the first connection that needs them.
//!
//! A server without webhooks to https never reads them, so its start does not pay for it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::client::system_roots;
use super::provider;
use crate::failure::Failure;

/// Returns the configuration of a client that checks the server's certificate against the certificates that the system
/// trusts. `if_missing` is called once with the reason if there are none; then every check fails.
pub(crate) fn verifying_later(
    if_missing: impl Fn(&str) + Send + Sync + 'static,
) -> Result<ClientConfig, Failure> {
    let provider = provider();
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::because(format!("cannot use TLS: {error}")))?;
    let roots = LazyRoots { provider, if_missing: Box::new(if_missing), verifier: OnceLock::new() };
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(roots)).with_no_client_auth())
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
            let made = read.and_then(|roots| self.over(roots));
            made.inspect_err(|why| (self.if_missing)(why)).ok()
        });
        verifier.as_deref()
    }

    fn over(&self, roots: RootCertStore) -> Result<Arc<WebPkiServerVerifier>, String> {
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider));
        builder.build().map_err(|error| error.to_string())
    }
}

impl fmt::Debug for LazyRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LazyRoots")
    }
}

impl ServerCertVerifier for LazyRoots {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let verifier = self.verifier().ok_or(unknown)?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
