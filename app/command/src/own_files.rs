//! The files that a store or a server uses, so that no export or backup writes over one of them.
//!
//! A file that exists is recognised by its inode, under any name. A file that does not exist at the moment, such as the
//! `-wal` of a store at rest, is recognised by its place, the inode of its folder and its name: what is written there
//! would be read as that file later.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::path::{self, Path, PathBuf};

use petstore_platform::{FileId, id_at};
use petstore_remote_connection::Roots;
use petstore_sqlite::{COMPANIONS, companion};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::settings::{Db, ServeArgs};
use crate::{sandbox, webhook_key};

/// SQLite's rollback journal, which exists while a file without a write-ahead log is changed.
const ROLLBACK_JOURNAL: &str = "-journal";

/// The endings of the temporary files beside the target of an export or a backup.
const TEMPORARY: [&str; 4] = ["", ".part", ".part-journal", ".part.events.part"];

/// The maximum number of files in the folders of `SSL_CERT_DIR` that are looked at.
const CERTIFICATES_MAX: usize = 1_000;

/// The maximum number of bytes in which the beginning of a key is looked for.
const PEM_MAX: u64 = 64 * 1_024;

/// A file of a store or a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnFile {
    /// The role of the file, for messages.
    what: String,
    /// The absolute path; none if it is not UTF-8.
    path: Option<PathBuf>,
    /// The device and the inode; none if the file does not exist.
    id: Option<(u64, u64)>,
    /// The device and the inode of its folder, which may be mounted in several places; none if the folder does not exist.
    #[serde(default)]
    folder: Option<(u64, u64)>,
}

impl OwnFile {
    fn of(what: &str, file: &Path) -> Self {
        let path = place(file).filter(|path| path.to_str().is_some());
        let folder = path.as_deref().and_then(folder_id);
        Self { what: what.to_owned(), path, id: id(file), folder }
    }

    fn is(&self, file: &Path) -> bool {
        if self.id.is_some() && self.id == id(file) {
            return true;
        }
        let (Some(path), Some(place)) = (&self.path, place(file)) else { return false };
        let is_in_folder = || self.folder.is_some() && self.folder == folder_id(&place);
        *path == place || (path.file_name() == place.file_name() && is_in_folder())
    }
}

fn id(file: &Path) -> Option<(u64, u64)> {
    id_at(file).ok().map(FileId::pair)
}

fn folder_id(file: &Path) -> Option<(u64, u64)> {
    id(file.parent()?)
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
        (FIRST_KEY, args.initial_key_file.clone()),
        ("the file of the setting db-password-file", args.db_password_file.clone()),
        ("the file of the setting redis-password-file", args.redis_password_file.clone()),
        ("the file cacert of the URL in redis-url", issuers_of_redis(args)),
        ("the settings file", config),
    ];
    let named = named.into_iter().filter_map(|(what, file)| Some((what, file?)));
    of_store(&args.db).into_iter().chain(named).chain(of_environment()).collect()
}

/// The role of the setting whose file a start may write.
const FIRST_KEY: &str = "the file of the setting initial-key-file";

/// Fails if a start would write the first key over another file of the server.
pub(crate) fn check_first_key(args: &ServeArgs, config: Option<PathBuf>) -> Result<(), Failure> {
    let Some(file) = &args.initial_key_file else { return Ok(()) };
    let others: Vec<_> = of_server(args, config).into_iter().filter(|(what, _)| *what != FIRST_KEY).collect();
    match written_over(&now(&others), file) {
        None => Ok(()),
        Some((_, what)) => Err(Failure::usage(format!(
            "initial-key-file is {what}, over which the first key would be written: name another file"
        ))),
    }
}

/// The file of this program, which a server may be running, too.
pub(crate) fn of_program() -> Option<NamedFile> {
    Some(("the program", env::current_exe().ok()?))
}

/// Refuses a target at which one of these files, or any key or certificate, would be written over. `what`: what is written.
pub(crate) fn spare(files: &[OwnFile], target: &Path, what: &str) -> Result<(), Failure> {
    let fault = |file: &Path, role: &str| {
        Failure::because(format!("{} {role}: name another file for {what}", file.display()))
    };
    match written_over(files, target) {
        Some((name, role)) => Err(fault(&name, &format!("is {role}"))),
        None if is_pem(target) => Err(fault(target, "has a key or certificates")),
        None => Ok(()),
    }
}

/// Returns whether a regular file has a key or certificates, whatever uses them.
fn is_pem(file: &Path) -> bool {
    // Reading a pipe would wait for its writer.
    if !file.is_file() {
        return false;
    }
    let mut begin = Vec::new();
    // Texts may stand before the first one.
    let read = fs::File::open(file).and_then(|file| file.take(PEM_MAX).read_to_end(&mut begin));
    let mark = b"-----BEGIN ";
    read.is_ok() && begin.windows(mark.len()).any(|bytes| bytes == mark)
}

/// The files of trusted certificates that variables of the environment name.
pub(crate) fn of_environment() -> Vec<NamedFile> {
    certificates(env::var_os("SSL_CERT_FILE"), env::var_os("SSL_CERT_DIR").as_deref())
}

/// A file of certificates, and all files in these folders.
fn certificates(file: Option<OsString>, folders: Option<&OsStr>) -> Vec<NamedFile> {
    let file = file.map(|file| ("the file of the variable SSL_CERT_FILE", PathBuf::from(file)));
    let folders = folders.into_iter().flat_map(env::split_paths);
    let entries = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let in_folders = entries.map(|entry| ("a file in a folder of the variable SSL_CERT_DIR", entry.path()));
    file.into_iter().chain(in_folders.take(CERTIFICATES_MAX)).collect()
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
    use petstore_test_servers::skips::skip_on_this_system;
    use petstore_test_servers::system::{is_unix, symlink};

    use super::*;

    /// Makes a symbolic link. Returns false, with a line about the skip, on a system that makes none.
    fn is_linked(target: &Path, link: &Path) -> bool {
        let Err(error) = symlink(target, link) else { return true };
        assert!(!is_unix(), "{error}");
        skip_on_this_system(&format!("the part with a symbolic link: {error}"));
        false
    }

    #[test]
    fn a_file_is_found_by_its_inode_and_by_its_place() {
        let folder = std::env::temp_dir().join(format!("petstore-own-files-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let data = folder.join("shop.db");
        fs::write(&data, "data").unwrap();
        fs::write(folder.join("shop.db.webhook-key"), "key").unwrap();
        fs::hard_link(folder.join("shop.db.webhook-key"), folder.join("link")).unwrap();
        let has_links =
            is_linked(&folder, &folder.join("folder")) && is_linked(&data, &folder.join("export.part"));
        let files = now(&of_store(&Db::File(data)));
        let what = |name: &str| written_over(&files, &folder.join(name)).map(|(_, what)| what.to_owned());
        let (key, part) = ("the master key of webhooks", "a part of the data file");
        for (name, expected) in [
            ("shop.db", Some("the data file")),
            ("shop.db.webhook-key", Some(key)),
            ("link", Some(key)),
            // These do not exist.
            ("shop.db-wal", Some(part)),
            ("shop.db-journal", Some(part)),
            ("shop.db.lock", Some(part)),
            ("shop.db.sock", Some("the admin socket")),
            ("other.db", None),
            ("other/shop.db", None),
        ] {
            assert_eq!(what(name).as_deref(), expected, "{name}");
        }
        for (name, expected) in [
            ("folder/shop.db", Some("the data file")),
            ("folder/shop.db-shm", Some(part)),
            // The temporary file is a link to the data file.
            ("export", Some("the data file")),
        ] {
            assert!(!has_links || what(name).as_deref() == expected, "{name}: {:?}", what(name));
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

    #[test]
    fn the_first_key_is_not_written_over_another_file_of_the_server() {
        let folder = std::env::temp_dir().join(format!("petstore-first-key-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("wk"), "key").unwrap();
        let has_link = is_linked(&folder.join("wk"), &folder.join("link"));
        let check = |name: &str| {
            let flag = |name: &str, file: &str| format!("--{name}={}", folder.join(file).display());
            let given =
                [flag("db", "shop.db"), flag("webhook-key-file", "wk"), flag("initial-key-file", name)];
            let given = ["petstore".to_owned()].into_iter().chain(given);
            let matches =
                ServeArgs::augment_args(Command::new("petstore")).try_get_matches_from(given).unwrap();
            let args = ServeArgs::from_arg_matches(&matches).unwrap();
            check_first_key(&args, Some(folder.join("p.toml"))).map_err(|failure| failure.message)
        };
        for name in
            ["shop.db", "shop.db-wal", "shop.db-shm", "shop.db.lock", "shop.db.sock", "wk", "link", "p.toml"]
        {
            if name == "link" && !has_link {
                continue;
            }
            let message = check(name).unwrap_err();
            assert!(
                message.starts_with("initial-key-file is the ") || message.contains("a part of"),
                "{message}"
            );
        }
        assert_eq!(check("first-key"), Ok(()));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_program_and_any_key_are_spared() {
        let folder = std::env::temp_dir().join(format!("petstore-spared-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (key, other) = (folder.join("key.pem"), folder.join("old.ndjson"));
        fs::write(&key, "a key\n-----BEGIN PRIVATE KEY-----\n").unwrap();
        fs::write(&other, "{}\n").unwrap();
        let files = now(&of_program().into_iter().collect::<Vec<_>>());
        let why = |file: &Path| spare(&files, file, "the export").err().map(|failure| failure.message);
        assert!(
            why(&key)
                .unwrap()
                .ends_with("key.pem has a key or certificates: name another file for the export")
        );
        assert!(why(&env::current_exe().unwrap()).unwrap().contains(" is the program: "));
        assert_eq!((why(&other), why(&folder), why(&folder.join("new"))), (None, None, None));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_trusted_certificates_of_the_environment_are_found_by_their_inode() {
        let folder = std::env::temp_dir().join(format!("petstore-trusted-files-{}", std::process::id()));
        fs::create_dir_all(folder.join("trusted")).unwrap();
        for name in ["trusted.pem", "trusted/a.pem"] {
            fs::write(folder.join(name), "certificates").unwrap();
        }
        fs::hard_link(folder.join("trusted/a.pem"), folder.join("link")).unwrap();
        let path = |name: &str| folder.join(name).into_os_string();
        let folders = env::join_paths([path("missing"), path("trusted")]).unwrap();
        let files = now(&certificates(Some(path("trusted.pem")), Some(&folders)));
        let what = |name: &str| written_over(&files, &folder.join(name)).map(|(_, what)| what.to_owned());
        let in_folder = Some("a file in a folder of the variable SSL_CERT_DIR");
        for (name, expected) in [
            ("trusted.pem", Some("the file of the variable SSL_CERT_FILE")),
            ("trusted/a.pem", in_folder),
            ("link", in_folder),
            ("trusted/b.pem", None),
        ] {
            assert_eq!(what(name).as_deref(), expected, "{name}");
        }
        assert!(certificates(None, None).is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}
