//! Checks of the gate's decisions. Each decision is compared with that of the model at the same moment.

use std::net::IpAddr;

use petstore_domain::{AccountId, Limits, Timestamp, Usage, WindowUsage};
use petstore_ports::{AddressVerdict, Ask, Cost, Verdict};

use super::{Actor, Gate, Oracle, RunState};
use crate::model::accounts::Accounts;
use crate::model::quotas::{self, QuotaHeaders, binding};
use crate::request::Op;

impl Oracle {
    /// Checks the verdict of the quotas on a request with a valid key.
    pub(crate) fn judged(&self, process: u64, actor: Option<Actor>, ask: &Ask, verdict: &Verdict) {
        let outcome = {
            let mut state = self.lock();
            if state.process != process {
                return;
            }
            state.trace.note(self.start.elapsed(), &format!("gate key {} {verdict:?}", ask.key));
            let asked = Judged {
                key: Some((ask.key.get(), ask.cost == Cost::One)),
                account: ask.account.get(),
                limits: ask.limits,
                now: ask.now.as_millis(),
            };
            let given = to_model(verdict, &state.accounts, asked.account);
            state.judged(actor, &asked, &given, self.clock.millis())
        };
        self.judge(outcome);
    }

    /// Checks that the account has the maximum number of requests in flight, and that the reported usage of its quota
    /// is correct.
    pub(crate) fn judged_too_many(
        &self,
        process: u64,
        actor: Option<Actor>,
        (account, limits, now): (AccountId, Limits, Timestamp),
        usage: &Usage,
    ) {
        let outcome = {
            let mut state = self.lock();
            if state.process != process {
                return;
            }
            state.trace.note(self.start.elapsed(), &format!("gate account {account} too many {usage:?}"));
            let asked = Judged { key: None, account: account.get(), limits, now: now.as_millis() };
            state.judged(actor, &asked, &quotas::Verdict::TooManyInFlight(both(usage)), self.clock.millis())
        };
        self.judge(outcome);
    }

    /// Checks the verdict of the quotas on a request without a valid key.
    pub(crate) fn judged_address(
        &self,
        process: u64,
        actor: Option<Actor>,
        address: IpAddr,
        cost: Cost,
        verdict: &AddressVerdict,
    ) {
        let outcome = {
            let mut state = self.lock();
            if state.process != process {
                return;
            }
            state.trace.note(self.start.elapsed(), &format!("gate {address} {verdict:?}"));
            state.judged_address(actor, address, cost, verdict, self.clock.millis())
        };
        self.judge(outcome);
    }

    /// Records that a request is no longer in flight: it has an answer, or its client has gone.
    pub(crate) fn left(&self, process: u64, actor: Option<Actor>, account: u64) {
        let outcome = {
            let mut state = self.lock();
            if state.process != process {
                return;
            }
            state.left(actor, account)
        };
        self.judge(outcome);
    }
}

/// A request as the quotas have received it.
#[derive(Debug)]
struct Judged {
    /// The key, and whether the request is counted. None if only the usage of the account was requested.
    key: Option<(u64, bool)>,
    account: u64,
    limits: Limits,
    now: i64,
}

impl RunState {
    fn judged(
        &mut self,
        actor: Option<Actor>,
        asked: &Judged,
        given: &quotas::Verdict,
        now: i64,
    ) -> Result<(), String> {
        let id = self.at_the_gate(actor)?;
        let request = &self.asked[id].request;
        let Some(key) = self.accounts.secrets.get(&request.secret).copied() else {
            return Err(format!("request {id} is judged as {asked:?}, and has no key"));
        };
        let costs = !matches!(request.op, Op::RateLimit);
        if asked.key.is_some_and(|of| of != (key, costs)) {
            return Err(format!("request {id} of key {key} is judged as {asked:?}"));
        }
        let record = self.accounts.keys[&key];
        if let Some(code) = record.fault(now) {
            return Err(format!("request {id} passes with key {key}: {code}"));
        }
        let limits = self.accounts.limits(record.account);
        if (asked.account, asked.now) != (record.account, now)
            || [asked.limits.minute.get(), asked.limits.day.get()] != limits
        {
            return Err(format!(
                "request {id} is judged as {asked:?}, the limits are {limits:?}, the time {now}"
            ));
        }
        let ban_before = self.quotas.ban(&self.accounts, key);
        let right = self.quotas.take(&self.accounts, key, costs, now);
        if self.quotas.ban(&self.accounts, key) != ban_before {
            self.counts.bans += 1;
            let at = self.now();
            self.write_behind.bans.entry(key).or_insert(at);
        }
        if costs && matches!(right, quotas::Verdict::Admitted(_)) {
            let now = self.now();
            self.write_behind.usage_since.entry(record.account).or_insert(now);
        }
        if *given != right {
            return Err(format!("request {id} of key {key}: judged {given:?}, right is {right:?}"));
        }
        self.asked[id].in_flight = matches!(right, quotas::Verdict::Admitted(_));
        self.asked[id].gate = Some(gate(right, record.account, (record.reads, record.writes), now));
        Ok(())
    }

    /// Takes note that a request has ended. Fails if the request was not in flight, or was admitted for another
    /// account.
    fn left(&mut self, actor: Option<Actor>, account: u64) -> Result<(), String> {
        let (connection, id) = self.requester(actor)?;
        let asked = &mut self.asked[id];
        if !std::mem::take(&mut asked.in_flight) {
            return Err(format!("request {id} gives a place back that it does not have"));
        }
        if !matches!(asked.gate, Some(Gate::Admitted { account: own, .. }) if own == account) {
            return Err(format!("request {id} gives back a place of account {account}"));
        }
        self.quotas.leave(account);
        self.answering(connection);
        Ok(())
    }

    /// Checks that a request whose answer is being sent, or whose connection has ended, no longer counts as in flight.
    pub(super) fn has_left(&self, connection: u64) -> Result<(), String> {
        match self.current.get(&connection) {
            Some(id) if self.asked[*id].in_flight => {
                Err(format!("request {id} is over, and its place among those in flight is not given back"))
            }
            _ => Ok(()),
        }
    }

    fn judged_address(
        &mut self,
        actor: Option<Actor>,
        address: IpAddr,
        cost: Cost,
        verdict: &AddressVerdict,
        now: i64,
    ) -> Result<(), String> {
        let id = self.at_the_gate(actor)?;
        let secret = &self.asked[id].request.secret;
        let code = match self.accounts.secrets.get(secret) {
            _ if secret.is_empty() => "missing_api_key",
            None => "invalid_api_key",
            Some(key) => {
                let fault = self.accounts.keys[key].fault(now);
                fault.ok_or_else(|| format!("request {id} is refused, and its key {key} is good"))?
            }
        };
        if cost != Cost::One {
            return Err(format!("request {id} without a valid key costs nothing"));
        }
        let (admitted, told) = self.quotas.take_address(address, true, now);
        let given = (verdict.admitted, window(verdict.usage, "address"));
        if given != (admitted, told.clone()) {
            return Err(format!("request {id} of {address}: judged {given:?}, right is {admitted} {told:?}"));
        }
        let retry_after = (!admitted).then(|| wait(told.reset * 1_000, now));
        let (status, code) = if admitted { (401, code) } else { (429, "rate_limit_exceeded") };
        self.asked[id].gate = Some(Gate::Refused { status, code, retry_after, told });
        Ok(())
    }

    /// The connection of the actor, and the request that it carries.
    fn requester(&self, actor: Option<Actor>) -> Result<(u64, usize), String> {
        let Some(Actor::Connection(connection)) = actor else {
            return Err("the gate judged an actor that is no client".to_owned());
        };
        let id = *self.current.get(&connection).ok_or("there is no request on this connection")?;
        Ok((connection, id))
    }

    /// The current request of the actor, which must not have been judged before.
    fn at_the_gate(&self, actor: Option<Actor>) -> Result<usize, String> {
        let (_, id) = self.requester(actor)?;
        if self.asked[id].gate.is_some() {
            return Err(format!("request {id} is judged twice"));
        }
        Ok(id)
    }
}

fn gate(verdict: quotas::Verdict, account: u64, (reads, writes): (bool, bool), now: i64) -> Gate {
    match verdict {
        quotas::Verdict::Admitted(usage) => Gate::Admitted { account, usage, reads, writes, now },
        quotas::Verdict::TooManyInFlight(usage) => {
            let told = binding(&usage).clone();
            Gate::Refused { status: 429, code: "too_many_concurrent_requests", retry_after: Some(1), told }
        }
        quotas::Verdict::Exceeded(usage) => {
            let told = binding(&usage).clone();
            let code = if told.resource == "day" { "quota_exceeded" } else { "rate_limit_exceeded" };
            let retry_after = Some(wait(told.reset * 1_000, now));
            Gate::Refused { status: 429, code, retry_after, told }
        }
        quotas::Verdict::Banned { until, limit } => {
            let reset = (until + 999).div_euclid(1_000);
            let told = QuotaHeaders { limit, remaining: 0, reset, resource: "ban" };
            Gate::Refused { status: 403, code: "key_banned", retry_after: Some(wait(until, now)), told }
        }
    }
}

/// Whole seconds from `now` to `then`, rounded up, at least one.
fn wait(then: i64, now: i64) -> i64 {
    (then - now + 999).div_euclid(1_000).max(1)
}

fn window(usage: WindowUsage, resource: &'static str) -> QuotaHeaders {
    let WindowUsage { limit, remaining, reset_secs } = usage;
    QuotaHeaders { limit, remaining, reset: i64::try_from(reset_secs).unwrap_or(i64::MAX), resource }
}

fn both(usage: &Usage) -> [QuotaHeaders; 2] {
    [window(usage.minute, "minute"), window(usage.day, "day")]
}

fn to_model(verdict: &Verdict, accounts: &Accounts, account: u64) -> quotas::Verdict {
    match verdict {
        Verdict::Admitted(usage) => quotas::Verdict::Admitted(both(usage)),
        Verdict::Exceeded(usage) => quotas::Verdict::Exceeded(both(usage)),
        Verdict::Banned { until, .. } => {
            quotas::Verdict::Banned { until: until.as_millis(), limit: accounts.limits(account)[0] }
        }
    }
}
