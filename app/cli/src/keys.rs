//! `petstore keys` and `petstore accounts`: what an operator does, through the server's admin socket.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use petstore_domain::{ApiKey, Scopes, Timestamp};
use petstore_ports::Entropy;

use crate::admin::{AccountView, Answer, KeyRef, KeyView, PlanChoice, PlanName, Request, ask};
use crate::at_rest;
use crate::environment::SystemEntropy;
use crate::settings::expected::duration;
use crate::settings::{DEFAULT_DB, Db};
use crate::table::Table;
use crate::{Failure, print};

/// Where the server is, and how to print.
#[derive(Debug, Args)]
pub(crate) struct Through {
    /// The server's admin socket; FILE.sock beside the data unless told otherwise
    #[arg(long, env = "PETSTORE_ADMIN_SOCKET", value_name = "FILE", global = true)]
    admin_socket: Option<PathBuf>,

    /// Where the data is kept, for when no server runs
    #[arg(long, env = "PETSTORE_DB", default_value = DEFAULT_DB, value_parser = Db::parse, value_name = "FILE|memory", global = true)]
    db: Db,

    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
}

/// Which server.
#[derive(Debug, Args)]
pub(crate) struct ReloadArgs {
    #[command(flatten)]
    through: Through,
}

impl ReloadArgs {
    /// Has the server read its settings anew, and says what became of them.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let socket = self.through.socket();
        match ask(&socket, &Request::Reload)?.map(Answer::understood).transpose()? {
            Some(Answer::Reloaded { lines }) if self.through.json => print_json(&lines),
            Some(Answer::Reloaded { lines }) => print(&(lines.join("\n") + "\n")),
            Some(_) => Err(unexpected()),
            None => Err(Failure::because(format!("no server answers at {}", socket.display()))),
        }
    }
}

/// The plan of an account.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The account's plan
    #[arg(long, value_enum)]
    plan: Option<PlanName>,

    /// Requests a minute (enterprise)
    #[arg(long, value_name = "N", requires = "day")]
    minute: Option<u32>,

    /// Requests a day (enterprise)
    #[arg(long, value_name = "N", requires = "minute")]
    day: Option<u32>,
}

impl PlanArgs {
    /// Limits without a plan mean the plan that has its own.
    fn choice(&self) -> Result<Option<PlanChoice>, Failure> {
        let plan = self.plan.or(self.minute.map(|_| PlanName::Enterprise));
        let choice = plan.map(|plan| PlanChoice { plan, minute: self.minute, day: self.day });
        // Wrong here is wrong there: the fault of a command line is a usage fault.
        choice.map(PlanChoice::plan).transpose().map_err(Failure::usage)?;
        Ok(choice)
    }
}

/// `petstore keys …`
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key, shown once
    Create {
        /// The account it is for, made if there is none of this name; a new one unless told otherwise
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        #[command(flatten)]
        plan: PlanArgs,
        /// What the key permits: read, write or both
        #[arg(long, default_value = "read,write", value_parser = scopes, value_name = "SCOPES")]
        scopes: String,
        /// When it expires: 30d, or 2030-12-05T00:00:00Z
        #[arg(long, value_parser = expiry, value_name = "TIME")]
        expires: Option<String>,
        /// What you call it
        #[arg(long, default_value = "", value_name = "TEXT")]
        label: String,
        /// Print the key alone
        #[arg(long, conflicts_with = "json")]
        quiet: bool,
    },
    /// List all keys
    List,
    /// Show one key
    Show {
        /// Its id, or its first twelve characters
        key: String,
    },
    /// Change a key
    Update {
        /// Its id, or its first twelve characters
        key: String,
        /// What the key permits: read, write or both
        #[arg(long, value_parser = scopes, value_name = "SCOPES")]
        scopes: Option<String>,
        /// When it expires: 30d, 2030-12-05T00:00:00Z, or never
        #[arg(long, value_parser = expiry_or_never, value_name = "TIME")]
        expires: Option<String>,
        /// What you call it
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
    },
    /// Make a second key like this one, which lives on for an overlap
    Rotate {
        /// Its id, or its first twelve characters
        key: String,
        /// How long the old key lives on
        #[arg(long, env = "PETSTORE_OVERLAP", default_value = "1h", value_parser = duration, value_name = "TIME")]
        overlap: Duration,
        /// Print the new key alone
        #[arg(long, conflicts_with = "json")]
        quiet: bool,
    },
    /// End a key's life at once, for good
    Revoke {
        /// Its id, or its first twelve characters
        key: String,
    },
    /// Lift a key's ban
    Unban {
        /// Its id, or its first twelve characters
        key: String,
    },
    /// Print a well-formed key and store nothing
    Generate,
}

/// `petstore accounts …`
#[derive(Debug, Subcommand)]
pub(crate) enum AccountsCommand {
    /// List all accounts
    List,
    /// Rename an account, or move it to another plan
    Update {
        /// Its name
        account: String,
        #[command(flatten)]
        plan: PlanArgs,
        /// Its new name
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
}

impl KeysCommand {
    /// Does what the command says.
    pub(crate) fn run(self, through: &Through) -> Result<(), Failure> {
        let key_ref = KeyRef;
        match self {
            Self::Create { account, plan, scopes, expires, label, quiet } => {
                let plan = plan.choice()?;
                through.created(Request::CreateKey { account, plan, label, scopes, expires }, quiet)
            }
            Self::List => through.list_keys(),
            Self::Show { key } => through.key(Request::ShowKey { key: key_ref(key) }),
            Self::Update { key, scopes, expires, label } => {
                through.key(Request::UpdateKey { key: key_ref(key), label, scopes, expires })
            }
            Self::Rotate { key, overlap, quiet } => {
                let overlap_secs = overlap.as_secs();
                through.created(Request::RotateKey { key: key_ref(key), overlap_secs }, quiet)
            }
            Self::Revoke { key } => through.key(Request::RevokeKey { key: key_ref(key) }),
            Self::Unban { key } => through.key(Request::LiftBan { key: key_ref(key) }),
            Self::Generate => {
                let bits = SystemEntropy.bits().map_err(|error| Failure::because(error.to_string()))?;
                print(&format!("{}\n", ApiKey::from_entropy(bits).reveal()))
            }
        }
    }
}

impl AccountsCommand {
    /// Does what the command says.
    pub(crate) fn run(self, through: &Through) -> Result<(), Failure> {
        match self {
            Self::List => through.list_accounts(),
            Self::Update { account, plan, name } => {
                let plan = plan.choice()?;
                match through.ask(Request::UpdateAccount { account, name, plan })? {
                    Answer::Account { account } if through.json => print_json(&account),
                    Answer::Account { account } => print(&accounts_table(&[account])),
                    _ => Err(unexpected()),
                }
            }
        }
    }
}

impl Through {
    fn socket(&self) -> PathBuf {
        self.admin_socket.clone().unwrap_or_else(|| self.db.admin_socket())
    }

    /// Asks the server that owns the store, or where none runs the store itself.
    fn ask(&self, request: Request) -> Result<Answer, Failure> {
        let socket = self.socket();
        match (ask(&socket, &request)?, &self.db) {
            (Some(answer), _) => answer.understood(),
            (None, Db::File(file)) if file.exists() => at_rest::ask(&self.db, request)?.understood(),
            (None, _) => Err(Failure::because(format!(
                "no server answers at {}, and there is no data in {}: start one with `petstore serve`, or name its \
                 --admin-socket or --db",
                socket.display(),
                self.db
            ))),
        }
    }

    fn created(&self, request: Request, quiet: bool) -> Result<(), Failure> {
        let Answer::Created { secret, key } = self.ask(request)? else { return Err(unexpected()) };
        if self.json {
            let mut json = serde_json::to_value(&key).map_err(|error| Failure::because(error.to_string()))?;
            json["key"] = secret.into();
            return print_json(&json);
        }
        // If it cannot be shown it is lost, but it opens doors: whoever made it must know which one to revoke.
        let id = key.id;
        let shown = if quiet {
            print(&format!("{secret}\n"))
        } else {
            let said = format!("{secret}\n\nThis is the one time that the key is shown. Its id is {id}.\n");
            print(&format!("{said}{}", keys_table(&[key])))
        };
        shown.map_err(|failure| {
            Failure::because(format!("{}; key {id} was made and is lost: revoke it", failure.message))
        })
    }

    fn key(&self, request: Request) -> Result<(), Failure> {
        match self.ask(request)? {
            Answer::Key { key } if self.json => print_json(&key),
            Answer::Key { key } => print(&keys_table(&[key])),
            _ => Err(unexpected()),
        }
    }

    fn list_keys(&self) -> Result<(), Failure> {
        let mut all: Vec<KeyView> = Vec::new();
        loop {
            let after = all.last().map(|key| key.id);
            let Answer::Keys { keys, more } = self.ask(Request::ListKeys { after })? else {
                return Err(unexpected());
            };
            all.extend(keys);
            if !more {
                return if self.json { print_json(&all) } else { print(&keys_table(&all)) };
            }
        }
    }

    fn list_accounts(&self) -> Result<(), Failure> {
        let mut all: Vec<AccountView> = Vec::new();
        loop {
            let after = all.last().map(|account| account.id);
            let Answer::Accounts { accounts, more } = self.ask(Request::ListAccounts { after })? else {
                return Err(unexpected());
            };
            all.extend(accounts);
            if !more {
                return if self.json { print_json(&all) } else { print(&accounts_table(&all)) };
            }
        }
    }
}

fn scopes(text: &str) -> Result<String, String> {
    let scopes = Scopes::parse(text).ok_or("expected read, write, or both: read,write")?;
    Ok(scopes.as_str().to_owned())
}

/// The server knows what time it is; here only the form is judged.
fn expiry(text: &str) -> Result<String, String> {
    if duration(text).is_ok() || Timestamp::parse(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err("expected a time such as 30d, or a date such as 2030-12-05T00:00:00Z".to_owned())
}

fn expiry_or_never(text: &str) -> Result<String, String> {
    if text == "never" { Ok(text.to_owned()) } else { expiry(text) }
}

fn unexpected() -> Failure {
    Failure::because("the server answered something else: is it of another version?")
}

fn print_json<T: serde::Serialize>(value: &T) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).map_err(|error| Failure::because(error.to_string()))?;
    print(&format!("{json}\n"))
}

fn keys_table(keys: &[KeyView]) -> String {
    let mut table = Table::new(["ID", "KEY", "ACCOUNT", "PLAN", "SCOPES", "STATE", "UNTIL", "LABEL"]);
    for key in keys {
        let until = key.banned_until.as_ref().or(key.revoked_at.as_ref()).or(key.expires_at.as_ref());
        table.row([
            key.id.to_string(),
            format!("{}…", key.prefix),
            key.account.clone(),
            key.plan.clone(),
            key.scopes.clone(),
            key.state.clone(),
            until.cloned().unwrap_or_default(),
            key.label.clone(),
        ]);
    }
    table.to_string()
}

fn accounts_table(accounts: &[AccountView]) -> String {
    let mut table = Table::new(["ID", "NAME", "PLAN", "MINUTE", "DAY", "SINCE"]);
    let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    for account in accounts {
        table.row([
            account.id.to_string(),
            account.name.clone(),
            account.plan.clone(),
            number(account.minute),
            number(account.day),
            account.created_at.clone(),
        ]);
    }
    table.to_string()
}
