//! A request of a tester, to one of the sandbox's own routes.

use std::sync::Arc;

use hyper::StatusCode;
use petstore_ports::Cost;

use super::routes::{self, SandboxRoute};
use super::state::SandboxState;
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::thread::{AnswerRecord, Arrival, Dropped, HookedRequest, Intercepted, LocalFuture, Served};

/// A request to a route of the sandbox.
pub(super) struct ToolRequest {
    sandbox: Arc<SandboxState>,
    route: SandboxRoute,
    /// `true` if the connection is to be closed without an answer.
    is_dropped: bool,
}

impl ToolRequest {
    pub(super) const fn new(sandbox: Arc<SandboxState>, route: SandboxRoute) -> Self {
        Self { sandbox, route, is_dropped: false }
    }
}

impl HookedRequest for ToolRequest {
    fn takes_any_name(&self) -> bool {
        true
    }

    fn before<'r>(
        &'r mut self,
        arrival: Arrival<'r>,
        _: Cost,
        body: &'r mut RequestBody,
    ) -> LocalFuture<'r, Result<(), Intercepted>> {
        Box::pin(async move {
            let answer = routes::answer(self.route, &self.sandbox, arrival, body).await;
            self.is_dropped = answer.is_none();
            // An answer that is dropped is not sent.
            let answer = answer.unwrap_or_else(|| Answer::empty(StatusCode::SERVICE_UNAVAILABLE));
            Err(answer.into())
        })
    }

    fn after(
        self: Box<Self>,
        _: Served<'_>,
    ) -> LocalFuture<'_, Result<Option<Box<dyn AnswerRecord>>, Dropped>> {
        Box::pin(std::future::ready(if self.is_dropped { Err(Dropped) } else { Ok(None) }))
    }
}
