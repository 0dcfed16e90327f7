//! The files that a store or a server uses, so that no export or backup writes over one of them.
//!
//! A file that exists is recognised by its inode, under any name. A file that does not exist at the moment, such as the
//! `-wal` of a store at rest, is recognised by its place: what is written there would be read as that file later.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};

use petstore_remote_connection::Roots;
use petstore_sqlite::{COMPANIONS, companion};
use serde::{Deserialize, Serialize};

use crate::settings::{Db, ServeArgs};
use crate::{sandbox, webhook_key};

/// SQLite's rollback journal, which exists while a file without a write-ahead log is changed.
const ROLLBACK_JOURNAL: &str = "-journal";

/// The endings of the temporary files beside the target of an export or a backup.
const TEMPORARY: [&str; 4] = ["", ".part", ".part-journal", ".part.events.part"];

/// A file of a store or a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnFile {
    /// The role of the file, for messages.
    what: String,
    /// The absolute path; none if it is not UTF-8.
    path: Option<PathBuf>,
    /// The device and the inode; none if the file does not exist.
    id: Option<(u64, u64)>,
}

impl OwnFile {
    fn of(what: &str, file: &Path) -> Self {
        let path = place(file).filter(|path| path.to_str().is_some());
        Self { what: what.to_owned(), path, id: id(file) }
    }

    fn is(&self, file: &Path) -> bool {
        let is_same = self.id.is_some() && self.id == id(file);
        is_same || (self.path.is_some() && self.path == place(file))
    }
}

fn id(file: &Path) -> Option<(u64, u64)> {
    fs::metadata(file).ok().map(|found| (found.dev(), found.ino()))
}

/// The absolute path of a file that may not exist, with the links of its folder resolved.
fn place(file: &Path) -> Option<PathBuf> {
    let file = path::absolute(file).ok()?;
    let folder = fs::canonicalize(file.parent()?).ok()?;
    Some(folder.join(file.file_name()?))
}

/// A file with its role.
pub(crate) type NamedFile = (&'static str, PathBuf);

/// The files of a store: its data file with the files beside it, or the file that the URL of a database names.
pub(crate) fn of_store(db: &Db) -> Vec<NamedFile> {
    let data = match db {
        Db::Memory => return Vec::new(),
        Db::File(data) => data,
        Db::Postgres(target) => {
            let named = target
                .sslrootcert()
                .map(|file| ("the file sslrootcert of the database's URL", file.to_owned()));
            return named.into_iter().collect();
        }
    };
    let beside = COMPANIONS.into_iter().chain([ROLLBACK_JOURNAL, sandbox::MARK]);
    let parts = beside.map(|end| ("a part of the data file", companion(data, end)));
    let rest = [
        ("the data file", data.clone()),
        ("the master key of webhooks", webhook_key::beside(data)),
        ("the admin socket", db.admin_socket()),
    ];
    rest.into_iter().chain(parts).collect()
}

/// The files of a server: those of its store, and those that its settings name.
pub(crate) fn of_server(args: &ServeArgs, config: Option<PathBuf>) -> Vec<NamedFile> {
    let named = [
        ("the admin socket", Some(args.admin_socket())),
        ("the file of the setting webhook-key-file", args.webhook_key_file.clone()),
        ("the file of the setting webhook-ca", args.webhook_ca.clone()),
        ("the file of the setting tls-cert", args.tls_cert.clone()),
        ("the file of the setting tls-key", args.tls_key.clone()),
        ("the file of the setting initial-key-file", args.initial_key_file.clone()),
        ("the file of the setting db-password-file", args.db_password_file.clone()),
        ("the file of the setting redis-password-file", args.redis_password_file.clone()),
        ("the file cacert of the URL in redis-url", issuers_of_redis(args)),
        ("the settings file", config),
    ];
    let named = named.into_iter().filter_map(|(what, file)| Some((what, file?)));
    of_store(&args.db).into_iter().chain(named).collect()
}

fn issuers_of_redis(args: &ServeArgs) -> Option<PathBuf> {
    match args.redis_url.as_ref()?.roots() {
        Roots::File(file) => Some(file.to_owned()),
        Roots::System | Roots::NotNeeded => None,
    }
}

/// The files as they are at this moment.
pub(crate) fn now(files: &[NamedFile]) -> Vec<OwnFile> {
    files.iter().map(|(what, file)| OwnFile::of(what, file)).collect()
}

/// Finds the file that an export or a backup to `target` would write over, at the target or at the name of a temporary
/// file. Returns that name and the role of the file.
pub(crate) fn written_over<'f>(files: &'f [OwnFile], target: &Path) -> Option<(PathBuf, &'f str)> {
    let resolved = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    for end in TEMPORARY {
        let with_end = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        for name in [with_end(target), with_end(&resolved)] {
            if let Some(found) = files.iter().find(|file| file.is(&name)) {
                return Some((name, &found.what));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    #[test]
    fn a_file_is_found_by_its_inode_and_by_its_place() {
        let folder = std::env::temp_dir().join(format!("petstore-own-files-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let data = folder.join("shop.db");
        fs::write(&data, "data").unwrap();
        fs::write(folder.join("shop.db.webhook-key"), "key").unwrap();
        fs::hard_link(folder.join("shop.db.webhook-key"), folder.join("link")).unwrap();
        std::os::unix::fs::symlink(&folder, folder.join("folder")).unwrap();
        std::os::unix::fs::symlink(&data, folder.join("export.part")).unwrap();
        let files = now(&of_store(&Db::File(data)));
        let what = |name: &str| written_over(&files, &folder.join(name)).map(|(_, what)| what.to_owned());
        let (key, part) = ("the master key of webhooks", "a part of the data file");
        for (name, expected) in [
            ("shop.db", Some("the data file")),
            ("folder/shop.db", Some("the data file")),
            ("shop.db.webhook-key", Some(key)),
            ("link", Some(key)),
            // These do not exist.
            ("shop.db-wal", Some(part)),
            ("folder/shop.db-shm", Some(part)),
            ("shop.db-journal", Some(part)),
            ("shop.db.lock", Some(part)),
            ("shop.db.sock", Some("the admin socket")),
            // The temporary file is a link to the data file.
            ("export", Some("the data file")),
            ("other.db", None),
            ("other/shop.db", None),
        ] {
            assert_eq!(what(name).as_deref(), expected, "{name}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_a_url_names_is_found_by_its_inode() {
        let folder = std::env::temp_dir().join(format!("petstore-url-files-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        for name in ["postgres.pem", "redis.pem"] {
            fs::write(folder.join(name), "certificates").unwrap();
            fs::hard_link(folder.join(name), folder.join(format!("link-to-{name}"))).unwrap();
        }
        let place = folder.display();
        let db =
            format!("postgres://user@db.example/shop?sslmode=verify-full&sslrootcert={place}/postgres.pem");
        let redis = format!("--redis-url=rediss://cache.example?cacert={place}/redis.pem");
        let given = ["petstore", &format!("--db={db}"), &redis];
        let matches = ServeArgs::augment_args(Command::new("petstore")).try_get_matches_from(given).unwrap();
        let args = ServeArgs::from_arg_matches(&matches).unwrap();
        let of_server = now(&of_server(&args, None));
        let of_store = now(&of_store(&Db::parse(&db).unwrap()));
        let what =
            |files, name: &str| written_over(files, &folder.join(name)).map(|(_, what)| what.to_owned());
        for begin in ["", "link-to-"] {
            let (postgres, redis) = (format!("{begin}postgres.pem"), format!("{begin}redis.pem"));
            for files in [&of_server, &of_store] {
                let expected = "the file sslrootcert of the database's URL";
                assert_eq!(what(files, &postgres).as_deref(), Some(expected), "{postgres}");
            }
            let expected = "the file cacert of the URL in redis-url";
            assert_eq!(what(&of_server, &redis).as_deref(), Some(expected), "{redis}");
        }
        assert_eq!(what(&of_server, "other.pem"), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
