//! What this build is.

/// The version of the sources.
pub(crate) const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// The commit that it was built from; `unknown` where there was no repository.
pub(crate) const COMMIT: &str = env!("BUILD_COMMIT");

/// Both, as `--version` prints them.
pub(crate) const LONG: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("BUILD_COMMIT"), ")");
