//! Counts of requests without a valid key by client address, in a table of fixed size.

use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::quality::RandomState;
use parking_lot::Mutex;
use petstore_domain::{Limit, Timestamp, Window, WindowKind};
use petstore_ports::{AddressVerdict, Cost};

use crate::directory::Directory;

/// Number of sets of the table. It bounds the memory of the table, however many addresses send requests.
const SETS: u32 = 16_384;

/// Number of addresses of a set: the associativity.
const WAYS: usize = 4;

/// Counts of the requests of each address in the current minute, in a set-associative table.
///
/// If all entries of a set are used, a new address replaces the one with the lowest count, and inherits that count.
/// Within a minute the lowest count of a set never falls. So an address that was replaced and comes back inherits at
/// least its own earlier count, and is not admitted more often than the limit. The disadvantage is that an address may
/// be refused too early.
pub(crate) struct Addresses {
    sets: Directory<Mutex<Set>>,
    /// The hasher is seeded at random for each table, so that clients cannot choose addresses that collide in one set.
    hasher: RandomState,
}

#[derive(Default)]
struct Set([Entry; WAYS]);

/// The count of one address, with its minute. Each entry has a separate minute. If a set had one minute, a client could
/// detect the other addresses of its set when the clock steps.
#[derive(Default, Clone, Copy)]
struct Entry {
    /// The upper half of the address's hash. The lower half selects the set.
    tag: u32,
    /// The minute and the count. A free entry has an unused window.
    window: Window,
}

impl Addresses {
    pub(crate) fn new() -> Self {
        Self { sets: Directory::new(), hasher: RandomState::default() }
    }

    /// Decides whether to admit a request. An admitted request is counted, unless it costs nothing.
    pub(crate) fn take(&self, address: IpAddr, limit: Limit, cost: Cost, now: Timestamp) -> AddressVerdict {
        let hash = self.hasher.hash_one(network_of(address));
        let number = u32::try_from(hash % u64::from(SETS)).expect("below the number of sets");
        let tag = u32::try_from(hash >> 32).expect("the upper half of a word");
        let mut set = self.sets.entry(number).lock();
        set.take(tag, limit, cost, WindowKind::Minute.number_at(now))
    }

    pub(crate) fn clear(&self) {
        for set in (0..SETS).filter_map(|number| self.sets.find(number)) {
            *set.lock() = Set::default();
        }
    }
}

impl Set {
    fn take(&mut self, tag: u32, limit: Limit, cost: Cost, minute: u32) -> AddressVerdict {
        let entry = self.entry_of(tag, minute);
        let window = entry.window.at(minute);
        let taken = if cost == Cost::One { window.take(limit) } else { None };
        if let Some(window) = taken {
            *entry = Entry { tag, window };
        }
        AddressVerdict {
            admitted: taken.is_some() || cost == Cost::Nothing,
            usage: taken.unwrap_or(window).usage(WindowKind::Minute, limit),
        }
    }

    /// Returns the entry of the address. If the address has no entry, returns the entry to replace. This is the entry
    /// with the lowest count and, of several such entries, the one with the oldest minute.
    fn entry_of(&mut self, tag: u32, minute: u32) -> &mut Entry {
        let own = self.0.iter().position(|entry| entry.tag == tag && entry.window.used() > 0);
        let place = own.unwrap_or_else(|| {
            let worth = |place: &usize| {
                let window = self.0[*place].window;
                (window.at(minute).used(), window.number())
            };
            (0..WAYS).min_by_key(worth).expect("a set has entries")
        });
        &mut self.0[place]
    }
}

/// Returns the unit for which requests are counted. This is an IPv4 address, which may be IPv4-mapped, or the /64
/// network of an IPv6 address. An IPv6 address itself is not counted, because the owner of a /64 network can choose the
/// other half of the address freely.
fn network_of(address: IpAddr) -> (bool, u64) {
    match address.to_canonical() {
        IpAddr::V4(address) => (false, u64::from(address.to_bits())),
        IpAddr::V6(address) => (true, u64::try_from(address.to_bits() >> 64).expect("the upper half")),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const LIMIT: Limit = Limit::new(3).unwrap();

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(1_900_000_000_000 + secs * 1_000).unwrap()
    }

    fn v4(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(number))
    }

    fn v6(address: &str) -> IpAddr {
        IpAddr::V6(address.parse::<Ipv6Addr>().unwrap())
    }

    /// The number of requests that are admitted.
    fn admitted(addresses: &Addresses, address: IpAddr, requests: u32, now: Timestamp) -> u32 {
        (0..requests).map(|_| u32::from(addresses.take(address, LIMIT, Cost::One, now).admitted)).sum()
    }

    #[test]
    fn an_address_is_admitted_its_limit_in_each_minute() {
        let addresses = Addresses::new();
        for minute in [0, 60, 120] {
            assert_eq!(admitted(&addresses, v4(1), 10, at(minute)), 3);
            assert_eq!(admitted(&addresses, v4(2), 1, at(minute)), 1);
        }
    }

    #[test]
    fn a_clock_that_steps_back_admits_no_extra_request() {
        let addresses = Addresses::new();
        assert_eq!(admitted(&addresses, v4(1), 10, at(60)), 3);
        assert_eq!(admitted(&addresses, v4(1), 10, at(0)), 0);
        assert_eq!(addresses.take(v4(1), LIMIT, Cost::One, at(0)).usage.reset_secs % 60, 0);
    }

    #[test]
    fn each_address_of_a_set_has_its_own_minute() {
        let mut set = Set::default();
        let mut left = |tag, minute| set.take(tag, LIMIT, Cost::One, minute).usage;
        assert_eq!(left(1, 8).remaining, 2);
        // The clock is ahead when the second address sends a request. It is back when the first address sends another
        // one.
        assert_eq!(left(2, 9).remaining, 2);
        let again = left(1, 8);
        assert_eq!((again.remaining, again.reset_secs), (1, 9 * 60));
        // Free entries are taken first, then the entry whose minute is the oldest.
        assert_eq!((left(3, 9).remaining, left(4, 9).remaining, left(5, 9).remaining), (2, 2, 2));
        assert_eq!((left(1, 8).remaining, left(2, 9).remaining), (1, 1), "the first address was replaced");
    }

    #[test]
    fn a_request_that_costs_nothing_is_admitted_and_not_counted() {
        let addresses = Addresses::new();
        for left in [3, 2, 1, 0] {
            let verdict = addresses.take(v4(1), LIMIT, Cost::Nothing, at(0));
            assert_eq!((verdict.admitted, verdict.usage.remaining), (true, left));
            addresses.take(v4(1), LIMIT, Cost::One, at(0));
        }
    }

    #[test]
    fn a_network_counts_as_one_address_and_an_ipv4_mapped_address_as_ipv4() {
        let addresses = Addresses::new();
        assert_eq!(admitted(&addresses, v6("2001:db8::1"), 2, at(0)), 2);
        assert_eq!(admitted(&addresses, v6("2001:db8::ffff:2"), 2, at(0)), 1);
        assert_eq!(admitted(&addresses, v6("2001:db8:0:1::1"), 2, at(0)), 2);
        assert_eq!(admitted(&addresses, v6("::ffff:10.0.0.1"), 2, at(0)), 2);
        assert_eq!(admitted(&addresses, v4(0x0A00_0001), 2, at(0)), 1);
    }

    #[test]
    fn a_full_table_admits_no_address_more_than_its_limit_and_is_empty_in_the_next_minute() {
        let addresses = Addresses::new();
        let places = SETS * u32::try_from(WAYS).unwrap();
        let mut counts = vec![0; places as usize * 2];
        for _ in 0..4 {
            for (count, number) in counts.iter_mut().zip(0..) {
                *count += admitted(&addresses, v4(number), 1, at(0));
            }
        }
        assert!(counts.iter().all(|count| *count <= LIMIT.get()));
        // The table has half as many entries as addresses, and all entries are used.
        assert!(counts.iter().sum::<u32>() > places * LIMIT.get() * 9 / 10);
        assert_eq!(admitted(&addresses, v4(u32::MAX), 10, at(60)), 3);
    }

    #[test]
    fn threads_at_one_address_are_admitted_exactly_its_limit() {
        let addresses = Addresses::new();
        let sum: u32 = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| admitted(&addresses, v4(1), 100, at(0)))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(sum, 3);
    }
}
