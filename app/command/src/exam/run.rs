//! One run of the client in one scenario.

use std::time::Duration;

use petstore_client_report::RuleVerdict;
use petstore_domain::Timestamp;

use super::client::{ClientEnd, ExaminedClient, Handout};
use super::control::{ExamKey, ResetNumber, SandboxControl};
use super::examined::{CommandEnd, ExaminedRequest, ExaminedScenario};
use super::scenario::{ClockPlan, ClockStart, Scenario, StandsUntil, Window};
use crate::environment::Stopwatch;
use crate::failure::Failure;

/// The pause before the journal is read again, while a request is not answered.
const ANSWER_PAUSE: Duration = Duration::from_millis(50);

/// The number of times that the journal is read while requests are not answered.
const ANSWER_READS: u32 = 20;

/// The time that a program may take to start while the sandbox's clock, which is ahead, stands still.
const START_MAX: Duration = Duration::from_secs(10);

/// The time after the first request for which the clock is held at most, for a client that leaves some of its quota.
const HOLD_MAX: Duration = Duration::from_secs(5);

/// The form without quota headers.
const NO_HEADERS: &str = "none";

/// The rule that quota headers alone can test.
const OF_HEADERS: &str = "spares-its-quota";

/// One run: a scenario, with one form of the quota headers.
pub(super) struct Run<'s> {
    pub(super) scenario: &'s Scenario,
    pub(super) form: Option<&'s str>,
}

/// A sandbox that is prepared for a run, with what the exam has added to it.
pub(super) struct Prepared {
    key: ExamKey,
    faults: Vec<u64>,
    /// The reset with which the run began.
    reset: ResetNumber,
}

/// A step of the exam after the first request.
enum LaterStep {
    /// Lets the clock run.
    RunClock,
    /// Lets the clock run if no answer has done that.
    EndHold,
    /// Removes a rule from the plan of faults.
    EndFault(u64),
}

impl<'s> Run<'s> {
    /// Returns the runs of a scenario.
    pub(super) fn of(scenario: &'s Scenario) -> Vec<Self> {
        if scenario.quota_headers.is_empty() {
            return vec![Self { scenario, form: None }];
        }
        scenario.quota_headers.iter().map(|form| Self { scenario, form: Some(form) }).collect()
    }

    /// The name of the scenario, and the form if there are several.
    pub(super) fn name(&self) -> String {
        match self.form {
            Some(form) if self.scenario.quota_headers.len() > 1 => format!("{}/{form}", self.scenario.name),
            _ => self.scenario.name.clone(),
        }
    }

    /// The rules that the scenario is made to prove, as far as this form of the quota headers can.
    fn proves(&self) -> Vec<String> {
        let can = |rule: &&String| self.form != Some(NO_HEADERS) || *rule != OF_HEADERS;
        self.scenario.proves.iter().filter(can).cloned().collect()
    }

    /// Prepares the sandbox.
    pub(super) async fn prepare(&self, control: &mut SandboxControl) -> Result<Prepared, Failure> {
        let Scenario { plan, clock, faults, .. } = self.scenario;
        let reset = control.reset().await?;
        if let Some(clock) = clock {
            let time = match &clock.start {
                ClockStart::At(date) => date.clone(),
                ClockStart::BeforeTurn { window, by } => {
                    before_turn(control.now().await?, *window, *by).to_string()
                }
            };
            control.freeze_at(&time).await?;
        }
        let key = control.new_key(plan, self.form).await?;
        let planned = async {
            if plan.used > 0 {
                control.use_up(&key, plan.used).await?;
            }
            if matches!(clock, Some(ClockPlan { stands_until: StandsUntil::Wait, .. })) {
                control.hold_clock(&key).await?;
            }
            control.plan(faults, &key).await
        };
        match planned.await {
            Ok(faults) => Ok(Prepared { key, faults, reset }),
            Err(failure) => {
                // The failure is the one to tell, also if the key cannot be revoked for the same reason.
                let _ = control.revoke(key.id).await;
                Err(failure)
            }
        }
    }

    /// Runs the client in the prepared sandbox, and judges it.
    pub(super) async fn examine(
        &self,
        prepared: &Prepared,
        control: &mut SandboxControl,
        client: &mut ExaminedClient,
        interrupted: impl Future<Output = ()>,
    ) -> Result<ExaminedScenario, Failure> {
        let key = &prepared.key;
        let handout = Handout {
            scenario: self.name(),
            url: control.api().to_string(),
            key: key.secret.clone(),
            sandbox: control.beside("/sandbox"),
            mcp: control.beside("/mcp"),
        };
        let mut watched = SandboxControl::new(control.api().clone())?;
        let watch = Stopwatch::start();
        // A failure of the sandbox ends the client, too, so that no process of it is left.
        let mut failure = None;
        let ended_early = async {
            tokio::select! {
                () = interrupted => {}
                why = self.follow(&mut watched, prepared) => failure = Some(why),
            }
        };
        let ran = client.run(&handout, ended_early).await?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let took = watch.elapsed();
        self.judged(prepared, ran, took, control).await
    }

    /// Does what the scenario has planned for the time after the first request. Returns only if it fails.
    async fn follow(&self, control: &mut SandboxControl, prepared: &Prepared) -> Failure {
        match self.try_follow(control, prepared).await {
            Ok(()) => std::future::pending().await,
            Err(failure) => failure,
        }
    }

    async fn try_follow(&self, control: &mut SandboxControl, prepared: &Prepared) -> Result<(), Failure> {
        let mut steps = self.later_steps(&prepared.faults);
        if steps.is_empty() {
            return Ok(());
        }
        while !control.has_first_request(prepared.key.prefix()).await? {}
        let first = tokio::time::Instant::now();
        steps.sort_unstable_by_key(|(after, _)| *after);
        for (after, step) in steps {
            tokio::time::sleep_until(first + after).await;
            match step {
                LaterStep::RunClock => control.release_clock().await?,
                LaterStep::EndHold => control.end_hold().await?,
                LaterStep::EndFault(id) => control.remove_fault(id).await?,
            }
        }
        Ok(())
    }

    /// Returns the steps after the first request, each with the time from then on.
    fn later_steps(&self, faults: &[u64]) -> Vec<(Duration, LaterStep)> {
        let of_clock = self.scenario.clock.as_ref().map(|clock| match clock.stands_until {
            StandsUntil::FirstRequest => (Duration::ZERO, LaterStep::RunClock),
            StandsUntil::Wait => (HOLD_MAX, LaterStep::EndHold),
        });
        let ends = self.scenario.faults.iter().zip(faults);
        let ends = ends.filter_map(|(fault, id)| Some((fault.lasts?, LaterStep::EndFault(*id))));
        of_clock.into_iter().chain(ends).collect()
    }

    async fn judged(
        &self,
        Prepared { key, reset, .. }: &Prepared,
        ran: ClientEnd,
        took: Duration,
        control: &mut SandboxControl,
    ) -> Result<ExaminedScenario, Failure> {
        let prefix = key.prefix();
        let (all, left_out) = answered(control, prefix).await?;
        let without_key = all.iter().filter(|request| request.client().is_none()).count();
        let is_own = |request: &ExaminedRequest| request.client() == Some(prefix);
        let (rules, last_reset) = control.rules(prefix).await?;
        if last_reset != *reset && ran.end != CommandEnd::Interrupted {
            return Err(self.was_reset(control));
        }
        let verdict = rules.iter().map(|rule| rule.verdict).max().unwrap_or(RuleVerdict::Untested);
        Ok(ExaminedScenario {
            name: self.name(),
            title: self.scenario.title.clone(),
            proves: self.proves(),
            must_pass: self.scenario.must_pass,
            key_prefix: prefix.to_owned(),
            verdict,
            end: ran.end,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            left_behind: ran.left_behind,
            without_key,
            left_out,
            output: ran.output.replace(&*key.secret, &format!("{prefix}...")),
            rules,
            requests: all.into_iter().filter(is_own).collect(),
        })
    }

    /// The failure of a run that another reset has ended: the faults are gone, and with them the requests that are to be judged.
    fn was_reset(&self, control: &SandboxControl) -> Failure {
        Failure::because(format!(
            "{}: the sandbox was reset while the command ran in the scenario {}, so it cannot be judged: leave POST \
             /sandbox/reset out of the command, and let nothing else reset this sandbox, such as another exam",
            control.api(),
            self.name()
        ))
    }
}

impl Prepared {
    /// Removes from the sandbox what the exam has added to it.
    pub(super) async fn remove(self, control: &mut SandboxControl) -> Result<(), Failure> {
        for id in self.faults {
            control.remove_fault(id).await?;
        }
        control.revoke(self.key.id).await
    }
}

/// Returns the requests, when those with the key are answered, and the number of those that are not read.
async fn answered(
    control: &mut SandboxControl,
    prefix: &str,
) -> Result<(Vec<ExaminedRequest>, u64), Failure> {
    let is_open = |request: &ExaminedRequest| request.answer.is_none() && request.client() == Some(prefix);
    for _ in 1..ANSWER_READS {
        let (all, left_out) = control.requests().await?;
        if !all.iter().any(is_open) {
            return Ok((all, left_out));
        }
        tokio::time::sleep(ANSWER_PAUSE).await;
    }
    control.requests().await
}

/// Returns the time before a turn of a window: the next one for which [`START_MAX`] is left until then. A clock that goes back begins
/// all windows again. One that is behind the machine's makes a client too early that waits for a time by its own clock.
fn before_turn(now: Timestamp, window: Window, by: Duration) -> Timestamp {
    let length: i64 = match window {
        Window::Minute => 60_000,
        Window::Day => 24 * 60 * 60_000,
    };
    let by = i64::try_from(by.as_millis()).unwrap_or(0);
    let now_millis = now.as_millis();
    let earliest = now_millis + i64::try_from(START_MAX.as_millis()).unwrap_or(0);
    let turn = (now_millis.div_euclid(length) + 1) * length;
    let start = if turn - by < earliest { turn + length - by } else { turn - by };
    Timestamp::from_millis(start).unwrap_or(now)
}

/// Returns whether the client was not started, or not to its end.
pub(super) const fn is_over(end: CommandEnd) -> bool {
    matches!(end, CommandEnd::NotStarted | CommandEnd::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exam::built_in;

    #[test]
    fn a_form_without_headers_proves_no_rule_about_them() {
        let dialects = built_in::named("dialects").unwrap();
        for run in Run::of(&dialects) {
            let expected = if run.form == Some("none") { 1 } else { 2 };
            assert_eq!(run.proves().len(), expected, "{}", run.name());
        }
    }

    #[test]
    fn the_clock_begins_before_the_next_turn_and_never_goes_back() {
        let at = |text| Timestamp::parse(text).unwrap();
        let by = Duration::from_millis(2_500);
        for (now, window, expected) in [
            ("2030-01-01T12:00:00Z", Window::Minute, "2030-01-01T12:00:57.500Z"),
            ("2030-01-01T12:00:47.500Z", Window::Minute, "2030-01-01T12:00:57.500Z"),
            ("2030-01-01T12:00:48Z", Window::Minute, "2030-01-01T12:01:57.500Z"),
            ("2030-01-01T12:00:58Z", Window::Minute, "2030-01-01T12:01:57.500Z"),
            ("2030-01-01T12:00:00Z", Window::Day, "2030-01-01T23:59:57.500Z"),
            ("2030-12-31T23:59:59Z", Window::Day, "2031-01-01T23:59:57.500Z"),
        ] {
            assert_eq!(before_turn(at(now), window, by), at(expected), "{now} {window:?}");
        }
    }
}
