//! The gate: checks the key, the requests in flight, the ban and the quota, in this order.

use std::net::IpAddr;
use std::sync::Arc;

use dashmap::DashMap;
use petstore_domain::{Account, ApiKey, KeyId, Limits, Plan, PlanTable, Scope, Timestamp, Usage};
use petstore_ports::api::{Admission, Call, KeyProblem, Refusal};
use petstore_ports::{
    AddressLimits, AddressVerdict, Ask, Cost, Credential, KeyLookup, KeyReader, ScopedReply, StoreError,
    Verdict,
};

use crate::call_deadlines::CallDeadlines;
use crate::digest;
use crate::in_flight::InFlightTable;
use crate::pending_bans::PendingBans;
use crate::plans::LivePlans;
use crate::policy::Policy;
use crate::quota_port::QuotaPort;

/// Capacity of the cache of verified secrets. A secret takes 53 bytes and its id 8: 65,536 of them take 4 MiB.
const VERIFIED_MAX: usize = 65_536;

pub(crate) struct Gatekeeper {
    keys: Arc<dyn KeyReader>,
    quotas: QuotaPort,
    addresses: Arc<dyn AddressLimits>,
    in_flight: InFlightTable,
    deadlines: CallDeadlines,
    plans: LivePlans,
    policy: Policy,
    pub(crate) bans: PendingBans,
    /// The key of each verified secret. This cache saves SHA-256 on every request except the first. Entries never
    /// become stale, because a secret belongs to one key permanently, and each request checks whether that key is still
    /// valid. Only secrets that exist are added, so that strangers cannot fill the cache.
    verified: DashMap<[u8; ApiKey::LEN], KeyId, foldhash::fast::RandomState>,
}

/// The gate's decision on a request.
type Admitted<'a> = ScopedReply<'a, Result<Admission<'a>, Refusal>>;

/// A key as a request presents it.
#[derive(Clone, Copy)]
enum Presented {
    /// A secret in the cache.
    Verified(KeyId),
    /// A well-formed secret that may not exist.
    Unverified(ApiKey),
}

impl Gatekeeper {
    pub(crate) fn new(
        keys: Arc<dyn KeyReader>,
        quotas: QuotaPort,
        addresses: Arc<dyn AddressLimits>,
        deadlines: CallDeadlines,
        policy: Policy,
    ) -> Self {
        let plans = LivePlans::new(policy.plans);
        Self {
            keys,
            quotas,
            addresses,
            in_flight: InFlightTable::new(),
            deadlines,
            plans,
            policy,
            bans: PendingBans::default(),
            verified: DashMap::default(),
        }
    }

    /// Returns whether a key with this secret exists, valid or not.
    pub(crate) async fn knows(&self, secret: &ApiKey) -> Result<bool, StoreError> {
        let found = self.deadlines.key_reply(self.keys.credential(KeyLookup::Digest(digest::of_key(secret))));
        let found = found.await?;
        Ok(found.is_some())
    }

    /// Returns `true` if a key exists, is valid, is not banned and has the scope, else `false`. Counts no request.
    pub(crate) fn is_valid(
        &self,
        key: KeyId,
        scope: Scope,
        now: Timestamp,
    ) -> ScopedReply<'_, Result<bool, StoreError>> {
        self.deadlines.key_reply(self.keys.credential(KeyLookup::Id(key))).map(move |found| {
            let Some(credential) = found? else { return Ok(false) };
            let recorded = credential.recorded_ban;
            let is_banned = recorded.in_force(now) || self.bans.is_waiting(key, recorded.lifted_at, now);
            Ok(credential.check(now).is_ok() && credential.scopes.permits(scope) && !is_banned)
        })
    }

    pub(crate) fn limits(&self, plan: &Plan) -> Limits {
        self.plans.limits(plan)
    }

    /// Returns what is left of the windows of an account. Counts no request.
    pub(crate) async fn usage(&self, account: &Account, now: Timestamp) -> Result<Usage, StoreError> {
        self.quotas.usage(account.id, self.limits(&account.plan), now).await
    }

    pub(crate) fn set_plans(&self, plans: PlanTable) {
        self.plans.set(plans);
    }

    fn recognise(&self, text: &[u8]) -> Option<Presented> {
        let secret: &[u8; ApiKey::LEN] = text.try_into().ok()?;
        if let Some(id) = self.verified.get(secret) {
            return Some(Presented::Verified(*id));
        }
        ApiKey::parse(text).ok().map(Presented::Unverified)
    }

    fn remember(&self, presented: Presented, id: KeyId) {
        let Presented::Unverified(secret) = presented else { return };
        if self.verified.len() >= VERIFIED_MAX {
            self.verified.clear();
        }
        self.verified.insert(*secret.as_bytes(), id);
    }

    fn judge(&self, presented: Presented, credential: Credential, request: Request) -> Admitted<'_> {
        self.remember(presented, credential.key);
        if let Err(fault) = credential.check(request.now) {
            return self.refuse_key(KeyProblem::Dead(fault), request);
        }
        let limits = self.plans.limits(&credential.plan);
        let Some(in_flight) = self.in_flight.enter(credential.account, self.policy.in_flight_max) else {
            return self.refuse_one_more(&credential, limits, request.now);
        };
        let ask = Ask {
            key: credential.key,
            account: credential.account,
            limits,
            cost: request.cost,
            bans: self.policy.bans,
            recorded_ban: credential.recorded_ban,
            now: request.now,
        };
        let now = request.now;
        self.quotas.take(ask).map(move |verdict| match verdict.map_err(Refusal::Store)? {
            Verdict::Admitted(usage) => Ok(Admission {
                now,
                account: credential.account,
                key: credential.key,
                scopes: credential.scopes,
                plan: credential.plan,
                usage,
                in_flight,
            }),
            Verdict::Banned { until, unrecorded } => {
                if let Some(ban) = unrecorded {
                    self.bans.add(credential.key, ban);
                }
                Err(Refusal::Banned { plan: credential.plan, until, limits })
            }
            Verdict::Exceeded(usage) => Err(Refusal::Exceeded { plan: credential.plan, usage }),
        })
    }

    /// Refuses a request of an account that already has the maximum number of requests in flight. The request is not
    /// counted and is not a strike.
    fn refuse_one_more(&self, credential: &Credential, limits: Limits, now: Timestamp) -> Admitted<'_> {
        let plan = credential.plan;
        self.quotas.usage(credential.account, limits, now).map(move |usage| {
            let usage = usage.map_err(Refusal::Store)?;
            Err(Refusal::TooManyInFlight { plan, usage })
        })
    }

    /// Admits or refuses a request that presents a key.
    pub(crate) fn admit(&self, call: Call<'_>) -> Admitted<'_> {
        let Call { key, address, cost, now } = call;
        let request = Request { address, cost, now };
        let Some(presented) = self.recognise(key) else {
            return self.refuse_key(KeyProblem::Invalid, request);
        };
        let lookup = match presented {
            Presented::Verified(id) => KeyLookup::Id(id),
            Presented::Unverified(secret) => KeyLookup::Digest(digest::of_key(&secret)),
        };
        let found = self.deadlines.key_reply(self.keys.credential(lookup));
        found.and_then(move |found| match found {
            Ok(Some(credential)) => self.judge(presented, credential, request),
            Ok(None) => self.refuse_key(KeyProblem::Invalid, request),
            Err(error) => ScopedReply::now(Err(Refusal::Store(error))),
        })
    }

    /// The requests in flight.
    pub(crate) fn in_flight(&self) -> &InFlightTable {
        &self.in_flight
    }

    pub(crate) fn quotas(&self) -> &QuotaPort {
        &self.quotas
    }

    fn refuse_key(&self, problem: KeyProblem, request: Request) -> Admitted<'_> {
        self.take_address(request.address, Cost::One, request.now).map(move |taken| {
            let address = taken.map_err(Refusal::Store)?;
            Err(Refusal::Key { problem, address })
        })
    }

    pub(crate) fn take_address(
        &self,
        address: IpAddr,
        cost: Cost,
        now: Timestamp,
    ) -> ScopedReply<'_, Result<AddressVerdict, StoreError>> {
        self.deadlines.quota_reply(self.addresses.take_address(address, self.policy.address_limit, cost, now))
    }
}

/// A request without its key.
#[derive(Clone, Copy)]
struct Request {
    address: IpAddr,
    cost: Cost,
    now: Timestamp,
}
