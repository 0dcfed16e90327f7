//! An open connection and its statements.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join3;
use parking_lot::Mutex;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, SimpleQueryMessage};

use super::counts::Counted;
use super::driver::Warnings;
use super::parameter::Parameter;
use crate::error::{Fate, fate};

/// Settings of the server for a connection: names and values.
pub(crate) type Settings = &'static [(&'static str, &'static str)];

/// An open connection. It is discarded after any failure that its server did not report.
///
/// Either its statements are prepared once, and its settings are set once. Or it leads through a pooler that gives each
/// transaction another connection to the server. Then nothing may be kept on the server between two transactions: no
/// statement is prepared, and each transaction begins with the settings.
pub(crate) struct Session {
    client: Client,
    warnings: Warnings,
    state: Preparation,
    /// Held while the statements of a transaction are sent, so that none of another caller comes between them.
    sending: Mutex<()>,
    /// The number of failures of the whole server when the connection was opened, and now.
    opened_at: u64,
    now: Arc<AtomicU64>,
    answer_time: Duration,
    _counted: Counted,
}

/// The part of a connection that depends on whether statements are prepared.
enum Preparation {
    /// The prepared statements by their texts.
    Prepared(Mutex<HashMap<String, tokio_postgres::Statement>>),
    /// The settings of each transaction, as SQL.
    Unprepared(String),
}

/// The answer to a commit that took place on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Confirmed {
    /// It is as durable as the settings of the server ask for.
    Durable,
    /// The server has warned: for example an operator has cancelled the wait for a standby. Other transactions see the
    /// changes, and a failover may lose them.
    Doubtful,
}

/// A statement that can be executed on the session that made it.
pub(crate) enum Statement<'s> {
    Prepared(tokio_postgres::Statement),
    Unprepared(&'s str),
}

impl Session {
    /// A connection. `warnings`: the count of its warnings. `settings`: SQL that sets the settings of a transaction, if the connection leads through a pooler; none
    /// if its statements are prepared. `answer_time`: the time within which its server must answer.
    pub(super) fn new(
        client: Client,
        warnings: Warnings,
        settings: Option<String>,
        now: &Arc<AtomicU64>,
        answer_time: Duration,
        counted: Counted,
    ) -> Self {
        Self {
            client,
            warnings,
            state: settings.map_or_else(|| Preparation::Prepared(Mutex::default()), Preparation::Unprepared),
            sending: Mutex::default(),
            opened_at: now.load(Ordering::Relaxed),
            now: Arc::clone(now),
            answer_time,
            _counted: counted,
        }
    }

    /// The time within which the server must answer.
    pub(crate) const fn answer_time(&self) -> Duration {
        self.answer_time
    }

    /// Adds settings to those of the connection's role.
    pub(crate) async fn set(&mut self, settings: Settings) -> Result<(), Error> {
        self.add(|set| assignments(set, settings)).await
    }

    /// Lets the server end a read after its caller has given up, so that each read that hangs does not occupy a connection.
    /// Not for writers: a commit that waits for a standby is not undone if its statement is ended.
    pub(crate) async fn limit_reads(&mut self) -> Result<(), Error> {
        // The server takes the number of milliseconds as an `int`.
        let time = self.answer_time.as_millis().min(i32::MAX as u128);
        self.add(|set| format!("{set} statement_timeout = {time}; ")).await
    }

    /// Adds the settings that `sql` makes from `set` or `set local`.
    async fn add(&mut self, sql: impl FnOnce(&'static str) -> String) -> Result<(), Error> {
        match &mut self.state {
            Preparation::Prepared(_) => self.client.batch_execute(&sql("set")).await,
            Preparation::Unprepared(all) => {
                all.push_str(&sql("set local"));
                Ok(())
            }
        }
    }

    /// Returns whether statements are prepared, and kept by the server.
    pub(crate) fn prepares(&self) -> bool {
        matches!(self.state, Preparation::Prepared(_))
    }

    /// Returns whether the connection is of no further use: it has ended, or its server has failed since it was opened.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.now.load(Ordering::Relaxed) != self.opened_at
    }

    /// The SQL that begins a transaction. The level is stated, because a pooled connection cannot keep a default.
    pub(crate) fn begin(&self) -> String {
        self.begin_as(if self.prepares() { "" } else { "isolation level read committed" })
    }

    /// The SQL that begins a transaction in a mode, such as `read only`.
    pub(crate) fn begin_as(&self, mode: &str) -> String {
        match &self.state {
            Preparation::Prepared(_) => format!("begin {mode}"),
            Preparation::Unprepared(settings) => format!("begin {mode}; {settings}"),
        }
    }

    /// Prepares a statement, unless this connection has prepared the same text before. The number of distinct texts
    /// must be bounded, because all of them are kept. Without prepared statements this does nothing.
    pub(crate) async fn prepared<'s>(&self, sql: &'s str) -> Result<Statement<'s>, Error> {
        let Preparation::Prepared(statements) = &self.state else { return Ok(Statement::Unprepared(sql)) };
        if let Some(statement) = statements.lock().get(sql) {
            return Ok(Statement::Prepared(statement.clone()));
        }
        let statement = self.noted(self.client.prepare(sql).await)?;
        statements.lock().insert(sql.to_owned(), statement.clone());
        Ok(Statement::Prepared(statement))
    }

    /// Executes a statement within a transaction, and returns its rows. It is sent when the future is polled first.
    pub(crate) async fn query(
        &self,
        statement: &Statement<'_>,
        parameters: &[&dyn Parameter],
    ) -> Result<Vec<Row>, Error> {
        self.noted(match statement {
            Statement::Prepared(statement) => self.client.query(statement, &untyped(parameters)).await,
            Statement::Unprepared(sql) => self.client.query_typed(sql, &typed(parameters)).await,
        })
    }

    /// Executes a statement within a transaction, and returns the number of its rows. It is sent when the future is polled
    /// first.
    pub(crate) async fn execute(
        &self,
        statement: &Statement<'_>,
        parameters: &[&dyn Parameter],
    ) -> Result<u64, Error> {
        self.noted(match statement {
            Statement::Prepared(statement) => self.client.execute(statement, &untyped(parameters)).await,
            Statement::Unprepared(sql) => self.client.execute_typed(sql, &typed(parameters)).await,
        })
    }

    /// Prepares and executes a statement within a transaction, and returns its rows.
    pub(crate) async fn rows(&self, sql: &str, parameters: &[&dyn Parameter]) -> Result<Vec<Row>, Error> {
        let statement = self.prepared(sql).await?;
        self.query(&statement, parameters).await
    }

    /// Prepares and executes a statement that is a transaction by itself, and returns its rows.
    pub(crate) async fn rows_alone(
        &self,
        sql: &str,
        parameters: &[&dyn Parameter],
    ) -> Result<Vec<Row>, Error> {
        if self.prepares() {
            return self.rows(sql, parameters).await;
        }
        let (begin, parameters) = (self.begin(), typed(parameters));
        let mut transaction = pin!(join3(
            self.client.batch_execute(&begin),
            self.client.query_typed(sql, &parameters),
            self.client.batch_execute("commit"),
        ));
        // All three are sent at the first poll, so no transaction stays open if the future is dropped.
        let sent = poll_fn(|context| {
            let _turn = self.sending.lock();
            Poll::Ready(transaction.as_mut().poll(context))
        });
        let (started, rows, ended) = match sent.await {
            Poll::Ready(answers) => answers,
            Poll::Pending => transaction.await,
        };
        self.noted(started)?;
        let rows = self.noted(rows)?;
        self.noted(ended)?;
        Ok(rows)
    }

    /// Executes statements without parameters, separated by semicolons, within a transaction that they or earlier ones
    /// begin.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Error> {
        self.noted(self.client.batch_execute(sql).await)
    }

    /// Executes statements without parameters, separated by semicolons, as a transaction by themselves.
    pub(crate) async fn batch_alone(&self, sql: &str) -> Result<(), Error> {
        self.batch(&format!("{}; {sql}; commit", self.begin())).await
    }

    /// Commits a transaction whose statements have all succeeded: after a failed one the server rolls back and reports no
    /// error.
    pub(crate) async fn commit(&self) -> Result<Confirmed, Error> {
        let before = self.warnings();
        self.batch("commit").await?;
        Ok(self.confirmed_since(before))
    }

    /// The number of warnings that the server has sent on this connection, with those of statements that it has answered.
    pub(crate) fn warnings(&self) -> u64 {
        self.warnings.count()
    }

    /// Judges an answered commit by the number of warnings before it.
    pub(crate) fn confirmed_since(&self, before: u64) -> Confirmed {
        if self.warnings() == before { Confirmed::Durable } else { Confirmed::Doubtful }
    }

    /// Runs a query without parameters by the simple protocol, which prepares nothing. Returns the first column of its row.
    pub(crate) async fn word(&self, sql: &str) -> Result<Option<String>, Error> {
        let messages = self.noted(self.client.simple_query(sql).await)?;
        let word = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(word)
    }

    /// If a failure concerns the whole server, gives up all connections that were opened before it.
    fn noted<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if outcome.as_ref().is_err_and(|error| fate(error) == Fate::ServerLost) {
            // If connections were given up since this one was opened, there may be new ones, which stay.
            let (before, after) = (self.opened_at, self.opened_at + 1);
            let _: Result<_, _> =
                self.now.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed);
        }
        outcome
    }

    /// Runs a statement without parameters, for tests that look at its answer.
    #[cfg(test)]
    pub(crate) async fn simple_query(
        &self,
        sql: &str,
    ) -> Result<Vec<tokio_postgres::SimpleQueryMessage>, Error> {
        self.client.simple_query(sql).await
    }
}

/// The statements that set settings. `set`: `set` for the connection, or `set local` for a transaction.
pub(super) fn assignments(set: &str, settings: Settings) -> String {
    settings.iter().fold(String::new(), |mut sql, (name, value)| {
        let _: Result<(), _> = write!(sql, "{set} {name} = {value}; ");
        sql
    })
}

fn untyped<'p>(parameters: &[&'p dyn Parameter]) -> Vec<&'p (dyn ToSql + Sync)> {
    parameters.iter().map(|parameter| *parameter as &(dyn ToSql + Sync)).collect()
}

fn typed<'p>(parameters: &[&'p dyn Parameter]) -> Vec<(&'p (dyn ToSql + Sync), Type)> {
    parameters.iter().map(|parameter| (*parameter as &(dyn ToSql + Sync), parameter.sql_type())).collect()
}
