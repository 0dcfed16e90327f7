//! Accounts and keys, as a tester sees and changes them: the windows of each account, the bans of its keys, a new key, a key that is revoked.

use hyper::StatusCode;
use hyper::http::request::Parts;
use petstore_domain::{Account, KeyHolder, KeyId, KeyLabel, KeyRecord, UnknownKey};
use petstore_ports::api::{Administration, Failure, KeyListing, NewKey};

use super::bodies::WantedKey;
use super::quota_forms;
use super::rule_scope::key_beginning;
use super::state::SandboxState;
use crate::response::answer::Answer;
use crate::thread::shared::App;
use crate::thread::thread_state::ThreadState;
use crate::wire;
use crate::wire::error::{ApiError, Code};

/// The prefix of the paths of one key.
const PREFIX: &str = "/sandbox/keys/";

/// The end of the path of a key's ban.
const BAN: &str = "/ban";

/// The maximum number of keys that are listed.
const KEYS_MAX: usize = 1_000;

/// Returns the text after the fixed part of the path of a key.
pub(super) fn key_of(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX).filter(|key| !key.contains('/'))
}

/// Returns the text between the fixed parts of the path of a key's ban.
pub(super) fn key_of_ban(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)?.strip_suffix(BAN).filter(|key| !key.contains('/'))
}

pub(super) fn administration(app: &App) -> Result<&dyn Administration, Answer> {
    // Without it these routes are not found; see `SandboxRoute::find`.
    app.settings.administration.as_deref().ok_or_else(|| Answer::empty(StatusCode::NOT_FOUND))
}

/// Lists the accounts with their windows and keys.
pub(super) async fn list(thread: &ThreadState) -> Result<Answer, Answer> {
    let administration = administration(&thread.app)?;
    let now = thread.time();
    let mut keys = administration.keys(None, KEYS_MAX + 1).await?;
    let is_complete = keys.len() <= KEYS_MAX;
    keys.truncate(KEYS_MAX);
    let mut accounts: Vec<(Account, Vec<KeyListing>)> = vec![];
    for listing in keys {
        match accounts.iter_mut().find(|(account, _)| account.id == listing.account.id) {
            Some((_, keys)) => keys.push(listing),
            None => accounts.push((listing.account.clone(), vec![listing])),
        }
    }
    let mut views = Vec::with_capacity(accounts.len());
    for (account, keys) in &accounts {
        let usage = administration.usage(account).await?;
        views.push(wire::AccountView { account, usage, keys });
    }
    Ok(Answer::json(StatusCode::OK, wire::render_accounts(&views, is_complete, now)))
}

/// Creates a key. Its secret is in this response only.
pub(super) async fn create(
    thread: &ThreadState,
    sandbox: &SandboxState,
    wanted: WantedKey,
) -> Result<Answer, Answer> {
    let administration = administration(&thread.app)?;
    if wanted.quota_headers.is_some() && !sandbox.quota_forms().has_room() {
        return Err(quota_forms::too_many_made().into());
    }
    let holder = match (wanted.account, wanted.plan) {
        (Some(name), plan) => KeyHolder::Named { name, plan },
        (None, plan) => KeyHolder::New { plan: plan.unwrap_or(KeyHolder::DEFAULT_PLAN) },
    };
    let label = wanted.label.unwrap_or_else(|| KeyLabel::parse("").expect("a label may be empty"));
    let new = NewKey { holder, label, scopes: wanted.scopes, expires_at: None };
    match administration.create_key(new).await {
        Ok(created) => {
            if let Some(form) = wanted.quota_headers
                && !sandbox.quota_forms().set_made(key_beginning(created.secret.reveal()), form)
            {
                // Another key took the last place meanwhile. The secret of this one is never told.
                done(administration.revoke_key(created.made.key.id).await)?;
                return Err(quota_forms::too_many_made().into());
            }
            let listing = KeyListing { key: created.made.key, account: created.made.account };
            let body = wire::render_new_key(created.secret.reveal(), &listing, thread.time());
            Ok(Answer::json(StatusCode::CREATED, body))
        }
        Err(Failure::Store(error)) => Err(error.into()),
        Err(refused) => Err(ApiError::new(Code::ValidationFailed, format!("{}.", refused.report())).into()),
    }
}

/// Revokes a key, and forgets the form that it was made with, so that another key can have one.
pub(super) async fn revoke(
    thread: &ThreadState,
    sandbox: &SandboxState,
    parts: &Parts,
) -> Result<Answer, Answer> {
    let administration = administration(&thread.app)?;
    let id = key_of(parts.uri.path()).and_then(|key| KeyId::parse(key).ok()).ok_or_else(unknown)?;
    let revoked = administration.revoke_key(id).await;
    if let Ok(key) = &revoked {
        sandbox.quota_forms().forget_made(&key.prefix.to_string());
    }
    done(revoked)
}

/// Lifts the ban of a key.
pub(super) async fn lift_ban(thread: &ThreadState, parts: &Parts) -> Result<Answer, Answer> {
    let administration = administration(&thread.app)?;
    let id = key_of_ban(parts.uri.path()).and_then(|key| KeyId::parse(key).ok()).ok_or_else(unknown)?;
    done(administration.lift_ban(id).await)
}

fn done(changed: Result<KeyRecord, Failure<UnknownKey>>) -> Result<Answer, Answer> {
    match changed {
        Ok(_) => Ok(Answer::empty(StatusCode::NO_CONTENT)),
        Err(Failure::Store(error)) => Err(error.into()),
        Err(_) => Err(unknown().into()),
    }
}

fn unknown() -> ApiError {
    ApiError::new(Code::NotFound, "There is no key with this id; GET /sandbox/keys lists all.")
}
