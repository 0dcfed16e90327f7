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
    let verifier: Arc<dyn ServerCertVerifier> = match verification {
        Verification::Full => return Ok(config.with_root_certificates(roots).with_no_client_auth()),
        Verification::Nothing => Arc::new(AnyCertificate(provider)),
        Verification::Issuer => {
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
            let verifier = verifier.map_err(|error| Error::Other(OtherError(Arc::new(error))))?;
            Arc::new(AnyName(verifier))
        }
    };
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Accepts any certificate (`sslmode=require` and `prefer`).
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Accepts a certificate of a trusted issuer for any host (`sslmode=verify-ca`).
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        cert: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The verifier compares the name last. So this error means that the issuers and the dates are accepted.
        match self.0.verify_server_cert(cert, intermediates, name, ocsp, now) {
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
        self.0.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
