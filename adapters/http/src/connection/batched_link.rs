//! A link in memory between a client of a test and the socket of a connection, with a send batch that is flushed as that
//! of a thread is.

use std::rc::Rc;
use std::time::Duration;

use tokio::io::{DuplexStream, duplex};
use tokio::task::spawn_local;
use tokio::time::sleep;

use crate::connection::streaming_frame::BUFFER;
use crate::io::activity::Activity;
use crate::io::send_batch::SendBatch;
use crate::io::socket::{Socket, send};

/// The pause between two flushes of the send batch.
pub(super) const FLUSHED_EACH: Duration = Duration::from_millis(1);

/// Returns the client's end of a link, and the server's socket. Both must be used in one `LocalSet`.
pub(super) fn link(activity: &Rc<Activity>) -> (DuplexStream, Socket<DuplexStream>) {
    let (near, far) = duplex(BUFFER);
    let batch = Rc::new(SendBatch::new());
    let socket = Socket::new(far, send, Rc::clone(activity), Rc::clone(&batch));
    spawn_local(async move {
        loop {
            batch.flush();
            sleep(FLUSHED_EACH).await;
        }
    });
    (near, socket)
}
