//! The log: one line on standard error for each logged request, and for events of the server.
//!
//! The lines are JSON for programs, and text for a terminal. They never contain a body, a key or the value of a query.

mod failure_limit;
mod line;
mod sink;

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use petstore_http::{Exchange, Observer};
use petstore_ports::Clock;

use self::failure_limit::FailureLimit;
use self::line::{Level, Line};
use self::sink::Sink;
use crate::plural::counted;
use crate::settings::{LogFormat, LogLevel, ServeArgs};

/// Writes log lines on its own thread, so that logging never blocks.
pub(crate) struct Log {
    level: LogLevel,
    /// Requests that take at least this long are logged, at any level but off.
    slow: Duration,
    /// One in this many successful requests is logged.
    sample: u64,
    seen: AtomicU64,
    json: bool,
    /// Set if a request's line has the client's address.
    logs_clients: bool,
    clock: Arc<dyn Clock>,
    failures: FailureLimit,
    sink: Sink,
}

impl Log {
    /// Starts the log with the settings.
    pub(crate) fn new(args: &ServeArgs, clock: Arc<dyn Clock>) -> Self {
        let json = match args.log_format {
            LogFormat::Auto => !std::io::stderr().is_terminal(),
            LogFormat::Text => false,
            LogFormat::Json => true,
        };
        Self {
            level: args.log,
            slow: args.log_slow,
            sample: u64::from(args.log_sample),
            seen: AtomicU64::new(0),
            json,
            logs_clients: args.log_client,
            clock: Arc::clone(&clock),
            failures: FailureLimit::default(),
            sink: Sink::to_standard_error(move |lost| {
                let message = format!(
                    "log: {} lost, because the queue was full or the output could not be written",
                    counted(lost, "line")
                );
                text_of(&Line::new(clock.now(), Level::Warn, &message), json)
            }),
        }
    }

    /// The observer for the transport; none if no request is logged.
    pub(crate) fn observer(self: &Arc<Self>) -> Option<Arc<dyn Observer>> {
        (self.level != LogLevel::Off).then(|| Arc::clone(self) as Arc<dyn Observer>)
    }

    /// Returns `true` if the log is text on a terminal.
    pub(crate) fn is_on_terminal(&self) -> bool {
        !self.json && std::io::stderr().is_terminal()
    }

    /// Logs an event of the server.
    pub(crate) fn info(&self, what: &str) {
        self.write(&self.line(Level::Info, what));
    }

    pub(crate) fn warn(&self, what: &str) {
        self.write(&self.line(Level::Warn, what));
    }

    /// Logs an error of the server.
    pub(crate) fn error(&self, what: &str) {
        self.write(&self.line(Level::Error, what));
    }

    /// Logs how many failed requests were not logged, because too many failed within a second.
    pub(crate) fn count_failures_left_out(&self) {
        let left_out = self.failures.take_left_out();
        if left_out > 0 {
            self.error(&format!("{} failed, too, and had no log line", counted(left_out, "request")));
        }
    }

    /// The number of lines that were lost, because the queue was full or because they could not be written.
    pub(crate) fn dropped(&self) -> u64 {
        self.sink.dropped()
    }

    /// Writes the queued lines, within a time limit.
    pub(crate) fn close(&self) {
        self.sink.close();
    }

    fn line<'l>(&self, level: Level, message: &'l str) -> Line<'l> {
        Line::new(self.clock.now(), level, message)
    }

    fn write(&self, line: &Line<'_>) {
        self.sink.write(text_of(line, self.json));
    }

    /// Returns whether this successful request is sampled.
    fn is_sampled(&self) -> bool {
        self.sample == 1 || self.seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.sample)
    }
}

fn text_of(line: &Line<'_>, json: bool) -> String {
    if json { line.as_json() } else { line.as_text() }
}

impl Observer for Log {
    fn wants(&self, status: u16, duration: Duration, is_fault: bool) -> bool {
        let is_remarkable = is_fault || duration >= self.slow;
        is_remarkable || (self.level == LogLevel::Requests && (status >= 400 || self.is_sampled()))
    }

    fn answered(&self, exchange: &Exchange<'_>) {
        if exchange.fault.is_some() && !self.failures.admits(self.clock.now()) {
            return;
        }
        let is_slow = exchange.duration >= self.slow;
        let (level, message) = match (exchange.fault, is_slow) {
            (Some(_), _) => (Level::Error, "failed"),
            (None, true) => (Level::Warn, "slow"),
            (None, false) => (Level::Info, "request"),
        };
        let client = self.logs_clients.then_some(exchange.client);
        self.write(&self.line(level, message).of(exchange, client));
    }

    fn advise(&self, what: &str) {
        self.warn(what);
    }

    fn trouble(&self, what: &str) {
        self.error(what);
    }
}
