//! Credentials in memory: dropped after a change, and not used when changes may have been missed.

use std::time::Duration;

use petstore_domain::{KeyDigest, KeyId};
use petstore_ports::{KeyLookup, KeyReader, StoreErrorKind};
use petstore_test_servers::{Postgres, Stop};

use crate::common::{Shop, runtime};

const NAMES: [KeyLookup; 2] = [KeyLookup::Id(KeyId::FIRST), KeyLookup::Digest(KeyDigest([7; 32]))];

fn add_key(shop: &Shop<'_>) {
    shop.sql(
        r"insert into accounts values (1, 'Zoo', 'zoo', 'free', null, null, '2030-01-01');
          insert into keys (id, account_id, digest, prefix, label, scopes, created_at)
          values (1, 1, decode(repeat('07', 32), 'hex'), 'pet_01234567', '', 'read,write', '2030-01-01');
          update key_changes set number = number + 1",
    );
}

/// Reads the key until it comes from memory.
async fn warm(store: &petstore_postgres::PostgresStore, name: KeyLookup) {
    loop {
        let reply = store.credential(name);
        if reply.ready().is_some() {
            return;
        }
        reply.await.expect("the server runs").expect("the key is there");
    }
}

#[test]
fn a_key_is_read_from_memory_until_it_changes() {
    let Some(shop) = Shop::shared() else { return };
    let store = shop.open();
    add_key(&shop);
    runtime().block_on(async {
        for name in NAMES {
            warm(&store, name).await;
        }
        shop.sql("update keys set revoked_at = '2030-01-02'; update key_changes set number = number + 1");
        let changed = async {
            for name in NAMES {
                while !store
                    .credential(name)
                    .await
                    .expect("the server runs")
                    .expect("the key is there")
                    .revoked
                {
                    tokio::task::yield_now().await;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(1), changed)
            .await
            .expect("a change is visible within a second");
    });
}

#[test]
fn a_key_in_memory_is_not_used_when_changes_may_have_been_missed_for_a_second() {
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::on(&server);
    let store = shop.open();
    add_key(&shop);
    runtime().block_on(async {
        warm(&store, NAMES[0]).await;
        server.stop(Stop::Immediate);
        // The last check was less than a second ago. The clock is paused and set beyond that.
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(2)).await;
        let error = store.credential(NAMES[0]).await.expect_err("no server");
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        tokio::time::resume();
        server.start_again();
        while store.credential(NAMES[0]).await.is_err() {
            tokio::task::yield_now().await;
        }
    });
}
