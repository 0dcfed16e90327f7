//! Exceptions from the address policy: hosts and networks that an operator permits.

use std::net::IpAddr;

use super::address_class::{is_within, reached};
use super::url::is_dns_name;

/// A host or a network that webhooks may go to although its addresses are not public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetException {
    /// A DNS name in lower case. Its loopback and private addresses are permitted, and no others: link-local addresses,
    /// such as 169.254.169.254, are permitted by a network only.
    Host(String),
    /// All addresses of a network.
    Network(TargetNetwork),
}

/// A text that names neither a host nor a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a host such as hooks.internal, or a network such as 10.0.0.0/8 or ::1")]
pub struct TargetExceptionError;

impl TargetException {
    /// Parses a host name, an address or a network in CIDR notation.
    ///
    /// ```
    /// use petstore_domain::TargetException;
    ///
    /// assert!(matches!(TargetException::parse("Hooks.Internal"), Ok(TargetException::Host(host)) if host == "hooks.internal"));
    /// assert!(matches!(TargetException::parse("10.0.0.0/8"), Ok(TargetException::Network(_))));
    /// assert!(TargetException::parse("http://hooks.internal").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, TargetExceptionError> {
        if let Some(network) = TargetNetwork::parse(text) {
            return Ok(Self::Network(network));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if is_dns_name(&name) { Ok(Self::Host(name)) } else { Err(TargetExceptionError) }
    }
}

/// An address, or a network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetNetwork {
    /// The first address as bits: those of an IPv4 address are the lowest 32.
    first: u128,
    is_v4: bool,
    prefix: u32,
}

impl TargetNetwork {
    /// Parses a network such as `10.0.0.0/8` or `fd00::/8`, or a single address. A network of mapped addresses
    /// (`::ffff:0:0/96`) is one of IPv4.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let is_number = |prefix: &str| prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix: u32 = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|length| *length <= bits && is_number(prefix))?,
            None => bits,
        };
        match (address, address.to_canonical()) {
            (IpAddr::V6(_), IpAddr::V4(inner)) => {
                Some(Self { first: inner.to_bits().into(), is_v4: true, prefix: prefix.checked_sub(96)? })
            }
            (IpAddr::V4(address), _) => Some(Self { first: address.to_bits().into(), is_v4: true, prefix }),
            (IpAddr::V6(address), _) => Some(Self { first: address.to_bits(), is_v4: false, prefix }),
        }
    }

    /// Returns whether an address belongs to the network. An IPv4 address inside a mapped address or an address of NAT64
    /// belongs to the networks of IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match reached(address) {
            IpAddr::V4(inner) if self.is_v4 => is_within(inner.to_bits().into(), self.first, self.prefix, 32),
            _ => match address {
                IpAddr::V6(address) if !self.is_v4 => {
                    is_within(address.to_bits(), self.first, self.prefix, 128)
                }
                _ => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_with_its_prefix() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.4"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("::1", "::1", "::2"),
            ("fd00::/8", "fdff::1", "fe80::1"),
            ("::/0", "2001::1", "127.0.0.1"),
            ("10.0.0.0/8", "::ffff:10.0.0.1", "::ffff:11.0.0.1"),
            ("10.0.0.0/8", "64:ff9b::10.0.0.1", "64:ff9b::11.0.0.1"),
            ("::ffff:10.0.0.0/104", "10.0.0.1", "11.0.0.1"),
            ("64:ff9b::/96", "64:ff9b::10.0.0.1", "10.0.0.1"),
            ("169.254.0.0/16", "169.254.169.254", "169.255.0.0"),
        ] {
            let parsed = TargetNetwork::parse(network).unwrap();
            assert!(parsed.contains(inside.parse().unwrap()), "{network} has {inside}");
            assert!(!parsed.contains(outside.parse().unwrap()), "{network} has not {outside}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            ".",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "::/129",
            "::ffff:10.0.0.0/95",
            "10.0.0/8",
            "127.1",
            "0x7f.1",
            "2130706433",
            "a b",
            "http://a",
            "a/b",
            "a:80",
            "*.internal",
            "ä.example",
            "-a.example",
        ] {
            assert_eq!(TargetException::parse(text), Err(TargetExceptionError), "{text:?}");
        }
    }
}
