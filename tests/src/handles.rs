//! Cases that use one store through several handles, as several processes do: each guarantee holds across all handles.
//!
//! A store in one process has one handle, which its callers share. These cases then use that handle throughout.

use std::collections::BTreeSet;

use crate::Subject;
use crate::ids::{KINDS, make_one_of_each};
use crate::make::{create_category, place_order, set_stock};
use crate::together::together;

/// Of two creates on any two handles, the one that was sent after the other was answered gets the higher id.
pub async fn ids_increase_over_handles(subject: &Subject) {
    let handles = [subject.clone(), subject.another_handle().await, subject.another_handle().await];
    let mut last = [0; 5];
    // The handles are used in an irregular order. So a handle is also used again after other handles have assigned
    // higher ids.
    for (round, number) in [0, 1, 0, 0, 2, 1, 2, 2, 0, 1, 1, 0, 2].into_iter().enumerate() {
        let given = make_one_of_each(&handles[number], &format!("Kind {round}")).await;
        for (kind, (before, now)) in KINDS.iter().zip(last.iter().zip(&given)) {
            assert!(now > before, "ids of {kind} rise over handles: {now} on handle {number} after {before}");
        }
        last = given;
    }
}

/// No id is assigned twice, for any number of concurrent callers and on any handle.
pub async fn ids_are_unique_over_handles(subject: &Subject) {
    let handles = [subject.clone(), subject.another_handle().await, subject.another_handle().await];
    let given = together(12, |number| {
        let handle = handles[number % handles.len()].clone();
        async move {
            let mut mine = Vec::new();
            for round in 0..5 {
                mine.push(make_one_of_each(&handle, &format!("Kind {number} {round}")).await);
            }
            mine
        }
    })
    .await;
    for (index, kind) in KINDS.iter().enumerate() {
        let different: BTreeSet<u64> = given.iter().flatten().map(|ids| ids[index]).collect();
        assert_eq!(different.len(), 60, "an id of {kind} is issued once over all handles");
    }
}

/// A write that was answered on one handle is visible on every other handle, to reads and to decisions.
pub async fn a_write_is_seen_through_every_handle(subject: &Subject) {
    let other = subject.another_handle().await;
    let category = subject.add_category("Dogs").await;
    assert!(other.category(category).await.is_some(), "a category is read on the other handle");
    other.run(create_category("dogs")).await.expect_err("its name is taken on the other handle");
    let pet = other.add_pet(category, 3).await;
    for left in [2, 1, 0] {
        let (writer, reader) = if left % 2 == 0 { (subject, &other) } else { (&other, subject) };
        writer.run(place_order(pet, 1)).await.expect("a unit is left");
        let stock = reader.pet(pet).await.map(|record| record.stock);
        assert_eq!(stock, Some(left), "an order on one handle is seen on the other");
    }
}

/// Of buyers of the last unit on several handles exactly one succeeds.
pub async fn the_last_unit_is_sold_once_over_handles(subject: &Subject) {
    let handles = [subject.clone(), subject.another_handle().await, subject.another_handle().await];
    let pet = subject.add_only_pet(1).await;
    for _ in 0..30 {
        let answers = together(9, |number| {
            let handle = handles[number % handles.len()].clone();
            async move { handle.run(place_order(pet, 1)).await }
        })
        .await;
        let sold = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(sold, 1, "the last unit is sold exactly once over all handles");
        subject.run(set_stock(pet, 1)).await.expect("the pet is there");
    }
}
