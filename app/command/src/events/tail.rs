//! Following the event log of a server: pages, long polls, waits and reconnects.

use std::time::Duration;

use tokio::time::sleep;

use super::api_client::ApiClient;
use super::backoff::Backoff;
use super::base_url::BaseUrl;
use super::output::Output;
use super::page::{self, Page, Refusal};
use crate::environment::{Stopwatch, SystemEntropy};
use crate::failure::Failure;
use crate::terminal::notify;

/// The time for which the server is asked to wait for an event. It is the longest time that the API allows.
const WAIT: Duration = Duration::from_secs(30);

/// The time limit of an answer: the wait of the server, and time for the answer itself.
const ANSWER_TIME: Duration = WAIT.saturating_add(Duration::from_secs(15));

/// The largest page that the API allows.
const PAGE_MAX: u64 = 100;

/// The events to read.
pub(super) struct Tail {
    /// The id after which to begin; none for new events only.
    pub(super) after: Option<String>,
    /// The types of the events. If empty, events of all types are read.
    pub(super) types: Vec<String>,
}

impl Tail {
    /// Prints events until the limit is reached, standard output is closed, or the server refuses permanently.
    pub(super) async fn follow(&self, server: BaseUrl, key: &str, output: Output) -> Result<(), Failure> {
        let mut reader = Reader::new(ApiClient::new(server, key)?, output);
        let mut after = match &self.after {
            Some(id) => id.clone(),
            None => reader.end_of_log().await?,
        };
        loop {
            let asked = Stopwatch::start();
            let page = reader.page(&self.query(&after, reader.output.wanted(PAGE_MAX))).await?;
            for event in &page.events {
                if reader.output.print(event)?.is_break() {
                    return Ok(());
                }
            }
            let is_early = page.events.is_empty() && !page.has_more && asked.elapsed() < WAIT / 2;
            after = page.reached.unwrap_or(after);
            if is_early {
                // The server has ended the wait early, because it stops or because its log has begun a new epoch. A
                // pause keeps this loop from sending requests without interruption.
                sleep(reader.pause()).await;
            }
        }
    }

    fn query(&self, after: &str, limit: u64) -> String {
        let types =
            if self.types.is_empty() { String::new() } else { format!("&type={}", self.types.join(",")) };
        format!("after={after}&limit={limit}&wait={}{types}", WAIT.as_secs())
    }
}

/// Reads pages, and repeats a failed request as long as another attempt may succeed.
struct Reader {
    client: ApiClient,
    backoff: Backoff,
    /// Set once the server has answered.
    has_answered: bool,
    output: Output,
}

impl Reader {
    fn new(client: ApiClient, output: Output) -> Self {
        Self { client, backoff: Backoff::default(), has_answered: false, output }
    }

    /// The id of the last event in the log.
    async fn end_of_log(&mut self) -> Result<String, Failure> {
        let page = self.page("sort=-id&limit=1").await?;
        page.reached.ok_or_else(|| {
            self.failure("the answer has no header Last-Event-ID: a proxy between may have removed it; name a place with --after")
        })
    }

    /// Requests the page of a query, and tries again after a temporary failure.
    async fn page(&mut self, query: &str) -> Result<Page, Failure> {
        let mut is_lost = false;
        loop {
            let (why, after) = match self.client.get(&format!("/events?{query}"), ANSWER_TIME).await {
                // If the first request fails, the URL may be wrong, so the failure is reported at once. A server that
                // has answered before is tried again.
                Err(error) if error.is_permanent || !self.has_answered => {
                    return Err(self.failure(&error.why));
                }
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
                        Err(Refusal::Final { why }) => return Err(self.failure(&why)),
                        Err(Refusal::Expired { why }) => {
                            return Err(self.failure(&format!("{why} Then pass that id with --after.")));
                        }
                    }
                }
            };
            is_lost = true;
            let pause = after.unwrap_or_else(|| self.pause());
            notify(&format!("{}: {why}; next attempt in {:.1} s", self.client.url(), pause.as_secs_f64()));
            sleep(pause).await;
        }
    }

    /// The next wait of the backoff.
    fn pause(&mut self) -> Duration {
        self.backoff.next(SystemEntropy::number().unwrap_or_default())
    }

    /// A failure of this server. The message has the id after which the command can continue.
    fn failure(&self, why: &str) -> Failure {
        self.output.failure(&self.client.url().to_string(), why)
    }
}
