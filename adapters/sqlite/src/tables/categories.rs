//! The table of categories.

use petstore_domain::{Category, CategoryId, CategoryName, CategoryRecord, Description, Version};
use petstore_ports::StoreError;
use rusqlite::{Statement, params};

use crate::table::{Fields, Table};

impl Table for CategoryRecord {
    const NAME: &'static str = "categories";
    const SELECT: &'static str =
        "SELECT id, name, folded_name, description, version, pets FROM categories ORDER BY id";
    const INSERT: &'static str = "INSERT INTO categories (id, name, folded_name, description, version, pets)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    const OR_UPDATE: &'static str = "ON CONFLICT (id) DO UPDATE SET name = excluded.name,
         folded_name = excluded.folded_name, description = excluded.description, version = excluded.version,
         pets = excluded.pets";

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        let Category { id, name, description } = &self.category;
        statement.execute(params![
            id.get(),
            name.as_str(),
            name.folded().as_str(),
            description.as_ref().map(Description::as_str),
            self.version.get(),
            self.pets,
        ])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let id = row.number("id", CategoryId::new)?;
        let name = row.text("name", CategoryName::parse)?;
        row.text("folded_name", |folded| {
            (name.folded().as_str() == folded).then_some(()).ok_or("is another name")
        })?;
        let description = row.optional("description", Description::parse)?;
        Ok(Self {
            category: Category { id, name, description },
            version: row.number("version", |number| Version::new(number).ok_or("must be at least 1"))?,
            pets: row.plain("pets")?,
        })
    }
}
