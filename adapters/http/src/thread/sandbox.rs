//! A tester's own server: it begins anew, its clock is turned, and it fails as planned.
//!
//! None of this is there unless an owner puts it into the settings. A request of a server without it pays a few branches.

pub(crate) mod fault_plan;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use petstore_ports::{StoreError, api};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, watch};
use tokio::time::timeout;

use fault_plan::{FaultPlan, PlannedFaults};

/// How long a reset waits for the requests that are in flight.
const ALONE_TIME: Duration = Duration::from_secs(2);

/// What a tester plays with.
pub(crate) struct SandboxState {
    port: Arc<dyn api::Sandbox>,
    /// The store's; another one after each reset.
    epoch: AtomicU64,
    faults: PlannedFaults,
    /// Held by each request of the contract, and by whoever must be alone: so a request is before a reset or after it.
    reset_lock: Arc<RwLock<()>>,
    /// What ends the delays of calls.
    delay_cancellation: watch::Sender<DelayCancellation>,
}

/// How often delays were ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DelayCancellation {
    /// By a reset: what waited then was the shop of before's.
    pub(crate) resets: u64,
    /// By another plan, or by the server's end: what waited goes on.
    others: u64,
}

/// A request that is in flight.
pub(crate) struct RequestPermit(
    #[expect(dead_code, reason = "held until it is dropped")] OwnedRwLockReadGuard<()>,
);

impl SandboxState {
    /// What ends the delay of a call, as it is now.
    pub(crate) fn delay_cancellation(&self) -> watch::Receiver<DelayCancellation> {
        self.delay_cancellation.subscribe()
    }

    /// The planned failures.
    pub(crate) const fn faults(&self) -> &PlannedFaults {
        &self.faults
    }

    /// What the owner does for a tester.
    pub(crate) const fn port(&self) -> &Arc<dyn api::Sandbox> {
        &self.port
    }

    /// Waits until no reset is under way, and keeps resets waiting until the result is dropped.
    pub(crate) async fn enter(&self) -> RequestPermit {
        RequestPermit(Arc::clone(&self.reset_lock).read_owned().await)
    }

    pub(crate) fn new(port: Arc<dyn api::Sandbox>, epoch: u64) -> Self {
        let (epoch, reset_lock) = (AtomicU64::new(epoch), Arc::default());
        Self {
            port,
            epoch,
            faults: PlannedFaults::default(),
            reset_lock,
            delay_cancellation: watch::Sender::default(),
        }
    }

    /// From now on this plan is in force, and no call waits for what another one has planned.
    pub(crate) fn plan(&self, plan: FaultPlan) {
        self.faults.set(plan);
        self.cancel_delays();
    }

    /// Calls that wait as planned go on.
    pub(crate) fn cancel_delays(&self) {
        self.delay_cancellation.send_modify(|delay_cancellation| delay_cancellation.others += 1);
    }

    /// All is as in the beginning, under another epoch. Calls that wait as planned are dropped: their shop is gone.
    pub(crate) fn restart(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
        self.faults.set(FaultPlan::default());
        self.delay_cancellation.send_modify(|delay_cancellation| delay_cancellation.resets += 1);
    }

    /// The store's epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Waits until no request is in flight, and lets none in.
    pub(crate) async fn lock_for_reset(&self) -> Result<OwnedRwLockWriteGuard<()>, StoreError> {
        let lock_for_reset = timeout(ALONE_TIME, Arc::clone(&self.reset_lock).write_owned()).await;
        lock_for_reset.map_err(|_| StoreError::busy("requests are in flight that do not end"))
    }
}
