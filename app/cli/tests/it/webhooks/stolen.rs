//! A stolen data file with its backup and export signs nothing.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{ALLOW, Shop, id, secret};
use crate::common::receiver::Receiver;

/// The forms in which a secret could be kept: the bytes, base64, hexadecimal digits, and a digest.
fn forms(name: &str, bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let hex = digits.concat();
    let digest = Sha256::digest(bytes).to_vec();
    vec![
        (format!("{name} as bytes"), bytes.to_vec()),
        (format!("{name} as base64"), STANDARD.encode(bytes).into_bytes()),
        (format!("{name} as hexadecimal digits"), hex.into_bytes()),
        (format!("digest of {name}"), digest),
    ]
}

fn contains(file: &Path, bytes: &[u8]) -> bool {
    fs::read(file).unwrap().windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn no_secret_is_in_the_file_its_log_a_backup_or_an_export() {
    let receiver = Receiver::start(|_| Some(204));
    let mut shop = Shop::open("webhook-stolen", &ALLOW);
    let webhook = shop.webhook(&receiver.url);
    let rotate = format!("/v1/webhooks/{}/rotate", id(&webhook));
    let rotated = shop.get("POST", &rotate, &json!({"overlap": 3600}));
    shop.new_category("Rabbits");
    receiver.wait(1);
    for (command, named) in
        [(["backup", "copy.db"], "keep petstore.db.webhook-key too"), (["export", "shop.ndjson"], "")]
    {
        let output = shop.site.run(&command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.contains(named), "{said}");
    }
    let folder = shop.site.folder.clone();
    let master = fs::read_to_string(folder.join("petstore.db.webhook-key")).unwrap();
    let master = STANDARD.decode(master.trim()).unwrap();
    let mut searched = forms("the master key", &master);
    for (name, webhook) in [("the first secret", &webhook), ("the second secret", &rotated)] {
        let text = secret(webhook);
        searched.extend(forms(name, &STANDARD.decode(text.trim_start_matches("whsec_")).unwrap()));
    }
    let stolen = ["petstore.db", "petstore.db-wal", "copy.db", "shop.ndjson"].map(|name| folder.join(name));
    for file in &stolen {
        for (name, bytes) in &searched {
            assert!(!contains(file, bytes), "{name} is in {}", file.display());
        }
    }
    // The search finds what is there.
    assert!(contains(&stolen[2], receiver.url.as_bytes()), "the webhook is in the backup");

    // A secret that is derived without the master key is another one.
    let guess = Hmac::<Sha256>::new_from_slice(&[0; 32]).unwrap().finalize().into_bytes();
    let guess = format!("whsec_{}", STANDARD.encode(guess));
    assert_eq!(receiver.delivered()[0].signatures_of(&guess), 0);
}
