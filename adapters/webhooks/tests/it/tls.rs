//! Certificates: only a valid one for the name is accepted.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use petstore_domain::AttemptError::TlsFailed;
use petstore_webhooks::HttpCourier;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::AsyncWriteExt as _;
use tokio_rustls::TlsAcceptor;

use crate::receiver::{Noon, PATIENT, Receiver, Scripted, check, policy, read_request, tls};
use crate::skips;

/// A folder with an authority and the certificates that it issues.
struct Authority(PathBuf);

impl Authority {
    /// Makes an authority with openssl; none if it is not installed.
    fn make(test: &str) -> Option<Self> {
        if Command::new("openssl").arg("version").output().is_err() {
            skips::skip("openssl is not installed");
            return None;
        }
        let folder =
            std::env::temp_dir().join(format!("petstore-webhooks-tls-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let made = Self(folder);
        made.openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=ca");
        Some(made)
    }

    fn openssl(&self, args: &str) {
        let done = Command::new("openssl").args(args.split(' ')).current_dir(&self.0).output().unwrap();
        assert!(done.status.success(), "{args}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Issues a certificate for a name, valid for this many days; a negative number has expired.
    fn issue(&self, file: &str, name: &str, days: i32) {
        self.openssl(&format!(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {file}.key -out {file}.csr -subj /CN={name}"
        ));
        std::fs::write(self.0.join("names"), format!("subjectAltName={name}\n")).unwrap();
        self.openssl(&format!(
            "x509 -req -in {file}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days {days} -extfile names -out {file}.pem"
        ));
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.0.join("ca.pem")).unwrap()).unwrap();
        roots
    }

    fn acceptor(&self, file: &str, alpn: &[&[u8]]) -> TlsAcceptor {
        let path = |end: &str| -> PathBuf { Path::new(&self.0).join(format!("{file}.{end}")) };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let chain = vec![CertificateDer::from_pem_file(path("pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(path("key")).unwrap();
        let mut config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn receiver(acceptor: TlsAcceptor) -> Receiver {
    Receiver::start(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            while read_request(&mut stream).await.is_some() {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            }
        }
    })
    .await
}

fn trusting(roots: RootCertStore) -> HttpCourier {
    let (policy, resolver) = (policy(&["127.0.0.1"]), Scripted::new(&[&["127.0.0.1"]]));
    HttpCourier::new(policy, tls(roots), resolver, Arc::new(Noon), PATIENT, "petstore/test")
}

#[tokio::test]
async fn a_certificate_is_checked_for_its_issuer_its_name_and_its_dates() {
    let (Some(authority), Some(other)) = (Authority::make("own"), Authority::make("other")) else { return };
    authority.issue("good", "DNS:hooks.example", 2);
    authority.issue("address", "IP:127.0.0.1", 2);
    authority.issue("expired", "DNS:hooks.example", -1);
    for (file, host, roots, error) in [
        ("good", "hooks.example", authority.roots(), None),
        ("good", "Hooks.Example.", authority.roots(), None),
        ("address", "127.0.0.1", authority.roots(), None),
        ("good", "hooks.example", other.roots(), Some(TlsFailed)),
        ("good", "hooks.example", RootCertStore::empty(), Some(TlsFailed)),
        ("good", "other.example", authority.roots(), Some(TlsFailed)),
        ("good", "127.0.0.1", authority.roots(), Some(TlsFailed)),
        ("expired", "hooks.example", authority.roots(), Some(TlsFailed)),
    ] {
        let receiver = receiver(authority.acceptor(file, &[])).await;
        let url = format!("https://{host}:{}/", receiver.address.port());
        check(&trusting(roots), &url, error, error.is_none().then_some(200)).await;
    }
}

#[tokio::test]
async fn a_receiver_that_speaks_http_2_only_fails_the_handshake() {
    let Some(authority) = Authority::make("alpn") else { return };
    authority.issue("good", "DNS:hooks.example", 2);
    for (alpn, error) in [(&[&b"h2"[..]][..], Some(TlsFailed)), (&[b"h2", b"http/1.1"], None)] {
        let receiver = receiver(authority.acceptor("good", alpn)).await;
        let url = format!("https://hooks.example:{}/", receiver.address.port());
        check(&trusting(authority.roots()), &url, error, error.is_none().then_some(200)).await;
    }
}
