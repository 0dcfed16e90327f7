//! Requests without a valid key, counted by peer address in a table of fixed size.

use std::collections::BTreeMap;
use std::net::IpAddr;

use petstore_domain::{Limit, Timestamp, Window, WindowKind};
use petstore_ports::{AddressVerdict, Cost};

/// The counts of one minute. The number of the minute never decreases, and a later minute begins with an empty table.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    number: u32,
    counts: BTreeMap<u128, u32>,
    /// The shared count of the addresses that have no separate count, because the table was full at their first
    /// request.
    overflow: u32,
}

impl Addresses {
    /// The maximum number of addresses that have a separate count.
    const MAX: usize = 4_096;

    pub(super) fn take(
        &mut self,
        address: IpAddr,
        limit: Limit,
        cost: Cost,
        now: Timestamp,
        wide: bool,
    ) -> AddressVerdict {
        let number = WindowKind::Minute.number_at(now);
        if number > self.number {
            *self = Self { number, ..Self::default() };
        }
        let place = if wide { address_bits(address) } else { peer(address) };
        let full = self.counts.len() >= Self::MAX && !self.counts.contains_key(&place);
        let used = if full { &mut self.overflow } else { self.counts.entry(place).or_default() };
        let window = Window::new(self.number, *used);
        let (admitted, after) = match window.take(limit) {
            Some(after) if cost == Cost::One => (true, after),
            Some(_) => (true, window),
            None => (cost == Cost::Nothing, window),
        };
        *used = after.used();
        AddressVerdict { admitted, usage: after.usage(WindowKind::Minute, limit) }
    }

    /// The bug [`super::Bug::AddressesForgotten`].
    pub(super) fn forget_if_full(&mut self) {
        if self.counts.len() >= Self::MAX {
            self.counts.clear();
        }
    }
}

/// The key of a peer in the table: an IPv4 address, even if the peer's address is mapped into IPv6, or the /64 network
/// that one IPv6 subscriber usually has.
fn peer(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(_) => address_bits(address),
        IpAddr::V6(_) => address_bits(address) >> 64 << 64,
    }
}

/// All bits of an address. An IPv4 address is mapped into IPv6; no routed /64 network can equal a mapped address.
fn address_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => four.to_ipv6_mapped().to_bits(),
        IpAddr::V6(six) => six.to_bits(),
    }
}
