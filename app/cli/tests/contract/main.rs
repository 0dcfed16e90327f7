//! The contract in other programs: linters, generators of clients, importers, schemathesis, and the shell.
//!
//! A binary apart, since most of its tests need programs that `tests/tools/install` brings, and take minutes.

#[path = "../common/mod.rs"]
mod common;

mod clients;
mod imports;
mod linters;
mod samples;
mod schemathesis;
