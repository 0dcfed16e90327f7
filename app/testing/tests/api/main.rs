//! A petstore in the process of its test. The tests of the program `petstore` are in its crate, with the same checks.

mod baselines;
mod checks;
mod scopes;

use petstore_testing::{Petstore, TestingError};

#[tokio::test]
async fn a_petstore_in_this_process_does_all_that_the_interface_promises() {
    checks::everything(Petstore::builder()).await;
}

#[tokio::test]
async fn a_petstore_in_this_process_tells_what_its_clients_did() {
    checks::observation(Petstore::builder()).await;
}

#[tokio::test]
async fn a_petstore_in_this_process_ends_with_its_value() {
    checks::end(Petstore::builder()).await;
}

/// Each test has a separate runtime, and a petstore may be shared by all of them.
#[test]
fn a_petstore_outlives_the_runtime_that_started_it() {
    let run = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let shop = run().block_on(Petstore::start()).unwrap();
    run().block_on(async {
        shop.reset().await.unwrap();
        assert!(!shop.clock().read().await.unwrap().frozen);
    });
}

/// The clock of a paused runtime jumps to the next time limit while a test waits for an answer.
#[tokio::test(start_paused = true)]
async fn a_test_with_a_paused_clock_reaches_the_petstore() {
    let shop = Petstore::start().await.unwrap();
    shop.clock().advance(std::time::Duration::from_secs(1)).await.unwrap();
    shop.reset().await.unwrap();
    assert_eq!(shop.pid(), None);
}

#[tokio::test]
async fn a_wrong_setting_is_named() {
    let started = Petstore::builder().pro(0, 10).start().await;
    let Err(TestingError::Start(why)) = started else { panic!("{started:?}") };
    assert_eq!(why, "pro: a limit is a number from 1 to 2147483647, not 0");
    let started = Petstore::builder().flag("--require-if-match").start().await;
    let Err(TestingError::Start(why)) = started else { panic!("{started:?}") };
    assert!(why.contains("Builder::binary"), "{why}");
    let started = Petstore::builder().binary("/nowhere/petstore").start().await;
    let Err(TestingError::Start(why)) = started else { panic!("{started:?}") };
    assert!(why.contains("cannot run /nowhere/petstore"), "{why}");
}

/// The documents are those of the server, because tests compare a client with them.
#[tokio::test]
async fn the_contract_is_served() {
    let shop = Petstore::start().await.unwrap();
    let url = format!("{}/openapi.yaml", shop.url().trim_end_matches("/v1"));
    let served = tokio::task::spawn_blocking(move || {
        ureq::get(url).call().unwrap().body_mut().read_to_string().unwrap()
    });
    assert_eq!(served.await.unwrap(), petstore_contract::YAML);
}

#[tokio::test]
async fn a_petstore_in_this_process_begins_with_a_shop_of_ones_own() {
    baselines::baseline("in-process", Petstore::builder()).await;
}
