//! The task of a connection, which counts the warnings of its server.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Connection};

/// The number of warnings that the server of a connection has sent. A warning is counted before the answer of the statement
/// that has caused it is received.
#[derive(Debug, Clone, Default)]
pub(super) struct Warnings(Arc<AtomicU64>);

impl Warnings {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Drives a connection on the current runtime until its client is dropped. The calls of the client return its errors.
pub(super) fn drive<S, T>(mut connection: Connection<S, T>) -> Warnings
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let warnings = Warnings::default();
    let counted = warnings.clone();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            // The parsed severity is the one that the server does not translate.
            if let AsyncMessage::Notice(notice) = message
                && notice.parsed_severity() == Some(Severity::Warning)
            {
                counted.0.fetch_add(1, Ordering::Release);
            }
        }
    });
    warnings
}
