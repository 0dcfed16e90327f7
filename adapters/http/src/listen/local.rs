//! Serving connections that the caller accepts.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::base::drain::Drain;
use crate::connection::context::ConnectionContext;
use crate::connection::http1::serve_connection;
use crate::io::activity::Activity;
use crate::io::socket;
use crate::thread::shared::{App, Serves};
use crate::thread::thread_state::ThreadState;

/// Serves connections that its owner accepts, on the owner's runtime. So the service can use another transport than
/// TCP, or the simulated links of a test. It belongs to one thread.
pub struct LocalServer {
    thread: Rc<ThreadState>,
    drain: Arc<Drain>,
    tasks: Rc<BackgroundTasks>,
}

/// The tasks that all connections of the thread need. Dropping this value aborts the tasks.
struct BackgroundTasks([AbortHandle; 2]);

impl Drop for BackgroundTasks {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl LocalServer {
    pub(crate) fn start(app: &Arc<App>, serves: Serves) -> Self {
        let thread = Rc::new(ThreadState::new(Arc::clone(app), serves));
        let tasks = Rc::new(BackgroundTasks(thread.spawn_tasks()));
        Self { thread, drain: Arc::default(), tasks }
    }

    /// Serves a connection to its end. Requests without a valid key are counted against the address `peer`.
    ///
    /// The owner bounds the number of connections and the load: no request is refused for overload here.
    pub fn serve_connection<T>(&self, stream: T, peer: IpAddr) -> impl Future<Output = ()> + 'static + use<T>
    where
        T: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let (thread, drain) = (Rc::clone(&self.thread), Arc::clone(&self.drain));
        let tasks = Rc::clone(&self.tasks);
        async move {
            let activity = Rc::new(Activity::new());
            let context = ConnectionContext { peer, thread: Rc::clone(&thread), activity, drain };
            serve_connection(stream, socket::send, context).await;
            // The last bytes are flushed before the background tasks may end.
            thread.send_batch.flush();
            drop(tasks);
        }
    }

    /// Closes idle connections after a moment, and busy ones after their answers.
    pub fn drain(&self) {
        self.drain.begin(self.thread.app.begin_drain());
    }
}

impl Drop for LocalServer {
    /// Drains the connections, as [`LocalServer::drain`] does.
    fn drop(&mut self) {
        self.drain.begin(Instant::now());
    }
}
