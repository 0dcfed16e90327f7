//! Categories.

use petstore_domain::{Category, CategoryId, CategoryName, CategoryRecord, Description};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for CategoryRecord {
    const TABLE: &'static str = "categories";
    const COLUMNS: &'static str = "id, name, description, version, pets";

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        let category = Category {
            id: fields.number(CategoryId::new)?,
            name: fields.parsed(CategoryName::parse)?,
            description: fields.parsed(|text: Option<&str>| text.map(Description::parse).transpose())?,
        };
        Ok(Self { category, version: fields.version()?, pets: fields.number(Ok::<_, &str>)? })
    }
}
