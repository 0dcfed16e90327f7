//! An open connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use petstore_ports::StoreError;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisError, Value};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio_rustls::TlsConnector;

use super::failure;
use super::target::{RedisTarget, Tls};
use super::unacknowledged;

/// The time limit of the system for unacknowledged bytes. A connection over which packets are lost ends after it.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(1);

/// The times of TCP keepalives: the idle time before the first probe, and the time between two probes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);

/// An open connection, whose task runs on the runtime that opened it until the session is dropped. Any number of commands
/// may be sent at once.
pub(super) struct Session {
    connection: MultiplexedConnection,
    task: AbortHandle,
    is_encrypted: bool,
}

impl Session {
    /// Connects to an address. The caller limits the time.
    pub(super) async fn connect(address: SocketAddr) -> Result<TcpStream, StoreError> {
        let stream = TcpStream::connect(address).await.map_err(cannot_connect)?;
        prepare(&stream).map_err(cannot_connect)?;
        Ok(stream)
    }

    /// Begins TLS if the target demands it, and authenticates. The caller limits the time.
    pub(super) async fn over_stream(target: &RedisTarget, stream: TcpStream) -> Result<Self, StoreError> {
        match &target.tls {
            None => Self::over(target, stream).await,
            Some(Tls { config: None, .. }) => {
                Err(StoreError::unavailable("no certificates were given for the connection to Redis"))
            }
            Some(Tls { config: Some(config), .. }) => {
                let name = target.server_name().ok_or_else(|| {
                    StoreError::unavailable("the host of redis-url cannot stand in a certificate")
                })?;
                let connector = TlsConnector::from(Arc::clone(config));
                let stream = connector.connect(name, stream).await.map_err(|error| {
                    StoreError::unavailable("cannot connect to Redis over TLS").with_source(error)
                })?;
                Self::over(target, stream).await
            }
        }
    }

    async fn over<S>(target: &RedisTarget, stream: S) -> Result<Self, StoreError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // The callers set the time limits, which the driver's own would shorten.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let greeting = target.greeting();
        let greeted = MultiplexedConnection::new_with_config(&greeting, stream, config).await;
        let (connection, driver) = greeted.map_err(|error| failure::greeting_refused(&error))?;
        let task = tokio::spawn(driver).abort_handle();
        Ok(Self { connection, task, is_encrypted: target.tls.is_some() })
    }

    /// Sends a command and returns its reply.
    pub(super) async fn send(&self, command: &Cmd) -> Result<Value, RedisError> {
        // A clone is a handle to the same connection.
        let mut connection = self.connection.clone();
        connection.send_packed_command(command).await?.extract_error()
    }

    /// Returns whether the connection has TLS.
    pub(super) const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Returns whether the connection has ended.
    pub(super) fn is_ended(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    unacknowledged::bound(stream, TCP_USER_TIMEOUT)?;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_IDLE).with_interval(KEEPALIVE_INTERVAL))
}

pub(super) fn cannot_connect(error: std::io::Error) -> StoreError {
    StoreError::unavailable("cannot connect to Redis").with_source(error)
}
