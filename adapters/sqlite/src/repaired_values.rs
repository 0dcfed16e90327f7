//! The result of a migration of stored values that are no longer valid.

use petstore_domain::{AccountId, AccountName, CategoryId, Renamed};

/// The treatment of categories and accounts whose names are equal by the current folding rule, in a file that was
/// written under an older rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameCollisions {
    /// The file is refused and left unchanged.
    #[default]
    Refuse,
    /// A record that is younger than another one with an equal name is renamed.
    Rename,
}

/// The counts of values that an older version has stored and that were repaired when the file was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepairedValues {
    /// Dates before 0001-01-01T00:00:00Z, set to that instant.
    pub dates: u64,
    /// Pets whose name had no visible character.
    pub pets: u64,
    /// Categories whose name had no visible character.
    pub categories: u64,
    /// Accounts whose name had no visible character.
    pub accounts: u64,
    /// Keys whose label had no visible character, and is empty now.
    pub labels: u64,
    /// Stored responses of idempotency records with such a date or name.
    pub answers: u64,
    /// Categories that were renamed, since an older one has an equal name.
    pub renamed: Vec<Renamed>,
    /// Accounts that were renamed, since an older one has an equal name.
    pub renamed_accounts: Vec<Renamed<AccountId, AccountName>>,
}

impl RepairedValues {
    /// Returns true if nothing was repaired.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The reason why a migration failed.
#[derive(Debug)]
pub(crate) enum RepairError {
    /// A failure of the engine.
    Engine(rusqlite::Error),
    /// Records have names that are equal by the current folding rule. Each pair is a record and an older one.
    NameCollisions { categories: Vec<(CategoryId, CategoryId)>, accounts: Vec<(AccountId, AccountId)> },
}

impl From<rusqlite::Error> for RepairError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}
