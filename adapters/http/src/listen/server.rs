//! Listening sockets, and one runtime for each core.
//!
//! Each thread has a single-threaded runtime, and on Linux its own accept queue (SO_REUSEPORT). A connection stays on the
//! thread that accepted it. So no task moves to another core, and no task is woken from another core.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::LocalOptions;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::base::drain::Drain;
use crate::base::settings::Bounds;
use crate::base::system;
use crate::connection::context::ConnectionContext;
use crate::connection::http1::serve_connection;
use crate::connection::tls::serve_tls;
use crate::io::activity::Activity;
use crate::io::tcp::Tcp;
use crate::listen::connections::{ConnectionSlot, Connections};
use crate::listen::listener_close::close;
use crate::thread::shared::{App, Serves};
use crate::thread::thread_state::ThreadState;

/// Number of tasks that the runtime polls between two polls of sockets and timers. It is lower than tokio's default of
/// 61, so that long requests do not delay new ones. A still lower number would make the send batches smaller.
const EVENT_INTERVAL: u32 = 32;

/// Time between two attempts to evict an idle connection while the thread is full.
const EVICTION_INTERVAL: Duration = Duration::from_millis(10);

/// Pause of the accept loop after an error such as a lack of file descriptors.
const ACCEPT_ERROR_PAUSE: Duration = Duration::from_millis(50);

/// A server that listens.
pub struct Server {
    address: SocketAddr,
    drain: Arc<Drain>,
    app: Arc<App>,
    /// Each thread returns whether it sent all of its answers.
    threads: Vec<JoinHandle<bool>>,
}

impl Server {
    /// Listens, and serves on this many threads. If an acceptor is given, serves over TLS.
    ///
    /// # Errors
    /// The address is in use, or a socket, a thread or its runtime cannot be created. An address also counts as in use
    /// if another process of the same user listens on it, although SO_REUSEPORT alone would permit that.
    pub(crate) fn start(
        endpoint: Endpoint,
        threads: NonZeroUsize,
        app: Arc<App>,
        serves: Serves,
        tls: Option<&TlsAcceptor>,
    ) -> io::Result<Self> {
        let (listeners, is_ours) = match endpoint {
            Endpoint::Address(address) => (system::listen(address, threads)?, true),
            Endpoint::Inherited(listener) => (system::share(&listener, threads)?, false),
        };
        let address = listeners[0].local_addr()?;
        if serves != Serves::Ops {
            app.set_api_port(address.port());
        }
        let drain = Arc::<Drain>::default();
        // Each thread reports whether it can serve, and no thread serves until all reports have arrived.
        let (ready, reports) = mpsc::channel();
        let Bounds { connections, ops_connections, .. } = app.settings.bounds;
        let connections = if serves == Serves::Ops { ops_connections } else { connections };
        let connections_each = connections.div_ceil(threads.get()).max(1);
        let threads = listeners
            .into_iter()
            .enumerate()
            .map(|(number, listener)| {
                let (app, drain) = (Arc::clone(&app), Arc::clone(&drain));
                let accept = Accept { serves, is_ours, tls: tls.cloned(), connections_max: connections_each };
                let ready = ready.clone();
                std::thread::Builder::new()
                    .name(format!("http-{number}"))
                    .spawn(move || run(listener, app, &accept, &drain, &ready))
            })
            .collect::<io::Result<Vec<_>>>();
        // If a thread cannot be started, the threads that were started stop again.
        let threads = threads.inspect_err(|_| drain.begin(Instant::now()))?;
        let all_ready = reports.iter().take(threads.len()).collect::<io::Result<()>>();
        all_ready.inspect_err(|_| drain.begin(Instant::now()))?;
        Ok(Self { address, drain, app, threads })
    }

    /// The address on which the server listens, with the port that the system chose for port 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting. Closes idle connections after a moment, and busy ones after their answers. All servers of one
    /// [`Http`](crate::Http) share the drain time, which starts with the first call of this method.
    pub fn drain(&self) {
        self.drain.begin(self.app.begin_drain());
    }

    /// Waits after [`Server::drain`] until the last answer was sent or the deadline has passed. Returns whether all
    /// answers were sent.
    pub fn join(mut self) -> bool {
        // If a thread has panicked, the other threads are joined nevertheless.
        let ended: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        ended.into_iter().all(|sent_all| sent_all.unwrap_or(false))
    }
}

impl Drop for Server {
    /// Stops the threads without waiting for them.
    fn drop(&mut self) {
        self.drain.begin(Instant::now());
    }
}

/// The address or the socket to listen on.
#[derive(Debug)]
pub enum Endpoint {
    /// An address.
    Address(SocketAddr),
    /// A socket that already listens. The parent process opened it, possibly with privileges that this process does not
    /// have.
    Inherited(StdListener),
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

/// The way in which one thread accepts connections.
struct Accept {
    /// `true` if this process opened the listener. An inherited listener stays open at the end, so that the connections
    /// in its queue wait for the next process.
    is_ours: bool,
    serves: Serves,
    tls: Option<TlsAcceptor>,
    connections_max: usize,
}

/// Serves on one thread. First reports whether the thread can serve. Returns whether all answers were sent.
fn run(
    listener: StdListener,
    app: Arc<App>,
    accept: &Accept,
    drain: &Arc<Drain>,
    ready: &mpsc::Sender<io::Result<()>>,
) -> bool {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    if accept.serves != Serves::Ops {
        app.settings.idle.watch(&mut builder);
    }
    let runtime = builder.enable_all().event_interval(EVENT_INTERVAL).build_local(LocalOptions::default());
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            // The error is ignored, because the receiver is gone only if another thread has failed first.
            let _ = ready.send(Err(error));
            return false;
        }
    };
    let sent_all = runtime.block_on(async {
        match TcpListener::from_std(listener) {
            Ok(listener) => {
                let _ = ready.send(Ok(()));
                let thread = Rc::new(ThreadState::new(app, accept.serves));
                // The controller runs in the root task, so that it is polled regularly however many connections are
                // ready.
                tokio::select! {
                    sent_all = serve(listener, Rc::clone(&thread), accept, drain) => sent_all,
                    never = thread.load_shedder.run_controller() => match never {},
                }
            }
            Err(error) => {
                let _ = ready.send(Err(error));
                false
            }
        }
    });
    // Blocking work may still run, such as a sandbox's reset that waits for a disk. The work had the whole drain time
    // to end, so the thread does not wait for it any longer.
    runtime.shutdown_background();
    sent_all
}

/// Serves until the server stops, and then until all connections are closed or the drain time has passed. Returns
/// `true` if all answers were sent in that time.
async fn serve(listener: TcpListener, thread: Rc<ThreadState>, accept: &Accept, drain: &Arc<Drain>) -> bool {
    let app = Arc::clone(&thread.app);
    let connections = Connections::new(accept.connections_max, Arc::clone(&thread.counters));
    let idle_crowded = app.settings.deadlines.idle_crowded;
    thread.spawn_tasks();
    let is_opened = tokio::select! {
        biased;
        () = app.opened() => true,
        () = drain.begun() => false,
    };
    // The server stops before it was opened, because the start of the process failed. It answers no request.
    if !is_opened {
        return true;
    }
    tokio::task::spawn_local({
        let thread = Rc::clone(&thread);
        async move { thread.load_shedder.run_probe().await }
    });
    let register = |stream: TcpStream, peer: SocketAddr, slot: ConnectionSlot| {
        let activity = Rc::new(Activity::new());
        let number = slot.number();
        let context = ConnectionContext {
            peer: peer.ip(),
            thread: Rc::clone(&thread),
            activity: Rc::clone(&activity),
            drain: Arc::clone(drain),
        };
        let serving = connection(stream, accept.tls.clone(), context, slot);
        let task = tokio::task::spawn_local(serving).abort_handle();
        connections.register(number, activity, task);
    };
    loop {
        tokio::select! {
            // Accepting comes first, so that queued connections are served before a stop closes the socket.
            biased;
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let slot = reserve(&connections, idle_crowded, drain).await;
                    register(stream, peer, slot);
                }
                Err(error) => {
                    app.report_accept_error(&error);
                    // The usual cause is that the process has no file descriptors left. Evicting an idle connection
                    // frees a descriptor.
                    connections.evict_idle(idle_crowded);
                    tokio::time::sleep(ACCEPT_ERROR_PAUSE).await;
                }
            },
            () = drain.begun() => break,
        }
    }
    if accept.is_ours {
        let register_late = |stream, peer| register(stream, peer, connections.reserve());
        close(listener, register_late).await;
    } else {
        drop(listener);
    }
    let all_closed = async {
        while connections.open() > 0 {
            connections.closed().await;
        }
    };
    let end = drain.since().unwrap_or_else(Instant::now) + app.settings.deadlines.drain;
    let all_closed = tokio::time::timeout_at(end, all_closed).await.is_ok();
    let unanswered = if all_closed { 0 } else { connections.unanswered() };
    if unanswered > 0 {
        app.report_unfinished(unanswered);
    }
    unanswered == 0
}

/// Reserves a slot. If the thread has its maximum number of connections, first evicts idle ones, and waits until one
/// has ended or the server stops. Connections that are not accepted yet stay in the accept queue.
async fn reserve(connections: &Rc<Connections>, idle: Duration, stop: &Drain) -> ConnectionSlot {
    while connections.are_full() && !stop.has_begun() {
        connections.evict_idle(idle);
        let _ = tokio::time::timeout(EVICTION_INTERVAL, connections.closed()).await;
    }
    connections.reserve()
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    context: ConnectionContext,
    _slot: ConnectionSlot,
) {
    let thread = Rc::clone(&context.thread);
    // Each answer is written as a whole, so Nagle's algorithm would only delay it.
    let _ = stream.set_nodelay(true);
    let stream = Tcp::new(stream);
    match tls {
        None => serve_connection(stream, Tcp::send, context).await,
        // The future is boxed, so that a connection without TLS needs no memory for it.
        Some(tls) => Box::pin(serve_tls(stream, Tcp::send, tls, context)).await,
    }
    // The thread may end after its last connection, so the last bytes are flushed here.
    thread.send_batch.flush();
}
