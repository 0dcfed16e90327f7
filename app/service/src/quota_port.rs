//! Calls of the gate to the quota store: with a deadline, a circuit breaker, and a policy for an outage.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use petstore_domain::{AccountId, Limits, Timestamp, Usage};
use petstore_ports::{Ask, Quotas, Reply, ScopedReply, StoreError, StoreErrorKind, Verdict};

use crate::call_deadlines::CallDeadlines;
use crate::circuit_breaker::{Circuit, Passage};
use crate::policy::OnQuotaOutage;

/// The time after which a failure says nothing about the present state. Without it, a node that gets no requests because it
/// is not ready would never be ready again, since only a request probes the store.
const FAULT_AGE_MAX: Duration = Duration::from_secs(1);

/// A quota store with its circuit breaker and outage policy.
pub(crate) struct QuotaPort {
    store: Arc<dyn Quotas>,
    on_outage: OnQuotaOutage,
    deadlines: CallDeadlines,
    health: Mutex<Health>,
    /// `true` while the circuit is closed without a failure. A request then takes no lock.
    is_calm: AtomicBool,
    failures: AtomicU64,
    unasked: AtomicU64,
    stand_ins: AtomicU64,
}

/// The state of the circuit, and the last error.
struct Health {
    circuit: Circuit,
    fault: Option<StoreError>,
}

/// Counts of the calls of a quota store.
pub(crate) struct QuotaCounts {
    /// Calls that failed.
    pub(crate) failures: u64,
    /// Requests for which the store was not called, since it had failed repeatedly.
    pub(crate) unasked: u64,
    /// Requests that were counted by other quotas.
    pub(crate) stand_ins: u64,
}

type QuotaReply<'a, T> = ScopedReply<'a, Result<T, StoreError>>;

impl QuotaPort {
    pub(crate) fn new(store: Arc<dyn Quotas>, on_outage: OnQuotaOutage, deadlines: CallDeadlines) -> Self {
        Self {
            store,
            on_outage,
            deadlines,
            health: Mutex::new(Health { circuit: Circuit::CALM, fault: None }),
            is_calm: AtomicBool::new(true),
            failures: AtomicU64::new(0),
            unasked: AtomicU64::new(0),
            stand_ins: AtomicU64::new(0),
        }
    }

    /// Takes one request from the windows of its account.
    pub(crate) fn take(&self, ask: Ask) -> QuotaReply<'_, Verdict> {
        // This is the fast path, for quotas in memory that reply at once.
        if self.is_calm.load(Ordering::Relaxed) {
            let reply = self.store.take(&ask);
            if let Some(Ok(_)) = reply.ready() {
                return reply;
            }
            let attempt = Attempt { port: self, passage: Passage::Call };
            return self.conclude(attempt, reply, move |quotas| quotas.take(&ask));
        }
        self.call(move |quotas| quotas.take(&ask))
    }

    /// Returns what is left of the windows of an account.
    pub(crate) fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> QuotaReply<'_, Usage> {
        self.call(move |quotas| quotas.usage(account, limits, now))
    }

    /// The last error while the circuit is open; none while it is closed, or if no call has failed for a second.
    pub(crate) fn fault(&self) -> Option<StoreError> {
        if self.is_calm.load(Ordering::Relaxed) {
            return None;
        }
        let health = self.health();
        match health.circuit {
            Circuit::Closed { .. } => None,
            Circuit::Open { since } | Circuit::HalfOpen { since } => {
                let age = self.deadlines.elapsed().saturating_sub(since);
                health.fault.clone().filter(|_| age < FAULT_AGE_MAX)
            }
        }
    }

    /// The error that makes the circuit refuse all requests; none while it is closed, or if other quotas count meanwhile.
    pub(crate) fn refusing_fault(&self) -> Option<StoreError> {
        match self.on_outage {
            OnQuotaOutage::Refuse => self.fault(),
            OnQuotaOutage::CountWith(_) => None,
        }
    }

    pub(crate) fn counts(&self) -> QuotaCounts {
        QuotaCounts {
            failures: self.failures.load(Ordering::Relaxed),
            unasked: self.unasked.load(Ordering::Relaxed),
            stand_ins: self.stand_ins.load(Ordering::Relaxed),
        }
    }

    /// Calls the quota store, or applies the outage policy if it is down.
    fn call<'a, T: Send + 'a>(
        &'a self,
        request: impl Fn(&dyn Quotas) -> Reply<Result<T, StoreError>> + Send + 'a,
    ) -> QuotaReply<'a, T> {
        let attempt = match self.attempt() {
            Ok(attempt) => attempt,
            Err(error) => return self.stand_in(&request, error),
        };
        let reply = request(&*self.store);
        self.conclude(attempt, reply, request)
    }

    /// Bounds a call by its deadline, reports its outcome to the circuit, and applies the outage policy if it fails.
    fn conclude<'a, T: Send + 'a>(
        &'a self,
        attempt: Attempt<'a>,
        reply: Reply<Result<T, StoreError>>,
        request: impl Fn(&dyn Quotas) -> Reply<Result<T, StoreError>> + Send + 'a,
    ) -> QuotaReply<'a, T> {
        self.deadlines.quota_reply(reply).and_then(move |result| match result {
            Ok(answer) => {
                attempt.succeeded();
                ScopedReply::now(Ok(answer))
            }
            Err(error) => {
                attempt.failed(&error);
                self.stand_in(&request, error)
            }
        })
    }

    /// The reply while the quota store is down: this error, or the reply of the local quotas.
    fn stand_in<'a, T: Send + 'a>(
        &'a self,
        request: &impl Fn(&dyn Quotas) -> Reply<Result<T, StoreError>>,
        error: StoreError,
    ) -> QuotaReply<'a, T> {
        match &self.on_outage {
            // Only the count is unknown then: the request was not executed.
            OnQuotaOutage::Refuse if error.kind() == StoreErrorKind::Indeterminate => {
                ScopedReply::now(Err(error.with_kind(StoreErrorKind::Unavailable)))
            }
            OnQuotaOutage::Refuse => ScopedReply::now(Err(error)),
            OnQuotaOutage::CountWith(local) => {
                self.stand_ins.fetch_add(1, Ordering::Relaxed);
                self.deadlines.quota_reply(request(&**local))
            }
        }
    }

    fn attempt(&self) -> Result<Attempt<'_>, StoreError> {
        if self.is_calm.load(Ordering::Relaxed) {
            return Ok(Attempt { port: self, passage: Passage::Call });
        }
        let mut health = self.health();
        let (circuit, passage) = health.circuit.ask(self.deadlines.elapsed());
        health.circuit = circuit;
        if passage != Passage::Refused {
            return Ok(Attempt { port: self, passage });
        }
        self.unasked.fetch_add(1, Ordering::Relaxed);
        let error = StoreError::unavailable("the quota store has failed repeatedly and is not called now");
        Err(match &health.fault {
            Some(fault) => error.with_source(fault.clone()),
            None => error,
        })
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, health: &mut Health, circuit: Circuit) {
        health.circuit = circuit;
        self.is_calm.store(circuit == Circuit::CALM, Ordering::Relaxed);
    }
}

/// A call of the quota store in progress. If a probe is dropped before its end, the next caller probes.
struct Attempt<'a> {
    port: &'a QuotaPort,
    passage: Passage,
}

impl Attempt<'_> {
    fn succeeded(mut self) {
        let port = self.port;
        // Another call may have failed since this call began. The circuit is then told of this success.
        if self.passage == Passage::Probe || !port.is_calm.load(Ordering::Relaxed) {
            let mut health = port.health();
            let circuit = health.circuit.succeeded(self.passage);
            port.change(&mut health, circuit);
        }
        self.passage = Passage::Call;
    }

    /// Counts the failure. An error that concerns only this request is a success for the circuit, because it shows that
    /// the quota store answers.
    fn failed(mut self, error: &StoreError) {
        let port = self.port;
        port.failures.fetch_add(1, Ordering::Relaxed);
        match error.kind() {
            StoreErrorKind::Unavailable | StoreErrorKind::Indeterminate => {
                let mut health = port.health();
                let circuit = health.circuit.failed(self.passage, port.deadlines.elapsed());
                port.change(&mut health, circuit);
                health.fault = Some(error.clone());
                self.passage = Passage::Call;
            }
            StoreErrorKind::Busy | StoreErrorKind::Corrupt => self.succeeded(),
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.passage == Passage::Probe {
            let mut health = self.port.health();
            let circuit = health.circuit.abandoned();
            self.port.change(&mut health, circuit);
        }
    }
}
