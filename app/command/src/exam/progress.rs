//! The progress on a terminal: a line for each scenario that was run, and the running one with its time.

use std::convert::Infallible;
use std::io::{self, IsTerminal};
use std::time::Duration;

use super::examined::ExaminedScenario;
use crate::bar::{self, Drawing};
use crate::environment::Stopwatch;
use crate::terminal::notify;

/// The pause between two looks at the clock.
const TICK: Duration = Duration::from_millis(100);

/// The progress of an exam. Shows nothing if standard error is no terminal.
pub(super) struct ExamProgress {
    is_shown: bool,
}

impl ExamProgress {
    pub(super) fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal() }
    }

    /// Shows the running scenario with its time. Does not end.
    pub(super) async fn running(&self, name: &str, place: usize, total: usize) -> Infallible {
        if !self.is_shown {
            return std::future::pending().await;
        }
        let watch = Stopwatch::start();
        loop {
            let elapsed = watch.elapsed();
            let figures = format!("{}.{} s", elapsed.as_secs(), elapsed.subsec_millis() / 100);
            let (done, total) = (place as u64, Some(total as u64));
            bar::draw(&Drawing { name, figures: &figures, done, total }, || true);
            tokio::time::sleep(TICK).await;
        }
    }

    /// Shows the result of a scenario.
    pub(super) fn ended(&self, scenario: &ExaminedScenario) {
        if self.is_shown {
            bar::clear();
            notify(&format!(
                "{}: {}, the command {}",
                scenario.name,
                scenario.verdict.as_str(),
                scenario.end_text()
            ));
        }
    }
}
