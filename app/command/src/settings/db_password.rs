//! The password of a PostgreSQL role: in the URL, in a file, or in a variable.

use std::path::Path;

use super::{DB_PASSWORD_VARIABLES, Db, value_of};
use crate::failure::Failure;
use crate::text_file;

impl Db {
    /// Adds the password to a database whose URL has none. It is the password in the file or, without a file, the
    /// password in a variable. If there is none either, the database is used without a password.
    pub(crate) fn with_password(self, file: Option<&Path>) -> Result<Self, Failure> {
        let Self::Postgres(mut target) = self else { return Ok(self) };
        let password = match file {
            Some(_) if target.has_password() => {
                return Err(Failure::usage(
                    "the URL in db has a password, and db-password-file names one: remove one",
                ));
            }
            Some(file) => Some(read(file)?),
            None if target.has_password() => None,
            None => from_environment()?,
        };
        if let Some(password) = password {
            target.set_password(&password);
        }
        Ok(Self::Postgres(target))
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let fault =
        |why: &dyn std::fmt::Display| Failure::usage(format!("db-password-file ({}): {why}", file.display()));
    let text = text_file::read(file).map_err(|error| fault(&error))?;
    // Only line breaks are removed. Editors put a line break at the end of the file, but spaces may belong to the
    // password.
    let password = text.trim_end_matches(['\r', '\n']);
    match password {
        "" => Err(fault(&"the file is empty: write the password to it")),
        lines if lines.contains('\n') => {
            Err(fault(&"the file has several lines: write only the password to it"))
        }
        password => Ok(password.to_owned()),
    }
}

fn from_environment() -> Result<Option<String>, Failure> {
    let set = DB_PASSWORD_VARIABLES.iter().find_map(|name| Some((name, value_of(name)?)));
    let Some((name, value)) = set else { return Ok(None) };
    value.into_string().map(Some).map_err(|_| Failure::usage(format!("{name} is not UTF-8")))
}
