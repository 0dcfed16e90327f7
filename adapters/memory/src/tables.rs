//! All tables of the store, as operations see them: loaded by `load`, changed by `apply`.

use crate::accounts::Accounts;
use crate::categories::Categories;
use crate::keys::Keys;
use crate::orders::Orders;
use crate::pets::Pets;
use crate::retries::Retries;

/// Everything that an operation can name.
pub(crate) struct Tables {
    pub(crate) pets: Pets,
    pub(crate) categories: Categories,
    pub(crate) orders: Orders,
    pub(crate) accounts: Accounts,
    pub(crate) keys: Keys,
    pub(crate) retries: Retries,
}

impl Tables {
    pub(crate) fn new() -> Self {
        Self {
            pets: Pets::new(),
            categories: Categories::new(),
            orders: Orders::new(),
            accounts: Accounts::new(),
            keys: Keys::new(),
            retries: Retries::new(),
        }
    }
}
