//! Faulty ways to assign positions to events, planted with a trigger and a default. They lose events or confuse their order, and the
//! suite must find each of them.

use std::sync::Arc;

use petstore_tests::{Subject, event_order, run_case};

use crate::shop::Shop;

/// The maximum number of runs of a case. Because of races it may pass several times in spite of the fault.
const TRIES: usize = 40;

/// Positions come from a sequence and are drawn before the commit. The end of the log is the last position that is
/// visible, so readers continue after positions whose transactions are not committed yet.
const CURSOR_ON_A_SEQUENCE: &str = "
    create sequence drawn;
    create function draw() returns trigger language plpgsql as $$
    declare
        drawn bigint;
    begin
        -- The lock keeps the positions of one batch together. It is released at once, not at the end of the
        -- transaction.
        perform pg_advisory_lock(hashtext(tg_table_schema));
        for number in 1..new.events loop
            drawn := nextval('drawn');
        end loop;
        perform pg_advisory_unlock(hashtext(tg_table_schema));
        update event_batches set last_position = drawn where seq = new.seq;
        return null;
    end $$;
    create trigger draw after insert on event_batches for each row execute function draw();
    alter table event_log rename to stored_log;
    create view event_log as
        select one, epoch, epoch_number, coalesce((select max(last_position) from event_batches), 0) as last_position,
            pruned_position, bytes, settled_seq
        from stored_log;";

/// Batches get their positions in the order of their transaction ids. A transaction gets its id when it locks its first
/// row, and it may not hold all of its locks yet.
const ORDER_BY_TRANSACTION: &str = "
    alter table event_batches alter column seq set default pg_current_xact_id()::text::bigint;";

/// Locks one random pet after another, each for some milliseconds, until the table `quiet` exists. So batches wait
/// between two of their locks. Without this they rarely do on a machine with little load.
const HOLD_PETS: &str = "
    do $$
    begin
        while to_regclass('{schema}.quiet') is null loop
            perform 1 from {schema}.pets order by random() limit 1 for no key update;
            perform pg_sleep(0.004);
            commit;
            perform pg_sleep(0.001);
        end loop;
    end $$";

/// Checks that a case fails in at least one of its runs with what is planted.
fn check_found<F>(plant: &'static str, case: impl Fn(Subject) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    for _ in 0..TRIES {
        let Some(shop) = Shop::new() else { return };
        let mut failed = false;
        run_case(async {
            let subject = shop.open().await;
            shop.sql(plant);
            let holding = Arc::clone(&shop);
            let holding = std::thread::spawn(move || holding.statement(HOLD_PETS));
            failed = tokio::spawn(case(subject)).await.is_err_and(|error| error.is_panic());
            shop.sql("create table quiet ()");
            holding.join().expect("the locks are taken");
        });
        if failed {
            return;
        }
    }
    panic!("the case passes with a planted bug");
}

#[test]
fn a_cursor_on_a_sequence_is_found() {
    check_found(CURSOR_ON_A_SEQUENCE, |subject: Subject| async move {
        event_order::a_tailing_reader_misses_nothing(&subject).await;
    });
}

#[test]
fn an_order_by_transaction_is_found() {
    check_found(ORDER_BY_TRANSACTION, |subject: Subject| async move {
        event_order::each_change_is_in_the_log_once(&subject).await;
    });
}
