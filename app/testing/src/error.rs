//! The error of this crate.

use std::time::Duration;

use crate::received::{ReceivedRequest, brief};

/// The reason why a petstore did not start, or did not do what a test asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestingError {
    /// The petstore did not start. The message has the end of the program's log.
    #[error("the petstore did not start: {0}")]
    Start(String),
    /// The petstore refused a request to its sandbox.
    #[error("{method} {path} was refused with status {status}: {message}")]
    Refused {
        /// The method of the request.
        method: String,
        /// The path of the request.
        path: String,
        /// The status of the answer.
        status: u16,
        /// The body of the answer.
        message: String,
    },
    /// A request to the sandbox got no answer, or one that this crate does not understand.
    #[error("{method} {path} failed: {why}")]
    Failed {
        /// The method of the request.
        method: String,
        /// The path of the request.
        path: String,
        /// The reason, as a sentence for the message of a failed test.
        why: String,
    },
    /// The program ended before it answered a request to the sandbox.
    #[error("{method} {path} failed, because the petstore has ended: {why}")]
    Ended {
        /// The method of the request.
        method: String,
        /// The path of the request.
        path: String,
        /// The exit code, the path of the log, and its last lines.
        why: String,
    },
    /// Fewer requests came than [`RequestQuery::count`](crate::RequestQuery::count) expects.
    #[error("expected {count} requests within {wait:?}, {} came: {}", requests.len(), brief(requests))]
    NotEnoughRequests {
        /// The number of requests that the test expects.
        count: u32,
        /// The time for which was waited.
        wait: Duration,
        /// The requests that came.
        requests: Vec<ReceivedRequest>,
    },
    /// An exam could not be held.
    #[error("petstore exam: {0}")]
    Exam(String),
    /// The petstore did not stop cleanly.
    #[error("the petstore did not stop in order: {0}")]
    Stop(String),
}
