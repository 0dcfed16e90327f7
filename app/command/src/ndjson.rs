//! The shop as newline-delimited JSON: one resource a line, in the form of the API, under the name of its kind.
//!
//! ```text
//! {"category":{"name":"Rabbits","id":1}}
//! {"pet":{"name":"Hazel","categoryId":1,"status":"available","id":1}}
//! {"inventoryItem":{"petId":1,"quantity":1,"status":"available"}}
//! {"order":{"id":1,"petId":1,"quantity":1,"complete":true}}
//! ```

mod explain;
mod export;
#[cfg(test)]
mod fuzz;
mod import;
mod line;

pub(crate) use self::export::{RowSink, export, export_snapshot, unwritten, write_row};
pub(crate) use self::import::{END_LINE, End, ImportFailure, Imported, import};
