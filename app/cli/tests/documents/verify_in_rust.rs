//! The example in Rust of the page about webhooks.

#[expect(unreachable_pub, reason = "it is the text of a page")]
#[path = "verify.rs"]
mod verify;

use verify::verify;

use crate::common::page;

const PAGE: &str = include_str!("../../../../docs/webhooks.md");

#[test]
fn the_page_has_the_check_that_is_compiled() {
    let blocks = page::split(PAGE).0;
    let block = blocks.iter().find(|block| block.kind == "rust verify.rs").expect("a block");
    assert_eq!(block.text, include_str!("verify.rs"));
}

/// The example of Standard Webhooks.
#[test]
fn a_signature_is_valid_for_its_secret_its_body_and_five_minutes() {
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    const BODY: &[u8] = b"{\"test\": 2432232314}";
    let check =
        |secret, timestamp, signatures: &str, body, now| verify(secret, ID, timestamp, signatures, body, now);
    assert!(check(SECRET, "1614265330", SIGNATURE, BODY, 1_614_265_330));
    assert!(check(SECRET, "1614265330", &format!("v1,AAAA {SIGNATURE}"), BODY, 1_614_265_630));
    assert!(!check(SECRET, "1614265330", SIGNATURE, BODY, 1_614_265_631), "too old");
    assert!(!check(SECRET, "1614265330", SIGNATURE, b"{}", 1_614_265_330), "another body");
    assert!(!check(SECRET, "1614265331", SIGNATURE, BODY, 1_614_265_330), "another time");
    assert!(!check("whsec_AAAA", "1614265330", SIGNATURE, BODY, 1_614_265_330), "another secret");
    assert!(!check(SECRET, "soon", SIGNATURE, BODY, 1_614_265_330));
}
