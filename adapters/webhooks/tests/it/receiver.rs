//! Receivers, and couriers that may connect to them.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use petstore_domain::{
    AccountId, AttemptError, AttemptOutcome, Target, TargetException, TargetPolicy, Timestamp, WebhookId,
    WebhookUrl,
};
use petstore_ports::{Clock, Courier, Reply, WebhookRequest};
use petstore_webhooks::{CourierLimits, HttpCourier, Resolver, SystemResolver};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The limits of a courier whose receiver answers in time.
pub(crate) const PATIENT: CourierLimits = CourierLimits {
    attempt: Duration::from_mins(1),
    connect: Duration::from_secs(20),
    ..CourierLimits::DEFAULT
};

/// The limits of a courier whose receiver does not answer in time.
pub(crate) const HASTY: CourierLimits =
    CourierLimits { attempt: Duration::from_millis(400), connect: Duration::from_millis(200), ..PATIENT };

/// A receiver on a free port of a loopback address.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Receiver {
    /// Starts a receiver that handles each connection as told.
    pub(crate) async fn start<F>(handle: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start_at("127.0.0.1:0", handle).await
    }

    pub(crate) async fn start_at<F>(address: &str, handle: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(handle(stream));
            }
        });
        Self { address, connections, task }
    }

    /// Starts a receiver that reads each request and answers it with these bytes, on a connection that stays open.
    pub(crate) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Arc<Vec<u8>> = Arc::new(answer.into());
        Self::start(move |mut stream| {
            let answer = Arc::clone(&answer);
            async move {
                while read_request(&mut stream).await.is_some() && stream.write_all(&answer).await.is_ok() {}
            }
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The number of connections that were accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads the head and the body of a request; none if the connection ends before.
pub(crate) async fn read_request(
    stream: &mut (impl tokio::io::AsyncRead + Unpin),
) -> Option<(String, Vec<u8>)> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let body = read.split_off(end + 4);
            let head = String::from_utf8(read).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let mut body = body;
            while body.len() < length.parse().unwrap() {
                if stream.read_buf(&mut body).await.ok()? == 0 {
                    return None;
                }
            }
            return Some((head, body));
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

/// A clock that stands still.
pub(crate) struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        noon()
    }
}

pub(crate) fn noon() -> Timestamp {
    Timestamp::EPOCH.plus(Duration::from_secs(1_700_000_000))
}

/// A configuration that trusts no certificate.
pub(crate) fn tls(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    config.with_root_certificates(roots).with_no_client_auth()
}

pub(crate) fn policy(exceptions: &[&str]) -> TargetPolicy {
    TargetPolicy::new(exceptions.iter().map(|text| TargetException::parse(text).unwrap()))
}

pub(crate) fn courier_with(
    policy: TargetPolicy,
    resolver: Arc<dyn Resolver>,
    limits: CourierLimits,
) -> HttpCourier {
    HttpCourier::new(policy, tls(RootCertStore::empty()), resolver, Arc::new(Noon), limits, "petstore/test")
}

/// A courier that may connect to this machine.
pub(crate) fn courier(limits: CourierLimits) -> HttpCourier {
    courier_with(policy(&["127.0.0.0/8", "::1"]), Arc::new(SystemResolver::new()), limits)
}

/// The account of the requests.
const ACCOUNT: AccountId = AccountId::FIRST;

pub(crate) fn request(url: &str) -> WebhookRequest {
    WebhookRequest {
        url: WebhookUrl::parse(url).unwrap(),
        webhook: Some(WebhookId::from_bits(7)),
        account: Some(ACCOUNT),
        event_id: "evt_0000000000000000000001".to_owned(),
        event_type: "order.placed".to_owned(),
        attempt: 3,
        sent_at: noon(),
        signature: "v1,AAAA v1,BBBB".to_owned(),
        body: br#"{"id":"evt_0000000000000000000001"}"#.to_vec(),
    }
}

pub(crate) async fn post(courier: &HttpCourier, url: &str) -> AttemptOutcome {
    courier.post(request(url)).await
}

/// Posts once, and checks the error and the status.
pub(crate) async fn check(
    courier: &HttpCourier,
    url: &str,
    error: Option<AttemptError>,
    status: Option<u16>,
) {
    let outcome = post(courier, url).await;
    assert_eq!(outcome.error, error, "{url}: {outcome:?}");
    assert_eq!(outcome.answer.as_ref().map(|answer| answer.status), status, "{url}: {outcome:?}");
}

/// A resolver that answers with one list after the other, repeats the last one, and counts.
pub(crate) struct Scripted {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |list: &&[&str]| list.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self { answers: answers.iter().map(parse).collect(), asked: AtomicUsize::new(0) })
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolver for Scripted {
    fn resolve(&self, name: &str, account: Option<AccountId>) -> Reply<io::Result<Vec<IpAddr>>> {
        assert_eq!(account, Some(ACCOUNT), "names are resolved for the account of the webhook");
        assert!(Target::parse(&format!("https://{name}/")).is_ok());
        let place = self.asked.fetch_add(1, Ordering::SeqCst);
        Reply::now(Ok(self.answers[place.min(self.answers.len() - 1)].clone()))
    }
}
