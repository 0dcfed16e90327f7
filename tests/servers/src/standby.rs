//! Standbys: copies of a cluster that follow it by streaming replication.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;

use crate::postgres::{Postgres, PostgresBuilder};
use crate::skips;

impl Postgres {
    /// Starts a standby that follows this cluster. Its name can be in `synchronous_standby_names`. None after the
    /// calling test was reported as skipped, because the program `pg_basebackup` is missing.
    #[track_caller]
    pub fn standby(&self, name: &str) -> Option<Self> {
        if !self.programs().path("pg_basebackup").exists() {
            skips::skip("PostgreSQL's pg_basebackup is not installed");
            return None;
        }
        Some(PostgresBuilder::copy_of(self, name))
    }

    /// Makes this standby a primary, and waits until it accepts writes.
    pub fn promote(&self) {
        assert_eq!(self.sql("select pg_promote(true, 60)"), "t", "the standby is promoted");
    }

    /// Starts this stopped cluster again as a standby of another one. If it has changes that the other one does not
    /// have, it does not catch up, but it accepts connections and refuses writes, as an old primary does that comes back.
    pub fn start_again_as_standby_of(&self, primary: &Self) {
        self.make_standby_of(primary, "old_primary");
        self.start_again();
    }

    /// Sets the standbys that a commit waits for, such as `one`; with an empty text none.
    pub fn wait_for_standbys(&self, names: &str) {
        self.set("synchronous_standby_names", names);
    }

    /// Returns whether the standby with this name receives all changes.
    pub fn is_followed_by(&self, name: &str) -> bool {
        let streaming =
            "select count(*) from pg_stat_replication where state = 'streaming' and application_name =";
        self.sql(&format!("{streaming} '{name}'")) == "1"
    }

    /// Turns the data folder into one of a standby.
    pub(crate) fn make_standby_of(&self, primary: &Self, name: &str) {
        let data = self.socket_folder().join("data");
        fs::write(data.join("standby.signal"), "").expect("a file can be written");
        self.programs().give(&data.join("standby.signal"));
        let mut text = String::new();
        let _ = writeln!(
            text,
            "primary_conninfo = 'host={} port={} user=petstore application_name={name}'\nsynchronous_standby_names = ''\n\
             unix_socket_directories = '{}'",
            primary.socket_folder().display(),
            primary.port(),
            self.socket_folder().display()
        );
        // This file is read last, so its settings are in force.
        let mut settings = OpenOptions::new().append(true).open(data.join("postgresql.auto.conf"));
        let settings = settings.as_mut().expect("the data folder has this file");
        settings.write_all(text.as_bytes()).expect("the settings can be written");
    }
}
