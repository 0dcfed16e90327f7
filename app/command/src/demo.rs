//! Demonstration data: the same on every machine.

use petstore_domain::{
    Category, CategoryId, CategoryName, Description, NewPet, PetId, PetName, PetRecord, Version,
};
use petstore_ports::{Bulk, ImportError};

/// The categories, each with its description.
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

/// Fills an empty store with ten categories and this many pets, each with one free unit. Adds all of them or none.
/// Returns whether the store was empty; a store that was not empty is unchanged. Blocks until the data is on disk.
pub(crate) fn fill(store: &dyn Bulk, pets: u32) -> Result<bool, String> {
    let mut import = match store.import() {
        Err(ImportError::NotEmpty) => return Ok(false),
        begun => begun.map_err(unfilled)?,
    };
    let mut categories: Vec<CategoryId> = Vec::with_capacity(CATEGORIES.len());
    // The ids continue after the last assigned ones, because ids of deleted records are not reused.
    let last = import.last_ids();
    for (number, (name, description)) in (last.category + 1..).zip(CATEGORIES) {
        let id = CategoryId::new(number).map_err(said)?;
        let name = CategoryName::parse(name).map_err(said)?;
        let description = Some(Description::parse(description).map_err(said)?);
        import.category(Category { id, name, description }, Version::FIRST).map_err(unfilled)?;
        categories.push(id);
    }
    for number in 1..=pets {
        let nth = |length| number as usize % length;
        let name = PetName::parse(&format!("{} {number}", NAMES[nth(NAMES.len())])).map_err(said)?;
        let new = NewPet { name, category_id: categories[nth(categories.len())], status: None };
        let made = PetRecord::new(PetId::new(last.pet + u64::from(number)).map_err(said)?, new);
        let (item, version, item_version) = (made.item(), made.version, made.item_version);
        import.pet(made.pet, version).map_err(unfilled)?;
        import.item(item, item_version).map_err(unfilled)?;
    }
    import.finish().map_err(unfilled)?;
    Ok(true)
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
fn unfilled(error: ImportError) -> String {
    error.report()
}

fn said(error: impl std::error::Error) -> String {
    error.to_string()
}
