//! The values of the quota headers: one window, or what stands in for one.

use petstore_domain::{Usage, WindowKind, WindowUsage};
use petstore_ports::AddressVerdict;

/// What the quota headers of an answer say: one window, or what stands in for one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuotaNote {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    pub(crate) reset_secs: u64,
    pub(crate) resource: QuotaResource,
}

/// What a quota is of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum QuotaResource {
    Minute,
    Day,
    Address,
    Ban,
}

impl QuotaResource {
    /// As the header names it.
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

    /// The window that binds the account.
    pub(crate) const fn of_account(usage: &Usage) -> Self {
        match usage.binding() {
            (WindowKind::Minute, window) => Self::new(window, QuotaResource::Minute),
            (WindowKind::Day, window) => Self::new(window, QuotaResource::Day),
        }
    }

    /// As if a window were exhausted until then.
    pub(crate) const fn exhausted(usage: &Usage, kind: WindowKind, reset_secs: u64) -> Self {
        let (limit, resource) = match kind {
            WindowKind::Minute => (usage.minute.limit, QuotaResource::Minute),
            WindowKind::Day => (usage.day.limit, QuotaResource::Day),
        };
        Self { limit, remaining: 0, reset_secs, resource }
    }

    /// Nothing until then, whatever the minute has left of so many.
    pub(crate) const fn banned(minute_limit: u32, reset_secs: u64) -> Self {
        Self { limit: minute_limit, remaining: 0, reset_secs, resource: QuotaResource::Ban }
    }

    /// What is left to an address.
    pub(crate) const fn of_address(verdict: &AddressVerdict) -> Self {
        Self::new(verdict.usage, QuotaResource::Address)
    }
}
