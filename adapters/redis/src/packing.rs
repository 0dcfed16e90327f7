//! The packed form of a batch, and of its verdicts. Integers and floating-point numbers are big-endian.

use std::time::Duration;

use petstore_domain::{AccountId, Ban, Timestamp, Window, WindowKind, Windows};
use petstore_ports::{StoreError, Verdict};

use crate::request::{Group, Kind, Policy};

/// The number of policies that are searched for an equal one before a policy is written again. Most batches have few
/// policies. Without the bound, the time for packing would grow with the square of their number.
const POLICIES_SEARCHED: usize = 8;

/// The flag of a request with a cost.
const HAS_COST: u8 = 1;
/// The flag of a look, which a ban does not refuse.
const IS_LOOK: u8 = 2;
/// The flag of a request whose key has a recorded ban: the end of the ban follows.
const HAS_RECORDED_BAN: u8 = 4;
/// The flag of a request whose key has a lift: the time of the lift follows.
const HAS_LIFT: u8 = 8;
/// The flag of a request that costs all that is left of the minute.
const USES_UP_MINUTE: u8 = 16;
/// The flag of a request that costs all that is left of the day.
const USES_UP_DAY: u8 = 32;
/// The flag of a request whose time the node's clock confirms.
const IS_CONFIRMED: u8 = 64;

/// The tag of requests that were admitted.
const ADMITTED: u8 = 0;
/// The tag of requests that a window refused.
const EXCEEDED: u8 = 1;
/// The tag of requests that a ban refused.
const BANNED: u8 = 2;
/// The tag of requests that a ban refused that is not recorded yet.
const UNRECORDED_BAN: u8 = 3;
/// The tag of the request that began a ban.
const BEGUN_BAN: u8 = 4;

/// A batch in its packed form.
pub(crate) struct Packed {
    /// The accounts, whose hashes are the keys of the script.
    pub(crate) accounts: Vec<AccountId>,
    /// The argument of the script.
    pub(crate) argument: Vec<u8>,
}

/// Packs a batch, in which the groups of an account stand beside each other.
pub(crate) fn pack(groups: &[Group]) -> Packed {
    let mut policies: Vec<Policy> = Vec::new();
    let mut accounts = Vec::new();
    let mut packed = Vec::with_capacity(64 + 32 * groups.len());
    for of_account in groups.chunk_by(|left, right| left.request.account == right.request.account) {
        accounts.push(of_account[0].request.account);
        packed.extend(number(of_account.len()));
        for group in of_account {
            pack_group(group, policy_number(&mut policies, group.request.policy), &mut packed);
        }
    }
    let mut argument = Vec::with_capacity(2 + 36 * policies.len() + packed.len());
    argument.extend(number(policies.len()));
    for policy in &policies {
        pack_policy(policy, &mut argument);
    }
    argument.append(&mut packed);
    Packed { accounts, argument }
}

fn number(count: usize) -> [u8; 2] {
    u16::try_from(count).expect("a batch has fewer requests").to_be_bytes()
}

/// The number of a policy in the script's list, which begins with 1.
fn policy_number(policies: &mut Vec<Policy>, policy: Policy) -> [u8; 2] {
    let first = policies.len().saturating_sub(POLICIES_SEARCHED);
    let found = policies[first..].iter().position(|known| *known == policy);
    let index = found.map_or(policies.len(), |place| first + place);
    if found.is_none() {
        policies.push(policy);
    }
    number(index + 1)
}

fn pack_policy(policy: &Policy, packed: &mut Vec<u8>) {
    let Policy { limits, bans } = policy;
    packed.extend(limits.minute.get().to_be_bytes());
    packed.extend(limits.day.get().to_be_bytes());
    packed.extend(bans.strikes_allowed(*limits).to_be_bytes());
    for duration in [bans.length, bans.memory, bans.length_max] {
        packed.extend(duration_millis(duration).to_be_bytes());
    }
}

fn pack_group(group: &Group, policy: [u8; 2], packed: &mut Vec<u8>) {
    let request = &group.request;
    let recorded = request.recorded_ban;
    let kind = match request.kind {
        Kind::Counted => HAS_COST,
        Kind::Free => 0,
        Kind::Look => IS_LOOK,
        Kind::Rest(WindowKind::Minute) => USES_UP_MINUTE,
        Kind::Rest(WindowKind::Day) => USES_UP_DAY,
    };
    let flag = |time: Option<Timestamp>, flag| if time.is_some() { flag } else { 0 };
    packed.extend(request.key.get().to_be_bytes());
    packed.extend(policy);
    let confirmed = if request.is_confirmed { IS_CONFIRMED } else { 0 };
    let times = flag(recorded.until, HAS_RECORDED_BAN) | flag(recorded.lifted_at, HAS_LIFT);
    packed.push(kind | times | confirmed);
    packed.extend(group.count.to_be_bytes());
    packed.extend(time_millis(request.now).to_be_bytes());
    for time in [recorded.until, recorded.lifted_at].into_iter().flatten() {
        packed.extend(time_millis(time).to_be_bytes());
    }
}

/// A time as Lua's number, which holds every time of the domain exactly.
#[expect(clippy::cast_precision_loss, reason = "every time is below 2^53 ms")]
fn time_millis(time: Timestamp) -> f64 {
    time.as_millis() as f64
}

/// A duration as Lua's number, in whole milliseconds. A duration above the range of [`Timestamp`] has the same effect
/// as the length of this range.
#[expect(clippy::cast_precision_loss, reason = "the maximum is below 2^53")]
fn duration_millis(duration: Duration) -> f64 {
    duration.as_millis().min((Timestamp::MAX.as_millis() - Timestamp::MIN.as_millis()).unsigned_abs().into())
        as f64
}

/// The packed verdicts of a batch, read in the order of its groups.
pub(crate) struct Verdicts<'a> {
    rest: &'a [u8],
    /// The number of bans that began, in the verdicts that were read.
    begun_bans: u64,
}

impl<'a> Verdicts<'a> {
    pub(crate) const fn new(packed: &'a [u8]) -> Self {
        Self { rest: packed, begun_bans: 0 }
    }

    /// Reads the verdicts of the next group, and passes each of them to `give`.
    pub(crate) fn read(&mut self, group: &Group, mut give: impl FnMut(Verdict)) -> Result<(), StoreError> {
        let mut left = group.count;
        while left > 0 {
            let [tag] = self.bytes()?;
            let count = u16::from_be_bytes(self.bytes()?);
            left = left.checked_sub(count).filter(|_| count > 0).ok_or_else(malformed)?;
            match tag {
                ADMITTED => {
                    // The windows after the last of these requests.
                    let last = self.windows()?;
                    let step = u32::from(group.request.kind == Kind::Counted);
                    for later in (0..u32::from(count)).rev() {
                        let usage = before(last, later * step).usage(group.request.policy.limits);
                        give(Verdict::Admitted(usage));
                    }
                }
                EXCEEDED => {
                    let verdict = Verdict::Exceeded(self.windows()?.usage(group.request.policy.limits));
                    (0..count).for_each(|_| give(verdict));
                }
                BANNED | UNRECORDED_BAN | BEGUN_BAN => {
                    let until = self.time()?;
                    let unrecorded = if tag == BANNED { None } else { Some(self.ban()?) };
                    self.begun_bans += u64::from(tag == BEGUN_BAN);
                    (0..count).for_each(|_| give(Verdict::Banned { until, unrecorded }));
                }
                _ => return Err(malformed()),
            }
        }
        Ok(())
    }

    /// Checks that all verdicts have been read. Returns the number of bans that began.
    pub(crate) fn end(self) -> Result<u64, StoreError> {
        if self.rest.is_empty() { Ok(self.begun_bans) } else { Err(malformed()) }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(malformed)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn windows(&mut self) -> Result<Windows, StoreError> {
        let mut window = || -> Result<Window, StoreError> {
            let number = u32::from_be_bytes(self.bytes()?);
            Ok(Window::new(number, u32::from_be_bytes(self.bytes()?)))
        };
        Ok(Windows { minute: window()?, day: window()? })
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number out of range becomes a time that is refused"
    )]
    fn time(&mut self) -> Result<Timestamp, StoreError> {
        let millis = f64::from_be_bytes(self.bytes()?);
        Timestamp::from_millis(millis as i64).map_err(|error| malformed().with_source(error))
    }

    fn ban(&mut self) -> Result<Ban, StoreError> {
        let (since, until) = (self.time()?, self.time()?);
        let length = Duration::try_from_secs_f64(f64::from_be_bytes(self.bytes()?) / 1_000.0);
        Ok(Ban { since, until, length: length.map_err(|error| malformed().with_source(error))? })
    }
}

/// The windows before the last `count` requests.
const fn before(windows: Windows, count: u32) -> Windows {
    let Windows { minute, day } = windows;
    Windows {
        minute: Window::new(minute.number(), minute.used().saturating_sub(count)),
        day: Window::new(day.number(), day.used().saturating_sub(count)),
    }
}

fn malformed() -> StoreError {
    StoreError::corrupt("Redis has returned a verdict that cannot be read")
}
