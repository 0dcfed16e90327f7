//! The client's address, and the scheme and host that the client used, as trusted proxies forward them.
//!
//! Each proxy appends an element that names the peer of the proxy. The last element was added by the peer of this
//! server. The elements are read from the last one to the first one, as long as they name trusted proxies. The first
//! element found that names no trusted proxy names the client. The client may have invented every element before it.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{FORWARDED, HeaderName, HeaderValue};

use crate::base::authority::is_valid;
use crate::base::settings::{HttpSettings, Network};
use crate::exchange::host::is_served;

mod elements;

use elements::{Element, pieces};

pub(crate) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The scheme and host that the client used, as far as a trusted proxy forwards them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ForwardedOrigin {
    pub(crate) scheme: Option<&'static str>,
    /// The host, with a port if the proxy forwards one.
    pub(crate) host: Option<Box<str>>,
    /// `true` if the proxy forwards no scheme, not even an invalid one.
    pub(crate) lacks_scheme: bool,
    /// The number of values that were ignored.
    pub(crate) ignored: u32,
}

/// Returns the client's address and the forwarded values. If the peer is not a trusted proxy, returns the peer's
/// address and `None`.
pub(crate) fn client_and_origin(
    peer: IpAddr,
    headers: &HeaderMap,
    settings: &HttpSettings,
) -> (IpAddr, Option<Box<ForwardedOrigin>>) {
    let proxies = &settings.trusted_proxies;
    if !is_trusted(proxies, peer) {
        return (peer, None);
    }
    let hop = Hop::find(proxies, peer, headers);
    let origin = settings.public_url.is_none().then(|| Box::new(hop.origin(settings)));
    (hop.client, origin)
}

fn is_trusted(proxies: &[Network], address: IpAddr) -> bool {
    proxies.iter().any(|network| network.contains(address))
}

/// The values of the hop whose element names the client.
#[derive(Debug)]
pub(crate) struct Hop {
    pub(crate) client: IpAddr,
    proto: Option<String>,
    host: Option<String>,
    /// `true` if the element of the hop cannot be parsed.
    is_broken: bool,
}

impl Hop {
    /// Finds the hop in `Forwarded` (RFC 7239) if that is present, else in the `X-Forwarded` headers. The peer must be
    /// a trusted proxy.
    pub(crate) fn find(proxies: &[Network], peer: IpAddr, headers: &HeaderMap) -> Self {
        if !headers.contains_key(FORWARDED) {
            let addresses = from_last(headers, &FORWARDED_FOR);
            let (client, hop) = walk(proxies, peer, addresses.into_iter().map(parse_address));
            let of_hop = |name| of_hop(headers, name, hop);
            return Self {
                client,
                proto: of_hop(&FORWARDED_PROTO),
                host: of_hop(&FORWARDED_HOST),
                is_broken: false,
            };
        }
        let elements: Vec<_> = from_last(headers, &FORWARDED).into_iter().map(Element::parse).collect();
        let addresses = elements.iter().map(|element| element.as_ref()?.address());
        let (client, hop) = walk(proxies, peer, addresses);
        let element = elements.into_iter().nth(hop);
        let is_broken = element.as_ref().is_some_and(Option::is_none);
        let Element { proto, host, .. } = element.flatten().unwrap_or_default();
        Self { client, proto, host, is_broken }
    }

    fn origin(&self, settings: &HttpSettings) -> ForwardedOrigin {
        let scheme = self.proto.as_deref().map(|proto| match proto {
            proto if proto.eq_ignore_ascii_case("https") => Some("https://"),
            proto if proto.eq_ignore_ascii_case("http") => Some("http://"),
            _ => None,
        });
        let is_good = |host: &str| is_valid(host) && is_served(host, settings.hosts.as_deref());
        let host = self.host.as_deref().map(|host| is_good(host).then(|| host.into()));
        let is_ignored = [self.is_broken, scheme == Some(None), host == Some(None)];
        ForwardedOrigin {
            lacks_scheme: scheme.is_none() && !self.is_broken,
            scheme: scheme.flatten(),
            host: host.flatten(),
            ignored: is_ignored.into_iter().map(u32::from).sum(),
        }
    }
}

/// Finds the client's address. `addresses` begins with the last element of the list. Returns the address, and the
/// number of the element at which the search ended, counted from the end of the list.
///
/// The search ends at the first address that is not that of a trusted proxy; this is the client's. The search also ends
/// at an element without a valid address, because the client may have invented all elements before that one. In that
/// case, and at the end of `addresses`, the last address that was found counts as the client's, or else the peer's.
fn walk(
    proxies: &[Network],
    peer: IpAddr,
    addresses: impl Iterator<Item = Option<IpAddr>>,
) -> (IpAddr, usize) {
    let (mut client, mut hop) = (peer, 0);
    for (place, address) in addresses.enumerate() {
        hop = place;
        let Some(address) = address else { break };
        client = address;
        if !is_trusted(proxies, address) {
            break;
        }
    }
    (client, hop)
}

/// Returns the non-empty elements of a header, beginning with the last one (RFC 9110, section 5.6.1.2). A header line
/// that is not ASCII becomes one element, `?`, which cannot be parsed.
fn from_last<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Vec<&'h str> {
    let lines: Vec<_> = headers.get_all(name).iter().collect();
    let lines = lines.into_iter().rev().map(|line| line.to_str().unwrap_or("?"));
    lines.flat_map(|line| pieces(line, ',')).filter(|element| !element.is_empty()).collect()
}

/// Returns the element of a header's list that belongs to a hop. Hops are counted from the end of the list.
///
/// The lists of several headers may differ in length. If this list is longer than the list of addresses, its first
/// elements came from outside the trusted proxies and are not read. If it is shorter, some of the proxies have not
/// added an element, and its first element is used. Commonly only the outer proxy ends TLS, and only this proxy sets
/// X-Forwarded-Proto. Its scheme would be lost otherwise. A client gains nothing by sending such a list itself, because
/// the value only appears in the links of its own answers, and a host must be one of `hosts`.
fn of_hop(headers: &HeaderMap, name: &HeaderName, hop: usize) -> Option<String> {
    from_last(headers, name).into_iter().take(hop + 1).next_back().map(str::to_owned)
}

/// Parses an address. Some proxies add a port to it, or write an IPv6 address in brackets even without a port.
pub(crate) fn parse_address(text: &str) -> Option<IpAddr> {
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().map(IpAddr::V6).ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(with_port).or_else(bracketed)
}

/// Returns the scheme and host of a request as its client knows them.
pub(crate) fn origin_of(
    forwarded: Option<&ForwardedOrigin>,
    is_secure: bool,
    authority: &HeaderValue,
) -> String {
    let own_scheme = if is_secure { "https://" } else { "http://" };
    let scheme = forwarded.and_then(|origin| origin.scheme).unwrap_or(own_scheme);
    let host = forwarded.and_then(|origin| origin.host.as_deref());
    let host = host.unwrap_or_else(|| authority.to_str().unwrap_or_default());
    [scheme, host].concat()
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;
    use crate::base::authority::HostName;
    use crate::base::settings::Documents;

    /// Returns, as one text, the result for a request with these fields from 10.0.0.9 behind proxies in 10.0.0.0/8: the
    /// client, the origin of links (`-` for unknown parts) and the number of ignored values.
    fn outcome_of(fields: &[(&str, &str)]) -> String {
        let documents = Documents::default();
        let settings = HttpSettings {
            trusted_proxies: vec![Network::parse("10.0.0.0/8").unwrap()],
            hosts: Some(
                ["pets.example", "[2001:db8::7]"].map(|host| HostName::parse(host).unwrap()).to_vec(),
            ),
            ..HttpSettings::new(1, documents)
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let (client, origin) = client_and_origin("10.0.0.9".parse().unwrap(), &headers, &settings);
        let ForwardedOrigin { scheme, host, ignored, .. } = *origin.unwrap();
        let (scheme, host) = (scheme.unwrap_or("-"), host.as_deref().unwrap_or("-"));
        format!("{client} {scheme} {host} {ignored}")
    }

    #[test]
    fn x_forwarded_headers_are_read_at_the_hop_that_names_the_client() {
        let (by, proto, host) = ("x-forwarded-for", "x-forwarded-proto", "x-forwarded-host");
        for (fields, expected) in [
            (&[][..], "10.0.0.9 - - 0"),
            (&[(proto, "https")], "10.0.0.9 https:// - 0"),
            (
                &[(by, "192.0.2.1"), (proto, "HTTPS"), (host, "pets.example:8443")],
                "192.0.2.1 https:// pets.example:8443 0",
            ),
            // A proxy appends its values after the client's own.
            (
                &[
                    (by, "198.51.100.1, 192.0.2.1"),
                    (proto, "http, https"),
                    (host, "evil.example,pets.example"),
                ],
                "192.0.2.1 https:// pets.example 0",
            ),
            // The outer proxy received https, the inner one http.
            (
                &[(by, "192.0.2.1, 10.0.0.1"), (proto, "https, http"), (host, "pets.example, inner")],
                "192.0.2.1 https:// pets.example 0",
            ),
            (
                &[(by, "198.51.100.1"), (by, "192.0.2.1, 10.0.0.1"), (proto, "http"), (proto, "https,http")],
                "192.0.2.1 https:// - 0",
            ),
            // Only the outer proxy forwards scheme and host.
            (
                &[(by, "192.0.2.1, 10.0.0.2, 10.0.0.1"), (proto, "https"), (host, "pets.example")],
                "192.0.2.1 https:// pets.example 0",
            ),
            // The lists differ in length. The longer ones begin with elements of the client, which are not read.
            (
                &[(by, "192.0.2.1"), (proto, "http, https"), (host, "evil.example, other, pets.example")],
                "192.0.2.1 https:// pets.example 0",
            ),
            // The inner proxy began the shorter list, and its first element counts.
            (
                &[(by, "192.0.2.1, 10.0.0.2, 10.0.0.1"), (proto, "https, http"), (host, "pets.example")],
                "192.0.2.1 https:// pets.example 0",
            ),
            (&[(by, "junk, 10.0.0.1"), (proto, "http, https, http")], "10.0.0.1 https:// - 0"),
            (&[(proto, "wss"), (host, "pets.example/x")], "10.0.0.9 - - 2"),
            (&[(proto, "https"), (host, "evil.example")], "10.0.0.9 https:// - 1"),
            (&[(proto, "https://"), (host, "[2001:db8:0::7]:443")], "10.0.0.9 - [2001:db8:0::7]:443 1"),
            (&[(proto, "\u{e9}"), (host, "pets.example:99999")], "10.0.0.9 - - 2"),
            (&[(proto, ""), (host, " , ")], "10.0.0.9 - - 0"),
        ] {
            assert_eq!(outcome_of(fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn forwarded_is_read_at_the_hop_that_names_the_client_and_replaces_the_other_headers() {
        let x = [
            ("x-forwarded-for", "198.51.100.9"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-host", "pets.example:1"),
        ];
        for (lines, expected) in [
            (&["for=192.0.2.1;proto=https;host=pets.example"][..], "192.0.2.1 https:// pets.example 0"),
            (
                &["For=\"192.0.2.1:4711\"; Proto=HTTPS ; HOST=\"pets.example:8443\""],
                "192.0.2.1 https:// pets.example:8443 0",
            ),
            (&["for=\"[2001:db8::1]:80\";by=_me;proto=https;secret=x"], "2001:db8::1 https:// - 0"),
            (
                &["for=198.51.100.1;proto=http;host=evil.example, for=192.0.2.1;proto=https"],
                "192.0.2.1 https:// - 0",
            ),
            (
                &["for=192.0.2.1;proto=https;host=pets.example", "for=10.0.0.1;proto=http;host=inner"],
                "192.0.2.1 https:// pets.example 0",
            ),
            (&["for=192.0.2.1, for=10.0.0.1;proto=https"], "192.0.2.1 - - 0"),
            // The scheme in the element counts although the element does not name an address.
            (&["for=unknown;proto=https, for=10.0.0.1;proto=http"], "10.0.0.1 https:// - 0"),
            (&["proto=https;host=pets.example"], "10.0.0.9 https:// pets.example 0"),
            (&["for=_hidden;proto=https"], "10.0.0.9 https:// - 0"),
            // A quote that the client has left open does not hide the element of the proxy.
            (&["for=\"192.0.2.9, for=192.0.2.1;proto=https"], "192.0.2.1 https:// - 0"),
            (&["for=192.0.2.1;proto=ftp;host=evil.example"], "192.0.2.1 - - 2"),
            (&["for=192.0.2.1;proto=https;proto=http"], "10.0.0.9 - - 1"),
            (&["junk"], "10.0.0.9 - - 1"),
            (&["\u{e9}"], "10.0.0.9 - - 1"),
            (&["for=10.0.0.1, \u{e9}"], "10.0.0.9 - - 1"),
            (&[""], "10.0.0.9 - - 0"),
        ] {
            let lines = lines.iter().map(|line| ("forwarded", *line));
            let fields: Vec<_> = lines.chain(x).collect();
            assert_eq!(outcome_of(&fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn an_untrusted_peer_is_the_client_and_a_public_url_needs_no_scheme() {
        let documents = || Documents::default();
        let mut settings = HttpSettings {
            trusted_proxies: vec![Network::parse("10.0.0.0/8").unwrap()],
            ..HttpSettings::new(1, documents())
        };
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED, HeaderValue::from_static("for=192.0.2.1;proto=https;host=pets.example"));
        let [stranger, proxy, client] =
            ["203.0.113.5", "::ffff:10.0.0.9", "192.0.2.1"].map(|address| address.parse().unwrap());
        assert_eq!(client_and_origin(stranger, &headers, &settings), (stranger, None));
        let (address, origin) = client_and_origin(proxy, &headers, &settings);
        assert_eq!((address, origin.unwrap().scheme), (client, Some("https://")));
        settings.public_url = Some("https://pets.example".to_owned());
        assert_eq!(client_and_origin(proxy, &headers, &settings), (client, None));
        let origin = |headers: &HeaderMap| {
            let settings = HttpSettings {
                trusted_proxies: settings.trusted_proxies.clone(),
                ..HttpSettings::new(1, documents())
            };
            *client_and_origin(proxy, headers, &settings).1.unwrap()
        };
        assert!(origin(&HeaderMap::new()).lacks_scheme && !origin(&headers).lacks_scheme);
    }
}
