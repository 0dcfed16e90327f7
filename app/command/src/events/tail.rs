//! Following the event log of a server.

use super::output::Output;
use super::pages::{LogEnded, LogPages, PAGE_MAX};
use crate::failure::Failure;

/// Prints events until the limit is reached, standard output is closed, or the server refuses permanently.
pub(super) async fn follow(mut log: LogPages, mut output: Output) -> Result<(), Failure> {
    loop {
        let page = log.next(output.wanted(PAGE_MAX)).await;
        let page = page.map_err(|LogEnded(why)| output.failure(&log.url().to_string(), &why))?;
        for event in &page.events {
            if output.print(event)?.is_break() {
                return Ok(());
            }
        }
    }
}
