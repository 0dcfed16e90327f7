//! The log on a server, with writers whose transactions the test holds open.

use std::time::Duration;

use futures_util::FutureExt;
use petstore_domain::{
    Event, EventFilter, EventKind, EventKinds, Happening, InventoryItem, PetId, PetStatus, Position,
    Previous, Timestamp,
};
use petstore_event_codec::Body;
use petstore_ports::{
    EventFeed, EventPage, EventQuery, EventRead, EventReader, LogEnd, SortDirection, StoreHealth as _,
};
use petstore_test_servers::Postgres;
use tokio_postgres::{Client, Config, NoTls};

use crate::{EventRetention, Options, PostgresStore};

/// A schema with one handle, and the runtime of the test.
struct Subject {
    config: Config,
    schema: String,
    store: PostgresStore,
    runtime: tokio::runtime::Runtime,
}

impl Subject {
    /// None after the test was reported as skipped.
    #[track_caller]
    fn new() -> Option<Self> {
        Postgres::shared().map(Self::on)
    }

    fn on(server: &Postgres) -> Self {
        let config: Config = server.url().parse().expect("a URL");
        let schema = server.new_schema();
        let options = Options { schema: schema.clone(), seed: 7 };
        let store = PostgresStore::open(config.clone(), options).expect("the server runs");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { config, schema, store, runtime }
    }

    fn another(&self) -> PostgresStore {
        let options = Options { schema: self.schema.clone(), seed: 8 };
        let open = || PostgresStore::open(self.config.clone(), options).expect("the server runs");
        // Opening blocks, which is not allowed on the thread of a runtime.
        std::thread::scope(|scope| scope.spawn(open).join().expect("it is opened"))
    }

    /// A connection of a writer.
    async fn writer(&self) -> Client {
        let (client, connection) = self.config.connect(NoTls).await.expect("the server runs");
        tokio::spawn(connection);
        client.batch_execute(&format!("set search_path = {}", self.schema)).await.expect("it is set");
        client
    }
}

fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(secs * 1_000).expect("a time")
}

/// Events that the number tells apart.
fn happening(number: u64) -> Happening {
    let pet_id = PetId::new(number + 1).expect("an id");
    let item = InventoryItem { pet_id, quantity: number, status: PetStatus::Available };
    Happening::InventoryUpdated { item, previous: Previous::none(&item) }
}

fn number(event: &Event) -> u64 {
    match &event.happening {
        Happening::InventoryUpdated { item, .. } => item.quantity,
        other => panic!("{other:?} was not written"),
    }
}

/// Inserts a batch with these events, as a writer does.
async fn insert(client: &Client, secs: i64, numbers: std::ops::Range<u64>) {
    let mut body = Body::new();
    let happenings: Vec<_> = numbers.map(happening).collect();
    body.push(at(secs), &happenings);
    let events = i32::try_from(body.events()).expect("few");
    let time = crate::records::stored(at(secs));
    let sql = "insert into event_batches (events, first_at, latest_at, body) values ($1, $2, $2, $3)";
    client.execute(sql, &[&events, &time, &body.as_bytes()]).await.expect("it is inserted");
}

fn query(order: SortDirection, after: Option<u64>, events_max: usize, positions_max: u64) -> EventQuery {
    let after = after.map(|number| Position::new(number).expect("a position"));
    EventQuery { epoch: None, order, after, filter: EventFilter::ALL, events_max, positions_max }
}

async fn page(store: &PostgresStore, query: EventQuery) -> EventPage {
    match store.read(query).await.expect("it is read") {
        EventRead::Page(page) => page,
        EventRead::Expired(bounds) => panic!("{query:?} begins in the log: {bounds:?}"),
    }
}

async fn all(store: &PostgresStore) -> Vec<u64> {
    let page = page(store, query(SortDirection::Ascending, None, 100_000, 100_000)).await;
    assert_eq!(page.reached, page.bounds.last);
    page.events.iter().map(number).collect()
}

#[test]
fn a_batch_that_commits_late_comes_after_those_that_were_read() {
    let Some(subject) = Subject::new() else { return };
    subject.runtime.block_on(async {
        let (late, early) = (subject.writer().await, subject.writer().await);
        let other = subject.another();
        late.batch_execute("begin").await.unwrap();
        insert(&late, 1, 1..3).await;
        insert(&early, 2, 3..4).await;
        assert_eq!(all(&subject.store).await, [3], "what is committed is read");
        assert_eq!(all(&other).await, [3], "on each handle");
        late.batch_execute("commit").await.unwrap();
        assert_eq!(all(&other).await, [3, 1, 2], "the first seq is the last position");
        assert_eq!(all(&subject.store).await, [3, 1, 2]);
        // Without readers in between, both batches get their positions in one run, in the order of `seq`.
        late.batch_execute("begin").await.unwrap();
        insert(&late, 1, 5..6).await;
        insert(&early, 1, 6..8).await;
        late.batch_execute("commit").await.unwrap();
        assert_eq!(all(&other).await, [3, 1, 2, 5, 6, 7]);
    });
}

#[test]
fn pages_have_what_the_query_asks_for() {
    let Some(subject) = Subject::new() else { return };
    subject.runtime.block_on(async {
        let writer = subject.writer().await;
        for batch in 0..40 {
            insert(&writer, 1, 3 * batch + 1..3 * batch + 4).await;
        }
        let store = &subject.store;
        for (events_max, positions_max) in [(1_usize, 1), (1, 100), (2, 3), (7, 5), (30, 1_000), (200, 1_000)]
        {
            let looked_at = positions_max.min(events_max.try_into().expect("few"));
            for start in [0_u64, 1, 2, 3, 59, 60, 61, 119, 120, 121] {
                if start <= 120 {
                    let found =
                        page(store, query(SortDirection::Ascending, Some(start), events_max, positions_max))
                            .await;
                    let last = (start + looked_at).min(120);
                    let expected: Vec<u64> = (start + 1..=last).collect();
                    assert_eq!(found.events.iter().map(number).collect::<Vec<_>>(), expected);
                    assert_eq!(found.reached.get(), last);
                }
                if start >= 1 {
                    let found =
                        page(store, query(SortDirection::Descending, Some(start), events_max, positions_max))
                            .await;
                    let oldest = (start).saturating_sub(looked_at).max(1);
                    let expected: Vec<u64> = (oldest..start).rev().collect();
                    assert_eq!(found.events.iter().map(number).collect::<Vec<_>>(), expected);
                    assert_eq!(found.reached.get(), oldest);
                }
            }
        }
        for (order, start) in [(SortDirection::Ascending, 121), (SortDirection::Descending, 122)] {
            let read = store.read(query(order, Some(start), 1, 1)).await.unwrap();
            assert!(matches!(read, EventRead::Expired(bounds) if bounds.last.get() == 120), "{read:?}");
        }
        let mut kinds = EventKinds::ANY;
        kinds.add(EventKind::PetCreated);
        let filter = EventFilter { kinds, account: None };
        let none =
            page(store, EventQuery { filter, ..query(SortDirection::Ascending, None, 1, 1_000) }).await;
        assert_eq!((none.events.len(), none.reached.get()), (0, 120), "a page reads on where nothing passes");
    });
}

#[test]
fn events_outside_a_damaged_or_missing_batch_are_read_and_each_contact_is_noted() {
    use SortDirection::{Ascending, Descending};
    let Some(subject) = Subject::new() else { return };
    subject.runtime.block_on(async {
        let writer = subject.writer().await;
        for batch in 0..3 {
            insert(&writer, 1, 2 * batch + 1..2 * batch + 3).await;
        }
        let store = &subject.store;
        assert_eq!(all(store).await, [1, 2, 3, 4, 5, 6]);
        // The oldest row has no time any more that an event may have.
        let infinite = "set first_at = 'infinity', latest_at = 'infinity' where last_position = 2";
        writer.execute(&format!("update event_batches {infinite}"), &[]).await.unwrap();
        let body = "set body = substring(body for length(body) - 1) where last_position = 4";
        let damages = [
            (format!("update event_batches {body}"), "the row with the events 3 to 4"),
            ("delete from event_batches where last_position = 4".to_owned(), "is missing"),
        ];
        for (statement, said) in damages {
            writer.execute(&statement, &[]).await.unwrap();
            let read = async |order, after, positions_max| match store
                .read(query(order, after, 100, positions_max))
                .await
            {
                Ok(EventRead::Page(page)) => {
                    Ok((page.events.iter().map(number).collect::<Vec<_>>(), page.reached.get()))
                }
                Ok(EventRead::Expired(bounds)) => panic!("nothing has expired: {bounds:?}"),
                Err(error) => Err(error.report()),
            };
            let before = store.damage().contacts();
            assert_eq!(read(Ascending, None, 100).await, Ok((vec![1, 2], 2)), "{said}");
            assert_eq!(read(Ascending, Some(1), 100).await, Ok((vec![2], 2)), "{said}");
            assert_eq!(read(Descending, None, 100).await, Ok((vec![6, 5], 5)), "{said}");
            for (order, after) in [(Ascending, 2), (Ascending, 3), (Descending, 5)] {
                let report = read(order, Some(after), 100).await.expect_err("the page begins at the damage");
                assert!(report.contains("event_batches: ") && report.contains(said), "{report}");
            }
            assert_eq!(store.damage().contacts() - before, 6, "{said}");
            assert!(store.has_met_damage() && !store.damage().take_new().is_empty(), "{said}");
            assert_eq!(read(Ascending, Some(4), 100).await, Ok((vec![5, 6], 6)), "{said}");
            assert_eq!(read(Ascending, Some(0), 2).await, Ok((vec![1, 2], 2)), "{said}");
            assert_eq!(read(Descending, Some(3), 100).await, Ok((vec![2, 1], 1)), "{said}");
            assert_eq!(store.damage().contacts() - before, 6, "{said}");
        }
        store.set_event_retention(EventRetention { age: Duration::from_secs(10), bytes: 1_000_000 });
        assert_eq!(store.events.prune(at(11)).await.unwrap(), 0, "the next batch is kept");
        assert_eq!(store.events.prune(at(12)).await.unwrap(), 4);
    });
}

#[test]
fn a_long_page_is_read_in_slices() {
    let Some(subject) = Subject::new() else { return };
    subject.runtime.block_on(async {
        let writer = subject.writer().await;
        for batch in 0..50 {
            insert(&writer, 1, 500 * batch + 1..500 * batch + 501).await;
        }
        let mut kinds = EventKinds::ANY;
        kinds.add(EventKind::InventoryUpdated);
        let filter = EventFilter { kinds, account: None };
        for order in [SortDirection::Ascending, SortDirection::Descending] {
            let long = EventQuery { filter, ..query(order, None, 24_000, 24_500) };
            let found = page(&subject.store, long).await;
            assert_eq!(found.events.len(), 24_000);
            let mut numbers: Vec<_> = found.events.iter().map(number).collect();
            if order == SortDirection::Descending {
                numbers.reverse();
            }
            assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "no event is missing or twice");
            kinds.add(EventKind::PetCreated);
            let sparse = EventFilter { kinds, account: None };
            let found = page(&subject.store, EventQuery { filter: sparse, ..long }).await;
            assert_eq!(found.events.len(), 24_000);
        }
    });
}

#[test]
fn old_events_are_dropped_by_age_and_by_bytes() {
    let Some(subject) = Subject::new() else { return };
    subject.runtime.block_on(async {
        let writer = subject.writer().await;
        for secs in 0..20 {
            insert(&writer, secs, 1..3).await;
        }
        let (store, log) = (&subject.store, &subject.store.events);
        assert_eq!(all(store).await.len(), 40);
        log.set_retention(EventRetention { age: Duration::from_secs(10), ..EventRetention::DEFAULT });
        assert_eq!(log.prune(at(15)).await.unwrap(), 10);
        let bounds = store.bounds().await.unwrap();
        assert_eq!((bounds.pruned.get(), bounds.last.get(), bounds.oldest_at), (10, 40, Some(at(5))));
        assert_eq!(log.prune(at(15)).await.unwrap(), 0, "once");
        let lost = store.read(query(SortDirection::Ascending, Some(9), 1, 1)).await.unwrap();
        assert_eq!(lost, EventRead::Expired(bounds), "a reader learns that it missed events");
        let edge = page(store, query(SortDirection::Ascending, Some(10), 1, 1)).await;
        assert_eq!(edge.reached.get(), 11);
        let back = page(store, query(SortDirection::Descending, Some(13), 9, 9)).await;
        assert_eq!((back.events.len(), back.reached.get()), (2, 11));

        let sql = "select sum(octet_length(body)) from (select body from event_batches order by seq desc limit 4) as newest";
        let newest: i64 = writer.query_one(sql, &[]).await.unwrap().get(0);
        let fits = u64::try_from(newest).unwrap() + 1;
        log.set_retention(EventRetention { bytes: fits, ..EventRetention::DEFAULT });
        assert_eq!(log.prune(at(0)).await.unwrap(), 22, "the oldest go until the rest fits");
        let bounds = store.bounds().await.unwrap();
        assert_eq!((bounds.pruned.get(), bounds.oldest_at), (32, Some(at(16))));
        let bytes: i64 = writer.query_one("select bytes from event_log", &[]).await.unwrap().get(0);
        assert_eq!(bytes, newest);
        log.set_retention(EventRetention { bytes: 0, ..EventRetention::DEFAULT });
        assert_eq!(log.prune(at(0)).await.unwrap(), 8);
        let bounds = store.bounds().await.unwrap();
        assert_eq!((bounds.pruned.get(), bounds.last.get(), bounds.oldest_at), (40, 40, None));
        insert(&writer, 21, 9..10).await;
        assert_eq!(all(store).await, [9]);
    });
}

#[test]
fn waiting_readers_learn_of_commits_of_other_handles() {
    let Some(subject) = Subject::new() else { return };
    subject.runtime.block_on(async {
        let writer = subject.writer().await;
        for round in 0..5 {
            let bounds = subject.store.bounds().await.unwrap();
            let known = LogEnd { epoch: bounds.epoch, last: bounds.last };
            assert_eq!(subject.store.end(), known);
            let mut waiting = subject.store.changed(known, EventFilter::ALL);
            if round % 2 == 0 {
                assert_eq!((&mut waiting).now_or_never(), None, "it waits before the commit");
            }
            insert(&writer, 1, 1..4).await;
            let end = tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("it wakes");
            assert_eq!((end.epoch, end.last.get()), (known.epoch, known.last.get() + 3));
        }
    });
}

#[test]
fn a_running_transaction_holds_back_what_is_settled() {
    let Some(subject) = Subject::new() else { return };
    subject.runtime.block_on(async {
        let (writer, foreign) = (subject.writer().await, subject.writer().await);
        let settled = async || -> i64 {
            writer.query_one("select settled_seq from event_log", &[]).await.unwrap().get(0)
        };
        // Transactions of other tests on the server delay the settling.
        let settles_beyond = async |seq| {
            let waiting = async {
                while settled().await <= seq {
                    insert(&writer, 1, 1..2).await;
                    subject.store.bounds().await.unwrap();
                }
            };
            tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it follows the runs");
        };
        settles_beyond(0).await;
        // As long as a transaction runs that may have drawn a `seq`, higher ones are not settled.
        foreign.batch_execute("begin; select pg_current_xact_id()").await.unwrap();
        insert(&writer, 1, 4..5).await;
        subject.store.bounds().await.unwrap();
        let mut held = 0;
        for round in 0..4 {
            insert(&writer, 1, round..round + 1).await;
            subject.store.bounds().await.unwrap();
            held = settled().await;
        }
        let last: i64 = writer.query_one("select max(seq) from event_batches", &[]).await.unwrap().get(0);
        assert!(held <= last - 4, "{held} {last}");
        insert(&foreign, 1, 9..10).await;
        insert(&writer, 1, 5..6).await;
        subject.store.bounds().await.unwrap();
        foreign.batch_execute("commit").await.unwrap();
        let events = all(&subject.store).await;
        assert_eq!(events.last(), Some(&9));
        settles_beyond(last).await;
    });
}

#[test]
fn lost_connections_are_replaced() {
    let Some(server) = Postgres::start() else { return };
    let subject = Subject::on(&server);
    subject.runtime.block_on(async {
        insert(&subject.writer().await, 1, 1..2).await;
        assert_eq!(all(&subject.store).await, [1]);
        insert(&subject.writer().await, 1, 2..3).await;
        server.sql("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()");
        assert_eq!(all(&subject.store).await, [1, 2], "a read does not fail with its connection");
    });
}

/// The readers of the event log: the connection for pages, and the one of the regular check of the database. The server
/// ends their waits.
const READERS: u32 = 2;

#[test]
fn reads_that_hang_do_not_leave_a_connection_each() {
    let Some(server) = Postgres::start() else { return };
    let subject = Subject::on(&server);
    subject.runtime.block_on(async {
        let writer = subject.writer().await;
        writer
            .batch_execute("begin; lock table event_batches in access exclusive mode")
            .await
            .expect("it is free");
        for _ in 0..4 {
            subject.store.bounds().await.expect_err("the table is locked");
            let waiting = server.sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'");
            let waiting: u32 = waiting.parse().expect("a number");
            assert!(waiting <= READERS, "{waiting} connections wait for the table");
        }
    });
}
