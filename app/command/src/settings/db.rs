//! The location of the data, as a setting.

use std::path::{Path, PathBuf};

use petstore_postgres::Target;
use petstore_sqlite::companion;

/// The default location of the data.
pub(crate) const DEFAULT_DB: &str = "petstore.db";

/// The location of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Db {
    /// In memory, until the server stops.
    Memory,
    /// In this file.
    File(PathBuf),
    /// In this PostgreSQL database.
    Postgres(Box<Target>),
}

impl Db {
    /// Parses a path, the word `memory`, or the URL of a PostgreSQL database. Other words for a store in memory, and
    /// other URIs, are refused. Otherwise a file of that name would be created.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "memory" => Ok(Self::Memory),
            "" => Err("expected a file, memory, or postgres://USER@HOST/DATABASE".to_owned()),
            url if Target::is_url(url) => match Target::parse(url) {
                Ok(target) => Ok(Self::Postgres(Box::new(target))),
                Err(why) => Err(why.to_string()),
            },
            url if url.contains("://") => {
                Err("expected a file, memory, or postgres://USER@HOST/DATABASE: there is no other store"
                    .to_owned())
            }
            word if means_memory(word) => Err(format!(
                "expected a file, or memory; for a store in memory use memory, for a file of that name use ./{word}"
            )),
            uri if has_scheme(uri) => Err("expected a file's path without a scheme, or memory".to_owned()),
            file => Ok(Self::File(file.into())),
        }
    }

    /// Refuses a target file whose name is a spelling of `memory` or a URI, for the same reason as [`Db::parse`].
    pub(crate) fn check_target(file: &Path) -> Result<(), String> {
        let refused = |name: &str| format!("expected a file's path; for a file of that name use ./{name}");
        match file.to_str() {
            Some(name) if Target::is_url(name) => Err("expected a file's path, not a database".to_owned()),
            Some(name) if means_memory(name) || has_scheme(name) => Err(refused(name)),
            _ => Ok(()),
        }
    }

    /// A warning about a connection that is less protected than the default.
    pub(crate) fn warning(&self) -> Option<&str> {
        match self {
            Self::Postgres(target) => target.encryption().1,
            Self::Memory | Self::File(_) => None,
        }
    }

    /// The admin socket of a server with this store: beside the file, or in the working directory.
    pub(crate) fn admin_socket(&self) -> PathBuf {
        match self {
            Self::Memory | Self::Postgres(_) => "petstore.sock".into(),
            Self::File(file) => companion(file, ".sock"),
        }
    }
}

/// Words for a store in memory, without punctuation and in lower case.
const MEMORY: [&str; 3] = ["memory", "inmemory", "mem"];

/// URI schemes of SQLite and its drivers.
const SCHEMES: [&str; 3] = ["file:", "sqlite:", "sqlite3:"];

/// Returns whether a word is another spelling of `memory`, such as `:memory:` or `Memory`. A path with a slash never is
/// such a spelling.
fn means_memory(word: &str) -> bool {
    let word = word.to_lowercase();
    let bare = scheme_of(&word).map_or(&*word, |scheme| &word[scheme.len()..]);
    let bare = bare.split('?').next().unwrap_or_default();
    let letters: String = bare.chars().filter(|c| c.is_alphanumeric()).collect();
    !bare.contains(['/', '.']) && MEMORY.contains(&letters.as_str())
}

fn has_scheme(uri: &str) -> bool {
    scheme_of(&uri.to_lowercase()).is_some()
}

fn scheme_of(lower_case: &str) -> Option<&'static str> {
    SCHEMES.into_iter().find(|scheme| lower_case.starts_with(scheme))
}

impl std::fmt::Display for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::File(file) => file.display().fmt(f),
            Self::Postgres(target) => target.fmt(f),
        }
    }
}

/// The form in which a value of the setting may be shown. A URL is shown without its password. Of a URL with a fault
/// nothing is shown, because the password may be anywhere in it.
pub(super) fn shown(text: &str) -> Option<String> {
    let parsed = Target::is_url(text).then(|| Target::parse(text))?;
    Some(parsed.map_or_else(|_| "postgres://…".to_owned(), |target| target.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_of_memory_and_uris_are_refused_with_advice() {
        for word in [
            ":memory:",
            ":MEMORY:",
            "Memory",
            "MEMORY",
            " memory",
            "in-memory",
            "in_memory",
            "mem",
            ":mem:",
            "memory:",
            "<memory>",
            "'memory'",
            "sqlite::memory:",
            "sqlite3::memory:",
            "file::memory:",
            "file::memory:?cache=shared",
        ] {
            let why = Db::parse(word).unwrap_err();
            assert!(why.contains("use memory") && why.ends_with(&format!("./{word}")), "{word}: {why}");
            // The recommended path is accepted.
            assert_eq!(Db::parse(&format!("./{word}")), Ok(Db::File(format!("./{word}").into())));
        }
        for uri in ["file:pets.db", "FILE:pets.db?mode=ro", "sqlite:pets.db", "sqlite3:/data/pets.db"] {
            assert_eq!(
                Db::parse(uri).unwrap_err(),
                "expected a file's path without a scheme, or memory",
                "{uri}"
            );
        }
    }

    #[test]
    fn a_url_is_a_database_and_is_shown_without_its_password() {
        let url = "postgres://pets:s3cr3t@db.example/shop";
        let Ok(db) = Db::parse(url) else { panic!("a database") };
        assert_eq!(db.to_string(), "postgres://pets:***@db.example/shop?schema=petstore");
        assert_eq!(shown(url), Some(db.to_string()));
        assert_eq!(shown("postgres://pets:s3@cr3t@db.example/shop").as_deref(), Some("postgres://…"));
        assert_eq!(shown("petstore.db"), None);
        assert!(Db::parse("mysql://db.example/shop").unwrap_err().contains("postgres://"));
        assert!(Db::check_target(Path::new(url)).unwrap_err().contains("not a database"));
    }

    #[test]
    fn a_target_is_refused_under_the_names_that_a_store_is_refused_under() {
        for name in ["memory", ":memory:", "MEMORY", "file::memory:", "file:pets.db", "sqlite:pets.db"] {
            let why = Db::check_target(Path::new(name)).unwrap_err();
            assert_eq!(why, format!("expected a file's path; for a file of that name use ./{name}"));
            assert_eq!(Db::check_target(Path::new(&format!("./{name}"))), Ok(()));
        }
        for name in ["copy.db", "memory.db", "/data/memory", "-"] {
            assert_eq!(Db::check_target(Path::new(name)), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_path_is_a_file_whatever_its_name() {
        assert_eq!(Db::parse("memory"), Ok(Db::Memory));
        for path in ["memory.db", "./memory", "/data/memory", "memories", "my-memory.db", "pets.db", "files"]
        {
            assert_eq!(Db::parse(path), Ok(Db::File(path.into())), "{path}");
        }
    }
}
