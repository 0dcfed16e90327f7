//! `POST /mcp`: the contract's operations as tools for models, by the Model Context Protocol.
//!
//! A call becomes a request of the contract, which passes the same checks as any other: [`call`].

mod arguments;
mod call;
pub(super) mod catalog;
mod message;
mod raw;
mod reply;
mod resources;
mod revision;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::WWW_AUTHENTICATE;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use petstore_ports::Cost;
use petstore_ports::api::{Call, Refusal};

use super::guard;
use super::read_json::read_bytes;
use crate::exchange::credentials::{NoKey, presented};
use crate::exchange::{cors, gate};
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::response::quota_headers::QuotaShape;
use crate::thread::shared::Serves;
use crate::thread::thread_state::ThreadState;
use crate::thread::{AnswerRecord, Arrival, Dropped, HookedRequest, Intercepted, LocalFuture, Served};
use crate::wire;
use crate::wire::builtin_routes::MCP_PATH;
use crate::wire::request_head::RequestHead;
use call::ToolRequest;
use catalog::{Catalog, Tool};
use message::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, Refused};
use raw::Raw;
use revision::Era;

const ALLOWED: &str = "POST, OPTIONS";

/// Returns whether a sandbox that has tools serves them at a path. It does on the listener of the API.
pub(super) fn is_at(path: &str, thread: &ThreadState) -> bool {
    path == MCP_PATH && thread.serves != Serves::Ops
}

/// A request to `/mcp`.
pub(super) struct McpRequest {
    catalog: Arc<Catalog>,
    /// The hook's part in the request inside, which acts on the answer that goes out; none without such a request.
    inside: Option<Box<dyn HookedRequest>>,
}

impl McpRequest {
    pub(super) const fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog, inside: None }
    }
}

impl HookedRequest for McpRequest {
    /// The guard judges the name, so that a hostile name gets 403 as a hostile origin does.
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
            let Self { catalog, inside } = self;
            Err(match read(arrival, body).await {
                Ok(bytes) => match answer_message(arrival, catalog, &bytes, inside).await {
                    Ok(intercepted) => intercepted,
                    Err(refused) => refused_message(&refused).into(),
                },
                Err(answer) => answer.into(),
            })
        })
    }

    fn quota_shape(
        &self,
        thread: &ThreadState,
        parts: &Parts,
        head: &RequestHead<'_>,
    ) -> Option<Arc<QuotaShape>> {
        self.inside.as_ref().and_then(|inside| inside.quota_shape(thread, parts, head))
    }

    fn after(
        self: Box<Self>,
        served: Served<'_>,
    ) -> LocalFuture<'_, Result<Option<Box<dyn AnswerRecord>>, Dropped>> {
        match self.inside {
            Some(inside) => inside.after(served),
            None => Box::pin(std::future::ready(Ok(None))),
        }
    }
}

/// Reads the body of a message, or returns the answer to a request that can have none.
async fn read(arrival: Arrival<'_>, body: &mut RequestBody) -> Result<Bytes, Answer> {
    let Arrival { thread, parts, head, .. } = arrival;
    if parts.method == Method::OPTIONS {
        return Err(cors::options(ALLOWED, &thread.app.cors, head, parts));
    }
    if let Err(refusal) = guard::check(&thread.app, parts, head) {
        let refused = Refused::bad(None, INVALID_REQUEST, refusal.message);
        return Err(refused_message(&Refused { status: StatusCode::FORBIDDEN, ..refused }));
    }
    if parts.method != Method::POST {
        return Err(Answer::not_allowed(ALLOWED));
    }
    read_bytes(&thread.app, parts, body).await
}

/// Answers a message.
async fn answer_message<'b>(
    arrival: Arrival<'_>,
    catalog: &Catalog,
    body: &'b Bytes,
    inside: &mut Option<Box<dyn HookedRequest>>,
) -> Result<Intercepted, Refused<'b>> {
    let message = Message::read(body)?;
    let Some(id) = message.id else { return Ok(Answer::empty(StatusCode::ACCEPTED).into()) };
    let era = revision::era(&message, &arrival.parts.headers)?;
    let tools = tools(arrival, catalog, id)?;
    if message.method == "tools/call" {
        let tool = tool(&tools, &message, id)?;
        let arguments = arguments(&message, id)?;
        let call = ToolRequest { message: &message, id, era, tool, arguments };
        return Ok(call::answer(arrival, &call, inside).await);
    }
    let members = listed(&message, id, era, &tools, &arrival.thread.app.settings.documents.compact)?;
    // A list needs no key, but a wrong one is told at once.
    Ok(match admit(arrival).await {
        Ok(()) => Answer::json(StatusCode::OK, reply::result(id, era, &members)).into(),
        Err(refusal) => refused_call(&refusal, id).into(),
    })
}

/// Returns the members of the result of each method except a call.
fn listed<'b>(
    message: &Message<'b>,
    id: Raw<'b>,
    era: Era,
    tools: &[&Tool],
    compact: &[u8],
) -> Result<String, Refused<'b>> {
    Ok(match (&*message.method, era) {
        ("initialize", Era::Handshake) => {
            reply::initialized(revision::agreed(message.text("protocolVersion").as_deref()))
        }
        ("ping", Era::Handshake) => String::new(),
        ("server/discover", Era::Modern) => reply::kept(era, reply::discovered()),
        ("tools/list", _) => reply::kept(era, catalog::listed(tools)),
        ("resources/list", _) => reply::kept(era, resources::LISTED.to_owned()),
        ("resources/templates/list", _) => reply::kept(era, "\"resourceTemplates\":[]".to_owned()),
        ("resources/read", _) => {
            let read = message.text("uri").and_then(|uri| resources::read(&uri, compact));
            let unknown = "No resource has this uri; resources/list names all.";
            reply::kept(era, read.ok_or_else(|| Refused::answered(Some(id), INVALID_PARAMS, unknown))?)
        }
        _ => {
            let text = "The method is none of initialize, ping, server/discover, tools/list, tools/call, resources/list, \
                        resources/templates/list and resources/read, or not of this revision of the protocol.";
            let refused = Refused::answered(Some(id), METHOD_NOT_FOUND, text);
            let status = if era == Era::Modern { StatusCode::NOT_FOUND } else { StatusCode::OK };
            return Err(Refused { status, ..refused });
        }
    })
}

/// Returns the tools that the query of the request leaves.
fn tools<'c, 'b>(
    arrival: Arrival<'_>,
    catalog: &'c Catalog,
    id: Raw<'b>,
) -> Result<Vec<&'c Tool>, Refused<'b>> {
    let refused = |text: String| Refused::bad(Some(id), INVALID_PARAMS, text);
    let tags = match arrival.parts.uri.query().unwrap_or_default() {
        "" => None,
        query => match query.strip_prefix("tags=") {
            Some(tags) => Some(tags.replace("%2C", ",").replace("%2c", ",")),
            None => return Err(refused("The query of this path has one parameter: tags.".to_owned())),
        },
    };
    let named = catalog.with_tags(tags.as_deref());
    named.map_err(|known| {
        refused(format!("The parameter tags must be a list of {}, with commas.", wire::listed(known)))
    })
}

/// Returns the tool of a call.
fn tool<'t, 'b>(tools: &[&'t Tool], message: &Message<'b>, id: Raw<'b>) -> Result<&'t Tool, Refused<'b>> {
    let name = message.text("name");
    let found = tools.iter().find(|tool| name.as_deref() == Some(&*tool.name));
    found.copied().ok_or_else(|| {
        let text = "No tool has this name; tools/list names all.";
        Refused::answered(Some(id), INVALID_PARAMS, text)
    })
}

/// Returns the arguments of a call; `None` if it has none.
fn arguments<'b>(message: &Message<'b>, id: Raw<'b>) -> Result<Option<Raw<'b>>, Refused<'b>> {
    let arguments = message.param("arguments").filter(|arguments| !arguments.is_null());
    if arguments.is_some_and(|arguments| !arguments.is_object()) {
        let text = "The arguments must be an object.";
        return Err(Refused::answered(Some(id), INVALID_PARAMS, text));
    }
    Ok(arguments)
}

/// Counts a request that is no call against its address, unless it has a valid key.
async fn admit(arrival: Arrival<'_>) -> Result<(), Answer> {
    let Arrival { thread, client, parts, head, .. } = arrival;
    let (app, now) = (&thread.app, thread.time());
    match presented(head, &parts.headers) {
        Ok(key) => {
            let call = Call { key, address: client, cost: Cost::Nothing, now };
            match app.api.admit(call).await {
                Err(refusal @ Refusal::Key { .. }) => Err(gate::refused(refusal, now, &mut None)),
                // What a key may not do now is told by its calls.
                Ok(_) | Err(_) => Ok(()),
            }
        }
        Err(NoKey::Ambiguous) => Err(gate::without_key(app, client, NoKey::Ambiguous, now, &mut None).await),
        Err(NoKey::Missing) => match app.api.admit_address(client, Cost::One, now).await {
            Ok(address) if !address.admitted => Err(gate::address_exceeded(&address, now)),
            // Without a count, a list is answered.
            Ok(_) | Err(_) => Ok(()),
        },
    }
}

/// Returns the answer to a message that the protocol refuses.
fn refused_message(refused: &Refused<'_>) -> Answer {
    Answer::json(refused.status, reply::error(refused))
}

/// Returns the answer to a message that the gate refuses: its error within one of the protocol. Only a key that is missing or not
/// valid has another status than 200, because with one many clients read nothing of the answer, or end.
fn refused_call(refusal: &Answer, id: Raw<'_>) -> Answer {
    let body = refusal.body.whole().and_then(|body| str::from_utf8(body).ok()).unwrap_or("{}");
    let message = Raw::of_valid(body).get("message").and_then(Raw::text).map(Cow::into_owned);
    let is_of_key = refusal.status == StatusCode::UNAUTHORIZED;
    let refused = Refused {
        id: Some(id),
        status: if is_of_key { StatusCode::UNAUTHORIZED } else { StatusCode::OK },
        code: i32::from(refusal.status.as_u16()),
        message: message.unwrap_or_default().into(),
        data: Some(body.to_owned()),
    };
    let mut answer = refused_message(&refused);
    answer.headers.extend(refusal.headers.iter().filter(|(name, _)| *name == WWW_AUTHENTICATE).cloned());
    answer
}
