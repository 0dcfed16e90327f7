//! `petstore import`, `export` and `backup`. They work through a running server or on the data file.

mod copy_size;
mod output;
mod via_server;

use std::fs;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use petstore_http::IdleTime;
use petstore_ports::{Row, WorkPhase, WorkProgress, WorkUnit};
use petstore_shop_lines::{self as lines_of_shop, End, ImportFailure, Imported};
use petstore_sqlite::{BackupError, Copied, OpenError, PartialFile, backup, is_database, read_snapshot};
use serde_json::{Value, json};

use self::copy_size::CopySize;
use self::output::Output;
use self::via_server::Asked;
use crate::admin::{AdminAnswer, AdminRequest, NOT_UNDERSTOOD, Stream, ask_within, connect};
use crate::environment::Stopwatch;
use crate::failure::Failure;
use crate::keys::StoreTarget;
use crate::migration_report;
use crate::own_files;
use crate::plural::counted;
use crate::progress::{CountedBulk, CountedReader, ProgressReport};
use crate::settings::{Db, of_a_server_here};
use crate::shop_lines::{RowSink, collisions, export_snapshot};
use crate::store::{Backend, IF_LOG_DAMAGED, NAME_ITS_SOCKET, check_made, check_readable, open_readable};
use crate::terminal::notify;
use crate::terminal::print;
use crate::terminal::visible_json;
use crate::{webhook_key, webhooks};

/// The time limit for the server's answer about its file. It is short, because the operator may make the backup just
/// because the server hangs.
const CHECK_TIME: Duration = Duration::from_secs(2);

/// The store and the file of a transfer.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// The file
    file: PathBuf,

    #[command(flatten)]
    target: StoreTarget,

    /// Print no result
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
}

/// The arguments of an import.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    transfer: TransferArgs,

    /// Rename categories whose names collide: the younger one gets its id behind its name
    #[arg(long)]
    rename_collisions: bool,
}

impl ImportArgs {
    /// Imports a file into an empty store: all of it or nothing.
    pub(crate) fn import(&self) -> Result<(), Failure> {
        self.transfer.import(self.rename_collisions)
    }
}

/// The result of an export.
struct Exported {
    lines: u64,
    /// The number of webhooks in the store. An export has none of them, because their secrets cannot be exported.
    webhooks: u64,
}

impl TransferArgs {
    /// Imports a file into an empty store: all of it or nothing.
    fn import(&self, rename: bool) -> Result<(), Failure> {
        let (input, size): (Box<dyn Read>, _) = if self.is_standard() {
            (Box::new(io::stdin()), None)
        } else {
            // A message about a missing file shows its name, in which a password may stand if it is a database's.
            let named =
                |error| Db::check_target(&self.file).map_or_else(Failure::usage, |()| self.fault(&error));
            let file = open_readable(&self.file).map_err(named)?;
            let size = file.metadata().ok().filter(fs::Metadata::is_file).map(|found| found.len());
            (Box::new(file), size)
        };
        let progress = self.progress();
        let (count, renamed, place, into) = if let Some(server) = self.server()? {
            let input = CountedReader::new(input, &*progress, "sending", size);
            let imported = via_server::import(server, input, rename, &*progress, |error| self.fault(error));
            progress.end();
            let (count, renamed) = imported?;
            (count, renamed, "the running server".to_owned(), self.target.socket().display().to_string())
        } else {
            let db = self.data_at_rest(false)?;
            let backend = Backend::open(&db, NAME_ITS_SOCKET, IdleTime::default(), &progress)?;
            let lines = BufReader::new(CountedReader::new(input, &*progress, "reading", size));
            let imported =
                lines_of_shop::import(backend.bulk(), lines, End::OfInput, collisions(rename), &progress);
            progress.end();
            backend.close();
            // The message names the store, because the operator may have meant a server with a store in memory.
            let db = self.target.db.to_string();
            let Imported { lines, renamed } = imported.map_err(|why| unimported(&why))?;
            (lines, migration_report::renamed_categories(&renamed), db.clone(), db)
        };
        for line in &renamed {
            notify(line);
        }
        self.done(&json!({"lines": count, "into": into}), &format!("{} imported into {place}", lines(count)))
    }

    /// Exports the whole shop.
    pub(crate) fn export(&self, config: Option<&Path>) -> Result<(), Failure> {
        if self.target.json && self.is_standard() {
            return Err(Failure::usage(
                "--json needs an export to a file, because standard output carries the lines: name a file",
            ));
        }
        if !self.is_standard() {
            Db::check_target(&self.file).map_err(Failure::usage)?;
            self.spare_files("the export", config)?;
            self.spare_data()?;
        }
        let output = if self.is_standard() { Ok(Output::standard()) } else { Output::create(&self.file) };
        let mut output = output.map_err(|error| self.fault(&error))?;
        let Exported { lines: count, webhooks } = match self.export_to(&mut output) {
            // A closed pipe is not a failure.
            Err(_) if output.is_unread() => return Ok(()),
            done => done?,
        };
        if webhooks > 0 {
            notify(&format!(
                "{} left out of the export: after an import their owners create them again, and their receivers need the new \
                 secrets",
                counted(webhooks, "webhook")
            ));
        }
        let done = json!({"file": self.file, "lines": count, "webhooksLeftOut": webhooks});
        self.done(&done, &format!("{} exported", lines(count)))
    }

    fn export_to(&self, output: &mut Output) -> Result<Exported, Failure> {
        let progress = self.progress();
        let exported = self.export_watched(output, &progress);
        progress.end();
        exported
    }

    fn export_watched(
        &self,
        output: &mut Output,
        progress: &Arc<dyn WorkProgress>,
    ) -> Result<Exported, Failure> {
        let mut webhooks = 0;
        let count = if let Some(server) = self.server()? {
            let count = via_server::export(&server, output, &**progress)?;
            // An export is also a way out of damage, so it does not fail for lack of this number.
            webhooks = webhooks::count(&self.target).unwrap_or_default();
            count
        } else {
            match self.data_at_rest(true)? {
                Db::File(file) => {
                    let read = |sink: &mut RowSink<'_>| {
                        read_snapshot(&file, &mut |row| {
                            if let Row::Webhooks(record) = &row {
                                webhooks += record.webhooks.len() as u64;
                            }
                            sink(row)
                        })
                    };
                    progress.begin(WorkPhase { name: "exporting", unit: WorkUnit::Lines, total: None });
                    export_snapshot(&file, read, output, |lines| progress.reached(lines))?
                }
                db => {
                    let backend = Backend::open(&db, NAME_ITS_SOCKET, IdleTime::default(), progress)?;
                    let counts = backend.counts();
                    let total = Some(counts.categories + counts.pets + counts.orders);
                    let shop = CountedBulk::new(backend.bulk(), Arc::clone(progress), "exporting", total);
                    let exported = lines_of_shop::export(&shop, output).map_err(Failure::because);
                    backend.close();
                    webhooks = webhooks::count(&self.target).unwrap_or_default();
                    exported?
                }
            }
        };
        output.finish().map_err(|error| self.fault(&error))?;
        Ok(Exported { lines: count, webhooks })
    }

    /// Copies the data file, whether it is in use or not. Names the master key of webhooks, which is kept apart: that of the
    /// settings, or the one beside the data file.
    pub(crate) fn backup(&self, config: Option<&Path>) -> Result<(), Failure> {
        if self.is_standard() {
            return Err(Failure::usage(
                "a backup needs the name of a file; only an export can write to standard output",
            ));
        }
        Db::check_target(&self.file).map_err(Failure::usage)?;
        let file = match &self.target.db {
            Db::File(file) => file,
            Db::Memory => {
                return Err(Failure::because("a store in memory has no data file: use `petstore export`"));
            }
            Db::Postgres(_) => {
                return Err(Failure::because(
                    "a backup copies a data file: use pg_dump for a database, or `petstore export` for the shop",
                ));
            }
        };
        self.spare_files("the backup", config)?;
        let watch = Stopwatch::start();
        let progress = self.progress();
        let received = self.backup_of_memory(file, &*progress);
        progress.end();
        if let Some(copied) = received? {
            return self.copied(copied, &watch, config);
        }
        let nowhere =
            || Failure::because(format!("{} does not exist: name the data file with --db", self.target.db));
        check_readable(file, nowhere)?;
        self.ask_whether_file_is_well()?;
        let size = CopySize::watch(file, &self.file, &progress);
        let copied = backup(file, &self.file);
        drop(size);
        let copied = copied.map_err(|error| Failure::because(with_remedy(&error)))?;
        self.copied(copied, &watch, config)
    }

    /// Has a server make the backup from its memory. Returns none if no server answers in time, since the operator may
    /// make the backup just because the server hangs.
    fn backup_of_memory(&self, file: &Path, progress: &dyn WorkProgress) -> Result<Option<Copied>, Failure> {
        let Ok(Some(server)) = connect(&self.target.server()) else { return Ok(None) };
        match via_server::backup(&server, CHECK_TIME, file, &self.file, progress)? {
            Asked::Came(copied) => Ok(Some(copied)),
            Asked::CopyFile => Ok(None),
        }
    }

    fn copied(
        &self,
        Copied { pets, orders, bytes }: Copied,
        watch: &Stopwatch,
        config: Option<&Path>,
    ) -> Result<(), Failure> {
        let millis = u64::try_from(watch.elapsed().as_millis()).unwrap_or(u64::MAX);
        let said = format!(
            "{}: {} and {} in {bytes} bytes, written in {millis} ms",
            self.file.display(),
            counted(pets, "pet"),
            counted(orders, "order")
        );
        let mut done =
            json!({"file": self.file, "pets": pets, "orders": orders, "bytes": bytes, "millis": millis});
        let Some(key) = self.webhook_key(config) else { return self.done(&done, &said) };
        done["webhookKeyFile"] = json!(key);
        let file = key.display();
        self.done(
            &done,
            &format!(
                "{said}\nkeep {file} too, apart from the backup: the secrets of webhooks are derived from it"
            ),
        )
    }

    /// The file with the master key of the data file's webhooks, which no backup contains.
    fn webhook_key(&self, config: Option<&Path>) -> Option<PathBuf> {
        let named = of_a_server_here(config).and_then(|args| args.webhook_key_file);
        let Db::File(data) = &self.target.db else { return named };
        named.or_else(|| Some(webhook_key::beside(data)).filter(|file| file.exists()))
    }

    /// Asks the server whether its file is sound, and refuses the backup if it is not. For example, another file may
    /// now have the path of the server's file. Opening this other file would copy the log of the server's file into it.
    /// A server that does not answer, or does not understand the request, is ignored.
    fn ask_whether_file_is_well(&self) -> Result<(), Failure> {
        match ask_within(CHECK_TIME, &self.target.server(), &AdminRequest::CheckFile) {
            Ok(Some(AdminAnswer::Refused { why })) if why != NOT_UNDERSTOOD => {
                Err(Failure::because(format!(
                    "no backup was made: {why}; `petstore export` writes the data that the server has in memory"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Reports the result, as JSON or as text.
    fn done(&self, json: &Value, said: &str) -> Result<(), Failure> {
        if self.target.json {
            return print(&visible_json(&format!("{json:#}\n")));
        }
        if !self.quiet {
            notify(said);
        }
        Ok(())
    }

    /// Refuses a target at which a file of the store or of its server would be written over. The files of a server that
    /// does not answer are not known; those of the settings are.
    fn spare_files(&self, what: &str, config: Option<&Path>) -> Result<(), Failure> {
        let mut files = own_files::of_store(&self.target.db);
        files.extend(own_files::of_environment());
        files.extend(own_files::of_program());
        files.push(("the admin socket", self.target.socket()));
        if let Some(args) = of_a_server_here(config) {
            files.extend(own_files::of_server(&args, config.map(Path::to_owned)));
        }
        let mut files = own_files::now(&files);
        if self.target.asks_a_server()
            && let Ok(Some(AdminAnswer::OwnFiles { files: of_server })) =
                ask_within(CHECK_TIME, &self.target.server(), &AdminRequest::OwnFiles)
        {
            files.extend(of_server);
        }
        own_files::spare(&files, &self.file, what)
    }

    /// Refuses an export that would overwrite a database, either at the target's path or at the path of its temporary
    /// file.
    fn spare_data(&self) -> Result<(), Failure> {
        let target = fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let (part, begins) = (PartialFile::path_of(&target), PartialFile::path_of(&self.file));
        for (file, name) in [(&target, &self.file), (&part, &begins)] {
            if fs::canonicalize(file).is_ok_and(|target| target.is_file() && is_database(&target)) {
                let why = format!("{} is a data file: name another file for the export", name.display());
                return Err(Failure::because(why));
            }
        }
        Ok(())
    }

    fn progress(&self) -> Arc<dyn WorkProgress> {
        // Lines of an export on the terminal would go through the bar.
        let is_in_the_way = self.is_standard() && io::stdout().is_terminal();
        ProgressReport::of_command(self.quiet || is_in_the_way)
    }

    fn is_standard(&self) -> bool {
        self.file == Path::new("-")
    }

    fn server(&self) -> Result<Option<Stream>, Failure> {
        if self.target.asks_a_server() { connect(&self.target.server()) } else { Ok(None) }
    }

    /// Returns the store of a command without a server. With `must_exist`, fails unless the file can be read or the
    /// schema has tables. An export needs the file or the tables, while an import may create them.
    fn data_at_rest(&self, must_exist: bool) -> Result<Db, Failure> {
        let db = self.target.located()?;
        match &db {
            Db::File(file) if must_exist => check_readable(file, || self.target.nowhere())?,
            Db::Postgres(_) if must_exist => check_made(&db)?,
            Db::File(_) | Db::Postgres(_) => {}
            Db::Memory => return Err(self.target.nowhere()),
        }
        Ok(db)
    }

    fn fault(&self, error: &io::Error) -> Failure {
        Failure::because(format!("{}: {error}", self.file.display()))
    }
}

/// The failure of a backup, with advice.
fn with_remedy(error: &BackupError) -> String {
    match error {
        BackupError::Source(OpenError::LogDamaged { .. } | OpenError::LogIncomplete { .. }) => {
            format!("{}{IF_LOG_DAMAGED}", error.report())
        }
        error => error.report(),
    }
}

fn lines(count: u64) -> String {
    counted(count, "line")
}

fn unimported(why: &ImportFailure) -> Failure {
    Failure::because(match why {
        ImportFailure::Nothing(why) => format!("nothing was imported: {why}"),
        ImportFailure::InDoubt(why) => {
            format!("{why}: the import is complete or absent: check before you import again")
        }
    })
}
