//! What all who act in a run share: the petstore of the moment, its disk, and what people know of each other's pets.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use petstore_service::Service;
use petstore_tests::{Disk, Fault, Random};

use crate::book::Over;
use crate::link::{Cutter, End};
use crate::process::{Process, Surroundings};
use crate::request::Of;

/// A key that somebody was given.
#[derive(Debug, Clone)]
pub(crate) struct KnownKey {
    pub(crate) secret: String,
    pub(crate) key: u64,
    pub(crate) account: u64,
}

/// What clients have heard of the shop.
#[derive(Debug, Default)]
pub(crate) struct Gossip {
    /// The highest ids that anybody was shown: of pets, categories, orders.
    highest: BTreeMap<Of, u64>,
    /// Versions that resources were seen in.
    pub(crate) versions: BTreeMap<(Of, u64), u64>,
}

impl Gossip {
    pub(crate) fn hear(&mut self, of: Of, id: u64) {
        let highest = self.highest.entry(of).or_default();
        *highest = id.max(*highest);
    }

    /// Whether nobody has seen one yet.
    pub(crate) fn is_empty(&self, of: Of) -> bool {
        !self.highest.contains_key(&of)
    }

    /// An id that may be one: mostly of late.
    pub(crate) fn id(&self, of: Of, random: &mut Random) -> u64 {
        let of = if of == Of::Inventory { Of::Pets } else { of };
        let highest = self.highest.get(&of).copied().unwrap_or_default();
        let span = if random.once_in(3) { highest + 2 } else { highest.min(12) };
        let back = random.below(u32::try_from(span).unwrap_or(u32::MAX).max(1));
        (highest + 1).saturating_sub(u64::from(back)).max(1)
    }
}

pub(crate) struct World {
    pub(crate) around: Surroundings,
    disk: RefCell<Disk>,
    process: RefCell<Option<Process>>,
    random: RefCell<Random>,
    connections: Cell<u64>,
    /// Rises with each end of a process.
    ends: Cell<u64>,
    pub(crate) gossip: RefCell<Gossip>,
    pub(crate) keys: RefCell<Vec<KnownKey>>,
}

impl World {
    pub(crate) fn new(around: Surroundings, random: Random) -> Rc<Self> {
        let disk = crate::bugs::disk(around.bug);
        let world = Self {
            around,
            disk: RefCell::new(disk),
            process: RefCell::default(),
            random: RefCell::new(random),
            connections: Cell::new(0),
            ends: Cell::new(0),
            gossip: RefCell::default(),
            keys: RefCell::default(),
        };
        world.start(Over::Crash);
        Rc::new(world)
    }

    /// Randomness of one's own: what one does with it changes nothing for others.
    pub(crate) fn fork(&self) -> Random {
        Random::seeded(self.random.borrow_mut().bits())
    }

    /// Starts a process on what the disk holds.
    pub(crate) fn start(&self, over: Over) {
        let process = Process::start(&self.around, &self.disk.borrow(), over, self.fork());
        *self.process.borrow_mut() = Some(process);
    }

    /// The power goes, and with it whatever was not on disk.
    pub(crate) fn crash(&self) {
        self.ends.set(self.ends.get() + 1);
        let left = self.disk.borrow().after_power_cut();
        let process = self.process.borrow_mut().take();
        process.into_iter().for_each(Process::crash);
        *self.disk.borrow_mut() = left;
    }

    /// A signal stops the process.
    pub(crate) async fn stop(&self) {
        self.ends.set(self.ends.get() + 1);
        let process = self.process.borrow_mut().take();
        if let Some(process) = process {
            process.stop().await;
        }
    }

    /// How often a process has ended, or begun to.
    pub(crate) fn ends(&self) -> u64 {
        self.ends.get()
    }

    /// A connection from this address; none while nothing listens.
    pub(crate) fn connect(&self, address: IpAddr) -> Option<(u64, End, Cutter)> {
        let process = self.process.borrow();
        let process = process.as_ref()?;
        let number = self.connections.get() + 1;
        self.connections.set(number);
        let (end, cutter) = process.connect(number, address, self.around.temper.weather, self.fork());
        Some((number, end, cutter))
    }

    /// The service of the moment, for its operator.
    pub(crate) fn service(&self) -> Option<Arc<Service>> {
        self.process.borrow().as_ref().map(|process| Arc::clone(&process.service))
    }

    /// The disk fails so many calls from now.
    pub(crate) fn fail_disk(&self, calls: u64, fault: Fault) {
        let disk = self.disk.borrow();
        disk.fail_call(disk.calls() + calls, fault);
    }

    pub(crate) fn heal_disk(&self) {
        self.disk.borrow().heal();
    }

    /// The disk hangs.
    pub(crate) fn hang_disk(&self, time: Duration) {
        if let Some(process) = &*self.process.borrow() {
            process.hang(time);
        }
    }
}
