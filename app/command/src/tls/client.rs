//! TLS clients of commands. One of them checks the certificate of the server; the client of the health check does not.

use std::net::{IpAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::ServerCertVerified;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Error, RootCertStore, StreamOwned};

use super::verifier::{CertificateRule, Presented, client_config};
use super::{chain, provider};
use crate::failure::Failure;

/// Returns the configuration of a client that checks the server's certificate against the certificates that the system
/// trusts, or against the certificates in SSL_CERT_FILE and SSL_CERT_DIR.
pub(crate) fn verifying() -> Result<ClientConfig, Failure> {
    trusting(system_roots()?)
}

/// Returns the configuration of a client that checks the server's certificate against these certificates.
pub(crate) fn trusting(roots: RootCertStore) -> Result<ClientConfig, Failure> {
    let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = config.map_err(|error| Failure::because(format!("cannot use TLS: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Returns the certificates that the system trusts. If SSL_CERT_FILE or SSL_CERT_DIR is set, returns the certificates
/// there instead.
pub(crate) fn system_roots() -> Result<RootCertStore, Failure> {
    let trusted = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted.certs);
    if roots.is_empty() {
        let why = trusted.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        return Err(Failure::because(format!(
            "no trusted certificate was found{why}; name a file of them (PEM) in SSL_CERT_FILE"
        )));
    }
    Ok(roots)
}

/// Returns the certificates in a file (PEM).
pub(crate) fn roots_in(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(file)? {
        let added = roots.add(certificate);
        added.map_err(|error| format!("{} holds an unusable certificate: {error}", file.display()))?;
    }
    Ok(roots)
}

/// Connects to the server of this machine over TLS, without a check of its certificate.
pub(crate) fn connect(
    stream: TcpStream,
    address: IpAddr,
) -> Result<StreamOwned<ClientConnection, TcpStream>, Error> {
    let config = client_config(provider(), AnyCertificate)?;
    let connection = ClientConnection::new(Arc::new(config), ServerName::IpAddress(address.into()))?;
    Ok(StreamOwned::new(connection, stream))
}

/// Accepts any certificate. The health check sends no secret. It could not check the certificate anyway, because the
/// certificate is issued for the public name and not for this address. The file may also hold a renewed certificate
/// that the server has not loaded yet.
struct AnyCertificate;

impl CertificateRule for AnyCertificate {
    fn verify(&self, _: &Presented<'_>) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
}
