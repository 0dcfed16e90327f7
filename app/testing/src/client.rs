//! Requests to the sandbox of a petstore.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::error::TestingError;
use crate::program::Program;
use crate::runtime;

/// The time limit of a request. A reset waits for requests in flight, and a wait for recorded requests takes up to 30 s.
const REQUEST_TIME: Duration = Duration::from_mins(1);

/// The maximum bytes of an answer. The records of all requests take 16 MiB by default.
const ANSWER_MAX: usize = 64 * 1024 * 1024;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// A server that has just started: in this process, or a program.
pub(crate) struct StartedServer<S> {
    /// The base of the contract's paths.
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) version: String,
    pub(crate) sandbox: SandboxClient,
    pub(crate) server: S,
}

/// The sandbox of a petstore.
#[derive(Debug, Clone)]
pub(crate) struct SandboxClient {
    /// The address of the listener that serves the sandbox.
    pub(crate) address: SocketAddr,
    /// The program that serves it; none for a server in this process.
    pub(crate) program: Option<Arc<Program>>,
}

impl SandboxClient {
    /// Sends a request, and reads the JSON of its answer.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, TestingError> {
        self.exchange(method, path, body.map(Sent::json)).await
    }

    /// Sends a request with a body of any type, and reads the JSON of its answer.
    pub(crate) async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        sent: Option<Sent>,
    ) -> Result<T, TestingError> {
        let bytes = self.send_any(method.clone(), path, sent).await?;
        serde_json::from_slice(&bytes).map_err(|error| failed(&method, path, error.to_string()))
    }

    /// Sends a request. Returns the body of its answer, which has a status of success.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Bytes, TestingError> {
        self.send_any(method, path, body.map(Sent::json)).await
    }

    async fn send_any(&self, method: Method, path: &str, sent: Option<Sent>) -> Result<Bytes, TestingError> {
        let call = Call { address: self.address, method: method.clone(), path: path.to_owned(), sent };
        let program = self.program.clone();
        let sent = runtime::run(async move {
            let why = match tokio::time::timeout(REQUEST_TIME, call.send()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("there was no answer within {REQUEST_TIME:?}"),
            };
            let end = match &program {
                Some(program) => program.early_end().await,
                None => None,
            };
            Err(match end {
                Some(why) => TestingError::Ended { method: call.method.to_string(), path: call.path, why },
                None => failed(&call.method, &call.path, why),
            })
        });
        let (status, bytes) = sent.await.map_err(|why| failed(&method, path, why))??;
        if status.is_success() {
            return Ok(bytes);
        }
        let message = String::from_utf8_lossy(&bytes).into_owned();
        Err(TestingError::Refused {
            method: method.to_string(),
            path: path.to_owned(),
            status: status.as_u16(),
            message,
        })
    }
}

/// The body of a request.
pub(crate) struct Sent {
    pub(crate) body: Bytes,
    pub(crate) content_type: &'static str,
}

impl Sent {
    fn json(body: &Value) -> Self {
        Self { body: body.to_string().into(), content_type: "application/json" }
    }
}

/// A request of a test to the sandbox.
struct Call {
    address: SocketAddr,
    method: Method,
    path: String,
    sent: Option<Sent>,
}

impl Call {
    /// Sends the request on a new connection.
    async fn send(&self) -> Result<(StatusCode, Bytes), AnyError> {
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let serving = tokio::spawn(connection);
        let mut request =
            Request::builder().method(&self.method).uri(&self.path).header("host", self.address.to_string());
        if let Some(sent) = &self.sent {
            request = request.header("content-type", sent.content_type);
        }
        let body = self.sent.as_ref().map(|sent| sent.body.clone()).unwrap_or_default();
        let request = request.body(Full::new(body))?;
        let read = match sender.send_request(request).await {
            Ok(answer) => read(answer).await,
            Err(error) => Err(error.into()),
        };
        serving.abort();
        read
    }
}

async fn read(answer: Response<hyper::body::Incoming>) -> Result<(StatusCode, Bytes), AnyError> {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await?;
    Ok((status, body.to_bytes()))
}

fn failed(method: &Method, path: &str, why: String) -> TestingError {
    TestingError::Failed { method: method.to_string(), path: path.to_owned(), why }
}
