//! Names: every address is judged, and the connection is made to a judged one.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::AttemptError::{AddressRefused, DnsFailed};
use petstore_domain::{AccountId, TargetPolicy};
use petstore_ports::Reply;
use petstore_webhooks::{CourierLimits, Resolver};

use crate::receiver::{HASTY, PATIENT, Receiver, Scripted, check, courier_with, policy};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn an_attempt_resolves_once_and_connects_to_the_judged_address() {
    // One address is permitted, and another one of the same machine is not.
    let receiver = Receiver::answering(OK).await;
    let port = receiver.address.port();
    let forbidden = Receiver::start_at(&format!("127.0.0.9:{port}"), |stream| async { drop(stream) }).await;
    let resolver = Scripted::new(&[&["127.0.0.1"], &["127.0.0.9"], &["127.0.0.1"]]);
    let courier = courier_with(policy(&["127.0.0.1"]), Arc::clone(&resolver) as Arc<dyn Resolver>, PATIENT);
    let url = format!("http://rebinding.example:{port}/");
    for (asked, error, status) in
        [(1, None, Some(200)), (2, Some(AddressRefused), None), (3, None, Some(200))]
    {
        check(&courier, &url, error, status).await;
        assert_eq!(resolver.asked(), asked);
    }
    assert_eq!(forbidden.connections(), 0);
}

#[tokio::test]
async fn one_forbidden_address_among_permitted_ones_refuses_the_attempt() {
    let receiver = Receiver::answering(OK).await;
    let url = format!("http://mixed.example:{}/", receiver.address.port());
    for addresses in [
        &["127.0.0.1", "10.0.0.1"][..],
        &["10.0.0.1", "127.0.0.1"],
        &["127.0.0.1", "::ffff:169.254.169.254"],
        &["127.0.0.1", "64:ff9b::a00:1"],
        &["127.0.0.1", "fe80::1"],
        &["127.0.0.1", "0.0.0.0"],
    ] {
        let courier = courier_with(policy(&["127.0.0.1"]), Scripted::new(&[addresses]), PATIENT);
        check(&courier, &url, Some(AddressRefused), None).await;
    }
    let hundred: Vec<_> = (0..100).map(|_| "127.0.0.1").collect();
    let mut with_one_forbidden = hundred.clone();
    with_one_forbidden[99] = "192.168.0.1";
    for (addresses, error) in [(hundred, None), (with_one_forbidden, Some(AddressRefused))] {
        let courier = courier_with(policy(&["127.0.0.1"]), Scripted::new(&[&addresses]), PATIENT);
        check(&courier, &url, error, error.is_none().then_some(200)).await;
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn no_spelling_of_a_private_address_is_connected_to() {
    let receiver = Receiver::answering(OK).await;
    let port = receiver.address.port();
    let courier = courier_with(TargetPolicy::default(), Scripted::new(&[&["127.0.0.1"]]), PATIENT);
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[0:0:0:0:0:ffff:7f00:0001]",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "user@127.0.0.1",
        "public.example@127.0.0.1",
    ] {
        for scheme in ["http", "https"] {
            check(&courier, &format!("{scheme}://{host}:{port}/"), Some(AddressRefused), None).await;
        }
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn the_first_address_that_answers_is_used() {
    let receiver = Receiver::answering(OK).await;
    let url = format!("http://several.example:{}/", receiver.address.port());
    let resolver = Scripted::new(&[&["127.0.0.8", "::1", "127.0.0.1"]]);
    check(&courier_with(policy(&["127.0.0.0/8", "::1"]), resolver, PATIENT), &url, None, Some(200)).await;
}

#[tokio::test]
async fn a_name_without_an_address_is_told_from_a_refusal() {
    struct Failing;
    impl Resolver for Failing {
        fn resolve(&self, _: &str, _: Option<AccountId>) -> Reply<io::Result<Vec<IpAddr>>> {
            Reply::now(Err(io::Error::other("no such name")))
        }
    }
    struct Silent;
    impl Resolver for Silent {
        fn resolve(&self, _: &str, _: Option<AccountId>) -> Reply<io::Result<Vec<IpAddr>>> {
            Reply::later(std::future::pending())
        }
    }
    let limits = CourierLimits { resolve: Duration::from_millis(50), ..HASTY };
    for resolver in [Arc::new(Failing) as Arc<dyn Resolver>, Arc::new(Silent), Scripted::new(&[&[]])] {
        let courier = courier_with(TargetPolicy::default(), resolver, limits);
        check(&courier, "https://a.example/", Some(DnsFailed), None).await;
    }
}

#[tokio::test]
async fn a_connection_to_a_listener_of_the_server_is_not_used() {
    let receiver = Receiver::answering(OK).await;
    let port = receiver.address.port();
    let of_all = format!("0.0.0.0:{port}").parse().unwrap();
    let own = policy(&["127.0.0.0/8"]).without_listeners([of_all]);
    let courier = courier_with(own, Scripted::new(&[&["127.0.0.1"]]), PATIENT);
    check(&courier, &format!("http://hooks.example:{port}/"), Some(AddressRefused), None).await;
    assert_eq!(receiver.connections(), 0);
}
