//! One process of the petstore: opened on a disk, wired as the binary wires it, ended by a signal or a crash.

use std::cell::RefCell;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{BanPolicy, Limit};
use petstore_http::{Documents, Http, HttpSettings, LocalServer, TokioTimer};
use petstore_memory::{MemoryStore, Opened, Step, Writer};
use petstore_ports::{Clock, Entropy, Housekeeping};
use petstore_service::{Policy, Ports, Service};
use petstore_tests::{Disk, Random};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::bugs::Bug;
use crate::clock::{SimClock, SimEntropy};
use crate::link::{End, LinkConditions, ResetHandle, link};
use crate::model::rows::Rows;
use crate::oracle::{ACTOR, Actor, Ending, Oracle};
use crate::profile::Profile;
use crate::recorder::{Recorder, WatchedAddresses, WatchedJournal, WatchedQuotas, WatchedTransactor, submit};
use crate::watched_shop::WatchedShop;

/// The interval of housekeeping, as in the binary.
const HOUSEKEEPING: Duration = Duration::from_secs(1);

/// The interval of the recording of bans, as in the binary.
const RECORDING: Duration = Duration::from_millis(500);

/// The time limit for recording the last bans, as in the binary.
const CLOSING: Duration = Duration::from_secs(3);

/// The pause between two attempts of the writer to recover a failed journal, as in the store's own thread.
const RECOVERY_PAUSE: Duration = Duration::from_millis(100);

/// The time limit for a graceful stop.
const DRAIN: Duration = Duration::from_secs(9);

/// The dependencies of a process, besides its disk.
pub(crate) struct Environment {
    pub(crate) oracle: Arc<Oracle>,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) entropy: Arc<SimEntropy>,
    pub(crate) profile: Profile,
    pub(crate) bug: Option<Bug>,
}

/// A connection that the process serves.
struct Served {
    reset_handle: ResetHandle,
    task: JoinHandle<()>,
}

/// A running petstore.
pub(crate) struct Process {
    pub(crate) service: Arc<Service>,
    number: u64,
    oracle: Arc<Oracle>,
    store: Arc<MemoryStore>,
    server: LocalServer,
    connections: RefCell<Vec<Served>>,
    tasks: Vec<JoinHandle<()>>,
    /// The time until which the disk hangs.
    hang: Rc<RefCell<Instant>>,
}

impl Process {
    /// Opens a petstore on the contents of a disk.
    pub(crate) fn start(environment: &Environment, disk: &Disk, ending: Ending, random: Random) -> Self {
        let Environment { oracle, clock, entropy, profile, bug } = environment;
        let (rows, epoch) = Rows::read(disk.journal());
        let number = oracle.process_begins(ending, &rows, epoch);
        let recorder = Recorder { oracle: Arc::clone(oracle), process: number };
        let journal = crate::bugs::journal(*bug, disk.journal());
        let journal = WatchedJournal { recorder: recorder.clone(), inner: journal };
        let opened = MemoryStore::open_inline(Box::new(journal)).expect("what was kept can be opened");
        let (Opened { store, .. }, writer) = opened;
        let (store, work) = (Arc::new(store), Arc::new(Notify::new()));
        let now = Arc::clone(clock) as Arc<dyn Clock>;
        let entropy = Arc::clone(entropy) as Arc<dyn Entropy>;
        let ports =
            Ports::of_one_store(Arc::clone(&store), Arc::clone(&now), entropy, Arc::new(TokioTimer::new()));
        let ports = crate::bugs::ports(*bug, ports);
        let inner = Arc::clone(&ports.transactor);
        let transactor = WatchedTransactor { recorder: recorder.clone(), inner, work: Arc::clone(&work) };
        let addresses = WatchedAddresses { recorder: recorder.clone(), inner: Arc::clone(&ports.addresses) };
        let quotas = WatchedQuotas { recorder: recorder.clone(), inner: Arc::clone(&ports.quotas) };
        let quotas = Arc::new(quotas);
        let ports =
            Ports { transactor: Arc::new(transactor), quotas, addresses: Arc::new(addresses), ..ports };
        let service = Arc::new(Service::new(ports, policy(profile)));
        let watched = WatchedShop::new(recorder, *bug, Arc::clone(&service));
        let http = Http::new(Arc::new(watched), settings(epoch), false);
        let hang = Rc::new(RefCell::new(Instant::now()));
        let tasks = vec![
            spawn_local(write(
                writer,
                Arc::clone(&work),
                Rc::clone(&hang),
                Arc::clone(oracle),
                number,
                random,
            )),
            spawn_local(run_housekeeping(Arc::clone(&store), now, work)),
            spawn_local(record_bans(Arc::clone(&service))),
        ];
        let connections = RefCell::default();
        Self {
            service,
            number,
            oracle: Arc::clone(oracle),
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
        conditions: LinkConditions,
        random: Random,
    ) -> (End, ResetHandle) {
        let told = Arc::clone(&self.oracle);
        let (client, server, reset_handle) =
            link(conditions, random, Box::new(move || told.answering(number)));
        let (serving, oracle) = (self.server.serve_connection(server, address), Arc::clone(&self.oracle));
        let serving = ACTOR.scope(Actor::Connection(number), serving);
        let task = spawn_local(async move {
            serving.await;
            oracle.end(number);
        });
        let mut connections = self.connections.borrow_mut();
        connections.retain(|one| !one.task.is_finished());
        connections.push(Served { reset_handle: reset_handle.clone(), task });
        (client, reset_handle)
    }

    /// Makes every disk call take until `time` from now.
    pub(crate) fn hang(&self, time: Duration) {
        *self.hang.borrow_mut() = Instant::now() + time;
    }

    /// Ends the process as a power cut does, so none of its pending work is done.
    pub(crate) fn crash(self) {
        if *self.hang.borrow() > Instant::now() {
            // The process could not write while the disk hung, so the delay is not its fault.
            self.oracle.excuse_delay();
        }
        self.oracle.process_ends(Ending::Crash);
        self.tear_down();
    }

    /// Handles a stop signal: running requests are answered, and pending writes are written.
    pub(crate) async fn stop(self) {
        self.server.drain();
        let begun = Instant::now();
        while begun.elapsed() < DRAIN && self.connections.borrow().iter().any(|one| !one.task.is_finished()) {
            sleep(Duration::from_millis(50)).await;
        }
        let _ = timeout(CLOSING, self.service.record_all_bans()).await;
        self.tasks.iter().for_each(JoinHandle::abort);
        self.store.close();
        self.oracle.stepped(self.number);
        self.oracle.process_ends(Ending::Stop);
        self.tear_down();
    }

    fn tear_down(self) {
        for Served { reset_handle, task } in self.connections.take() {
            reset_handle.cut();
            task.abort();
        }
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn policy(profile: &Profile) -> Policy {
    Policy {
        bans: BanPolicy { strikes: profile.strikes, ..BanPolicy::DEFAULT },
        in_flight_max: profile.in_flight_max,
        address_limit: Limit::new(profile.address_limit).expect("a limit"),
        ..Policy::DEFAULT
    }
}

fn settings(epoch: u64) -> HttpSettings {
    HttpSettings { enforce_sunset: true, ..HttpSettings::new(epoch, Documents::default()) }
}

/// The loop that the store's own thread would run, with one step after another in simulated time.
async fn write(
    writer: Writer,
    work: Arc<Notify>,
    hang: Rc<RefCell<Instant>>,
    oracle: Arc<Oracle>,
    process: u64,
    mut random: Random,
) {
    loop {
        work.notified().await;
        // In half of the rounds the pause may be long, so that later changes share the batch.
        let pause = *random.pick(&[3_000, 400_000]);
        sleep(Duration::from_micros(u64::from(200 + random.below(pause)))).await;
        loop {
            let held = *hang.borrow();
            if held > Instant::now() {
                tokio::time::sleep_until(held).await;
                oracle.excuse_delay();
            }
            let step = catch_unwind(AssertUnwindSafe(|| writer.step()));
            oracle.stepped(process);
            match step {
                Ok(Step::Worked) => {}
                Ok(Step::Idle) => break,
                Ok(Step::Failing) => sleep(RECOVERY_PAUSE).await,
                Err(_) => return oracle.fail("the store's writer panicked".to_owned()),
            }
        }
    }
}

async fn run_housekeeping(store: Arc<MemoryStore>, clock: Arc<dyn Clock>, work: Arc<Notify>) {
    let mut ticks = interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let _ = submit(store.note_usage(), &work).await;
        let _ = submit(store.drop_expired(clock.now()), &work).await;
        let _ = submit(store.watch(clock.now()), &work).await;
    }
}

async fn record_bans(service: Arc<Service>) {
    let mut ticks = interval(RECORDING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        service.record_bans().await;
    }
}
