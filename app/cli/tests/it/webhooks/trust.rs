//! Deliveries over https from a machine that trusts no certificate.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::{ALLOW, id};
use crate::common::{Client, Site, tools};

/// The arguments of the receiver, whose certificate names this machine.
const RECEIVER: [&str; 6] = ["--db", "memory", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];

/// Starts a server that logs into a file, and returns the file.
fn serve(site: &mut Site, variables: &[(&str, &str)]) -> PathBuf {
    let log = site.folder.join("log");
    let mut command = site.command(&ALLOW);
    command.envs(variables.iter().copied()).env_remove("SSL_CERT_DIR");
    command.stdout(Stdio::null()).stderr(File::create(&log).unwrap());
    site.server = Some(command.spawn().unwrap());
    let is_up = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains("serving"))
    });
    assert!(is_up, "the server does not come up: {:?}", std::fs::read_to_string(&log));
    log
}

#[test]
fn without_trusted_certificates_a_delivery_fails_and_the_log_tells_what_to_do() {
    if !tools::can_run("openssl", "version") {
        return;
    }
    let mut receiver = Site::new("webhook-trust-receiver");
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem -out cert.pem \
                 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
    let made = Command::new("openssl")
        .args(words.split_whitespace())
        .current_dir(&receiver.folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    receiver.serve(&RECEIVER, &[]);
    let url = format!("https://127.0.0.1:{}/health", receiver.port);
    let trusted = receiver.folder.join("cert.pem").display().to_string();

    let mut site = Site::new("webhook-trust");
    let empty = site.folder.join("empty.pem").display().to_string();
    std::fs::write(&empty, "").unwrap();
    let key = site.new_key();
    // The receiver accepts no POST at this path, so that its answer shows that its certificate was accepted.
    for (certificates, error) in [(&empty, "tls_failed"), (&trusted, "status")] {
        let log = serve(&mut site, &[("PETSTORE_INITIAL_KEY", &key), ("SSL_CERT_FILE", certificates)]);
        let mut client = Client::connect(site.port, &key).unwrap();
        let mut ask = |path: &str, body: &Value| -> Value {
            let answer = client.ask("POST", path, "", &body.to_string()).unwrap();
            assert!((200..300).contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
            serde_json::from_str(&answer.body).unwrap()
        };
        let webhook = id(&ask("/v1/webhooks", &json!({ "url": url })));
        for _ in 0..2 {
            let attempt = ask(&format!("/v1/webhooks/{webhook}/test"), &json!({}));
            assert_eq!(attempt["error"], error, "{certificates}: {attempt}");
        }
        site.stop();
        let log = std::fs::read_to_string(log).unwrap();
        let told = "webhooks over https are not delivered: no trusted certificate was found";
        assert_eq!(log.matches(told).count(), usize::from(error == "tls_failed"), "{log}");
        let remedy = "name a file of them (PEM) in SSL_CERT_FILE, or in --webhook-ca, and restart";
        assert_eq!(log.contains(remedy), error == "tls_failed", "{log}");
    }
}
