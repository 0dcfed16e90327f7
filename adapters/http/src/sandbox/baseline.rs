//! `/sandbox/baseline`: the shop that a reset restores. It is shown and given as the lines of an import.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use petstore_ports::{Row, ShopTextFault, StoreError, api};
use tokio::time::timeout;

use super::blocking::blocking;
use super::pieces::{self, Elements, Frame};
use super::state::SandboxState;
use crate::io::request_body::RequestBody;
use crate::response::answer::{Answer, Content};
use crate::thread::shared::App;
use crate::wire;
use crate::wire::error::{ApiError, Code};

/// The maximum number of bytes of the lines that a tester gives: those of about 80,000 pets.
const LINES_MAX: usize = 16 * 1024 * 1024;

/// The time for which a request with lines waits for another one, because one at a time is read and checked.
const TURN_WAIT: Duration = Duration::from_secs(2);

/// The header that tells whose shop the baseline is: that of the start, or one that a tester has set.
const ORIGIN: HeaderName = HeaderName::from_static("x-baseline");

const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Runs a route of the baseline.
pub(super) async fn answer(
    app: &App,
    sandbox: &Arc<SandboxState>,
    parts: &Parts,
    body: &mut RequestBody,
    allow: &'static str,
) -> Result<Answer, Answer> {
    let port = sandbox.port();
    match parts.method {
        Method::GET | Method::HEAD => show(sandbox, parts).await,
        Method::PUT => {
            let deadline = app.settings.deadlines.body;
            if let Err(unsupported) = wire::check_lines_type(&parts.headers) {
                // No bytes are no body, whatever its type. Only with the type of lines they are a shop without a resource.
                let is_missing = body.ends_at_once(deadline).await?;
                return Err(if is_missing { no_lines().into() } else { unsupported.into() });
            }
            let _turn = take_turn(sandbox).await?;
            let lines = body.read(LINES_MAX, deadline).await?;
            let port = Arc::clone(port);
            let given = blocking(move || Ok(port.baseline().map(|baseline| baseline.give(&lines)))).await?;
            let rows = given.ok_or_else(absent)?.map_err(|ShopTextFault(fault)| {
                let message = format!("The baseline is unchanged: {fault}.");
                ApiError::new(Code::ValidationFailed, message)
            })?;
            Ok(summary(&rows))
        }
        Method::POST => {
            let lock = sandbox.lock_for_reset().await?;
            let port = Arc::clone(port);
            let saved = blocking(move || {
                let _lock = lock;
                port.baseline().map(api::Baseline::save).transpose()
            });
            Ok(summary(&saved.await?.ok_or_else(absent)?))
        }
        Method::DELETE => {
            port.baseline().ok_or_else(absent)?.discard();
            Ok(Answer::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(Answer::not_allowed(allow)),
    }
}

fn no_lines() -> ApiError {
    let message = "The request has no body; send the lines of a shop as application/x-ndjson.";
    ApiError::new(Code::InvalidJson, message)
}

/// Waits until no other lines are read.
async fn take_turn(sandbox: &SandboxState) -> Result<tokio::sync::MutexGuard<'_, ()>, StoreError> {
    let turn = timeout(TURN_WAIT, sandbox.baseline_turn().lock()).await;
    turn.map_err(|_| StoreError::busy("the sandbox is still reading another baseline"))
}

/// The answer of a sandbox without a baseline, which has no such route; see `SandboxRoute::find`.
fn absent() -> Answer {
    Answer::empty(StatusCode::NOT_FOUND)
}

/// Returns the numbers of the resources of a baseline.
fn summary(rows: &[Row]) -> Answer {
    let count = |is_counted: fn(&Row) -> bool| rows.iter().filter(|row| is_counted(row)).count();
    let categories = count(|row| matches!(row, Row::Category(_)));
    let pets = count(|row| matches!(row, Row::Pet(_)));
    let orders = count(|row| matches!(row, Row::Order(_)));
    let body = format!(r#"{{"categories":{categories},"pets":{pets},"orders":{orders},"keptIn":"memory"}}"#);
    Answer::json(StatusCode::OK, body)
}

/// Returns the lines of the baseline.
async fn show(sandbox: &SandboxState, parts: &Parts) -> Result<Answer, Answer> {
    let port = Arc::clone(sandbox.port());
    let baseline = port.baseline().ok_or_else(absent)?;
    let (rows, origin) = (baseline.rows(), if baseline.is_first() { "start" } else { "set" });
    let lines = BaselineLines { port, rows, next: 0 };
    let answer = pieces::answer(sandbox.readers(), parts, Frame::NONE, lines).await?;
    Ok(Answer { content: Content::Custom, ..answer }
        .with_header(CONTENT_TYPE, NDJSON)
        .with_header(ORIGIN, HeaderValue::from_static(origin)))
}

/// The lines of a baseline as elements. They are those of the moment of the request, also if the baseline changes meanwhile.
struct BaselineLines {
    port: Arc<dyn api::Sandbox>,
    rows: Arc<[Row]>,
    next: usize,
}

impl Elements for BaselineLines {
    fn push_next(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(row) = self.rows.get(self.next) else { return false };
        self.next += 1;
        let Some(baseline) = self.port.baseline() else { return false };
        baseline.push_text(row, out);
        true
    }

    fn plain_bytes(&self) -> Option<usize> {
        Some(size_of_val(&*self.rows))
    }
}
