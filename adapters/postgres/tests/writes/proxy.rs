//! A TCP proxy in front of the server. It interferes with one commit, or delays all messages.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The message with which the driver sends a commit.
const COMMIT: &[u8] = b"commit\0";

/// The interference with the next commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fault {
    None,
    /// The connection is cut before the commit reaches the server.
    CutBefore,
    /// The commit reaches the server, and the connection is cut without an answer.
    CutAfter,
    /// The commit reaches the server, and the connection stays open without an answer.
    Silence,
    /// Like [`Fault::Silence`], and no further connection is accepted.
    SilenceForAll,
}

pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: u16,
    fault: AtomicU8,
    is_closed: AtomicBool,
    /// The time that each message takes on its way, in milliseconds.
    delay: AtomicU64,
    clients: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Starts a proxy before the server on this port. Its threads end with the process.
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let clients = Mutex::default();
        let (fault, is_closed) = (AtomicU8::new(Fault::None as u8), AtomicBool::new(false));
        let delay = AtomicU64::new(0);
        let shared = Arc::new(Shared { server, fault, is_closed, delay, clients });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if !of_thread.is_closed.load(Ordering::SeqCst) {
                    of_thread.connect(client);
                }
            }
        });
        Self { port, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://petstore@127.0.0.1:{}/petstore", self.port)
    }

    /// Cuts all connections.
    pub(crate) fn cut_all(&self) {
        for client in self.shared.clients.lock().unwrap().drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }

    /// Refuses new connections and cuts the others, or accepts them again.
    pub(crate) fn set_away(&self, is_away: bool) {
        self.shared.is_closed.store(is_away, Ordering::SeqCst);
        self.cut_all();
    }

    /// Sets the time that each message takes in each direction.
    pub(crate) fn set_delay(&self, delay: Duration) {
        let millis = u64::try_from(delay.as_millis()).unwrap();
        self.shared.delay.store(millis, Ordering::SeqCst);
    }

    /// Interferes with the next commit.
    pub(crate) fn plant(&self, fault: Fault) {
        self.shared.fault.store(fault as u8, Ordering::SeqCst);
    }

    /// Returns `true` once a commit has met the fault, and `false` while it is still planted.
    pub(crate) fn has_struck(&self) -> bool {
        self.shared.fault.load(Ordering::SeqCst) == Fault::None as u8
    }
}

impl Shared {
    fn delay(&self) {
        thread::sleep(Duration::from_millis(self.delay.load(Ordering::SeqCst)));
    }

    fn connect(self: &Arc<Self>, client: TcpStream) {
        self.clients.lock().unwrap().push(client.try_clone().unwrap());
        let server = TcpStream::connect(("127.0.0.1", self.server)).unwrap();
        let is_mute = Arc::new(AtomicBool::new(false));
        let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let (of_thread, shared) = (Arc::clone(&is_mute), Arc::clone(self));
        thread::spawn(move || {
            copy(&mut from, |bytes| {
                shared.delay();
                of_thread.load(Ordering::SeqCst) || to.write_all(bytes).is_ok()
            });
            if !of_thread.load(Ordering::SeqCst) {
                let _ = to.shutdown(Shutdown::Both);
            }
        });
        let (mut from, mut to, shared) = (client, server, Arc::clone(self));
        thread::spawn(move || {
            let cut = from.try_clone().unwrap();
            copy(&mut from, |bytes| {
                shared.delay();
                let has_commit = bytes.windows(COMMIT.len()).any(|part| part == COMMIT);
                let fault =
                    if has_commit { shared.fault.swap(Fault::None as u8, Ordering::SeqCst) } else { 0 };
                if fault == Fault::None as u8 {
                    return to.write_all(bytes).is_ok();
                }
                is_mute.store(true, Ordering::SeqCst);
                if fault != Fault::CutBefore as u8 {
                    to.write_all(bytes).unwrap();
                }
                if fault == Fault::SilenceForAll as u8 {
                    shared.is_closed.store(true, Ordering::SeqCst);
                }
                if fault == Fault::CutBefore as u8 || fault == Fault::CutAfter as u8 {
                    let _ = cut.shutdown(Shutdown::Both);
                    return false;
                }
                true
            });
            // The server has time to commit before its connection ends.
            thread::sleep(Duration::from_millis(50));
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

/// Passes on the bytes that arrive, until the connection ends or `pass` returns false.
fn copy(from: &mut TcpStream, mut pass: impl FnMut(&[u8]) -> bool) {
    let mut bytes = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if !pass(&bytes[..length]) {
            return;
        }
    }
}
