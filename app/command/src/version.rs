//! The version of this build.

/// The version of the source code.
pub(crate) const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// The commit that was built; `unknown` if there was no repository.
pub(crate) const COMMIT: &str = env!("BUILD_COMMIT");

/// The version and the commit, as `--version` prints them.
pub(crate) const LONG: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("BUILD_COMMIT"), ")");

/// The program's name, version and home, for the servers that it sends requests to.
pub(crate) fn user_agent() -> String {
    format!("petstore/{NUMBER} (+{})", env!("CARGO_PKG_REPOSITORY"))
}
