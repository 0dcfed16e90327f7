//! The password of a PostgreSQL role: in the URL, in a file, or in a variable.

use std::path::Path;

use super::{DB_PASSWORD_VARIABLES, Db, password};
use crate::failure::Failure;

impl Db {
    /// Adds the password to a database whose URL has none. It is the password in the file or, without a file, the
    /// password in a variable. If there is none either, the database is used without a password.
    pub(crate) fn with_password(self, file: Option<&Path>) -> Result<Self, Failure> {
        let Self::Postgres(mut target) = self else { return Ok(self) };
        let found = match file {
            Some(_) if target.has_password() => {
                return Err(Failure::usage(
                    "the URL in db has a password, and db-password-file names one: remove one",
                ));
            }
            Some(file) => Some(password::in_file("db-password-file", file)?),
            None if target.has_password() => None,
            None => password::in_variables(&DB_PASSWORD_VARIABLES)?,
        };
        if let Some(found) = found {
            target.set_password(&found);
        }
        Ok(Self::Postgres(target))
    }
}
