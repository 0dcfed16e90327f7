//! The log: one line on standard error for each request that is to be logged.

use std::io::Write;
use std::sync::Arc;

use petstore_http::{Exchange, Observer};
use petstore_ports::Clock;

use crate::settings::LogLevel;

/// Writes log lines. `Errors` tells of what the server failed; `Requests` of everything.
pub(crate) struct Log {
    level: LogLevel,
    clock: Arc<dyn Clock>,
}

impl Log {
    /// The log at this level; none when nothing is to be logged.
    pub(crate) fn at(level: LogLevel, clock: Arc<dyn Clock>) -> Option<Arc<dyn Observer>> {
        match level {
            LogLevel::Off => None,
            LogLevel::Errors | LogLevel::Requests => Some(Arc::new(Self { level, clock })),
        }
    }

    fn line(&self, line: &str) {
        // A log that cannot be written is no reason to stop serving.
        let _ = writeln!(std::io::stderr().lock(), "{} {line}", self.clock.now());
    }
}

impl Observer for Log {
    fn wants_all(&self) -> bool {
        self.level == LogLevel::Requests
    }

    fn answered(&self, exchange: &Exchange<'_>) {
        let Exchange { method, route, status, request_id, .. } = exchange;
        // A method may be any token; only its first characters are worth a line.
        let method: String = method.chars().take(16).collect();
        let level = if exchange.fault.is_some() { "ERROR" } else { "INFO" };
        let mut fields = vec![format!("{level} {method} {route} {status} id={request_id}")];
        fields.extend(exchange.duration.map(|duration| format!("micros={}", duration.as_micros())));
        fields.extend(exchange.account.map(|account| format!("account={account}")));
        let traceparent = exchange.traceparent.filter(|text| is_traceparent(text));
        fields.extend(traceparent.map(|text| format!("traceparent={text}")));
        fields.extend(exchange.fault.map(|fault| format!("fault={fault:?}")));
        self.line(&fields.join(" "));
    }

    fn trouble(&self, what: &str) {
        self.line(&format!("ERROR {what}"));
    }
}

/// What a traceparent may consist of (W3C Trace Context, section 3.2): anything else stays out of the log.
fn is_traceparent(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}
