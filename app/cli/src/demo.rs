//! Demonstration data: always the same, whatever the machine and the day.

use petstore_domain::{CategoryId, CategoryName, Description, NewCategory, NewPet, PetName};
use petstore_ports::api::{Failure, Petstore};

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

/// Fills an empty store with ten categories and this many pets, each with one free unit.
pub(crate) async fn fill(petstore: &dyn Petstore, pets: u32) -> Result<(), String> {
    let mut categories: Vec<CategoryId> = Vec::with_capacity(CATEGORIES.len());
    for (name, description) in CATEGORIES {
        let name = CategoryName::parse(name).map_err(|error| error.to_string())?;
        let description = Description::parse(description).map_err(|error| error.to_string())?;
        let new = NewCategory { name, description: Some(description) };
        let made = petstore.create_category(new, None).await.map_err(why)?;
        categories.push(made.result.map_err(|error| error.to_string())?.value.id);
    }
    for number in 1..=pets as usize {
        let name = format!("{} {number}", NAMES[number % NAMES.len()]);
        let name = PetName::parse(&name).map_err(|error| error.to_string())?;
        let new = NewPet { name, category_id: categories[number % categories.len()], status: None };
        petstore.create_pet(new, None).await.map_err(why)?;
    }
    Ok(())
}

fn why<R: std::fmt::Display>(failure: Failure<R>) -> String {
    match failure {
        Failure::Rejected(rejection) => rejection.to_string(),
        Failure::Store(error) => error.to_string(),
        Failure::RetryInProgress | Failure::RetryKeyReused => "sent before".to_owned(),
    }
}
