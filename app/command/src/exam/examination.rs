//! All runs of an exam, one after the other.

use super::built_in;
use super::client::ExaminedClient;
use super::control::SandboxControl;
use super::examined::{CommandEnd, Exam, ExaminedScenario};
use super::interruption::Interruption;
use super::progress::ExamProgress;
use super::run::{Prepared, Run, is_over};
use super::scenario::Scenario;
use crate::failure::Failure;

/// The exit code of an exam that was interrupted without a signal: that of SIGINT.
const INTERRUPTED: u8 = 130;

/// The sandbox, the client and the scenarios of an exam.
pub(super) struct Examination {
    pub(super) control: SandboxControl,
    pub(super) client: ExaminedClient,
    pub(super) scenarios: Vec<Scenario>,
    /// Set if the sandbox is another process, which goes on without what the exam has added to it.
    pub(super) is_guest: bool,
    /// Set if the last scenario stays in force.
    pub(super) keeps: bool,
}

/// The results, and what has ended the exam early.
pub(super) struct Examined {
    pub(super) scenarios: Vec<ExaminedScenario>,
    /// The exit code of a signal.
    pub(super) signal: Option<u8>,
    /// A failure of the exam itself after the first result, such as a sandbox that has ended.
    pub(super) failure: Option<Failure>,
}

impl Examination {
    /// Runs the client in all scenarios.
    pub(super) async fn run(&mut self, signals: &mut Interruption) -> Result<Examined, Failure> {
        tokio::select! {
            checked = self.control.check() => checked?,
            code = signals.next() => return Ok(Examined::interrupted(code)),
        }
        let mut last = None;
        let examined = Box::pin(self.check_and_run(signals, &mut last)).await;
        let keeps = self.keeps && examined.as_ref().is_ok_and(|examined| examined.failure.is_none());
        let cleared = if self.is_guest && !keeps { self.clear(last).await } else { Ok(()) };
        let mut examined = examined?;
        examined.failure = examined.failure.or(cleared.err());
        Ok(examined)
    }

    async fn check_and_run(
        &mut self,
        signals: &mut Interruption,
        last: &mut Option<Prepared>,
    ) -> Result<Examined, Failure> {
        // What the requests of a preparation add to a running sandbox is removed, so there it goes on to its end.
        let is_guest = self.is_guest;
        tokio::select! {
            checked = self.check_scenarios() => checked?,
            code = signals.next(), if !is_guest => return Ok(Examined::interrupted(code)),
        }
        Box::pin(self.run_all(signals, last)).await
    }

    /// Applies each scenario of a file once before the first run, so that a mistake in it is found at once.
    async fn check_scenarios(&mut self) -> Result<(), Failure> {
        for scenario in self.scenarios.iter().filter(|scenario| !built_in::has(&scenario.name)) {
            for run in Run::of(scenario) {
                let prepared = run.prepare(&mut self.control).await;
                let prepared = prepared.map_err(|failure| Failure {
                    message: format!("scenario {}: {}", run.name(), failure.message),
                    code: failure.code,
                })?;
                prepared.remove(&mut self.control).await?;
            }
        }
        Ok(())
    }

    async fn run_all(
        &mut self,
        signals: &mut Interruption,
        last: &mut Option<Prepared>,
    ) -> Result<Examined, Failure> {
        let chosen = std::mem::take(&mut self.scenarios);
        let runs: Vec<_> = chosen.iter().flat_map(Run::of).collect();
        let progress = ExamProgress::new();
        let (mut scenarios, mut signal) = (vec![], None);
        for (place, run) in runs.iter().enumerate() {
            let name = run.name();
            let examined = tokio::select! {
                examined = self.run_one(run, signals, &mut signal, last) => examined,
                never = progress.running(&name, place, runs.len()) => match never {},
            };
            let examined = match examined {
                Ok(Some(examined)) => examined,
                Ok(None) => break,
                Err(failure) if scenarios.is_empty() => return Err(failure),
                Err(failure) => return Ok(Examined { scenarios, signal, failure: Some(failure) }),
            };
            progress.ended(&examined);
            let ends = is_over(examined.end);
            if examined.end == CommandEnd::Interrupted {
                // The program of the steps has ended without a signal.
                signal.get_or_insert(INTERRUPTED);
            }
            scenarios.push(examined);
            if ends {
                break;
            }
        }
        Ok(Examined { scenarios, signal, failure: None })
    }

    /// Prepares the sandbox for a run, and runs the client. Returns none if a signal came before the client was started.
    async fn run_one(
        &mut self,
        run: &Run<'_>,
        signals: &mut Interruption,
        signal: &mut Option<u8>,
        last: &mut Option<Prepared>,
    ) -> Result<Option<ExaminedScenario>, Failure> {
        if let Some(before) = last.take()
            && self.is_guest
        {
            before.remove(&mut self.control).await?;
        }
        let is_guest = self.is_guest;
        let prepared = tokio::select! {
            prepared = run.prepare(&mut self.control) => prepared?,
            code = signals.next(), if !is_guest => {
                *signal = Some(code);
                return Ok(None);
            }
        };
        let prepared = last.insert(prepared);
        let interrupted = async { *signal = Some(signals.next().await) };
        Box::pin(run.examine(prepared, &mut self.control, &mut self.client, interrupted)).await.map(Some)
    }

    /// Removes from the sandbox what the exam has added to it.
    async fn clear(&mut self, last: Option<Prepared>) -> Result<(), Failure> {
        if let Some(last) = last {
            last.remove(&mut self.control).await?;
        }
        self.control.return_to_machine_time().await
    }
}

impl Examined {
    /// An exam that a signal has ended before the first result.
    const fn interrupted(code: u8) -> Self {
        Self { scenarios: vec![], signal: Some(code), failure: None }
    }

    /// Returns the whole exam.
    pub(super) fn into_exam(self, command: Vec<String>, url: Option<String>, interrupted: bool) -> Exam {
        Exam {
            version: crate::version::NUMBER.to_owned(),
            command,
            url,
            scenarios: self.scenarios,
            interrupted,
        }
    }
}
