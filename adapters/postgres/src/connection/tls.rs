//! Encryption of connections, and the verification of the server's certificate.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};

/// The conditions under which a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    /// Never.
    Never,
    /// If the server offers it.
    IfOffered(Verification),
    /// Always: a server without TLS is refused.
    Always(Verification),
}

/// The extent to which the server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verification {
    /// Any certificate is accepted.
    Nothing,
    /// A trusted issuer must have issued it, for whatever host.
    Issuer,
    /// A trusted issuer must have issued it for the host of the URL.
    Full,
}

/// Returns the configuration of a TLS client. Without verification the roots are not used.
pub(super) fn client_config(
    verification: Verification,
    provider: Arc<CryptoProvider>,
    roots: RootCertStore,
) -> Result<ClientConfig, Error> {
    let config =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let issuers = match verification {
        Verification::Full => return Ok(config.with_root_certificates(roots).with_no_client_auth()),
        Verification::Nothing => None,
        Verification::Issuer => {
            let verifier =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            Some(verifier.build().map_err(|error| Error::Other(OtherError(Arc::new(error))))?)
        }
    };
    let verifier = Arc::new(AnyName { issuers, provider });
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Accepts a certificate for any host. The server must still prove that it has the key of the certificate.
#[derive(Debug)]
struct AnyName {
    /// The verifier of the issuers (`sslmode=verify-ca`). None accepts the certificates of any issuer (`sslmode=require` and
    /// `prefer`).
    issuers: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        cert: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(issuers) = &self.issuers else { return Ok(ServerCertVerified::assertion()) };
        // The verifier compares the name last. So this error means that the issuers and the dates are accepted.
        match issuers.verify_server_cert(cert, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
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
