//! The sandbox, a server for one tester: it can be reset, its clock can be set, it injects planned faults, and it shows each
//! request and its answer.
//!
//! It is the hook of a server: the modules that serve requests know the traits of [`crate::thread`], and nothing of this
//! folder. It is not a crate of its own, because it reads and writes with the parts of the transport: bodies, queries, JSON,
//! errors, answers, streams and the gate. As a crate it would need all of them as public interfaces.

mod answer_changes;
mod baseline;
mod blocking;
mod bodies;
mod clock_hold;
mod console;
mod contract_request;
mod event_log;
mod fault_json;
mod fault_plan;
mod fault_rules;
mod faults;
mod guard;
mod injection;
mod journal_lists;
mod keys;
mod mcp;
mod pieces;
mod preference;
mod query;
mod quota_forms;
mod read_json;
mod readers;
mod recorder;
mod recording;
mod report;
mod request_stream;
mod requests;
mod retry_after;
mod routes;
mod rule_scope;
mod sink_pages;
mod sink_script;
mod sink_store;
mod sinks;
pub(crate) mod state;
mod tool_request;
mod webhook_states;

use std::sync::Arc;

use crate::io::request_body::RequestBody;
use crate::thread::thread_state::ThreadState;
use crate::thread::{Arrival, Hook, HookedRequest, LocalFuture};
use console::ConsoleRequest;
use contract_request::ContractRequest;
use mcp::McpRequest;
use routes::SandboxRoute;
use state::SandboxState;
use tool_request::ToolRequest;

impl Hook for SandboxState {
    fn begin(
        self: Arc<Self>,
        arrival: Arrival<'_>,
        body: &mut RequestBody,
    ) -> Option<Box<dyn HookedRequest>> {
        let path = arrival.parts.uri.path();
        if arrival.is_under {
            Some(Box::new(ContractRequest::begin(self, arrival, body)))
        } else if let Some(route) = SandboxRoute::find(path, arrival.thread, &self) {
            Some(Box::new(ToolRequest::new(self, route)))
        } else if console::find(path, arrival.thread).is_some() {
            Some(Box::new(ConsoleRequest))
        } else if let Some(tools) = self.tools().filter(|_| mcp::is_at(path, arrival.thread)) {
            Some(Box::new(McpRequest::new(Arc::clone(tools))))
        } else {
            None
        }
    }

    fn has_page(&self, path: &str, thread: &ThreadState) -> bool {
        SandboxRoute::find(path, thread, self).is_some()
            || console::find(path, thread).is_some()
            || (self.tools().is_some() && mcp::is_at(path, thread))
    }

    fn paths(&self) -> &'static [&'static str] {
        const { &SandboxRoute::PATHS }
    }

    fn interrupts_waits(&self) -> LocalFuture<'_, ()> {
        Box::pin(self.change_begins())
    }

    fn drain_begins(&self) {
        self.cancel_delays();
    }
}
