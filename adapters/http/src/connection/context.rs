//! One connection, for those who serve it one after the other: whose it is, and what belongs to it.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use crate::base::drain::Drain;
use crate::io::activity::Activity;
use crate::thread::thread_state::ThreadState;

/// A connection without its stream.
pub(crate) struct ConnectionContext {
    /// Whom it comes from.
    pub(crate) peer: IpAddr,
    /// The thread that it lives on.
    pub(crate) thread: Rc<ThreadState>,
    /// What happens on it.
    pub(crate) activity: Rc<Activity>,
    /// The end of the server.
    pub(crate) drain: Arc<Drain>,
}
