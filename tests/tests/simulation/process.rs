//! One process of the petstore: opened on a disk, wired as the binary wires it, ended by a signal or a crash.

use std::cell::RefCell;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{AccountWebhooks, BanPolicy, Limit, TargetPolicy};
use petstore_http::{Documents, Http, HttpSettings, JsonEvents, LocalServer, TokioTimer};
use petstore_memory::{MemoryStore, Opened, Step, Writer};
use petstore_ports::{Clock, Entropy, Housekeeping};
use petstore_service::{Dispatcher, DispatcherPorts, Policy, Ports, Service, WebhookService};
use petstore_tests::{Disk, Random};
use tokio::sync::{Notify, oneshot};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::bugs::Bug;
use crate::clock::{SimClock, SimEntropy};
use crate::link::{End, LinkConditions, ResetHandle, link};
use crate::model::rows::Rows;
use crate::oracle::{ACTOR, Actor, Ending, Oracle};
use crate::profile::Profile;
use crate::receivers::{PlainSigner, SimCourier, WatchedDeliveries};
use crate::recorder::{Recorder, WatchedAddresses, WatchedJournal, WatchedQuotas, WatchedTransactor, submit};
use crate::watched_shop::WatchedShop;

/// The interval of housekeeping, as in the binary.
const HOUSEKEEPING: Duration = Duration::from_secs(1);

/// The interval of the recording of bans, as in the binary.
const RECORDING: Duration = Duration::from_millis(500);

/// The interval at which the delays of deliveries are judged.
const JUDGING: Duration = Duration::from_secs(5);

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
    pub(crate) webhooks: Arc<WebhookService>,
    pub(crate) number: u64,
    /// Deliveries; none in a run without webhooks.
    deliveries: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
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
        let dispatching = dispatcher_ports(&store, recorder.clone(), clock, &work);
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
        let transactor = Arc::new(transactor);
        let dispatching = DispatcherPorts { transactor: Arc::clone(&transactor) as _, ..dispatching };
        let dispatching = crate::bugs::dispatcher_ports(*bug, dispatching);
        let ports = Ports { transactor, quotas, addresses: Arc::new(addresses), ..ports };
        let service = Arc::new(Service::new(ports, policy(profile)));
        let webhooks = WebhookService::new(
            Arc::clone(&service),
            dispatching.clone(),
            TargetPolicy::default(),
            AccountWebhooks::DEFAULT_MAX,
        );
        let deliveries = profile.has_webhooks.then(|| deliver(dispatching, &policy(profile)));
        let watched = WatchedShop::new(recorder, *bug, Arc::clone(&service));
        let http = Http::new(Arc::new(watched), settings(epoch), false);
        let hang = Rc::new(RefCell::new(Instant::now()));
        let delays = judge_delays(Arc::clone(oracle), number);
        let tasks = vec![
            spawn_local(delays),
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
            webhooks: Arc::new(webhooks),
            number,
            deliveries,
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
    pub(crate) async fn stop(mut self) {
        self.server.drain();
        let begun = Instant::now();
        while begun.elapsed() < DRAIN && self.connections.borrow().iter().any(|one| !one.task.is_finished()) {
            sleep(Duration::from_millis(50)).await;
        }
        let _ = timeout(CLOSING, self.service.record_all_bans()).await;
        if let Some((stop, mut delivering)) = self.deliveries.take() {
            drop(stop);
            if timeout(CLOSING, &mut delivering).await.is_err() {
                self.oracle.excuse_delay();
                delivering.abort();
            }
        }
        if *self.hang.borrow() > Instant::now() {
            self.oracle.excuse_delay();
        }
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
        self.deliveries.iter().for_each(|(_, delivering)| delivering.abort());
    }
}

/// The dispatcher's view of a store, whose receivers report each request to the oracle.
fn dispatcher_ports(
    store: &Arc<MemoryStore>,
    recorder: Recorder,
    clock: &Arc<SimClock>,
    work: &Arc<Notify>,
) -> DispatcherPorts {
    let ports = DispatcherPorts::of_one_store(
        store,
        Arc::new(SimCourier(recorder)),
        Arc::new(PlainSigner),
        Arc::new(JsonEvents),
        Arc::clone(clock) as _,
        Arc::new(TokioTimer::new()),
    );
    let deliveries = WatchedDeliveries { inner: Arc::clone(store) as _, work: Arc::clone(work) };
    DispatcherPorts { deliveries: Arc::new(deliveries), ..ports }
}

/// Starts the deliveries. They end when the sender is dropped.
fn deliver(ports: DispatcherPorts, policy: &Policy) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let dispatcher = Dispatcher::new(ports, policy, true, Arc::default());
    let (stop, stopped) = oneshot::channel();
    (stop, spawn_local(async move { dispatcher.run(async { drop(stopped.await) }).await }))
}

async fn judge_delays(oracle: Arc<Oracle>, process: u64) {
    let mut ticks = interval(JUDGING);
    loop {
        ticks.tick().await;
        oracle.judge_delays(process);
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
