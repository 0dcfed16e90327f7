//! The gate in front of every operation.

use std::net::IpAddr;

use petstore_domain::{AccountId, KeyId, Scope, Timestamp};
use petstore_ports::api::{Admission, Call, Gate, InFlightCount, Refusal};
use petstore_ports::{AddressVerdict, Cost, ScopedReply, StoreError};

use crate::service::Service;

impl Gate for Service {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn admit(&self, call: Call<'_>) -> ScopedReply<'_, Result<Admission<'_>, Refusal>> {
        self.gatekeeper.admit(call)
    }

    fn is_valid(
        &self,
        key: KeyId,
        scope: Scope,
        now: Timestamp,
    ) -> ScopedReply<'_, Result<bool, StoreError>> {
        self.gatekeeper.is_valid(key, scope, now)
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

impl InFlightCount for Service {
    fn leave(&self, account: AccountId) {
        self.gatekeeper.in_flight().leave(account);
    }
}
