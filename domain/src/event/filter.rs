//! Filters of events: by kind, and by the account that reads.

use super::{EventKind, Happening};
use crate::AccountId;

/// A set of kinds of events; the empty set stands for any kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EventKinds(u32);

impl EventKinds {
    /// The set that admits every kind.
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

    /// Returns the kinds of these events. Without events, returns the set that stands for any kind.
    pub fn of(happenings: &[Happening]) -> Self {
        happenings.iter().fold(Self::ANY, |kinds, happening| kinds.or(Self(Self::bit(happening.kind()))))
    }

    /// One bit for each kind in the set. If the set stands for any kind, the bits of all kinds.
    pub const fn bits(self) -> u32 {
        if self.0 == 0 { ALL_BITS } else { self.0 }
    }

    /// Returns `true` if this kind is in the set, or if the set stands for any kind.
    pub const fn admits(self, kind: EventKind) -> bool {
        self.0 == 0 || self.0 & Self::bit(kind) != 0
    }

    const fn bit(kind: EventKind) -> u32 {
        1 << kind as u32
    }
}

/// The bits of all kinds.
const ALL_BITS: u32 = (1 << EventKind::ALL.len()) - 1;

/// The events that a reader asks for and may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventFilter {
    /// The kinds.
    pub kinds: EventKinds,
    /// The account that reads; none for an operator, who sees all.
    pub account: Option<AccountId>,
}

impl EventFilter {
    /// The filter that admits every event.
    pub const ALL: Self = Self { kinds: EventKinds::ANY, account: None };

    /// Returns whether an event passes. A store may narrow its search with an index; this method decides.
    pub fn admits(&self, happening: &Happening) -> bool {
        self.kinds.admits(happening.kind()) && self.may_see(happening.private_to())
    }

    /// Returns whether the reader may see an event that is private to `owner`. An event without an owner is public, and
    /// an operator sees every event.
    pub fn may_see(&self, owner: Option<AccountId>) -> bool {
        match (self.account, owner) {
            (Some(reader), Some(owner)) => reader == owner,
            (None, _) | (_, None) => true,
        }
    }
}

/// A summary of some events: their kinds, and the accounts to which private events belong. It is enough to decide if a
/// filter admits one of the events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventSummary {
    /// The bits of the kinds of all of the events.
    bits: u32,
    /// The bits of the kinds of the events that every account sees.
    public: u32,
    private: Vec<(EventKind, AccountId)>,
}

impl EventSummary {
    /// Adds events.
    pub fn add(&mut self, happenings: &[Happening]) {
        for happening in happenings {
            let kind = happening.kind();
            self.bits |= EventKinds::bit(kind);
            match happening.private_to() {
                None => self.public |= EventKinds::bit(kind),
                Some(owner) => self.private.push((kind, owner)),
            }
        }
    }

    /// Adds the events of another summary.
    pub fn extend(&mut self, other: Self) {
        self.bits |= other.bits;
        self.public |= other.public;
        self.private.extend(other.private);
    }

    /// One bit for each kind of the events, as in [`EventKinds::bits`].
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns whether at least one of the events passes the filter.
    pub fn has_one_for(&self, filter: &EventFilter) -> bool {
        let may_see = |(kind, owner): &(EventKind, AccountId)| {
            filter.kinds.admits(*kind) && filter.may_see(Some(*owner))
        };
        self.public & filter.kinds.bits() != 0 || self.private.iter().any(may_see)
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

    #[test]
    fn bits_of_any_kind_are_those_of_all_kinds() {
        let mut all = EventKinds::default();
        for kind in EventKind::ALL {
            all.add(kind);
        }
        assert_eq!(EventKinds::ANY.bits(), all.bits());
        assert_eq!(all.bits().count_ones(), 15);
    }

    #[test]
    fn a_summary_has_an_event_for_the_filters_that_let_one_pass() {
        let account = |number| AccountId::new(number).unwrap();
        let ban = |owner| {
            let label = crate::KeyLabel::parse("").unwrap();
            let until = crate::Timestamp::EPOCH;
            Happening::KeyBanned(crate::KeyBan { key: crate::KeyId::FIRST, account: owner, label, until })
        };
        let item = crate::InventoryItem {
            pet_id: crate::PetId::FIRST,
            quantity: 1,
            status: crate::PetStatus::Available,
        };
        let stock = Happening::InventoryUpdated { item, previous: crate::Previous::none(&item) };
        let happenings = [stock, ban(account(1)), ban(account(3))];
        let kinds = ["*", "inventory.*", "key.banned", "key.unbanned", "order.*"].map(|pattern| {
            let mut kinds = EventKinds::ANY;
            assert!(kinds.add_pattern(pattern));
            kinds
        });
        for taken in 0..1 << happenings.len() {
            let some = happenings.iter().enumerate().filter(|(index, _)| taken >> index & 1 == 1);
            let some: Vec<Happening> = some.map(|(_, happening)| happening.clone()).collect();
            let mut summary = EventSummary::default();
            for one in some.chunks(1) {
                let mut later = EventSummary::default();
                later.add(one);
                summary.extend(later);
            }
            assert_eq!(summary.bits(), if some.is_empty() { 0 } else { EventKinds::of(&some).bits() });
            for kinds in kinds.into_iter().chain([EventKinds::ANY]) {
                for account in [None, Some(account(1)), Some(account(2))] {
                    let filter = EventFilter { kinds, account };
                    let passes = some.iter().any(|happening| filter.admits(happening));
                    assert_eq!(summary.has_one_for(&filter), passes, "{some:?} {filter:?}");
                }
            }
        }
    }
}
