//! `petstore new-epoch`: makes entity tags, cursors and ids of events from before unacceptable.

use std::path::PathBuf;

use clap::Args;
use petstore_http::IdleTime;

use crate::failure::Failure;
use crate::progress::ProgressReport;
use crate::settings::{Db, PgArgs};
use crate::store::{Backend, NAME_ITS_SOCKET, check_made};
use crate::terminal::print;

/// The database whose epoch is renewed.
#[derive(Debug, Args)]
pub(crate) struct NewEpochArgs {
    /// URL of the database
    #[arg(value_parser = Db::parse, value_name = "URL")]
    db: Db,
    /// File with the password of the PostgreSQL role
    #[arg(long, env = "PETSTORE_DB_PASSWORD_FILE", value_parser = crate::settings::expected::file(), value_name = "FILE", hide = true)]
    db_password_file: Option<PathBuf>,
    #[command(flatten)]
    pg: PgArgs,
}

impl NewEpochArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if !matches!(self.db, Db::Postgres(_)) {
            return Err(Failure::usage(
                "expected the URL of a PostgreSQL database; a copy that `petstore backup` made of a data file begins a new \
                 epoch itself",
            ));
        }
        let db = self.pg.applied(self.db.with_password(self.db_password_file.as_deref())?);
        check_made(&db)?;
        let backend = Backend::open(
            &db,
            NAME_ITS_SOCKET,
            IdleTime::default(),
            &(ProgressReport::of_command(false) as _),
        )?;
        let begun = backend.begin_epoch();
        backend.close();
        begun.map_err(|error| Failure::because(error.report()))?;
        print(
            "A new epoch has begun: entity tags, cursors and ids of events from before are not accepted any more.\n",
        )
    }
}
