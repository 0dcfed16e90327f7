//! The SQL of the tables of pets, categories and orders, made once from the members of their records.

use std::sync::LazyLock;

use petstore_domain::{CategoryRecord, OrderRecord, PetRecord};

use crate::members::{Derived, TableSql};

/// The column with a name as names are compared.
const FOLDED_NAME: &str = "folded_name";

/// The derived columns of pets.
pub(crate) const OF_PETS: [Derived<PetRecord>; 1] =
    [Derived { column: FOLDED_NAME, value: |record| record.pet.name.folded().as_str().to_owned() }];

/// The derived columns of categories.
pub(crate) const OF_CATEGORIES: [Derived<CategoryRecord>; 1] =
    [Derived { column: FOLDED_NAME, value: |record| record.category.name.folded().as_str().to_owned() }];

/// The statements of pets.
pub(crate) static PETS: LazyLock<TableSql> = LazyLock::new(|| TableSql::new("pets", &OF_PETS));

/// The statements of categories.
pub(crate) static CATEGORIES: LazyLock<TableSql> =
    LazyLock::new(|| TableSql::new("categories", &OF_CATEGORIES));

/// The statements of orders.
pub(crate) static ORDERS: LazyLock<TableSql> = LazyLock::new(|| TableSql::new::<OrderRecord>("orders", &[]));
