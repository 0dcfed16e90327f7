//! The client of a server that all commands use: one connection, one request at a time, within named bounds.

mod base_url;

use std::error::Error as _;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

pub(crate) use self::base_url::BaseUrl;
use crate::failure::Failure;
use crate::settings::{shown, value_of};
use crate::{tls, version};

/// The variable with the base URL of a server.
const URL_VARIABLE: &str = "PETSTORE_URL";

/// The base URL of a server with default settings.
const LOCAL_SERVER: &str = "http://127.0.0.1:8080/v1";

/// The time limit for opening a connection, including the TLS handshake.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// The time limit for a probe of a server on this machine: for its connection, and again for its answer.
pub(crate) const PROBE_TIME: Duration = Duration::from_secs(3);

/// The time limit of an answer that the server has at once.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(30);

/// The time for which the server is asked to wait for an event. It is the longest time that the API allows.
pub(crate) const LONG_POLL: Duration = Duration::from_secs(30);

/// The time limit of the answer to a long poll: the wait of the server, and time for the answer itself.
pub(crate) const LONG_POLL_ANSWER_TIME: Duration = LONG_POLL.saturating_add(Duration::from_secs(15));

/// The maximum size of a body that is read. It is several times the size of the largest page of events.
const BODY_MAX: usize = 8 << 20;

/// The media type of the API.
pub(crate) const JSON: &str = "application/json";

/// An answer with its whole body.
#[derive(Debug)]
pub(crate) struct ApiAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The reason why no answer came.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    pub(crate) why: String,
    /// Set if another attempt would end in the same way.
    pub(crate) is_permanent: bool,
    /// Set if the other end closed the connection, or spoke another protocol.
    pub(crate) is_no_http: bool,
}

impl NoAnswer {
    fn temporary(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_permanent: false, is_no_http: false }
    }

    fn permanent(why: impl Into<String>) -> Self {
        Self { is_permanent: true, ..Self::temporary(why) }
    }
}

/// A client of one server, with one key or without a key.
pub(crate) struct ApiClient {
    url: BaseUrl,
    authorization: Option<HeaderValue>,
    tls: Option<TlsConnector>,
    connect_time: Duration,
    /// The open connection, while no request uses it.
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl ApiClient {
    /// Returns a client that is not connected yet.
    pub(crate) fn new(url: BaseUrl, key: &str) -> Result<Self, Failure> {
        let mut authorization = HeaderValue::try_from(format!("Bearer {key}"))
            .map_err(|_| Failure::usage("the API key has characters that no key has: copy it again"))?;
        authorization.set_sensitive(true);
        Ok(Self { authorization: Some(authorization), ..Self::without_key(url)? })
    }

    /// Returns a client that sends no key, and is not connected yet.
    pub(crate) fn without_key(url: BaseUrl) -> Result<Self, Failure> {
        let tls = url.is_secure.then(tls::client::verifying).transpose()?;
        Ok(Self::with(url, tls, CONNECT_TIME))
    }

    /// Returns a client of a server on this machine, whose certificate is not checked. It sends no secret.
    pub(crate) fn of_this_machine(address: SocketAddr, is_secure: bool) -> Result<Self, Failure> {
        let tls = is_secure.then(tls::client::trusting_any).transpose()?;
        Ok(Self::with(BaseUrl::of_address(address, is_secure), tls, PROBE_TIME))
    }

    fn with(url: BaseUrl, tls: Option<ClientConfig>, connect_time: Duration) -> Self {
        let tls = tls.map(|config| TlsConnector::from(Arc::new(config)));
        Self { url, authorization: None, tls, connect_time, sender: None }
    }

    /// The base URL of the server.
    pub(crate) const fn url(&self) -> &BaseUrl {
        &self.url
    }

    /// Sends a GET request, and returns its answer if it is complete within the time limit.
    pub(crate) async fn get(&mut self, path_and_query: &str, limit: Duration) -> Result<ApiAnswer, NoAnswer> {
        self.get_as(JSON, path_and_query, limit).await
    }

    /// Sends a GET request for a media type, and returns its answer if it is complete within the time limit.
    pub(crate) async fn get_as(
        &mut self,
        media_type: &str,
        path_and_query: &str,
        limit: Duration,
    ) -> Result<ApiAnswer, NoAnswer> {
        let request = self.request(Method::GET, media_type, path_and_query, None)?;
        self.exchange(request, limit).await
    }

    /// Sends a request that may have a body in JSON, and returns its answer if it is complete within the time limit.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path_and_query: &str,
        body: Option<Bytes>,
        limit: Duration,
    ) -> Result<ApiAnswer, NoAnswer> {
        let request = self.request(method, JSON, path_and_query, body)?;
        self.exchange(request, limit).await
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        limit: Duration,
    ) -> Result<ApiAnswer, NoAnswer> {
        let mut sender = match self.sender.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => timeout(self.connect_time, self.connect())
                .await
                .map_err(|_| NoAnswer::temporary(late("connection", self.connect_time)))??,
        };
        let exchange = async {
            sender.ready().await.map_err(|error| unanswered(&error))?;
            let answer = sender.send_request(request).await.map_err(|error| unanswered(&error))?;
            let (parts, body) = answer.into_parts();
            let body = Limited::new(body, BODY_MAX).collect().await;
            let body =
                body.map_err(|error| NoAnswer::temporary(format!("the answer is incomplete: {error}")))?;
            Ok(ApiAnswer { status: parts.status, headers: parts.headers, body: body.to_bytes() })
        };
        let answer =
            timeout(limit, exchange).await.map_err(|_| NoAnswer::temporary(late("answer", limit)))??;
        self.sender = Some(sender);
        Ok(answer)
    }

    fn request(
        &self,
        method: Method,
        media_type: &str,
        path_and_query: &str,
        body: Option<Bytes>,
    ) -> Result<Request<Full<Bytes>>, NoAnswer> {
        let request = Request::builder().method(method).uri(format!("{}{path_and_query}", self.url.path));
        let request = match &body {
            Some(_) => request.header(CONTENT_TYPE, JSON),
            None => request,
        };
        let request = match &self.authorization {
            Some(authorization) => request.header(AUTHORIZATION, authorization.clone()),
            None => request,
        };
        request
            .header(HOST, &self.url.authority)
            .header(ACCEPT, media_type)
            .header(USER_AGENT, format!("petstore/{}", version::NUMBER))
            .body(Full::new(body.unwrap_or_default()))
            .map_err(|error| NoAnswer::permanent(error.to_string()))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, NoAnswer> {
        let BaseUrl { host, port, .. } = &self.url;
        let stream = TcpStream::connect((&**host, *port)).await.map_err(|error| unconnected(&error))?;
        let Some(tls) = &self.tls else { return start(stream).await };
        let name = ServerName::try_from(host.clone())
            .map_err(|_| NoAnswer::permanent(format!("{host} is not a host name")))?;
        start(tls.connect(name, stream).await.map_err(|error| not_trusted(&error))?).await
    }
}

async fn start(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Full<Bytes>>, NoAnswer> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| unanswered(&error))?;
    // If the connection fails, the request in progress fails too and reports the error, so the result of this task is
    // not read.
    tokio::spawn(connection);
    Ok(sender)
}

/// Returns the server that the variable names, else the local one. The variable is not a setting of the server, so
/// commands that do not need it ignore a wrong value.
pub(crate) fn default_server() -> Result<BaseUrl, Failure> {
    let set = value_of(URL_VARIABLE).and_then(|url| url.into_string().ok());
    let url = set.as_deref().unwrap_or(LOCAL_SERVER);
    BaseUrl::parse(url).map_err(|why| {
        Failure::usage(format!("{URL_VARIABLE}={:?} in the environment: {why}", shown(url, true)))
    })
}

fn late(what: &str, limit: Duration) -> String {
    format!("no {what} within {} s", limit.as_secs())
}

fn unconnected(error: &io::Error) -> NoAnswer {
    NoAnswer::temporary(match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("no server listens there: {error}"),
        _ => format!("cannot connect: {error}"),
    })
}

/// The reason of a failed TLS handshake. If the certificate is not trusted, another attempt would fail in the same way.
fn not_trusted(error: &io::Error) -> NoAnswer {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(_)) => NoAnswer::permanent(format!(
            "the server's certificate is not trusted: {error}; if its issuer is your own, name the issuer's certificate \
             in SSL_CERT_FILE"
        )),
        Some(rustls::Error::InvalidMessage(_)) => {
            NoAnswer::permanent(format!("the server does not speak TLS there: {error}"))
        }
        _ => NoAnswer::temporary(format!("the TLS handshake failed: {error}")),
    }
}

/// The reason of a failed exchange, with all its causes.
fn unanswered(error: &hyper::Error) -> NoAnswer {
    let mut why = format!("the server did not answer: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(why, ": {error}");
        cause = error.source();
    }
    let is_no_http = error.is_parse() || error.is_incomplete_message();
    NoAnswer { is_no_http, ..NoAnswer::temporary(why) }
}
