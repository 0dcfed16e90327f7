//! The time, from outside.

use petstore_domain::Timestamp;

/// Tells the time.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Clock: Send + Sync {
    /// The time now. It may step back: whoever depends on order must not depend on this.
    fn now(&self) -> Timestamp;
}
