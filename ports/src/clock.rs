//! The time of day, as a port.

use petstore_domain::Timestamp;

/// Tells the time of day.
///
/// ```
/// use std::time::{SystemTime, UNIX_EPOCH};
/// use petstore_domain::Timestamp;
/// use petstore_ports::Clock;
///
/// struct SystemClock;
///
/// impl Clock for SystemClock {
///     fn now(&self) -> Timestamp {
///         Timestamp::EPOCH.plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
///     }
/// }
///
/// assert!(SystemClock.now() > Timestamp::EPOCH);
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Clock: Send + Sync {
    /// The current time. It may step back, so the order of events must not depend on it.
    fn now(&self) -> Timestamp;
}
