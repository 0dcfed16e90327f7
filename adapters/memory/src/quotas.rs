//! Quotas: a request is counted in the windows of its account, or refused.

use std::net::IpAddr;

use petstore_domain::{AccountId, Limit, Limits, Timestamp, Usage};
use petstore_ports::{AddressLimits, AddressVerdict, Ask, Cost, Quotas, Reply, StoreError, Verdict};

use crate::slab::slot;
use crate::store::MemoryStore;

impl MemoryStore {
    fn decide(&self, ask: &Ask) -> Result<Verdict, StoreError> {
        let (Some(account), Some(key)) = (slot(ask.account.get()), slot(ask.key.get())) else {
            return Err(StoreError::corrupt(format!(
                "there is no key {} of account {}",
                ask.key, ask.account
            )));
        };
        let meter = self.tables.keys.meters.of(key);
        Ok(match self.tables.accounts.take(account, ask, meter) {
            Verdict::Exceeded(usage) => self.tables.keys.strike(meter, ask, usage),
            verdict => verdict,
        })
    }
}

impl Quotas for MemoryStore {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        Reply::now(self.decide(ask))
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
