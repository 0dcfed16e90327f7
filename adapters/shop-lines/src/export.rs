//! Writing the shop as lines.

use std::io::{self, Write};
use std::ops::ControlFlow;

use petstore_domain::Members;
use petstore_ports::{Bulk, Row};

use super::line::{CATEGORY, ITEM, ORDER, PET, Written};

/// Writes a row as lines, and returns their number. Accounts, keys and other records of the operator are not exported.
///
/// # Errors
/// The error of the output.
pub fn write_row(out: &mut dyn Write, row: &Row) -> io::Result<u64> {
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

/// Writes all lines of a store. Returns their number.
///
/// # Errors
/// The reason for which the store or the output failed.
pub fn export(store: &dyn Bulk, output: &mut dyn Write) -> Result<u64, String> {
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
