//! Decisions hold at one moment, even if they rest on absent records. Damaged rows fail only the transitions that read
//! them. Errors do not quote rows.

use petstore_domain::{
    CategoryId, CategoryName, Change, Changes, CreateCategory, Footprint, NewCategory, Operation, PetId,
    Precondition, RecordRef, SetStock, StockLevel, View,
};
use petstore_ports::StoreErrorKind;

use crate::shop::{Shop, block_on, order};

/// Reads a pet and its category, and returns whether the pet exists and the number of pets in the category.
#[derive(Clone, Copy)]
struct Look {
    pet: PetId,
    category: CategoryId,
    /// True if the transition also changes the category's version.
    writes: bool,
}

impl Operation for Look {
    type Output = (bool, u64);
    type Rejection = (bool, u64);

    fn footprint(&self, _seen: &View) -> Footprint {
        Footprint::from([RecordRef::Pet(self.pet), RecordRef::Category(self.category)])
    }

    fn decide(&self, view: &View) -> Result<(Changes, Self::Output), Self::Rejection> {
        let category = view.category(self.category);
        let seen = (view.pet(self.pet).is_some(), category.map_or(0, |record| record.pets));
        match category.filter(|_| self.writes) {
            Some(record) => {
                let mut after = record.clone();
                after.version = after.version.next();
                Ok((Changes::from([Change::Category(after)]), seen))
            }
            None => Err(seen),
        }
    }
}

/// Runs the transition while another connection creates the pet: the transition first reads that the pet is absent, and
/// then waits for the category. It must see both changes or neither.
#[track_caller]
fn sees_both_or_neither(writes: bool) {
    let Some(shop) = Shop::new() else { return };
    block_on(shop.add_pet(1));
    let create = format!(
        "set search_path = {}; begin; update categories set pets = 2;
         insert into pets values (77, 'Max', 'max', 1, 'available', 1, 1, 1, 0); select pg_sleep(0.3); commit",
        shop.schema
    );
    std::thread::scope(|scope| {
        scope.spawn(|| shop.server.sql(&create));
        let sleeps = format!(
            "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and query like '%{};%'",
            shop.schema
        );
        while shop.server.sql(&sleeps) == "0" {}
        let look = Look { pet: PetId::new(77).unwrap(), category: CategoryId::FIRST, writes };
        let seen = block_on(shop.run(look)).expect("the store is sound");
        assert_eq!(seen, if writes { Ok((true, 2)) } else { Err((true, 2)) });
    });
}

#[test]
fn a_rejection_on_an_absent_record_holds_at_one_moment() {
    sees_both_or_neither(false);
}

#[test]
fn a_change_on_an_absent_record_holds_at_one_moment() {
    sees_both_or_neither(true);
}

#[test]
fn a_damaged_row_fails_the_transitions_alone_that_read_it() {
    let Some(shop) = Shop::new() else { return };
    let (damaged, sound) = block_on(async { (shop.add_pet(10).await, shop.add_pet(10).await) });
    // A name with a control character is damage.
    shop.sql(&format!("update pets set name = chr(7) || 'Rex' where id = {damaged}"));
    let answers = block_on(shop.together([order(sound, 1), order(damaged, 1), order(sound, 1)]));
    let kinds: Vec<_> =
        answers.into_iter().map(|answer| answer.map(drop).map_err(|error| error.kind())).collect();
    assert_eq!(kinds, [Ok(()), Err(StoreErrorKind::Corrupt), Ok(())]);
    let level = StockLevel::new(3).unwrap();
    let set = SetStock { id: sound, level, precondition: Precondition::None };
    block_on(shop.run(set)).expect("the store is sound").expect("the pet is there");
}

#[test]
fn an_error_does_not_quote_the_row_that_the_server_refuses() {
    let Some(shop) = Shop::new() else { return };
    shop.sql("alter table categories add constraint foreign_rule check (name <> 'Confidential') not valid");
    let new = NewCategory::new(CategoryName::parse("Confidential").unwrap());
    let error = block_on(shop.run(CreateCategory { new })).expect_err("the server refuses the row");
    let (report, debug) = (error.report(), format!("{error:?}"));
    assert!(report.contains("foreign_rule"), "{report}");
    assert!(!report.contains("Confidential") && !debug.contains("Confidential"), "{report} {debug}");
}
