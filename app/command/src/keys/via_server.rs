//! The target of administrative commands. It is the server or, if no server runs, the data file.

use std::path::{Path, PathBuf};
use std::sync::Once;

use clap::Args;

use super::tables::keys_table;
use petstore_domain::ApiKey;

use crate::admin::{AccountView, AdminAnswer, AdminRequest, KeyView, Replaced, ServerAddress, ask, connect};
use crate::failure::Failure;
use crate::offline_admin;
use crate::settings::{DEFAULT_DB, Db, PgArgs};
use crate::store::check_made;
use crate::table::show;
use crate::terminal::notify;
use crate::terminal::print;
use crate::terminal::print_once;
use crate::terminal::{visible, visible_json};

/// A display order that lists these options after the command's own.
const LAST: usize = 40;

/// The options that select the store, and the form of the output.
#[derive(Debug, Args)]
pub(crate) struct StoreTarget {
    /// The server's admin socket; default: FILE.sock beside the data file
    #[arg(long, env = "PETSTORE_ADMIN_SOCKET", value_parser = crate::settings::expected::file(), value_name = "FILE", global = true, help_heading = "Server")]
    admin_socket: Option<PathBuf>,

    /// Location of the data: the server's socket is beside it; without a server the command opens it
    #[arg(long, env = "PETSTORE_DB", default_value = DEFAULT_DB, value_parser = Db::parse, value_name = "FILE|memory|URL", global = true, help_heading = "Server")]
    pub(crate) db: Db,

    /// File with the password of the PostgreSQL role
    #[arg(
        long,
        env = "PETSTORE_DB_PASSWORD_FILE",
        value_parser = crate::settings::expected::file(),
        value_name = "FILE",
        global = true,
        help_heading = "Server",
        hide = true
    )]
    db_password_file: Option<PathBuf>,

    #[command(flatten)]
    pg: PgArgs,

    /// Print JSON for programs
    #[arg(long, global = true, display_order = LAST)]
    pub(crate) json: bool,

    /// The settings file, which is a flag of every command.
    #[arg(skip)]
    config: Option<PathBuf>,
}

impl StoreTarget {
    /// Adds the settings file. A command without a server reads the limits of the plans from this file.
    pub(crate) fn with_config(self, config: Option<PathBuf>) -> Self {
        Self { config, ..self }
    }

    pub(super) fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.admin_socket.clone().unwrap_or_else(|| self.db.admin_socket())
    }

    /// The location of the data, with the password of a database.
    pub(crate) fn located(&self) -> Result<Db, Failure> {
        Ok(self.pg.applied(self.db.clone().with_password(self.db_password_file.as_deref())?))
    }

    /// Returns whether the command sends its request to a server. The server behind the default socket may use another
    /// database, so without an explicit socket a command uses the database directly.
    pub(crate) fn asks_a_server(&self) -> bool {
        self.admin_socket.is_some() || !matches!(self.db, Db::Postgres(_))
    }

    /// The server to ask, and its data file, whose owner may also run the server.
    pub(crate) fn server(&self) -> ServerAddress {
        let data = if let Db::File(file) = &self.db { Some(file.clone()) } else { None };
        ServerAddress { socket: self.socket(), data }
    }

    /// Sends a request to the server, or executes it on the file if no server runs.
    pub(crate) fn ask(&self, request: AdminRequest) -> Result<AdminAnswer, Failure> {
        let server = self.server();
        let answer = if self.asks_a_server() { ask(&server, &request)? } else { None };
        match (answer, self.located()?) {
            (Some(answer), _) => answer.understood(),
            (None, Db::File(file)) if !file.exists() => Err(self.nowhere()),
            (None, Db::Memory) => Err(self.nowhere()),
            (None, db) => {
                check_made(&db)?;
                let answer = offline_admin::ask(&db, self.config.as_deref(), request)?.understood()?;
                if self.asks_a_server() {
                    self.tell_that_none_answers(&server.socket);
                }
                Ok(answer)
            }
        }
    }

    /// The failure if there is neither a server nor data.
    pub(crate) fn nowhere(&self) -> Failure {
        Failure::because(format!(
            "no server listens at {}, and {} does not exist: start a server with `petstore serve`, or name its \
                --admin-socket or --db{}",
            self.socket().display(),
            self.db,
            self.hint()
        ))
    }

    /// Prints once that the command opened the file directly, because the operator may have expected a running server.
    fn tell_that_none_answers(&self, socket: &Path) {
        static TOLD: Once = Once::new();
        TOLD.call_once(|| {
            let (socket, hint) = (socket.display(), self.hint());
            notify(&format!("no server listens at {socket}, so {} was opened directly{hint}", self.db));
        });
    }

    /// A hint for an operator in whose folder a server with a store in memory runs. Without an option the command does
    /// not find such a server, because its socket has another name.
    fn hint(&self) -> &'static str {
        let in_memory = Db::Memory.admin_socket();
        let is_there = self.admin_socket.is_none() && self.socket() != in_memory;
        let in_memory = ServerAddress { socket: in_memory, data: None };
        if is_there && matches!(connect(&in_memory), Ok(Some(_))) {
            "; a server with --db memory runs in this folder: add --db memory to use it"
        } else {
            ""
        }
    }

    pub(super) fn created(&self, request: AdminRequest, quiet: bool) -> Result<(), Failure> {
        let is_rotation = matches!(request, AdminRequest::RotateKey { .. });
        let AdminAnswer::Created { secret, key, replaced } = self.ask(request)? else {
            return Err(unexpected());
        };
        // The secret is printed unescaped, so it must be a well-formed key.
        if ApiKey::parse(secret.as_bytes()).is_err() {
            return Err(unexpected());
        }
        // If the key cannot be shown, it is lost but valid. So the message says which key to revoke.
        let id = key.id;
        // A successor gets the same lifetime as the key that it replaces, which the operator may not expect. So the
        // command prints when the successor expires.
        let end = key.expires_at.as_ref().filter(|_| is_rotation);
        let end = end.map(|end| format!("The new key {id} expires at {end}"));
        let shown = if self.json {
            let mut json = serde_json::json!(key);
            json["key"] = secret.into();
            if let Some(replaced) = replaced {
                json["replaced"] = serde_json::json!(replaced);
            }
            print_once(&visible_json(&format!("{json:#}\n")))
        } else if quiet {
            // A shorter overlap than requested is reported even with --quiet.
            let cut_short = replaced.iter().filter(|old| old.is_cut_short).map(lives_until);
            cut_short.chain(end).for_each(|word| notify(&word));
            print_once(&format!("{secret}\n"))
        } else {
            let words = replaced.as_ref().map(lives_until).into_iter().chain(end);
            let words: String = words.map(|word| word + ".\n").collect();
            let said = format!("{secret}\n\nThe key is shown only this once. Its id is {id}.\n{words}");
            print_once(&visible(&said)).and_then(|()| show(&keys_table(&[key])))
        };
        shown.map_err(|failure| {
            Failure::because(format!(
                "{}; key {id} was created but could not be shown: revoke it",
                failure.message
            ))
        })
    }

    pub(super) fn key(&self, request: AdminRequest) -> Result<(), Failure> {
        match self.ask(request)? {
            AdminAnswer::Key { key } if self.json => print_json(&key),
            AdminAnswer::Key { key } => show(&keys_table(&[key])),
            _ => Err(unexpected()),
        }
    }

    pub(super) fn keys(&self) -> Result<Vec<KeyView>, Failure> {
        let mut all: Vec<KeyView> = Vec::new();
        loop {
            let after = all.last().map(|key| key.id);
            let AdminAnswer::Keys { keys, more } = self.ask(AdminRequest::ListKeys { after })? else {
                return Err(unexpected());
            };
            all.extend(keys);
            if !more {
                return Ok(all);
            }
        }
    }

    /// Returns an account by its name, with its keys.
    pub(super) fn account(&self, name: String) -> Result<(AccountView, Vec<KeyView>), Failure> {
        let AdminAnswer::Account { account } = self.ask(AdminRequest::ShowAccount { account: name })? else {
            return Err(unexpected());
        };
        let mut keys = self.keys()?;
        keys.retain(|key| key.account == account.name);
        Ok((account, keys))
    }

    pub(super) fn accounts(&self) -> Result<Vec<AccountView>, Failure> {
        let mut all: Vec<AccountView> = Vec::new();
        loop {
            let after = all.last().map(|account| account.id);
            let AdminAnswer::Accounts { accounts, more } = self.ask(AdminRequest::ListAccounts { after })?
            else {
                return Err(unexpected());
            };
            all.extend(accounts);
            if !more {
                return Ok(all);
            }
        }
    }
}

fn lives_until(old: &Replaced) -> String {
    let Replaced { id, expires_at, is_cut_short } = old;
    let why =
        if *is_cut_short { ": its own expiry or the overlap of an earlier rotation comes first" } else { "" };
    format!("The replaced key {id} stays valid until {expires_at}{why}")
}

pub(crate) fn unexpected() -> Failure {
    Failure::because("unexpected answer: the server may be of another version")
}

pub(crate) fn print_json<T: serde::Serialize>(value: &T) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).map_err(|error| Failure::because(error.to_string()))?;
    print(&visible_json(&format!("{json}\n")))
}
