//! The addresses of host names.

use std::io;
use std::net::IpAddr;

use async_trait::async_trait;
use tokio::net::lookup_host;

/// A resolver of host names. It may be asked on each attempt to connect, so it keeps no answer for longer than its source
/// permits.
#[async_trait]
pub(super) trait Names: Send + Sync {
    /// Returns the addresses of a name or of an address as text. Fails if there is none.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the system.
pub(super) struct SystemNames;

#[async_trait]
impl Names for SystemNames {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        // The port is not part of the answer that is used.
        let mut addresses: Vec<_> = lookup_host((name, 0)).await?.map(|address| address.ip()).collect();
        addresses.dedup();
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("the name {name} has no address")));
        }
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_is_its_own_address() {
        for text in ["127.0.0.1", "::1"] {
            assert_eq!(SystemNames.resolve(text).await.unwrap(), [text.parse::<IpAddr>().unwrap()]);
        }
    }
}
