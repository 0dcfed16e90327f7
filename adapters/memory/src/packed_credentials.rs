//! The credential fields of keys and accounts that every request reads, packed into atomics.
//!
//! A request reads these fields, and then the strikes of the key and the usage of the account. So the atomics are
//! stored beside the meters. Reading the fields from the records instead would take locks and further cache lines.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use petstore_domain::{Account, AccountId, KeyFault, KeyRecord, Limits, Plan, Scope, Scopes, Timestamp};
use petstore_ports::RecordedBan;

/// The packed fields of a key. They are empty if there is no such key.
pub(crate) struct PackedKey {
    /// The account; 0 before the fields were written for the first time. The account of a key never changes. This field
    /// is written last and read first, so a reader that finds an account also finds the other fields.
    account: AtomicU64,
    /// Expiry, scopes and revocation in one word, so that a reader never sees the values of different writes.
    word: AtomicU64,
    /// The end of the last ban in the key's record, in milliseconds since the epoch, or [`NONE`].
    banned_until: AtomicI64,
    /// The time of the last lift (the end of a ban by an operator) in the key's record, in the same form.
    ban_lifted_at: AtomicI64,
}

/// The value for no time. It is less than every timestamp.
const NONE: i64 = i64::MIN;

impl Default for PackedKey {
    fn default() -> Self {
        Self {
            account: AtomicU64::new(0),
            word: AtomicU64::new(0),
            banned_until: AtomicI64::new(NONE),
            ban_lifted_at: AtomicI64::new(NONE),
        }
    }
}

/// The fields of a key, unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyFields {
    pub(crate) account: AccountId,
    pub(crate) scopes: Scopes,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) revoked: bool,
    pub(crate) recorded_ban: RecordedBan,
}

impl KeyFields {
    /// Returns whether the key may be used for a scope at a time, as [`KeyRecord::grants`] says.
    pub(crate) fn grants(&self, scope: Scope, now: Timestamp) -> bool {
        let fault = KeyFault::of(self.revoked, self.expires_at, now);
        self.scopes.permits(scope) && fault.is_none() && !self.recorded_ban.in_force(now)
    }
}

/// The flags. They are in the bits of the word below the time of expiry.
const READ: u64 = 1;
const WRITE: u64 = 2;
const REVOKED: u64 = 4;
const WEBHOOKS: u64 = 8;
const FLAGS: u32 = 4;

/// The expiry of a key that does not expire: later than every timestamp.
const NEVER: i64 = i64::MAX >> FLAGS;

const _: () = assert!(Timestamp::MAX.as_millis() < NEVER && Timestamp::MIN.as_millis() > -NEVER);

impl PackedKey {
    /// Packs the fields of a record.
    pub(crate) fn set(&self, key: &KeyRecord) {
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        let flags = bit(key.scopes.read, READ)
            | bit(key.scopes.write, WRITE)
            | bit(key.scopes.webhooks, WEBHOOKS)
            | bit(key.revoked_at.is_some(), REVOKED);
        let expiry = key.valid_until().map_or(NEVER, Timestamp::as_millis);
        let RecordedBan { until, lifted_at } = RecordedBan::of(key);
        self.banned_until.store(until.map_or(NONE, Timestamp::as_millis), Ordering::Release);
        self.ban_lifted_at.store(lifted_at.map_or(NONE, Timestamp::as_millis), Ordering::Release);
        self.word.store(expiry.cast_unsigned() << FLAGS | flags, Ordering::Release);
        self.account.store(key.account.get(), Ordering::Release);
    }

    pub(crate) fn get(&self) -> Option<KeyFields> {
        let account = AccountId::new(self.account.load(Ordering::Acquire)).ok()?;
        let word = self.word.load(Ordering::Acquire);
        let is_set = |bit| word & bit != 0;
        let expiry = word.cast_signed() >> FLAGS;
        Some(KeyFields {
            account,
            scopes: Scopes { read: is_set(READ), write: is_set(WRITE), webhooks: is_set(WEBHOOKS) },
            expires_at: Timestamp::from_millis(expiry).ok(),
            revoked: is_set(REVOKED),
            recorded_ban: RecordedBan {
                until: time_in(&self.banned_until),
                lifted_at: time_in(&self.ban_lifted_at),
            },
        })
    }
}

/// The time that an atomic holds as milliseconds since 1970. None if it holds [`NONE`] or no valid time.
fn time_in(millis: &AtomicI64) -> Option<Timestamp> {
    let millis = millis.load(Ordering::Acquire);
    if millis == NONE { None } else { Timestamp::from_millis(millis).ok() }
}

/// The packed plan of an account. It is empty if there is no such account.
#[derive(Default)]
pub(crate) struct PackedPlan(AtomicU64);

const FREE: u64 = 1;
const PRO: u64 = 2;
const BUSINESS: u64 = 3;

impl PackedPlan {
    /// Packs the plan of a record.
    pub(crate) fn set(&self, account: &Account) {
        let word = match account.plan {
            Plan::Free => FREE,
            Plan::Pro => PRO,
            Plan::Business => BUSINESS,
            // The upper half of the word is not 0, so the word differs from those of the other plans.
            Plan::Enterprise(limits) => limits.to_word(),
        };
        self.0.store(word, Ordering::Release);
    }

    pub(crate) fn get(&self) -> Option<Plan> {
        match self.0.load(Ordering::Acquire) {
            FREE => Some(Plan::Free),
            PRO => Some(Plan::Pro),
            BUSINESS => Some(Plan::Business),
            word => Limits::from_word(word).map(Plan::Enterprise),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petstore_domain::{AccountName, ApiKey, Ban, KeyDigest, KeyId, KeyLabel, Limit};

    use super::*;

    #[test]
    fn the_unpacked_fields_of_a_key_are_those_of_its_record() {
        let packed = PackedKey::default();
        assert_eq!(packed.get(), None);
        let key = ApiKey::from_entropy([7; 32]);
        let mut record = KeyRecord {
            id: KeyId::FIRST,
            account: AccountId::new(u32::MAX.into()).unwrap(),
            digest: KeyDigest([7; 32]),
            prefix: key.display_prefix(),
            label: KeyLabel::parse("").unwrap(),
            scopes: Scopes::ALL,
            created_at: Timestamp::EPOCH,
            expires_at: None,
            replaced_until: None,
            revoked_at: None,
            ban: None,
            ban_lifted_at: None,
        };
        let instants = [-1, 0, 1].map(|millis| Timestamp::from_millis(millis).unwrap());
        let instants = instants.into_iter().chain([Timestamp::MIN, Timestamp::MAX]).map(Some);
        let choices = [false, true].into_iter().flat_map(|read| [false, true].map(|write| (read, write)));
        let choices =
            choices.flat_map(|(read, write)| [false, true].map(|webhooks| Scopes { read, write, webhooks }));
        for expires_at in instants.chain([None]) {
            for scopes in choices.clone() {
                for revoked_at in [None, Some(Timestamp::EPOCH)] {
                    record = KeyRecord { scopes, expires_at, revoked_at, ..record };
                    packed.set(&record);
                    let (account, revoked) = (record.account, revoked_at.is_some());
                    let scopes = record.scopes;
                    let recorded_ban = RecordedBan::default();
                    let expected = KeyFields { account, scopes, expires_at, revoked, recorded_ban };
                    assert_eq!(packed.get(), Some(expected));
                }
            }
        }
        for time in [Timestamp::MIN, Timestamp::EPOCH, Timestamp::MAX].map(Some).into_iter().chain([None]) {
            let ban = time.map(|until| Ban { since: Timestamp::MIN, until, length: Duration::ZERO });
            for (ban, ban_lifted_at) in [(ban, None), (None, time), (ban, time)] {
                record = KeyRecord { ban, ban_lifted_at, ..record };
                packed.set(&record);
                let expected = RecordedBan { until: ban.map(|ban| ban.until), lifted_at: ban_lifted_at };
                assert_eq!(packed.get().map(|fields| fields.recorded_ban), Some(expected));
            }
        }
    }

    #[test]
    fn the_unpacked_plan_of_an_account_is_that_of_its_record() {
        let word = PackedPlan::default();
        assert_eq!(word.get(), None);
        let name = AccountName::parse("zoo").unwrap();
        let mut account =
            Account { id: AccountId::FIRST, name, plan: Plan::Free, created_at: Timestamp::EPOCH };
        let limits = [1, 2, 3, Limit::MAX].map(|requests| Limit::new(requests).unwrap());
        let pairs = limits.into_iter().flat_map(|minute| limits.map(|day| Limits { minute, day }));
        let plans = [Plan::Free, Plan::Pro, Plan::Business].into_iter();
        for plan in plans.chain(pairs.map(Plan::Enterprise)) {
            account.plan = plan;
            word.set(&account);
            assert_eq!(word.get(), Some(plan));
        }
    }
}
