//! The properties of a server that the store relies on.

use std::fmt;

use petstore_ports::StoreError;
use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

/// The oldest version that is supported, as PostgreSQL numbers it.
const VERSION_MIN: u32 = 140_000;

/// The query that [`Server::read`] reads, for the simple protocol.
const QUERY: &str = "select current_setting('server_version_num'), current_setting('server_version'), \
    current_setting('server_encoding'), current_setting('fsync'), setting, source \
    from pg_settings where name = 'synchronous_commit'";

/// The properties of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    number: u32,
    /// The version, such as `15.4`.
    pub version: String,
    /// The encoding of the database.
    pub encoding: String,
    /// The setting `fsync`: `off` loses commits in a crash of the machine.
    pub fsync: String,
    /// The setting `synchronous_commit`, before the store raises it.
    pub synchronous_commit: String,
    /// The place where `synchronous_commit` is set, in PostgreSQL's words.
    source: String,
}

impl Server {
    /// Asks the server.
    pub(super) async fn of(client: &Client) -> Result<Self, tokio_postgres::Error> {
        let messages = client.simple_query(QUERY).await?;
        let row = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        Ok(row.map_or_else(Self::unknown, Self::read))
    }

    fn read(row: &SimpleQueryRow) -> Self {
        let column = |place| row.try_get(place).ok().flatten().unwrap_or_default().to_owned();
        Self {
            number: column(0).parse().unwrap_or(0),
            version: column(1),
            encoding: column(2),
            fsync: column(3),
            synchronous_commit: column(4),
            source: column(5),
        }
    }

    fn unknown() -> Self {
        let none = String::new;
        Self {
            number: 0,
            version: none(),
            encoding: none(),
            fsync: none(),
            synchronous_commit: none(),
            source: none(),
        }
    }

    /// Refuses a server that is too old, may lose an acknowledged change, or cannot store every text.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let Some(unfit) = self.unfit() else { return Ok(()) };
        Err(StoreError::unavailable(unfit.to_string()))
    }

    fn unfit(&self) -> Option<Unfit<'_>> {
        if self.number < VERSION_MIN {
            Some(Unfit::Version(&self.version))
        } else if self.encoding != "UTF8" {
            Some(Unfit::Encoding(&self.encoding))
        } else if self.fsync != "on" {
            Some(Unfit::Fsync)
        } else if matches!(&*self.synchronous_commit, "off" | "local") {
            Some(Unfit::SynchronousCommit(&self.synchronous_commit, self.source()))
        } else {
            None
        }
    }

    /// The place where `synchronous_commit` is set, in words for an operator.
    fn source(&self) -> &str {
        match &*self.source {
            "client" => "in the URL's options",
            "user" | "database user" => "for the role (alter role ... set)",
            "database" => "for the database (alter database ... set)",
            _ => "in the server's configuration",
        }
    }
}

/// The first property of a server that the store cannot work with.
enum Unfit<'s> {
    Version(&'s str),
    Encoding(&'s str),
    Fsync,
    SynchronousCommit(&'s str, &'s str),
}

impl fmt::Display for Unfit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(
                    f,
                    "PostgreSQL {version} is too old: version {} or later is needed",
                    VERSION_MIN / 10_000
                )
            }
            Self::Encoding(encoding) => {
                write!(f, "the database has the encoding {encoding}: create one with encoding UTF8")
            }
            Self::Fsync => {
                f.write_str("the server has fsync = off and may lose acknowledged changes: set it to on")
            }
            Self::SynchronousCommit(value, source) => write!(
                f,
                "synchronous_commit is {value} {source} and acknowledged changes may be lost: set it to on"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unfit_property_is_named() {
        let fit = Server {
            number: 140_000,
            version: "14.0".to_owned(),
            encoding: "UTF8".to_owned(),
            fsync: "on".to_owned(),
            synchronous_commit: "on".to_owned(),
            source: "default".to_owned(),
        };
        for value in ["on", "remote_write", "remote_apply"] {
            assert!(Server { synchronous_commit: value.to_owned(), ..fit.clone() }.check().is_ok());
        }
        let unfit = [
            (
                Server { number: 130_023, version: "13.23".to_owned(), ..fit.clone() },
                "PostgreSQL 13.23 is too old",
            ),
            (Server { encoding: "SQL_ASCII".to_owned(), ..fit.clone() }, "SQL_ASCII"),
            (Server { fsync: "off".to_owned(), ..fit.clone() }, "fsync = off"),
            (
                Server { synchronous_commit: "off".to_owned(), source: "client".to_owned(), ..fit.clone() },
                "synchronous_commit is off in the URL's options",
            ),
            (
                Server { synchronous_commit: "local".to_owned(), source: "user".to_owned(), ..fit },
                "synchronous_commit is local for the role",
            ),
            (Server::unknown(), "too old"),
        ];
        for (server, named) in unfit {
            let why = server.check().unwrap_err().report();
            assert!(why.contains(named), "{why}");
        }
    }
}
