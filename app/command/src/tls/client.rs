//! TLS clients of commands. One of them checks the certificate of the server; the client of the health check does not.

use std::path::Path;

use petstore_remote_connection::{Roots, Verification, client_config};
use rustls::{ClientConfig, Error, RootCertStore};

use super::{chain, provider};
use crate::failure::Failure;

/// Returns the configuration of a client that checks the server's certificate against the certificates that the system
/// trusts, or against the certificates in SSL_CERT_FILE and SSL_CERT_DIR.
pub(crate) fn verifying() -> Result<ClientConfig, Failure> {
    trusting(system_roots()?)
}

/// Returns the configuration of a client that checks the server's certificate against these certificates.
pub(crate) fn trusting(roots: RootCertStore) -> Result<ClientConfig, Failure> {
    client_config(Verification::Full, provider(), roots).map_err(|error| unusable(&error))
}

/// The failure of a configuration.
pub(crate) fn unusable(error: &Error) -> Failure {
    Failure::because(format!("cannot use TLS: {error}"))
}

/// Returns the certificates from this source. `setting`: the name of the setting that names a file.
pub(crate) fn roots(source: Roots<'_>, setting: &str) -> Result<RootCertStore, Failure> {
    match source {
        Roots::NotNeeded => Ok(RootCertStore::empty()),
        Roots::System => system_roots(),
        Roots::File(file) => roots_in(file).map_err(|why| Failure::usage(format!("{setting}: {why}"))),
    }
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

/// Returns the configuration of a client that checks no certificate. A health check of a server on this machine sends no
/// secret, and could not check the certificate anyway, because the certificate is issued for the public name and not for this
/// address. The file may also hold a renewed certificate that the server has not loaded yet.
pub(crate) fn trusting_any() -> Result<ClientConfig, Failure> {
    client_config(Verification::Nothing, provider(), RootCertStore::empty()).map_err(|error| unusable(&error))
}
