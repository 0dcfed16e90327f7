//! Where the data is kept, as a setting says it.

use std::path::PathBuf;

use petstore_sqlite::beside;

/// Where the data is kept unless it is said.
pub(crate) const DEFAULT_DB: &str = "petstore.db";

/// Where the data is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Db {
    /// In memory, until the server stops.
    Memory,
    /// In this file.
    File(PathBuf),
}

impl Db {
    /// Takes a path, or the word `memory`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "memory" => Ok(Self::Memory),
            "" => Err("expected a file, or memory".to_owned()),
            url if url.contains("://") => {
                Err("expected a file, or memory: no other store is built in".to_owned())
            }
            file => Ok(Self::File(file.into())),
        }
    }

    /// The admin socket of a server on this store: beside the file, or in the working folder.
    pub(crate) fn admin_socket(&self) -> PathBuf {
        match self {
            Self::Memory => "petstore.sock".into(),
            Self::File(file) => beside(file, ".sock"),
        }
    }
}

impl std::fmt::Display for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::File(file) => file.display().fmt(f),
        }
    }
}
