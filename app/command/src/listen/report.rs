//! One line for each attempt.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use petstore_domain::{AnswerCut, AttemptError, AttemptOutcome};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::events::{EventFields, ReceivedEvent};
use crate::terminal::{print_while_read, visible_json, visible_line};

/// The number of characters of an answer that are shown.
const ANSWER_MAX: usize = 200;

/// Prints attempts.
pub(super) struct Report {
    pub(super) is_json: bool,
    /// The number of attempts for each event.
    pub(super) attempts: u32,
}

/// An attempt, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttemptLine<'a> {
    event: &'a RawValue,
    attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    /// The reason why the answer was not read to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_cut: Option<&'static str>,
    duration_ms: u128,
    /// The wait before the next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_ms: Option<u128>,
}

impl Report {
    /// Prints an attempt, and the wait before the next one. Breaks if standard output is closed.
    pub(super) fn print(
        &self,
        event: &ReceivedEvent,
        attempt: u32,
        outcome: &AttemptOutcome,
        pause: Option<Duration>,
    ) -> Result<ControlFlow<()>, String> {
        let line = if self.is_json {
            json(event, attempt, outcome, pause)
        } else {
            self.text(&event.fields, attempt, outcome, pause)
        };
        print_while_read(&line).map_err(|failure| failure.message)
    }

    fn text(
        &self,
        event: &EventFields,
        attempt: u32,
        outcome: &AttemptOutcome,
        pause: Option<Duration>,
    ) -> String {
        let EventFields { sequence, kind, timestamp, .. } = event;
        let mut line = format!("{timestamp}  {sequence}  {kind}  -> ");
        let status = outcome.answer.as_ref().map(|answer| answer.status);
        // Writing to a String does not fail.
        let _ = match (outcome.error, status) {
            (None, Some(status)) => write!(line, "{status}"),
            (Some(AttemptError::Status | AttemptError::Redirect), Some(status)) => {
                write!(line, "{status}: failed")
            }
            (Some(error), _) => write!(line, "failed: {error}"),
            (None, None) => write!(line, "accepted"),
        };
        let _ = write!(line, " ({} ms)", outcome.duration.as_millis());
        if outcome.error.is_some() {
            let _ = write!(line, "; attempt {attempt} of {}", self.attempts);
        }
        if let Some(pause) = pause {
            let _ = write!(line, ", the next one in {:.0} s", pause.as_secs_f64());
        }
        if let Some(cut) = cut_of(outcome) {
            let _ = write!(line, "; {cut}");
        }
        if let Some(body) =
            outcome.answer.as_ref().filter(|_| outcome.error.is_some()).and_then(|it| it.body.as_ref())
        {
            let body: String = body.trim().chars().take(ANSWER_MAX).collect();
            let _ = write!(line, "; it answered: {body}");
        }
        let mut line = visible_line(&line).into_owned();
        line.push('\n');
        line
    }
}

fn cut_of(outcome: &AttemptOutcome) -> Option<AnswerCut> {
    outcome.answer.as_ref().and_then(|answer| answer.cut)
}

fn json(event: &ReceivedEvent, attempt: u32, outcome: &AttemptOutcome, pause: Option<Duration>) -> String {
    let line = AttemptLine {
        event: &event.json,
        attempt,
        status_code: outcome.answer.as_ref().map(|answer| answer.status),
        error: outcome.error.map(AttemptError::as_str),
        response_cut: cut_of(outcome).map(AnswerCut::as_str),
        duration_ms: outcome.duration.as_millis(),
        next_attempt_ms: pause.map(|pause| pause.as_millis()),
    };
    let line = serde_json::to_string(&line).expect("the members are numbers and texts");
    // Line ends occur only between the tokens of a JSON text.
    format!("{}\n", visible_json(&line.replace(['\n', '\r'], " ")))
}

#[cfg(test)]
mod tests {
    use petstore_domain::ReceiverAnswer;

    use super::*;

    const EVENT: &str = r#"{"id":"evt_1","sequence":7,"type":"order.placed","timestamp":"2030-01-01T12:00:00.000Z","data":{}}"#;

    fn outcome(error: Option<AttemptError>, status: Option<u16>, body: &str) -> AttemptOutcome {
        let answer = status.map(|status| {
            let body = (!body.is_empty()).then(|| body.into());
            Box::new(ReceiverAnswer { status, body, ..ReceiverAnswer::default() })
        });
        AttemptOutcome { duration: Duration::from_millis(3), error, answer }
    }

    fn cut(cut: AnswerCut) -> AttemptOutcome {
        let mut outcome = outcome(None, Some(200), "ok");
        outcome.answer.as_mut().unwrap().cut = Some(cut);
        outcome
    }

    #[test]
    fn a_line_has_the_event_and_the_outcome() {
        let event = ReceivedEvent::parse(EVENT.to_owned()).unwrap();
        let report = Report { is_json: false, attempts: 10 };
        let second = Some(Duration::from_secs(1));
        for (outcome, pause, expected) in [
            (outcome(None, Some(204), "ok"), None, "204 (3 ms)"),
            (
                outcome(Some(AttemptError::Status), Some(500), "no\n\u{1b}[2J"),
                second,
                "500: failed (3 ms); attempt 2 of 10, the next one in 1 s; it answered: no\\u{a}\\u{1b}[2J",
            ),
            (cut(AnswerCut::TooLong), None, "200 (3 ms); the answer is longer than is read"),
            (
                outcome(Some(AttemptError::ConnectFailed), None, ""),
                None,
                "failed: the connection could not be made (3 ms); attempt 2 of 10",
            ),
        ] {
            let line = report.text(&event.fields, 2, &outcome, pause);
            assert_eq!(line, format!("2030-01-01T12:00:00.000Z  7  order.placed  -> {expected}\n"));
        }
    }

    #[test]
    fn json_has_the_event_as_it_was_received() {
        let event = ReceivedEvent::parse(EVENT.to_owned()).unwrap();
        let line = json(
            &event,
            2,
            &outcome(Some(AttemptError::Status), Some(500), ""),
            Some(Duration::from_secs(1)),
        );
        let expected = format!(
            "{{\"event\":{EVENT},\"attempt\":2,\"statusCode\":500,\"error\":\"status\",\"durationMs\":3,\"nextAttemptMs\":1000}}\n"
        );
        assert_eq!(line, expected);
        let line = json(&event, 1, &cut(AnswerCut::Late), None);
        let expected = "\"attempt\":1,\"statusCode\":200,\"responseCut\":\"late\",\"durationMs\":3}\n";
        assert_eq!(line, format!("{{\"event\":{EVENT},{expected}"));
        let line = json(&event, 1, &outcome(None, Some(200), ""), None);
        assert_eq!(
            line,
            format!("{{\"event\":{EVENT},\"attempt\":1,\"statusCode\":200,\"durationMs\":3}}\n")
        );
    }
}
