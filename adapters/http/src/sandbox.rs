//! A tester's own server: it begins anew, its clock is turned, and it fails as planned.
//!
//! None of this is there unless an owner puts it into the settings. A request of a server without it pays a few branches.

pub(crate) mod faults;
pub(crate) mod routes;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::Method;
use hyper::header::{ALLOW, HeaderValue};
use petstore_domain::{AccountId, WindowKind};
use petstore_ports::api;
use petstore_ports::{Cost, StoreError};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, watch};
use tokio::time::timeout;

use crate::answer::Answer;
use crate::credentials::presented;
use crate::error::Code;
use crate::gate::{self, QuotaNote};
use crate::head::Head;
use crate::route::Resource;
use crate::tally::{Decision, Route};
use crate::worker::Worker;
use faults::{End, Faults, Plan};

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
struct Haste {
    /// By a reset: what waited then was the shop of before's.
    resets: u64,
    /// By another plan, or by the server's end: what waited goes on.
    others: u64,
}

/// A request that is in flight.
pub(crate) struct Inside(#[expect(dead_code, reason = "held until it is dropped")] OwnedRwLockReadGuard<()>);

/// A planned failure, as it ends a request.
pub(crate) enum Interrupted {
    /// The connection ends without an answer.
    Dropped,
    /// With an answer, and what is known of the caller.
    Answered { answer: Answer, quota: Option<QuotaNote>, account: Option<AccountId> },
}

impl Sandbox {
    pub(crate) fn new(port: Arc<dyn api::Sandbox>, epoch: u64) -> Self {
        let (epoch, turnstile) = (AtomicU64::new(epoch), Arc::default());
        Self { port, epoch, faults: Faults::default(), turnstile, haste: watch::Sender::default() }
    }

    /// From now on this plan is in force, and no call waits for what another one has planned.
    fn plan(&self, plan: Plan) {
        self.faults.set(plan);
        self.hurry();
    }

    /// Calls that wait as planned go on.
    pub(crate) fn hurry(&self) {
        self.haste.send_modify(|haste| haste.others += 1);
    }

    /// All is as in the beginning. Calls that wait as planned are dropped: whoever made them is done with that shop.
    fn begun(&self) {
        self.faults.set(Plan::default());
        self.haste.send_modify(|haste| haste.resets += 1);
    }

    /// The store's epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Lets a request in, unless a failure is planned for it. One that fails by a status has passed the gate like any other,
    /// and costs what such an answer costs: a 429 nothing.
    pub(crate) async fn meet(
        &self,
        worker: &Worker,
        client: IpAddr,
        method: &Method,
        head: &Head<'_>,
        resource: Option<Resource>,
        cost: Cost,
    ) -> Result<Inside, Interrupted> {
        let mut haste = self.haste.subscribe();
        let resets = haste.borrow_and_update().resets;
        let met = resource.and_then(|resource| self.faults.meet(method, Route::of(&resource).template()));
        let delay = met.as_ref().map_or(Duration::ZERO, |met| met.delay);
        let is_delayed = !delay.is_zero() && !worker.app.is_draining();
        if is_delayed {
            let _ = timeout(delay, haste.changed()).await;
        }
        let inside = Inside(Arc::clone(&self.turnstile).read_owned().await);
        if is_delayed && haste.borrow().resets != resets {
            return Err(Interrupted::Dropped);
        }
        match met.map_or(End::Served, |met| met.end) {
            End::Served => Ok(inside),
            End::Dropped => Err(Interrupted::Dropped),
            End::Answered { code, retry_after } => {
                let (now, mut quota) = (worker.time(), None);
                let key = match presented(head) {
                    Ok(key) => key,
                    Err(lack) => {
                        let answer = gate::without_key(&worker.app, client, lack, now, &mut quota).await;
                        return Err(Interrupted::Answered { answer, quota, account: None });
                    }
                };
                let is_refusal = code.status() == hyper::StatusCode::TOO_MANY_REQUESTS;
                let cost = if is_refusal { Cost::Nothing } else { cost };
                let call = api::Call { key, address: client, cost, now };
                let admission = match worker.app.api.admit(call).await {
                    Ok(admission) => admission,
                    Err(refusal) => {
                        if let Some((plan, decision)) = gate::decision(&refusal) {
                            worker.tally.decided(plan, decision);
                        }
                        let answer = gate::refused(refusal, now, &mut quota);
                        return Err(Interrupted::Answered { answer, quota, account: None });
                    }
                };
                worker.tally.decided(&admission.plan, Decision::Admitted);
                // A window that is said to be exhausted lifts when the client may come again.
                let wait = Duration::from_secs(retry_after.unwrap_or(0));
                let reset_secs = admission.now.plus(wait).as_secs_ceil();
                let note = match code {
                    Code::RateLimitExceeded => {
                        QuotaNote::exhausted(&admission.usage, WindowKind::Minute, reset_secs)
                    }
                    Code::QuotaExceeded => {
                        QuotaNote::exhausted(&admission.usage, WindowKind::Day, reset_secs)
                    }
                    Code::KeyBanned => QuotaNote::banned(admission.usage.minute.limit, reset_secs),
                    _ => QuotaNote::of_account(&admission.usage),
                };
                let answer = faults::answer(code, retry_after);
                let answer = match resource {
                    Some(resource) if code == Code::MethodNotAllowed => {
                        answer.with_header(ALLOW, HeaderValue::from_static(resource.allow()))
                    }
                    _ => answer,
                };
                let account = Some(admission.account);
                Err(Interrupted::Answered { answer, quota: Some(note), account })
            }
        }
    }

    /// Waits until no request is in flight, and lets none in.
    async fn alone(&self) -> Result<OwnedRwLockWriteGuard<()>, StoreError> {
        let alone = timeout(ALONE_TIME, Arc::clone(&self.turnstile).write_owned()).await;
        alone.map_err(|_| StoreError::busy("requests are in flight that do not end"))
    }
}
