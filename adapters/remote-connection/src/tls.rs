//! Clients of TLS, and their verification of a server's certificate.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};

/// The source of the certificates that may issue a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots<'t> {
    /// None: the server's certificate is not verified, or the connection is not encrypted.
    NotNeeded,
    /// The certificates that the system trusts.
    System,
    /// The certificates in this file (PEM).
    File(&'t Path),
}

/// The extent to which a server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Any certificate is accepted.
    Nothing,
    /// A trusted issuer must have issued it, for any host.
    Issuer,
    /// A trusted issuer must have issued it for the host of the URL.
    Full,
}

/// Returns the configuration of a TLS client. Without verification the roots are not used.
pub fn client_config(
    verification: Verification,
    provider: Arc<CryptoProvider>,
    roots: RootCertStore,
) -> Result<ClientConfig, Error> {
    match verification {
        Verification::Full => {
            let config =
                ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
            Ok(config.with_root_certificates(roots).with_no_client_auth())
        }
        Verification::Issuer => {
            let verifier =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            let issuers = verifier.build().map_err(|error| Error::Other(OtherError(Arc::new(error))))?;
            client_config_by(provider, AnyName { issuers: Some(issuers) })
        }
        Verification::Nothing => client_config_by(provider, AnyName { issuers: None }),
    }
}

/// A certificate that a server presents.
#[derive(Debug)]
pub struct Presented<'a> {
    /// The server's own certificate.
    pub certificate: &'a CertificateDer<'a>,
    /// The certificates between that one and a trusted issuer.
    pub intermediates: &'a [CertificateDer<'a>],
    /// The host that the client wants to reach.
    pub server_name: &'a ServerName<'a>,
    /// The issuer's answer about the state of the certificate; empty if the server sends none.
    pub ocsp_response: &'a [u8],
    /// The time at which the certificate must be valid.
    pub now: UnixTime,
}

/// A rule that accepts or refuses the certificate of a server.
pub trait CertificateRule: Send + Sync + 'static {
    /// Accepts or refuses a certificate.
    fn verify(&self, presented: &Presented<'_>) -> Result<ServerCertVerified, Error>;
}

/// Returns the configuration of a client that checks certificates by this rule. In any case the server must prove that it
/// has the key of its certificate.
pub fn client_config_by(
    provider: Arc<CryptoProvider>,
    rule: impl CertificateRule,
) -> Result<ClientConfig, Error> {
    let config =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let verifier = Arc::new(RuleVerifier { rule, provider });
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Accepts a certificate for any host.
struct AnyName {
    /// The verifier of the issuers. None accepts the certificates of any issuer.
    issuers: Option<Arc<WebPkiServerVerifier>>,
}

impl CertificateRule for AnyName {
    fn verify(&self, presented: &Presented<'_>) -> Result<ServerCertVerified, Error> {
        let Some(issuers) = &self.issuers else { return Ok(ServerCertVerified::assertion()) };
        let Presented { certificate, intermediates, server_name, ocsp_response, now } = presented;
        // The verifier compares the name last. So this error means that the issuers and the dates are accepted.
        match issuers.verify_server_cert(certificate, intermediates, server_name, ocsp_response, *now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }
}

/// A verifier with a rule for certificates, and the provider's check of signatures.
struct RuleVerifier<R> {
    rule: R,
    provider: Arc<CryptoProvider>,
}

impl<R> RuleVerifier<R> {
    /// The algorithms of the signatures that a server may make.
    fn algorithms(&self) -> &WebPkiSupportedAlgorithms {
        &self.provider.signature_verification_algorithms
    }
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
        verify_tls12_signature(message, certificate, signature, self.algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, self.algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms().supported_schemes()
    }
}
