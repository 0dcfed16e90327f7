//! Ids that a batch has drawn for new records.

use std::collections::VecDeque;

use petstore_domain::{Change, IdKind, View};
use petstore_ports::StoreError;

/// The statement that draws as many ids of a kind as its parameter says, in rising order.
pub(super) const fn sql(kind: IdKind) -> &'static str {
    match kind {
        IdKind::Pet => "select nextval('pet_ids') from generate_series(1, $1::int4)",
        IdKind::Category => "select nextval('category_ids') from generate_series(1, $1::int4)",
        IdKind::Order => "select nextval('order_ids') from generate_series(1, $1::int4)",
        IdKind::Account => "select nextval('account_ids') from generate_series(1, $1::int4)",
        IdKind::Key => "select nextval('key_ids') from generate_series(1, $1::int4)",
    }
}

/// Loads an id as the next one of its kind.
pub(super) fn load(kind: IdKind, view: &mut View, id: u64) -> Result<(), StoreError> {
    kind.load(view, id)
        .map_err(|error| StoreError::corrupt("a sequence of ids is damaged").with_source(error))
}

/// The ids that are left to a batch, in rising order for each kind.
#[derive(Debug, Default)]
pub(super) struct NextIds([VecDeque<u64>; IdKind::ALL.len()]);

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
        for kind in IdKind::ALL.iter().copied() {
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
        load(IdKind::Order, &mut view, ids.take(IdKind::Order).unwrap()).unwrap();
        ids.take_back(&view, &View::default(), &[]);
        assert_eq!(ids.take(IdKind::Order), Some(7));
        assert_eq!(ids.take(IdKind::Order), Some(8));
        assert_eq!(ids.take(IdKind::Order), None);
    }

    #[test]
    fn an_id_that_a_transition_drew_for_itself_is_not_taken_back() {
        let (mut ids, mut view) = (NextIds::default(), View::default());
        load(IdKind::Account, &mut view, 7).unwrap();
        ids.take_back(&view, &view, &[]);
        assert_eq!(ids.take(IdKind::Account), None);
    }
}
