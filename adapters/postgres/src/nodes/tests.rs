//! Nodes on a server. The programs of two releases are planted: the newer one knows a form of events in which the kind
//! `category.updated` is new.

mod upgrade;

use std::time::Duration;

use petstore_domain::EventKind;
use petstore_test_servers::Postgres;
use tokio::runtime::Runtime;

use super::membership::Membership;
use super::*;
use crate::connection::Target;
use crate::event_forms::KnownForms;
use crate::schema::{Program, STEPS};
use crate::{Options, PostgresStore};

/// The forms that the program of the older release knows.
const OLDER: KnownForms = KnownForms { newest: 1, of_kind: |_| 1 };

/// The forms that the program of the newer release knows.
const NEWER: KnownForms =
    KnownForms { newest: 2, of_kind: |kind| if matches!(kind, EventKind::CategoryUpdated) { 2 } else { 1 } };

/// A schema whose nodes the test drives.
struct Shop<'s> {
    server: &'s Postgres,
    schema: String,
    runtime: Runtime,
}

impl<'s> Shop<'s> {
    /// A schema that the older release has created.
    fn new(server: &'s Postgres) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let shop = Self { server, schema: server.new_schema(), runtime };
        drop(shop.open(OLDER, 1));
        shop
    }

    /// Opens the shop as a program with these forms.
    fn open(&self, forms: KnownForms, seed: u64) -> PostgresStore {
        self.try_open(forms, seed).expect("it is opened")
    }

    fn try_open(&self, forms: KnownForms, seed: u64) -> Result<PostgresStore, OpenError> {
        let target = Target::parse(&self.server.url()).expect("a URL");
        let options = Options { schema: self.schema.clone(), seed };
        PostgresStore::open_as(
            target,
            options,
            false,
            Program { steps: STEPS, forms },
            &petstore_ports::Unwatched,
        )
    }

    /// A node whose renewals the test makes.
    fn node(&self, store: &PostgresStore, name: &str) -> Result<Membership, OpenError> {
        let mut node = Membership::new(
            new_node(name),
            store.node_id(),
            Arc::clone(&store.forms),
            Arc::clone(&store.clock),
        );
        self.runtime.block_on(async {
            let session = store.connector.connect(Role::Writer).await?;
            node.join(&session, &self.schema).await
        })?;
        Ok(node)
    }

    /// Renews the row of a node this many times. Returns the number of live nodes at the end.
    fn renew(&self, node: &mut Membership, store: &PostgresStore, times: u32) -> u32 {
        let renewals = async {
            let mut live = 0;
            for _ in 0..times {
                live = node.renew(&store.connector).await.expect("the server answers");
            }
            live
        };
        self.runtime.block_on(renewals)
    }

    /// Turns the clock for the row of a node, which was then renewed earlier.
    fn age(&self, name: &str, seconds: u32) {
        self.sql(&format!(
            "update nodes set seen_at = seen_at - interval '{seconds} s' where host = '{name}'"
        ));
    }

    fn sql(&self, sql: &str) -> String {
        self.server.sql(&format!("set search_path = {}; {sql}", self.schema))
    }

    fn form(&self) -> String {
        self.sql("select event_form from schema_version")
    }

    fn listed(&self) -> Vec<Node> {
        nodes(Target::parse(&self.server.url_of(&self.schema)).unwrap()).unwrap().expect("a table of nodes")
    }
}

fn new_node(name: &str) -> NewNode {
    NewNode {
        version: "1.2.3".to_owned(),
        host: name.to_owned(),
        address: "127.0.0.1:8080".to_owned(),
        settings: vec!["free-minute=60".to_owned()],
    }
}

#[test]
fn a_node_is_listed_from_its_start_until_it_leaves() {
    let Some(server) = Postgres::shared() else { return };
    let shop = Shop::new(server);
    let (one, other) = (shop.open(OLDER, 1), shop.open(OLDER, 2));
    one.join(new_node("one")).unwrap();
    other.join(NewNode { version: "x".repeat(1_000), ..new_node("a\0b") }).unwrap();
    other.set_node_settings(vec!["free-minute=7".to_owned()]);
    let mut listed = shop.listed();
    for _ in 0..100 {
        if listed[1].settings == ["free-minute=7"] && one.live_nodes() == 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        listed = shop.listed();
    }
    assert_eq!((one.live_nodes(), other.live_nodes()), (2, 2));
    let names: Vec<_> = listed.iter().map(|node| (&*node.host, node.version.len(), node.is_live)).collect();
    assert_eq!(names, [("one", 5, true), ("ab", 100, true)]);
    assert_eq!((&listed[0].id, &listed[1].settings[0][..]), (&one.node_id(), "free-minute=7"));
    assert!(listed[0].started <= listed[0].seen && listed[0].seen_ago < Duration::from_secs(20));
    one.leave();
    other.leave();
    assert_eq!(shop.listed(), []);
}

#[test]
fn a_row_that_is_not_renewed_counts_as_gone_by_the_time_of_the_database() {
    let Some(server) = Postgres::shared() else { return };
    let shop = Shop::new(server);
    let (one, other) = (shop.open(OLDER, 1), shop.open(OLDER, 2));
    let (mut row, mut sleeper) = (shop.node(&one, "one").unwrap(), shop.node(&other, "sleeper").unwrap());
    assert_eq!(shop.renew(&mut row, &one, 1), 2);
    shop.age("sleeper", 31);
    assert_eq!(shop.renew(&mut row, &one, 1), 1);
    assert_eq!(shop.listed().iter().map(|node| node.is_live).collect::<Vec<_>>(), [true, false]);
    assert_eq!(shop.renew(&mut sleeper, &other, 1), 2, "it runs after all");
    // Housekeeping may have dropped the row in between.
    shop.sql("delete from nodes where host = 'sleeper'");
    assert_eq!(shop.renew(&mut sleeper, &other, 1), 2);
    assert_eq!(shop.listed().len(), 2);
}

#[test]
fn nodes_join_and_renew_while_commits_wait_for_a_standby() {
    let Some(server) = Postgres::start() else { return };
    let shop = Shop::new(&server);
    let store = shop.open(NEWER, 1);
    server.wait_for_standbys("nowhere");
    let mut row = shop.node(&store, "one").unwrap();
    assert_eq!(shop.renew(&mut row, &store, 2), 1);
    assert_eq!(shop.form(), "2");
    shop.runtime.block_on(row.leave(&store.connector));
    assert_eq!(shop.sql("select count(*) from nodes"), "0");
}

/// Waits until a transaction on the tables of the shop waits for a lock.
async fn waits_for_a_lock(shop: &Shop<'_>) {
    let waiting = format!(
        "select count(*) from pg_locks as waiting join pg_locks as held using (pid)
         where not waiting.granted and held.relation = '{}.schema_version'::regclass",
        shop.schema
    );
    while shop.server.sql(&waiting) == "0" {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_node_that_raises_the_form_waits_for_one_that_joins_and_sees_it() {
    let Some(server) = Postgres::shared() else { return };
    let shop = Shop::new(server);
    let (old, new) = (shop.open(OLDER, 2), shop.open(NEWER, 3));
    shop.runtime.block_on(async {
        let joining = old.connector.connect(Role::Writer).await.unwrap();
        let raising = new.connector.connect(Role::Writer).await.unwrap();
        let mut node =
            Membership::new(new_node("old"), old.node_id(), Arc::clone(&old.forms), Arc::clone(&old.clock));
        joining.batch("begin").await.unwrap();
        node.join(&joining, &shop.schema).await.unwrap();
        let raise = statements::raise(2);
        let ends = async {
            waits_for_a_lock(&shop).await;
            joining.batch("commit").await.unwrap();
        };
        tokio::join!(ends, async { raising.batch_alone(&raise).await.unwrap() });
    });
    assert_eq!(shop.form(), "1");
}

#[test]
fn a_node_that_joins_waits_for_one_that_raises_the_form_and_is_refused() {
    let Some(server) = Postgres::shared() else { return };
    let shop = Shop::new(server);
    let (old, new) = (shop.open(OLDER, 2), shop.open(NEWER, 3));
    let joined = shop.runtime.block_on(async {
        let joining = old.connector.connect(Role::Writer).await.unwrap();
        let raising = new.connector.connect(Role::Writer).await.unwrap();
        let mut node =
            Membership::new(new_node("old"), old.node_id(), Arc::clone(&old.forms), Arc::clone(&old.clock));
        raising.batch("begin").await.unwrap();
        raising.batch(&statements::raise(2)).await.unwrap();
        let ends = async {
            waits_for_a_lock(&shop).await;
            raising.batch("commit").await.unwrap();
        };
        tokio::join!(node.join(&joining, &shop.schema), ends).0
    });
    assert!(matches!(joined, Err(OpenError::EventForm { found: 2, known: 1, .. })), "{joined:?}");
    assert_eq!((&*shop.form(), &*shop.sql("select count(*) from nodes")), ("2", "0"));
}
