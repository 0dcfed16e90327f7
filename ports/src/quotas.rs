//! Quotas: the store takes one request from an account's windows and answers what is left.
//!
//! A decision cannot travel into every quota store, so here the parameters travel. The arithmetic is the domain's
//! ([`petstore_domain::Windows`], [`petstore_domain::BanPolicy`]); an adapter calls it or restates it, and the suite
//! of `petstore-tests` proves the two equal on random sequences.

use std::net::IpAddr;

use petstore_domain::{AccountId, BanPolicy, KeyId, Limit, Limits, Timestamp, Usage, WindowUsage};

use crate::{Reply, StoreError};

/// What a request costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Nothing: it is admitted whatever the windows say, and not counted.
    Nothing,
    /// One of each window.
    One,
}

/// One request that asks to be admitted.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// The key it came with. Bans are the key's.
    pub key: KeyId,
    /// The account that owns the key. Windows are the account's.
    pub account: AccountId,
    /// What the account's plan admits.
    pub limits: Limits,
    /// What the request costs.
    pub cost: Cost,
    /// The figures of the ban rule.
    pub bans: BanPolicy,
    /// The time of the request.
    pub now: Timestamp,
}

/// What became of a request that asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Admitted, and counted if it costs anything.
    Admitted(Usage),
    /// The key is banned, perhaps from this request on. Neither counted nor a strike.
    Banned {
        /// When the ban ends.
        until: Timestamp,
    },
    /// A window is exhausted. A strike.
    Exceeded(Usage),
}

/// What became of a request that came without a valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressVerdict {
    /// Whether the request is admitted. One that costs nothing always is.
    pub admitted: bool,
    /// What is left of its minute.
    pub usage: WindowUsage,
}

/// Counts requests.
///
/// An implementation must keep these:
/// - One atomic step checks, in this order, the key's ban, the day and the minute, and counts in both windows only if both
///   admit: exactly the limit is admitted, however many ask at once.
/// - A window's number never falls: a clock that steps back grants nothing.
/// - The strike after the last one allowed bans the key at once, and that request is the first to be refused by it.
///   The ban spends the strikes: a client that has waited for its end may be refused as often as before.
/// - A ban is part of the key's record ([`KeyRecord::ban`](petstore_domain::KeyRecord::ban)), whoever counts: one that
///   [`Administration::lift_ban`](crate::api::Administration::lift_ban) has ended there is over here, strikes included.
/// - Whether a request was counted is left open where its reply is dropped before it has answered.
///
/// Requests in flight are not counted here: each process counts its own, so that the count ends with it.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Quotas: Send + Sync {
    /// Takes one request from the windows of its account, if everything admits it.
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>>;

    /// Tells what is left of the windows of an account, and changes nothing.
    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>>;
}

/// Counts requests without a valid key by their peer address, in a table of fixed size.
///
/// A port of its own beside [`Quotas`]: the windows of accounts may be shared by all nodes, while addresses are counted by
/// each node in its own memory.
///
/// An implementation must keep these:
/// - Two addresses may share a count when the table is full; no address is ever admitted more than the limit.
/// - The addresses of one IPv6 /64 are one: a client that has one of them usually has all. An IPv4 address that is written
///   as IPv6 (`::ffff:192.0.2.1`, as a listener of both kinds is told it) is that IPv4 address.
/// - A window's number never falls.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait AddressLimits: Send + Sync {
    /// Takes one request from the minute of its address, if that admits it.
    fn take_address(
        &self,
        address: IpAddr,
        limit: Limit,
        cost: Cost,
        now: Timestamp,
    ) -> Reply<Result<AddressVerdict, StoreError>>;
}
