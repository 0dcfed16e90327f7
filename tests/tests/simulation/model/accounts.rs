//! Accounts and keys, and the changes that an operator makes to them.

use std::collections::BTreeMap;

/// The limits of a minute and of a day.
pub(crate) type Limits = [u32; 2];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    pub(crate) limits: Limits,
}

impl Plan {
    pub(crate) const FREE: Self = Self { name: "free", limits: [60, 1_000] };
    pub(crate) const PRO: Self = Self { name: "pro", limits: [300, 10_000] };
    pub(crate) const BUSINESS: Self = Self { name: "business", limits: [1_000, 100_000] };

    pub(crate) const fn enterprise(minute: u32, day: u32) -> Self {
        Self { name: "enterprise", limits: [minute, day] }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ban {
    pub(crate) since: i64,
    pub(crate) until: i64,
    pub(crate) length: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) account: u64,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) hooks: bool,
    pub(crate) created: i64,
    pub(crate) expires: Option<i64>,
    /// The end of the time for which a rotated key stays valid beside its successor.
    pub(crate) replaced: Option<i64>,
    pub(crate) revoked: Option<i64>,
    /// The last recorded ban.
    pub(crate) ban: Option<Ban>,
    /// The time at which an operator last lifted the key's bans.
    pub(crate) lifted: Option<i64>,
}

impl Ban {
    /// Returns the one of two bans that ends later.
    pub(crate) fn longer(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        [one, other].into_iter().flatten().max_by_key(|ban| (ban.until, ban.since))
    }
}

impl Key {
    /// Returns whether the last lift has ended this ban.
    pub(crate) fn has_lifted(&self, ban: Ban) -> bool {
        self.lifted.is_some_and(|lifted| lifted >= ban.since)
    }

    /// The error code for a request with this key, if the key is not valid.
    pub(crate) fn fault(&self, now: i64) -> Option<&'static str> {
        if self.revoked.is_some() {
            return Some("api_key_revoked");
        }
        let is_over = |end: Option<i64>| end.is_some_and(|end| end <= now);
        (is_over(self.expires) || is_over(self.replaced)).then_some("api_key_expired")
    }

    /// The time in which the key lets its account have webhooks: from the first of these times, and before the second one.
    pub(crate) fn permits_webhooks(&self) -> Option<(i64, i64)> {
        let from = self.ban.map_or(i64::MIN, |ban| ban.until);
        let until = [self.expires, self.replaced].into_iter().flatten().min().unwrap_or(i64::MAX);
        (self.hooks && self.revoked.is_none()).then_some((from, until))
    }
}

/// A command of an operator.
#[derive(Debug, Clone)]
pub(crate) enum OperatorCommand {
    Create { plan: Plan },
    Rotate { key: u64, overlap: i64 },
    Revoke { key: u64 },
    Lift { key: u64 },
    Rescope { key: u64, reads: bool, writes: bool, hooks: bool },
    Expire { key: u64, at: Option<i64> },
    Replan { account: u64, plan: Plan },
}

impl OperatorCommand {
    /// The key that the command changes.
    pub(crate) fn key(&self) -> Option<u64> {
        match self {
            Self::Create { .. } | Self::Replan { .. } => None,
            Self::Rotate { key, .. }
            | Self::Revoke { key }
            | Self::Lift { key }
            | Self::Rescope { key, .. }
            | Self::Expire { key, .. } => Some(*key),
        }
    }
}

/// The ids that the store has assigned when it executed a command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given {
    pub(crate) account: Option<u64>,
    pub(crate) key: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Accounts {
    pub(crate) plans: BTreeMap<u64, Plan>,
    pub(crate) keys: BTreeMap<u64, Key>,
    /// The key of each secret that an operator has received.
    pub(crate) secrets: BTreeMap<String, u64>,
    last: [u64; 2],
}

impl Accounts {
    pub(crate) fn limits(&self, account: u64) -> Limits {
        self.plans[&account].limits
    }

    /// Records a ban. Does nothing if the key was revoked, or its bans were lifted, at or after the start of the ban.
    pub(crate) fn record_ban(&mut self, key: u64, ban: Ban) {
        if let Some(key) = self.keys.get_mut(&key)
            && !key.has_lifted(ban)
            && key.revoked.is_none_or(|revoked| revoked < ban.since)
        {
            key.ban = Ban::longer(key.ban, Some(ban));
        }
    }

    /// Executes a command of an operator. Returns whether it had an effect, and the key whose ban it has lifted.
    pub(crate) fn apply(
        &mut self,
        command: &OperatorCommand,
        now: i64,
        given: Given,
    ) -> Result<(bool, Option<u64>), String> {
        let mut forgiven = None;
        if command.key().is_some_and(|key| !self.keys.contains_key(&key)) {
            return Ok((false, None));
        }
        match command {
            OperatorCommand::Create { plan } => {
                let account = rises(&mut self.last[0], given.account)?;
                let id = rises(&mut self.last[1], given.key)?;
                self.plans.insert(account, *plan);
                let (reads, writes, hooks) = (true, true, true);
                let (created, expires, replaced, revoked) = (now, None, None, None);
                let (ban, lifted) = (None, None);
                let key =
                    Key { account, reads, writes, hooks, created, expires, replaced, revoked, ban, lifted };
                self.keys.insert(id, key);
            }
            OperatorCommand::Rotate { key, overlap } => {
                let old = self.keys.get_mut(key).expect("it was looked up");
                if old.fault(now).is_some() {
                    return Ok((false, None));
                }
                let (end, life) = (now + overlap, old.expires.map(|end| (end - old.created).max(0)));
                old.replaced = Some(old.replaced.map_or(end, |earlier| earlier.min(end)));
                let expires = life.map(|life| now + life);
                let fresh = Key { created: now, expires, replaced: None, ..*old };
                let id = rises(&mut self.last[1], given.key)?;
                self.keys.insert(id, fresh);
            }
            OperatorCommand::Revoke { key } => {
                let key = self.keys.get_mut(key).expect("it was looked up");
                key.revoked = key.revoked.or(Some(now));
            }
            OperatorCommand::Lift { key: id } => {
                let key = self.keys.get_mut(id).expect("it was looked up");
                let (last, start) = (key.lifted.map(|last| last + 1), key.ban.map(|ban| ban.since));
                key.lifted = Some(now).max(last).max(start);
                key.ban = key.ban.map(|ban| Ban { until: ban.until.min(now), ..ban });
                forgiven = Some(*id);
            }
            OperatorCommand::Rescope { key, reads, writes, hooks } => {
                let key = self.keys.get_mut(key).expect("it was looked up");
                (key.reads, key.writes, key.hooks) = (*reads, *writes, *hooks);
            }
            OperatorCommand::Expire { key, at } => {
                let key = self.keys.get_mut(key).expect("it was looked up");
                (key.expires, key.replaced) = (*at, None);
            }
            OperatorCommand::Replan { account, plan } => match self.plans.get_mut(account) {
                Some(before) => *before = *plan,
                None => return Ok((false, None)),
            },
        }
        Ok((true, forgiven))
    }
}

fn rises(last: &mut u64, given: Option<u64>) -> Result<u64, String> {
    match given {
        Some(id) if id > *last => {
            *last = id;
            Ok(id)
        }
        given => Err(format!("the id given is {given:?}, and {last} was given before")),
    }
}
