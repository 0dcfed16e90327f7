//! The end of a connection on which the head of a request was not read.

use std::net::IpAddr;

use hyper::StatusCode;
use tokio::io::AsyncWriteExt;
use tokio::time::Duration;

use super::LAST_REQUEST_TIME;
use crate::base::observe::Exchange;
use crate::counts::route_label::UNKNOWN;
use crate::io::socket::Stream;
use crate::thread::request_id::RequestId;
use crate::thread::thread_state::ThreadState;
use crate::wire::error::{ApiError, Code};
use crate::wire::render_error;

/// Shuts down a stream on which no answer is pending.
pub(super) async fn close<T: Stream>(mut stream: T) {
    let _ = tokio::time::timeout(LAST_REQUEST_TIME, stream.shutdown()).await;
}

/// Counts and logs an answer to a request whose head was never read.
pub(super) fn note_unread(thread: &ThreadState, peer: IpAddr, status: StatusCode, id: &RequestId) {
    thread.counters.answered_unread(status);
    let told = Exchange {
        method: UNKNOWN,
        route: UNKNOWN,
        status: status.as_u16(),
        request_id: id.as_str(),
        traceparent: None,
        client: peer.to_canonical(),
        account: None,
        key: None,
        duration: Duration::ZERO,
        fault: None,
    };
    if let Some(observer) = &thread.app.settings.observer
        && observer.wants(told.status, told.duration, false)
    {
        observer.answered(&told);
    }
}

/// Answers a request whose head did not arrive in time, which hyper cannot do.
pub(super) async fn refuse_late_head<T: Stream>(mut stream: T, id: &RequestId) {
    let error = ApiError::new(Code::RequestTimeout, "The request head did not arrive in time.");
    let (status, body) = (error.code.status(), render_error(&error, None));
    let mut answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\nx-request-id: {}\r\n\
         connection: close\r\n\r\n",
        body.len() + 1,
        id.as_str()
    )
    .into_bytes();
    answer.extend(body);
    answer.push(b'\n');
    // The answer is given up if it does not fit into the socket's buffer.
    let _ = tokio::time::timeout(LAST_REQUEST_TIME, async {
        stream.write_all(&answer).await?;
        stream.shutdown().await
    })
    .await;
}
