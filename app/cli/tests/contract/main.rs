//! The contract in other programs: linters, readers of YAML, generators of clients, importers, schemathesis, and the shell.
//!
//! The tests are a separate binary, because most of them take minutes and need programs that `tests/tools/install`
//! installs.

#[path = "../common/mod.rs"]
mod common;

mod callbacks;
mod clients;
mod imports;
mod linters;
mod readers;
mod samples;
mod schemathesis;
mod stream_clients;
