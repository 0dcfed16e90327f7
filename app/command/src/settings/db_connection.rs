//! The settings of connections to PostgreSQL, besides the password.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::Db;

/// The preparation of statements on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PgPrepare {
    /// Once for each connection.
    On,
    /// Never. Each transaction begins with the settings that it needs.
    Off,
}

/// The time that a command without a server waits for an answer. It may wait longer than a request, because it runs beside
/// nodes that have much to do.
const COMMAND_TIME: Duration = Duration::from_secs(15);

/// The settings of connections that commands without a server have, too.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PgArgs {
    /// Prepare statements on PostgreSQL
    #[arg(
        long,
        env = "PETSTORE_PG_PREPARE",
        default_value = "on",
        value_enum,
        value_name = "on|off",
        hide_possible_values = true,
        global = true,
        help_heading = "Server",
        hide = true
    )]
    pg_prepare: PgPrepare,
}

impl PgArgs {
    /// Applies the settings to a database.
    pub(crate) fn applied(self, db: Db) -> Db {
        db.with_connection(self.pg_prepare, false, COMMAND_TIME)
    }
}

impl Db {
    /// Sets whether statements are prepared, whether a standby must confirm commits, and how long an answer may take. Other
    /// stores are left as they are.
    pub(crate) fn with_connection(self, prepare: PgPrepare, requires_sync: bool, time: Duration) -> Self {
        let Self::Postgres(mut target) = self else { return self };
        target.set_prepares(prepare == PgPrepare::On);
        target.set_requires_sync(requires_sync);
        target.set_answer_time(time);
        Self::Postgres(target)
    }
}
