//! Many pets and many callers: they do not affect each other, and no unit gets lost.

use std::sync::Arc;

use crate::Subject;
use crate::hot_pet::{check_units, run_random_orders};
use crate::together::together;

/// Orders, cancellations, completions and adjustments of many pets create no unit and lose none.
pub async fn many_pets_conserve_their_units(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let mut pets = Vec::new();
    for _ in 0..30 {
        pets.push(subject.add_pet(category, 20).await);
    }
    let pets = Arc::new(pets);
    let put_in: i64 = together(32, |caller| {
        let (subject, pets) = (subject.clone(), Arc::clone(&pets));
        async move { run_random_orders(&subject, &pets, 1_000 + caller as u64, 60).await }
    })
    .await
    .into_iter()
    .sum();
    check_units(subject, &pets, 30 * 20 + put_in).await;
}
