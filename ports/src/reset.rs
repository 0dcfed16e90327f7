//! The reset of a store, for tests and sandboxes. A store in production is never reset.

use std::sync::Arc;

use crate::{Row, StoreError};

/// A store that can be reset.
///
/// An implementation must keep these rules, which the suite in `petstore-tests` tests:
/// - A reset is atomic, also on disk: each operation runs before or after it, and a power cut leaves the state before
///   or the state after it. Concurrent reads may find the shop empty.
/// - Accounts and keys stay. Everything else is removed: the shop, the answers that are stored for retries, usage,
///   strikes and bans. Bans that are in force but not recorded yet are removed too: if a
///   [`BanKey`](petstore_domain::BanKey) for such a ban runs later, it has no effect.
///
/// A store in memory whose state is behind one lock:
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use petstore_domain::{Account, KeyRecord};
/// use petstore_ports::{Resettable, Row, StoreError};
///
/// struct ShopState {
///     accounts: Vec<Account>,
///     keys: Vec<KeyRecord>,
///     shop: Arc<[Row]>,
///     epoch: u64,
/// }
///
/// struct Store(Mutex<ShopState>);
///
/// impl Resettable for Store {
///     fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError> {
///         // Under one lock, so that no transition runs between the two.
///         let mut state = self.0.lock().unwrap();
///         forget_bans(&mut state.keys);
///         (state.shop, state.epoch) = (shop, epoch);
///         Ok(())
///     }
///
///     fn forget_usage(&self) -> Result<(), StoreError> {
///         forget_bans(&mut self.0.lock().unwrap().keys);
///         Ok(())
///     }
/// }
///
/// fn forget_bans(keys: &mut [KeyRecord]) {
///     keys.iter_mut().for_each(KeyRecord::forget_ban);
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Resettable: Send + Sync {
    /// Replaces the shop by the categories, pets and orders in `shop`, which come in this order. Sets the epoch to
    /// `epoch`. The next id of each kind is one more than the highest id in the rows, or 1 if there is none. The ids of
    /// pets that only an order names count, too. Blocks until the reset is done.
    ///
    /// # Errors
    /// After [`StoreErrorKind::Indeterminate`](crate::StoreErrorKind::Indeterminate) the reset may have happened, with
    /// this epoch. After any other error nothing has changed: [`StoreErrorKind::Corrupt`](crate::StoreErrorKind::Corrupt) if the
    /// rows contradict each other, [`StoreErrorKind::Busy`](crate::StoreErrorKind::Busy) while an import or an export runs,
    /// [`StoreErrorKind::Unavailable`](crate::StoreErrorKind::Unavailable) if the disk fails.
    fn reset(&self, shop: Arc<[Row]>, epoch: u64) -> Result<(), StoreError>;

    /// Forgets usage, strikes and bans. New windows begin, even if the time is now before the windows that were in
    /// use. Blocks until it is done.
    ///
    /// # Errors
    /// [`StoreErrorKind::Busy`](crate::StoreErrorKind::Busy) while an import or an export runs, and
    /// [`StoreErrorKind::Unavailable`](crate::StoreErrorKind::Unavailable) if the disk fails: then nothing has changed. After
    /// [`StoreErrorKind::Indeterminate`](crate::StoreErrorKind::Indeterminate) it may have happened.
    fn forget_usage(&self) -> Result<(), StoreError>;
}
