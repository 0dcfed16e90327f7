//! The values of the quota headers.

use petstore_domain::{Usage, WindowKind, WindowUsage};
use petstore_ports::AddressVerdict;

/// The values of the quota headers. They describe one window, or the ban of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuotaNote {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    pub(crate) reset_secs: u64,
    pub(crate) resource: QuotaResource,
}

/// The subject of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotaResource {
    Minute,
    Day,
    Address,
    Ban,
}

impl QuotaResource {
    /// Returns the value of `X-RateLimit-Resource`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Day => "day",
            Self::Address => "address",
            Self::Ban => "ban",
        }
    }
}

impl QuotaNote {
    const fn new(usage: WindowUsage, resource: QuotaResource) -> Self {
        let WindowUsage { limit, remaining, reset_secs } = usage;
        Self { limit, remaining, reset_secs, resource }
    }

    /// The binding window of an account.
    pub(crate) const fn of_account(usage: &Usage) -> Self {
        match usage.binding() {
            (WindowKind::Minute, window) => Self::new(window, QuotaResource::Minute),
            (WindowKind::Day, window) => Self::new(window, QuotaResource::Day),
        }
    }

    /// A window that is shown as exhausted until `reset_secs`, for a planned failure.
    pub(crate) const fn exhausted(usage: &Usage, kind: WindowKind, reset_secs: u64) -> Self {
        let (limit, resource) = match kind {
            WindowKind::Minute => (usage.minute.limit, QuotaResource::Minute),
            WindowKind::Day => (usage.day.limit, QuotaResource::Day),
        };
        Self { limit, remaining: 0, reset_secs, resource }
    }

    /// The quota of a banned key: no request is left until `reset_secs`.
    pub(crate) const fn banned(minute_limit: u32, reset_secs: u64) -> Self {
        Self { limit: minute_limit, remaining: 0, reset_secs, resource: QuotaResource::Ban }
    }

    /// The quota of an address.
    pub(crate) const fn of_address(verdict: &AddressVerdict) -> Self {
        Self::new(verdict.usage, QuotaResource::Address)
    }
}
