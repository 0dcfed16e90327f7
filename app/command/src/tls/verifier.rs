//! A verifier with its own rule for certificates, and the provider's check of signatures.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

/// A certificate that a server presents.
pub(super) struct Presented<'a> {
    pub(super) certificate: &'a CertificateDer<'a>,
    pub(super) intermediates: &'a [CertificateDer<'a>],
    pub(super) server_name: &'a ServerName<'a>,
    pub(super) ocsp_response: &'a [u8],
    pub(super) now: UnixTime,
}

/// A rule that accepts or refuses the certificate of a server.
pub(super) trait CertificateRule: Send + Sync + 'static {
    fn verify(&self, presented: &Presented<'_>) -> Result<ServerCertVerified, Error>;
}

/// Returns the configuration of a client that checks certificates by this rule. In any case the server must prove that it
/// has the key of its certificate.
pub(super) fn client_config(
    provider: Arc<CryptoProvider>,
    rule: impl CertificateRule,
) -> Result<ClientConfig, Error> {
    let config =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let verifier = Arc::new(RuleVerifier { rule, provider });
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

struct RuleVerifier<R> {
    rule: R,
    provider: Arc<CryptoProvider>,
}

impl<R> fmt::Debug for RuleVerifier<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleVerifier").finish_non_exhaustive()
    }
}

impl<R: CertificateRule> ServerCertVerifier for RuleVerifier<R> {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.rule.verify(&Presented { certificate, intermediates, server_name, ocsp_response, now })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
