//! A request that a client sent.

use serde::Deserialize;

/// A request as the petstore received it. Secrets are masked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// The id of the request, as in `X-Request-Id`.
    pub id: String,
    /// Its number since the start or the last reset.
    pub sequence: u64,
    /// The time of its arrival, by the petstore's clock.
    pub at: String,
    /// The time of its arrival since the start of the petstore, in milliseconds of the machine's clock.
    pub uptime_ms: f64,
    /// The time from its first byte to the last byte of its answer, in milliseconds; none while it is not answered.
    pub duration_ms: Option<f64>,
    /// The address of the client.
    pub client: String,
    /// The number of its connection.
    pub connection: u64,
    /// `HTTP/1.1` or `HTTP/2`.
    pub protocol: String,
    /// The number of the account; none if the request was not admitted.
    pub account: Option<u64>,
    /// The first characters of its key, if it has the form of one.
    pub key_prefix: Option<String>,
    /// The method, such as `GET`.
    pub method: String,
    /// The target as it was sent, with its query.
    pub target: String,
    /// The path as the contract writes it, such as `/pets/{petId}`; none for an unknown path.
    pub route: Option<String>,
    /// The headers in their order, with the names as they were sent.
    pub headers: Vec<(String, String)>,
    /// The body as text, or in base64 if [`Self::body_encoding`] says so. It may have been cut.
    pub body: Option<String>,
    /// `base64` if the body is not text.
    pub body_encoding: Option<String>,
    /// The length of the body as it was sent.
    pub body_bytes: u64,
    /// The answer; none while there is no answer.
    pub answer: Option<SentAnswer>,
    /// The quota after the request, as the answer's headers have it.
    pub quota: Option<QuotaReading>,
    /// The planned fault that acted on the request.
    pub fault: Option<String>,
    /// The rules of the report that name the request.
    pub hints: Vec<String>,
}

/// The values of the quota headers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct QuotaReading {
    /// The requests that the window admits.
    pub limit: u32,
    /// The requests that are left.
    pub remaining: u32,
    /// The end of the window, in seconds since 1970.
    pub reset: u64,
    /// `minute` or `day`.
    pub resource: String,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SentAnswer {
    /// The time of the answer, by the petstore's clock.
    pub at: String,
    /// `sent`, `streaming`, `dropped` by a planned fault, or `gone` because the client left.
    pub outcome: String,
    /// The status; none if the connection ended without one.
    pub status: Option<u16>,
    /// The code of an error.
    pub code: Option<String>,
    /// The headers as name and value, in the order in which they were received.
    pub headers: Vec<(String, String)>,
    /// The body as text, or in base64. It may have been cut.
    pub body: Option<String>,
    /// `base64` if the body is not text.
    pub body_encoding: Option<String>,
    /// The length of the body as it was sent.
    pub body_bytes: u64,
}

impl ReceivedRequest {
    /// The status of the answer.
    pub fn status(&self) -> Option<u16> {
        self.answer.as_ref()?.status
    }

    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(sent, _)| sent.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Lists requests for a message.
pub(crate) fn brief(requests: &[ReceivedRequest]) -> String {
    let one = |request: &ReceivedRequest| {
        let status = request.status().map_or_else(|| "in progress".to_owned(), |status| status.to_string());
        format!("{} {} {status}", request.method, request.target)
    };
    if requests.is_empty() {
        return "none".to_owned();
    }
    requests.iter().map(one).collect::<Vec<_>>().join(", ")
}
