//! The delivery of events to webhooks.
//!
//! A [`Dispatcher`] claims webhooks, reads the event log for them, and sends each event by a
//! [`Courier`](petstore_ports::Courier). The rule [`dispatch_step`](petstore_domain::dispatch_step) decides when each
//! attempt begins; the machine lets the webhooks take turns. Progress is saved some times a second, so a crash repeats
//! the deliveries since the last save.

mod attempt;
mod bounds;
mod endpoint;
mod machine;
mod notices;
mod nudge;
mod overview;
mod permits;
mod places;
mod reading;
mod rounds;
mod run;
mod saving;
mod stats;
mod tester;
mod types;
mod withholding;

pub use attempt::DispatcherPorts;
pub use notices::DispatchNotice;
pub use run::Dispatcher;
pub use stats::{DispatchStats, WebhookCounts};
pub use tester::WebhookTester;
