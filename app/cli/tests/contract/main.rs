//! The contract in other programs: linters, generators of clients, importers, schemathesis, and the shell.
//!
//! A separate binary, because most of its tests take minutes and need programs that `tests/tools/install` installs.

#[path = "../common/mod.rs"]
mod common;

mod clients;
mod imports;
mod linters;
mod samples;
mod schemathesis;
mod stream_clients;
