//! A record: one request, and its answer once it has one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{AccountId, KeyPrefix, Timestamp};

use crate::body::RecordedBody;
use crate::header_lines::HeaderLines;

/// One request and its answer. Cloning is cheap: the parts are shared.
#[derive(Debug, Clone)]
pub struct RequestRecord {
    /// The number of the record: 1, 2, 3 ... in the order of arrival since the journal was cleared.
    pub sequence: u64,
    /// The request.
    pub request: Arc<RecordedRequest>,
    /// The answer; `None` while the request is being answered.
    pub answer: Option<Arc<RecordedAnswer>>,
}

impl RequestRecord {
    /// Returns the status of the answer; `None` without an answer, or if the connection was closed without one.
    pub fn status(&self) -> Option<u16> {
        self.answer.as_ref().and_then(|answer| answer.status)
    }

    /// Returns the body of the request, as far as it was read; `None` while the request is being answered.
    pub fn request_body(&self) -> Option<&RecordedBody> {
        self.answer.as_ref().map(|answer| &answer.request_body)
    }

    /// Returns the number of bytes in memory, computed from the length of the parts.
    pub fn bytes(&self) -> usize {
        self.request.bytes() + self.answer.as_ref().map_or(0, |answer| answer.bytes())
    }

    /// Returns `true` if the body of the answer is compressed, so that the forms of the record may be much longer.
    pub fn is_compressed(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.is_gzip())
    }

    /// Returns the value of the first request header with this name, in any case, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.headers.text(name)
    }

    /// Returns whether the request has a header with this name, in any case, and exactly this value.
    pub fn has_header(&self, name: &str, value: &str) -> bool {
        self.request.headers.all(name).any(|one| one == value.as_bytes())
    }

    /// Returns the value of the first header of the answer with this name, in any case, if it is text.
    pub fn answer_header(&self, name: &str) -> Option<&str> {
        self.answer.as_ref().and_then(|answer| answer.headers.text(name))
    }
}

/// A request as it arrived, with its credentials masked.
#[derive(Debug)]
pub struct RecordedRequest {
    /// The request id. A client may choose the same id for several requests.
    pub id: Box<str>,
    /// The sandbox's time at the arrival of the head.
    pub at: Timestamp,
    /// The time from the server's start to the arrival of the head, by the machine's monotonic clock. Together with
    /// [`RecordedAnswer::duration`] it tells which requests overlapped, whatever the sandbox's clock was set to.
    pub uptime: Duration,
    /// The address of the peer.
    pub client: IpAddr,
    /// The number of the connection: 1, 2, 3 ... in the order of their first recorded requests since the start.
    pub connection: u64,
    /// The protocol of the connection.
    pub protocol: Protocol,
    /// `true` if the connection uses TLS.
    pub is_secure: bool,
    /// The prefix of the API key in the request; `None` if it has none, or several, or if the text does not have the
    /// form of a key. The key may have expired, or may be unknown: see the status of the answer.
    pub key_prefix: Option<KeyPrefix>,
    /// The method as received.
    pub method: Cow<'static, str>,
    /// The request target as received: path and query.
    pub target: Box<str>,
    /// The route template of the contract, such as `/pets/{petId}`; `None` for an unknown path.
    pub route: Option<&'static str>,
    /// The headers, with names in lower case. Values of one name are in the order received.
    pub headers: HeaderLines,
    /// The call of a tool that the request was made of; `None` for a request that a client sent as it is.
    pub tool_call: Option<Arc<ToolCall>>,
}

/// A call of a tool of the Model Context Protocol, with its credentials masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The name of the tool.
    pub tool: Box<str>,
    /// The id of the client's message.
    pub id: Box<str>,
    /// The client's name and version, as it says them; `None` if it says none.
    pub client: Option<Box<str>>,
}

impl ToolCall {
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.tool.len()
            + self.id.len()
            + self.client.as_ref().map_or(0, |text| text.len())
    }
}

impl RecordedRequest {
    /// Returns the number of bytes in memory, computed from the length of the parts.
    pub fn bytes(&self) -> usize {
        let texts = self.id.len() + self.method.len() + self.target.len();
        let tool_call = self.tool_call.as_ref().map_or(0, |call| call.bytes());
        size_of::<Self>() + texts + self.headers.bytes() + tool_call
    }
}

/// The protocol of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
}

impl Protocol {
    /// Returns the name in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        }
    }
}

/// The answer to a request, and the facts that were found out while it was made.
#[derive(Debug, Clone)]
pub struct RecordedAnswer {
    /// The sandbox's time at the end of the answer.
    pub at: Timestamp,
    /// The time from the arrival of the head to the end of the answer, by the machine's monotonic clock.
    pub duration: Duration,
    /// The way in which the answer ended.
    pub outcome: AnswerOutcome,
    /// The status; `None` if no answer was made. An answer that was made and then lost has its status.
    pub status: Option<u16>,
    /// The headers, without those that the connection adds.
    pub headers: HeaderLines,
    /// The body of the request as far as it was read, with its secrets masked.
    pub request_body: RecordedBody,
    /// The body of the answer, with its secrets masked.
    pub body: RecordedBody,
    /// The account, if the request was admitted.
    pub account: Option<AccountId>,
    /// The quota that the answer carried.
    pub quota: Option<RecordedQuota>,
    /// The planned failure that acted on the request, as text.
    pub fault: Option<Box<str>>,
}

impl RecordedAnswer {
    /// Returns the number of bytes in memory, computed from the length of the parts.
    pub fn bytes(&self) -> usize {
        let bodies = self.request_body.kept().len() + self.body.kept().len();
        let fault = self.fault.as_ref().map_or(0, |fault| fault.len());
        size_of::<Self>() + self.headers.bytes() + bodies + fault
    }

    /// Returns `true` if the body is compressed with gzip.
    pub fn is_gzip(&self) -> bool {
        self.headers.text("content-encoding") == Some("gzip")
    }

    /// Returns the `code` of an error answer.
    pub fn code(&self) -> Option<&str> {
        // The server writes the code first. A body that was cut off keeps it.
        const START: &[u8] = b"{\"code\":\"";
        if self.status? < 400 {
            return None;
        }
        let rest = self.body.kept().strip_prefix(START)?;
        let end = rest.iter().position(|byte| *byte == b'"')?;
        str::from_utf8(&rest[..end]).ok()
    }
}

impl RecordedAnswer {
    /// Returns the `retryAfterSeconds` of an error answer.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        // In a text the quotes would be escaped, so this is the member.
        const MEMBER: &[u8] = b",\"retryAfterSeconds\":";
        let kept = self.body.kept();
        let start = kept.windows(MEMBER.len()).position(|part| part == MEMBER)? + MEMBER.len();
        let digits = kept[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        str::from_utf8(&kept[start..start + digits]).ok()?.parse().ok()
    }
}

/// The way in which an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// A streaming answer is still being sent.
    Streaming,
    /// The whole answer was passed to the connection.
    Sent,
    /// A planned failure closed the connection without the answer, or before its end.
    Dropped,
    /// The client left before the answer.
    Gone,
}

impl AnswerOutcome {
    /// Returns the word in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::Sent => "sent",
            Self::Dropped => "dropped",
            Self::Gone => "gone",
        }
    }
}

/// The values of the quota headers of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedQuota {
    /// `X-RateLimit-Limit`.
    pub limit: u32,
    /// `X-RateLimit-Remaining`.
    pub remaining: u32,
    /// `X-RateLimit-Reset`, in seconds since the epoch.
    pub reset: u64,
    /// `X-RateLimit-Resource`: `minute`, `day`, `address` or `ban`.
    pub resource: &'static str,
}

/// The hints of records: the rules of the client report that name a request, by its sequence number.
#[derive(Debug, Default)]
pub struct Hints(HashMap<u64, Vec<&'static str>>);

impl Hints {
    /// Adds a rule to a record, once.
    pub fn add(&mut self, sequence: u64, rule: &'static str) {
        let rules = self.0.entry(sequence).or_default();
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }

    /// Returns the rules that name a record.
    pub fn of(&self, sequence: u64) -> &[&'static str] {
        self.0.get(&sequence).map_or(&[], Vec::as_slice)
    }
}
