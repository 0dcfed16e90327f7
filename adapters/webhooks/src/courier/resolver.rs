//! Names to addresses, by the system's resolver.

mod lines;
mod names;

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use petstore_domain::AccountId;
use petstore_ports::Reply;
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::names::Names;

/// The number of threads, each of which waits for one answer of the system's resolver. They start when they are needed.
const THREADS: usize = 64;

/// Resolves names. The caller bounds the time.
pub trait Resolver: Send + Sync {
    /// Returns all addresses of a name, for a webhook of this account; none for a program that has no account. Names of one
    /// account that are answered late or never must not keep those of another one waiting.
    fn resolve(&self, name: &str, account: Option<AccountId>) -> Reply<io::Result<Vec<IpAddr>>>;
}

/// A function that waits for the answer of a resolver.
type Lookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// The system's resolver, `getaddrinfo`, on separate threads. It reads the same configuration as other programs of the
/// machine: `/etc/hosts`, `resolv.conf` and `nsswitch.conf`.
pub struct SystemResolver {
    shared: Arc<Shared>,
}

struct Shared {
    lookup: Box<Lookup>,
    state: Mutex<NameQueues>,
    changed: Condvar,
}

#[derive(Default)]
struct NameQueues {
    names: Names,
    threads: usize,
    /// The number of threads that wait, and that were not woken.
    idle: usize,
    is_ended: bool,
}

impl SystemResolver {
    /// Returns a resolver. Its threads start when they are needed.
    pub fn new() -> Self {
        Self::with(|name| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
    }

    fn with(lookup: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        let lookup = Box::new(lookup);
        Self { shared: Arc::new(Shared { lookup, state: Mutex::default(), changed: Condvar::new() }) }
    }

    /// Asks for a name. An answer that is on its way is shared.
    fn ask(
        &self,
        name: &str,
        account: Option<AccountId>,
    ) -> io::Result<oneshot::Receiver<io::Result<Vec<IpAddr>>>> {
        let mut state = self.shared.state.lock();
        let receiver = state.names.ask(name, account)?;
        self.shared.wake(&mut state)?;
        Ok(receiver)
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for SystemResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SystemResolver")
    }
}

impl Drop for SystemResolver {
    fn drop(&mut self) {
        self.shared.state.lock().is_ended = true;
        self.shared.changed.notify_all();
    }
}

impl Resolver for SystemResolver {
    fn resolve(&self, name: &str, account: Option<AccountId>) -> Reply<io::Result<Vec<IpAddr>>> {
        match self.ask(name, account) {
            Err(error) => Reply::now(Err(error)),
            Ok(answer) => Reply::later(async move {
                answer.await.unwrap_or_else(|_| Err(io::Error::other("the resolver has ended")))
            }),
        }
    }
}

impl Shared {
    /// Lets one more thread look for a name: one that waits, or a new one.
    fn wake(self: &Arc<Self>, state: &mut NameQueues) -> io::Result<()> {
        if state.idle > 0 {
            // A thread that was woken is not idle any more, although it may not run yet. A condition variable of this crate
            // wakes no thread by itself.
            state.idle -= 1;
            self.changed.notify_one();
        } else if state.threads < THREADS {
            let shared = Arc::clone(self);
            std::thread::Builder::new().name("resolver".to_owned()).spawn(move || shared.work())?;
            state.threads += 1;
        }
        Ok(())
    }

    /// Resolves names until the resolver is dropped.
    fn work(self: &Arc<Self>) {
        let mut state = self.state.lock();
        while !state.is_ended {
            let Some(turn) = state.names.next() else {
                state.idle += 1;
                self.changed.wait(&mut state);
                continue;
            };
            // Another account may have a share left. Without a further thread, this one takes its name later.
            let _: io::Result<()> = self.wake(&mut state);
            drop(state);
            let begun = Instant::now();
            let answer = (self.lookup)(&turn.name);
            let took = begun.elapsed();
            state = self.state.lock();
            state.names.finish(&turn, took, &answer);
        }
    }
}

#[cfg(test)]
mod tests;
