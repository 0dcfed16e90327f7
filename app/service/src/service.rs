//! The service, its ports, and the execution of operations.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    Answered, IdempotencyId, IdempotencyRejection, Idempotent, Operation, PlanTable, Repeatable, Timestamp,
};
use petstore_ports::api::{FailingCheck, Failure, IdempotentRequest, Readiness, Repeated};
use petstore_ports::{
    AccountDirectory, AddressLimits, CategoryReader, Clock, Entropy, EventFeed, EventReader,
    IdempotencyRecords, KeyReader, OrderReader, PetReader, Quotas, StoreError, StoreErrorKind, StoreHealth,
    StorePorts, Timer, Transactor, run,
};

use crate::call_deadlines::CallDeadlines;
use crate::digest;
use crate::gatekeeper::Gatekeeper;
use crate::outcomes::{OutcomeCounts, Outcomes};
use crate::pending_bans::{BanStore, BanWrites};
use crate::policy::{OnQuotaOutage, Policy};
use crate::quota_port::QuotaPort;
use crate::reservations::Reservations;

/// The driven ports of the service. Each port may belong to a different store, or be a mock.
pub struct Ports {
    /// Runs writes.
    pub transactor: Arc<dyn Transactor>,
    /// Reads pets and their stock.
    pub pets: Arc<dyn PetReader>,
    /// Reads categories.
    pub categories: Arc<dyn CategoryReader>,
    /// Reads orders.
    pub orders: Arc<dyn OrderReader>,
    /// Reads the event log.
    pub events: Arc<dyn EventReader>,
    /// Waits for new events.
    pub feed: Arc<dyn EventFeed>,
    /// Looks up the key of a request.
    pub keys: Arc<dyn KeyReader>,
    /// Lists accounts and keys.
    pub directory: Arc<dyn AccountDirectory>,
    /// Counts answers that are stored under idempotency keys.
    pub idempotency: Arc<dyn IdempotencyRecords>,
    /// Counts requests.
    pub quotas: Arc<dyn Quotas>,
    /// Counts the requests of this process that have no valid key.
    pub addresses: Arc<dyn AddressLimits>,
    /// The treatment of requests while the quota store is down.
    pub on_quota_outage: OnQuotaOutage,
    /// Reports whether the store can do its work.
    pub health: Arc<dyn StoreHealth>,
    /// Reports whether the quota store can do its work; none if it is part of the store.
    pub quota_health: Option<Arc<dyn StoreHealth>>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness for new keys.
    pub entropy: Arc<dyn Entropy>,
    /// Measures the deadlines of calls to the other ports.
    pub timer: Arc<dyn Timer>,
}

impl Ports {
    /// The ports of a store that implements all of them.
    pub fn of_one_store<S>(
        store: Arc<S>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        timer: Arc<dyn Timer>,
    ) -> Self
    where
        S: StorePorts + StoreHealth + 'static,
    {
        Self {
            transactor: Arc::clone(&store) as _,
            pets: Arc::clone(&store) as _,
            categories: Arc::clone(&store) as _,
            orders: Arc::clone(&store) as _,
            events: Arc::clone(&store) as _,
            feed: Arc::clone(&store) as _,
            keys: Arc::clone(&store) as _,
            directory: Arc::clone(&store) as _,
            idempotency: Arc::clone(&store) as _,
            quotas: Arc::clone(&store) as _,
            addresses: Arc::clone(&store) as _,
            on_quota_outage: OnQuotaOutage::Refuse,
            health: store,
            quota_health: None,
            clock,
            entropy,
            timer,
        }
    }
}

/// The petstore. Implements every driving port except the sandbox's.
pub struct Service {
    pub(crate) transactor: Arc<dyn Transactor>,
    pub(crate) pets: Arc<dyn PetReader>,
    pub(crate) categories: Arc<dyn CategoryReader>,
    pub(crate) orders: Arc<dyn OrderReader>,
    pub(crate) events: Arc<dyn EventReader>,
    pub(crate) feed: Arc<dyn EventFeed>,
    pub(crate) directory: Arc<dyn AccountDirectory>,
    idempotency: Arc<dyn IdempotencyRecords>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) deadlines: CallDeadlines,
    health: Arc<dyn StoreHealth>,
    quota_health: Option<Arc<dyn StoreHealth>>,
    reservations: Reservations,
    outcomes: Outcomes,
    policy: Policy,
}

impl Service {
    /// A petstore over these ports.
    ///
    /// The service starts no thread: its owner calls [`Service::record_bans`], and the methods of
    /// [`Housekeeping`](petstore_ports::Housekeeping) on the store, about once a second. Otherwise a restart forgets
    /// bans and usage, and expired records are never dropped.
    pub fn new(ports: Ports, policy: Policy) -> Self {
        let deadlines = CallDeadlines::new(ports.timer, policy.store_timeout, policy.quota_timeout);
        let quotas = QuotaPort::new(ports.quotas, ports.on_quota_outage, deadlines.clone());
        let gatekeeper = Gatekeeper::new(ports.keys, quotas, ports.addresses, deadlines.clone(), policy);
        Self {
            transactor: ports.transactor,
            pets: ports.pets,
            categories: ports.categories,
            orders: ports.orders,
            events: ports.events,
            feed: ports.feed,
            directory: ports.directory,
            idempotency: ports.idempotency,
            clock: ports.clock,
            entropy: ports.entropy,
            gatekeeper,
            deadlines,
            health: ports.health,
            quota_health: ports.quota_health,
            reservations: Reservations::default(),
            outcomes: Outcomes::default(),
            policy,
        }
    }

    /// Sets the limits of the named plans, from the next request on. Usage counts are not reset.
    pub fn set_plans(&self, plans: PlanTable) {
        self.gatekeeper.set_plans(plans);
    }

    /// Records the bans that the gate has decided since the last call. Each ban is written into the record of its key.
    /// The gate enforces these bans already. After a failure of the store this function does nothing for one second;
    /// the pause doubles with each further failure, up to 8 s.
    ///
    /// The function waits for the store, up to the deadline of a write, so call it in a separate task.
    pub async fn record_bans(&self) -> BanWrites {
        self.gatekeeper.bans.record_due(self.ban_store()).await
    }

    /// Writes each ban that is not recorded yet into the record of its key, even if the store has just failed. Call
    /// this function before the process ends.
    pub async fn record_all_bans(&self) -> BanWrites {
        self.gatekeeper.bans.record_all(self.ban_store()).await
    }

    pub(crate) fn ban_store(&self) -> BanStore<'_> {
        BanStore { transactor: &*self.transactor, deadlines: &self.deadlines }
    }

    /// The counts since the start.
    pub fn figures(&self) -> OutcomeCounts {
        let quotas = self.gatekeeper.quotas().counts();
        OutcomeCounts {
            quota_failures: quotas.failures,
            quota_unasked: quotas.unasked,
            quota_stand_ins: quotas.stand_ins,
            ..self.outcomes.figures(&self.gatekeeper.bans)
        }
    }

    /// The last error of the quota store while the circuit is open, that is, while the quota store is not called and
    /// [`Ports::on_quota_outage`] applies. None while the quota store is called, or if no call has failed for a second.
    pub fn quota_fault(&self) -> Option<StoreError> {
        self.gatekeeper.quotas().fault()
    }

    /// Runs an operation at the current time.
    pub(crate) async fn submit<O: Operation>(
        &self,
        operation: O,
    ) -> Result<O::Output, Failure<O::Rejection>> {
        self.submit_at(operation, self.clock.now()).await
    }

    /// Runs an operation at this time.
    pub(crate) async fn submit_at<O: Operation>(
        &self,
        operation: O,
        now: Timestamp,
    ) -> Result<O::Output, Failure<O::Rejection>> {
        let outcome = self.deadlines.write(pin!(run(&*self.transactor, operation, now))).await;
        self.outcomes.count(&outcome);
        outcome?.map_err(Failure::Rejected)
    }

    /// Runs an operation that may carry an idempotency key.
    pub(crate) async fn submit_once<O: Repeatable>(
        &self,
        operation: O,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<O::Output, O::Rejection> {
        let Some(retry) = retry else {
            let output = self.submit(operation).await?;
            return Ok(Answered { result: Ok(output), replayed: false });
        };
        let id = IdempotencyId {
            account: retry.account,
            scope: operation.idempotency_scope(),
            key: retry.key.clone(),
        };
        let Some(_running) = self.reservations.reserve(&id) else {
            return Err(Failure::IdempotencyInProgress);
        };
        let now = self.clock.now();
        let run_counted = pin!(async {
            let records = self.deadlines.reply(self.idempotency.records_of(retry.account)).await?;
            let idempotent = Idempotent {
                operation,
                id,
                fingerprint: digest::of_body(retry.body),
                now,
                expires_at: now.plus(self.policy.idempotency_lifetime),
                records,
                records_max: self.policy.idempotency_records_max,
            };
            run(&*self.transactor, idempotent, now).await
        });
        let outcome = self.deadlines.write(run_counted).await;
        self.outcomes.count_once(&outcome);
        outcome?.map_err(|rejection| match rejection {
            IdempotencyRejection::Rejected(rejection) => Failure::Rejected(rejection),
            IdempotencyRejection::KeyReused => Failure::IdempotencyKeyReused,
            IdempotencyRejection::TooManyRecords => Failure::TooManyIdempotencyRecords,
        })
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}

#[async_trait]
impl Readiness for Service {
    async fn failing_checks(&self) -> Vec<FailingCheck> {
        let now = self.clock.now();
        let store = self.deadlines.read(self.health.check(now)).await.err();
        let quotas = match &self.quota_health {
            Some(health) => self.deadlines.read(health.check(now)).await.err(),
            None => None,
        };
        // Refusals by the circuit are found only by requests, and may have another reason.
        let quotas = quotas.or_else(|| self.gatekeeper.quotas().refusing_fault());
        let failing = |name, error: Option<StoreError>| {
            error.map(|error| FailingCheck { name, reason: reason(&error) })
        };
        failing("store", store).into_iter().chain(failing("quotas", quotas)).collect()
    }

    fn damaged_parts(&self) -> Vec<FailingCheck> {
        let reason = || DAMAGED_IN_PART.to_owned();
        let store = self.health.has_met_damage().then(|| FailingCheck { name: "store", reason: reason() });
        store.into_iter().collect()
    }
}

/// The reason of a store that is served although calls have met damage in it. Only the log names the place.
const DAMAGED_IN_PART: &str =
    "a part of the data is damaged; the rest is served, and the log names the place";

/// The reason in a form that clients may see. The storage engine's message about damage names tables and pages, so it
/// is only logged.
fn reason(error: &StoreError) -> String {
    match error.kind() {
        StoreErrorKind::Corrupt => StoreErrorKind::Corrupt.to_string(),
        StoreErrorKind::Busy | StoreErrorKind::Unavailable | StoreErrorKind::Indeterminate => error.report(),
    }
}
