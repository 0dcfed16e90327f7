//! A schema with rows that a test writes in SQL.

use std::sync::atomic::{AtomicU64, Ordering};

use petstore_postgres::{Options, PostgresStore, Target};
use petstore_test_servers::Postgres;

/// A schema on a server.
pub(crate) struct Shop<'s> {
    pub(crate) server: &'s Postgres,
    pub(crate) schema: String,
}

impl Shop<'static> {
    /// A schema on the server of all tests. None after the test was reported as skipped.
    #[track_caller]
    pub(crate) fn shared() -> Option<Self> {
        Postgres::shared().map(Shop::on)
    }
}

impl<'s> Shop<'s> {
    /// A new schema on this server.
    pub(crate) fn on(server: &'s Postgres) -> Self {
        Self { server, schema: server.new_schema() }
    }

    /// Opens the store, as each node does.
    pub(crate) fn open(&self) -> PostgresStore {
        static SEED: AtomicU64 = AtomicU64::new(1);
        let target = Target::parse(&self.server.url()).expect("the URL of the server");
        let options = Options { schema: self.schema.clone(), seed: SEED.fetch_add(1, Ordering::Relaxed) };
        // Opening blocks, which is not allowed on the thread of a runtime.
        let open = || PostgresStore::open(target, options).expect("the store can be opened");
        std::thread::scope(|scope| scope.spawn(open).join().expect("opening does not panic"))
    }

    /// Executes SQL in the schema, and returns its rows.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.server.sql(&format!("set search_path = {}; {sql}", self.schema))
    }

    /// Waits until a condition in SQL holds. The server itself looks for it.
    pub(crate) fn wait_for(&self, condition: &str) {
        self.sql(&format!(
            "do $wait$ begin
                 for attempt in 1..500 loop
                     perform pg_stat_clear_snapshot();
                     if {condition} then return; end if;
                     perform pg_sleep(0.02);
                 end loop;
                 raise exception 'the condition does not hold after ten seconds';
             end $wait$"
        ));
    }

    /// Adds a category with the id 1, and available pets in it. The pets have the ids from 1 on.
    pub(crate) fn add_pets(&self, count: u32) {
        self.sql(&format!(
            "insert into categories values (1, 'Dogs', 'dogs', null, 1, {count});
             insert into pets select n, 'Rex', 'rex', 1, 'available', 1, 5, 1, 0 from generate_series(1, {count}) as n"
        ));
    }

    /// Ends all connections of the store from outside.
    pub(crate) fn end_connections(&self) {
        self.server.sql("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'");
    }
}

/// A runtime as each thread of a server has one.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}
