//! Quotas: the quota store counts one request in an account's windows and returns the quota that is left.
//!
//! Not every quota store can run an operation of the domain, so a request carries the parameters of the rule. The
//! domain defines the arithmetic ([`petstore_domain::Windows`], [`petstore_domain::BanPolicy`]). An adapter calls it
//! or implements it again; the suite of `petstore-tests` compares the adapter with the domain on random sequences.

use std::net::IpAddr;

use petstore_domain::{
    AccountId, Ban, BanPolicy, KeyId, Limit, Limits, Timestamp, Usage, WindowKind, WindowUsage,
};

use crate::{RecordedBan, Reply, StoreError};

/// The cost of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// No cost: the windows neither refuse the request nor count it.
    Nothing,
    /// The cost of one request in each window.
    One,
    /// All that is left of a window, for a test. The windows do not refuse the request.
    Rest(WindowKind),
}

/// A request that is to be admitted.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// The key of the request. A ban applies to a key.
    pub key: KeyId,
    /// The account that owns the key and has the windows.
    pub account: AccountId,
    /// The limits of the account's plan.
    pub limits: Limits,
    /// The number of requests that this one counts as.
    pub cost: Cost,
    /// The parameters of the ban rule.
    pub bans: BanPolicy,
    /// The ban in the key's record. It is passed here because the keys may be in another store than the quotas.
    pub recorded_ban: RecordedBan,
    /// The time of the request.
    pub now: Timestamp,
}

/// The decision on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The request is admitted, and counted if it has a cost.
    Admitted(Usage),
    /// The key is banned; the ban may begin with this request. The request is not counted, and is no strike.
    Banned {
        /// The end of the ban.
        until: Timestamp,
        /// The ban, if the key's record does not have it yet. The caller must record it with
        /// [`BanKey`](petstore_domain::BanKey).
        unrecorded: Option<Ban>,
    },
    /// A window is exhausted. The request is a strike.
    Exceeded(Usage),
}

/// The decision on a request without a valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressVerdict {
    /// `true` if the request is admitted. A request without a cost always is.
    pub admitted: bool,
    /// The usage of the address in this minute.
    pub usage: WindowUsage,
}

/// Counts requests.
///
/// An implementation guarantees:
/// - One atomic step checks the key's ban, the day window and the minute window, in this order. It counts the request
///   in both windows only if both admit it. So exactly the limit is admitted, for any number of concurrent requests.
/// - A window is never replaced by an earlier one, so a clock that steps back does not grant requests.
/// - The strike after the last allowed one bans the key. The request that caused this strike is already refused because
///   of the ban. A ban clears the strikes: after the ban ends, the count starts at zero.
/// - A ban that [`Quotas::take`] has decided is in force at once on this handle, even if recording it fails. Verdicts
///   return the ban as unrecorded ([`Verdict::Banned`]) until [`Ask::recorded_ban`] contains it.
/// - A ban in [`Ask::recorded_ban`] is in force, even if another handle has decided it. A ban that began at or before
///   [`RecordedBan::lifted_at`] is over. The first request with a new `lifted_at` clears the strikes.
/// - If a reply of [`Quotas::take`] is dropped before it is ready, the windows may or may not have counted the request.
///
/// Requests in flight are not counted here. Each process counts its own in memory, so that the counts end with the
/// process.
///
/// Quotas of one process, without bans:
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
/// use petstore_domain::{AccountId, Limits, Timestamp, Usage, Windows};
/// use petstore_ports::{Ask, Cost, Quotas, Reply, StoreError, Verdict};
///
/// #[derive(Default)]
/// struct LocalQuotas(Mutex<HashMap<AccountId, Windows>>);
///
/// impl Quotas for LocalQuotas {
///     fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
///         let mut accounts = self.0.lock().unwrap();
///         let windows = accounts.entry(ask.account).or_default();
///         if let Some(until) = ask.recorded_ban.until.filter(|until| *until > ask.now) {
///             return Reply::now(Ok(Verdict::Banned { until, unrecorded: None }));
///         }
///         if ask.cost == Cost::One {
///             let Some(counted) = windows.take(ask.now, ask.limits) else {
///                 return Reply::now(Ok(Verdict::Exceeded(windows.at(ask.now).usage(ask.limits))));
///             };
///             *windows = counted;
///         }
///         Reply::now(Ok(Verdict::Admitted(windows.at(ask.now).usage(ask.limits))))
///     }
///
///     fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>> {
///         let windows = self.0.lock().unwrap().get(&account).copied().unwrap_or_default();
///         Reply::now(Ok(windows.at(now).usage(limits)))
///     }
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Quotas: Send + Sync {
    /// Counts one request in the windows of its account, unless a check refuses it.
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>>;

    /// Returns what is left of the windows of an account, and changes nothing.
    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>>;
}

/// Counts requests without a valid key by their peer address, in a table of fixed size.
///
/// It is separate from [`Quotas`]: all nodes may share the windows of accounts, while each node counts addresses in its own
/// memory.
///
/// An implementation guarantees:
/// - Two addresses may share a count when the table is full; no address gets more requests than the limit.
/// - All addresses of an IPv6 /64 share one count: a client that has one of them usually has all. An IPv4-mapped IPv6
///   address (`::ffff:192.0.2.1`) counts as that IPv4 address.
/// - A window is never replaced by an earlier one.
///
/// A table of 1,024 counts, where two addresses share one if they have the same hash:
///
/// ```
/// use std::hash::{BuildHasher, RandomState};
/// use std::net::IpAddr;
/// use std::sync::Mutex;
/// use petstore_domain::{Limit, Timestamp, Window, WindowKind};
/// use petstore_ports::{AddressLimits, AddressVerdict, Cost, Reply, StoreError};
///
/// struct LocalAddresses {
///     counts: Mutex<[Window; 1_024]>,
///     hash: RandomState,
/// }
///
/// impl LocalAddresses {
///     fn slot(&self, address: IpAddr) -> usize {
///         let network = match address.to_canonical() {
///             IpAddr::V4(address) => u64::from(address.to_bits()),
///             IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
///         };
///         (self.hash.hash_one(network) % 1_024) as usize
///     }
/// }
///
/// impl AddressLimits for LocalAddresses {
///     fn take_address(
///         &self,
///         address: IpAddr,
///         limit: Limit,
///         cost: Cost,
///         now: Timestamp,
///     ) -> Reply<Result<AddressVerdict, StoreError>> {
///         let mut counts = self.counts.lock().unwrap();
///         let count = &mut counts[self.slot(address)];
///         let window = count.at(WindowKind::Minute.number_at(now));
///         let taken = match cost {
///             Cost::Nothing | Cost::Rest(_) => Some(window),
///             Cost::One => window.take(limit),
///         };
///         *count = taken.unwrap_or(window);
///         let usage = count.usage(WindowKind::Minute, limit);
///         Reply::now(Ok(AddressVerdict { admitted: taken.is_some(), usage }))
///     }
/// }
///
/// # let addresses = LocalAddresses { counts: Mutex::new([Window::default(); 1_024]), hash: RandomState::new() };
/// # let ask = |address: &str| {
/// #     let limit = Limit::new(1).unwrap();
/// #     let reply = addresses.take_address(address.parse().unwrap(), limit, Cost::One, Timestamp::EPOCH);
/// #     reply.ready().unwrap().as_ref().unwrap().admitted
/// # };
/// // With a limit of one request:
/// assert!(ask("2001:db8::1"));
/// assert!(!ask("2001:db8::2"));
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait AddressLimits: Send + Sync {
    /// Counts one request in the minute window of its address, unless the limit is reached.
    fn take_address(
        &self,
        address: IpAddr,
        limit: Limit,
        cost: Cost,
        now: Timestamp,
    ) -> Reply<Result<AddressVerdict, StoreError>>;
}
