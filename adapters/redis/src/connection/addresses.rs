//! The addresses of a server.

use std::net::SocketAddr;
use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::StoreError;
use petstore_remote_connection::share;
use tokio::net::lookup_host;
use tokio::time::{Instant, timeout};

use super::session::{Session, cannot_connect};
use super::target::RedisTarget;

/// The addresses of a server, whose host may be a name with several ones. A name is resolved by each attempt to connect,
/// because a failover may change its address.
#[derive(Debug, Default)]
pub(super) struct Addresses(Mutex<Known>);

/// The known state of the addresses.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    /// The address that was connected to last; none after a failure of its server.
    last: Option<SocketAddr>,
    /// The address that was connected to before a server failed.
    failed: Option<SocketAddr>,
}

impl Addresses {
    /// Connects to one of the addresses and authenticates. Begins with the address that was connected to last, or after a
    /// failure of its server with the one that follows. The next address is tried if one refuses the connection, or does not
    /// answer within its part of `limit`. The caller limits the whole time.
    pub(super) async fn open(&self, target: &RedisTarget, limit: Duration) -> Result<Session, StoreError> {
        let until = Instant::now() + limit;
        let found = lookup_host((target.host.as_str(), target.port)).await.map_err(cannot_connect)?;
        self.open_one(target, found.collect(), until).await
    }

    async fn open_one(
        &self,
        target: &RedisTarget,
        mut addresses: Vec<SocketAddr>,
        until: Instant,
    ) -> Result<Session, StoreError> {
        self.0.lock().arrange(&mut addresses);
        let mut failure = StoreError::unavailable("the name of the host in redis-url has no address");
        for (left, address) in (1..=addresses.len()).rev().zip(addresses) {
            let opening = async {
                let stream = Session::connect(address).await?;
                Ok(Session::over_stream(target, stream).await)
            };
            // The last address has the rest of the caller's time.
            let opened = if left == 1 {
                opening.await
            } else {
                let late = || Err(StoreError::unavailable("Redis does not answer in time"));
                timeout(share(until, left), opening).await.unwrap_or_else(|_| late())
            };
            match opened {
                // A server that refuses the user is the right one.
                Ok(answered) => {
                    self.0.lock().last = Some(address);
                    return answered;
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Notes that the server at the address that was connected to last has failed, or is of no use.
    pub(super) fn failed(&self) {
        let mut known = self.0.lock();
        known.failed = known.last.take().or(known.failed);
    }
}

impl Known {
    /// Puts addresses, which are in the order of the resolver, into the order in which they are tried.
    fn arrange(self, addresses: &mut [SocketAddr]) {
        if let Some(failed) = self.failed {
            // Resolvers often change the order. Only in a fixed one does each address have its turn.
            addresses.sort_unstable();
            let next = addresses.partition_point(|address| *address <= failed);
            addresses.rotate_left(next);
        }
        // The sort is stable, so the order of the others is kept.
        addresses.sort_by_key(|address| Some(*address) != self.last);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(300);

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// Starts a server that gives this reply to each command.
    async fn server(reply: &'static [u8]) -> SocketAddr {
        let (listener, address) = listener().await;
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut command = [0; 1_024];
                    while let Ok(1..) = stream.read(&mut command).await {
                        stream.write_all(reply).await.unwrap();
                    }
                });
            }
        });
        address
    }

    fn target() -> RedisTarget {
        // With a password, a server must reply before a connection is open.
        RedisTarget::parse("redis://:s3cr3t@redis.example").unwrap()
    }

    async fn open(known: &Addresses, addresses: &[SocketAddr]) -> Result<Duration, String> {
        let (begun, target) = (Instant::now(), target());
        let opening = known.open_one(&target, addresses.to_vec(), begun + LIMIT);
        let opened = timeout(LIMIT, opening).await.map_err(|_| "late".to_owned())?;
        opened.map(|_| begun.elapsed()).map_err(|error| error.report())
    }

    #[tokio::test]
    async fn an_address_that_says_nothing_leaves_time_for_the_others_and_is_not_tried_again() {
        let (_silent, silent) = listener().await;
        let answering = server(b"+OK\r\n").await;
        let known = Addresses::default();
        let first = open(&known, &[silent, answering]).await.unwrap();
        assert!(first >= LIMIT / 2, "the first address was not tried: {first:?}");
        let second = open(&known, &[silent, answering]).await.unwrap();
        assert!(second < LIMIT / 2, "the silent address was tried again: {second:?}");
        assert_eq!(open(&Addresses::default(), &[silent]).await, Err("late".to_owned()));
    }

    #[test]
    fn after_a_failure_each_address_has_its_turn() {
        let [a, b, c] = [1, 2, 3].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let addresses = Addresses::default();
        let order = |resolved: [SocketAddr; 3]| {
            let mut arranged = resolved;
            addresses.0.lock().arrange(&mut arranged);
            arranged
        };
        assert_eq!(order([b, c, a]), [b, c, a], "the order of the resolver");
        for (resolved, connected, order_then, order_after_failure) in [
            ([b, a, c], b, [b, a, c], [c, a, b]),
            ([a, c, b], c, [c, a, b], [a, b, c]),
            ([c, b, a], a, [a, b, c], [b, c, a]),
        ] {
            addresses.0.lock().last = Some(connected);
            assert_eq!(order(resolved), order_then);
            addresses.failed();
            assert_eq!(order(resolved), order_after_failure);
            // A further report of the same failure changes nothing.
            addresses.failed();
            assert_eq!(order(resolved), order_after_failure);
        }
    }

    #[tokio::test]
    async fn an_address_that_refuses_connections_is_passed_over_and_one_that_refuses_the_user_is_not() {
        let (closed, refusing) = listener().await;
        drop(closed);
        let answering = server(b"+OK\r\n").await;
        assert!(open(&Addresses::default(), &[refusing, answering]).await.is_ok());
        let why = open(&Addresses::default(), &[refusing]).await.unwrap_err();
        assert!(why.contains("cannot connect to Redis"), "{why}");
        let of_others = server(b"-WRONGPASS invalid username-password pair\r\n").await;
        let why = open(&Addresses::default(), &[of_others, answering]).await.unwrap_err();
        assert!(why.contains("refuses the user or the password"), "{why}");
        let why = open(&Addresses::default(), &[]).await.unwrap_err();
        assert!(why.contains("has no address"), "{why}");
    }
}
