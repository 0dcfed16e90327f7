//! The libraries of Standard Webhooks for Rust, JavaScript and Python check our signatures.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_ports::{Entropy, SignatureVerdict, SignedRequest, Signer as _, StoreError, WebhookSecret};
use petstore_webhooks::HmacSigner;

use crate::skips;

const ID: &str = "evt_0000000000000000000001";
const BODY: &str = r#"{"id":"evt_0000000000000000000001","data":{"name":"Zoë 🐇"}}"#;

struct Fixed;

impl Entropy for Fixed {
    fn bits(&self) -> Result<[u8; 32], StoreError> {
        Ok([0xa5; 32])
    }
}

/// A request, and a secret of its receiver.
struct Case {
    name: &'static str,
    secret: WebhookSecret,
    timestamp: u64,
    signature: String,
    body: &'static str,
    is_valid: bool,
}

/// Signed requests: valid ones, ones with two signatures during a rotation, and ones with a mistake each.
fn cases(now: u64) -> Vec<Case> {
    let signer = HmacSigner::in_memory(Arc::new(Fixed));
    signer.prepare().unwrap();
    let [old, new, other] = [1, 2, 3].map(|generation| signer.secret(&[7; 32], generation).unwrap());
    let sign = |secrets: &[&WebhookSecret], seconds: u64| {
        let secrets: Vec<_> = secrets.iter().map(|secret| (*secret).clone()).collect();
        let sent_at = Timestamp::EPOCH.plus(Duration::from_millis(seconds * 1_000 + 999));
        signer.sign_request(&secrets, ID, sent_at, BODY.as_bytes())
    };
    let case = |name, secret: &WebhookSecret, signers: &[&WebhookSecret], timestamp, body, is_valid| Case {
        name,
        secret: secret.clone(),
        timestamp,
        signature: sign(signers, timestamp),
        body,
        is_valid,
    };
    vec![
        case("one secret", &old, &[&old], now, BODY, true),
        case("the new secret in a rotation", &new, &[&new, &old], now, BODY, true),
        case("the old secret in a rotation", &old, &[&new, &old], now, BODY, true),
        case("the old secret after a rotation", &old, &[&new], now, BODY, false),
        case("another secret", &other, &[&new, &old], now, BODY, false),
        case("another body", &old, &[&old], now, "{}", false),
        case("an old request", &old, &[&old], now - 302, BODY, false),
        case("a request of the future", &old, &[&old], now + 360, BODY, false),
    ]
}

#[expect(clippy::disallowed_methods, reason = "the libraries read the machine's clock")]
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn our_own_check_and_the_library_for_rust_agree() {
    let now = now();
    let signer = HmacSigner::in_memory(Arc::new(Fixed));
    for case in cases(now) {
        let timestamp = case.timestamp.to_string();
        let request = SignedRequest {
            id: Some(ID),
            timestamp: Some(&timestamp),
            signature: Some(&case.signature),
            body: case.body.as_bytes(),
        };
        let at = Timestamp::EPOCH.plus(Duration::from_secs(now));
        let verdict = signer.verify(std::slice::from_ref(&case.secret), request, at);
        assert_eq!(verdict == SignatureVerdict::Valid, case.is_valid, "{}: {verdict}", case.name);

        let mut headers = hyper::HeaderMap::new();
        headers.insert("webhook-id", ID.parse().unwrap());
        headers.insert("webhook-timestamp", timestamp.parse().unwrap());
        headers.insert("webhook-signature", case.signature.parse().unwrap());
        let library = standardwebhooks::Webhook::new(case.secret.reveal()).unwrap();
        let judged = library.verify(case.body.as_bytes(), &headers);
        assert_eq!(judged.is_ok(), case.is_valid, "{}: {judged:?}", case.name);
    }
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tools")
}

/// Runs a script for each case.
fn check(program: &Path, script: &Path) {
    for case in cases(now()) {
        let mut command = Command::new(program);
        command.arg(script).args([ID, &case.timestamp.to_string(), &case.signature]);
        command.env("SECRET", case.secret.reveal()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        process.stdin.take().unwrap().write_all(case.body.as_bytes()).unwrap();
        let output = process.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}: {printed}", case.name);
        let expected = if case.is_valid { "valid" } else { "refused: " };
        assert!(printed.starts_with(expected), "{} with {}: {printed}", case.name, script.display());
    }
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/libraries")
}

#[test]
fn the_library_for_python_accepts_what_we_sign() {
    let python = tools().join(".venv/bin/python");
    let has_library = Command::new(&python).args(["-c", "import standardwebhooks"]).output();
    if !has_library.is_ok_and(|output| output.status.success()) {
        return skips::skip("there is no package standardwebhooks for Python");
    }
    check(&python, &scripts().join("check.py"));
}

#[test]
fn the_library_for_javascript_accepts_what_we_sign() {
    let modules = tools().join("node_modules");
    if !modules.join("standardwebhooks").exists() {
        return skips::skip("there is no package standardwebhooks for Node");
    }
    // Node looks for modules beside the script.
    let folder = std::env::temp_dir().join(format!("petstore-webhooks-node-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = folder.join("check.mjs");
    std::fs::copy(scripts().join("check.mjs"), &script).unwrap();
    let _ =
        petstore_test_servers::system::symlink(modules.canonicalize().unwrap(), folder.join("node_modules"));
    check(Path::new("node"), &script);
    std::fs::remove_dir_all(&folder).unwrap();
}
