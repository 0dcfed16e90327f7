//! The client that posts events to receivers.

mod addresses;
mod answer;
mod connection;
mod idle_connections;
mod request;
mod resolver;

use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use hyper::body::Incoming;
use petstore_domain::{AttemptError, AttemptOutcome, ReceiverAnswer, Target, TargetPolicy};
use petstore_ports::{Clock, Courier, Reply, WebhookRequest};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use self::connection::{Connection, ExchangeError};
use self::idle_connections::IdleConnections;
use self::request::Outgoing;
pub use self::resolver::{Resolver, SystemResolver};

/// The protocol that is offered in the TLS handshake. One connection carries one request at a time, so HTTP/2 would gain
/// nothing.
const ALPN: &[u8] = b"http/1.1";

/// The bounds of an attempt, and of the connections that are kept for the next one.
#[derive(Debug, Clone, Copy)]
pub struct CourierLimits {
    /// The time of a whole attempt.
    pub attempt: Duration,
    /// The time for connecting to the addresses of a name, and again for the TLS handshake.
    pub connect: Duration,
    /// The time for resolving a name.
    pub resolve: Duration,
    /// The maximum size of an answer's body in bytes.
    pub body_max: usize,
    /// The time for which an idle connection is kept.
    pub idle: Duration,
    /// The maximum number of idle connections.
    pub idle_max: usize,
}

impl CourierLimits {
    /// The limits of the contract, and some for idle connections that are shorter than the usual ones of receivers.
    pub const DEFAULT: Self = Self {
        attempt: Duration::from_secs(15),
        connect: Duration::from_secs(5),
        resolve: Duration::from_secs(5),
        body_max: 64 * 1024,
        idle: Duration::from_secs(30),
        idle_max: 256,
    };
}

/// Posts events over HTTP/1.1 and TLS.
pub struct HttpCourier {
    shared: Arc<Shared>,
}

struct Shared {
    policy: TargetPolicy,
    tls: TlsConnector,
    resolver: Arc<dyn Resolver>,
    clock: Arc<dyn Clock>,
    limits: CourierLimits,
    idle: Arc<IdleConnections>,
    user_agent: Box<str>,
}

impl HttpCourier {
    /// Returns a courier. The TLS configuration has the certificates of issuers that are trusted, and `user_agent` tells
    /// receivers which program sends.
    pub fn new(
        policy: TargetPolicy,
        mut tls: ClientConfig,
        resolver: Arc<dyn Resolver>,
        clock: Arc<dyn Clock>,
        limits: CourierLimits,
        user_agent: &str,
    ) -> Self {
        tls.alpn_protocols = vec![ALPN.to_vec()];
        let idle = IdleConnections::new(limits.idle, limits.idle_max);
        let tls = TlsConnector::from(Arc::new(tls));
        Self {
            shared: Arc::new(Shared {
                policy,
                tls,
                resolver,
                clock,
                limits,
                idle,
                user_agent: user_agent.into(),
            }),
        }
    }
}

impl std::fmt::Debug for HttpCourier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpCourier")
    }
}

impl Courier for HttpCourier {
    fn post(&self, request: WebhookRequest) -> Reply<AttemptOutcome> {
        let shared = Arc::clone(&self.shared);
        Reply::later(async move { shared.attempt(request).await })
    }
}

impl Shared {
    async fn attempt(&self, request: WebhookRequest) -> AttemptOutcome {
        let started = Instant::now();
        // The answer as far as it was received. It is kept if the time runs out.
        let mut answer = None;
        let exchange = self.exchange(request, &mut answer);
        let done = timeout_at(started + self.limits.attempt, exchange).await;
        let error = match (&answer, done) {
            // The receiver refused, so the rest of its answer does not matter.
            (Some(ReceiverAnswer { status: 300..=399, .. }), _) => Some(AttemptError::Redirect),
            (Some(answer), _) if !(200..=299).contains(&answer.status) => Some(AttemptError::Status),
            (_, Ok(Ok(()))) => None,
            (_, Ok(Err(error))) => Some(error),
            (_, Err(_)) => Some(AttemptError::Timeout),
        };
        AttemptOutcome { duration: started.elapsed(), error, answer: answer.map(Box::new) }
    }

    async fn exchange(
        &self,
        request: WebhookRequest,
        answer: &mut Option<ReceiverAnswer>,
    ) -> Result<(), AttemptError> {
        let target = Target::parse(request.url.as_str()).map_err(|_| AttemptError::AddressRefused)?;
        let addresses = self.addresses(&target).await?;
        let outgoing = Outgoing::new(&target, request, &self.user_agent);
        let (connection, response) = match self.idle.take(&target, &addresses) {
            Some(mut idle) => match idle.send(outgoing.request()).await {
                Ok(response) => (idle, response),
                // The receiver closed the connection while it was idle. This is no fault of the receiver, so the
                // request is sent once more.
                Err(ExchangeError::Closed) => self.send_afresh(&target, &addresses, &outgoing).await?,
                Err(ExchangeError::TooLarge) => return Err(AttemptError::TooLarge),
            },
            None => self.send_afresh(&target, &addresses, &outgoing).await?,
        };
        let reading = answer::read(response, self.limits.body_max, self.clock.now(), answer);
        reading.await?;
        self.idle.put(&target, connection);
        Ok(())
    }

    async fn send_afresh(
        &self,
        target: &Target,
        addresses: &[std::net::IpAddr],
        outgoing: &Outgoing,
    ) -> Result<(Connection, Response<Incoming>), AttemptError> {
        let mut connection = self.connect(target, addresses).await?;
        let response = connection.send(outgoing.request()).await.map_err(|error| match error {
            ExchangeError::Closed => AttemptError::Closed,
            ExchangeError::TooLarge => AttemptError::TooLarge,
        })?;
        Ok((connection, response))
    }
}
