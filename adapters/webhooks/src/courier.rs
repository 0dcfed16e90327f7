//! The client that posts events to receivers.

mod addresses;
mod answer;
mod connection;
mod idle_connections;
mod metered;
mod request;
mod resolver;
mod status_scan;

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{AttemptError, AttemptOutcome, ReceiverAnswer, Target, TargetPolicy};
use petstore_ports::{Clock, Courier, Reply, WebhookRequest};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use self::connection::{Answered, Connection, ExchangeError};
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
    /// The time for the rest of the head of an answer after its status, and again for the body after the head. The status has
    /// decided by then, so that a longer wait would only delay the next attempt.
    pub body: Duration,
    /// The number of bytes of an answer's body that are read.
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
        body: Duration::from_secs(1),
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
        let deadline = started + self.limits.attempt;
        let done = timeout_at(deadline, self.exchange(request, deadline)).await;
        let (error, answer) = match done {
            // The status decides alone, whatever becomes of the rest.
            Ok(Ok(answer)) => (refusal(answer.status), Some(Box::new(answer))),
            Ok(Err(error)) => (Some(error), None),
            Err(_) => (Some(AttemptError::Timeout), None),
        };
        AttemptOutcome { duration: started.elapsed(), error, answer }
    }

    async fn exchange(
        &self,
        request: WebhookRequest,
        deadline: Instant,
    ) -> Result<ReceiverAnswer, AttemptError> {
        let target = Target::parse(request.url.as_str()).map_err(|_| AttemptError::AddressRefused)?;
        let addresses = self.addresses(&target, request.account).await?;
        let outgoing = Outgoing::new(&target, request, &self.user_agent);
        let (connection, answered) = match self.idle.take(&target, &addresses) {
            Some(mut idle) => match idle.send(outgoing.request(), self.limits.body, deadline).await {
                Ok(answered) => (idle, answered),
                // The receiver closed the connection while it was idle. This is no fault of the receiver, so the
                // request is sent once more.
                Err(ExchangeError::Closed) => {
                    self.send_afresh(&target, &addresses, &outgoing, deadline).await?
                }
                Err(ExchangeError::TooLarge) => return Err(AttemptError::TooLarge),
            },
            None => self.send_afresh(&target, &addresses, &outgoing, deadline).await?,
        };
        let response = match answered {
            Answered::Head(response) => response,
            Answered::Status(status, cut) => {
                return Ok(ReceiverAnswer { status, cut: Some(cut), ..ReceiverAnswer::default() });
            }
        };
        let until = deadline.min(Instant::now() + self.limits.body);
        let answer = answer::read(response, self.limits.body_max, until, self.clock.now()).await;
        if answer.cut.is_none() {
            self.idle.put(&target, connection);
        }
        Ok(answer)
    }

    async fn send_afresh(
        &self,
        target: &Target,
        addresses: &[std::net::IpAddr],
        outgoing: &Outgoing,
        deadline: Instant,
    ) -> Result<(Connection, Answered), AttemptError> {
        let mut connection = self.connect(target, addresses).await?;
        let sent = connection.send(outgoing.request(), self.limits.body, deadline).await;
        let answered = sent.map_err(|error| match error {
            ExchangeError::Closed => AttemptError::Closed,
            ExchangeError::TooLarge => AttemptError::TooLarge,
        })?;
        Ok((connection, answered))
    }
}

/// Returns the reason for which an answer with this status is no success.
const fn refusal(status: u16) -> Option<AttemptError> {
    match status {
        200..=299 => None,
        300..=399 => Some(AttemptError::Redirect),
        _ => Some(AttemptError::Status),
    }
}
