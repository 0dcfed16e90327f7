//! Demonstration data: the same on every machine.

use std::fmt::Display;
use std::ops::ControlFlow;

use petstore_domain::{
    Category, CategoryId, CategoryName, Description, NewPet, PetId, PetName, PetRecord, Version,
};
use petstore_ports::{Bulk, ImportError, Row};

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
///
/// # Errors
/// Any error of the import, except that the store is not empty.
pub fn fill_with_demo(store: &dyn Bulk, pets: u32) -> Result<bool, ImportError> {
    let mut import = match store.import() {
        Err(ImportError::NotEmpty) => return Ok(false),
        begun => begun?,
    };
    let mut categories: Vec<CategoryId> = Vec::with_capacity(CATEGORIES.len());
    // The ids continue after the last assigned ones, because ids of deleted records are not reused.
    let last = import.last_ids();
    for (row, (name, description)) in (1..).zip(CATEGORIES) {
        let id = CategoryId::new(last.category + row).map_err(|error| refused(row, error))?;
        let name = CategoryName::parse(name).map_err(|error| refused(row, error))?;
        let description = Some(Description::parse(description).map_err(|error| refused(row, error))?);
        import.category(Category { description, ..Category::new(id, name) }, Version::FIRST)?;
        categories.push(id);
    }
    for number in 1..=pets {
        // Each pet takes two rows: itself and its stock.
        let row = CATEGORIES.len() as u64 + 2 * u64::from(number) - 1;
        let nth = |length| number as usize % length;
        let name = PetName::parse(&format!("{} {number}", NAMES[nth(NAMES.len())]));
        let name = name.map_err(|error| refused(row, error))?;
        let new = NewPet::new(name, categories[nth(categories.len())]);
        let id = PetId::new(last.pet + u64::from(number)).map_err(|error| refused(row, error))?;
        let made = PetRecord::new(id, new);
        let (item, version, item_version) = (made.item(), made.version, made.item_version);
        import.pet(made.pet, version)?;
        import.item(item, item_version)?;
    }
    import.finish()?;
    Ok(true)
}

/// The rows of the demonstration shop, which a reset restores. `scratch` is an empty store that the caller drops afterwards.
///
/// # Errors
/// Any error of the import and the export, and [`ImportError::NotEmpty`] if `scratch` is not empty.
pub fn demo_rows(scratch: &dyn Bulk, pets: u32) -> Result<Vec<Row>, ImportError> {
    if !fill_with_demo(scratch, pets)? {
        return Err(ImportError::NotEmpty);
    }
    let mut rows = vec![];
    scratch.export(&mut |row| {
        rows.push(row);
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

fn refused(row: u64, why: impl Display) -> ImportError {
    ImportError::Contradiction { row, why: why.to_string() }
}
