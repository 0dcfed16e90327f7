//! The outcome of a migration that meets values which are not taken any more.

use petstore_domain::{AccountId, AccountName, CategoryId, Renamed};

/// The treatment of categories and accounts whose names are equal by the folding rule of today, in a file that was written
/// under an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IfNamesakes {
    /// The file is refused and stays as it is.
    #[default]
    Refuse,
    /// Each that is younger than another one of its name is renamed.
    Rename,
}

/// The values that were stored by an older version and have been put right when the file was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mended {
    /// Points in time before 0001-01-01T00:00:00Z, which are that instant now.
    pub dates: u64,
    /// Pets that had a name without a visible character.
    pub pets: u64,
    /// Categories that had one.
    pub categories: u64,
    /// Accounts that had one.
    pub accounts: u64,
    /// Keys that had a label without a visible character, which is empty now.
    pub labels: u64,
    /// Answers kept for requests that are sent again, in which there was such a date or name.
    pub answers: u64,
    /// Categories that were renamed, since an older one has an equal name.
    pub renamed: Vec<Renamed>,
    /// Accounts that were renamed, since an older one has an equal name.
    pub renamed_accounts: Vec<Renamed<AccountId, AccountName>>,
}

impl Mended {
    /// Whether nothing had to be put right.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a migration did not put a file right.
#[derive(Debug)]
pub(crate) enum MendError {
    /// The engine has failed.
    Engine(rusqlite::Error),
    /// Records have names that are equal by the folding rule of today: each with the older one.
    Namesakes { categories: Vec<(CategoryId, CategoryId)>, accounts: Vec<(AccountId, AccountId)> },
}

impl From<rusqlite::Error> for MendError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}
