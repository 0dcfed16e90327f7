//! Names to addresses, by the system's resolver.

use std::collections::{HashMap, VecDeque};
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

/// The maximum number of names that are known to be slow, and of those that are known to be quick. If there are more, the one
/// that was answered longest ago is forgotten.
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
    /// The quick names, each with the number of its last answer: when it came, a caller waited for it.
    quick_names: HashMap<Arc<str>, u64>,
    /// The slow names, each with the number of its last answer: when it came, all callers had given up.
    slow_names: HashMap<Arc<str>, u64>,
    /// The number of answers.
    answers: u64,
    /// `true` if the last name without a quick answer was a new one, so that a slow one has the next turn.
    is_slow_turn: bool,
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
        if state.slow_names.contains_key(&name) {
            state.slow.push_back(name);
        } else if state.quick_names.contains_key(&name) {
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
            } else {
                self.next_unproven()?
            };
            let waiting = self.asked.get(&name)?;
            if waiting.iter().all(oneshot::Sender::is_closed) {
                self.asked.remove(&name);
                continue;
            }
            self.slow_running += usize::from(pace == Pace::Slow);
            self.unproven_running += usize::from(pace != Pace::Quick);
            self.is_slow_turn = pace == Pace::New || (pace == Pace::Quick && self.is_slow_turn);
            return Some((name, pace));
        }
    }

    /// Takes a new or a slow name. They take turns, so that new names without end do not shut out the slow ones.
    fn next_unproven(&mut self) -> Option<(Arc<str>, Pace)> {
        let may_be_slow = self.slow_running < SLOW_THREADS;
        let is_slow = may_be_slow && (self.is_slow_turn || self.new.is_empty()) && !self.slow.is_empty();
        let (names, pace) = if is_slow { (&mut self.slow, Pace::Slow) } else { (&mut self.new, Pace::New) };
        names.pop_front().map(|name| (name, pace))
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
        if now.len() >= KNOWN_NAMES_MAX && !now.contains_key(name) {
            let oldest = now.iter().min_by_key(|(_, answer)| **answer).map(|(name, _)| Arc::clone(name));
            if let Some(oldest) = oldest {
                now.remove(&oldest);
            }
        }
        self.answers += 1;
        now.insert(Arc::clone(name), self.answers);
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
        assert!(!resolver.shared.state.lock().slow_names.contains_key(&*names[0]));
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

    #[test]
    fn new_and_slow_names_take_turns() {
        let mut state = State::default();
        let mut callers = Vec::new();
        for number in 0..6 {
            let (sender, receiver) = oneshot::channel();
            callers.push(receiver);
            let name: Arc<str> = format!("name-{number}").into();
            state.asked.insert(Arc::clone(&name), vec![sender]);
            if number < 2 { state.slow.push_back(name) } else { state.new.push_back(name) }
        }
        let mut paces = Vec::new();
        while let Some((name, pace)) = state.next() {
            paces.push(pace);
            state.finish(&name, pace, &Ok(Vec::new()));
        }
        let [new, slow] = [Pace::New, Pace::Slow];
        assert_eq!(paces, [new, slow, new, slow, new, new]);
        drop(callers);
    }

    #[test]
    fn of_too_many_known_names_the_oldest_is_forgotten() {
        let mut state = State::default();
        let mut callers = Vec::new();
        let mut answer = |state: &mut State, number: usize| {
            let (sender, receiver) = oneshot::channel();
            callers.push(receiver);
            let name: Arc<str> = format!("name-{number}").into();
            state.asked.insert(Arc::clone(&name), vec![sender]);
            state.finish(&name, Pace::Quick, &Ok(Vec::new()));
        };
        (0..KNOWN_NAMES_MAX).for_each(|number| answer(&mut state, number));
        answer(&mut state, 0);
        answer(&mut state, KNOWN_NAMES_MAX);
        assert_eq!(state.quick_names.len(), KNOWN_NAMES_MAX);
        assert!(state.quick_names.contains_key("name-0"));
        assert!(!state.quick_names.contains_key("name-1"));
        drop(callers);
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
