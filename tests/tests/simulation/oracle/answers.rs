//! Checks of the answers to clients against the one correct answer.

use std::time::Duration;

use petstore_domain::EventId;
use serde_json::{Value, json};

use super::{Asked, Gate, Oracle, Progress, RunState, Stamp};
use crate::expected::Expected;
use crate::follower::Follower;
use crate::model::events::{Tables, tables};
use crate::model::quotas::binding;
use crate::request::{Listing, Of, Op};

/// 2030-12-05T00:00:00Z. From this time on, reading a pet by its path is answered with 410.
pub(crate) const SUNSET: i64 = 1_922_659_200_000;

/// The maximum time from the arrival of a change until the store reports its result.
const STORE_DEADLINE: Duration = Duration::from_millis(1_500);

/// The shortest deadline of a request, which is that of its head. Before this time, no request can be too slow.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);

/// An answer as a client reads it.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.header(name)?.parse().ok()
    }

    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    fn code(&self) -> String {
        self.json().and_then(|body| Some(body["code"].as_str()?.to_owned())).unwrap_or_default()
    }

    /// The cursor of the next page.
    pub(crate) fn next_cursor(&self) -> Option<String> {
        let link = self.header("link")?.split(", ").find(|link| link.ends_with("rel=\"next\""))?;
        let (_, rest) = link.split_once("cursor=")?;
        Some(rest.split(['>', '&']).next()?.to_owned())
    }
}

impl Oracle {
    /// Records that the server begins to write on a connection. For an admitted request, the oracle recorded the state
    /// earlier, when the answer was made. The answer may have waited in a send batch since then, while the journal
    /// committed other changes.
    pub(crate) fn answering(&self, connection: u64) {
        let outcome = {
            let mut state = self.lock();
            state.answering(connection);
            state.has_left(connection)
        };
        self.judge(outcome);
    }

    /// Applies a page of events to the reader's state. If the page reaches the end of the log, the state must equal the
    /// shop at the time of the answer.
    pub(crate) fn followed(&self, id: usize, answer: &Answer, follower: &mut Follower) {
        let (Some(events), Some(reached)) = (answer.json(), answer.header("last-event-id")) else { return };
        let outcome = follower.read(&events, reached).and_then(|()| {
            let state = self.lock();
            let shop = state.asked[id].stamp.as_ref().and_then(|stamp| stamp.tables.as_ref());
            match shop {
                Some(shop) if *shop != follower.tables => {
                    let has = |tables: &Tables, key: &_| tables.get(key).cloned();
                    let keys = shop.keys().chain(follower.tables.keys());
                    let wrong = keys.into_iter().find(|key| has(shop, key) != has(&follower.tables, key));
                    Err(format!("the events do not describe the shop: {wrong:?}"))
                }
                _ => Ok(()),
            }
        });
        self.judge(outcome.map_err(|what| format!("request {id}: {what}")));
    }

    /// Checks an answer that a client has read.
    pub(crate) fn answered(&self, id: usize, answer: &Answer) {
        let outcome = {
            let mut state = self.lock();
            let line = format!("   #{id} {} {}", answer.status, String::from_utf8_lossy(&answer.body));
            state.trace.note(self.start.elapsed(), &line);
            state.counts.answers += 1;
            *state.outcomes.entry(format!("{} {}", answer.status, answer.code())).or_default() += 1;
            state.answered(id, answer)
        };
        let tell = |what| {
            let state = self.lock();
            let Asked { request, gate, progress, stamp, .. } = &state.asked[id];
            format!(
                "request {id}: {what}\n  {request:?}\n  {gate:?}\n  {progress:?}\n  {stamp:?}\n  {answer:?}"
            )
        };
        self.judge(outcome.map_err(tell));
    }
}

impl RunState {
    /// Records the state for the answer to the current request of a connection, unless it was recorded before.
    pub(super) fn answering(&mut self, connection: u64) {
        let Some(id) = self.current.get(&connection).copied() else { return };
        if self.asked[id].stamp.is_none() {
            let stamp = self.stamp(id);
            self.asked[id].stamp = Some(stamp);
        }
    }

    fn stamp(&self, id: usize) -> Stamp {
        let asked = &self.asked[id];
        let read = match &asked.gate {
            Some(gate @ Gate::Admitted { .. }) if asked.request.op.is_read() => self.read(asked, gate),
            _ => None,
        };
        let settled = matches!(asked.progress, Progress::Settled { .. } | Progress::Dropped { .. });
        let (same_key_in_progress, failing) =
            (self.same_key_in_progress(id), self.failing || self.failing_until >= asked.sent);
        let content = match &asked.request.op {
            Op::List(listing) => Some(self.shop.page(listing).content),
            _ => None,
        };
        let reaches_end =
            read.as_ref().is_some_and(|read| read.reached.is_some() && read.has_next == Some(false));
        let tables = reaches_end.then(|| tables(&self.shop));
        Stamp { at: self.now(), read, content, tables, settled, same_key_in_progress, failing }
    }

    /// The correct answer to a read at this time.
    fn read(&self, asked: &Asked, gate: &Gate) -> Option<Expected> {
        let Gate::Admitted { usage, now, account, .. } = gate else { return None };
        let known = asked.request.if_none_match.as_deref();
        Some(match &asked.request.op {
            Op::Get { of: Of::Pets, .. } if *now >= SUNSET => Expected::refused(410, "operation_sunset"),
            Op::Get { of, id } => match self.shop.show(*of, *id) {
                None => Expected::refused(404, "not_found"),
                Some((_, tag)) if known == Some(&tag) => Expected { tag: Some(tag), ..Expected::empty(304) },
                Some((body, tag)) => Expected::shown(200, body, tag),
            },
            Op::List(listing) => self.list(listing, known),
            Op::Events(listing) => {
                let after = listing.after.as_deref().and_then(|id| EventId::parse(id).ok());
                match self.events.page(*account, after, listing.size()) {
                    None => Expected::refused(410, "event_expired"),
                    Some(page) => Expected {
                        reached: Some(page.reached),
                        has_next: Some(page.has_next),
                        ..Expected::plain(page.events)
                    },
                }
            }
            Op::RateLimit => {
                let window = |place: usize| {
                    let told = &usage[place];
                    json!({"limit": told.limit, "remaining": told.remaining, "reset": told.reset})
                };
                let plan = self.accounts.plans[account].name;
                Expected::plain(json!({"plan": plan, "minute": window(0), "day": window(1)}))
            }
            _ => return None,
        })
    }

    fn list(&self, listing: &Listing, known: Option<&str>) -> Expected {
        let page = self.shop.page(listing);
        let tag = self.tags.get(&page.content).map(String::as_str);
        if known.is_some() && known == tag {
            return Expected::empty(304);
        }
        Expected { has_next: Some(page.has_next), ..Expected::plain(page.items) }
    }

    /// Returns whether an earlier request under the same idempotency key is in progress.
    fn same_key_in_progress(&self, id: usize) -> bool {
        let name = |asked: &Asked| {
            let Some(Gate::Admitted { account, .. }) = asked.gate else { return None };
            let key = asked.request.idempotency_key.clone()?;
            Some((account, asked.request.op.idempotency_scope()?, key))
        };
        let Some(own) = name(&self.asked[id]) else { return false };
        self.asked.iter().enumerate().rev().take(200).any(|(other, asked)| {
            let runs = !asked.ended && asked.stamp.is_none() && !matches!(asked.progress, Progress::None);
            other != id && runs && name(asked).as_ref() == Some(&own)
        })
    }

    fn answered(&mut self, id: usize, answer: &Answer) -> Result<(), String> {
        let asked = &self.asked[id];
        let Some(stamp) = &asked.stamp else { return Err("answered before it was".to_owned()) };
        if answer.status == 408 && stamp.at >= asked.sent + HEAD_DEADLINE {
            return Ok(());
        }
        let Some(gate) = &asked.gate else { return Err("answered without being judged".to_owned()) };
        check_quota(gate, answer)?;
        let right = match gate {
            Gate::Refused { status, code, .. } => {
                self.counts.refused += 1;
                Expected::refused(*status, code)
            }
            Gate::Admitted { reads, writes, .. } => {
                let op = &asked.request.op;
                let may = if op.needs_read() { *reads } else { *writes };
                match op {
                    // A path or a method that does not exist is refused before the key's scopes are checked.
                    Op::Wrong { status, code, .. } if may || matches!(status, 404 | 405) => {
                        Expected::refused(*status, code)
                    }
                    _ if !may => Expected::refused(403, "insufficient_scope"),
                    _ if op.is_read() => stamp.read.clone().ok_or("a read that was not read")?,
                    _ => change(asked, stamp, answer)?,
                }
            }
        };
        self.counts.unavailable += u64::from(answer.status == 503);
        self.counts.replays += u64::from(right.replayed);
        if answer.status == 408 && stamp.at >= asked.sent + HEAD_DEADLINE {
            return Ok(());
        }
        check(&right, answer, asked.request.head_only)?;
        self.check_page(id, answer)
    }

    /// Checks that each entity tag belongs to exactly one content of a page.
    fn check_page(&mut self, id: usize, answer: &Answer) -> Result<(), String> {
        let content = self.asked[id].stamp.as_ref().and_then(|stamp| stamp.content.clone());
        let (Some(content), 200) = (content, answer.status) else { return Ok(()) };
        let tag = answer.header("etag").ok_or("a page without an entity tag")?.to_owned();
        let stood = self.contents.get(&tag);
        if stood.is_some_and(|stood| *stood != content) {
            return Err(format!("{tag} stood for {stood:?} and stands for {content}"));
        }
        if self.tags.get(&content).is_some_and(|before| *before != tag) {
            return Err("the page is as it was, and its entity tag is another one".to_owned());
        }
        self.contents.insert(tag.clone(), content.clone());
        self.tags.insert(content, tag);
        Ok(())
    }
}

/// The correct answer to a change. It is the result of the change, unless the client got one of two errors for a good
/// reason: `unavailable`, if the store could not report the result in time, or `idempotency_in_progress`, if an earlier
/// request under the same key was running.
fn change(asked: &Asked, stamp: &Stamp, answer: &Answer) -> Result<Expected, String> {
    let waited = match asked.progress {
        Progress::Queued { since, .. } => stamp.at.saturating_sub(since),
        Progress::None | Progress::Settled { .. } | Progress::Dropped { .. } => {
            stamp.at.saturating_sub(asked.sent)
        }
    };
    let unavailable = Expected::refused(503, "unavailable");
    if answer.status == 503 {
        let excused = stamp.failing || waited >= STORE_DEADLINE;
        return if excused { Ok(unavailable) } else { Err("unavailable, and nothing was wrong".to_owned()) };
    }
    if answer.code() == "idempotency_in_progress" {
        let alone = matches!(asked.progress, Progress::None) && stamp.same_key_in_progress;
        return if alone {
            Ok(Expected::refused(409, "idempotency_in_progress"))
        } else {
            Err("nothing is in progress".to_owned())
        };
    }
    match &asked.progress {
        Progress::Settled { answer, since } if stamp.settled && *since <= stamp.at => Ok(answer.clone()),
        Progress::Settled { .. } | Progress::Queued { .. } => {
            Err("answered before it was on disk".to_owned())
        }
        Progress::Dropped { since } => Err(format!("answered, and nothing of it is on disk since {since:?}")),
        Progress::None => Err("answered without having been done".to_owned()),
    }
}

/// A page of events without the members that the model leaves out: the label of a key, and the time of its ban.
fn modelled(mut page: Value) -> Value {
    for event in page.as_array_mut().into_iter().flatten() {
        let is_private = event["type"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("key.") || kind.starts_with("webhook."));
        if let Some(members) = event.as_object_mut().filter(|_| is_private) {
            members.remove("timestamp");
            members.get_mut("data").and_then(Value::as_object_mut).map(|data| data.remove("label"));
        }
    }
    page
}

fn check_quota(gate: &Gate, answer: &Answer) -> Result<(), String> {
    let (told, retry_after) = match gate {
        Gate::Admitted { usage, .. } => (binding(usage), None),
        Gate::Refused { told, retry_after, .. } => (told, *retry_after),
    };
    let headers = ["limit", "remaining", "reset"].map(|name| answer.number(&format!("x-ratelimit-{name}")));
    let right = [i64::from(told.limit), i64::from(told.remaining), told.reset].map(Some);
    if headers != right || answer.header("x-ratelimit-resource") != Some(told.resource) {
        return Err(format!("the quota headers should say {told:?}"));
    }
    let given = answer.number("retry-after");
    match (retry_after, given, answer.status) {
        (None, Some(1 | 2), 503) => Ok(()),
        (wait, given, _) if wait == given => Ok(()),
        _ => Err(format!("Retry-After should be {retry_after:?}")),
    }
}

fn check(right: &Expected, answer: &Answer, head_only: bool) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{what}: right is {right:?}"));
    if answer.status != right.status {
        return wrong("another status");
    }
    if right.status >= 400
        && !head_only
        && (answer.code() != right.code || answer.json().is_none_or(|body| body["status"] != right.status))
    {
        return wrong("another error");
    }
    if head_only && !answer.body.is_empty() {
        return wrong("a body that was not asked for");
    }
    let body = if right.reached.is_some() { answer.json().map(modelled) } else { answer.json() };
    if right.body.is_some() && !head_only && body != right.body {
        return wrong("another body");
    }
    if answer.header("last-event-id") != right.reached.as_deref() {
        return wrong("another place in the event log");
    }
    if right.tag.is_some() && answer.header("etag") != right.tag.as_deref() {
        return wrong("another entity tag");
    }
    if answer.header("location") != right.location.as_deref() {
        return wrong("another place");
    }
    if answer.header("idempotent-replayed").is_some() != right.replayed {
        return wrong("said to be a replay, or not");
    }
    if right.has_next.is_some_and(|has_next| has_next != answer.next_cursor().is_some()) {
        return wrong("another next page");
    }
    Ok(())
}
