//! A TCP proxy in front of a PostgreSQL or Redis server, which interferes with its connections.

mod messages;
mod plan;
mod pump;

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use messages::Messages;
pub use messages::Side;
use plan::Plan;
pub use plan::{Cut, How};

/// The treatment of all bytes and of new connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Bytes are passed on as they arrive.
    Pass,
    /// New connections are closed at once. The open ones stay; see [`FaultProxy::cut_all`].
    Refuse,
    /// No byte is passed on, and new connections stay silent. The bytes that arrive meanwhile are passed on afterwards,
    /// even if their sender has closed its connection, as a network does that delivers late.
    Blackhole,
    /// Bytes are passed on after this time.
    Delay(Duration),
    /// Bytes are passed on in pieces of this size, with this pause before each.
    Drip(usize, Duration),
}

/// A proxy on a free loopback port. It accepts no more connections when it is dropped, and cuts the open ones.
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
}

/// The state that the threads of a proxy share.
pub(crate) struct Shared {
    /// The port of the server.
    server: Mutex<u16>,
    mode: Mutex<Mode>,
    mode_changed: Condvar,
    plan: Mutex<Option<Plan>>,
    /// The times of all attempts to connect.
    connects: Mutex<Vec<Instant>>,
    /// The maximum number of connections that are accepted in a second; none without a limit.
    connects_max: Mutex<Option<usize>>,
    /// The open connections, by number: the sockets of both sides.
    open: Mutex<BTreeMap<u64, [TcpStream; 2]>>,
    numbers: AtomicU64,
    is_stopped: AtomicBool,
    /// True if the server is PostgreSQL, whose messages a [`Cut`] names.
    is_postgres: bool,
}

impl FaultProxy {
    /// Starts a proxy before the PostgreSQL server on this port.
    ///
    /// # Panics
    /// No loopback port is free.
    pub fn before(server: u16) -> Self {
        Self::start(server, true)
    }

    /// Starts a proxy before the Redis server on this port. It makes no planned cuts.
    ///
    /// # Panics
    /// No loopback port is free.
    pub fn before_redis(server: u16) -> Self {
        Self::start(server, false)
    }

    fn start(server: u16, is_postgres: bool) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port is free");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let shared = Arc::new(Shared {
            server: Mutex::new(server),
            mode: Mutex::new(Mode::Pass),
            mode_changed: Condvar::new(),
            plan: Mutex::default(),
            connects: Mutex::default(),
            connects_max: Mutex::default(),
            open: Mutex::default(),
            numbers: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            is_postgres,
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if of_thread.is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                of_thread.accept(client);
            }
        });
        Self { port, shared }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Passes new connections to the server on another port, as a name does that is moved to another host.
    pub fn set_server(&self, port: u16) {
        *self.shared.server.lock().unwrap() = port;
    }

    /// Changes the treatment of all bytes and of new connections.
    pub fn set_mode(&self, mode: Mode) {
        *self.shared.mode.lock().unwrap() = mode;
        self.shared.mode_changed.notify_all();
    }

    /// Closes connections at once that are beyond this number in a second.
    pub fn limit_connects(&self, max_per_second: Option<usize>) {
        *self.shared.connects_max.lock().unwrap() = max_per_second;
    }

    /// Cuts all open connections.
    pub fn cut_all(&self) {
        for sockets in std::mem::take(&mut *self.shared.open.lock().unwrap()).into_values() {
            for socket in sockets {
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
    }

    /// Plans a cut in the next transaction that begins. It replaces a cut that was planned before.
    pub fn plan(&self, cut: Cut) {
        *self.shared.plan.lock().unwrap() = Some(Plan::of(cut));
    }

    /// Takes back a planned cut. Returns `true` if it was still planned, and `false` if it was made.
    pub fn take_back(&self) -> bool {
        self.shared.plan.lock().unwrap().take().is_some()
    }

    /// Returns whether a cut is planned that was not made yet.
    pub fn is_planned(&self) -> bool {
        self.shared.plan.lock().unwrap().is_some()
    }

    /// The times of all attempts to connect so far.
    pub fn connects(&self) -> Vec<Instant> {
        self.shared.connects.lock().unwrap().clone()
    }

    /// The largest number of attempts to connect within one second, since this time.
    pub fn most_connects_in_a_second(&self, since: Instant) -> usize {
        let times: Vec<_> = self.connects().into_iter().filter(|time| *time >= since).collect();
        let count = |(place, first): (usize, &Instant)| {
            let second = |time: &&Instant| time.duration_since(*first) < Duration::from_secs(1);
            times[place..].iter().take_while(second).count()
        };
        times.iter().enumerate().map(count).max().unwrap_or(0)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        self.set_mode(Mode::Refuse);
        self.cut_all();
        // A connection wakes the thread that accepts, so that it notices the end.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn messages(&self, sender: Side) -> Messages {
        if self.is_postgres { Messages::of(sender) } else { Messages::opaque(sender) }
    }

    /// Takes note of an attempt to connect, and passes the connection on unless it is refused.
    #[expect(
        clippy::disallowed_methods,
        reason = "the attempts of a running program are counted by the second"
    )]
    fn accept(self: &Arc<Self>, client: TcpStream) {
        let now = Instant::now();
        let recent = {
            let mut connects = self.connects.lock().unwrap();
            connects.push(now);
            connects.iter().rev().take_while(|time| now.duration_since(**time).as_millis() < 1_000).count()
        };
        let is_above = self.connects_max.lock().unwrap().is_some_and(|max| recent > max);
        if is_above || *self.mode.lock().unwrap() == Mode::Refuse {
            return;
        }
        let shared = Arc::clone(self);
        thread::spawn(move || {
            // A connection that arrives in a black hole reaches the server afterwards.
            shared.wait_while_blackholed();
            let port = *shared.server.lock().unwrap();
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { return };
            let number = shared.numbers.fetch_add(1, Ordering::Relaxed);
            let sockets = client.try_clone().and_then(|client| Ok([client, server.try_clone()?]));
            let Ok(sockets) = sockets else { return };
            shared.open.lock().unwrap().insert(number, sockets);
            pump::run(&shared, number, client, server);
            shared.open.lock().unwrap().remove(&number);
        });
    }

    /// Waits until bytes may pass, and returns the mode.
    fn wait_while_blackholed(&self) -> Mode {
        let mode = self.mode.lock().unwrap();
        *self.mode_changed.wait_while(mode, |mode| *mode == Mode::Blackhole).unwrap()
    }
}
