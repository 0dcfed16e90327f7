use std::collections::BTreeSet;

use super::samples::stored_sample_by;
use super::*;
use crate::{Category, CategoryRecord, InventoryItem, Order, OrderRecord, Pet, PetRecord};

/// Reads values back in the order of the table, and checks that each is asked for by its own description.
struct Told<'r, R: 'static> {
    record: &'r R,
    entries: std::slice::Iter<'static, MemberOf<R>>,
}

impl<R> MemberSource for Told<'_, R> {
    type Fault = ValueError;

    fn take<T: ValueType>(&mut self, member: &Member) -> Result<T, ValueError> {
        let entry = self.entries.next().expect("a table has a line for each field");
        assert_eq!(entry.member, *member);
        T::of((entry.get)(self.record))
    }
}

fn check<R: Members + Clone + PartialEq + std::fmt::Debug>() {
    for of in Sample::ALL {
        let record: R = sample(of);
        let read = R::read(&mut Told { record: &record, entries: R::MEMBERS.iter() });
        assert_eq!(read.as_ref(), Ok(&record), "{of:?}");
    }
    let (least, fullest): (R, R) = (sample(Sample::Least), sample(Sample::Fullest));
    let mut changed = least.clone();
    for entry in R::MEMBERS {
        assert!(
            !(entry.is_same)(&least, &fullest),
            "{}: two samples differ in each member",
            entry.member.json
        );
        (entry.copy)(&mut changed, &fullest);
        assert!((entry.is_same)(&changed, &fullest));
        if !entry.member.is_optional {
            assert_eq!((entry.set)(&mut changed, Value::Absent), Err(ValueError::Absent));
        }
    }
    assert_eq!(changed, fullest);
    let previous = Previous::between(&least, &fullest);
    let told = R::MEMBERS.iter().filter(|entry| entry.member.change == MemberChange::Updated).count();
    assert_eq!((previous.changed().count(), previous.all().count()), (told, told));
    assert!(Previous::between(&least, &least).is_empty() && !previous.is_empty());
    let mut read = Previous::none(&fullest);
    for (place, _, old) in previous.all() {
        read.set(place, old.expect("it has changed")).expect("it is a value");
    }
    assert_eq!(read, previous, "old values that are set one by one");
    let json: BTreeSet<_> = R::MEMBERS.iter().map(|entry| entry.member.json).collect();
    assert_eq!(json.len(), R::MEMBERS.len(), "each name is used once");
    let forms = R::MEMBERS.iter().map(|entry| entry.member.since);
    assert!(forms.is_sorted(), "a new member is the last one, as older events end before it");
    for entry in R::MEMBERS.iter().filter(|entry| entry.member.since > 1) {
        assert!(entry.member.is_optional, "{}: absent in older events", entry.member.json);
    }
}

#[test]
fn each_table_has_the_members_of_its_struct() {
    check::<Pet>();
    check::<Category>();
    check::<Order>();
    check::<InventoryItem>();
}

#[test]
fn a_stored_record_has_its_resource_first() {
    fn check<R: StoredMembers>() {
        let record: R = stored_sample_by(|_| Sample::Fullest);
        let values: Vec<_> = (0..R::members().count()).map(|place| record.value_at(place)).collect();
        let shown = R::Resource::MEMBERS;
        let resource = shown.iter().map(|entry| (entry.get)(record.resource()));
        assert!(
            values.iter().copied().eq(resource.chain(R::BESIDE.iter().map(|entry| (entry.get)(&record))))
        );
        assert_eq!(record.value_at(values.len()), Value::Absent);
        let columns: Vec<_> = R::members().map(|member| member.column).collect();
        assert_eq!(R::COLUMNS, columns.join(", "));
    }
    check::<PetRecord>();
    check::<CategoryRecord>();
    check::<OrderRecord>();
}
