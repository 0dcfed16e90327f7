//! The names that were asked for, and which of them is resolved next.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::THREADS;
use super::lines::{Asker, Holders, Line};

/// The time after which an answer is late.
const LATE: Duration = Duration::from_secs(1);

/// The maximum number of threads that resolve slow names, so that new names find a thread. A name is slow if its last answer
/// came late, or after all callers had given up.
const SLOW_THREADS: usize = THREADS / 2;

/// The maximum number of threads that resolve slow or new names, so that names whose last answer came in time find a thread,
/// whatever number of new names clients invent.
pub(super) const UNPROVEN_THREADS: usize = THREADS - 1;

/// The maximum number of names that wait for a thread.
pub(super) const QUEUE_MAX: usize = 1_024;

/// The maximum number of names that are known to be slow, and of those that are known to be quick. If there are more, the one
/// that was answered longest ago is forgotten.
pub(super) const KNOWN_NAMES_MAX: usize = 1_024;

/// The known pace of the answers for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    Quick,
    New,
    Slow,
}

/// The sender of an answer to a caller that waits for it.
type Waiting = oneshot::Sender<io::Result<Vec<IpAddr>>>;

/// A name that callers wait for.
#[derive(Debug, Default)]
struct Asked {
    waiting: Vec<Waiting>,
    /// The accounts for which it is lined up.
    askers: Vec<Asker>,
    is_running: bool,
}

/// A name that a thread resolves now.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) name: Arc<str>,
    pub(super) asker: Asker,
    pub(super) pace: Pace,
}

/// The names that were asked for, and what is known of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Names {
    asked: HashMap<Arc<str>, Asked>,
    /// The number of names in the lines. A name is in them once for each account that has asked for it.
    lined_up: usize,
    quick: Line,
    new: Line,
    slow: Line,
    /// The quick names, each with the number of its last answer.
    known_quick: HashMap<Arc<str>, u64>,
    /// The slow names, each with the number of its last answer.
    known_slow: HashMap<Arc<str>, u64>,
    /// The number of answers.
    answers: u64,
    /// `true` if the last name without a quick answer was a new one, so that a slow one has the next turn.
    is_slow_turn: bool,
    holders: Holders,
    /// The number of threads that resolve a slow name.
    slow_running: usize,
    /// The number of threads that resolve a slow or a new name.
    unproven_running: usize,
}

impl Names {
    /// Lines a name up, and returns the receiver of its answer.
    pub(super) fn ask(
        &mut self,
        name: &str,
        asker: Asker,
    ) -> io::Result<oneshot::Receiver<io::Result<Vec<IpAddr>>>> {
        let known = self.asked.get(name);
        let needs_place = known.is_none_or(|entry| !entry.is_running && !entry.askers.contains(&asker));
        if needs_place && self.lined_up >= QUEUE_MAX {
            self.forget_abandoned();
            if self.lined_up >= QUEUE_MAX {
                let full = "too many names wait for the resolver";
                return Err(io::Error::new(io::ErrorKind::WouldBlock, full));
            }
        }
        let (sender, receiver) = oneshot::channel();
        let name: Arc<str> = name.into();
        let entry = self.asked.entry(Arc::clone(&name)).or_default();
        entry.waiting.retain(|waiting| !waiting.is_closed());
        entry.waiting.push(sender);
        if needs_place {
            entry.askers.push(asker);
            self.lined_up += 1;
            self.line(self.pace(&name)).push(asker, name);
        }
        Ok(receiver)
    }

    /// Takes the next name that a caller still waits for, of an account that may have a further thread.
    pub(super) fn next(&mut self) -> Option<Turn> {
        loop {
            let (asker, name, pace) = self.pop()?;
            let known = self.pace(&name);
            if pace == Pace::Quick && known != Pace::Quick {
                // It was answered late since it was lined up.
                self.line(known).push(asker, name);
                continue;
            }
            self.lined_up -= 1;
            // An account that had asked for the name, too, may have had the turn.
            let Some(entry) = self.asked.get_mut(&name).filter(|entry| !entry.is_running) else { continue };
            if entry.waiting.iter().all(oneshot::Sender::is_closed) {
                self.asked.remove(&name);
                continue;
            }
            entry.is_running = true;
            self.holders.take(asker);
            self.slow_running += usize::from(pace == Pace::Slow);
            self.unproven_running += usize::from(pace != Pace::Quick);
            self.is_slow_turn = pace == Pace::New || (pace == Pace::Quick && self.is_slow_turn);
            return Some(Turn { name, asker, pace });
        }
    }

    /// Removes the name whose turn it is: a quick one, or else a new or a slow one in turns, so that new names without end do
    /// not shut out the slow ones.
    fn pop(&mut self) -> Option<(Asker, Arc<str>, Pace)> {
        let holders = &self.holders;
        let may = |asker: Asker| holders.may_have_one(asker, THREADS);
        if let Some((asker, name)) = self.quick.pop(may) {
            return Some((asker, name, Pace::Quick));
        }
        if self.unproven_running >= UNPROVEN_THREADS {
            return None;
        }
        let may_be_slow = self.slow_running < SLOW_THREADS;
        let paces = if self.is_slow_turn { [Pace::Slow, Pace::New] } else { [Pace::New, Pace::Slow] };
        for pace in paces.into_iter().filter(|pace| may_be_slow || *pace == Pace::New) {
            let line = if pace == Pace::Slow { &mut self.slow } else { &mut self.new };
            if let Some((asker, name)) = line.pop(may) {
                return Some((asker, name, pace));
            }
        }
        None
    }

    /// Sends the answer to the callers, and remembers the pace of the name.
    pub(super) fn finish(&mut self, turn: &Turn, took: Duration, answer: &io::Result<Vec<IpAddr>>) {
        let Turn { name, asker, pace } = turn;
        self.holders.give_back(*asker);
        self.slow_running -= usize::from(*pace == Pace::Slow);
        self.unproven_running -= usize::from(*pace != Pace::Quick);
        let entry = self.asked.remove(name).unwrap_or_default();
        let mut is_taken = false;
        for sender in entry.waiting {
            let answer = match answer {
                Ok(addresses) => Ok(addresses.clone()),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            is_taken |= sender.send(answer).is_ok();
        }
        self.remember(name, is_taken && took <= LATE);
    }

    fn remember(&mut self, name: &Arc<str>, was_in_time: bool) {
        let (now, before) = if was_in_time {
            (&mut self.known_quick, &mut self.known_slow)
        } else {
            (&mut self.known_slow, &mut self.known_quick)
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

    /// Drops the names that no caller waits for any more, and that no thread resolves.
    fn forget_abandoned(&mut self) {
        let is_wanted =
            |asked: &Asked| asked.is_running || !asked.waiting.iter().all(oneshot::Sender::is_closed);
        self.asked.retain(|_, asked| is_wanted(asked));
        let waits = |name: &str| self.asked.get(name).is_some_and(|asked| !asked.is_running);
        let lines = [&mut self.quick, &mut self.new, &mut self.slow];
        self.lined_up = lines.into_iter().map(|line| line.retain(waits)).sum();
    }

    fn line(&mut self, pace: Pace) -> &mut Line {
        match pace {
            Pace::Quick => &mut self.quick,
            Pace::New => &mut self.new,
            Pace::Slow => &mut self.slow,
        }
    }

    pub(super) fn pace(&self, name: &str) -> Pace {
        match () {
            () if self.known_slow.contains_key(name) => Pace::Slow,
            () if self.known_quick.contains_key(name) => Pace::Quick,
            () => Pace::New,
        }
    }

    /// The number of names that are known to be quick.
    #[cfg(test)]
    pub(super) fn known_quick(&self) -> usize {
        self.known_quick.len()
    }

    /// The number of threads that resolve a name.
    #[cfg(test)]
    pub(super) const fn running(&self) -> usize {
        self.holders.count()
    }
}
