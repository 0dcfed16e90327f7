//! The parts that connections to PostgreSQL and to Redis share. None of them knows a protocol.
//!
//! - [`Batcher`]: the requests of one turn of a runtime are sent together; [`ByRuntime`] keeps one for each runtime.
//! - [`Replaceable`]: a connection that one caller opens for all, and that is replaced after a failure. [`Backoff`] has the
//!   waits between attempts, and [`share`] the time of one address among several.
//! - [`TargetError`] and the functions beside it: a URL, and its form without the password.
//! - [`client_config`] and [`Roots`]: TLS, and the certificates that it needs.

mod backoff;
mod batcher;
mod by_runtime;
mod random;
mod replaceable;
mod tls;
mod url;

pub use backoff::{Backoff, Waits, share};
pub use batcher::{BATCH_MAX, Batcher, Exchange, Waiting};
pub use by_runtime::ByRuntime;
pub use random::Random;
pub use replaceable::Replaceable;
pub use tls::{CertificateRule, Presented, Roots, Verification, client_config, client_config_by};
pub use url::{
    TargetError, after_scheme, check_encoded, decoded, host_and_port, is_this_machine, user_without_password,
};
