//! Requests to the sandbox of a petstore.

use std::fmt::Display;
use std::net::SocketAddr;
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

/// The time limit of a request. A reset waits for requests in flight, and a wait for recorded requests takes up to 30 s.
const REQUEST_TIME: Duration = Duration::from_mins(1);

/// The maximum bytes of an answer. The records of all requests take 16 MiB by default.
const ANSWER_MAX: usize = 64 * 1024 * 1024;

/// A server that has just started: in this process, or a program.
pub(crate) struct StartedServer<S> {
    /// The base of the contract's paths.
    pub(crate) url: String,
    /// The initial key.
    pub(crate) key: String,
    pub(crate) sandbox: SandboxClient,
    pub(crate) server: S,
}

/// The sandbox of a petstore.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SandboxClient {
    /// The address of the listener that serves the sandbox.
    pub(crate) address: SocketAddr,
}

impl SandboxClient {
    /// Sends a request, and reads the JSON of its answer.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, TestingError> {
        let bytes = self.send(method.clone(), path, body).await?;
        serde_json::from_slice(&bytes).map_err(|error| failed(&method, path, error))
    }

    /// Sends a request. Returns the body of its answer, which has a status of success.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Bytes, TestingError> {
        let exchange = tokio::time::timeout(REQUEST_TIME, self.exchange(&method, path, body));
        let Ok(exchanged) = exchange.await else {
            return Err(failed(&method, path, format!("there was no answer within {REQUEST_TIME:?}")));
        };
        let (status, bytes) = exchanged?;
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

    /// Sends one request on a new connection. The connection belongs to the runtime of the caller, which may differ from call
    /// to call.
    async fn exchange(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Bytes), TestingError> {
        let failed = |error: &dyn Display| failed(method, path, error);
        let stream = TcpStream::connect(self.address).await.map_err(|error| failed(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
        let serving = tokio::spawn(connection);
        let mut request =
            Request::builder().method(method).uri(path).header("host", self.address.to_string());
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let request = request.body(Full::new(body)).map_err(|error| failed(&error))?;
        let answer = sender.send_request(request).await.map_err(|error| failed(&error))?;
        let read = read(answer).await.map_err(|error| failed(&error));
        serving.abort();
        read
    }
}

async fn read(
    answer: Response<hyper::body::Incoming>,
) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await?;
    Ok((status, body.to_bytes()))
}

fn failed(method: &Method, path: &str, why: impl Display) -> TestingError {
    TestingError::Failed { method: method.to_string(), path: path.to_owned(), why: why.to_string() }
}
