//! The lines of imports and exports, as commands use them.

use std::io::{self, Write};
use std::path::Path;

use petstore_ports::{Header, Row, StoreError, StoreErrorKind};
use petstore_shop_lines::{Collisions, write_row};

use crate::failure::Failure;

/// The treatment of equal names in an import, as `--rename-collisions` sets it.
pub(crate) const fn collisions(rename: bool) -> Collisions {
    if rename {
        Collisions::Rename
    } else {
        Collisions::Refuse { advice: "rename one of them, or import with --rename-collisions" }
    }
}

/// A function that takes the rows of a data file.
pub(crate) type RowSink<'s> = dyn FnMut(Row) -> Result<(), StoreError> + 's;

/// Writes the lines of a data file. `read` passes all rows of the file to a sink, as of one moment.
pub(crate) fn export_snapshot(
    file: &Path,
    read: impl FnOnce(&mut RowSink<'_>) -> Result<Header, StoreError>,
    output: &mut dyn Write,
    mut progress: impl FnMut(u64),
) -> Result<u64, Failure> {
    let (mut count, mut fault) = (0, None);
    let read = read(&mut |row| match write_row(output, &row) {
        Ok(lines) => {
            count += lines;
            progress(count);
            Ok(())
        }
        Err(error) => {
            let failed = StoreError::unavailable("the output cannot be written");
            fault = Some(error);
            Err(failed)
        }
    });
    match (read, fault) {
        (_, Some(error)) => Err(unwritten(&error)),
        (Err(error), None) => {
            let why = match error.kind() {
                StoreErrorKind::Unavailable | StoreErrorKind::Corrupt => error.reason(),
                StoreErrorKind::Busy | StoreErrorKind::Indeterminate => error.report(),
            };
            Err(Failure::because(format!("{} cannot be read: {why}", file.display())))
        }
        (Ok(_), None) => Ok(count),
    }
}

/// The failure if the output cannot be written.
pub(crate) fn unwritten(error: &io::Error) -> Failure {
    Failure::because(format!("cannot write the lines: {error}"))
}
