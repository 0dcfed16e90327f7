//! The old values of members that a change has replaced.

use super::{Member, MemberChange, MemberOf, Members, Value, ValueError};

/// The maximum number of members of a record. A bit for each tells which have changed.
const MEMBERS_MAX: usize = u32::BITS as usize;

/// The old values of the members of a record that changed, except those whose change has an event of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Previous<R> {
    /// The record with the old values, and the present values of all other members.
    record: R,
    changed: u32,
}

impl<R: Members + Clone> Previous<R> {
    /// Returns no old values of this record.
    pub fn none(after: &R) -> Self {
        const { assert!(R::MEMBERS.len() <= MEMBERS_MAX, "a bit for each member") };
        Self { record: after.clone(), changed: 0 }
    }

    /// Returns the old values of the members that differ.
    pub fn between(before: &R, after: &R) -> Self {
        let mut previous = Self::none(after);
        for (place, entry) in told() {
            if !(entry.is_same)(before, after) {
                (entry.copy)(&mut previous.record, before);
                previous.changed |= 1 << place;
            }
        }
        previous
    }

    /// Sets the old value of the member at this place of the table, as a codec has read it.
    pub fn set(&mut self, place: usize, old: Value<'_>) -> Result<(), ValueError> {
        let entry = R::MEMBERS.get(place).ok_or(ValueError::OtherKind)?;
        (entry.set)(&mut self.record, old)?;
        self.changed |= 1 << place;
        Ok(())
    }

    /// Returns whether no member has changed.
    pub const fn is_empty(&self) -> bool {
        self.changed == 0
    }

    /// The record before the change, apart from members whose change has an event of its own.
    pub const fn record(&self) -> &R {
        &self.record
    }

    /// All members that an event of the kind `updated` tells, with their places and their old values. A member that has
    /// not changed has none.
    pub fn all(&self) -> impl Iterator<Item = (usize, &'static Member, Option<Value<'_>>)> {
        told().map(|(place, entry)| {
            let is_changed = self.changed & 1 << place != 0;
            (place, &entry.member, is_changed.then(|| (entry.get)(&self.record)))
        })
    }

    /// The members that have changed, with their old values.
    pub fn changed(&self) -> impl Iterator<Item = (&'static Member, Value<'_>)> {
        self.all().filter_map(|(_, member, old)| Some((member, old?)))
    }
}

/// The members that an event of the kind `updated` tells, with their places.
fn told<R: Members>() -> impl Iterator<Item = (usize, &'static MemberOf<R>)> {
    let all = R::MEMBERS.iter().enumerate();
    all.filter(|(_, entry)| entry.member.change == MemberChange::Updated)
}
