//! Listens, and runs one runtime for each core.
//!
//! Each core has its own accept queue (SO_REUSEPORT) and a runtime of one thread, so that a connection lives where it
//! was accepted: nothing is stolen, nothing is woken on another core.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::LocalOptions;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::base::drain::Drain;
use crate::base::settings::Bounds;
use crate::connection::context::ConnectionContext;
use crate::connection::http1::serve_connection;
use crate::connection::tls::serve_tls;
use crate::io::activity::Activity;
use crate::io::tcp::Tcp;
use crate::listen::connections::{ConnectionSlot, Connections};
use crate::listen::listener_close::close;
use crate::thread::shared::{App, Serves};
use crate::thread::thread_state::ThreadState;

/// Connections that the kernel holds before they are accepted.
const BACKLOG: i32 = 4096;

/// Bytes that the kernel keeps of what it has not sent yet, for each connection: a client that takes nothing would have 4 MB
/// of answers pinned there otherwise, and a third of that would have to go before the kernel said that it takes more.
const UNSENT_MAX: u32 = 64 * 1024;

/// Turns of connections between two looks at the sockets, and at the timers, while all are busy. tokio's 61 would let
/// requests of a millisecond each keep others out of the line for 61; at 16 as much less is sent together that GETs are 2%
/// fewer.
const TURNS_BETWEEN_LOOKS: u32 = 32;

/// How long a connection waits at most until it is looked for another one that makes way for it.
const CROWD_REST: Duration = Duration::from_millis(10);

/// How long the accept loop rests after an error such as a lack of descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// A server that listens.
pub struct Server {
    address: SocketAddr,
    drain: Arc<Drain>,
    app: Arc<App>,
    /// Each says whether it gave all its answers.
    threads: Vec<JoinHandle<bool>>,
}

impl Server {
    /// Listens, and serves on this many threads; with an acceptor, under TLS.
    ///
    /// # Errors
    /// The address is taken (by another instance of the same user too, which SO_REUSEPORT alone would let pass), or a
    /// socket, a thread or what it waits with cannot be had.
    pub(crate) fn start(
        endpoint: Endpoint,
        threads: NonZeroUsize,
        app: Arc<App>,
        serves: Serves,
        tls: Option<&TlsAcceptor>,
    ) -> io::Result<Self> {
        let (listeners, is_ours) = match endpoint {
            Endpoint::Address(address) => (listen(address, threads)?, true),
            Endpoint::Inherited(listener) => (share(&listener, threads)?, false),
        };
        let address = listeners[0].local_addr()?;
        let drain = Arc::<Drain>::default();
        // Each says whether it can serve before any does.
        let (able, abilities) = mpsc::channel();
        let Bounds { connections, ops_connections, .. } = app.settings.bounds;
        let connections = if serves == Serves::Ops { ops_connections } else { connections };
        let connections_each = connections.div_ceil(threads.get()).max(1);
        let threads = listeners
            .into_iter()
            .enumerate()
            .map(|(number, listener)| {
                let (app, drain) = (Arc::clone(&app), Arc::clone(&drain));
                let accept = Accept { serves, is_ours, tls: tls.cloned(), connections_max: connections_each };
                let able = able.clone();
                std::thread::Builder::new()
                    .name(format!("http-{number}"))
                    .spawn(move || run(listener, app, &accept, &drain, &able))
            })
            .collect::<io::Result<Vec<_>>>();
        // Those that could be had do not serve on without the others.
        let threads = threads.inspect_err(|_| drain.begin(Instant::now()))?;
        let all_able = abilities.iter().take(threads.len()).collect::<io::Result<()>>();
        all_able.inspect_err(|_| drain.begin(Instant::now()))?;
        Ok(Self { address, drain, app, threads })
    }

    /// The address that it listens on: with the port that was given for port 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no more connections, ends those that are idle, lets those that are busy answer. All servers of one
    /// [`Http`](crate::Http) have the drain's time together, from the first of these calls on.
    pub fn drain(&self) {
        self.drain.begin(self.app.begin_drain());
    }

    /// Waits for the last answer after [`Server::drain`], or for the deadline. Says whether all answers were given.
    pub fn join(mut self) -> bool {
        // All of them are waited for, also after one that panicked.
        let ended: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        ended.into_iter().all(|gave_all| gave_all.unwrap_or(false))
    }
}

impl Drop for Server {
    /// Nobody is left who could wish for it: the threads end, and are not waited for.
    fn drop(&mut self) {
        self.drain.begin(Instant::now());
    }
}

/// Where to listen.
#[derive(Debug)]
pub enum Endpoint {
    /// On this address.
    Address(SocketAddr),
    /// On a socket that listens already: opened by whoever started the process, before it gave up the right to.
    Inherited(StdListener),
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

/// One inherited socket for all threads: they share its accept queue, which nobody can divide afterwards.
fn share(listener: &StdListener, threads: NonZeroUsize) -> io::Result<Vec<StdListener>> {
    listener.set_nonblocking(true)?;
    // Not every kind of socket that may be handed over has such a bound.
    let _ = SockRef::from(listener).set_tcp_notsent_lowat(UNSENT_MAX);
    (0..threads.get()).map(|_| listener.try_clone()).collect()
}

/// One listening socket for each thread, all on one address.
fn listen(address: SocketAddr, threads: NonZeroUsize) -> io::Result<Vec<StdListener>> {
    if address.port() != 0 {
        // SO_REUSEPORT would let a second instance of the same user bind silently and take half of the connections. This
        // one does not listen: whoever connected to it would be reset.
        let lone = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        lone.set_reuse_address(true)?;
        lone.bind(&address.into())?;
    }
    let first = listen_shared(address)?;
    let address = first.local_addr()?;
    let others = (1..threads.get()).map(|_| listen_shared(address));
    std::iter::once(Ok(first)).chain(others).collect()
}

fn listen_shared(address: SocketAddr) -> io::Result<StdListener> {
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    // Those that it accepts have it from it.
    socket.set_tcp_notsent_lowat(UNSENT_MAX)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// How one thread accepts.
struct Accept {
    /// Whether the listener ends with us. An inherited one lives on, and what waits in it waits for who comes next.
    is_ours: bool,
    serves: Serves,
    tls: Option<TlsAcceptor>,
    connections_max: usize,
}

/// Serves on one thread, which first says whether it can. Says at its end whether all answers were given.
fn run(
    listener: StdListener,
    app: Arc<App>,
    accept: &Accept,
    drain: &Arc<Drain>,
    able: &mpsc::Sender<io::Result<()>>,
) -> bool {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    if accept.serves != Serves::Ops {
        app.settings.idle.watch(&mut builder);
    }
    let runtime =
        builder.enable_all().event_interval(TURNS_BETWEEN_LOOKS).build_local(LocalOptions::default());
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            // Where nobody hears it any more, another thread has failed before.
            let _ = able.send(Err(error));
            return false;
        }
    };
    let gave_all = runtime.block_on(async {
        match TcpListener::from_std(listener) {
            Ok(listener) => {
                let _ = able.send(Ok(()));
                let thread = Rc::new(ThreadState::new(app, accept.serves));
                // Both have their turn between those of connections, however many these are.
                tokio::select! {
                    gave_all = serve(listener, Rc::clone(&thread), accept, drain) => gave_all,
                    never = thread.load_shedder.run_controller() => match never {},
                }
            }
            Err(error) => {
                let _ = able.send(Err(error));
                false
            }
        }
    });
    // What still waits for a disk, as a sandbox's reset may, has had the drain's time.
    runtime.shutdown_background();
    gave_all
}

/// Serves until the server wishes to stop. Says whether all answers were given then.
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
    // A start that has failed answers nobody.
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
            // The order matters at the end: what the kernel has accepted for us is served before the socket closes.
            biased;
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let slot = reserve(&connections, idle_crowded, drain).await;
                    register(stream, peer, slot);
                }
                Err(error) => {
                    app.report_accept_error(&error);
                    // What is lacking is mostly descriptors.
                    connections.evict_idle(idle_crowded);
                    tokio::time::sleep(ACCEPT_REST).await;
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

/// A place for a connection. At the bound it waits until one of ours ends, and the kernel holds all others.
async fn reserve(connections: &Rc<Connections>, idle: Duration, stop: &Drain) -> ConnectionSlot {
    while connections.are_full() && !stop.has_begun() {
        connections.evict_idle(idle);
        let _ = tokio::time::timeout(CROWD_REST, connections.closed()).await;
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
    // Answers are written whole: waiting for more to put into a segment would only delay them.
    let _ = stream.set_nodelay(true);
    let stream = Tcp::new(stream);
    match tls {
        None => serve_connection(stream, Tcp::send, context).await,
        // Apart, so that a connection in the clear takes no room for it.
        Some(tls) => Box::pin(serve_tls(stream, Tcp::send, tls, context)).await,
    }
    // A last word is sent before the thread may end with its last connection.
    thread.send_batch.flush();
}
