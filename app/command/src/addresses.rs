//! Addresses in messages: the address of the reference page, and advice for an address that cannot be used.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::settings::ServeArgs;

/// The origin of the reference page. A browser cannot open an unspecified address, so the loopback address replaces it.
pub(crate) fn page_origin(args: &ServeArgs, scheme: &str, address: SocketAddr) -> String {
    if let Some(public) = &args.public_url {
        return public.clone();
    }
    format!("{scheme}://{}", reachable(address))
}

/// The address under which a client on this machine reaches a listener: the loopback address if it listens on all.
pub(crate) fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() {
            Ipv4Addr::LOCALHOST.into()
        } else {
            Ipv6Addr::LOCALHOST.into()
        });
    }
    address
}

/// The advice for an address on which the server cannot listen.
pub(crate) fn advice(kind: io::ErrorKind, flag: &str) -> String {
    match kind {
        io::ErrorKind::AddrInUse => format!(
            "; another program listens there: stop it, or name another port (--{flag} 127.0.0.1:0 takes a free one)"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "; ports below 1024 are for root and for programs with CAP_NET_BIND_SERVICE: name a higher one, such as \
             --{flag} 127.0.0.1:9090"
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!(
                "; no interface of this machine has that address: --{flag} 0.0.0.0:9090 means all of them"
            )
        }
        _ => String::new(),
    }
}
