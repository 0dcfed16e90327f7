//! The settings of connections, which all statements rely on.

use super::session::Settings;

/// The settings of all connections.
pub(super) const COMMON: Settings = &[
    ("jit", "off"),
    ("plan_cache_mode", "force_generic_plan"),
    ("client_encoding", "'UTF8'"),
    // A commit that did not wait for its standby is reported by a warning alone.
    ("client_min_messages", "warning"),
];

/// The settings of a connection that keeps them. The role, the database or the server may have other defaults. All decisions
/// rely on a snapshot for each statement, and idle connections are used again.
pub(super) const CONNECTION: Settings =
    &[("default_transaction_isolation", "'read committed'"), ("idle_session_timeout", "0")];

/// The settings of a reader. The right plan of a read always walks an index in the order of the rows, even while the
/// statistics are those of an empty table. So all other plans are disabled.
pub(super) const READER: Settings = &[
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_sort", "off"),
    ("enable_incremental_sort", "off"),
    // A read waits for a table that is locked, and the server does not notice that its caller has gone.
    ("lock_timeout", "'1s'"),
    // An export reads in one transaction, and waits for its target in between.
    ("idle_in_transaction_session_timeout", "0"),
];

/// The settings of a writer.
pub(super) const WRITER: Settings = &[
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("idle_in_transaction_session_timeout", "'5s'"),
    ("lock_timeout", "'1500ms'"),
    // A commit that waits for a standby must not be ended by the limit of a role.
    ("statement_timeout", "0"),
];
