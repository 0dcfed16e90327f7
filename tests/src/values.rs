//! The longest, greatest and most unusual values that the domain admits: each is read back unchanged, by every
//! reader and by the operations.
//!
//! A store rarely changes a value on purpose. More often a column, a collation or a driver cannot hold the value: a
//! number is stored in a byte, a time in seconds, or a text in another character set.

mod members;
mod written;

use petstore_domain::{CategoryRecord, Changes, PetRecord, RecordRef, View};
use petstore_ports::{CategoryFilter, Credential, KeyLookup, PetFilter, SortDirection};

use crate::Subject;
use crate::listing::{Snapshot, walk};
use crate::probe::{Probe, Refused};

pub(crate) use members::write_changed_members;
pub(crate) use written::write_values;

/// Lists, single reads, look-ups by name and operations show each value unchanged.
pub async fn values_are_read_as_they_were_written(subject: &Subject) {
    let written = write_values(subject).await;
    check_lists(&subject.snapshot().await, &written);
    let seen = subject.run(look_at(&written)).await.expect("it only reads");
    assert_eq!(seen, written.first_of_each(), "an operation sees a record as it was written");
    check_single_reads(subject, &written).await;
    check_names(subject, &written).await;
}

/// Compares one kind of record at a time, because a message with all kinds would be too long to read.
pub(crate) fn check_lists(shown: &Snapshot, written: &Snapshot) {
    assert_eq!(shown.categories, written.categories, "categories are listed as they were written");
    assert_eq!(shown.pets, written.pets, "pets are listed as they were written");
    assert_eq!(shown.orders, written.orders, "orders are listed as they were written");
    assert_eq!(shown.accounts, written.accounts, "accounts are listed as they were written");
    assert_eq!(shown.keys, written.keys, "keys are listed as they were written");
}

async fn check_single_reads(subject: &Subject, written: &Snapshot) {
    for record in &written.categories {
        assert_eq!(subject.category(record.category.id).await.as_ref(), Some(record), "a category is read");
    }
    for record in &written.pets {
        assert_eq!(subject.pet(record.pet.id).await.as_ref(), Some(record), "a pet is read");
    }
    for record in &written.orders {
        assert_eq!(subject.order(record.order.id).await.as_ref(), Some(record), "an order is read");
    }
    for key in &written.keys {
        let account = written.accounts.iter().find(|one| one.id == key.account).expect("it has one");
        let found = subject.accounts.account_named(&account.name.folded()).await;
        assert_eq!(found.as_ref(), Ok(&Some(account.clone())), "an account is found by its name");
        let names = [KeyLookup::Id(key.id), KeyLookup::Digest(key.digest)];
        subject.shows(names, Credential::new(key, account)).await;
    }
}

/// A look-up by name finds exactly the records with that name.
async fn check_names(subject: &Subject, written: &Snapshot) {
    for name in written.categories.iter().map(|record| record.category.name.folded()) {
        let filter = CategoryFilter { name: Some(name.clone()) };
        let listed: Vec<CategoryRecord> = walk(subject, &filter, SortDirection::Ascending, 100).await;
        let mut expected = written.categories.clone();
        expected.retain(|record| name.matches(record.category.name.as_str()));
        assert_eq!(listed, expected, "categories are found by their name");

        let filter = PetFilter { name: Some(name.clone()), ..PetFilter::default() };
        let listed: Vec<PetRecord> = walk(subject, &filter, SortDirection::Ascending, 100).await;
        let mut expected = written.pets.clone();
        expected.retain(|record| name.matches(record.pet.name.as_str()));
        assert_eq!(listed, expected, "pets are found by their name");
    }
}

/// Reads some records of each kind in one step.
fn look_at(
    written: &Snapshot,
) -> impl petstore_domain::Operation<Output = Snapshot, Rejection = Refused> + Clone {
    let some = written.first_of_each();
    let mut names: Vec<RecordRef> = Vec::new();
    names.extend(some.categories.iter().map(|one| RecordRef::Category(one.category.id)));
    names.extend(some.pets.iter().map(|one| RecordRef::Pet(one.pet.id)));
    names.extend(some.orders.iter().map(|one| RecordRef::Order(one.order.id)));
    names.extend(some.accounts.iter().map(|one| RecordRef::Account(one.id)));
    names.extend(some.keys.iter().map(|one| RecordRef::Key(one.id)));
    Probe::new(names, move |view: &View| {
        let seen = Snapshot {
            categories: some
                .categories
                .iter()
                .filter_map(|one| view.category(one.category.id))
                .cloned()
                .collect(),
            pets: some.pets.iter().filter_map(|one| view.pet(one.pet.id)).cloned().collect(),
            orders: some.orders.iter().filter_map(|one| view.order(one.order.id)).cloned().collect(),
            accounts: some.accounts.iter().filter_map(|one| view.account(one.id)).cloned().collect(),
            keys: some.keys.iter().filter_map(|one| view.key(one.id)).cloned().collect(),
        };
        Ok((Changes::none(), seen))
    })
}

impl Snapshot {
    /// The first records of each kind, as many as an operation may plausibly read. Records with unusual values are
    /// among the first.
    fn first_of_each(&self) -> Self {
        const SOME: usize = 12;
        let mut some = self.clone();
        some.categories.truncate(SOME);
        some.pets.truncate(SOME);
        some.orders.truncate(SOME);
        some.accounts.truncate(SOME);
        some.keys.truncate(SOME);
        some
    }
}
