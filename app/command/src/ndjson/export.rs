//! Writing the shop as lines.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use petstore_domain::Members;
use petstore_ports::{Bulk, Header, Row, StoreError, StoreErrorKind};

use super::line::{CATEGORY, ITEM, ORDER, PET, Written};
use crate::failure::Failure;

/// Writes a row as lines, and returns their number. Accounts, keys and other records of the operator are not exported.
pub(crate) fn write_row(out: &mut dyn Write, row: &Row) -> io::Result<u64> {
    match row {
        Row::Category(record) => write_line(out, CATEGORY, &record.category),
        Row::Pet(record) => {
            write_line(out, PET, &record.pet)?;
            write_line(out, ITEM, &record.item()).map(|one| one + 1)
        }
        Row::Order(record) => write_line(out, ORDER, &record.order),
        Row::Account(_)
        | Row::Key(_)
        | Row::Idempotency(_)
        | Row::Usage(_)
        | Row::Webhooks(_)
        | Row::Progress(..)
        | Row::Delivery(_) => Ok(0),
    }
}

fn write_line<R: Members>(out: &mut dyn Write, kind: &'static str, resource: &R) -> io::Result<u64> {
    serde_json::to_writer(&mut *out, &Written { kind, resource })?;
    out.write_all(b"\n")?;
    Ok(1)
}

/// Writes all lines of a store. Returns their number, or the reason of a failure.
pub(crate) fn export(store: &dyn Bulk, output: &mut dyn Write) -> Result<u64, String> {
    let mut lines = 0;
    let mut fault = None;
    let walked = store.export(&mut |row| match write_row(output, &row) {
        Ok(count) => {
            lines += count;
            ControlFlow::Continue(())
        }
        Err(error) => {
            fault = Some(error);
            ControlFlow::Break(())
        }
    });
    match (walked, fault) {
        (Err(error), _) => Err(error.report()),
        (Ok(()), Some(error)) => Err(error.to_string()),
        (Ok(()), None) => Ok(lines),
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
