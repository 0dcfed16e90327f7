//! `petstore keys`, `petstore accounts` and `petstore reload`: administration through the server's admin socket.

mod accounts;
mod copy;
mod tables;
mod via_server;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use petstore_domain::{ApiKey, Scopes, Timestamp};
use petstore_ports::Entropy;

pub(crate) use self::accounts::AccountsCommand;
use self::accounts::PlanArgs;
use self::tables::keys_table;
pub(crate) use self::via_server::StoreTarget;
pub(crate) use self::via_server::{print_json, unexpected};
use crate::admin::{AdminAnswer, AdminRequest, KeyRef, account_name, ask, key_label};
use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::settings::expected::duration;
use crate::table::show;
use crate::terminal::print;
use crate::terminal::visible;

/// The server to reload.
#[derive(Debug, Args)]
pub(crate) struct ReloadArgs {
    #[command(flatten)]
    target: StoreTarget,
}

impl ReloadArgs {
    /// Has the server reload its settings, and prints the result.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let server = self.target.server();
        match ask(&server, &AdminRequest::Reload)?.map(AdminAnswer::understood).transpose()? {
            Some(AdminAnswer::Reloaded { lines }) if self.target.json => print_json(&lines),
            Some(AdminAnswer::Reloaded { lines }) => print(&visible(&(lines.join("\n") + "\n"))),
            Some(_) => Err(unexpected()),
            None => Err(Failure::because(format!(
                "no server listens at {}: name its --admin-socket or --db",
                server.socket.display()
            ))),
        }
    }
}

/// `petstore keys …`
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key and show it once
    Create {
        /// Account of the key, created if it does not exist; default: a new account
        #[arg(long, value_parser = name, value_name = "NAME")]
        account: Option<String>,
        #[command(flatten)]
        plan: PlanArgs,
        /// Scopes of the key: a list of read, write and webhooks
        #[arg(long, default_value = "read,write", value_parser = scopes, value_name = "SCOPES")]
        scopes: String,
        /// When it expires: 30d, 2030-12-05T00:00:00Z, or never
        #[arg(long, default_value = "never", value_parser = expiry_or_never, value_name = "TIME")]
        expires: String,
        /// Label of the key
        #[arg(long, default_value = "", value_parser = label, value_name = "TEXT")]
        label: String,
        /// Print the key alone
        #[arg(long, conflicts_with = "json")]
        quiet: bool,
    },
    /// List keys
    List {
        /// Only keys of this account
        #[arg(long, value_parser = name, value_name = "NAME")]
        account: Option<String>,
    },
    /// Show one key
    Show {
        /// Its id, or its first twelve characters
        #[arg(value_parser = key_ref)]
        key: String,
    },
    /// Change the scopes, the expiry or the label of a key
    Update {
        /// Its id, or its first twelve characters
        #[arg(value_parser = key_ref)]
        key: String,
        /// Scopes of the key: a list of read, write and webhooks
        #[arg(long, value_parser = scopes, value_name = "SCOPES")]
        scopes: Option<String>,
        /// When it expires: 30d, 2030-12-05T00:00:00Z, or never
        #[arg(long, value_parser = expiry_or_never, value_name = "TIME")]
        expires: Option<String>,
        /// Label of the key
        #[arg(long, value_parser = label, value_name = "TEXT")]
        label: Option<String>,
    },
    /// Replace a key: create a new one and keep the old one valid for an overlap
    Rotate {
        /// Its id, or its first twelve characters
        #[arg(value_parser = key_ref)]
        key: String,
        /// Time for which the old key stays valid, at most until its own expiry; default: the server's setting
        #[arg(long, env = "PETSTORE_OVERLAP", value_parser = duration, value_name = "TIME")]
        overlap: Option<Duration>,
        /// Print the new key alone
        #[arg(long, conflicts_with = "json")]
        quiet: bool,
    },
    /// Revoke a key at once and permanently
    Revoke {
        /// Its id, or its first twelve characters
        #[arg(value_parser = key_ref)]
        key: String,
    },
    /// Lift a key's ban
    Unban {
        /// Its id, or its first twelve characters
        #[arg(value_parser = key_ref)]
        key: String,
    },
    /// Copy all accounts and keys of a data file into a database, with their secrets; can be repeated
    Copy {
        /// The data file, which a server may be using
        #[arg(value_parser = crate::settings::expected::file())]
        file: PathBuf,
    },
    /// Print a well-formed key and store nothing
    Generate,
}

impl KeysCommand {
    pub(crate) fn run(self, target: &StoreTarget) -> Result<(), Failure> {
        match self {
            Self::Create { account, plan, scopes, expires, label, quiet } => {
                let plan = plan.choice()?;
                let expires = (expires != NEVER).then_some(expires);
                target.created(AdminRequest::CreateKey { account, plan, label, scopes, expires }, quiet)
            }
            Self::List { account } => {
                let keys = match account {
                    Some(name) => target.account(name)?.1,
                    None => target.keys()?,
                };
                if target.json { print_json(&keys) } else { show(&keys_table(&keys)) }
            }
            Self::Show { key } => target.key(AdminRequest::ShowKey { key: KeyRef(key) }),
            Self::Update { scopes: None, expires: None, label: None, .. } => {
                Err(Failure::usage("nothing to change: give at least one of --scopes, --expires, --label"))
            }
            Self::Update { key, scopes, expires, label } => {
                target.key(AdminRequest::UpdateKey { key: KeyRef(key), label, scopes, expires })
            }
            Self::Rotate { key, overlap, quiet } => {
                let overlap_millis = overlap.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
                target.created(AdminRequest::RotateKey { key: KeyRef(key), overlap_millis }, quiet)
            }
            Self::Revoke { key } => target.key(AdminRequest::RevokeKey { key: KeyRef(key) }),
            Self::Unban { key } => target.key(AdminRequest::LiftBan { key: KeyRef(key) }),
            Self::Copy { file } => copy::copy(&file, target),
            Self::Generate => {
                let bits = SystemEntropy.bits().map_err(|error| Failure::because(error.report()))?;
                let key = ApiKey::from_entropy(bits);
                if target.json {
                    return print_json(&serde_json::json!({"key": key.reveal()}));
                }
                print(&format!("{}\n", key.reveal()))
            }
        }
    }
}

fn key_ref(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Err("expected a key's id, or its first characters".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Checks the name of an account.
fn name(text: &str) -> Result<String, String> {
    account_name(text).map(|_| text.to_owned())
}

fn label(text: &str) -> Result<String, String> {
    key_label(text).map(|_| text.to_owned())
}

fn scopes(text: &str) -> Result<String, String> {
    let scopes =
        Scopes::parse(text).ok_or("expected a list of read, write and webhooks, such as read,write")?;
    Ok(scopes.as_str().to_owned())
}

/// The value of --expires for a key that does not expire.
const NEVER: &str = "never";

/// Checks the form only; the server knows the current time.
fn expiry(text: &str) -> Result<String, String> {
    if duration(text).is_ok() || Timestamp::parse(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err("expected a time such as 30d, or a date such as 2030-12-05T00:00:00Z".to_owned())
}

fn expiry_or_never(text: &str) -> Result<String, String> {
    if text == NEVER { Ok(text.to_owned()) } else { expiry(text) }
}
