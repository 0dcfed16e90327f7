//! The plans of the statements: no page walks a table or an index beyond its rows, whatever the statistics say.

use petstore_domain::{CategoryId, CategoryName, OrderRecord, PetId, PetName, PetRecord, PetStatus};
use petstore_ports::{OrderFilter, PageRequest, PetFilter, SortDirection, StatusSet};
use petstore_test_servers::Postgres;

use super::{orders, pets};
use crate::connection::{Connector, Role, Session, Target};
use crate::idempotency_counts::CountOfAccount;
use crate::keys::{CredentialByDigest, CredentialById};
use crate::queries::Lookup;
use crate::{Options, PostgresStore};

/// Tables whose statistics fit no later state of theirs.
const STATES: [(&str, &str); 3] = [
    ("empty tables", "analyze"),
    (
        "one status and one name",
        "insert into categories select n, 'Cat ' || n, 'cat ' || n, null, 1, 0 from generate_series(1, 9) as n;
         insert into pets select n, 'Rex', 'rex', n % 9 + 1, 'available', 1, 5, 1, 0 from generate_series(1, 3000) as n;
         insert into orders select n, n % 3000 + 1, 1, null, false, 1 from generate_series(1, 3000) as n; analyze",
    ),
    (
        "another status, without new statistics",
        "update pets set status = 'sold', stock = 0 where id % 500 = 0; update orders set complete = true where id % 500 = 0",
    ),
];

/// A connection with the settings of a reader, on a new schema; none after the test was reported as skipped.
#[track_caller]
fn reader() -> Option<(tokio::runtime::Runtime, Session)> {
    let server = Postgres::shared()?;
    let target = Target::parse(&server.url()).expect("a URL");
    let schema = server.new_schema();
    drop(PostgresStore::open(target.clone(), Options { schema: schema.clone(), seed: 7 }).expect("a store"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let connector = Connector::new(target.with_schema(&schema), 7);
    let session = runtime.block_on(connector.connect(Role::Reader)).expect("the server runs");
    Some((runtime, session))
}

/// The plan of a statement with these parameters, with the rows that each step read.
async fn plan(session: &Session, sql: &str, parameters: &str) -> String {
    session.batch(&format!("prepare statement as {sql}")).await.expect("it is prepared");
    let explain = format!("explain (analyze, costs off, timing off) execute statement({parameters})");
    let messages = session.simple_query(&explain).await.expect("it is explained");
    session.batch("deallocate statement").await.expect("it is prepared");
    let line = |message: &tokio_postgres::SimpleQueryMessage| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    messages.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

fn pet_filters() -> Vec<PetFilter> {
    let mut filters = Vec::new();
    for bits in 0..8_u8 {
        let chosen = PetStatus::ALL.into_iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
        let statuses: StatusSet = chosen.map(|(_, status)| status).collect();
        for category_id in [None, Some(CategoryId::FIRST)] {
            for name in [None, Some(PetName::parse("Rex").expect("a name").folded())] {
                filters.push(PetFilter { statuses, category_id, name, ids: None });
            }
        }
    }
    filters
}

/// Panics if a step of the plan reads rows that the page does not need.
fn assert_bounded(plan: &str, case: &str) {
    for step in ["Seq Scan", "Bitmap", "Filter", "Incremental Sort", "Hash", "Materialize"] {
        assert!(!plan.contains(step), "{case}: {step}\n{plan}");
    }
    // The rows of several parts are sorted once, by id.
    let sorts = plan.lines().filter(|line| line.contains("Sort Key")).collect::<Vec<_>>();
    assert!(sorts.len() <= 1 && sorts.iter().all(|line| line.contains("id")), "{case}\n{plan}");
}

#[test]
fn a_page_reads_its_own_rows_only() {
    let Some((runtime, session)) = reader() else { return };
    runtime.block_on(async {
        for (state, sql) in STATES {
            session.batch(sql).await.expect(state);
            for order in [SortDirection::Ascending, SortDirection::Descending] {
                let page = PageRequest { order, after: Some(1_000), limit: 20 };
                for filter in pet_filters() {
                    let values = match (&filter.category_id, &filter.name) {
                        (None, None) => "1000, 21",
                        (Some(_), None) => "1000, 21, 1",
                        (None, Some(_)) => "1000, 21, 'rex'",
                        (Some(_), Some(_)) => "1000, 21, 1, 'rex'",
                    };
                    let (text, _) = pets::filtered(&filter, &page);
                    let plan = plan(&session, &text, values).await;
                    assert_bounded(&plan, &format!("{state}: {filter:?} {order:?}"));
                }
                for pet_id in [None, Some(PetId::FIRST)] {
                    for complete in [None, Some(true), Some(false)] {
                        let filter = OrderFilter { pet_id, complete };
                        let values = if pet_id.is_some() { "1000, 21, 1" } else { "1000, 21" };
                        let (text, _) = orders::filtered(&filter, &page);
                        let plan = plan(&session, &text, values).await;
                        assert_bounded(&plan, &format!("{state}: {filter:?} {order:?}"));
                    }
                }
            }
        }
    });
}

#[test]
fn a_row_is_found_by_the_index_of_its_key() {
    let Some((runtime, session)) = reader() else { return };
    let ids = "'{1, 2, 3}'";
    let digests = r"array['\x00'::bytea, '\x01'::bytea]";
    runtime.block_on(async {
        for (state, sql) in STATES {
            session.batch(sql).await.expect(state);
            for (text, index, parameter) in [
                (PetRecord::sql(), "pets_pkey", ids),
                (OrderRecord::sql(), "orders_pkey", ids),
                (petstore_domain::CategoryRecord::sql(), "categories_pkey", ids),
                (CredentialByDigest::sql(), "keys_digest_key", digests),
                (CredentialById::sql(), "keys_pkey", ids),
            ] {
                let plan = plan(&session, &text, parameter).await;
                assert_bounded(&plan, state);
                assert!(plan.contains(index) && !plan.contains("Sort"), "{state}: {text}\n{plan}");
            }
            let counts = plan(&session, &CountOfAccount::sql(), ids).await;
            assert!(counts.contains("idempotency_counts_pkey"), "{state}\n{counts}");
        }
    });
}

#[test]
fn a_folded_name_is_found_by_its_index() {
    let Some((runtime, session)) = reader() else { return };
    let name = CategoryName::parse("Rex").expect("a name").folded();
    runtime.block_on(async {
        for (state, sql) in STATES {
            session.batch(sql).await.expect(state);
            for table in ["categories", "accounts"] {
                let text = format!("select id from {table} where folded_name = $1");
                let plan = plan(&session, &text, &format!("'{}'", name.as_str())).await;
                assert_bounded(&plan, state);
                assert!(plan.contains(&format!("{table}_folded_name_key")), "{state}\n{plan}");
            }
        }
    });
}
