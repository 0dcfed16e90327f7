//! The state that all actors of a run share: the current process, its disk, and the observations of all clients.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use petstore_service::{Service, WebhookService};
use petstore_tests::{Disk, Fault, Random};

use crate::link::{End, ResetHandle};
use crate::oracle::Ending;
use crate::process::{Environment, Process};
use crate::request::Of;

/// A key that an operator has handed out.
#[derive(Debug, Clone)]
pub(crate) struct KnownKey {
    pub(crate) secret: String,
    pub(crate) key: u64,
    pub(crate) account: u64,
}

/// The ids and versions that clients have seen.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    /// The highest id of each kind of resource in any answer.
    highest: BTreeMap<Of, u64>,
    /// The latest version of each resource in an answer.
    pub(crate) versions: BTreeMap<(Of, u64), u64>,
}

impl Observations {
    pub(crate) fn record(&mut self, of: Of, id: u64) {
        let highest = self.highest.entry(of).or_default();
        *highest = id.max(*highest);
    }

    /// Returns whether no answer has contained a resource of this kind yet.
    pub(crate) fn is_empty(&self, of: Of) -> bool {
        !self.highest.contains_key(&of)
    }

    /// A plausible id: mostly a recent one.
    pub(crate) fn id(&self, of: Of, random: &mut Random) -> u64 {
        let of = if of == Of::Inventory { Of::Pets } else { of };
        let highest = self.highest.get(&of).copied().unwrap_or_default();
        let span = if random.once_in(3) { highest + 2 } else { highest.min(12) };
        let back = random.below(u32::try_from(span).unwrap_or(u32::MAX).max(1));
        (highest + 1).saturating_sub(u64::from(back)).max(1)
    }
}

pub(crate) struct World {
    pub(crate) environment: Environment,
    disk: RefCell<Disk>,
    process: RefCell<Option<Process>>,
    random: RefCell<Random>,
    connections: Cell<u64>,
    /// A number that increases with each end of a process.
    ends: Cell<u64>,
    pub(crate) observations: RefCell<Observations>,
    pub(crate) keys: RefCell<Vec<KnownKey>>,
}

impl World {
    pub(crate) fn new(environment: Environment, random: Random) -> Rc<Self> {
        let disk = crate::bugs::disk(environment.bug);
        let world = Self {
            environment,
            disk: RefCell::new(disk),
            process: RefCell::default(),
            random: RefCell::new(random),
            connections: Cell::new(0),
            ends: Cell::new(0),
            observations: RefCell::default(),
            keys: RefCell::default(),
        };
        world.start(Ending::Crash);
        Rc::new(world)
    }

    /// Returns a separate random generator, so that using it does not affect other actors.
    pub(crate) fn fork(&self) -> Random {
        Random::seeded(self.random.borrow_mut().bits())
    }

    /// Starts a process on the contents of the disk.
    pub(crate) fn start(&self, ending: Ending) {
        let process = Process::start(&self.environment, &self.disk.borrow(), ending, self.fork());
        *self.process.borrow_mut() = Some(process);
    }

    /// Ends the process as a power cut does, so everything that is not on disk is lost.
    pub(crate) fn crash(&self) {
        self.ends.set(self.ends.get() + 1);
        let left = self.disk.borrow().after_power_cut();
        let process = self.process.borrow_mut().take();
        process.into_iter().for_each(Process::crash);
        *self.disk.borrow_mut() = left;
    }

    /// Stops the process by a signal.
    pub(crate) async fn stop(&self) {
        self.ends.set(self.ends.get() + 1);
        let process = self.process.borrow_mut().take();
        if let Some(process) = process {
            process.stop().await;
        }
    }

    /// The number of processes that have ended or begun to end.
    pub(crate) fn ends(&self) -> u64 {
        self.ends.get()
    }

    /// A connection from this address; none while no process listens.
    pub(crate) fn connect(&self, address: IpAddr) -> Option<(u64, End, ResetHandle)> {
        let process = self.process.borrow();
        let process = process.as_ref()?;
        let number = self.connections.get() + 1;
        self.connections.set(number);
        let (end, reset_handle) =
            process.connect(number, address, self.environment.profile.conditions, self.fork());
        Some((number, end, reset_handle))
    }

    /// The service of the current process, for its operator.
    pub(crate) fn service(&self) -> Option<Arc<Service>> {
        self.process.borrow().as_ref().map(|process| Arc::clone(&process.service))
    }

    /// The webhooks of the current process, and its number.
    pub(crate) fn webhooks(&self) -> Option<(Arc<WebhookService>, u64)> {
        self.process.borrow().as_ref().map(|process| (Arc::clone(&process.webhooks), process.number))
    }

    /// Makes the disk fail after this many calls.
    pub(crate) fn fail_disk(&self, calls: u64, fault: Fault) {
        let disk = self.disk.borrow();
        disk.fail_call(disk.calls() + calls, fault);
    }

    pub(crate) fn heal_disk(&self) {
        self.disk.borrow().heal();
    }

    /// Makes the disk hang.
    pub(crate) fn hang_disk(&self, time: Duration) {
        if let Some(process) = &*self.process.borrow() {
            process.hang(time);
        }
    }
}
