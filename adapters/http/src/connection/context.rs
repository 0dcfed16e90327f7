//! The context of one connection, which is passed from layer to layer.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use crate::base::drain::Drain;
use crate::io::activity::Activity;
use crate::thread::thread_state::ThreadState;

/// The context of one connection: everything but its stream.
pub(crate) struct ConnectionContext {
    /// The address of the peer.
    pub(crate) peer: IpAddr,
    /// The state of the thread that serves the connection.
    pub(crate) thread: Rc<ThreadState>,
    /// The activity of the connection, from which its deadlines are computed.
    pub(crate) activity: Rc<Activity>,
    /// The stop signal of the server.
    pub(crate) drain: Arc<Drain>,
}
