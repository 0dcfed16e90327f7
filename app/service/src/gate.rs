//! The gate: key, requests in flight, ban and quota, in this order.

use std::net::IpAddr;
use std::sync::Arc;

use dashmap::DashMap;
use petstore_domain::{ApiKey, KeyId, Limits, Plan, PlanTable, Timestamp};
use petstore_ports::api::{Admission, Call, Gate, InFlight, KeyProblem, Refusal};
use petstore_ports::{
    AddressLimits, AddressVerdict, Ask, Cost, Credential, KeyLookup, KeyReader, Quotas, ScopedReply,
    StoreError, Verdict,
};

use crate::bans::PendingBans;
use crate::deadlines::Deadlines;
use crate::digest;
use crate::plans::LivePlans;
use crate::policy::Policy;
use crate::service::{OnQuotaOutage, Service};

/// Secrets whose digest is remembered. A secret takes 53 bytes and its id 8: 65,536 of them are 4 MiB.
const VERIFIED_MAX: usize = 65_536;

pub(crate) struct Gatekeeper {
    keys: Arc<dyn KeyReader>,
    quotas: Arc<dyn Quotas>,
    addresses: Arc<dyn AddressLimits>,
    on_quota_outage: OnQuotaOutage,
    deadlines: Deadlines,
    plans: LivePlans,
    policy: Policy,
    pub(crate) bans: PendingBans,
    /// Which key a secret belongs to: saves SHA-256 on every request but the first. It never goes stale, since a
    /// secret belongs to one key for ever; whether that key is still valid is asked each time. Only secrets that
    /// exist get in, so strangers cannot fill it.
    verified: DashMap<[u8; ApiKey::LEN], KeyId, foldhash::fast::RandomState>,
}

/// A verdict, and whose it is.
type Taken<'a> = Result<(Verdict, &'a dyn Quotas), StoreError>;

/// What the gate says to a request.
type Admitted<'a> = ScopedReply<'a, Result<Admission<'a>, Refusal>>;

/// A key as a request presents it.
#[derive(Clone, Copy)]
enum Presented {
    /// Seen before.
    Verified(KeyId),
    /// Well-formed; whether it exists is not known yet.
    Unverified(ApiKey),
}

impl Gatekeeper {
    pub(crate) fn new(
        keys: Arc<dyn KeyReader>,
        quotas: Arc<dyn Quotas>,
        addresses: Arc<dyn AddressLimits>,
        on_quota_outage: OnQuotaOutage,
        deadlines: Deadlines,
        policy: Policy,
    ) -> Self {
        let plans = LivePlans::new(policy.plans);
        Self {
            keys,
            quotas,
            addresses,
            on_quota_outage,
            deadlines,
            plans,
            policy,
            bans: PendingBans::default(),
            verified: DashMap::default(),
        }
    }

    /// Whether this is the secret of a key, be it a living one or not.
    pub(crate) async fn knows(&self, secret: &ApiKey) -> Result<bool, StoreError> {
        let found = self.deadlines.reply(self.keys.credential(KeyLookup::Digest(digest::of_key(secret))));
        let found = found.await?;
        Ok(found.is_some())
    }

    pub(crate) fn limits(&self, plan: &Plan) -> Limits {
        self.plans.limits(plan)
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
        let ask = Ask {
            key: credential.key,
            account: credential.account,
            limits,
            cost: request.cost,
            in_flight_max: self.policy.in_flight_max,
            bans: self.policy.bans,
            recorded_ban: credential.recorded_ban,
            now: request.now,
        };
        let now = request.now;
        self.take(ask).map(move |taken| {
            let (verdict, quotas) = taken.map_err(Refusal::Store)?;
            match verdict {
                Verdict::Admitted(usage) => Ok(Admission {
                    now,
                    account: credential.account,
                    key: credential.key,
                    scopes: credential.scopes,
                    plan: credential.plan,
                    usage,
                    in_flight: InFlight::new(quotas, credential.account),
                }),
                Verdict::TooManyInFlight(usage) => {
                    Err(Refusal::TooManyInFlight { plan: credential.plan, usage })
                }
                Verdict::Banned { until, unrecorded } => {
                    if let Some(ban) = unrecorded {
                        self.bans.add(credential.key, ban);
                    }
                    Err(Refusal::Banned { plan: credential.plan, until, limits })
                }
                Verdict::Exceeded(usage) => Err(Refusal::Exceeded { plan: credential.plan, usage }),
            }
        })
    }

    /// Takes one request, from the quota store or, while that fails, from what stands in for it. Says which, since
    /// the request must leave where it entered.
    fn take(&self, ask: Ask) -> ScopedReply<'_, Taken<'_>> {
        self.deadlines.quota_reply(self.quotas.take(&ask)).and_then(move |taken| {
            match (taken, &self.on_quota_outage) {
                (Ok(verdict), _) => ScopedReply::now(Ok((verdict, &*self.quotas))),
                (Err(error), OnQuotaOutage::Refuse) => ScopedReply::now(Err(error)),
                (Err(_), OnQuotaOutage::CountWith(local)) => self
                    .deadlines
                    .quota_reply(local.take(&ask))
                    .map(move |taken| taken.map(|verdict| (verdict, &**local))),
            }
        })
    }

    fn refuse_key(&self, problem: KeyProblem, request: Request) -> Admitted<'_> {
        self.take_address(request.address, Cost::One, request.now).map(move |taken| {
            let address = taken.map_err(Refusal::Store)?;
            Err(Refusal::Key { problem, address })
        })
    }

    fn take_address(
        &self,
        address: IpAddr,
        cost: Cost,
        now: Timestamp,
    ) -> ScopedReply<'_, Result<AddressVerdict, StoreError>> {
        self.deadlines.quota_reply(self.addresses.take_address(address, self.policy.address_limit, cost, now))
    }
}

/// What the gate knows of a request besides its key.
#[derive(Clone, Copy)]
struct Request {
    address: IpAddr,
    cost: Cost,
    now: Timestamp,
}

impl Gate for Service {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn admit(&self, call: Call<'_>) -> Admitted<'_> {
        let Call { key, address, cost, now } = call;
        let (keeper, request) = (&self.gatekeeper, Request { address, cost, now });
        let Some(presented) = keeper.recognise(key) else {
            return keeper.refuse_key(KeyProblem::Invalid, request);
        };
        let name = match presented {
            Presented::Verified(id) => KeyLookup::Id(id),
            Presented::Unverified(secret) => KeyLookup::Digest(digest::of_key(&secret)),
        };
        let found = keeper.deadlines.reply(keeper.keys.credential(name));
        found.and_then(move |found| match found {
            Ok(Some(credential)) => keeper.judge(presented, credential, request),
            Ok(None) => keeper.refuse_key(KeyProblem::Invalid, request),
            Err(error) => ScopedReply::now(Err(Refusal::Store(error))),
        })
    }

    fn admit_address(
        &self,
        address: IpAddr,
        cost: Cost,
        now: Timestamp,
    ) -> ScopedReply<'_, Result<AddressVerdict, StoreError>> {
        self.gatekeeper.take_address(address, cost, now)
    }
}
