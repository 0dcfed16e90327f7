//! Creating and migrating a schema, by one of any number of nodes that start at once.

use std::fmt::Write as _;
use std::time::Duration;

use petstore_ports::{StoreError, WorkPhase, WorkProgress, WorkUnit};
use tokio::time::{Instant, sleep, timeout};

use super::privileges;
use super::state::{ProbedSchema, probe};
use super::{NewShop, Program, first_rows};
use crate::connection::{Connector, Role, Session, pooling};
use crate::error::{Fate, OpenError, failed, fate};

/// The first key of the advisory lock under which a schema is migrated, a number that means nothing. The second key is a
/// hash of the schema's name.
const LOCK: i32 = 1_349_285_956;

/// The time limit for another node's migration.
const MIGRATION_TIME: Duration = Duration::from_mins(1);

/// The time limit for the answer to a statement that does not change tables.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// The time limit for the steps of a migration, which may have to read large tables.
const STEPS_TIME: Duration = Duration::from_mins(10);

/// The wait between two attempts to take the lock, each of which waits for 2 s itself.
const PAUSE: Duration = Duration::from_millis(100);

/// Prepares the schema for a program: creates it, migrates it, or leaves it as it is. Returns a connection to it.
pub(crate) async fn prepare(
    connector: &Connector,
    program: Program<'_>,
    new: NewShop,
    progress: &dyn WorkProgress,
) -> Result<Session, OpenError> {
    let (schema, known) = (connector.schema(), program.version());
    let since = Instant::now();
    let mut is_first = true;
    loop {
        let session = connector.connect_with_retries(Role::Writer).await?;
        if std::mem::take(&mut is_first) {
            pooling::refuse(connector, &session).await?;
        }
        match within(ANSWER_TIME, probe(&session, schema)).await?? {
            ProbedSchema::Foreign => return Err(OpenError::Foreign { schema: schema.to_owned() }),
            ProbedSchema::Made(found) => {
                found.check(schema, known, program.forms)?;
                if found.version >= known {
                    within(ANSWER_TIME, privileges::check(&session, schema)).await??;
                    return Ok(session);
                }
            }
            ProbedSchema::Absent | ProbedSchema::Empty => {}
        }
        match migrate(&session, schema, program, new, progress).await? {
            Ok(()) => {}
            // Another node holds the lock, or has just made the schema.
            Err(error) if matches!(fate(&error), Fate::Conflict | Fate::Duplicate) => {
                let name = "waiting for the migration by another node";
                progress.begin(WorkPhase { name, unit: WorkUnit::Time, total: None });
                if since.elapsed() > MIGRATION_TIME {
                    return Err(locked(connector, error).await);
                }
                sleep(PAUSE).await;
            }
            Err(error) => return Err(refused(schema, error)),
        }
    }
}

/// Takes the lock, and then applies the steps that are still missing, in one transaction. After an error the connection
/// must be discarded.
async fn migrate(
    session: &Session,
    schema: &str,
    Program { steps, forms }: Program<'_>,
    new: NewShop,
    progress: &dyn WorkProgress,
) -> Result<Result<(), tokio_postgres::Error>, StoreError> {
    let lock = format!(
        "{}; set local lock_timeout = '2s'; select pg_advisory_xact_lock({LOCK}, hashtext('{schema}'))",
        session.begin()
    );
    if let Err(error) = within(ANSWER_TIME, session.batch(&lock)).await? {
        return Ok(Err(error));
    }
    let done = match within(ANSWER_TIME, probe(session, schema)).await? {
        Ok(ProbedSchema::Made(found)) => usize::try_from(found.version).unwrap_or(0),
        // Nothing is applied here. The next probe of `prepare` finds the same fault and returns it.
        Ok(ProbedSchema::Foreign) | Err(_) => steps.len(),
        Ok(ProbedSchema::Empty | ProbedSchema::Absent) => 0,
    };
    let mut first = String::new();
    if done == 0 {
        // `create schema if not exists` needs the privilege even if the schema exists.
        let sql_exists = "select to_regnamespace(quote_ident($1)) is not null";
        let rows = match within(ANSWER_TIME, session.rows(sql_exists, &[&schema])).await? {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        if !rows.first().is_some_and(|row| row.get(0)) {
            first = format!("create schema \"{schema}\";");
        }
    }
    let missing = (1_i32..).zip(steps).skip(done).map(|(number, step)| {
        let mut sql = std::mem::take(&mut first);
        sql.push_str(step.sql);
        if number == 1 {
            sql.push_str(&first_rows(new, forms));
        }
        let oldest = step.oldest_reader;
        let _ = write!(sql, "update schema_version set version = {number}, oldest_reader = {oldest}");
        sql
    });
    within(STEPS_TIME, apply(session, missing.collect(), progress)).await
}

/// Executes these statements, each of a step, and commits.
async fn apply(
    session: &Session,
    steps: Vec<String>,
    progress: &dyn WorkProgress,
) -> Result<(), tokio_postgres::Error> {
    let total = Some(steps.len() as u64);
    progress.begin(WorkPhase { name: "migrating the tables", unit: WorkUnit::Steps, total });
    for (done, sql) in (1..).zip(&steps) {
        session.batch(sql).await?;
        progress.reached(done);
    }
    session.batch("commit").await
}

/// Awaits an answer of the server within a time limit.
async fn within<T>(limit: Duration, answer: impl Future<Output = T>) -> Result<T, StoreError> {
    let late = || {
        let seconds = limit.as_secs();
        StoreError::unavailable(format!(
            "PostgreSQL has not answered a statement of the start within {seconds} s"
        ))
    };
    timeout(limit, answer).await.map_err(|_| late())
}

/// The failure of a node that has waited in vain: it names the connection that holds the lock.
async fn locked(connector: &Connector, error: tokio_postgres::Error) -> OpenError {
    let schema = connector.schema().to_owned();
    let sql = "select format('process %s, user %s, %s, %s', pid, usename, application_name, coalesce(client_addr::text, 'local'))
        from pg_locks join pg_stat_activity using (pid)
        where locktype = 'advisory' and granted and classid = $1::int4::oid and objid = hashtext($2)::oid and objsubid = 2";
    let session = connector.connect(Role::Reader).await;
    let holder = match &session {
        Ok(session) => session.rows(sql, &[&LOCK, &schema]).await.unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    match holder.first() {
        Some(row) => OpenError::Locked { schema, holder: row.get(0) },
        None => OpenError::Store(failed("cannot take the lock for a migration", error)),
    }
}

/// The failure of a migration, with the missing privilege by name.
fn refused(schema: &str, error: tokio_postgres::Error) -> OpenError {
    match error.as_db_error() {
        Some(refusal) if *refusal.code() == tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE => {
            OpenError::NotAllowed { schema: schema.to_owned(), reason: refusal.message().to_owned() }
        }
        _ => OpenError::Store(failed("cannot migrate the schema", error)),
    }
}
