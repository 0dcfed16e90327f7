//! Ids that a batch has drawn for new records.

use std::collections::VecDeque;

use petstore_domain::{AccountId, CategoryId, Change, KeyId, OrderId, PetId, RecordRef, View};
use petstore_ports::StoreError;

/// A kind of record with a separate sequence of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdKind {
    Pet,
    Category,
    Order,
    Account,
    Key,
}

impl IdKind {
    pub(super) const ALL: [Self; 5] = [Self::Pet, Self::Category, Self::Order, Self::Account, Self::Key];

    /// The kind that a reference to a next id names.
    pub(super) fn of(reference: &RecordRef) -> Option<Self> {
        match reference {
            RecordRef::NextPet => Some(Self::Pet),
            RecordRef::NextCategory => Some(Self::Category),
            RecordRef::NextOrder => Some(Self::Order),
            RecordRef::NextAccount => Some(Self::Account),
            RecordRef::NextKey => Some(Self::Key),
            _ => None,
        }
    }

    /// The reference to the next id of the kind.
    pub(super) fn reference(self) -> RecordRef {
        match self {
            Self::Pet => RecordRef::NextPet,
            Self::Category => RecordRef::NextCategory,
            Self::Order => RecordRef::NextOrder,
            Self::Account => RecordRef::NextAccount,
            Self::Key => RecordRef::NextKey,
        }
    }

    /// The statement that draws as many ids as its parameter says, in rising order.
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Pet => "select nextval('pet_ids') from generate_series(1, $1::int4)",
            Self::Category => "select nextval('category_ids') from generate_series(1, $1::int4)",
            Self::Order => "select nextval('order_ids') from generate_series(1, $1::int4)",
            Self::Account => "select nextval('account_ids') from generate_series(1, $1::int4)",
            Self::Key => "select nextval('key_ids') from generate_series(1, $1::int4)",
        }
    }

    /// The id that a view holds as the next one of the kind.
    pub(super) fn held(self, view: &View) -> Option<u64> {
        view.holds(&self.reference()).then(|| match self {
            Self::Pet => view.next_pet().get(),
            Self::Category => view.next_category().get(),
            Self::Order => view.next_order().get(),
            Self::Account => view.next_account().get(),
            Self::Key => view.next_key().get(),
        })
    }

    /// Loads an id as the next one of the kind.
    pub(super) fn load(self, view: &mut View, id: u64) -> Result<(), StoreError> {
        let result = match self {
            Self::Pet => PetId::new(id).map(|id| view.load_next_pet(id)),
            Self::Category => CategoryId::new(id).map(|id| view.load_next_category(id)),
            Self::Order => OrderId::new(id).map(|id| view.load_next_order(id)),
            Self::Account => AccountId::new(id).map(|id| view.load_next_account(id)),
            Self::Key => KeyId::new(id).map(|id| view.load_next_key(id)),
        };
        result.map_err(|error| StoreError::corrupt("a sequence of ids is damaged").with_source(error))
    }

    /// The id of the record that a change writes, if it is of the kind.
    fn written(self, change: &Change) -> Option<u64> {
        match (self, change) {
            (Self::Pet, Change::Pet(record)) => Some(record.pet.id.get()),
            (Self::Category, Change::Category(record)) => Some(record.category.id.get()),
            (Self::Order, Change::Order(record)) => Some(record.order.id.get()),
            (Self::Account, Change::Account(record)) => Some(record.id.get()),
            (Self::Key, Change::Key(record)) => Some(record.id.get()),
            _ => None,
        }
    }
}

/// The ids that are left to a batch, in rising order for each kind.
#[derive(Debug, Default)]
pub(super) struct NextIds([VecDeque<u64>; 5]);

impl NextIds {
    /// Adds drawn ids. They are higher than those that were added before.
    pub(super) fn add(&mut self, kind: IdKind, drawn: impl IntoIterator<Item = u64>) {
        self.0[kind as usize].extend(drawn);
    }

    /// Takes the lowest id.
    pub(super) fn take(&mut self, kind: IdKind) -> Option<u64> {
        self.0[kind as usize].pop_front()
    }

    /// Takes back the ids in a view that the decision has not used. A later transition of the same batch gets them. A
    /// later batch must not: one of its transitions may have been sent after another handle had answered a create with
    /// a higher id, and ids must rise.
    pub(super) fn take_back(&mut self, view: &View, own: &View, changes: &[Change]) {
        for kind in IdKind::ALL {
            let Some(id) = kind.held(view).filter(|_| kind.held(own).is_none()) else { continue };
            if !changes.iter().any(|change| kind.written(change) == Some(id)) {
                self.0[kind as usize].push_front(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_was_not_used_goes_to_the_next_transition() {
        let mut ids = NextIds::default();
        ids.add(IdKind::Order, [7, 8]);
        let mut view = View::default();
        IdKind::Order.load(&mut view, ids.take(IdKind::Order).unwrap()).unwrap();
        ids.take_back(&view, &View::default(), &[]);
        assert_eq!(ids.take(IdKind::Order), Some(7));
        assert_eq!(ids.take(IdKind::Order), Some(8));
        assert_eq!(ids.take(IdKind::Order), None);
    }

    #[test]
    fn an_id_that_a_transition_drew_for_itself_is_not_taken_back() {
        let (mut ids, mut view) = (NextIds::default(), View::default());
        IdKind::Account.load(&mut view, 7).unwrap();
        ids.take_back(&view, &view, &[]);
        assert_eq!(ids.take(IdKind::Account), None);
    }
}
