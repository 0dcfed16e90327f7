//! Quotas: one request from an account's windows, and what becomes of a key that keeps asking.

use std::net::IpAddr;

use petstore_domain::{AccountId, Limit, Limits, RecordRef, Timestamp, Usage};
use petstore_ports::{AddressLimits, AddressVerdict, Ask, Cost, Quotas, Reply, StoreError, Verdict};

use crate::meters::KeyMeter;
use crate::slab::slot;
use crate::store::MemoryStore;

impl MemoryStore {
    fn judge(&self, ask: &Ask) -> Result<Verdict, StoreError> {
        let (Some(account), Some(key)) = (slot(ask.account.get()), slot(ask.key.get())) else {
            return Err(StoreError::corrupt(format!(
                "there is no key {} of account {}",
                ask.key, ask.account
            )));
        };
        let meter = self.tables.keys.meters.of(key);
        Ok(match self.tables.accounts.take(account, ask, meter) {
            Verdict::Exceeded(usage) => self.strike(ask, key, meter, usage),
            verdict => verdict,
        })
    }

    /// A window has refused a request: counts it against the key, and bans the key if that was one too many.
    fn strike(&self, ask: &Ask, key: u32, meter: &KeyMeter, usage: Usage) -> Verdict {
        // A window is exhausted, so the binding one is the one that lifts last.
        let reset_secs = usage.binding().1.reset_secs;
        let allowed = ask.bans.strikes_allowed(ask.limits);
        if meter.strike(reset_secs, allowed, ask.now) {
            return Verdict::Exceeded(usage);
        }
        // The ban is written to the key's record: it is held like any other name that is written. Until it was ours,
        // another request may have banned the key, or an operator may have forgiven it.
        let _held = self.stripes.hold(&[RecordRef::Key(ask.key)]);
        if let Some(until) = meter.banned_until(ask.now) {
            return Verdict::Banned { until };
        }
        if meter.strike(reset_secs, allowed, ask.now) {
            return Verdict::Exceeded(usage);
        }
        let before = self.tables.keys.read(ask.key, |record| record.ban).flatten();
        let ban = ask.bans.next_ban(before, ask.now);
        self.tables.keys.ban(key, ask.key, ban);
        Verdict::Banned { until: ban.until }
    }
}

impl Quotas for MemoryStore {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        Reply::now(self.judge(ask))
    }

    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>> {
        let Some(slot) = slot(account.get()) else {
            return Reply::now(Err(StoreError::corrupt(format!("there is no account {account}"))));
        };
        Reply::now(Ok(self.tables.accounts.windows(slot).at(now).usage(limits)))
    }
}

impl AddressLimits for MemoryStore {
    fn take_address(
        &self,
        address: IpAddr,
        limit: Limit,
        cost: Cost,
        now: Timestamp,
    ) -> Reply<Result<AddressVerdict, StoreError>> {
        Reply::now(Ok(self.addresses.take(address, limit, cost, now)))
    }
}
