//! `petstore listen`: posts the events of a server to a local program, signed as a webhook is.

mod delivery;
mod report;

use std::ops::ControlFlow;

use clap::Args;
use petstore_domain::{EventId, Target, TargetError, WebhookUrl};

use self::delivery::{Delivery, Receiver};
use self::report::Report;
use crate::events::{LogEnded, LogPages, LogServer, PAGE_MAX, event_id, event_type};
use crate::failure::Failure;
use crate::runtime::single_threaded;
use crate::settings::expected::number;
use crate::terminal::notify;
use crate::webhooks::SecretArgs;

/// The events to post, their server, and the program that receives them.
#[derive(Debug, Args)]
#[command(
    after_help = "The API key is that of --key, of --key-file or of the variable PETSTORE_KEY. Events are posted in their order, one at \
                  a time. An event whose attempts all fail is left out, and makes the exit code 1 at the end of --limit.\n\
                  Exit codes: 0 all events up to --limit were delivered, 1 the server or the program refused, 2 usage."
)]
pub(crate) struct ListenArgs {
    /// URL of the program, such as http://localhost:3000/hook
    #[arg(long, value_parser = target, value_name = "URL")]
    to: WebhookUrl,
    /// Only events of these types, such as order.placed or order.*
    #[arg(long, value_delimiter = ',', value_parser = event_type, value_name = "TYPES")]
    types: Vec<String>,
    /// Begin after the event with this id; default: only new events
    #[arg(long, value_parser = event_id, value_name = "ID")]
    after: Option<EventId>,
    /// Stop after this many events
    #[arg(long, value_parser = number::<u64>(1..=u64::MAX), value_name = "N")]
    limit: Option<u64>,
    /// Number of attempts for each event
    #[arg(long, default_value = "10", value_parser = number::<u32>(1..=1_000), value_name = "1..1000")]
    attempts: u32,
    /// Print each attempt as a line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: LogServer,
    #[command(flatten)]
    secret: SecretArgs,
}

impl ListenArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let log = self.server.log(self.after, self.types)?;
        let secret = self.secret.read_or_make()?;
        let receiver = Receiver::new(self.to, secret, self.attempts)?;
        let report = Report { is_json: self.json, attempts: self.attempts };
        single_threaded()?.block_on(follow(log, receiver, report, self.limit))
    }
}

/// Parses the URL of the program. Without a scheme, as in `localhost:3000/hook`, it is that of plain HTTP.
fn target(text: &str) -> Result<WebhookUrl, String> {
    let is_whole = text.is_empty() || text.contains("://") || text.starts_with('/');
    let text = if is_whole { text.to_owned() } else { format!("http://{text}") };
    match Target::parse(&text) {
        Err(TargetError::Scheme | TargetError::Empty) => {
            Err("expected a URL such as http://localhost:3000/hook".to_owned())
        }
        Err(error) => Err(error.to_string()),
        Ok(_) => WebhookUrl::parse(&text).map_err(|error| error.to_string()),
    }
}

/// The events that were handled so far.
#[derive(Debug, Default)]
struct Progress {
    handled: u64,
    failed: u64,
    /// The id of the last event that was handled.
    last: Option<String>,
}

impl Progress {
    /// A failure of the server or the program. The message has the id after which the command can continue.
    fn failure(&self, source: &str, why: &str) -> Failure {
        let last = self.last.as_ref().map(|id| format!(" (continue with --after {id})")).unwrap_or_default();
        Failure::because(format!("{source}: {why}{last}"))
    }
}

/// Posts events until the limit is reached, standard output is closed, or the server or the program refuses.
async fn follow(
    mut log: LogPages,
    receiver: Receiver,
    report: Report,
    limit: Option<u64>,
) -> Result<(), Failure> {
    let mut progress = Progress::default();
    let server = log.url().to_string();
    log.find_place().await.map_err(|LogEnded(why)| progress.failure(&server, &why))?;
    notify(&format!("posting the events of {server} to {}", receiver.url()));
    notify(&format!("each is signed with the secret {}", receiver.secret().reveal()));
    notify(
        "check a signature with `petstore webhooks verify`, or in your language as docs/webhooks.md shows",
    );
    loop {
        let left = limit.map_or(PAGE_MAX, |limit| (limit - progress.handled).min(PAGE_MAX));
        let page = log.next(left).await.map_err(|LogEnded(why)| progress.failure(&server, &why))?;
        for event in &page.events {
            let delivered = receiver.deliver(event, &report).await;
            match delivered.map_err(|why| progress.failure(receiver.url(), &why))? {
                ControlFlow::Break(()) => return Ok(()),
                ControlFlow::Continue(Delivery::Accepted) => {}
                ControlFlow::Continue(Delivery::Failed) => progress.failed += 1,
            }
            progress.handled += 1;
            progress.last = Some(event.fields.id.clone());
        }
        if limit.is_some_and(|limit| progress.handled >= limit) {
            return ended(receiver.url(), &progress);
        }
    }
}

fn ended(url: &str, progress: &Progress) -> Result<(), Failure> {
    let Progress { handled, failed, .. } = progress;
    if *failed == 0 {
        return Ok(());
    }
    Err(Failure::because(format!("{url}: {failed} of {handled} events were not delivered")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_a_scheme_is_asked_by_plain_http() {
        for (text, url) in [
            ("localhost:3000", "http://localhost:3000"),
            ("127.0.0.1:3000/hook?a=1", "http://127.0.0.1:3000/hook?a=1"),
            ("http://localhost:3000/hook", "http://localhost:3000/hook"),
            ("https://hooks.example", "https://hooks.example"),
        ] {
            assert_eq!(target(text).unwrap().as_str(), url, "{text}");
        }
        for text in ["", "/hook", "ftp://localhost", "//localhost:3000"] {
            let why = target(text).unwrap_err();
            assert_eq!(why, "expected a URL such as http://localhost:3000/hook", "{text}");
        }
        for text in ["user:s3cr3t@localhost:3000", "localhost:x", "a b"] {
            let why = target(text).unwrap_err();
            assert!(!why.contains("s3cr3t"), "{text}: {why}");
        }
    }
}
