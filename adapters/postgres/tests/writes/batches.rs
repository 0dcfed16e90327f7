//! Batches of which a part fails, and conflicts.

use petstore_domain::{CreateCategoryRejection, PetId, PlaceOrderRejection};
use petstore_ports::StoreErrorKind;

use crate::shop::{Shop, block_on, create_category, order};

#[test]
fn a_statement_that_the_server_refuses_fails_its_transition_alone() {
    // The exception of a trigger that is not ours can be removed by an operator, and is no damage.
    for (state, kind) in [("P0001", StoreErrorKind::Unavailable), ("22023", StoreErrorKind::Corrupt)] {
        let Some(shop) = Shop::new() else { return };
        let pet = block_on(shop.add_pet(100));
        shop.sql(&format!(
            "create function refuse() returns trigger language plpgsql as $$ begin
                 raise exception 'planted' using errcode = '{state}'; end $$;
             create trigger refuse before insert on orders for each row when (new.quantity = 7)
                 execute function refuse()"
        ));
        let answers = block_on(shop.together((1..=10).map(|units| order(pet, units))));
        for (units, answer) in (1..).zip(answers) {
            match answer {
                Err(error) => assert_eq!((units, error.kind()), (7, kind), "{}", error.report()),
                Ok(order) => assert_ne!(order.map(|_| units), Ok(7)),
            }
        }
        assert_eq!(shop.orders_and_stock(), (9, 100 - 48));
        let events = shop.sql("select sum(events) from event_batches");
        // One event each for the category, the pet and its stock, and two for each order.
        assert_eq!(events, (3 + 9 * 2).to_string(), "a failed batch leaves no event");
    }
}

#[test]
fn transactions_that_the_server_undoes_are_run_again() {
    for state in ["40001", "40P01", "55P03"] {
        let Some(shop) = Shop::new() else { return };
        let pet = block_on(shop.add_pet(100));
        shop.sql(&format!(
            "create sequence undone;
             create function undo() returns trigger language plpgsql as $$ begin
                 if nextval('{schema}.undone') <= 3 then raise exception 'planted' using errcode = '{state}'; end if;
                 return null; end $$;
             create trigger undo before insert on orders for each statement execute function undo()",
            schema = shop.schema
        ));
        for answer in block_on(shop.together((0..20).map(|_| order(pet, 1)))) {
            answer.expect("it is run again").expect("units are left");
        }
        assert_eq!(shop.orders_and_stock(), (20, 80), "{state}");
    }
}

#[test]
fn a_transition_that_never_gets_through_is_refused_after_a_bounded_number_of_attempts() {
    let Some(shop) = Shop::new() else { return };
    let pet = block_on(shop.add_pet(100));
    shop.sql(
        "create sequence attempts;
         create function undo() returns trigger language plpgsql as $$ begin
             perform nextval(tg_argv[0]); raise exception 'planted' using errcode = '40001'; end $$",
    );
    shop.sql(&format!(
        "create trigger undo before insert on orders for each statement execute function undo('{}.attempts')",
        shop.schema
    ));
    let error = block_on(shop.run(order(pet, 1))).expect_err("it is always undone");
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{}", error.report());
    assert_eq!(shop.sql("select last_value from attempts"), "7", "two of its batch, five of its own");
    assert_eq!(shop.orders_and_stock(), (0, 100));
}

#[test]
fn a_row_that_is_locked_for_long_fails_its_transition_alone() {
    let Some(shop) = Shop::new() else { return };
    let (free, locked) = block_on(async { (shop.add_pet(10).await, shop.add_pet(10).await) });
    let holder = shop.another();
    let hold = format!(
        "set search_path = {}; begin; select 1 from pets where id = {locked} for update; select pg_sleep(3); rollback",
        holder.schema
    );
    std::thread::scope(|scope| {
        scope.spawn(|| holder.server.sql(&hold));
        let waits = "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and query like '%for update%'";
        while holder.server.sql(waits) == "0" {}
        let answers = block_on(shop.together([order(free, 1), order(locked, 1), order(free, 1)]));
        let kinds: Vec<_> =
            answers.into_iter().map(|answer| answer.map(drop).map_err(|error| error.kind())).collect();
        assert_eq!(kinds, [Ok(()), Err(StoreErrorKind::Busy), Ok(())]);
    });
}

#[test]
fn many_transitions_that_wait_for_a_locked_row_do_not_hold_up_the_others() {
    let Some(shop) = Shop::new() else { return };
    let (free, locked) = block_on(async { (shop.add_pet(10).await, shop.add_pet(10).await) });
    let hold = format!(
        "set search_path = {}; begin; select 1 from pets where id = {locked} for update; select pg_sleep(4); rollback",
        shop.schema
    );
    std::thread::scope(|scope| {
        scope.spawn(|| shop.server.sql(&hold));
        let waits = format!(
            "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and query like '%{};%'",
            shop.schema
        );
        while shop.server.sql(&waits) == "0" {}
        // Two batches, one after the other. When the second one begins, the lane knows that the row is locked.
        for _ in 0..2 {
            let pets = std::iter::repeat_n(locked, 20).chain([free]);
            let mut answers = block_on(shop.together(pets.map(|pet| order(pet, 1))));
            let last = answers.pop().expect("an answer to each");
            last.expect("the lane reaches it").expect("units are left");
            for answer in answers {
                assert_eq!(answer.map_err(|error| error.kind()), Err(StoreErrorKind::Busy));
            }
        }
    });
}

#[test]
fn a_name_that_two_handles_create_at_once_is_created_once() {
    let Some(shop) = Shop::new() else { return };
    let another = shop.another();
    block_on(async {
        for round in 0..30 {
            let name = format!("Dogs {round}");
            let (one, other) =
                tokio::join!(shop.run(create_category(&name)), another.run(create_category(&name)));
            let (one, other) = (one.expect("it is decided"), other.expect("it is decided"));
            let (made, rejected) = if one.is_ok() { (one, other) } else { (other, one) };
            let id = made.expect("one of the two is created").value.id;
            assert_eq!(rejected, Err(CreateCategoryRejection::NameTaken(id)));
        }
    });
    assert_eq!(shop.sql("select count(*) from categories"), "30");
}

#[test]
fn the_decisions_of_a_batch_follow_each_other() {
    let Some(shop) = Shop::new() else { return };
    let pet = block_on(shop.add_pet(5));
    let answers = block_on(shop.together((0..8).map(|_| order(pet, 1))));
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.expect("the store is sound")).collect();
    assert!(answers[..5].iter().all(Result::is_ok));
    // The last unit is in an open order.
    for rejected in &answers[5..] {
        assert!(matches!(rejected, Err(PlaceOrderRejection::PetNotAvailable { .. })), "{rejected:?}");
    }
    let unknown = PetId::new(999).unwrap();
    let answer = block_on(shop.run(order(unknown, 1))).expect("the store is sound");
    assert_eq!(answer, Err(PlaceOrderRejection::UnknownPet(unknown)));
    assert_eq!(shop.orders_and_stock(), (5, 0));
}
