//! The state of a sandbox. It exists only if the settings have one.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use petstore_ports::api::ClockChange;
use petstore_ports::{StoreError, api};
use petstore_request_journal::JournalBounds;
use tokio::sync::{Mutex, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, watch};
use tokio::time::timeout;

use super::clock_hold::ClockHold;
use super::fault_plan::{FaultPlan, PlannedFaults};
use super::mcp::catalog::Catalog;
use super::quota_forms::QuotaForms;
use super::readers::Readers;
use super::recorder::RequestRecorder;
use super::sink_store::Sinks;
use crate::base::epoch::Epoch;
use crate::base::settings::HttpSettings;

/// Time for which a reset waits for the requests in flight.
const RESET_WAIT: Duration = Duration::from_secs(2);

/// The state of a sandbox.
pub(crate) struct SandboxState {
    port: Arc<dyn api::Sandbox>,
    /// The tools for models; none if the settings have no document of them.
    tools: Option<Arc<Catalog>>,
    /// The testing aids for webhooks, which are set after the listeners are opened; none if the server delivers nothing.
    webhooks: OnceLock<Arc<dyn api::WebhookTesting>>,
    /// The epoch of the store, which changes with each reset.
    epoch: Epoch,
    /// The lock of the request that gives a baseline, which may have many bytes.
    baseline_turn: Mutex<()>,
    faults: PlannedFaults,
    clock_hold: ClockHold,
    quota_forms: QuotaForms,
    sinks: Sinks,
    /// The journal of requests; none if it is off.
    recorder: Option<Arc<RequestRecorder>>,
    readers: Readers,
    /// A lock that each request of the contract holds for reading and a reset holds for writing, so that no request
    /// overlaps a reset.
    reset_lock: Arc<RwLock<()>>,
    /// The number of resets and clock changes that wait for the lock. While it is above 0, requests that wait for an
    /// event end their wait.
    changes: watch::Sender<usize>,
    /// Ends planned delays before their time.
    delay_cancellation: watch::Sender<DelayCancellation>,
}

/// Counts of the events that end planned delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DelayCancellation {
    /// The number of resets. A request that was delayed during a reset was meant for the data before the reset, so it
    /// is dropped.
    pub(crate) resets: u64,
    /// The number of other events: new plans, and the server's stop. A request that was delayed continues.
    others: u64,
}

/// Permits one request to run. A reset waits until the permit is dropped.
pub(crate) struct RequestPermit(
    #[expect(dead_code, reason = "held until it is dropped")] OwnedRwLockReadGuard<()>,
);

impl SandboxState {
    /// A receiver of the events that end delays.
    pub(crate) fn delay_cancellation(&self) -> watch::Receiver<DelayCancellation> {
        self.delay_cancellation.subscribe()
    }

    /// The tools for models.
    pub(crate) const fn tools(&self) -> Option<&Arc<Catalog>> {
        self.tools.as_ref()
    }

    /// The lock that a request holds while the baseline that it gives is read.
    pub(super) const fn baseline_turn(&self) -> &Mutex<()> {
        &self.baseline_turn
    }

    /// The planned faults.
    pub(crate) const fn faults(&self) -> &PlannedFaults {
        &self.faults
    }

    /// The hold of the clock.
    pub(super) const fn clock_hold(&self) -> &ClockHold {
        &self.clock_hold
    }

    /// Lets the clock run on if it is held. The time does not change by that, so requests may be in flight.
    pub(super) fn release_clock(&self) {
        self.clock_hold.release(|| {
            // A clock that runs on forgets no usage, and nothing else of it fails.
            let _ = self.port.set_clock(ClockChange { time: None, freeze: Some(false) });
            if let Some(webhooks) = self.webhooks() {
                webhooks.clock_was_set();
            }
        });
    }

    /// The forms of the quota headers that the tester has set.
    pub(crate) const fn quota_forms(&self) -> &QuotaForms {
        &self.quota_forms
    }

    /// The driving port through which the owner's sandbox is called.
    pub(crate) const fn port(&self) -> &Arc<dyn api::Sandbox> {
        &self.port
    }

    /// The sinks.
    pub(crate) const fn sinks(&self) -> &Sinks {
        &self.sinks
    }

    /// The journal, with what is needed to write and to follow it.
    pub(crate) const fn recorder(&self) -> Option<&Arc<RequestRecorder>> {
        self.recorder.as_ref()
    }

    /// The bounds of the readers of the journal and of sinks.
    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }

    /// The testing aids for webhooks.
    pub(crate) fn webhooks(&self) -> Option<&dyn api::WebhookTesting> {
        self.webhooks.get().map(|webhooks| &**webhooks)
    }

    /// Sets the testing aids for webhooks. A further call changes nothing.
    pub(crate) fn test_webhooks(&self, webhooks: Arc<dyn api::WebhookTesting>) {
        // An error means that they are set already.
        let _: Result<(), _> = self.webhooks.set(webhooks);
    }

    /// Waits until no reset is in progress, and delays further resets until the permit is dropped.
    pub(crate) async fn enter(&self) -> RequestPermit {
        RequestPermit(Arc::clone(&self.reset_lock).read_owned().await)
    }

    /// Creates the sandbox of a server; none if the settings have none.
    pub(crate) fn of(settings: &HttpSettings) -> Option<Self> {
        let (port, journal) = (settings.sandbox.clone()?, settings.journal);
        Some(Self {
            port,
            webhooks: OnceLock::new(),
            tools: Catalog::read(&settings.documents.tools).map(Arc::new),
            epoch: settings.epoch.clone(),
            baseline_turn: Mutex::default(),
            faults: PlannedFaults::default(),
            clock_hold: ClockHold::default(),
            quota_forms: QuotaForms::default(),
            sinks: Sinks::default(),
            recorder: journal.map(|bounds| Arc::new(RequestRecorder::new(bounds))),
            readers: Readers::new(journal.unwrap_or(JournalBounds::DEFAULT).bytes),
            reset_lock: Arc::default(),
            changes: watch::Sender::default(),
            delay_cancellation: watch::Sender::default(),
        })
    }

    /// Replaces the plan, and ends the delays of the previous one.
    pub(crate) fn plan(&self, plan: FaultPlan) {
        self.faults.set(plan);
        self.cancel_delays();
    }

    /// Ends all planned delays; the delayed requests continue.
    pub(crate) fn cancel_delays(&self) {
        self.delay_cancellation.send_modify(|delay_cancellation| delay_cancellation.others += 1);
    }

    /// Records a reset: a new epoch, an empty plan, the quota headers of the setting and of new keys, no sinks, and delayed requests are dropped.
    pub(crate) fn restart(&self, epoch: u64) {
        self.epoch.set(epoch);
        self.faults.set(FaultPlan::default());
        self.quota_forms.reset();
        self.sinks.clear();
        self.delay_cancellation.send_modify(|delay_cancellation| delay_cancellation.resets += 1);
    }

    /// The number of resets since the start.
    pub(crate) fn resets(&self) -> u64 {
        self.delay_cancellation.borrow().resets
    }

    /// Completes once a reset or a change of the clock has begun to wait for the end of the requests in flight.
    pub(crate) async fn change_begins(&self) {
        // `wait_for` fails only without a sender, and the sender is a field of `self`.
        let _ = self.changes.subscribe().wait_for(|changes| *changes > 0).await;
    }

    /// Waits until no request is in flight, and blocks new ones until the lock is dropped.
    pub(crate) async fn lock_for_reset(&self) -> Result<OwnedRwLockWriteGuard<()>, StoreError> {
        let _change = PendingChange::of(&self.changes);
        let lock_for_reset = timeout(RESET_WAIT, Arc::clone(&self.reset_lock).write_owned()).await;
        lock_for_reset.map_err(|_| StoreError::busy("requests in flight did not end in time; try again"))
    }
}

/// While this guard exists, a reset or a change of the clock counts as waiting for the requests in flight.
struct PendingChange<'a>(&'a watch::Sender<usize>);

impl<'a> PendingChange<'a> {
    fn of(changes: &'a watch::Sender<usize>) -> Self {
        changes.send_modify(|changes| *changes += 1);
        Self(changes)
    }
}

impl Drop for PendingChange<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|changes| *changes -= 1);
    }
}
