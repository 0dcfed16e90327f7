//! `/sandbox/faults`: the plan in force is shown, replaced, added to and removed from.

use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use super::fault_json::{render_plan, render_rules};
use super::fault_plan::{FaultPlan, RULES_MAX, RuleFilter};
use super::fault_rules::{fault_plan, further_rules};
use super::query::rule_filter;
use super::read_json::read;
use super::state::SandboxState;
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::thread::shared::App;
use crate::wire;
use crate::wire::error::{ApiError, Code};

/// The prefix of the paths of one rule.
pub(super) const PREFIX: &str = "/sandbox/faults/";

/// Removes the rule whose id the path has.
pub(super) fn answer_rule(
    sandbox: &SandboxState,
    parts: &Parts,
    allow: &'static str,
) -> Result<Answer, Answer> {
    no_parameters(parts.uri.query())?;
    if parts.method == Method::DELETE { remove_one(sandbox, parts) } else { Err(Answer::not_allowed(allow)) }
}

/// Shows or changes the plan.
pub(super) async fn answer(
    app: &App,
    sandbox: &SandboxState,
    parts: &Parts,
    body: &mut RequestBody,
    allow: &'static str,
) -> Result<Answer, Answer> {
    let query = parts.uri.query();
    if parts.method == Method::DELETE {
        match rule_filter(query)? {
            Some(filter) => {
                sandbox.faults().remove(&filter);
            }
            None => sandbox.plan(FaultPlan::default()),
        }
        return Ok(Answer::empty(StatusCode::NO_CONTENT));
    }
    no_parameters(query)?;
    match parts.method {
        Method::GET | Method::HEAD => Ok(Answer::json(StatusCode::OK, render_plan(&sandbox.faults().plan()))),
        Method::PUT => {
            sandbox.plan(read(app, parts, body, fault_plan).await?);
            Ok(Answer::json(StatusCode::OK, render_plan(&sandbox.faults().plan())))
        }
        Method::POST => {
            let rules = read(app, parts, body, further_rules).await?;
            let added = sandbox.faults().append(rules).ok_or_else(too_many)?;
            Ok(Answer::json(StatusCode::CREATED, render_rules(&added.rules)))
        }
        _ => Err(Answer::not_allowed(allow)),
    }
}

fn remove_one(sandbox: &SandboxState, parts: &Parts) -> Result<Answer, Answer> {
    let id = parts.uri.path().strip_prefix(PREFIX).and_then(|id| id.parse().ok());
    if id.is_some_and(|id| sandbox.faults().remove(&RuleFilter::Id(id)) > 0) {
        return Ok(Answer::empty(StatusCode::NO_CONTENT));
    }
    let message = "The plan has no rule with this id; GET /sandbox/faults lists all.";
    Err(ApiError::new(Code::NotFound, message).into())
}

/// Refuses a query of a path that has none.
pub(super) fn no_parameters(query: Option<&str>) -> Result<(), ApiError> {
    let message = "This path has no query parameters.";
    wire::no_parameters(query).map_err(|_| ApiError::new(Code::InvalidParameter, message))
}

fn too_many() -> ApiError {
    let message =
        format!("The plan may have at most {RULES_MAX} rules; remove some with DELETE /sandbox/faults.");
    ApiError::new(Code::ValidationFailed, message)
}
