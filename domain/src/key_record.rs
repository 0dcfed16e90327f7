//! The record of an API key: its label, its validity and its ban.

use std::fmt;

use crate::ban::TICK;
use crate::text::{NAME_MAX, ShortText, TextError, parse_name};
use crate::{AccountId, Ban, KeyDigest, KeyId, KeyPrefix, Scope, Scopes, Timestamp};

/// An operator's label for a key: empty, or a text of at most 100 characters, at least one of them visible and none a
/// control character.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyLabel(ShortText);

impl KeyLabel {
    /// Takes the text, trimmed; it may be empty.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        match parse_name(text, NAME_MAX) {
            Ok(text) => Ok(Self(ShortText::new(text))),
            Err(TextError::Empty) => Ok(Self(ShortText::new(""))),
            Err(error) => Err(error),
        }
    }

    /// The label as text; empty if the key has none.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for KeyLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A key as a store keeps it: everything but the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// The number by which operators name the key. It is no secret.
    pub id: KeyId,
    /// The account that owns it.
    pub account: AccountId,
    /// The digest of the secret.
    pub digest: KeyDigest,
    /// The first characters of the secret.
    pub prefix: KeyPrefix,
    /// The operator's label for the key.
    pub label: KeyLabel,
    /// The scopes that the key grants.
    pub scopes: Scopes,
    /// When it was made.
    pub created_at: Timestamp,
    /// The expiry of the key, if it has one. A successor gets a lifetime of the same length.
    pub expires_at: Option<Timestamp>,
    /// The end of the key's overlap with a successor, if the key was rotated. It does not replace `expires_at`, because
    /// the lifetime of a further successor is computed from `expires_at`, and would otherwise be that of the overlap.
    pub replaced_until: Option<Timestamp>,
    /// When an operator revoked it.
    pub revoked_at: Option<Timestamp>,
    /// Its last ban, in force or over.
    pub ban: Option<Ban>,
    /// The time at which an operator last lifted the key's ban. A ban that began at or before this time is void, even
    /// if it is recorded after the lift.
    pub ban_lifted_at: Option<Timestamp>,
}

/// The reason why an existing key is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// An operator revoked it.
    #[error("the key has been revoked")]
    Revoked,
    /// The end of its validity has come, as its creation or a rotation has set it.
    #[error("the key has expired")]
    Expired,
}

impl KeyFault {
    /// Returns the fault of a key at a time, if it has one.
    pub fn of(is_revoked: bool, valid_until: Option<Timestamp>, now: Timestamp) -> Option<Self> {
        if is_revoked {
            return Some(Self::Revoked);
        }
        valid_until.filter(|end| *end <= now).map(|_| Self::Expired)
    }
}

impl KeyRecord {
    /// Records a ban. Has no effect if the key's ban was lifted or the key was revoked at or after the start of `ban`,
    /// or if the recorded ban outlasts `ban`. So a ban may be recorded late, and more than once.
    pub fn record_ban(&mut self, ban: Ban) {
        let is_revoked = self.revoked_at.is_some_and(|revoked| revoked >= ban.since);
        if !is_revoked && !ban.is_ended_by_lift(self.ban_lifted_at) && ban.outlasts(self.ban) {
            self.ban = Some(ban);
        }
    }

    /// Lifts the key's ban, and voids every ban that has begun and is not recorded yet.
    ///
    /// The recorded time of the lift is later than that of the previous lift, so that a quota store recognises a new
    /// lift. It is never before the start of the recorded ban, which may come from the clock of another node that is
    /// ahead.
    pub fn lift_ban(&mut self, now: Timestamp) {
        let after_last = self.ban_lifted_at.map(|last| last.plus(TICK));
        let start = self.ban.map(|ban| ban.since);
        self.ban_lifted_at = [Some(now), after_last, start].into_iter().flatten().max();
        self.ban = self.ban.map(|ban| ban.lifted(now));
    }

    /// Removes the key's last ban, as if the key had never been banned. Recording the removed ban again has no effect.
    pub fn forget_ban(&mut self) {
        if let Some(ban) = self.ban.take() {
            self.ban_lifted_at = self.ban_lifted_at.max(Some(ban.since));
        }
    }

    /// Returns the time from which the key is not valid, if it has one: the earlier of its expiry and the end of its
    /// overlap with a successor.
    pub fn valid_until(&self) -> Option<Timestamp> {
        [self.expires_at, self.replaced_until].into_iter().flatten().min()
    }

    /// Checks that the key is valid at a time.
    pub fn check(&self, now: Timestamp) -> Result<(), KeyFault> {
        KeyFault::of(self.revoked_at.is_some(), self.valid_until(), now).map_or(Ok(()), Err)
    }

    /// Returns whether the key may be used for a scope at a time: it has the scope, is valid, and its recorded ban, if it has
    /// one, is over.
    pub fn grants(&self, scope: Scope, now: Timestamp) -> bool {
        let is_banned = self.ban.is_some_and(|ban| ban.in_force(now));
        self.scopes.permits(scope) && self.check(now).is_ok() && !is_banned
    }
}
