//! Requests in flight, counted for each account of this process.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use petstore_domain::AccountId;
use petstore_ports::api::{InFlight, InFlightCount};

/// Number of shards, each with a lock. Ids of accounts are dense, so most accounts do not share a shard. The number is
/// a power of two.
const SHARDS: u64 = 1_024;

/// Number of entries above which a shard drops an account whose last request in flight has ended. A busy account keeps
/// its entry.
const IDLE_MAX: usize = 4;

/// Counts the requests in flight of each account.
///
/// The size of the table depends on the number of requests in flight, and not on the number of accounts.
pub(crate) struct InFlightTable(Box<[Shard]>);

/// Aligned to a cache line, since accounts are counted on different cores.
#[derive(Default)]
#[repr(align(64))]
struct Shard(Mutex<Vec<Held>>);

struct Held {
    account: AccountId,
    requests: u32,
}

impl InFlightTable {
    pub(crate) fn new() -> Self {
        Self((0..SHARDS).map(|_| Shard::default()).collect())
    }

    /// Reserves a place for one more request of this account. Returns none if the account has `max` requests in flight.
    // Every request makes this call, and the tests of webhooks another one, for which the compiler would not inline it.
    #[expect(clippy::inline_always)]
    #[inline(always)]
    pub(crate) fn enter(&self, account: AccountId, max: u32) -> Option<InFlight<'_>> {
        let mut held = self.shard(account);
        match held.iter_mut().find(|one| one.account == account) {
            Some(one) if one.requests >= max => return None,
            Some(one) => one.requests += 1,
            None if max == 0 => return None,
            None => held.push(Held { account, requests: 1 }),
        }
        Some(InFlight::new(self, account))
    }

    fn shard(&self, account: AccountId) -> MutexGuard<'_, Vec<Held>> {
        let place = usize::try_from(account.get() % SHARDS).expect("below SHARDS");
        self.0[place].0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightCount for InFlightTable {
    fn leave(&self, account: AccountId) {
        let mut held = self.shard(account);
        let Some(place) = held.iter().position(|one| one.account == account) else { return };
        held[place].requests = held[place].requests.saturating_sub(1);
        if held[place].requests == 0 && held.len() > IDLE_MAX {
            held.swap_remove(place);
        }
    }
}

impl fmt::Debug for InFlightTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlightTable").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn account(id: u64) -> AccountId {
        AccountId::new(id).unwrap()
    }

    #[test]
    fn requests_in_flight_never_exceed_the_bound_and_all_places_are_released() {
        const MAX: u32 = 3;
        let table = InFlightTable::new();
        let (in_flight, most, admitted) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let Some(place) = table.enter(account(7), MAX) else { continue };
                        admitted.fetch_add(1, Ordering::SeqCst);
                        most.fetch_max(in_flight.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        in_flight.fetch_sub(1, Ordering::SeqCst);
                        drop(place);
                    }
                });
            }
        });
        assert!(admitted.into_inner() > 0 && most.into_inner() <= MAX);
        let places: Vec<_> = (0..10).filter_map(|_| table.enter(account(7), MAX)).collect();
        assert_eq!(places.len(), 3);
    }

    #[test]
    fn accounts_of_one_shard_are_counted_separately_and_idle_ones_take_no_memory() {
        let table = InFlightTable::new();
        let ids: Vec<_> = (0..100).map(|number| account(5 + number * SHARDS)).collect();
        let places: Vec<_> = ids.iter().map(|id| table.enter(*id, 1).expect("its only place")).collect();
        assert!(ids.iter().all(|id| table.enter(*id, 1).is_none()));
        drop(places);
        assert!(table.shard(ids[0]).len() <= IDLE_MAX);
        assert!(ids.iter().all(|id| table.enter(*id, 1).is_some()));
    }

    #[test]
    fn releasing_a_place_twice_makes_no_room() {
        let table = InFlightTable::new();
        drop(table.enter(account(1), 1));
        table.leave(account(1));
        let _one = table.enter(account(1), 1).expect("it is free");
        assert!(table.enter(account(1), 1).is_none());
        assert!(table.enter(account(2), 0).is_none(), "a bound of none admits none");
    }
}
