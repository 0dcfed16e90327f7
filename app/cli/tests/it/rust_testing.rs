//! The crate for tests in Rust, with this binary as its petstore.

#[path = "../../../testing/tests/api/checks.rs"]
mod checks;

use std::time::Duration;

use petstore_testing::{Builder, Petstore, TestingError};

use crate::common::BINARY;

fn builder() -> Builder {
    Petstore::builder().binary(BINARY)
}

#[tokio::test]
async fn the_program_does_all_that_the_interface_promises() {
    checks::everything(builder()).await;
}

#[tokio::test]
async fn the_program_tells_what_its_clients_did() {
    checks::observation(builder()).await;
}

#[tokio::test]
async fn the_program_ends_with_its_value() {
    checks::end(builder()).await;
}

#[tokio::test]
async fn flags_act_and_a_wrong_one_is_reported_as_the_program_reports_it() {
    let shop = builder().flag("--base-path=/shop").start().await.unwrap();
    assert!(shop.url().ends_with("/shop"), "{}", shop.url());
    shop.reset().await.unwrap();
    let started = builder().flag("--no-such-flag").start().await;
    let Err(TestingError::Start(why)) = started else { panic!("{started:?}") };
    assert!(why.contains("--no-such-flag") && why.contains("exit status: 2"), "{why}");
    let started = builder().business(0, 1).start().await;
    assert!(
        matches!(&started, Err(TestingError::Start(why)) if why.starts_with("business: ")),
        "{started:?}"
    );
}

/// The first test of a file starts as fast as the others, so that a test may have a petstore for itself.
#[tokio::test]
async fn ten_programs_start_and_stop_in_little_time() {
    let begun = tokio::time::Instant::now();
    for _ in 0..10 {
        builder().demo(100).start().await.unwrap().stop().await.unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
