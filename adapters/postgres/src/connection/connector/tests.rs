use std::io;
use std::net::{IpAddr, TcpListener};

use async_trait::async_trait;
use petstore_test_servers::Postgres;

use super::*;

/// A resolver whose answer the test changes.
#[derive(Clone)]
struct Changing(Arc<Mutex<Vec<IpAddr>>>);

#[async_trait]
impl Names for Changing {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(self.0.lock().clone())
    }
}

/// An address on which the server of the tests does not listen.
const OTHER: &str = "127.0.0.2";

/// A connector to the server of the tests by a name, and the addresses of the name.
fn by_name(server: &Postgres, addresses: &[&str]) -> (Connector, Changing) {
    let names = Changing(Arc::default());
    names.set(addresses);
    let url = format!("postgres://petstore@db.example:{}/petstore?sslmode=disable", server.port());
    let target = Target::parse(&url).unwrap();
    (Connector::with_names(target, 7, Box::new(names.clone())), names)
}

impl Changing {
    fn set(&self, addresses: &[&str]) {
        *self.0.lock() = addresses.iter().map(|address| address.parse().unwrap()).collect();
    }
}

#[tokio::test]
async fn the_next_attempt_follows_a_name_to_its_new_address() {
    let Some(server) = Postgres::shared() else { return };
    let (connector, names) = by_name(server, &[OTHER]);
    assert!(connector.connect(Role::Writer).await.is_err(), "the old address has no server");
    names.set(&["127.0.0.1"]);
    connector.connect(Role::Writer).await.unwrap();
}

#[tokio::test]
async fn connections_to_the_old_address_of_a_name_are_given_up() {
    let Some(server) = Postgres::shared() else { return };
    let (connector, names) = by_name(server, &["127.0.0.1"]);
    let session = connector.connect(Role::Reader).await.unwrap();
    connector.connect(Role::Reader).await.unwrap();
    assert!(!session.is_closed(), "the address is the same");
    names.set(&["::ffff:127.0.0.1"]);
    connector.connect(Role::Reader).await.unwrap();
    assert!(session.is_closed(), "the name has another address");
}

#[tokio::test]
async fn an_address_that_says_nothing_leaves_time_for_the_other_ones() {
    let Some(server) = Postgres::shared() else { return };
    let _silent = TcpListener::bind((OTHER, server.port())).unwrap();
    let (connector, _) = by_name(server, &[OTHER, "127.0.0.1"]);
    connector.connect(Role::Writer).await.unwrap();
}

#[tokio::test]
async fn a_name_without_an_address_is_reported() {
    let Some(server) = Postgres::shared() else { return };
    let (connector, _) = by_name(server, &[]);
    let failure = connector.connect(Role::Writer).await.err().unwrap();
    assert_eq!(failure.message(), NO_ADDRESS);
}
