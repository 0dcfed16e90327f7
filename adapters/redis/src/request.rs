//! Requests to the script, and groups of equal requests.

use petstore_domain::{AccountId, BanPolicy, KeyId, Limits, Timestamp, WindowKind};
use petstore_ports::{Ask, Cost, RecordedBan};

/// The part of a request that decides whether and how it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Counted in both windows, unless the key is banned or a window is exhausted.
    Counted,
    /// Admitted unless the key is banned, and not counted.
    Free,
    /// Admitted unless the key is banned, and counted as all that is left of a window.
    Rest(WindowKind),
    /// A look at the usage, which neither a ban nor a window refuses.
    Look,
}

/// The policy of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) limits: Limits,
    pub(crate) bans: BanPolicy,
}

/// One request to the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) account: AccountId,
    pub(crate) key: KeyId,
    pub(crate) kind: Kind,
    pub(crate) policy: Policy,
    pub(crate) recorded_ban: RecordedBan,
    /// The time by Redis's clock.
    pub(crate) now: Timestamp,
    /// `true` if the node's clock agrees with Redis's.
    pub(crate) is_confirmed: bool,
}

impl Request {
    /// A request that is to be admitted.
    pub(crate) fn take(ask: &Ask, now: Timestamp, is_confirmed: bool) -> Self {
        Self {
            account: ask.account,
            key: ask.key,
            kind: match ask.cost {
                Cost::One => Kind::Counted,
                Cost::Nothing => Kind::Free,
                Cost::Rest(window) => Kind::Rest(window),
            },
            policy: Policy { limits: ask.limits, bans: ask.bans },
            recorded_ban: ask.recorded_ban,
            now,
            is_confirmed,
        }
    }

    /// A look at the usage of an account.
    pub(crate) fn look(account: AccountId, limits: Limits, now: Timestamp, is_confirmed: bool) -> Self {
        Self {
            account,
            // The script reads the windows of the account only.
            key: KeyId::FIRST,
            kind: Kind::Look,
            policy: Policy { limits, bans: BanPolicy::DEFAULT },
            recorded_ban: RecordedBan::default(),
            now,
            is_confirmed,
        }
    }

    /// The order in which a batch is sent: the requests of an account together, and equal ones beside each other.
    pub(crate) fn order(&self) -> impl Ord + use<> {
        (self.account, self.key, self.now, self.kind, self.is_confirmed)
    }
}

/// A number of equal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) request: Request,
    pub(crate) count: u16,
}

/// Merges equal requests that stand beside each other.
pub(crate) fn merged(requests: impl Iterator<Item = Request>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for request in requests {
        match groups.last_mut() {
            Some(last) if last.request == request && last.count < u16::MAX => last.count += 1,
            _ => groups.push(Group { request, count: 1 }),
        }
    }
    groups
}
