//! Demonstration data: always the same, whatever the machine and the day.

use std::sync::Arc;

use petstore_domain::{CategoryId, CategoryName, Description, NewCategory, NewPet, PetName};
use petstore_ports::api::{Categories, Failure, Orders, Pets};
use petstore_ports::{CategoryFilter, OrderFilter, PageOrder, PageRequest};
use petstore_service::Service;
use tokio::task::JoinSet;

/// The categories, each with what it is.
const CATEGORIES: [(&str, &str); 10] = [
    ("Dogs", "Loyal, loud and always hungry"),
    ("Cats", "They let you live with them"),
    ("Rabbits", "Quiet, fast and fond of cables"),
    ("Birds", "Early risers with opinions"),
    ("Fish", "Good listeners"),
    ("Hamsters", "Awake when you are not"),
    ("Turtles", "They will outlive your sofa"),
    ("Snakes", "All neck"),
    ("Lizards", "Small dragons, mostly asleep"),
    ("Guinea pigs", "Neither pigs nor from Guinea"),
];

const NAMES: [&str; 8] = ["Bella", "Luna", "Rocky", "Coco", "Max", "Milo", "Daisy", "Oscar"];

/// Pets that are on their way at once: a store on disk commits as many of them together as it can.
const TOGETHER: usize = 256;

/// Fills an empty store with ten categories and this many pets, each with one free unit; one that is not empty stays
/// as it is. Says whether it was empty.
pub(crate) async fn fill(petstore: &Arc<Service>, pets: u32) -> Result<bool, String> {
    if !is_empty(petstore).await? {
        return Ok(false);
    }
    let mut categories: Vec<CategoryId> = Vec::with_capacity(CATEGORIES.len());
    for (name, description) in CATEGORIES {
        let name = CategoryName::parse(name).map_err(|error| error.to_string())?;
        let description = Description::parse(description).map_err(|error| error.to_string())?;
        let new = NewCategory { name, description: Some(description) };
        let made = petstore.create_category(new, None).await.map_err(why)?;
        categories.push(made.result.map_err(|error| error.to_string())?.value.id);
    }
    let numbers: Vec<usize> = (1..=pets as usize).collect();
    for numbers in numbers.chunks(TOGETHER) {
        // Tasks of one thread begin in the order in which they were spawned, so each pet has the same id every time.
        let mut creating = JoinSet::new();
        for number in numbers {
            let name = format!("{} {number}", NAMES[number % NAMES.len()]);
            let name = PetName::parse(&name).map_err(|error| error.to_string())?;
            let new = NewPet { name, category_id: categories[number % categories.len()], status: None };
            let petstore = Arc::clone(petstore);
            creating.spawn(async move { petstore.create_pet(new, None).await });
        }
        for created in creating.join_all().await {
            created.map_err(why)?;
        }
    }
    Ok(true)
}

async fn is_empty(petstore: &Service) -> Result<bool, String> {
    let page = PageRequest { order: PageOrder::Ascending, after: None, limit: 1 };
    let mut found = 0;
    let mut sink = |_: &_| found += 1;
    let listed = petstore.list_categories(&CategoryFilter::default(), &page, &mut sink).await;
    listed.map_err(|error| error.to_string())?;
    // A pet has a category, but a complete order outlives both.
    let mut sink = |_: &_| found += 1;
    let listed = petstore.list_orders(&OrderFilter::default(), &page, &mut sink).await;
    listed.map_err(|error| error.to_string())?;
    Ok(found == 0)
}

fn why<R: std::fmt::Display>(failure: Failure<R>) -> String {
    match failure {
        Failure::Rejected(rejection) => rejection.to_string(),
        Failure::Store(error) => error.to_string(),
        Failure::RetryInProgress | Failure::RetryKeyReused | Failure::TooManyRetries => {
            "sent before".to_owned()
        }
    }
}
