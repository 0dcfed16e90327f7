//! Sinks: receivers of webhooks in this process. A sink keeps the requests that it gets, and answers them as its script
//! says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderValue;
use parking_lot::Mutex;
use petstore_domain::Timestamp;
use petstore_ports::{SignatureVerdict, WebhookSecret};
use tokio::sync::watch;

/// The maximum number of sinks.
pub(crate) const SINKS_MAX: usize = 100;

/// The maximum number of requests that a sink keeps. The oldest ones go first.
pub(crate) const REQUESTS_MAX: usize = 1_000;

/// The maximum number of bytes of all requests that the sinks keep. The oldest requests of the sink with the most bytes go
/// first.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// The estimated size of a request besides its headers and its body.
const REQUEST_SIZE: usize = 256;

/// The script of a sink.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SinkScript {
    /// The secret with which signatures are checked; none to try those of all webhooks that point at the sink.
    pub(crate) secret: Option<WebhookSecret>,
    /// The answers in their order.
    pub(crate) answers: Vec<ScriptedAnswer>,
}

/// An answer, and the number of requests that get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptedAnswer {
    /// The number of requests that get this answer before the next one follows; none for all further requests.
    pub(crate) first: Option<u64>,
    /// The time before the answer.
    pub(crate) delay: Duration,
    pub(crate) end: SinkEnd,
}

/// The way in which a request to a sink ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SinkEnd {
    /// An answer.
    Answered {
        status: StatusCode,
        /// The value of `Retry-After`.
        retry_after: Option<HeaderValue>,
        /// The value of `Location`.
        redirect: Option<HeaderValue>,
        /// The number of bytes of the body.
        bytes: usize,
    },
    /// The connection closes without an answer.
    Dropped,
    /// The answer does not come.
    Hung,
}

/// The answer of a sink without a script.
const DEFAULT_END: SinkEnd =
    SinkEnd::Answered { status: StatusCode::NO_CONTENT, retry_after: None, redirect: None, bytes: 0 };

/// The result of the check of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SinkVerdict {
    /// The signature was checked.
    Checked(SignatureVerdict),
    /// The signature could not be checked, for this reason.
    Unknown(&'static str),
}

impl SinkVerdict {
    /// The verdict in one word.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Checked(SignatureVerdict::Valid) => "valid",
            Self::Checked(SignatureVerdict::Unsigned(_)) => "unsigned",
            Self::Checked(SignatureVerdict::Stale { .. } | SignatureVerdict::Early { .. }) => "stale",
            Self::Checked(
                SignatureVerdict::MalformedTimestamp
                | SignatureVerdict::MalformedSignature
                | SignatureVerdict::BodyDiffers(_)
                | SignatureVerdict::SecretNotDecoded
                | SignatureVerdict::OtherSecret,
            ) => "invalid",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The reason; none for a valid signature.
    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            Self::Checked(SignatureVerdict::Valid) => None,
            Self::Checked(verdict) => Some(verdict.to_string()),
            Self::Unknown(reason) => Some((*reason).to_owned()),
        }
    }
}

/// A request before the sink has taken it.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Timestamp,
    /// The names and values of the headers, in the order of their arrival.
    pub(crate) headers: Vec<(Bytes, Bytes)>,
    pub(crate) body: Bytes,
    /// The value of `webhook-id`.
    pub(crate) id: Option<Bytes>,
    pub(crate) verdict: SinkVerdict,
}

/// A request that a sink keeps.
#[derive(Debug, Clone)]
pub(crate) struct SinkRequest {
    /// The number of the request in its sink, from 1.
    pub(crate) sequence: u64,
    pub(crate) at: Timestamp,
    pub(crate) headers: Vec<(Bytes, Bytes)>,
    pub(crate) body: Bytes,
    pub(crate) verdict: SinkVerdict,
    /// `true` if the sink keeps an earlier request with the same `webhook-id`.
    pub(crate) is_duplicate: bool,
    /// The status of the answer; none if there is no answer.
    pub(crate) status: Option<StatusCode>,
    id: Option<Bytes>,
}

impl SinkRequest {
    /// Returns the estimated number of bytes in memory.
    pub(crate) fn size(&self) -> usize {
        let headers = self.headers.iter().map(|(name, value)| name.len() + value.len());
        REQUEST_SIZE + self.body.len() + headers.sum::<usize>()
    }
}

/// The name and the counts of a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SinkSummary {
    pub(crate) name: String,
    /// The number of requests that it keeps.
    pub(crate) kept: usize,
    /// The number of requests that it has got.
    pub(crate) received: u64,
    /// The number of kept requests with each verdict, in the order of the words.
    pub(crate) verdicts: BTreeMap<&'static str, usize>,
}

/// The requests of a sink that a reader asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct SinkPage {
    pub(crate) requests: Vec<Arc<SinkRequest>>,
    /// The number of requests that the sink no longer keeps.
    pub(crate) dropped: u64,
}

/// A further sink would exceed [`SINKS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManySinks;

/// The sinks of a sandbox.
#[derive(Default)]
pub(crate) struct Sinks {
    all: Mutex<AllSinks>,
    /// Rises with each request, for readers that wait.
    arrivals: watch::Sender<u64>,
}

#[derive(Default)]
struct AllSinks {
    by_name: BTreeMap<String, Sink>,
    bytes: usize,
}

#[derive(Default)]
struct Sink {
    script: SinkScript,
    /// The number of requests since the script was set.
    answered: u64,
    received: u64,
    requests: VecDeque<Arc<SinkRequest>>,
    bytes: usize,
}

impl Sinks {
    /// The secret of a sink's script.
    pub(crate) fn secret(&self, name: &str) -> Option<WebhookSecret> {
        self.all.lock().by_name.get(name).and_then(|sink| sink.script.secret.clone())
    }

    /// Keeps a request, and returns the answer that it gets.
    pub(crate) fn take(&self, name: &str, arrival: Arrival) -> Result<(Duration, SinkEnd), TooManySinks> {
        let next = {
            let mut all = self.all.lock();
            let sink = all.sink(name)?;
            let next = sink.next_answer();
            let status = match &next.1 {
                SinkEnd::Answered { status, .. } => Some(*status),
                SinkEnd::Dropped | SinkEnd::Hung => None,
            };
            let added = sink.keep(arrival, status);
            all.bytes += added;
            all.trim(name);
            next
        };
        self.arrivals.send_modify(|count| *count += 1);
        Ok(next)
    }

    /// Sets the script of a sink. Its answers begin with the first one.
    pub(crate) fn set(&self, name: &str, script: SinkScript) -> Result<(), TooManySinks> {
        let mut all = self.all.lock();
        let sink = all.sink(name)?;
        (sink.script, sink.answered) = (script, 0);
        Ok(())
    }

    /// Forgets a sink: its requests and its script.
    pub(crate) fn remove(&self, name: &str) {
        let mut all = self.all.lock();
        if let Some(sink) = all.by_name.remove(name) {
            all.bytes -= sink.bytes;
        }
    }

    /// Forgets all sinks.
    pub(crate) fn clear(&self) {
        *self.all.lock() = AllSinks::default();
    }

    /// The names of all sinks, with their counts.
    pub(crate) fn summaries(&self) -> Vec<SinkSummary> {
        let all = self.all.lock();
        all.by_name.iter().map(|(name, sink)| sink.summary(name)).collect()
    }

    /// The requests of a sink after a sequence number.
    pub(crate) fn requests(&self, name: &str, after: u64) -> SinkPage {
        let all = self.all.lock();
        let Some(sink) = all.by_name.get(name) else { return SinkPage::default() };
        let later = sink.requests.iter().filter(|request| request.sequence > after);
        SinkPage { requests: later.cloned().collect(), dropped: sink.received - sink.requests.len() as u64 }
    }

    /// Waits until a sink has got `count` requests after a sequence number.
    pub(crate) async fn wait(&self, name: &str, after: u64, count: u64) {
        let has_come = |_: &u64| {
            let all = self.all.lock();
            all.by_name.get(name).is_some_and(|sink| sink.received >= after.saturating_add(count))
        };
        // `wait_for` fails only without a sender, and the sender is a field of `self`.
        let _ = self.arrivals.subscribe().wait_for(has_come).await;
    }
}

impl AllSinks {
    /// The sink with this name, which is created if it does not exist.
    fn sink(&mut self, name: &str) -> Result<&mut Sink, TooManySinks> {
        if self.by_name.len() >= SINKS_MAX && !self.by_name.contains_key(name) {
            return Err(TooManySinks);
        }
        Ok(self.by_name.entry(name.to_owned()).or_default())
    }

    /// Drops the oldest requests beyond the bounds, after a request for this sink.
    fn trim(&mut self, name: &str) {
        if let Some(sink) = self.by_name.get_mut(name)
            && sink.requests.len() > REQUESTS_MAX
        {
            self.bytes -= sink.drop_oldest();
        }
        while self.bytes > BYTES_MAX {
            let Some(largest) = self.by_name.values_mut().max_by_key(|sink| sink.bytes) else { return };
            self.bytes -= largest.drop_oldest();
        }
    }
}

impl Sink {
    /// The answer to the next request.
    fn next_answer(&mut self) -> (Duration, SinkEnd) {
        self.answered += 1;
        let mut number = self.answered;
        for answer in &self.script.answers {
            match answer.first {
                Some(first) if number > first => number -= first,
                _ => return (answer.delay, answer.end.clone()),
            }
        }
        (Duration::ZERO, DEFAULT_END)
    }

    /// Keeps a request, and returns its size.
    fn keep(&mut self, arrival: Arrival, status: Option<StatusCode>) -> usize {
        self.received += 1;
        let Arrival { at, headers, body, id, verdict } = arrival;
        let is_duplicate = id.is_some() && self.requests.iter().any(|kept| kept.id == id);
        let request =
            SinkRequest { sequence: self.received, at, headers, body, verdict, is_duplicate, status, id };
        let size = request.size();
        self.bytes += size;
        self.requests.push_back(Arc::new(request));
        size
    }

    /// Drops the oldest request, and returns its size.
    fn drop_oldest(&mut self) -> usize {
        let size = self.requests.pop_front().map_or(0, |request| request.size());
        self.bytes -= size;
        size
    }

    fn summary(&self, name: &str) -> SinkSummary {
        let mut verdicts = BTreeMap::new();
        for request in &self.requests {
            *verdicts.entry(request.verdict.word()).or_default() += 1;
        }
        SinkSummary { name: name.to_owned(), kept: self.requests.len(), received: self.received, verdicts }
    }
}

#[cfg(test)]
mod tests;
