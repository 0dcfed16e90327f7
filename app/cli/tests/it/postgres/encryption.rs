//! Encrypted connections to a database.

use std::fs;
use std::path::Path;
use std::process::Command;

use petstore_test_servers::Postgres;

use super::printed;
use crate::common::{Site, tools};

fn openssl(folder: &Path, args: &str) {
    let done = Command::new("openssl").args(args.split(' ')).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{args}: {}", printed(&done));
}

/// A cluster that requires TLS and a password. The certificate of its server is for `localhost`. In the folder,
/// `ca.pem` is the certificate of the issuer, and `other.pem` is that of another issuer.
fn encrypted(site: &Site) -> Option<Postgres> {
    if !tools::can_run("openssl", "version") {
        return None;
    }
    let folder = &site.folder;
    let own = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    for (issuer, name) in [("ca", "issuer"), ("other", "other-issuer")] {
        openssl(
            folder,
            &format!("req -x509 {own} -days 2 -keyout {issuer}.key -out {issuer}.pem -subj /CN={name}"),
        );
    }
    openssl(folder, &format!("req {own} -keyout server.key -out server.csr -subj /CN=localhost"));
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(
        folder,
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days 2 -out server.pem -extfile names",
    );
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let builder =
        Postgres::builder().setting("ssl", "on").access("hostssl all all 127.0.0.1/32 scram-sha-256");
    let builder = builder.file("server.crt", &read("server.pem")).file("server.key", &read("server.key"));
    let cluster = builder.start()?;
    cluster.sql("create role guarded login superuser password 'secret'");
    Some(cluster)
}

#[test]
fn the_certificate_is_verified_as_far_as_the_url_says() {
    let site = Site::new("encryption");
    let Some(cluster) = encrypted(&site) else { return };
    let check = |host: &str, parameters: &str| {
        let url = format!("postgres://guarded:secret@{host}:{}/petstore?{parameters}", cluster.port());
        let mut command = site.command(&["check-config", "--db", &url]);
        command.env("SSL_CERT_FILE", site.folder.join("other.pem")).env_remove("SSL_CERT_DIR");
        command.output().unwrap()
    };
    let succeeds = |host: &str, parameters: &str, shown: &str| {
        let output = check(host, parameters);
        assert!(
            output.status.success() && printed(&output).contains(shown),
            "{parameters}: {}",
            printed(&output)
        );
    };
    let fails = |host: &str, parameters: &str, named: &str| {
        let output = check(host, parameters);
        assert!(
            !output.status.success() && printed(&output).contains(named),
            "{parameters}: {}",
            printed(&output)
        );
    };
    succeeds("localhost", "sslrootcert=ca.pem", "TLS, the certificate and its host verified");
    succeeds(
        "localhost",
        "sslmode=verify-full&sslrootcert=ca.pem",
        "TLS, the certificate and its host verified",
    );
    fails("127.0.0.1", "sslrootcert=ca.pem", "not valid for name");
    fails("localhost", "sslrootcert=other.pem", "UnknownIssuer");
    // The certificates of the system, which do not have the issuer.
    fails("localhost", "sslmode=verify-full", "UnknownIssuer");
    fails("localhost", "sslmode=verify-full&sslrootcert=nowhere.pem", "nowhere.pem cannot be read");
    succeeds(
        "127.0.0.1",
        "sslmode=verify-ca&sslrootcert=ca.pem",
        "sslmode=verify-ca: the certificate of PostgreSQL may be",
    );
    fails("127.0.0.1", "sslmode=verify-ca&sslrootcert=other.pem", "UnknownIssuer");
    succeeds(
        "127.0.0.1",
        "sslmode=require",
        "sslmode=require: the certificate of PostgreSQL is not verified",
    );
    succeeds(
        "127.0.0.1",
        "sslmode=prefer",
        "sslmode=prefer: the connection to PostgreSQL may be unencrypted",
    );
    // Without TLS the access rules refuse the connection.
    fails("127.0.0.1", "sslmode=disable", "no encryption");
    fails("127.0.0.1", "schema=petstore", "no encryption");
    // The password is bound to the certificate that the client has seen.
    succeeds("127.0.0.1", "sslmode=require&channel_binding=require", "TLS without verification");
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_required() {
    let Some(server) = Postgres::shared() else { return };
    let site = Site::new("no-tls");
    for mode in ["require", "verify-full"] {
        let output = site.run(&["check-config", "--db", &format!("{}?sslmode={mode}", server.url())]);
        assert!(
            !output.status.success() && printed(&output).contains("server does not support TLS"),
            "{}",
            printed(&output)
        );
    }
}
