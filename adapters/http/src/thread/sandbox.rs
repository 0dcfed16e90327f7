//! A tester's own server: it begins anew, its clock is turned, and it fails as planned.
//!
//! None of this is there unless an owner puts it into the settings. A request of a server without it pays a few branches.

pub(crate) mod faults;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use petstore_ports::{StoreError, api};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, watch};
use tokio::time::timeout;

use faults::{Faults, Plan};

/// How long a reset waits for the requests that are in flight.
const ALONE_TIME: Duration = Duration::from_secs(2);

/// What a tester plays with.
pub(crate) struct Sandbox {
    port: Arc<dyn api::Sandbox>,
    /// The store's; another one after each reset.
    epoch: AtomicU64,
    faults: Faults,
    /// Held by each request of the contract, and by whoever must be alone: so a request is before a reset or after it.
    turnstile: Arc<RwLock<()>>,
    /// What ends the delays of calls.
    haste: watch::Sender<Haste>,
}

/// How often delays were ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Haste {
    /// By a reset: what waited then was the shop of before's.
    pub(crate) resets: u64,
    /// By another plan, or by the server's end: what waited goes on.
    others: u64,
}

/// A request that is in flight.
pub(crate) struct Inside(#[expect(dead_code, reason = "held until it is dropped")] OwnedRwLockReadGuard<()>);

impl Sandbox {
    /// What ends the delay of a call, as it is now.
    pub(crate) fn haste(&self) -> watch::Receiver<Haste> {
        self.haste.subscribe()
    }

    /// The planned failures.
    pub(crate) const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What the owner does for a tester.
    pub(crate) const fn port(&self) -> &Arc<dyn api::Sandbox> {
        &self.port
    }

    /// Waits until no reset is under way, and keeps resets waiting until the result is dropped.
    pub(crate) async fn enter(&self) -> Inside {
        Inside(Arc::clone(&self.turnstile).read_owned().await)
    }

    pub(crate) fn new(port: Arc<dyn api::Sandbox>, epoch: u64) -> Self {
        let (epoch, turnstile) = (AtomicU64::new(epoch), Arc::default());
        Self { port, epoch, faults: Faults::default(), turnstile, haste: watch::Sender::default() }
    }

    /// From now on this plan is in force, and no call waits for what another one has planned.
    pub(crate) fn plan(&self, plan: Plan) {
        self.faults.set(plan);
        self.hurry();
    }

    /// Calls that wait as planned go on.
    pub(crate) fn hurry(&self) {
        self.haste.send_modify(|haste| haste.others += 1);
    }

    /// All is as in the beginning, under another epoch. Calls that wait as planned are dropped: their shop is gone.
    pub(crate) fn begun(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
        self.faults.set(Plan::default());
        self.haste.send_modify(|haste| haste.resets += 1);
    }

    /// The store's epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Waits until no request is in flight, and lets none in.
    pub(crate) async fn alone(&self) -> Result<OwnedRwLockWriteGuard<()>, StoreError> {
        let alone = timeout(ALONE_TIME, Arc::clone(&self.turnstile).write_owned()).await;
        alone.map_err(|_| StoreError::busy("requests are in flight that do not end"))
    }
}
