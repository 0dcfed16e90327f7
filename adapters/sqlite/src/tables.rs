//! The tables of records, one a file.

mod accounts;
mod categories;
mod keys;
mod orders;
mod outcome;
mod pets;
mod retries;
mod usage;

pub(crate) use keys::note_ban;
