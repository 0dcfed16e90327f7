//! One life of the petstore: opened on a disk, wired as the binary wires it, ended by a signal or a crash.

use std::cell::RefCell;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{BanPolicy, Limit};
use petstore_http::{Documents, Http, HttpSettings, LocalServer};
use petstore_memory::{MemoryStore, Opened, Step, Writer};
use petstore_ports::api::Petstore;
use petstore_ports::{Clock, Entropy, Housekeeping};
use petstore_service::{Policy, Ports, Service};
use petstore_tests::{Disk, Random};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::book::{ACTOR, Actor, Book, Over};
use crate::bugs::Bug;
use crate::clock::{SimClock, SimEntropy};
use crate::link::{Cutter, End, LinkWeather, link};
use crate::model::rows::Rows;
use crate::temper::Temper;
use crate::witness::{WatchedAddresses, WatchedJournal, WatchedQuotas, WatchedTransactor, Witness, submit};

/// How often what has expired is dropped, as the binary does it.
const HOUSEKEEPING: Duration = Duration::from_secs(1);

/// How long the writer waits before it asks a journal that fails again, as the store's own thread does.
const RECOVERY_PAUSE: Duration = Duration::from_millis(100);

/// How long a process that is told to stop may take.
const DRAIN: Duration = Duration::from_secs(9);

/// What a process is made of, besides its disk.
pub(crate) struct Surroundings {
    pub(crate) book: Arc<Book>,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) entropy: Arc<SimEntropy>,
    pub(crate) temper: Temper,
    pub(crate) bug: Option<Bug>,
}

/// A connection that the process serves.
struct Served {
    cutter: Cutter,
    task: JoinHandle<()>,
}

/// A petstore that runs.
pub(crate) struct Process {
    pub(crate) service: Arc<Service>,
    number: u64,
    book: Arc<Book>,
    store: Arc<MemoryStore>,
    server: LocalServer,
    connections: RefCell<Vec<Served>>,
    tasks: Vec<JoinHandle<()>>,
    /// Until when the disk hangs.
    hang: Rc<RefCell<Instant>>,
}

impl Process {
    /// Opens a petstore on what is left on a disk.
    pub(crate) fn start(around: &Surroundings, disk: &Disk, over: Over, random: Random) -> Self {
        let Surroundings { book, clock, entropy, temper, bug } = around;
        let (rows, epoch) = Rows::read(disk.journal());
        let number = book.process_begins(over, &rows, epoch);
        let witness = Witness { book: Arc::clone(book), process: number };
        let journal = crate::bugs::journal(*bug, disk.journal());
        let journal = WatchedJournal { witness: witness.clone(), inner: journal };
        let opened = MemoryStore::open_inline(Box::new(journal)).expect("what was kept can be opened");
        let (Opened { store, .. }, writer) = opened;
        let (store, work) = (Arc::new(store), Arc::new(Notify::new()));
        let now = Arc::clone(clock) as Arc<dyn Clock>;
        let entropy = Arc::clone(entropy) as Arc<dyn Entropy>;
        let ports = Ports::of_one_store(Arc::clone(&store), Arc::clone(&now), entropy);
        let ports = crate::bugs::ports(*bug, ports);
        let inner = Arc::clone(&ports.transactor);
        let transactor = WatchedTransactor { witness: witness.clone(), inner, work: Arc::clone(&work) };
        let addresses = WatchedAddresses { witness: witness.clone(), inner: Arc::clone(&ports.addresses) };
        let quotas = WatchedQuotas { witness, inner: Arc::clone(&ports.quotas) };
        let quotas = crate::bugs::called(*bug, Arc::new(quotas));
        let ports =
            Ports { transactor: Arc::new(transactor), quotas, addresses: Arc::new(addresses), ..ports };
        let service = Arc::new(Service::new(ports, policy(temper)));
        let http = Http::new(Arc::clone(&service) as Arc<dyn Petstore>, settings(epoch), false);
        let hang = Rc::new(RefCell::new(Instant::now()));
        let tasks = vec![
            spawn_local(write(writer, Arc::clone(&work), Rc::clone(&hang), Arc::clone(book), number, random)),
            spawn_local(keep_house(Arc::clone(&store), now, work)),
        ];
        let connections = RefCell::default();
        Self {
            service,
            number,
            book: Arc::clone(book),
            store,
            server: http.serve_here(),
            connections,
            tasks,
            hang,
        }
    }

    /// Accepts a connection. Returns the client's end.
    pub(crate) fn connect(
        &self,
        number: u64,
        address: IpAddr,
        weather: LinkWeather,
        random: Random,
    ) -> (End, Cutter) {
        let told = Arc::clone(&self.book);
        let (client, server, cutter) = link(weather, random, Box::new(move || told.answering(number)));
        let (serving, book) = (self.server.serve_connection(server, address), Arc::clone(&self.book));
        let serving = ACTOR.scope(Actor::Connection(number), serving);
        let task = spawn_local(async move {
            serving.await;
            book.end(number);
        });
        let mut connections = self.connections.borrow_mut();
        connections.retain(|one| !one.task.is_finished());
        connections.push(Served { cutter: cutter.clone(), task });
        (client, cutter)
    }

    /// The disk takes so long from now on.
    pub(crate) fn hang(&self, time: Duration) {
        *self.hang.borrow_mut() = Instant::now() + time;
    }

    /// The power goes. Nothing that the process was about to do happens.
    pub(crate) fn crash(self) {
        if *self.hang.borrow() > Instant::now() {
            // What a disk that hangs could not be told is nobody's fault.
            self.book.excuse_delay();
        }
        self.book.process_ends(Over::Crash);
        self.tear_down();
    }

    /// A signal comes: what runs is answered, what waits is written.
    pub(crate) async fn stop(self) {
        self.server.drain();
        let begun = Instant::now();
        while begun.elapsed() < DRAIN && self.connections.borrow().iter().any(|one| !one.task.is_finished()) {
            sleep(Duration::from_millis(50)).await;
        }
        self.tasks.iter().for_each(JoinHandle::abort);
        self.store.close();
        self.book.stepped(self.number);
        self.book.process_ends(Over::Stop);
        self.tear_down();
    }

    fn tear_down(self) {
        for Served { cutter, task } in self.connections.take() {
            cutter.cut();
            task.abort();
        }
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn policy(temper: &Temper) -> Policy {
    Policy {
        bans: BanPolicy { strikes: temper.strikes, ..BanPolicy::DEFAULT },
        in_flight_max: temper.in_flight_max,
        address_limit: Limit::new(temper.address_limit).expect("a limit"),
        ..Policy::DEFAULT
    }
}

fn settings(epoch: u64) -> HttpSettings {
    HttpSettings {
        enforce_sunset: true,
        ..HttpSettings::new(epoch, Documents { yaml: "".into(), json: "".into(), page: Arc::new([]) })
    }
}

/// What the store's thread does, one step after the other in simulated time.
async fn write(
    writer: Writer,
    work: Arc<Notify>,
    hang: Rc<RefCell<Instant>>,
    book: Arc<Book>,
    process: u64,
    mut random: Random,
) {
    loop {
        work.notified().await;
        // Half of the time it is slow to begin: what comes meanwhile shares a batch.
        let pause = *random.pick(&[3_000, 400_000]);
        sleep(Duration::from_micros(u64::from(200 + random.below(pause)))).await;
        loop {
            let held = *hang.borrow();
            if held > Instant::now() {
                tokio::time::sleep_until(held).await;
                book.excuse_delay();
            }
            let step = catch_unwind(AssertUnwindSafe(|| writer.step()));
            book.stepped(process);
            match step {
                Ok(Step::Worked) => {}
                Ok(Step::Idle) => break,
                Ok(Step::Failing) => sleep(RECOVERY_PAUSE).await,
                Err(_) => return book.fail("the store's writer panicked".to_owned()),
            }
        }
    }
}

async fn keep_house(store: Arc<MemoryStore>, clock: Arc<dyn Clock>, work: Arc<Notify>) {
    let mut ticks = interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let _ = submit(store.prune(clock.now()), &work).await;
    }
}
