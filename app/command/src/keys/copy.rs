//! `petstore keys copy`: accounts and keys from a data file into a database.

use std::collections::BTreeMap;
use std::path::Path;

use petstore_domain::{Account, AccountId, CopyKey, KeyDigest, KeyId, KeyRecord};
use petstore_ports::api::Administration;
use petstore_ports::{Row, StoreErrorKind, WorkPhase, WorkProgress, WorkUnit};
use petstore_sqlite::read_snapshot;
use serde_json::json;

use super::StoreTarget;
use super::via_server::print_json;
use crate::admin::PAGE;
use crate::failure::Failure;
use crate::offline_admin;
use crate::plural::counted;
use crate::progress::ProgressReport;
use crate::settings::Db;
use crate::store::check_readable;
use crate::terminal::notify;

/// The accounts and keys of a data file.
#[derive(Default)]
struct Source {
    accounts: BTreeMap<AccountId, Account>,
    keys: Vec<KeyRecord>,
}

/// The result of a copy.
struct Copied {
    keys: u64,
    accounts: u64,
    /// The number of keys that were new, or that had changed since an earlier copy.
    changed: u64,
}

/// Copies all accounts and keys of a data file, which a server may be using, into the target database.
pub(super) fn copy(file: &Path, target: &StoreTarget) -> Result<(), Failure> {
    let Db::Postgres(_) = target.db else {
        return Err(Failure::usage(
            "keys are copied from a data file into a database: name the database with --db postgres://...; \
                `petstore backup` copies a data file with its keys",
        ));
    };
    check_readable(file, || {
        Failure::because(format!("{} does not exist: name the data file of the server", file.display()))
    })?;
    let source = Source::read(file)?;
    let db = target.located()?;
    let progress = ProgressReport::of_command(false);
    let copied = offline_admin::run(&db, target.config(), async |administration| {
        source.copy_into(administration, &*progress).await
    });
    progress.end();
    let copied = copied??;
    let Copied { keys, accounts, changed } = copied;
    if target.json {
        return print_json(&json!({
            "keys": keys, "accounts": accounts, "changed": changed, "into": target.db.to_string()
        }));
    }
    let (copied, owners) = (counted(keys, "key"), counted(accounts, "account"));
    notify(&format!("{copied} of {owners} copied into {}, {changed} of them new or changed", target.db));
    Ok(())
}

impl Source {
    fn read(file: &Path) -> Result<Self, Failure> {
        let mut source = Self::default();
        let read = read_snapshot(file, &mut |row| {
            match row {
                Row::Account(account) => drop(source.accounts.insert(account.id, account)),
                Row::Key(key) => source.keys.push(*key),
                _ => {}
            }
            Ok(())
        });
        match read {
            Ok(_) => Ok(source),
            Err(error) => {
                let why = match error.kind() {
                    StoreErrorKind::Unavailable | StoreErrorKind::Corrupt => error.reason(),
                    StoreErrorKind::Busy | StoreErrorKind::Indeterminate => error.report(),
                };
                Err(Failure::because(format!("{} cannot be read: {why}", file.display())))
            }
        }
    }

    async fn copy_into(
        self,
        administration: &dyn Administration,
        progress: &dyn WorkProgress,
    ) -> Result<Copied, Failure> {
        progress.begin(WorkPhase {
            name: "reading the keys of the database",
            unit: WorkUnit::Keys,
            total: None,
        });
        let existing = ids_by_secret(administration, progress).await?;
        let total = Some(self.keys.len() as u64);
        progress.begin(WorkPhase { name: "copying keys", unit: WorkUnit::Keys, total });
        let mut copied = Copied { keys: 0, accounts: 0, changed: 0 };
        copied.accounts = u64::try_from(self.accounts.len()).unwrap_or(u64::MAX);
        for key in self.keys {
            let account = self.accounts.get(&key.account).cloned();
            let account = account.ok_or_else(|| {
                Failure::because(format!(
                    "key {} belongs to account {}, which does not exist",
                    key.id, key.account
                ))
            })?;
            let (prefix, existing) = (key.prefix, existing.get(&key.digest.0).copied());
            let done = administration.copy_key(CopyKey { account, key, existing }).await;
            let done = done.map_err(|failure| {
                Failure::because(format!(
                    "the key {prefix} was not copied: {}; {} before it were copied, and the command can be repeated",
                    failure.report(),
                    counted(copied.keys, "key")
                ))
            })?;
            copied.keys += 1;
            progress.reached(copied.keys);
            copied.changed += u64::from(done.is_changed);
        }
        Ok(copied)
    }
}

/// The ids of all keys in the target, by the digest of their secret.
async fn ids_by_secret(
    administration: &dyn Administration,
    progress: &dyn WorkProgress,
) -> Result<BTreeMap<[u8; 32], KeyId>, Failure> {
    let mut ids = BTreeMap::new();
    let mut after = None;
    loop {
        let page = administration.keys(after, PAGE).await;
        let page = page.map_err(|error| Failure::because(error.report()))?;
        after = page.last().map(|listing| listing.key.id);
        ids.extend(page.iter().map(|listing| {
            let KeyDigest(digest) = listing.key.digest;
            (digest, listing.key.id)
        }));
        progress.reached(ids.len() as u64);
        if page.len() < PAGE {
            return Ok(ids);
        }
    }
}
