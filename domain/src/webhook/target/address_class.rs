//! The class of an address: public, or one of the special-purpose ranges.
//!
//! The ranges are those of IANA's registries for IPv4 and IPv6 (RFC 6890 and its successors), and multicast. Of IPv6
//! only 2000::/3 is assigned to public hosts, so everything outside it is special, too. Addresses in the registries
//! that are reachable from anywhere, such as those of AS112, belong to services that take no webhooks, so they are
//! special.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use self::AddressClass::{LinkLocal, Loopback, Private, Special};

/// The class of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// An address that is routed on the Internet.
    Public,
    /// The machine itself: 127.0.0.0/8 and ::1.
    Loopback,
    /// A private network: RFC 1918, or the unique local addresses of IPv6.
    Private,
    /// The link of the machine. 169.254.169.254, which answers with the credentials of a cloud machine, is one of them.
    LinkLocal,
    /// Any other range for a special purpose: multicast, documentation, transition mechanisms, reserved addresses.
    Special,
}

impl AddressClass {
    /// Returns the class of an address. An IPv4 address inside an IPv6 address has its own class if packets to the IPv6
    /// address reach it: mapped addresses (`::ffff:0:0/96`) and those of NAT64 (`64:ff9b::/96`).
    ///
    /// ```
    /// use petstore_domain::AddressClass;
    ///
    /// let class = |text: &str| AddressClass::of(text.parse().unwrap());
    /// assert_eq!(class("1.1.1.1"), AddressClass::Public);
    /// assert_eq!(class("169.254.169.254"), AddressClass::LinkLocal);
    /// assert_eq!(class("::ffff:10.0.0.1"), AddressClass::Private);
    /// ```
    pub fn of(address: IpAddr) -> Self {
        match reached(address) {
            IpAddr::V4(address) => class_of(&IPV4, address.to_bits(), 32).unwrap_or(Self::Public),
            IpAddr::V6(address) if !is_within(address.to_bits(), GLOBAL_UNICAST.to_bits(), 3, 128) => {
                class_of(&IPV6_LOCAL, address.to_bits(), 128).unwrap_or(Self::Special)
            }
            IpAddr::V6(address) => class_of(&IPV6, address.to_bits(), 128).unwrap_or(Self::Public),
        }
    }
}

/// Returns the address that packets reach: the IPv4 address inside a mapped address or an address of NAT64.
pub(super) fn reached(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => match v6.segments() {
            [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                IpAddr::V4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
            }
            _ => address,
        },
        IpAddr::V4(_) => address,
    }
}

const GLOBAL_UNICAST: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);

/// A range: its first address, its prefix, and its class.
type Range<A> = (A, u32, AddressClass);

const fn v4(a: u8, b: u8, c: u8, prefix: u32, class: AddressClass) -> Range<u32> {
    (Ipv4Addr::new(a, b, c, 0).to_bits(), prefix, class)
}

const fn v6(a: u16, b: u16, c: u16, prefix: u32, class: AddressClass) -> Range<u128> {
    (Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0).to_bits(), prefix, class)
}

/// The special ranges of IPv4.
const IPV4: [Range<u32>; 18] = [
    v4(0, 0, 0, 8, Special),
    v4(10, 0, 0, 8, Private),
    // Shared by the customers of a provider (RFC 6598).
    v4(100, 64, 0, 10, Special),
    v4(127, 0, 0, 8, Loopback),
    v4(169, 254, 0, 16, LinkLocal),
    v4(172, 16, 0, 12, Private),
    v4(192, 0, 0, 24, Special),
    v4(192, 0, 2, 24, Special),
    v4(192, 31, 196, 24, Special),
    v4(192, 52, 193, 24, Special),
    v4(192, 88, 99, 24, Special),
    v4(192, 168, 0, 16, Private),
    v4(192, 175, 48, 24, Special),
    // Measurements of devices (RFC 2544).
    v4(198, 18, 0, 15, Special),
    v4(198, 51, 100, 24, Special),
    v4(203, 0, 113, 24, Special),
    // Multicast.
    v4(224, 0, 0, 4, Special),
    // Reserved, and the broadcast address.
    v4(240, 0, 0, 4, Special),
];

/// The special ranges within 2000::/3.
const IPV6: [Range<u128>; 5] = [
    // Protocol assignments, and within them Teredo, which holds IPv4 addresses.
    v6(0x2001, 0, 0, 23, Special),
    v6(0x2001, 0xdb8, 0, 32, Special),
    // 6to4, which holds IPv4 addresses.
    v6(0x2002, 0, 0, 16, Special),
    v6(0x2620, 0x4f, 0x8000, 48, Special),
    v6(0x3fff, 0, 0, 20, Special),
];

/// The ranges outside 2000::/3 that are not merely special.
const IPV6_LOCAL: [Range<u128>; 3] = [
    (Ipv6Addr::LOCALHOST.to_bits(), 128, Loopback),
    v6(0xfc00, 0, 0, 7, Private),
    v6(0xfe80, 0, 0, 10, LinkLocal),
];

fn class_of<A: Copy + Into<u128>>(ranges: &[Range<A>], address: A, bits: u32) -> Option<AddressClass> {
    let within = |(first, prefix, _): &&Range<A>| is_within(address.into(), (*first).into(), *prefix, bits);
    ranges.iter().find(within).map(|(_, _, class)| *class)
}

/// Returns whether two addresses of this many bits have the same prefix.
pub(super) fn is_within(address: u128, first: u128, prefix: u32, bits: u32) -> bool {
    (address ^ first).checked_shr(bits - prefix).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(text: &str) -> AddressClass {
        AddressClass::of(text.parse().unwrap())
    }

    /// Each range of IANA's registries by its first and its last address.
    #[test]
    fn both_ends_of_every_special_range_have_its_class() {
        for (first, last, expected) in [
            ("0.0.0.0", "0.255.255.255", Special),
            ("10.0.0.0", "10.255.255.255", Private),
            ("100.64.0.0", "100.127.255.255", Special),
            ("127.0.0.0", "127.255.255.255", Loopback),
            ("169.254.0.0", "169.254.255.255", LinkLocal),
            ("172.16.0.0", "172.31.255.255", Private),
            ("192.0.0.0", "192.0.0.255", Special),
            ("192.0.2.0", "192.0.2.255", Special),
            ("192.31.196.0", "192.31.196.255", Special),
            ("192.52.193.0", "192.52.193.255", Special),
            ("192.88.99.0", "192.88.99.255", Special),
            ("192.168.0.0", "192.168.255.255", Private),
            ("192.175.48.0", "192.175.48.255", Special),
            ("198.18.0.0", "198.19.255.255", Special),
            ("198.51.100.0", "198.51.100.255", Special),
            ("203.0.113.0", "203.0.113.255", Special),
            ("224.0.0.0", "239.255.255.255", Special),
            ("240.0.0.0", "255.255.255.255", Special),
            ("::", "::", Special),
            ("::1", "::1", Loopback),
            ("::2", "::fffe:ffff:ffff", Special),
            ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", Special),
            ("100::", "100::ffff:ffff:ffff:ffff", Special),
            ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", Special),
            ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", Special),
            ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Special),
            ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special),
            ("2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", Special),
            ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", Special),
            ("4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special),
            ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special),
            ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Private),
            ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", LinkLocal),
            ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special),
            ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special),
        ] {
            assert_eq!((class(first), class(last)), (expected, expected), "{first} to {last}");
        }
    }

    #[test]
    fn the_neighbours_of_special_ranges_are_public() {
        for public in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7:ffff::",
            "2001:db9::",
            "2003::",
            "2606:4700::1111",
            "2620:4f:7fff:ffff::",
            "2620:4f:8001::",
            "3ffe:ffff::",
            "3fff:1000::",
        ] {
            assert_eq!(class(public), AddressClass::Public, "{public}");
        }
    }

    #[test]
    fn an_ipv4_address_within_ipv6_has_its_own_class() {
        for prefix in ["::ffff:", "64:ff9b::"] {
            for (inner, expected) in [
                ("127.0.0.1", Loopback),
                ("10.1.2.3", Private),
                ("169.254.169.254", LinkLocal),
                ("0.0.0.0", Special),
                ("100.64.0.1", Special),
                ("1.1.1.1", AddressClass::Public),
            ] {
                assert_eq!(class(&format!("{prefix}{inner}")), expected, "{prefix}{inner}");
            }
        }
        // Compatible addresses, translated ones with a prefix of the network, 6to4 and Teredo are refused as a whole.
        for outer in [
            "::8.8.8.8",
            "::127.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "2002:808:808::1",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
        ] {
            assert_eq!(class(outer), Special, "{outer}");
        }
        assert_eq!(class("::ffff:0:127.0.0.1"), Special, "translated addresses (RFC 2765)");
    }
}
