//! Pages of a shop without writes, compared with a model that filters all records.

use petstore_domain::{CategoryId, CategoryRecord, OrderId, OrderRecord, PetId, PetRecord, PetStatus};
use petstore_ports::{
    CategoryFilter, OrderFilter, PageEnd, PageRequest, PetFilter, SortDirection, StatusSet,
};

use crate::Subject;
use crate::listing::{Listed, walk};
use crate::make::{
    cancel_order, category_name, complete_order, create_category, create_pet, delete_category, delete_pet,
    move_pet, pet_id, pet_name, place_order, rename_pet, set_status, set_stock,
};
use crate::random::Random;

const ORDERS: [SortDirection; 2] = [SortDirection::Ascending, SortDirection::Descending];

/// Page limits of the walks: the smallest, a limit that does not divide the number of records, and the largest that the
/// contract permits.
const LIMITS: [usize; 3] = [1, 7, 100];

/// Three names of pets, two of them also in other letter cases.
const NAMES: [&str; 6] = ["Rex", "REX", "rex", "Tom", "Éclair", "ÉCLAIR"];

/// A shop with gaps: pets of three categories, names in upper and lower case, all statuses, every fifth pet deleted,
/// and most of the others changed since their creation.
async fn pets_with_gaps(subject: &Subject) -> (Vec<PetRecord>, Vec<CategoryId>) {
    let mut random = Random::seeded(7);
    let mut categories = Vec::new();
    for name in ["Dogs", "Cats", "Empty"] {
        categories.push(subject.add_category(name).await);
    }
    let mut ids = Vec::new();
    for _ in 0..150 {
        let name = *random.pick(&NAMES);
        let status = Some(*random.pick(&PetStatus::ALL));
        let create = create_pet(name, *random.pick(&categories[..2]), status);
        ids.push(subject.run(create).await.expect("a category").value.id);
    }
    let mut there = Vec::new();
    for id in ids {
        if random.once_in(5) {
            subject.run(delete_pet(id)).await.expect("no order is open");
        } else {
            change(subject, id, &categories, &mut random).await;
            there.push(subject.pet(id).await.expect("a pet that was created is there"));
        }
    }
    (there, categories)
}

/// Changes one of the fields that a filter uses, in a random way. Nothing changes if a rule refuses it.
async fn change(subject: &Subject, id: PetId, categories: &[CategoryId], random: &mut Random) {
    let name = *random.pick(&NAMES);
    match random.below(6) {
        0 => drop(subject.run(rename_pet(id, name)).await),
        1 => drop(subject.run(move_pet(id, *random.pick(&categories[..2]))).await),
        2 => drop(subject.run(set_status(id, *random.pick(&PetStatus::ALL))).await),
        3 => drop(subject.run(set_stock(id, random.within(0, 1))).await),
        4 => {
            // An order of the last unit makes the pet pending. The order is then completed or cancelled.
            let Ok(order) = subject.run(place_order(id, 1)).await else { return };
            match random.below(3) {
                0 => drop(subject.run(complete_order(order.value.id)).await),
                1 => drop(subject.run(cancel_order(order.value.id)).await),
                _ => {}
            }
        }
        _ => {}
    }
}

/// Every combination of filters: all sets of statuses, categories with and without pets, names in any case, ids
/// that exist, are deleted or were never assigned.
fn pet_filters(there: &[PetRecord], categories: &[CategoryId]) -> Vec<PetFilter> {
    let statuses = (0..8_u8).map(|bits| {
        let chosen = PetStatus::ALL.into_iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
        chosen.map(|(_, status)| status).collect::<StatusSet>()
    });
    let unknown = CategoryId::new(1_000_000).expect("an id");
    let in_category = [None, Some(categories[0]), Some(categories[2]), Some(unknown)];
    let names = [None, Some("rEx"), Some("éCLAIR"), Some("Nobody")];
    let some: Vec<PetId> = there.iter().map(|record| record.pet.id).step_by(3).collect();
    let any: Vec<PetId> = (1..=200).map(pet_id).collect();
    let ids = [None, Some(vec![]), Some(vec![pet_id(1_000_000)]), Some(some), Some(any)];

    let mut filters = Vec::new();
    for statuses in statuses {
        for category_id in in_category {
            for name in names {
                for ids in &ids {
                    let name = name.map(|name| pet_name(name).folded());
                    filters.push(PetFilter { statuses, category_id, name, ids: ids.clone() });
                }
            }
        }
    }
    filters
}

/// The records that a walk must return, by the model.
fn expected<T: Listed>(there: &[T], admits: impl Fn(&T) -> bool, order: SortDirection) -> Vec<T> {
    let mut admitted: Vec<T> = there.iter().filter(|record| admits(record)).cloned().collect();
    admitted.sort_by_key(Listed::id);
    if order == SortDirection::Descending {
        admitted.reverse();
    }
    admitted
}

/// A walk over pets, by any combination of filters, in both directions, returns exactly the pets that the filter
/// admits.
pub async fn walks_of_pets_match_the_filter(subject: &Subject) {
    let (there, categories) = pets_with_gaps(subject).await;
    for (number, filter) in pet_filters(&there, &categories).into_iter().enumerate() {
        for order in ORDERS {
            let limit = LIMITS[number % LIMITS.len()];
            let seen: Vec<PetRecord> = walk(subject, &filter, order, limit).await;
            let model = expected(&there, |record| filter.admits(record), order);
            assert_eq!(seen, model, "a walk sees what the filter admits: {filter:?} {order:?} by {limit}");
        }
    }
}

/// A walk over orders, by pet and completeness, in both directions, returns exactly the orders that the filter admits.
pub async fn walks_of_orders_match_the_filter(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    let pets = [subject.add_pet(category, 500).await, subject.add_pet(category, 500).await];
    let idle = subject.add_pet(category, 1).await;
    let mut random = Random::seeded(11);
    let mut ids: Vec<OrderId> = Vec::new();
    for _ in 0..90 {
        ids.push(subject.add_order(*random.pick(&pets), 2).await);
    }
    let mut there = Vec::new();
    for id in ids {
        match random.below(3) {
            0 => subject.run(cancel_order(id)).await.expect("the order is open"),
            1 => drop(subject.run(complete_order(id)).await.expect("the order is open")),
            _ => {}
        }
        there.extend(subject.order(id).await);
    }
    let unknown = pet_id(1_000_000);
    for pet_id in [None, Some(pets[0]), Some(pets[1]), Some(idle), Some(unknown)] {
        for complete in [None, Some(true), Some(false)] {
            let filter = OrderFilter { pet_id, complete };
            for (order, limit) in ORDERS.into_iter().flat_map(|order| LIMITS.map(|limit| (order, limit))) {
                let seen: Vec<OrderRecord> = walk(subject, &filter, order, limit).await;
                let model = expected(&there, |record| filter.admits(record), order);
                assert_eq!(
                    seen, model,
                    "a walk sees what the filter admits: {filter:?} {order:?} by {limit}"
                );
            }
        }
    }
}

/// A walk over categories, with or without a name in any letter case, in both directions, returns exactly the
/// categories that the filter admits.
pub async fn walks_of_categories_match_the_filter(subject: &Subject) {
    let mut there: Vec<CategoryRecord> = Vec::new();
    for number in 0..60 {
        let id = subject.run(create_category(&format!("Kind {number}"))).await.expect("fresh").value.id;
        if number % 4 == 1 {
            subject.run(delete_category(id)).await.expect("no pet is in it");
        } else {
            there.extend(subject.category(id).await);
        }
    }
    for name in [None, Some("kIND 8"), Some("Kind 1"), Some("Nobody")] {
        let filter = CategoryFilter { name: name.map(|name| category_name(name).folded()) };
        let admits = |record: &CategoryRecord| {
            filter.name.as_ref().is_none_or(|name| name.matches(record.category.name.as_str()))
        };
        for (order, limit) in ORDERS.into_iter().flat_map(|order| LIMITS.map(|limit| (order, limit))) {
            let seen: Vec<CategoryRecord> = walk(subject, &filter, order, limit).await;
            let model = expected(&there, admits, order);
            assert_eq!(seen, model, "a walk sees what the filter admits: {filter:?} {order:?} by {limit}");
        }
    }
}

/// A page may begin after any number: the id of a record, the id of a deleted record, or an id that was never assigned.
pub async fn a_page_may_begin_after_any_id(subject: &Subject) {
    let (there, categories) = pets_with_gaps(subject).await;
    let filters = pet_filters(&there, &categories);
    let mut random = Random::seeded(13);
    for _ in 0..800 {
        let filter = random.pick(&filters);
        let order = *random.pick(&ORDERS);
        let limit = *random.pick(&LIMITS);
        let near = u64::from(random.below(170));
        let far = [0, 1_000_000, (1 << 32) + near, (1 << 53) - 1, u64::MAX];
        let after = if random.once_in(2) { near } else { *random.pick(&far) };
        let request = PageRequest { order, after: Some(after), limit };
        let (page, end) = PetRecord::page(subject, filter, request).await;
        let mut model = expected(&there, |record| filter.admits(record), order);
        model.retain(|record| match order {
            SortDirection::Ascending => record.id() > after,
            SortDirection::Descending => record.id() < after,
        });
        let model_end = if model.len() > limit { PageEnd::More } else { PageEnd::Last };
        model.truncate(limit);
        assert_eq!(page, model, "a page begins after any id: {filter:?} {request:?}");
        assert_eq!(end, model_end, "a page knows whether it is the last: {filter:?} {request:?}");
    }
}

/// A page reports that more records follow if and only if more records follow, and is full in that case.
pub async fn a_page_knows_whether_it_is_the_last(subject: &Subject) {
    let category = subject.add_category("Dogs").await;
    for count in 0..=6_usize {
        if count > 0 {
            subject.add_pet(category, 1).await;
        }
        for (order, limit) in ORDERS.into_iter().flat_map(|order| [1, 2, 3, 6].map(|limit| (order, limit))) {
            let request = PageRequest { order, after: None, limit };
            let (page, end) = PetRecord::page(subject, &PetFilter::default(), request).await;
            assert_eq!(page.len(), count.min(limit), "a page is as full as it can be");
            let expected = if count > limit { PageEnd::More } else { PageEnd::Last };
            assert_eq!(end, expected, "a page of {limit} of {count} knows whether it is the last");
        }
    }
}

/// A page has as many records as its limit permits, also at limits above the maximum for clients.
pub async fn a_page_has_the_requested_length(subject: &Subject) {
    let (there, _) = pets_with_gaps(subject).await;
    assert!(there.len() > 101, "the case has too few pets: {} pets", there.len());
    for (order, limit) in ORDERS.into_iter().flat_map(|order| [101, usize::MAX].map(|limit| (order, limit))) {
        let request = PageRequest { order, after: None, limit };
        let (page, end) = PetRecord::page(subject, &PetFilter::default(), request).await;
        let mut model = expected(&there, |_| true, order);
        model.truncate(limit);
        assert_eq!(page, model, "a page is as long as is asked: {request:?}");
        let model_end = if limit < there.len() { PageEnd::More } else { PageEnd::Last };
        assert_eq!(end, model_end, "a page knows whether it is the last: {request:?}");
        let (page, end) = CategoryRecord::page(subject, &CategoryFilter::default(), request).await;
        assert_eq!((page.len(), end), (3, PageEnd::Last), "a page of categories has no bound either");
        let (_, end) = OrderRecord::page(subject, &OrderFilter::default(), request).await;
        assert_eq!(end, PageEnd::Last, "nor has one of orders");
    }
}

/// Names are compared after NFC normalisation and full case folding. A name is no pattern, and no other spelling rule
/// makes two names equal.
pub async fn names_are_compared_after_normalisation_and_case_folding(subject: &Subject) {
    // Sharp s folds to two letters, the final sigma folds to the other sigma, and an accented letter is one character
    // or two.
    let names = [
        "Rex",
        "R_x",
        "R%",
        "%",
        "Straße",
        "STRASSE",
        "Resume",
        "RÉSUMÉ",
        "résumé",
        "Re\u{301}sume\u{301}",
        "ΟΔΟΣ",
        "οδος",
        "İ",
        "i",
    ];
    let home = subject.add_category("Home").await;
    let (mut pets, mut categories) = (Vec::new(), Vec::new());
    for name in names {
        let pet = subject.run(create_pet(name, home, None)).await.expect("its category is there").value.id;
        pets.extend(subject.pet(pet).await);
        // Of two names that are equal after folding, the first category gets the name.
        if let Ok(created) = subject.run(create_category(name)).await {
            categories.extend(subject.category(created.value.id).await);
        }
    }
    assert_eq!(categories.len(), names.len() - 4, "a name is given once, and no other name with it");
    for folded in names.map(|name| pet_name(name).folded()) {
        let filter = PetFilter { name: Some(folded.clone()), ..PetFilter::default() };
        let seen: Vec<PetRecord> = walk(subject, &filter, SortDirection::Ascending, 7).await;
        let model = expected(&pets, |record| filter.admits(record), SortDirection::Ascending);
        assert_eq!(seen, model, "a name is compared after normalisation and case folding: {filter:?}");
        let filter = CategoryFilter { name: Some(folded) };
        let seen: Vec<CategoryRecord> = walk(subject, &filter, SortDirection::Ascending, 7).await;
        let model = expected(&categories, |record| filter.admits(record), SortDirection::Ascending);
        assert_eq!(seen, model, "a name is compared after normalisation and case folding: {filter:?}");
    }
}
