//! The error of this crate.

/// The reason why a petstore did not start, or did not do what a test asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestingError {
    /// The petstore did not start.
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
        /// The reason.
        why: String,
    },
    /// The petstore did not stop cleanly.
    #[error("the petstore did not stop in order: {0}")]
    Stop(String),
}
