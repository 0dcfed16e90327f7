//! Filters of events: by kind, and by the account that reads.

use super::{EventKind, Happening};
use crate::AccountId;

/// A set of kinds of events; the empty set stands for any kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EventKinds(u32);

impl EventKinds {
    /// Any kind.
    pub const ANY: Self = Self(0);

    /// Adds a kind.
    pub fn add(&mut self, kind: EventKind) {
        self.0 |= Self::bit(kind);
    }

    /// The kinds of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds the kinds of a client's pattern: the name of a type, a resource with `.*` such as `order.*`, or `*`. If
    /// the pattern names no kind, adds nothing and returns `false`.
    #[must_use]
    pub fn add_pattern(&mut self, pattern: &str) -> bool {
        let mut named = Self::default();
        for kind in EventKind::ALL {
            let is_resource = pattern.strip_suffix(".*").is_some_and(|resource| resource == kind.resource());
            if is_resource || pattern == "*" || pattern == kind.as_str() {
                named.add(kind);
            }
        }
        self.0 |= named.0;
        named.0 != 0
    }

    /// Returns whether this kind is in the set, or the set stands for any.
    pub const fn admits(self, kind: EventKind) -> bool {
        self.0 == 0 || self.0 & Self::bit(kind) != 0
    }

    const fn bit(kind: EventKind) -> u32 {
        1 << kind as u32
    }
}

/// The events that a reader asks for and may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventFilter {
    /// The kinds.
    pub kinds: EventKinds,
    /// The account that reads; none for an operator, who sees all.
    pub account: Option<AccountId>,
}

impl EventFilter {
    /// All events.
    pub const ALL: Self = Self { kinds: EventKinds::ANY, account: None };

    /// Returns whether an event passes. A store may narrow its search with an index; this method decides.
    pub fn admits(&self, happening: &Happening) -> bool {
        self.kinds.admits(happening.kind()) && self.may_see(happening.private_to())
    }

    /// Returns whether the reader may see an event that is private to `owner`. An event without an owner is public.
    pub fn may_see(&self, owner: Option<AccountId>) -> bool {
        match (self.account, owner) {
            (Some(reader), Some(owner)) => reader == owner,
            (None, _) | (_, None) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(patterns: &[&str]) -> Vec<&'static str> {
        let mut kinds = EventKinds::ANY;
        for pattern in patterns {
            assert!(kinds.add_pattern(pattern), "{pattern}");
        }
        EventKind::ALL.into_iter().filter(|kind| kinds.admits(*kind)).map(EventKind::as_str).collect()
    }

    #[test]
    fn patterns_name_one_kind_those_of_a_resource_or_all() {
        assert_eq!(admitted(&[]).len(), EventKind::ALL.len());
        assert_eq!(admitted(&["*"]).len(), EventKind::ALL.len());
        assert_eq!(admitted(&["order.placed"]), ["order.placed"]);
        assert_eq!(admitted(&["key.*", "order.placed"]), ["order.placed", "key.banned", "key.unbanned"]);
        for unknown in ["", "order", "order.", ".*", "orders.*", "order.lost", "Order.placed", "**"] {
            assert!(!EventKinds::default().add_pattern(unknown), "{unknown}");
        }
    }
}
