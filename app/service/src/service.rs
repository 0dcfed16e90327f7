//! The service: its ports, and how an operation is run.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    Answered, IdempotencyId, IdempotencyRejection, Idempotent, Operation, PlanTable, Repeatable,
};
use petstore_ports::api::{FailingCheck, Failure, IdempotentRequest, Readiness, Repeated};
use petstore_ports::{
    AccountDirectory, AddressLimits, CategoryReader, Clock, Entropy, IdempotencyRecords, KeyReader,
    OrderReader, PetReader, Quotas, StoreError, StoreErrorKind, StoreHealth, Timer, Transactor, run,
};

use crate::bans::{BanStore, BanWrites};
use crate::deadlines::Deadlines;
use crate::digest;
use crate::gate::Gatekeeper;
use crate::outcomes::{Figures, Outcomes};
use crate::policy::Policy;
use crate::reservations::Reservations;

/// What the service works with. Each port is by itself: one of a store may be another's, or a mock.
pub struct Ports {
    /// Writes.
    pub transactor: Arc<dyn Transactor>,
    /// Reads of pets and their stock.
    pub pets: Arc<dyn PetReader>,
    /// Reads of categories.
    pub categories: Arc<dyn CategoryReader>,
    /// Reads of orders.
    pub orders: Arc<dyn OrderReader>,
    /// Finds the key of a request.
    pub keys: Arc<dyn KeyReader>,
    /// Lists accounts and keys.
    pub directory: Arc<dyn AccountDirectory>,
    /// Counts answers that are kept under idempotency keys.
    pub idempotency: Arc<dyn IdempotencyRecords>,
    /// Counts requests.
    pub quotas: Arc<dyn Quotas>,
    /// Counts requests without a valid key: in this process.
    pub addresses: Arc<dyn AddressLimits>,
    /// What happens when the quota store fails.
    pub on_quota_outage: OnQuotaOutage,
    /// Whether the store can do its work.
    pub health: Arc<dyn StoreHealth>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness for new keys.
    pub entropy: Arc<dyn Entropy>,
    /// Deadlines of the calls to the other ports.
    pub timer: Arc<dyn Timer>,
}

/// What happens to requests while the quota store fails. Never: that they are admitted without a count.
pub enum OnQuotaOutage {
    /// They are refused.
    Refuse,
    /// They are counted here instead, with the same figures.
    CountWith(Arc<dyn Quotas>),
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
        S: Transactor
            + PetReader
            + CategoryReader
            + OrderReader
            + KeyReader
            + AccountDirectory
            + IdempotencyRecords
            + Quotas
            + AddressLimits
            + StoreHealth
            + 'static,
    {
        Self {
            transactor: Arc::clone(&store) as _,
            pets: Arc::clone(&store) as _,
            categories: Arc::clone(&store) as _,
            orders: Arc::clone(&store) as _,
            keys: Arc::clone(&store) as _,
            directory: Arc::clone(&store) as _,
            idempotency: Arc::clone(&store) as _,
            quotas: Arc::clone(&store) as _,
            addresses: Arc::clone(&store) as _,
            on_quota_outage: OnQuotaOutage::Refuse,
            health: store,
            clock,
            entropy,
            timer,
        }
    }
}

/// The petstore. Implements every driving port but the sandbox's.
pub struct Service {
    pub(crate) transactor: Arc<dyn Transactor>,
    pub(crate) pets: Arc<dyn PetReader>,
    pub(crate) categories: Arc<dyn CategoryReader>,
    pub(crate) orders: Arc<dyn OrderReader>,
    pub(crate) directory: Arc<dyn AccountDirectory>,
    idempotency: Arc<dyn IdempotencyRecords>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) deadlines: Deadlines,
    health: Arc<dyn StoreHealth>,
    reservations: Reservations,
    outcomes: Outcomes,
    policy: Policy,
}

impl Service {
    /// A petstore over these ports.
    ///
    /// It has no thread of its own: its owner calls [`Service::record_bans`] and [`Housekeeping::prune`](petstore_ports::Housekeeping::prune) on the
    /// store once a second or so, or bans are forgotten at a restart, and what has expired is never dropped.
    pub fn new(ports: Ports, policy: Policy) -> Self {
        let deadlines = Deadlines::new(ports.timer, policy.store_timeout, policy.quota_timeout);
        let gatekeeper = Gatekeeper::new(
            ports.keys,
            ports.quotas,
            ports.addresses,
            ports.on_quota_outage,
            deadlines.clone(),
            policy,
        );
        Self {
            transactor: ports.transactor,
            pets: ports.pets,
            categories: ports.categories,
            orders: ports.orders,
            directory: ports.directory,
            idempotency: ports.idempotency,
            clock: ports.clock,
            entropy: ports.entropy,
            gatekeeper,
            deadlines,
            health: ports.health,
            reservations: Reservations::default(),
            outcomes: Outcomes::default(),
            policy,
        }
    }

    /// From the next request on these are the limits of the plans that have a name. What has been used stays used.
    pub fn set_plans(&self, plans: PlanTable) {
        self.gatekeeper.set_plans(plans);
    }

    /// Records the bans that the gate has decided since, in the records of their keys. They are in force already. After a
    /// failure of the store it does nothing for a second, which doubles up to 8 s with each further failure.
    ///
    /// It waits for the store, up to the deadline of a write: it needs a task of its own.
    pub async fn record_bans(&self) -> BanWrites {
        self.gatekeeper.bans.record_due(self.ban_store()).await
    }

    /// Records the bans that the gate has decided since, even if the store has just failed: before the process ends.
    pub async fn record_all_bans(&self) -> BanWrites {
        self.gatekeeper.bans.record_all(self.ban_store()).await
    }

    pub(crate) fn ban_store(&self) -> BanStore<'_> {
        BanStore { transactor: &*self.transactor, deadlines: &self.deadlines }
    }

    /// What has been counted since the start.
    pub fn figures(&self) -> Figures {
        self.outcomes.figures(&self.gatekeeper.bans)
    }

    /// Runs an operation.
    pub(crate) async fn submit<O: Operation>(
        &self,
        operation: O,
    ) -> Result<O::Output, Failure<O::Rejection>> {
        let outcome = self.deadlines.write(run(&*self.transactor, operation)).await;
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
        let name = IdempotencyId {
            account: retry.account,
            scope: operation.idempotency_scope(),
            key: retry.key.clone(),
        };
        let Some(_running) = self.reservations.reserve(&name) else {
            return Err(Failure::IdempotencyInProgress);
        };
        let now = self.clock.now();
        let run_counted = async {
            let records = self.deadlines.reply(self.idempotency.records_of(retry.account)).await?;
            let idempotent = Idempotent {
                operation,
                name,
                fingerprint: digest::of_body(retry.body),
                now,
                expires_at: now.plus(self.policy.idempotency_lifetime),
                records,
                records_max: self.policy.idempotency_records_max,
            };
            run(&*self.transactor, idempotent).await
        };
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
        let store = self.deadlines.read(self.health.check(self.clock.now())).await.err();
        store.map(|error| FailingCheck { name: "store", reason: reason(&error) }).into_iter().collect()
    }
}

/// The reason as anybody may read it. What a storage engine says of damage names tables and pages: it is for the log.
fn reason(error: &StoreError) -> String {
    match error.kind() {
        StoreErrorKind::Corrupt => StoreErrorKind::Corrupt.to_string(),
        StoreErrorKind::Busy | StoreErrorKind::Unavailable | StoreErrorKind::Indeterminate => error.report(),
    }
}
