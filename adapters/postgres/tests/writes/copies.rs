//! Tables that were copied row by row: state that such a copy lacks is found at the start.

use petstore_domain::{CategoryId, CreatePet, EventFilter, NewPet, PetId, PetName};
use petstore_ports::{EventQuery, EventRead, EventReader, SortDirection, StoreErrorKind};
use petstore_postgres::{OpenError, Options, PostgresStore, Target, examine};
use petstore_test_servers::{PgBouncer, Postgres};

use crate::shop::{Shop, block_on};

/// The number of events that a handle reads.
fn events(shop: &Shop<'_>) -> usize {
    let all = EventQuery {
        epoch: None,
        order: SortDirection::Ascending,
        after: None,
        filter: EventFilter::ALL,
        events_max: 1_000,
        positions_max: 10_000,
    };
    let EventRead::Page(page) = block_on(shop.store.read(all)).unwrap() else { panic!("a page") };
    page.events.len()
}

#[test]
fn sequences_that_are_behind_the_tables_are_raised_at_the_start() {
    let Some(shop) = Shop::new() else { return };
    let pet = block_on(shop.add_pet(5));
    let made = events(&shop);
    assert!(made >= 3);
    // A pet that was deleted while it had a completed order.
    shop.sql("insert into orders (id, pet_id, quantity, complete, version) values (7, 40, 1, true, 1)");
    let sequences = ["account_ids", "category_ids", "event_seqs", "key_ids", "order_ids", "pet_ids"];
    for sequence in sequences {
        shop.sql(&format!("select setval('{sequence}', 1, false)"));
    }
    // Numbers that were settled are not given again, even after all batches were dropped.
    shop.sql("update event_log set settled_seq = greatest(settled_seq, 90)");
    let copy = shop.another();
    let notices = copy.store.take_notices();
    let [notice] = &notices[..] else { panic!("{notices:?}") };
    assert!(!notice.is_loss);
    assert!(notice.text.contains("category_ids, event_seqs, order_ids, pet_ids"), "{}", notice.text);
    let next = block_on(copy.add_pet(5));
    assert_eq!((pet, next), (PetId::FIRST, PetId::new(41).unwrap()));
    // There is no second category.
    assert_eq!(events(&copy), 2 * made - 1, "the events of changes after the copy have positions");
    assert!(shop.another().store.take_notices().is_empty(), "the second start finds nothing");
}

#[test]
fn the_row_of_an_event_log_that_is_older_than_the_events_is_brought_up_to_them() {
    let Some(shop) = Shop::new() else { return };
    block_on(shop.add_pet(5));
    let made = events(&shop);
    let Shop { server, schema, store } = shop;
    drop(store);
    let sql = |sql: &str| server.sql(&format!("set search_path = {schema}; {sql}"));
    // The row was copied before the last two batches had positions, and one batch has none yet.
    sql("update event_log set last_position = 1, settled_seq = 1000");
    sql(
        "update event_batches set last_position = null where last_position = (select max(last_position) from event_batches)",
    );
    let store = crate::shop::open(&server.url(), &schema);
    let copy = Shop { server, schema: schema.clone(), store };
    let notices = copy.store.take_notices();
    assert!(notices[0].text.contains("the state of event_seqs, event_log"), "{notices:?}");
    assert_eq!(events(&copy), made);
    block_on(copy.add_pet(5));
    assert_eq!(events(&copy), 2 * made - 1);
}

#[test]
fn events_that_a_copy_lacks_are_counted_as_dropped() {
    for lacked in ["delete from event_batches where last_position = 1", "delete from event_batches"] {
        let Some(shop) = Shop::new() else { return };
        block_on(shop.add_pet(5));
        let made = events(&shop);
        let Shop { server, schema, store } = shop;
        drop(store);
        server.sql(&format!("set search_path = {schema}; {lacked}"));
        let copy = Shop { server, schema: schema.clone(), store: crate::shop::open(&server.url(), &schema) };
        assert!(copy.store.take_notices()[0].text.contains("the state of event_log"));
        assert_eq!(events(&copy), if lacked.contains("where") { made - 1 } else { 0 });
        block_on(copy.add_pet(5));
        assert!(events(&copy) >= 2);
    }
}

/// Opens the shop once more, as a start and as `check-config` do, which must agree.
fn open_again(shop: &Shop<'_>) -> Result<(), OpenError> {
    let options = Options { schema: shop.schema.clone(), seed: 5 };
    let opened = PostgresStore::open(Target::parse(&shop.server.url()).unwrap(), options).map(drop);
    let examined = examine(Target::parse(&shop.server.url_of(&shop.schema)).unwrap()).map(drop);
    assert_eq!(opened.is_ok(), examined.is_ok(), "{examined:?}");
    opened
}

#[test]
fn a_sequence_a_table_or_a_column_that_changes_cannot_rely_on_is_refused_with_the_statement_that_mends_it() {
    let Some(shop) = Shop::new() else { return };
    block_on(shop.add_pet(5));
    for (harm, found) in [
        ("drop sequence order_ids", "the sequence order_ids is missing"),
        ("alter sequence pet_ids cache 20", "the sequence pet_ids does not give one number after the other"),
        ("alter sequence key_ids increment -1 maxvalue 99", "the sequence key_ids does not"),
        ("drop table shop_lock", "the table shop_lock is missing"),
        ("alter table orders set unlogged", "the table orders is unlogged"),
        (
            "alter table event_batches alter seq drop default",
            "the column seq of the table event_batches has no default",
        ),
        ("alter table commits alter at drop default", "the column at of the table commits has no default"),
        (
            "alter table commits alter is_undone drop default",
            "the column is_undone of the table commits has no default",
        ),
    ] {
        shop.sql(harm);
        let why = open_again(&shop).unwrap_err().to_string();
        assert!(why.contains(found), "{why}");
        let (_, remedy) = why.split_once("or execute: ").expect("it names a statement");
        shop.sql(remedy);
        open_again(&shop).unwrap();
        block_on(shop.add_pet(5));
    }
}

#[test]
fn a_table_without_a_unique_index_is_refused_by_name() {
    let Some(shop) = Shop::new() else { return };
    let open = || open_again(&shop);
    shop.sql("alter table keys drop constraint keys_digest_key; create index on keys (digest)");
    let why = open().unwrap_err().to_string();
    assert!(why.contains("the table keys has no unique index on (digest)"), "{why}");
    shop.sql("create unique index on keys (digest) where id > 5");
    assert!(open().is_err(), "an index of a part of the rows is not enough");
    shop.sql("create unique index on keys (digest)");
    open().unwrap();
    shop.sql("alter table idempotency_counts drop constraint idempotency_counts_pkey");
    let why = open().unwrap_err().to_string();
    assert!(why.contains("idempotency_counts has no unique index on (account_id,slot)"), "{why}");
}

#[test]
fn a_table_without_its_row_is_refused_by_name() {
    for table in ["event_log", "key_changes", "shop", "webhook_changes"] {
        let Some(shop) = Shop::new() else { return };
        shop.sql(&format!("delete from {table}"));
        let target = || Target::parse(&shop.server.url_of(&shop.schema)).unwrap();
        let opened = PostgresStore::open(target(), Options { schema: shop.schema.clone(), seed: 8 });
        for why in
            [opened.map(drop).unwrap_err().to_string(), examine(target()).map(drop).unwrap_err().to_string()]
        {
            assert!(
                why.contains(&format!("{table}: the row is missing")) || why.contains("has no row"),
                "{why}"
            );
        }
    }
}

#[test]
fn a_column_that_is_missing_or_has_another_type_is_refused_with_its_name() {
    for (table, column, kind) in [
        ("pets", "stock", None),
        ("orders", "ship_date", None),
        ("keys", "prefix", None),
        ("event_log", "bytes", None),
        ("shop", "is_synchronous", None),
        ("nodes", "settings", None),
        ("webhook_deliveries", "log", None),
        ("categories", "version", Some("numeric")),
    ] {
        let Some(shop) = Shop::new() else { return };
        let (harm, found) = match kind {
            None => (format!("drop column {column} cascade"), "is missing".to_owned()),
            Some(kind) => (format!("alter column {column} type {kind}"), format!("has the type {kind}")),
        };
        shop.sql(&format!("alter table {table} {harm}"));
        let why = open_again(&shop).unwrap_err().to_string();
        assert!(why.contains(&format!("the column {column} of the table {table} {found}")), "{why}");
        assert!(why.contains(&format!("alter table {table} ")), "{why}");
    }
}

#[test]
fn a_trigger_or_rule_that_may_drop_a_change_without_an_error_is_refused() {
    let Some(shop) = Shop::new() else { return };
    shop.sql(
        "create function nothing() returns trigger language plpgsql as $$ begin return null; end $$;
         create trigger audit after insert or update on pets for each row execute function nothing();
         create trigger statements before insert on pets for each statement execute function nothing()",
    );
    open_again(&shop).unwrap();
    for (added, found, remedy) in [
        (
            "create trigger drops before insert on orders for each row execute function nothing()",
            "the trigger drops of the table orders",
            "alter table orders disable trigger drops",
        ),
        (
            "create rule drops as on update to pets do instead nothing",
            "the rule drops of the table pets",
            "drop rule drops on pets",
        ),
    ] {
        shop.sql(added);
        let why = open_again(&shop).unwrap_err().to_string();
        assert!(why.contains(found) && why.ends_with(&format!("execute: {remedy}")), "{why}");
        shop.sql(remedy);
        open_again(&shop).unwrap();
    }
}

#[test]
fn a_pooler_in_statement_mode_is_refused_at_the_start_whether_statements_are_prepared_or_not() {
    let Some(server) = Postgres::start() else { return };
    let Some(pooler) = PgBouncer::start_in("statement", &server, 3) else { return };
    for is_prepared in [true, false] {
        let schema = server.new_schema();
        let mut target = Target::parse(&pooler.url_of(&schema)).unwrap();
        target.set_prepares(is_prepared);
        let opened = PostgresStore::open(target.clone(), Options { schema, seed: 6 });
        for why in
            [opened.map(drop).unwrap_err().to_string(), examine(target).map(drop).unwrap_err().to_string()]
        {
            assert!(why.contains("statement mode") && why.contains("pg-prepare off"), "{why}");
        }
    }
}

#[test]
fn a_pooler_in_transaction_mode_is_refused_at_the_start() {
    let Some(server) = Postgres::start() else { return };
    for connections in [1, 3] {
        let Some(pooler) = PgBouncer::start(&server, connections) else { return };
        let schema = server.new_schema();
        let target = || Target::parse(&pooler.url_of(&schema)).unwrap();
        let opened = PostgresStore::open(target(), Options { schema: schema.clone(), seed: 6 });
        for why in [opened.unwrap_err().to_string(), examine(target()).unwrap_err().to_string()] {
            assert!(why.contains("transaction mode") && why.contains("set pg-prepare to off"), "{why}");
        }
        assert_eq!(server.sql(&format!("select to_regnamespace('{schema}')")), "");
        // The refused start leaves no setting on the connections of other clients.
        for _ in 0..10 {
            let kept = "select current_setting('search_path'), current_setting('enable_seqscan')";
            assert_eq!(server.psql(&pooler.url(), kept).unwrap(), "\"$user\", public\ton");
        }
        let mut unprepared = target();
        unprepared.set_prepares(false);
        examine(unprepared.clone()).unwrap();
        PostgresStore::open(unprepared, Options { schema, seed: 7 }).unwrap();
    }
}

#[test]
fn a_missing_privilege_is_no_damage() {
    let Some(shop) = Shop::new() else { return };
    let role = format!("{}_limited", shop.schema);
    shop.sql(&format!(
        "create role {role} login; grant usage on schema {schema} to {role}; \
         grant all on all tables in schema {schema} to {role}; grant all on all sequences in schema {schema} to {role}",
        schema = shop.schema
    ));
    let url = format!("postgres://{role}@127.0.0.1:{}/petstore", shop.server.port());
    let store = crate::shop::open(&url, &shop.schema);
    let limited = Shop { server: shop.server, schema: shop.schema.clone(), store };
    block_on(limited.add_pet(5));
    shop.sql(&format!("revoke insert on pets from {role}"));
    let new = NewPet::new(PetName::parse("Rex").unwrap(), CategoryId::FIRST);
    let error = block_on(limited.run(CreatePet { new })).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(error.report().contains("permission denied for table pets"), "{}", error.report());
}

#[test]
fn what_others_forbid_or_rename_is_no_damage() {
    let Some(shop) = Shop::new() else { return };
    block_on(shop.add_pet(5));
    shop.sql(
        "create function forbid() returns trigger language plpgsql as $$ begin raise exception 'closed today'; end $$; \
         create trigger forbid before insert on pets for each row execute function forbid()",
    );
    let create = || CreatePet { new: NewPet::new(PetName::parse("Rex").unwrap(), CategoryId::FIRST) };
    let error = block_on(shop.run(create())).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", error.report());
    assert!(error.report().contains("closed today"), "{}", error.report());
    shop.sql("drop trigger forbid on pets; alter table pets rename to animals");
    let error = block_on(shop.run(create())).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{}", error.report());
    shop.sql("alter table animals rename to pets");
    block_on(shop.run(create())).unwrap().unwrap();
}
