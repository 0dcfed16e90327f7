//! Requests without a valid key: counted by address, in a table of bounded size.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use petstore_domain::{Limit, Timestamp};
use petstore_ports::{AddressVerdict, Cost};

use crate::Subject;
use crate::make::at;
use crate::together::together;

/// The number of requests a minute that these cases permit to an address.
const LIMIT: u32 = 30;

/// The number of addresses of the flood. A table of bounded size does not hold that many.
const FLOOD: u32 = 100_000;

/// Concurrent callers of the flood. A single caller would take minutes on a store whose calls take a millisecond each.
const FLOODERS: u32 = 32;

impl Subject {
    async fn address(&self, address: IpAddr, cost: Cost, now: Timestamp) -> AddressVerdict {
        let limit = Limit::new(LIMIT).expect("a limit");
        let verdict = self.addresses.take_address(address, limit, cost, now).await;
        verdict.expect("a healthy store counts addresses")
    }

    /// Sends this many requests. Returns the number of admitted ones.
    async fn admitted(&self, address: IpAddr, times: u32, now: Timestamp) -> u32 {
        let mut admitted = 0;
        for _ in 0..times {
            admitted += u32::from(self.address(address, Cost::One, now).await.admitted);
        }
        admitted
    }
}

fn four(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(number))
}

fn six(network: u64, host: u64) -> IpAddr {
    IpAddr::V6(Ipv6Addr::from_bits(u128::from(network) << 64 | u128::from(host)))
}

/// An address is admitted exactly up to its limit in a minute. Each verdict has the number of requests left, and
/// addresses do not affect each other.
pub async fn an_address_has_a_limit(subject: &Subject) {
    for address in [four(0x0A00_0001), four(0x0A00_0002), six(0x2001_0DB8_0000_0001, 1)] {
        for left in (0..LIMIT).rev() {
            let verdict = subject.address(address, Cost::One, at(7)).await;
            let told =
                (verdict.admitted, verdict.usage.limit, verdict.usage.remaining, verdict.usage.reset_secs);
            assert_eq!(told, (true, LIMIT, left, at(60).as_secs()), "{address} is told how many are left");
        }
        for _ in 0..3 {
            let verdict = subject.address(address, Cost::One, at(59)).await;
            assert_eq!((verdict.admitted, verdict.usage.remaining), (false, 0), "{address} is used up");
        }
    }
}

/// The limit also holds with 32 concurrent callers.
pub async fn the_limit_of_an_address_holds_under_concurrency(subject: &Subject) {
    for round in 0..10 {
        let counts = together(32, |_| {
            let subject = subject.clone();
            async move { subject.admitted(four(0x0A00_0001 + round), 5, at(0)).await }
        })
        .await;
        assert_eq!(counts.into_iter().sum::<u32>(), LIMIT, "exactly the limit is admitted");
    }
}

/// The next minute has a new count. Neither a clock that steps back nor housekeeping grants requests.
pub async fn an_address_has_a_new_count_each_minute(subject: &Subject) {
    let address = four(0x0A00_0001);
    assert_eq!(subject.admitted(address, 40, at(600)).await, LIMIT);
    for secs in [599, 0, 659] {
        subject.keep_house(at(secs)).await;
        assert_eq!(subject.admitted(address, 3, at(secs)).await, 0, "a clock that steps back grants nothing");
    }
    assert_eq!(subject.admitted(address, 40, at(660)).await, LIMIT, "a minute later the count starts again");
}

/// The verdict on a free request has the number of requests left, and the request is not counted.
pub async fn a_free_request_counts_nothing_for_an_address(subject: &Subject) {
    let address = four(0x0A00_0001);
    for used in [0, 10] {
        assert_eq!(subject.admitted(address, used, at(0)).await, used);
        for _ in 0..50 {
            let verdict = subject.address(address, Cost::Nothing, at(0)).await;
            assert_eq!((verdict.admitted, verdict.usage.remaining), (true, LIMIT - used), "a look");
        }
    }
    assert_eq!(subject.admitted(address, 40, at(0)).await, LIMIT - 10, "a free request counts nothing");
    let verdict = subject.address(address, Cost::Nothing, at(0)).await;
    assert_eq!(
        (verdict.admitted, verdict.usage.remaining),
        (true, 0),
        "a free request is admitted when nothing is left"
    );
}

/// A client with an IPv6 /64 network has 2^64 addresses, which count as one address. An address in the next network
/// counts separately.
pub async fn a_network_of_ipv6_is_one_address(subject: &Subject) {
    let network = 0x2001_0DB8_0000_0001;
    let mut admitted = 0;
    for host in 0..100 {
        admitted += subject.admitted(six(network, host << 40 | 1), 1, at(0)).await;
    }
    assert_eq!(admitted, LIMIT, "a network of IPv6 is one address");
    assert_eq!(subject.admitted(six(network + 1, 1), 40, at(0)).await, LIMIT, "the next one is another");
    assert_eq!(subject.admitted(four(1), 40, at(0)).await, LIMIT, "and IPv4 is neither");
    assert_eq!(subject.admitted(six(0, 1), 40, at(0)).await, LIMIT);
    assert_eq!(
        subject.admitted(four(0), 40, at(0)).await,
        LIMIT,
        "an IPv4 address is another, also with equal bits"
    );
}

/// A listener for IPv4 and IPv6 reports an IPv4 address in the form of an IPv6 address. The store counts it as the IPv4
/// address, although all IPv6 addresses of this form are in one /64 network.
pub async fn an_ipv4_mapped_address_is_the_ipv4_address(subject: &Subject) {
    let written = |number| IpAddr::V6(Ipv4Addr::from_bits(number).to_ipv6_mapped());
    for number in [0x0A00_0001, 0x0A00_0002] {
        assert_eq!(subject.admitted(written(number), 40, at(0)).await, LIMIT, "each has its own count");
        assert_eq!(subject.admitted(four(number), 1, at(0)).await, 0, "which is that of the address");
    }
}

/// No address is admitted above its limit, however many addresses flood the table. This holds for addresses from before
/// the flood and for a repeated address of the flood.
pub async fn a_flood_of_addresses_grants_no_extra_requests(subject: &Subject) {
    let early = four(0xC0A8_0001);
    let before = subject.admitted(early, LIMIT - 1, at(0)).await;
    let meanwhile = together(FLOODERS as usize, |flooder| {
        let (subject, first) = (subject.clone(), u32::try_from(flooder).expect("one of a few"));
        async move {
            let mut admitted = 0;
            for number in (first..FLOOD).step_by(FLOODERS as usize) {
                subject.address(four(0x0A00_0000 + number), Cost::One, at(0)).await;
                if number % 1_000 == 0 {
                    admitted += subject.admitted(early, 1, at(0)).await;
                }
            }
            admitted
        }
    });
    let admitted = before + meanwhile.await.into_iter().sum::<u32>();
    assert!(admitted <= LIMIT, "a flood grants no extra requests to an address: {admitted} of {LIMIT}");
    for number in (0..FLOOD).step_by(10_000) {
        let more = subject.admitted(four(0x0A00_0000 + number), 2 * LIMIT, at(0)).await;
        assert!(more < LIMIT, "an address of the flood was counted before: {more} more of {LIMIT}");
    }
    let late = subject.admitted(four(0xC0A8_0002), 2 * LIMIT, at(0)).await;
    assert!(late <= LIMIT, "a late address is admitted no more than others: {late}");
    assert_eq!(
        subject.admitted(four(0xC0A8_0003), 2 * LIMIT, at(60)).await,
        LIMIT,
        "a minute later the limit is as usual"
    );
}
