//! The addresses of a target, and the connection to one of them.

use std::net::{IpAddr, SocketAddr};

use petstore_domain::{AccountId, AttemptError, Target, TargetHost};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Shared;
use super::connection::Connection;

/// The maximum number of addresses of a name to which a connection is attempted.
const ADDRESSES_TRIED_MAX: usize = 4;

impl Shared {
    /// Returns the addresses of a target. If the policy refuses one of them, the attempt is refused: a name that has public
    /// and private addresses is meant to mislead, or is misconfigured.
    pub(super) async fn addresses(
        &self,
        target: &Target,
        account: Option<AccountId>,
    ) -> Result<Vec<IpAddr>, AttemptError> {
        let addresses = match target.host() {
            TargetHost::Address(address) => vec![*address],
            TargetHost::Name(name) => {
                let resolved = timeout(self.limits.resolve, self.resolver.resolve(name, account)).await;
                resolved
                    .ok()
                    .and_then(Result::ok)
                    .filter(|found| !found.is_empty())
                    .ok_or(AttemptError::DnsFailed)?
            }
        };
        let is_accepted = |address: &IpAddr| self.policy.judge(target, *address).is_ok();
        if addresses.iter().all(is_accepted) { Ok(addresses) } else { Err(AttemptError::AddressRefused) }
    }

    /// Connects to the first address that answers.
    pub(super) async fn connect(
        &self,
        target: &Target,
        addresses: &[IpAddr],
    ) -> Result<Connection, AttemptError> {
        let stream = self.connect_tcp(target, addresses).await?;
        let peer = stream.peer_addr().map_err(|_| AttemptError::ConnectFailed)?;
        let own = stream.local_addr().map_err(|_| AttemptError::ConnectFailed)?;
        self.policy.judge_connection(own, peer).map_err(|_| AttemptError::AddressRefused)?;
        // Without this, the end of a request could wait for the acknowledgement of its beginning.
        let _ = stream.set_nodelay(true);
        if !target.is_secure() {
            return Connection::start(stream, peer.ip()).await;
        }
        let name = match target.host() {
            TargetHost::Name(name) => {
                ServerName::try_from(name.clone()).map_err(|_| AttemptError::TlsFailed)?
            }
            TargetHost::Address(address) => ServerName::IpAddress((*address).into()),
        };
        let handshake = timeout(self.limits.connect, self.tls.connect(name, stream)).await;
        let stream = handshake.map_err(|_| AttemptError::Timeout)?.map_err(|_| AttemptError::TlsFailed)?;
        Connection::start(stream, peer.ip()).await
    }

    async fn connect_tcp(&self, target: &Target, addresses: &[IpAddr]) -> Result<TcpStream, AttemptError> {
        let tried = &addresses[..addresses.len().min(ADDRESSES_TRIED_MAX)];
        // Each address gets a share of the time, so that one that drops packets leaves time for the others.
        let share = self.limits.connect / u32::try_from(tried.len()).unwrap_or(1).max(1);
        for address in tried {
            let connecting = TcpStream::connect(SocketAddr::new(*address, target.port()));
            if let Ok(Ok(stream)) = timeout(share, connecting).await {
                return Ok(stream);
            }
        }
        Err(AttemptError::ConnectFailed)
    }
}
