//! The location of the data, as a setting.

use std::path::{Path, PathBuf};

use petstore_postgres::Target;
use petstore_sqlite::companion;

use super::secret_marks::may_hold_secret;

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
    /// Parses a path, the word `memory`, or the URL of a PostgreSQL database. Other words for a store in memory, and other
    /// forms of naming a database, are refused. Otherwise a file of that name would be created, with a password in it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let "memory" = text {
            return Ok(Self::Memory);
        }
        if Target::is_url(text) {
            return Target::parse(text)
                .map(|target| Self::Postgres(Box::new(target)))
                .map_err(|why| why.to_string());
        }
        match no_path(text) {
            Some(NoPath::Memory) => Err(format!(
                "expected a file, or memory; for a store in memory use memory, for {}",
                as_file(text)
            )),
            Some(NoPath::FileUri) => Err("expected a file's path without a scheme, or memory".to_owned()),
            Some(NoPath::Other(why)) => Err(format!("{EXPECTED}: {why}")),
            None if text.is_empty() => Err(EXPECTED.to_owned()),
            None => Ok(Self::File(text.into())),
        }
    }

    /// Refuses a file to read or to write whose name is a spelling of `memory`, a URI or a connection string, for the same
    /// reason as [`Db::parse`].
    pub(crate) fn check_target(file: &Path) -> Result<(), String> {
        let Some(name) = file.to_str() else { return Ok(()) };
        if Target::is_url(name) {
            return Err("expected a file's path, not a database".to_owned());
        }
        match no_path(name) {
            None => Ok(()),
            Some(NoPath::Memory | NoPath::FileUri) => {
                Err(format!("expected a file's path; for {}", as_file(name)))
            }
            Some(NoPath::Other(_)) => Err(
                "expected a file's path, without a scheme; the name of a file with a colon begins with ./"
                    .to_owned(),
            ),
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

/// The forms of the setting.
const EXPECTED: &str = "expected a file, memory, or postgres://USER@HOST/DATABASE";

/// The meaning of a text that is not taken for the path of a file.
enum NoPath {
    /// A store in memory.
    Memory,
    /// A file, as a URI of SQLite.
    FileUri,
    /// Anything else, with the reason.
    Other(&'static str),
}

/// Returns the meaning of a text that is not a URL of PostgreSQL; none if it is a path. A path that begins with `/`, `./`, `../`
/// or, on Windows, with a drive may have any name that has no place for a password.
fn no_path(text: &str) -> Option<NoPath> {
    let lower_case = text.to_lowercase();
    let is_absolute = (text.starts_with('/') || Path::new(text).is_absolute()) && !text.starts_with("//");
    let is_explicit = is_absolute || text.starts_with("./") || text.starts_with("../");
    let first = text.split('/').next().unwrap_or_default();
    let is_credential = || text.split_once(':').is_some_and(|(_, rest)| rest.contains('@'));
    let has_bare_scheme = || SERVERS.iter().any(|scheme| lower_case.starts_with(&format!("{scheme}//")));
    if text.chars().any(char::is_control) {
        Some(NoPath::Other("it has a line break or another control character"))
    } else if text.contains("://") {
        Some(NoPath::Other("there is no other store"))
    } else if means_memory(text) {
        Some(NoPath::Memory)
    } else if scheme_of(&lower_case).is_some() {
        Some(NoPath::FileUri)
    } else if assigns(&lower_case, &PASSWORDS) || !is_explicit && assigns(&lower_case, &KEYWORDS) {
        Some(NoPath::Other("write a connection string as a URL, and its password into db-password-file"))
    } else if !is_explicit
        && (first.contains(':') || text.starts_with("//") || is_credential() || has_bare_scheme())
    {
        Some(NoPath::Other("a URL begins with postgres://, and the name of a file with a colon with ./"))
    } else {
        None
    }
}

/// Advice for a file whose name is refused. The name is left out if a secret may stand in it.
fn as_file(name: &str) -> String {
    if name.contains('?') || may_hold_secret(name) {
        return "a file of that name write ./ before it".to_owned();
    }
    format!("a file of that name use ./{name}")
}

/// Names of parameters of connection strings, as libpq, ADO.NET and ODBC have them.
const KEYWORDS: [&str; 11] = [
    "host", "hostaddr", "port", "user", "username", "uid", "dbname", "database", "server", "service",
    "sslmode",
];

/// Names of parameters whose values are passwords.
const PASSWORDS: [&str; 4] = ["password", "passwd", "pwd", "passfile"];

/// Schemes of servers that are written without their colon by mistake.
const SERVERS: [&str; 4] = ["postgres", "postgresql", "redis", "rediss"];

/// Returns whether a text in lower case has one of these words before an equals sign.
fn assigns(lower_case: &str, words: &[&str]) -> bool {
    lower_case.match_indices('=').any(|(at, _)| {
        let before = lower_case[..at].trim_end();
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
        word.is_some_and(|word| words.contains(&word))
    })
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

/// Returns whether a text is a spelling of `memory` without a query.
pub(super) fn is_spelling_of_memory(text: &str) -> bool {
    means_memory(text) && !text.contains('?')
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
        ] {
            let why = Db::parse(word).unwrap_err();
            assert!(why.contains("use memory") && why.ends_with(&format!("./{word}")), "{word}: {why}");
            // The recommended path is accepted.
            assert_eq!(Db::parse(&format!("./{word}")), Ok(Db::File(format!("./{word}").into())));
        }
        // A key of an encrypted file may stand behind the question mark.
        let why = Db::parse("file::memory:?key=s3cr3t").unwrap_err();
        assert!(why.contains("use memory") && why.ends_with("write ./ before it"), "{why}");
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
    fn other_forms_of_naming_a_database_are_refused_without_being_shown() {
        for text in [
            "host=db.example port=5432 user=shop password=s3cr3t dbname=shop",
            "dbname=shop password=s3cr3t",
            "HOST = s3cr3t",
            "Server=s3cr3t;Database=shop",
            "postgres:shop:s3cr3t@db.example/shop",
            "postgres:/shop:s3cr3t@db.example/shop",
            "postgres//shop:s3cr3t@db.example/shop",
            "postgres//s3cr3t/shop",
            "//shop:s3cr3t@db.example/shop",
            "shop:s3cr3t@db.example/shop",
            "data/shop:s3cr3t@db.example/shop",
            "s3cr3t.example:5432/shop",
            "jdbc:postgresql://db.example/shop?user=shop&password=s3cr3t",
            "jdbc:postgresql:s3cr3t",
            "db.example/shop?user=s3cr3t",
            "/data/shop.db?password=s3cr3t",
            "s3cr3t.db\n",
            "/data/s3cr3t\t.db",
            "",
        ] {
            let why = Db::parse(text).unwrap_err();
            assert!(why.starts_with(EXPECTED) && !why.contains("s3cr3t"), "{text}: {why}");
            if !text.is_empty() {
                let why = Db::check_target(Path::new(text)).unwrap_err();
                assert!(
                    why.starts_with("expected a file's path") && !why.contains("s3cr3t"),
                    "{text}: {why}"
                );
            }
        }
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
        for path in [
            "memory.db",
            "./memory",
            "/data/memory",
            "memories",
            "my-memory.db",
            "pets.db",
            "files",
            "./shop:1@2.db",
            "/data/host=1/shop.db",
            "a=b.db",
            "data//shop.db",
            "shop 1.db",
            "pets@2.db",
        ] {
            assert_eq!(Db::parse(path), Ok(Db::File(path.into())), "{path}");
        }
        // On Windows it begins with a drive, such as `C:`.
        let absolute = std::env::temp_dir().join("shop.db");
        assert_eq!(Db::check_target(&absolute), Ok(()));
        assert_eq!(Db::parse(absolute.to_str().unwrap()), Ok(Db::File(absolute)));
    }
}
