//! Tests of the statements' plans. After a table has grown and the plans are made again, rows are found by the index of
//! their key, whatever the statistics say. Rows are locked in the order of their ids.

use std::collections::BTreeSet;

use petstore_domain::{
    AccountId, AccountName, CategoryId, CategoryName, Change, IdempotencyId, IdempotencyKey,
    IdempotencyScope, KeyId, OrderId, PetId, RecordRef,
};
use petstore_test_servers::Postgres;
use tokio::time::Instant;

use super::absence;
use super::begin::Plans;
use super::decide::Decisions;
use super::net_changes::NetChanges;
use super::reconnect::Open;
use super::statement::Texts;
use super::wanted::{Locking, Wanted};
use crate::connection::{Connector, Role, Target};
use crate::{Options, PostgresStore};

/// Tables that have grown since their statistics were made.
const GROWN: &str = "
    analyze categories, pets, orders, accounts, keys, idempotency_records, webhooks;
    insert into categories select n, 'Cat ' || n, 'cat ' || n, null, 1, 0 from generate_series(1, 3000) as n;
    insert into pets select n, 'Rex', 'rex', 1, 'available', 1, 5, 1, 0 from generate_series(1, 3000) as n;
    insert into orders select n, n, 1, null, false, 1 from generate_series(1, 3000) as n;
    insert into accounts select n, 'Zoo ' || n, 'zoo ' || n, 'free', null, null, now() from generate_series(1, 3000) as n;
    insert into keys select n, n, sha256(n::text::bytea), 'pet_abcdefgh', '', 'read', now()
        from generate_series(1, 3000) as n;
    insert into idempotency_records select n, 'place_order', 'key', sha256(''), '{}', now()
        from generate_series(1, 3000) as n;
    insert into webhooks select n, '[]' from generate_series(1, 3000) as n;
    discard plans";

/// A connection with the settings of a writer, on a new schema; none after the test was reported as skipped.
#[track_caller]
fn writer() -> Option<(tokio::runtime::Runtime, Open)> {
    let server = Postgres::shared()?;
    let target = Target::parse(&server.url()).expect("a URL");
    let schema = server.new_schema();
    drop(PostgresStore::open(target.clone(), Options { schema: schema.clone(), seed: 7 }).expect("a store"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let connector = Connector::new(target.with_schema(&schema), 7);
    let session = runtime.block_on(connector.connect(Role::Writer)).expect("the server runs");
    Some((runtime, Open { session, texts: Texts::default(), plans: Plans::new(Instant::now()) }))
}

/// The generic plan of a statement with so many parameters.
async fn plan(open: &Open, sql: &str, parameters: usize) -> String {
    open.session.batch(&format!("prepare statement as {sql}")).await.expect("it is prepared");
    let values = vec!["null"; parameters].join(", ");
    let explain = format!("explain (costs off) execute statement({values})");
    let messages = open.session.simple_query(&explain).await.expect("it is explained");
    open.session.batch("deallocate statement").await.expect("it is prepared");
    let line = |message: &tokio_postgres::SimpleQueryMessage| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

fn references() -> BTreeSet<RecordRef> {
    let (scope, key) = (IdempotencyScope::PlaceOrder, IdempotencyKey::parse(b"key").unwrap());
    BTreeSet::from([
        RecordRef::Pet(PetId::FIRST),
        RecordRef::Category(CategoryId::FIRST),
        RecordRef::CategoryName(CategoryName::parse("Dogs").unwrap().folded()),
        RecordRef::Order(OrderId::FIRST),
        RecordRef::Account(AccountId::FIRST),
        RecordRef::AccountName(AccountName::parse("Zoo").unwrap().folded()),
        RecordRef::Key(KeyId::FIRST),
        RecordRef::Idempotency(IdempotencyId { account: AccountId::FIRST, scope, key }),
        Change::WebhooksDeleted(AccountId::FIRST).record(),
    ])
}

/// Panics if the plan reads rows that are not asked for.
#[track_caller]
fn assert_by_index(plan: &str) {
    for step in ["Seq Scan", "Hash Join", "Merge Join", "Filter"] {
        assert!(!plan.contains(step), "{step}\n{plan}");
    }
}

#[test]
fn rows_are_found_by_an_index_and_locked_after_they_were_sorted() {
    let Some((runtime, open)) = writer() else { return };
    let all = references();
    let is_name = |one: &&RecordRef| matches!(one, RecordRef::CategoryName(_) | RecordRef::AccountName(_));
    let (wanted, by_id) = (Wanted::of(all.iter()), Wanted::of(all.iter().filter(|one| !is_name(one))));
    runtime.block_on(async {
        open.session.batch(GROWN).await.expect("the rows are valid");
        for read in wanted.reads(Locking::Rows).into_iter().chain(by_id.reads(Locking::Rows)) {
            let plan = plan(&open, &read.sql, read.parameters.len()).await;
            assert!(plan.starts_with("LockRows"), "{plan}");
            // A bitmap scan does not return rows in the order of their ids, so the rows must be sorted before they are
            // locked.
            assert!(plan.contains("Sort") || !plan.contains("Bitmap"), "{plan}");
            assert_by_index(&plan);
        }
    });
}

#[test]
fn absent_records_and_written_rows_are_found_by_an_index() {
    let Some((runtime, open)) = writer() else { return };
    let decisions = Decisions::default();
    let all = Texts::full().statement(&NetChanges::default(), &decisions, [0; 16], 0);
    runtime.block_on(async {
        open.session.batch(GROWN).await.expect("the rows are valid");
        for (sql, parameters) in [(absence::SQL, 11), (&*all.sql, all.parameters().len())] {
            // This filter is allowed: it is the condition on the parameter of `key_changes`, a table with one row.
            let plan = plan(&open, sql, parameters).await.replace("One-Time Filter", "");
            assert_by_index(&plan);
            for index in ["pets_pkey", "categories_pkey", "orders_pkey", "accounts_pkey", "keys_pkey"] {
                assert!(plan.contains(index), "{index}\n{plan}");
            }
            for index in ["idempotency_records_pkey", "webhooks_pkey"] {
                assert!(plan.contains(index), "{index}\n{plan}");
            }
        }
    });
}
