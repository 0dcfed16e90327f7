//! Names to addresses, by the system's resolver.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use petstore_ports::Reply;
use tokio::sync::oneshot;

/// The number of threads, each of which waits for one answer of the system's resolver.
const THREADS: usize = 4;

/// The maximum number of threads that resolve slow names, so that new names find a thread. A name is slow if its last answer
/// came too late.
const SLOW_THREADS: usize = 2;

/// The maximum number of threads that resolve slow or new names, so that names whose last answer came in time always find a
/// thread, whatever number of new names a client invents.
const UNPROVEN_THREADS: usize = THREADS - 1;

/// The maximum number of names that wait for a thread.
const QUEUE_MAX: usize = 1_024;

/// The maximum number of names that are known to be slow, and of those that are known to be quick. If there are more, all are
/// forgotten.
const KNOWN_NAMES_MAX: usize = 1_024;

/// Resolves names. The caller bounds the time.
pub trait Resolver: Send + Sync {
    /// Returns all addresses of a name.
    fn resolve(&self, name: &str) -> Reply<io::Result<Vec<IpAddr>>>;
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
    state: Mutex<State>,
    changed: Condvar,
}

/// The sender of an answer to a caller that waits for it.
type Waiting = oneshot::Sender<io::Result<Vec<IpAddr>>>;

#[derive(Default)]
struct State {
    /// The names to resolve, each with its waiting callers.
    asked: HashMap<Arc<str>, Vec<Waiting>>,
    quick: VecDeque<Arc<str>>,
    new: VecDeque<Arc<str>>,
    slow: VecDeque<Arc<str>>,
    /// The quick names: when the last answer came, a caller waited for it.
    quick_names: HashSet<Arc<str>>,
    /// The slow names: when the last answer came, all callers had given up.
    slow_names: HashSet<Arc<str>>,
    /// The number of threads that resolve a slow name.
    slow_running: usize,
    /// The number of threads that resolve a slow or a new name.
    unproven_running: usize,
    threads: usize,
    idle: usize,
    is_ended: bool,
}

/// The known pace of the answers for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Quick,
    New,
    Slow,
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
    fn ask(&self, name: &str) -> io::Result<oneshot::Receiver<io::Result<Vec<IpAddr>>>> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.shared.state.lock();
        if let Some(waiting) = state.asked.get_mut(name) {
            waiting.push(sender);
            return Ok(receiver);
        }
        if state.asked.len() >= QUEUE_MAX {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "too many names wait for the resolver"));
        }
        if state.idle == 0 && state.threads < THREADS {
            let shared = Arc::clone(&self.shared);
            std::thread::Builder::new().name("resolver".to_owned()).spawn(move || shared.work())?;
            state.threads += 1;
        }
        let name: Arc<str> = name.into();
        state.asked.insert(Arc::clone(&name), vec![sender]);
        if state.slow_names.contains(&name) {
            state.slow.push_back(name);
        } else if state.quick_names.contains(&name) {
            state.quick.push_back(name);
        } else {
            state.new.push_back(name);
        }
        self.shared.changed.notify_one();
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
    fn resolve(&self, name: &str) -> Reply<io::Result<Vec<IpAddr>>> {
        match self.ask(name) {
            Err(error) => Reply::now(Err(error)),
            Ok(answer) => Reply::later(async move {
                answer.await.unwrap_or_else(|_| Err(io::Error::other("the resolver has ended")))
            }),
        }
    }
}

impl Shared {
    /// Resolves names until the resolver is dropped.
    fn work(&self) {
        let mut state = self.state.lock();
        while !state.is_ended {
            let Some((name, pace)) = state.next() else {
                state.idle += 1;
                self.changed.wait(&mut state);
                state.idle -= 1;
                continue;
            };
            drop(state);
            let answer = (self.lookup)(&name);
            state = self.state.lock();
            state.finish(&name, pace, &answer);
            // A place for a slow or a new name may have become free.
            self.changed.notify_one();
        }
    }
}

impl State {
    /// Takes the next name that a caller still waits for.
    fn next(&mut self) -> Option<(Arc<str>, Pace)> {
        loop {
            let (name, pace) = if let Some(name) = self.quick.pop_front() {
                (name, Pace::Quick)
            } else if self.unproven_running >= UNPROVEN_THREADS {
                return None;
            } else if let Some(name) = self.new.pop_front() {
                (name, Pace::New)
            } else if self.slow_running < SLOW_THREADS {
                (self.slow.pop_front()?, Pace::Slow)
            } else {
                return None;
            };
            let waiting = self.asked.get(&name)?;
            if waiting.iter().all(oneshot::Sender::is_closed) {
                self.asked.remove(&name);
                continue;
            }
            self.slow_running += usize::from(pace == Pace::Slow);
            self.unproven_running += usize::from(pace != Pace::Quick);
            return Some((name, pace));
        }
    }

    fn finish(&mut self, name: &Arc<str>, pace: Pace, answer: &io::Result<Vec<IpAddr>>) {
        self.slow_running -= usize::from(pace == Pace::Slow);
        self.unproven_running -= usize::from(pace != Pace::Quick);
        let waiting = self.asked.remove(name).unwrap_or_default();
        let mut was_in_time = false;
        for sender in waiting {
            let answer = match answer {
                Ok(addresses) => Ok(addresses.clone()),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            was_in_time |= sender.send(answer).is_ok();
        }
        let (now, before) = if was_in_time {
            (&mut self.quick_names, &mut self.slow_names)
        } else {
            (&mut self.slow_names, &mut self.quick_names)
        };
        before.remove(name);
        if now.len() == KNOWN_NAMES_MAX {
            now.clear();
        }
        now.insert(Arc::clone(name));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// A resolver that answers at once, but names that begin with `slow` only when the returned sender lets it.
    fn resolver() -> (SystemResolver, mpsc::Sender<()>) {
        let (release, released) = mpsc::channel();
        let released = Mutex::new(released);
        let resolver = SystemResolver::with(move |name| {
            if name.starts_with("slow") {
                let _ = released.lock().recv();
            }
            Ok(vec![IpAddr::from([192, 0, 2, 1])])
        });
        (resolver, release)
    }

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn names_that_are_slow_leave_threads_to_the_others() {
        let (resolver, release) = resolver();
        let names: Vec<_> = (0..UNPROVEN_THREADS).map(|index| format!("slow-{index}")).collect();
        for name in &names {
            assert!(timeout(SHORT, resolver.resolve(name)).await.is_err(), "{name} is not answered yet");
        }
        for _ in &names {
            release.send(()).unwrap();
        }
        while resolver.shared.state.lock().slow_names.len() < UNPROVEN_THREADS {
            assert!(timeout(LONG, resolver.resolve("quick")).await.unwrap().is_ok());
        }
        // They are known to be slow by now, so that at most two threads wait for them.
        for name in &names {
            assert!(timeout(SHORT, resolver.resolve(name)).await.is_err(), "{name} is not answered yet");
        }
        assert!(timeout(LONG, resolver.resolve("quick")).await.unwrap().is_ok());
        // A slow name that is answered in time is not slow any more.
        let answer = resolver.resolve(&names[0]);
        for _ in &names {
            release.send(()).unwrap();
        }
        assert!(timeout(LONG, answer).await.unwrap().is_ok());
        assert!(!resolver.shared.state.lock().slow_names.contains(&*names[0]));
    }

    #[tokio::test]
    async fn new_names_without_end_leave_a_thread_to_names_that_were_quick() {
        let (resolver, _release) = resolver();
        assert!(timeout(LONG, resolver.resolve("quick")).await.unwrap().is_ok());
        let answers: Vec<_> = (0..100).map(|index| resolver.resolve(&format!("slow-{index}"))).collect();
        for _ in 0..10 {
            assert!(timeout(LONG, resolver.resolve("quick")).await.unwrap().is_ok());
        }
        assert_eq!(resolver.shared.state.lock().unproven_running, UNPROVEN_THREADS);
        assert!(timeout(SHORT, resolver.resolve("another")).await.is_err(), "a new name waits for its turn");
        drop(answers);
    }

    #[tokio::test]
    async fn a_name_that_many_ask_for_is_resolved_once() {
        let (resolver, release) = resolver();
        let answers: Vec<_> = (0..100).map(|_| resolver.resolve("slow")).collect();
        release.send(()).unwrap();
        for answer in answers {
            assert_eq!(timeout(LONG, answer).await.unwrap().unwrap().len(), 1);
        }
    }

    #[tokio::test]
    async fn the_queue_and_the_threads_are_bounded() {
        let (resolver, release) = resolver();
        let answers: Vec<_> =
            (0..QUEUE_MAX).map(|index| resolver.resolve(&format!("slow-{index}"))).collect();
        let refused = timeout(LONG, resolver.resolve("one-more")).await.unwrap();
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(resolver.shared.state.lock().threads, THREADS);
        drop(answers);
        (0..THREADS).for_each(|_| release.send(()).unwrap());
        // Names that nothing waits for any more are not resolved.
        while timeout(LONG, resolver.resolve("quick")).await.unwrap().is_err() {
            tokio::task::yield_now().await;
        }
    }
}
