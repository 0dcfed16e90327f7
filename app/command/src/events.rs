//! `petstore events`: the event log of a server, as its clients read it.

mod backoff;
mod database_tail;
mod file_tail;
mod line;
mod output;
mod page;
mod pages;
mod tail;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use petstore_domain::EventId;

pub(crate) use self::backoff::Backoff;
use self::output::Output;
pub(crate) use self::page::{EventFields, ReceivedEvent};
pub(crate) use self::pages::{LogEnded, LogPages, PAGE_MAX};
use crate::failure::Failure;
use crate::http_client::{ApiClient, BaseUrl, default_server};
use crate::runtime::single_threaded;
use crate::settings::expected::number;
use crate::settings::{Db, PgArgs};
use crate::text_file::{self, FileBound};

/// The variable with the API key.
const KEY_VARIABLE: &str = "PETSTORE_KEY";

/// `petstore events …`
#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Print the events of a server as they happen
    #[command(
        after_help = "The API key is that of --key, of --key-file or of the variable PETSTORE_KEY. For https:// the server's \
                            certificate is checked against those that the system trusts, or against the file in \
                            SSL_CERT_FILE."
    )]
    Tail(TailArgs),
}

impl EventsCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Tail(args) => args.run(),
        }
    }
}

/// The events to print, and their server.
#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// Begin after the event with this id; default: only new events
    #[arg(long, value_parser = event_id, value_name = "ID")]
    after: Option<EventId>,
    /// Only events of these types, such as order.placed or order.*
    #[arg(long, value_delimiter = ',', value_parser = event_type, value_name = "TYPES")]
    types: Vec<String>,
    /// Print each event as a line of JSON
    #[arg(long)]
    json: bool,
    /// Stop after this many events
    #[arg(long, value_parser = number::<u64>(1..=u64::MAX), value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    server: LogServer,
    /// Read this data file or database instead, also while servers use it; no key is needed, and events of all keys are
    /// shown
    #[arg(long, value_parser = Db::parse, value_name = "FILE|URL", conflicts_with_all = ["key", "key_file"])]
    db: Option<Db>,
    /// File with the password of the PostgreSQL role
    #[arg(long, env = "PETSTORE_DB_PASSWORD_FILE", value_parser = crate::settings::expected::file(), value_name = "FILE", hide = true)]
    db_password_file: Option<PathBuf>,
    #[command(flatten)]
    pg: PgArgs,
}

impl TailArgs {
    fn run(self) -> Result<(), Failure> {
        let output = Output::new(self.json, self.limit);
        match self.db {
            Some(Db::Memory) => {
                Err(Failure::usage("a store in memory has no file: name its server with --server"))
            }
            Some(db @ Db::Postgres(_)) => {
                let db = self.pg.applied(db.with_password(self.db_password_file.as_deref())?);
                database_tail::follow(&db, self.after, &self.types, output)
            }
            Some(Db::File(file)) => {
                single_threaded()?.block_on(file_tail::follow(&file, self.after, &self.types, output))
            }
            None => {
                let log = self.server.log(self.after, self.types)?;
                single_threaded()?.block_on(tail::follow(log, output))
            }
        }
    }
}

/// The server whose log is read, and its key.
#[derive(Debug, Args)]
pub(crate) struct LogServer {
    /// Base URL of the server; default: the one in PETSTORE_URL, else http://127.0.0.1:8080/v1
    #[arg(long, value_parser = BaseUrl::parse, value_name = "URL")]
    server: Option<BaseUrl>,
    /// API key, which other users of the machine can read in the arguments; default: the key in PETSTORE_KEY
    #[arg(long, value_name = "KEY", conflicts_with = "key_file")]
    key: Option<String>,
    /// File with the API key
    #[arg(long, value_parser = crate::settings::expected::file(), value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl LogServer {
    /// Returns the log of the server, from after an event or from now on.
    pub(crate) fn log(self, after: Option<EventId>, types: Vec<String>) -> Result<LogPages, Failure> {
        let server = self.server.map_or_else(default_server, Ok)?;
        let client = ApiClient::new(server, &key(self.key, self.key_file.as_deref())?)?;
        Ok(LogPages::new(client, after.map(|id| id.to_string()), types))
    }
}

/// Returns the API key: the one that is given, else the one in the file, else the one in the variable.
fn key(given: Option<String>, file: Option<&Path>) -> Result<String, Failure> {
    let (key, if_empty) = match (given, file) {
        (Some(key), _) => (key, "--key: it is empty".to_owned()),
        (None, Some(file)) => {
            let named = |why: &dyn Display| format!("--key-file {}: {why}", file.display());
            let key = text_file::read(file, FileBound::secret("the key alone"));
            let key = key.map_err(|error| Failure::usage(named(&error)))?;
            (key, named(&"the file holds no key"))
        }
        (None, None) => {
            let if_empty = format!(
                "an API key is needed: set {KEY_VARIABLE}, or name a file that holds it with --key-file"
            );
            (std::env::var(KEY_VARIABLE).unwrap_or_default(), if_empty)
        }
    };
    let key = key.trim();
    if key.is_empty() { Err(Failure::usage(if_empty)) } else { Ok(key.to_owned()) }
}

pub(crate) fn event_id(text: &str) -> Result<EventId, String> {
    EventId::parse_clamped(text).map_err(|error| error.to_string())
}

/// Parses a type. Any word in the form of a type is accepted, because the server may know types that this version does
/// not.
pub(crate) fn event_type(text: &str) -> Result<String, String> {
    let is_type = |c: char| c.is_ascii_lowercase() || "_.*".contains(c);
    if !text.is_empty() && text.chars().all(is_type) {
        return Ok(text.to_owned());
    }
    Err("expected types such as order.placed, or order.* for all of a resource, separated by commas"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_a_word_that_needs_no_encoding_in_a_query() {
        for valid in ["order.placed", "pet.status_changed", "order.*", "shelf.moved"] {
            assert_eq!(event_type(valid).as_deref(), Ok(valid));
        }
        for invalid in ["", "order placed", "a&b=c", "Order.placed", "a%2e", "ä.b"] {
            assert!(event_type(invalid).is_err(), "{invalid}");
        }
    }
}
