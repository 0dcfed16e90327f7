//! The messages of the admin socket.

use petstore_domain::{
    Account, AccountName, Ban, KeyFault, KeyLabel, KeyRecord, Limit, Limits, Plan, Timestamp,
};
use petstore_ports::api::KeyListing;
use serde::{Deserialize, Serialize};

use super::{WebhookView, WebhooksRequest};
use crate::failure::Failure;
use crate::own_files::OwnFile;

/// A request of a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum AdminRequest {
    CreateKey {
        account: Option<String>,
        plan: Option<PlanChoice>,
        label: String,
        scopes: String,
        expires: Option<String>,
    },
    ListKeys {
        after: Option<u64>,
    },
    ShowKey {
        key: KeyRef,
    },
    UpdateKey {
        key: KeyRef,
        label: Option<String>,
        scopes: Option<String>,
        /// A time, or `never`.
        expires: Option<String>,
    },
    RotateKey {
        key: KeyRef,
        /// Without a value, the overlap of the server's settings applies.
        overlap_millis: Option<u64>,
    },
    RevokeKey {
        key: KeyRef,
    },
    LiftBan {
        key: KeyRef,
    },
    ListAccounts {
        after: Option<u64>,
    },
    ShowAccount {
        account: String,
    },
    UpdateAccount {
        account: String,
        name: Option<String>,
        plan: Option<PlanChoice>,
    },
    Webhooks {
        request: WebhooksRequest,
    },
    /// Asks for a reload of the settings.
    Reload,
    /// Asks whether the data file has a permanent fault.
    CheckFile,
    /// Asks for the files that the server uses.
    OwnFiles,
    /// Asks for an import of the lines that follow, up to the end line.
    Import {
        /// Renames categories whose name is equal to that of an older one.
        #[serde(default)]
        rename_collisions: bool,
    },
    /// Asks for all lines of the shop.
    Export,
    /// Asks for a data file with the contents of the store.
    Backup,
}

/// An answer of the server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(crate) enum AdminAnswer {
    /// A key with its secret, which is sent only once.
    Created {
        secret: String,
        key: KeyView,
        /// The key that a rotation replaces.
        #[serde(default)]
        replaced: Option<Replaced>,
    },
    Key {
        key: KeyView,
    },
    Keys {
        keys: Vec<KeyView>,
        more: bool,
    },
    Account {
        account: AccountView,
    },
    Accounts {
        accounts: Vec<AccountView>,
        more: bool,
    },
    Webhook {
        webhook: WebhookView,
    },
    Webhooks {
        webhooks: Vec<WebhookView>,
        more: bool,
    },
    /// The results of a reload, as text.
    Reloaded {
        lines: Vec<String>,
    },
    /// The data file is sound, or there is none.
    FileIsWell,
    /// The files that the server uses.
    OwnFiles {
        files: Vec<OwnFile>,
    },
    /// The transfer may start.
    Ready,
    Imported {
        lines: u64,
        /// A message for each renamed category.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        renamed: Vec<String>,
    },
    Exported {
        lines: u64,
    },
    /// The data file is sound, and the client should copy the file itself.
    CopyFile,
    /// A data file of this many bytes follows, with these contents.
    Copied {
        pets: u64,
        orders: u64,
        bytes: u64,
    },
    /// The import may be complete or absent; the result is unknown.
    InDoubt {
        why: String,
    },
    /// The request is refused, with the reason.
    Refused {
        why: String,
    },
}

impl AdminAnswer {
    /// Returns the answer, or the reason of a refusal as a failure.
    pub(crate) fn understood(self) -> Result<Self, Failure> {
        match self {
            Self::Refused { why } => Err(Failure::because(why)),
            answer => Ok(answer),
        }
    }
}

/// A reference to a key: its id, or its first characters.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct KeyRef(pub(crate) String);

/// The name of a plan, with limits if it is the enterprise plan.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct PlanChoice {
    pub(crate) plan: PlanName,
    pub(crate) minute: Option<u32>,
    pub(crate) day: Option<u32>,
}

/// The name of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlanName {
    Free,
    Pro,
    Business,
    Enterprise,
}

impl PlanChoice {
    /// Returns the plan, if the limits match it.
    pub(crate) fn plan(self) -> Result<Plan, String> {
        let own = match (self.minute, self.day) {
            (None, None) => None,
            (Some(minute), Some(day)) => Some((minute, day)),
            _ => return Err("--minute and --day need each other".to_owned()),
        };
        match (self.plan, own) {
            (PlanName::Free, None) => Ok(Plan::Free),
            (PlanName::Pro, None) => Ok(Plan::Pro),
            (PlanName::Business, None) => Ok(Plan::Business),
            (PlanName::Enterprise, Some((minute, day))) => match (Limit::new(minute), Limit::new(day)) {
                (Some(minute), Some(day)) if day < minute => {
                    Err(format!("--day {} is less than --minute {}", day.get(), minute.get()))
                }
                (Some(minute), Some(day)) => Ok(Plan::Enterprise(Limits { minute, day })),
                _ => Err(format!("a limit is between 1 and {}", Limit::MAX)),
            },
            (PlanName::Enterprise, None) => Err("the enterprise plan needs --minute and --day".to_owned()),
            (_, Some(_)) => Err("only the enterprise plan takes --minute and --day".to_owned()),
        }
    }
}

/// An account as the commands show it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountView {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) plan: String,
    /// Requests a minute that the account may send: the limit of its plan, or the account's own limit on the enterprise
    /// plan.
    pub(crate) minute: Option<u32>,
    /// Requests a day that the account may send, by the same rule as `minute`.
    pub(crate) day: Option<u32>,
    pub(crate) created_at: String,
}

impl AccountView {
    pub(crate) fn new(account: &Account, limits: Limits) -> Self {
        Self {
            id: account.id.get(),
            name: account.name.to_string(),
            plan: account.plan.as_str().to_owned(),
            minute: Some(limits.minute.get()),
            day: Some(limits.day.get()),
            created_at: account.created_at.to_string(),
        }
    }
}

/// A key that was replaced, and the end of its validity.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Replaced {
    pub(crate) id: u64,
    pub(crate) expires_at: String,
    /// Set if the key's own expiry comes before the end of the overlap. Then the key expires before the overlap ends,
    /// because a rotation never extends the validity of the old key.
    pub(crate) is_cut_short: bool,
}

/// A key as the commands show it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyView {
    pub(crate) id: u64,
    pub(crate) prefix: String,
    pub(crate) account: String,
    pub(crate) plan: String,
    pub(crate) label: String,
    /// `read`, `write`, or both.
    pub(crate) scopes: Vec<String>,
    /// `active`, `banned`, `expired` or `revoked`.
    pub(crate) state: String,
    pub(crate) created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revoked_at: Option<String>,
    /// Present only while a ban is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) banned_until: Option<String>,
}

impl KeyView {
    pub(crate) fn new(key: &KeyRecord, account: &Account, now: Timestamp) -> Self {
        let ban: Option<&Ban> = key.ban.as_ref().filter(|ban| ban.in_force(now));
        let state = match (key.check(now), ban) {
            (Err(KeyFault::Revoked), _) => "revoked",
            (Err(KeyFault::Expired), _) => "expired",
            (Ok(()), Some(_)) => "banned",
            (Ok(()), None) => "active",
        };
        Self {
            id: key.id.get(),
            prefix: key.prefix.to_string(),
            account: account.name.to_string(),
            plan: account.plan.as_str().to_owned(),
            label: key.label.as_str().to_owned(),
            scopes: key.scopes.as_str().split(',').map(str::to_owned).collect(),
            state: state.to_owned(),
            created_at: key.created_at.to_string(),
            expires_at: key.valid_until().map(|time| time.to_string()),
            revoked_at: key.revoked_at.map(|time| time.to_string()),
            banned_until: ban.map(|ban| ban.until.to_string()),
        }
    }

    pub(crate) fn of(listing: &KeyListing, now: Timestamp) -> Self {
        Self::new(&listing.key, &listing.account, now)
    }
}

/// Parses the name of an account.
pub(crate) fn account_name(text: &str) -> Result<AccountName, String> {
    AccountName::parse(text).map_err(|error| format!("the name of an account {error}"))
}

/// Parses the label of a key.
pub(crate) fn key_label(text: &str) -> Result<KeyLabel, String> {
    KeyLabel::parse(text).map_err(|error| format!("the label of a key {error}"))
}
