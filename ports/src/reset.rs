//! The reset of a store, for tests and sandboxes. A store in production is never reset.

use std::sync::Arc;

use crate::{Row, StoreError};

/// A store that can be reset.
///
/// An implementation must keep these, and `petstore-tests` proves them:
/// - It is one step, also on disk: a transition runs before or after it, and a power cut leaves what was before or what is
///   after. Reads of the same moment may find the shop empty.
/// - Accounts and keys stay. All else goes: the shop, answers that are kept for retries, usage, strikes and bans, among them
///   bans that are in force and not recorded yet: a [`BanKey`](petstore_domain::BanKey) of one of these that runs later has
///   no effect.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Resettable: Send + Sync {
    /// Replaces the shop by these categories, pets and orders, which come in this order, and the epoch by this one. The next id
    /// of each kind is one more than the highest of them, including pets that only an order names, and 1 if there is none.
    /// Blocks until it is done.
    ///
    /// # Errors
    /// After [`StoreErrorKind::Indeterminate`](crate::StoreErrorKind::Indeterminate) it may turn out to have happened, with
    /// this epoch. After any other nothing has changed: [`StoreErrorKind::Corrupt`](crate::StoreErrorKind::Corrupt) if the
    /// rows contradict each other, [`StoreErrorKind::Busy`](crate::StoreErrorKind::Busy) while an import or an export goes
    /// on, [`StoreErrorKind::Unavailable`](crate::StoreErrorKind::Unavailable) if the disk fails.
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError>;

    /// Forgets usage, strikes and bans, so that new windows begin, even at a time before the windows that were used. Blocks
    /// until it is done.
    ///
    /// # Errors
    /// [`StoreErrorKind::Busy`](crate::StoreErrorKind::Busy) while an import or an export goes on, and
    /// [`StoreErrorKind::Unavailable`](crate::StoreErrorKind::Unavailable) if the disk fails: then nothing has changed. After
    /// [`StoreErrorKind::Indeterminate`](crate::StoreErrorKind::Indeterminate) it may turn out to have happened.
    fn forget_usage(&self) -> Result<(), StoreError>;
}
