//! The requests of an exam, as the journal of the sandbox tells them.

use petstore_client_report::client_prefix;
use serde::{Deserialize, Serialize};

/// A request of the client, without its body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::exam) struct ExaminedRequest {
    /// The id of the request, which its answer had as `X-Request-Id`.
    pub(in crate::exam) id: String,
    /// The number in the order of arrival, from 1 in each scenario.
    pub(in crate::exam) sequence: u64,
    /// The sandbox's time of the arrival, as in `2030-01-01T12:00:00.000Z`.
    pub(in crate::exam) at: String,
    /// The machine's time of the arrival, in milliseconds since the start of the sandbox.
    pub(in crate::exam) uptime_ms: f64,
    /// The time until the answer was passed to the connection, in milliseconds; none while there is no answer.
    pub(in crate::exam) duration_ms: Option<f64>,
    /// The beginning of the key.
    pub(in crate::exam) key_prefix: Option<String>,
    /// The method.
    pub(in crate::exam) method: String,
    /// The path and the query, as received.
    pub(in crate::exam) target: String,
    /// The path as the contract has it.
    pub(in crate::exam) route: Option<String>,
    /// The headers of the request, without secrets.
    pub(in crate::exam) headers: Vec<(String, String)>,
    /// The answer.
    pub(in crate::exam) answer: Option<ExaminedAnswer>,
    /// The planned fault that acted on the request.
    pub(in crate::exam) fault: Option<String>,
    /// The names of the rules that the request did not follow.
    pub(in crate::exam) hints: Vec<String>,
}

impl ExaminedRequest {
    /// Returns the beginning of the key whose client is judged for the request, also of one that is not where a key belongs.
    pub(in crate::exam) fn client(&self) -> Option<&str> {
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        client_prefix(self.key_prefix.as_deref(), headers, &self.target)
    }
}

/// An answer, without its body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::exam) struct ExaminedAnswer {
    /// The sandbox's time of its end.
    pub(in crate::exam) at: String,
    /// `sent`, `streaming`, `dropped` or `gone`.
    pub(in crate::exam) outcome: String,
    /// The status; none if no answer was made.
    pub(in crate::exam) status: Option<u16>,
    /// The code of an error.
    pub(in crate::exam) code: Option<String>,
    /// The headers.
    pub(in crate::exam) headers: Vec<(String, String)>,
}
