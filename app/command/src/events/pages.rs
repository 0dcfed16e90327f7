//! The event log of a server as its pages, with long polls, waits and reconnects.

use std::time::Duration;

use tokio::time::sleep;

use super::backoff::Backoff;
use super::page::{self, Page, Refusal};
use crate::environment::{Stopwatch, SystemEntropy};
use crate::http_client::{ApiClient, BaseUrl, LONG_POLL, LONG_POLL_ANSWER_TIME};
use crate::terminal::notify;

/// The shortest time between two attempts, also if a server asks for none.
const RETRY_AFTER_MIN: Duration = Duration::from_millis(500);

/// The longest time that a server may make this command wait before its next attempt. A process that answers in place of the
/// server could otherwise stop the command for ever.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);

/// The largest page that the API allows.
pub(crate) const PAGE_MAX: u64 = 100;

/// The reason why no further page can be read.
#[derive(Debug)]
pub(crate) struct LogEnded(pub(crate) String);

/// Reads the log of a server from a place on, and repeats a failed request as long as another attempt may succeed.
pub(crate) struct LogPages {
    client: ApiClient,
    backoff: Backoff,
    /// Set once the server has answered.
    has_answered: bool,
    /// The id after which the next page begins; none for the end of the log.
    after: Option<String>,
    /// The types of the events. If empty, events of all types are read.
    types: Vec<String>,
    /// A wait before the next request.
    pause: Option<Duration>,
}

impl LogPages {
    pub(super) fn new(client: ApiClient, after: Option<String>, types: Vec<String>) -> Self {
        Self { client, backoff: Backoff::default(), has_answered: false, after, types, pause: None }
    }

    /// The base URL of the server.
    pub(crate) const fn url(&self) -> &BaseUrl {
        self.client.url()
    }

    /// Reads the place at which new events begin, unless a place is known already.
    pub(crate) async fn find_place(&mut self) -> Result<(), LogEnded> {
        if self.after.is_none() {
            let end = self.page("sort=-id&limit=1").await?.reached;
            let why = "the answer has no header Last-Event-ID: a proxy between may have removed it; name a place with --after";
            self.after = Some(end.ok_or_else(|| LogEnded(why.to_owned()))?);
        }
        Ok(())
    }

    /// Returns the next events, at most this many. The list is empty if there was none for a while.
    pub(crate) async fn next(&mut self, limit: u64) -> Result<Page, LogEnded> {
        if let Some(pause) = self.pause.take() {
            sleep(pause).await;
        }
        self.find_place().await?;
        let asked = Stopwatch::start();
        let query = self.query(limit);
        let page = self.page(&query).await?;
        if page.events.is_empty() && !page.has_more && asked.elapsed() < LONG_POLL / 2 {
            // The server has ended the wait early, because it stops or because its log has begun a new epoch. A pause
            // keeps the caller's loop from sending requests without interruption.
            self.pause = Some(self.next_pause());
        }
        if let Some(reached) = &page.reached {
            self.after = Some(reached.clone());
        }
        Ok(page)
    }

    fn query(&self, limit: u64) -> String {
        let types =
            if self.types.is_empty() { String::new() } else { format!("&type={}", self.types.join(",")) };
        let after = self.after.as_deref().unwrap_or_default();
        format!("after={after}&limit={limit}&wait={}{types}", LONG_POLL.as_secs())
    }

    /// Requests the page of a query, and tries again after a temporary failure.
    async fn page(&mut self, query: &str) -> Result<Page, LogEnded> {
        let mut is_lost = false;
        loop {
            let (why, after) = match self.client.get(&format!("/events?{query}"), LONG_POLL_ANSWER_TIME).await
            {
                // If the first request fails, the URL may be wrong, so the failure is reported at once. A server that
                // has answered before is tried again.
                Err(error) if error.is_permanent || !self.has_answered => return Err(LogEnded(error.why)),
                Err(error) => (error.why, None),
                Ok(answer) => {
                    self.has_answered = true;
                    match page::read(&answer) {
                        Ok(page) => {
                            self.backoff.reset();
                            if is_lost {
                                notify(&format!("{} answers again", self.client.url()));
                            }
                            return Ok(page);
                        }
                        Err(Refusal::Later { why, after }) => (why, after),
                        Err(Refusal::Final { why }) => return Err(LogEnded(why)),
                        Err(Refusal::Expired { why }) => {
                            return Err(LogEnded(format!("{why} Then pass that id with --after.")));
                        }
                    }
                }
            };
            is_lost = true;
            let asked = after.filter(|after| *after > RETRY_AFTER_MAX);
            let asked =
                asked.map(|after| format!("; it asks to wait {} s", after.as_secs())).unwrap_or_default();
            let pause = after
                .map_or_else(|| self.next_pause(), |after| after.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX));
            notify(&format!(
                "{}: {why}{asked}; next attempt in {:.1} s",
                self.client.url(),
                pause.as_secs_f64()
            ));
            sleep(pause).await;
        }
    }

    /// The next wait of the backoff.
    fn next_pause(&mut self) -> Duration {
        self.backoff.next(SystemEntropy::number().unwrap_or_default())
    }
}
