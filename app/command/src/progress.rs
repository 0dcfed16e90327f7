//! Long work shows that it moves: an import, an export, a backup, the demonstration, a start with a large file, a migration,
//! the copy of keys.
//!
//! On a terminal, a bar shows the phase, the rate and the time left. Elsewhere, a line with these figures is written every
//! ten seconds. Short work shows nothing. Everything goes to standard error, or to the log of a server.

mod counted;
mod figures;
#[cfg(test)]
pub(crate) mod recorded;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use petstore_ports::{Unwatched, WorkPhase, WorkProgress};

pub(crate) use self::counted::{CountedBulk, CountedReader};
use self::figures::{Figures, Schedule};
use crate::bar::{self, Drawing};
use crate::environment::Stopwatch;
use crate::log::Log;
use crate::terminal::notify;

/// The pause between two looks at the work.
const TICK: Duration = Duration::from_millis(100);

/// The place where progress is shown.
enum Outlet {
    /// A bar on the terminal.
    Terminal,
    /// Lines.
    Lines(Box<dyn Fn(&str) + Send + Sync>),
}

/// The progress of the work of this process. It may have several phases, one after the other.
pub(crate) struct ProgressReport {
    /// None if nothing is shown.
    shared: Option<Arc<Shared>>,
}

struct Shared {
    outlet: Outlet,
    done: AtomicU64,
    state: Mutex<State>,
    /// Notified when a phase begins.
    begun: Condvar,
}

/// The work at one moment.
struct Seen {
    number: u64,
    phase: WorkPhase,
    done: u64,
}

#[derive(Default)]
struct State {
    phase: Option<WorkPhase>,
    /// The number of phases so far.
    number: u64,
    has_thread: bool,
}

impl ProgressReport {
    /// The progress of a command.
    pub(crate) fn of_command(quiet: bool) -> Arc<Self> {
        let is_terminal = io::stderr().is_terminal();
        let outlet = if is_terminal { Outlet::Terminal } else { Outlet::Lines(Box::new(notify)) };
        Arc::new(Self { shared: (!quiet).then(|| Arc::new(Shared::new(outlet))) })
    }

    /// The progress of a server. It goes to the log, unless the log is read by a person on a terminal.
    pub(crate) fn of_server(log: &Arc<Log>) -> Arc<Self> {
        let log_lines = Arc::clone(log);
        let outlet = if log.is_on_terminal() {
            Outlet::Terminal
        } else {
            Outlet::Lines(Box::new(move |line| log_lines.info(line)))
        };
        Arc::new(Self { shared: Some(Arc::new(Shared::new(outlet))) })
    }
}

/// The progress of work that is not shown.
pub(crate) fn unwatched() -> Arc<dyn WorkProgress> {
    Arc::new(Unwatched)
}

impl WorkProgress for ProgressReport {
    fn begin(&self, phase: WorkPhase) {
        let Some(shared) = &self.shared else { return };
        let mut state = shared.state.lock();
        shared.done.store(0, Ordering::Relaxed);
        state.phase = Some(phase);
        state.number += 1;
        if !state.has_thread {
            let watching = Arc::clone(shared);
            // Without the thread the work is done as well, and nothing is shown.
            let thread = thread::Builder::new().name("petstore-progress".to_owned());
            state.has_thread = thread.spawn(move || watching.run()).is_ok();
        }
        shared.begun.notify_one();
    }

    fn reached(&self, done: u64) {
        if let Some(shared) = &self.shared {
            shared.done.store(done, Ordering::Relaxed);
        }
    }

    fn end(&self) {
        if let Some(shared) = &self.shared {
            shared.state.lock().phase = None;
            // A bar that is drawn from now on finds that its work has ended.
            bar::clear();
        }
    }
}

impl Shared {
    fn new(outlet: Outlet) -> Self {
        Self { outlet, done: AtomicU64::new(0), state: Mutex::default(), begun: Condvar::new() }
    }

    /// Shows the progress of all work, for as long as the process lives.
    fn run(&self) {
        let watch = Stopwatch::start();
        let mut schedule = Schedule::default();
        let mut state = self.state.lock();
        loop {
            let Some(phase) = state.phase else {
                schedule = Schedule::default();
                self.begun.wait(&mut state);
                continue;
            };
            let seen = Seen { number: state.number, phase, done: self.done.load(Ordering::Relaxed) };
            // Standard error may have to wait for its reader, and the work must not wait for it too.
            MutexGuard::unlocked(&mut state, || self.show(&mut schedule, watch.elapsed(), &seen));
            self.begun.wait_for(&mut state, TICK);
        }
    }

    fn show(&self, schedule: &mut Schedule, now: Duration, &Seen { number, phase, done }: &Seen) {
        let figures = Figures { phase, done, elapsed: schedule.time_in_phase(number, now) };
        match &self.outlet {
            Outlet::Terminal if schedule.is_bar_due(now) => {
                let (total, text) = (figures.total(), figures.text());
                let is_current = || {
                    let state = self.state.lock();
                    state.number == number && state.phase.is_some()
                };
                bar::draw(&Drawing { name: phase.name, figures: &text, done, total }, is_current);
            }
            Outlet::Terminal => {}
            Outlet::Lines(write) => {
                if schedule.is_line_due(now) {
                    write(&figures.line());
                }
            }
        }
    }
}
