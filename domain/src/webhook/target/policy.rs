//! The policy of targets: a URL is judged when it is set, and each address when a connection is made to it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::address_class::{AddressClass, reached};
use super::exception::TargetException;
use super::url::{Target, TargetHost};

/// The targets that webhooks may go to: public addresses over https, and the exceptions that an operator permits.
///
/// A name is judged by every address that it resolves to, each time that it is resolved, so a name that changes its address
/// leads nowhere else.
///
/// ```
/// use petstore_domain::{Target, TargetException, TargetPolicy, TargetRefusal};
///
/// let policy = TargetPolicy::new([TargetException::parse("hooks.internal").unwrap()]);
/// let hook = Target::parse("http://hooks.internal/pets").unwrap();
/// assert_eq!(policy.judge_url(&hook), Ok(()));
/// assert_eq!(policy.judge(&hook, "10.0.0.7".parse().unwrap()), Ok(()));
/// assert_eq!(policy.judge(&hook, "169.254.169.254".parse().unwrap()), Err(TargetRefusal::NotPublic));
///
/// let other = Target::parse("https://hooks.example/").unwrap();
/// assert_eq!(policy.judge(&other, "10.0.0.7".parse().unwrap()), Err(TargetRefusal::NotPublic));
/// ```
#[derive(Debug, Clone, Default)]
pub struct TargetPolicy {
    exceptions: Vec<TargetException>,
    own_listeners: Vec<SocketAddr>,
}

/// The reason why a webhook may not go to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TargetRefusal {
    /// The URL is one of http, and no exception permits that.
    #[error(
        "the URL must begin with https://; plain http is for addresses that the operator permits with the setting \
         webhook-allow"
    )]
    PlainHttp,
    /// The address is not public, and no exception permits it.
    #[error(
        "the host is this machine, or in a private or reserved network; the operator can permit it with the setting \
         webhook-allow"
    )]
    NotPublic,
    /// The address is one on which this server listens.
    #[error("the host and port are those of this server, which takes no webhooks")]
    OwnListener,
}

impl TargetPolicy {
    /// Returns the policy with these exceptions.
    pub fn new(exceptions: impl IntoIterator<Item = TargetException>) -> Self {
        Self { exceptions: exceptions.into_iter().collect(), own_listeners: Vec::new() }
    }

    /// Adds the addresses on which the server listens. No exception permits them.
    #[must_use]
    pub fn without_listeners(mut self, own: impl IntoIterator<Item = SocketAddr>) -> Self {
        self.own_listeners.extend(own);
        self
    }

    /// Judges a URL before its name is resolved, when it is set. A name passes unless all that it could resolve to is
    /// refused; its addresses are judged at each connection.
    ///
    /// # Errors
    /// [`TargetRefusal`]
    pub fn judge_url(&self, target: &Target) -> Result<(), TargetRefusal> {
        match target.host() {
            TargetHost::Address(address) => self.judge(target, *address),
            TargetHost::Name(name) if is_localhost(name) => {
                let v4 = self.judge(target, Ipv4Addr::LOCALHOST.into());
                v4.or_else(|refusal| self.judge(target, Ipv6Addr::LOCALHOST.into()).map_err(|_| refusal))
            }
            TargetHost::Name(name) => {
                let may_be_private = self.permits_host(name) || self.has_network();
                if target.is_secure() || may_be_private { Ok(()) } else { Err(TargetRefusal::PlainHttp) }
            }
        }
    }

    /// Judges an address of the target's host, before a connection is made to it.
    ///
    /// # Errors
    /// [`TargetRefusal`]
    pub fn judge(&self, target: &Target, address: IpAddr) -> Result<(), TargetRefusal> {
        if self.is_own(SocketAddr::new(address, target.port())) {
            return Err(TargetRefusal::OwnListener);
        }
        let class = AddressClass::of(address);
        if self.is_exception(target, address, class) {
            return Ok(());
        }
        match class {
            AddressClass::Public if target.is_secure() => Ok(()),
            AddressClass::Public => Err(TargetRefusal::PlainHttp),
            _ => Err(TargetRefusal::NotPublic),
        }
    }

    /// Judges the two ends of a connection that was just made. An address of this machine may be public, so it is not
    /// known to be one of a listener before the connection shows it.
    ///
    /// # Errors
    /// [`TargetRefusal::OwnListener`]
    pub fn judge_connection(&self, own: SocketAddr, peer: SocketAddr) -> Result<(), TargetRefusal> {
        let is_here = reached(own.ip()) == reached(peer.ip());
        let listens =
            |listener: &SocketAddr| listener.port() == peer.port() && listener.ip().is_unspecified();
        if is_here && self.own_listeners.iter().any(listens) {
            Err(TargetRefusal::OwnListener)
        } else {
            Ok(())
        }
    }

    fn is_exception(&self, target: &Target, address: IpAddr, class: AddressClass) -> bool {
        self.exceptions.iter().any(|exception| match (exception, target.host()) {
            (TargetException::Network(network), _) => network.contains(address),
            (TargetException::Host(permitted), TargetHost::Name(name)) => {
                permitted == name && matches!(class, AddressClass::Loopback | AddressClass::Private)
            }
            (TargetException::Host(_), TargetHost::Address(_)) => false,
        })
    }

    /// Returns whether the server listens at an address. A listener without an address listens on all of the machine,
    /// the loopback addresses among them.
    fn is_own(&self, to: SocketAddr) -> bool {
        let address = reached(to.ip());
        let is_of_machine = address.is_loopback() || address.is_unspecified();
        self.own_listeners.iter().any(|own| {
            let listener = reached(own.ip());
            own.port() == to.port() && (listener == address || listener.is_unspecified() && is_of_machine)
        })
    }

    fn permits_host(&self, name: &str) -> bool {
        self.exceptions
            .iter()
            .any(|exception| matches!(exception, TargetException::Host(host) if host == name))
    }

    fn has_network(&self) -> bool {
        self.exceptions.iter().any(|exception| matches!(exception, TargetException::Network(_)))
    }
}

/// Returns whether a name always stands for the loopback address (RFC 6761, section 6.3).
fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::TargetRefusal::{NotPublic, OwnListener, PlainHttp};
    use super::*;

    fn policy(exceptions: &[&str]) -> TargetPolicy {
        TargetPolicy::new(exceptions.iter().map(|text| TargetException::parse(text).unwrap()))
    }

    fn judge(policy: &TargetPolicy, url: &str, address: &str) -> Result<(), TargetRefusal> {
        policy.judge(&Target::parse(url).unwrap(), address.parse().unwrap())
    }

    #[test]
    fn only_public_addresses_over_https_pass_without_exceptions() {
        let strict = TargetPolicy::default();
        for (url, address, expected) in [
            ("https://a.example/", "1.1.1.1", Ok(())),
            ("https://a.example/", "2606:4700::1111", Ok(())),
            ("https://a.example/", "64:ff9b::1.1.1.1", Ok(())),
            ("http://a.example/", "1.1.1.1", Err(PlainHttp)),
            ("https://a.example/", "127.0.0.1", Err(NotPublic)),
            ("https://a.example/", "10.0.0.1", Err(NotPublic)),
            ("https://a.example/", "169.254.169.254", Err(NotPublic)),
            ("https://a.example/", "::ffff:169.254.169.254", Err(NotPublic)),
            ("https://a.example/", "64:ff9b::169.254.169.254", Err(NotPublic)),
            ("https://a.example/", "fd00:ec2::254", Err(NotPublic)),
            ("https://a.example/", "0.0.0.0", Err(NotPublic)),
            ("https://a.example/", "::", Err(NotPublic)),
            ("http://a.example/", "10.0.0.1", Err(NotPublic)),
        ] {
            assert_eq!(judge(&strict, url, address), expected, "{url} at {address}");
        }
    }

    #[test]
    fn a_host_permits_its_private_addresses_and_plain_http_to_them() {
        let policy = policy(&["hooks.internal"]);
        for (address, expected) in [
            ("127.0.0.1", Ok(())),
            ("::1", Ok(())),
            ("10.0.0.1", Ok(())),
            ("fd00::1", Ok(())),
            ("::ffff:192.168.0.1", Ok(())),
            ("169.254.169.254", Err(NotPublic)),
            ("fe80::1", Err(NotPublic)),
            ("100.64.0.1", Err(NotPublic)),
            ("0.0.0.0", Err(NotPublic)),
            ("224.0.0.1", Err(NotPublic)),
            ("1.1.1.1", Err(PlainHttp)),
        ] {
            assert_eq!(judge(&policy, "http://hooks.internal/", address), expected, "{address}");
        }
        assert_eq!(judge(&policy, "https://Hooks.Internal./", "10.0.0.1"), Ok(()), "another spelling");
        assert_eq!(judge(&policy, "https://hooks.internal/", "1.1.1.1"), Ok(()));
        assert_eq!(judge(&policy, "https://a.hooks.internal/", "10.0.0.1"), Err(NotPublic));
        assert_eq!(judge(&policy, "https://10.0.0.1/", "10.0.0.1"), Err(NotPublic));
    }

    #[test]
    fn a_network_permits_all_its_addresses() {
        let policy = policy(&["10.0.0.0/8", "169.254.169.254"]);
        for (url, address, expected) in [
            ("http://a.example/", "10.1.2.3", Ok(())),
            ("http://10.1.2.3/", "10.1.2.3", Ok(())),
            ("http://a.example/", "169.254.169.254", Ok(())),
            ("http://a.example/", "169.254.169.253", Err(NotPublic)),
            ("http://a.example/", "11.0.0.1", Err(PlainHttp)),
        ] {
            assert_eq!(judge(&policy, url, address), expected, "{url} at {address}");
        }
    }

    #[test]
    fn a_url_is_judged_when_it_is_set() {
        for (exceptions, url, expected) in [
            (&[][..], "https://a.example/", Ok(())),
            (&[], "http://a.example/", Err(PlainHttp)),
            (&[], "https://127.0.0.1/", Err(NotPublic)),
            (&[], "https://[::ffff:7f00:1]/", Err(NotPublic)),
            (&[], "https://[64:ff9b::a9fe:a9fe]/", Err(NotPublic)),
            (&[], "https://localhost/", Err(NotPublic)),
            (&[], "https://a.localhost./", Err(NotPublic)),
            (&["a.example"], "http://a.example/", Ok(())),
            (&["a.example"], "http://b.example/", Err(PlainHttp)),
            (&["10.0.0.0/8"], "http://b.example/", Ok(())),
            (&["10.0.0.0/8"], "http://localhost/", Err(NotPublic)),
            (&["127.0.0.0/8"], "http://localhost:3000/", Ok(())),
            (&["::1"], "http://localhost:3000/", Ok(())),
            (&["localhost"], "http://localhost/", Ok(())),
            (&["localhost"], "http://127.0.0.1/", Err(NotPublic)),
        ] {
            assert_eq!(
                policy(exceptions).judge_url(&Target::parse(url).unwrap()),
                expected,
                "{exceptions:?}: {url}"
            );
        }
    }

    #[test]
    fn no_exception_permits_a_listener_of_the_server() {
        let all = || policy(&["0.0.0.0/0", "::/0"]);
        let of = |listener: &str| all().without_listeners([listener.parse().unwrap()]);
        for (listener, url, address, expected) in [
            ("127.0.0.1:8080", "http://a.example:8080/", "127.0.0.1", Err(OwnListener)),
            ("127.0.0.1:8080", "http://a.example:8080/", "::ffff:127.0.0.1", Err(OwnListener)),
            ("127.0.0.1:8080", "http://a.example:8081/", "127.0.0.1", Ok(())),
            ("0.0.0.0:8080", "http://a.example:8080/", "127.0.0.9", Err(OwnListener)),
            ("[::]:8080", "http://a.example:8080/", "127.0.0.1", Err(OwnListener)),
            ("[::]:8080", "http://a.example:8080/", "0.0.0.0", Err(OwnListener)),
            ("[::]:8080", "http://a.example:8080/", "10.0.0.1", Ok(())),
        ] {
            assert_eq!(judge(&of(listener), url, address), expected, "{listener}: {url} at {address}");
        }
        let address = |text: &str| text.parse().unwrap();
        let of_all = of("[::]:8080");
        let connected = of_all.judge_connection(address("203.0.113.5:50000"), address("203.0.113.5:8080"));
        assert_eq!(connected, Err(OwnListener), "an address of this machine");
        for peer in ["203.0.113.5:8081", "203.0.113.6:8080"] {
            assert_eq!(
                of_all.judge_connection(address("203.0.113.5:50000"), address(peer)),
                Ok(()),
                "{peer}"
            );
        }
    }
}
