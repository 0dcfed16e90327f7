//! The endpoints outside the base path: health, readiness, metrics, the OpenAPI document and the reference page. They
//! need no key and have no quota.

use bytes::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, VARY};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use crate::base::page_file::PageFile;
use crate::exchange::cors;
use crate::exchange::reference;
use crate::response::answer::{Answer, Content};
use crate::response::gzip::CachedGzip;
use crate::thread::shared::Serves;
use crate::thread::thread_state::ThreadState;
use crate::wire;
use crate::wire::builtin_routes::{BuiltinRoute, DOCS_PATH};
use crate::wire::error::{ApiError, Code, Detail};
use crate::wire::exposition::prometheus_text;
use crate::wire::request_head::RequestHead;

/// The methods of a page.
pub(crate) const ALLOWED: &str = "GET, HEAD, OPTIONS";

/// A page that a listener serves at a path outside the base path.
#[derive(Clone, Copy)]
enum Page<'w> {
    Health,
    Ready,
    Metrics,
    /// A form of the contract, and its compressed copy.
    Contract(&'w Bytes, Content, &'w CachedGzip),
    /// A file of the reference page.
    Reference(&'w PageFile),
    /// A redirect to the reference page.
    ToReference,
}

impl<'w> Page<'w> {
    /// A form of the contract that a server need not have.
    fn derived(text: &'w Bytes, content: Content, gzip: &'w CachedGzip) -> Option<Self> {
        (!text.is_empty()).then_some(Self::Contract(text, content, gzip))
    }

    fn find(path: &str, thread: &'w ThreadState) -> Option<Self> {
        let one = BuiltinRoute::find(path)?;
        let is_here = match thread.serves {
            Serves::Everything => true,
            Serves::Contract => !one.is_for_operators(),
            Serves::Ops => one.is_for_operators(),
        };
        if !is_here {
            return None;
        }
        let documents = &thread.app.settings.documents;
        let files = &*documents.page;
        let gzip = &thread.app.gzip_documents;
        match one {
            BuiltinRoute::Health => Some(Self::Health),
            BuiltinRoute::Ready => Some(Self::Ready),
            BuiltinRoute::Metrics => thread.app.settings.exposition.is_some().then_some(Self::Metrics),
            BuiltinRoute::OpenapiYaml => Some(Self::Contract(&documents.yaml, Content::Yaml, &gzip.yaml)),
            BuiltinRoute::OpenapiJson => Some(Self::Contract(&documents.json, Content::Json, &gzip.json)),
            BuiltinRoute::OpenapiYaml31 => Self::derived(&documents.yaml_31, Content::Yaml, &gzip.yaml_31),
            BuiltinRoute::OpenapiJson31 => Self::derived(&documents.json_31, Content::Json, &gzip.json_31),
            BuiltinRoute::OpenapiYaml32 => Self::derived(&documents.yaml_32, Content::Yaml, &gzip.yaml_32),
            BuiltinRoute::OpenapiJson32 => Self::derived(&documents.json_32, Content::Json, &gzip.json_32),
            BuiltinRoute::OpenapiCompact => Self::derived(&documents.compact, Content::Json, &gzip.compact),
            BuiltinRoute::Root => (!files.is_empty()).then_some(Self::ToReference),
            BuiltinRoute::DocsFile if path == "/docs/" => (!files.is_empty()).then_some(Self::ToReference),
            BuiltinRoute::Docs | BuiltinRoute::DocsFile => {
                reference::find(files, DOCS_PATH, "/docs/", path).map(Self::Reference)
            }
            // Pages of a hook. The caller has already asked it.
            BuiltinRoute::Console
            | BuiltinRoute::ConsoleFile
            | BuiltinRoute::SandboxTool
            | BuiltinRoute::Mcp => None,
        }
    }
}

/// Returns whether a listener serves a page at this path.
pub(crate) fn is_page(path: &str, thread: &ThreadState) -> bool {
    Page::find(path, thread).is_some()
        || thread.app.hook.as_ref().is_some_and(|hook| hook.has_page(path, thread))
}

/// Answers a request outside the base path.
pub(crate) async fn answer(thread: &ThreadState, parts: &Parts, head: &RequestHead<'_>) -> Answer {
    let settings = &thread.app.settings;
    if parts.method == Method::OPTIONS && parts.uri.path() == "*" {
        // `*` names the server as a whole (RFC 9110, section 9.3.7). Browsers cannot send it, so CORS does not apply.
        return Answer::empty(StatusCode::NO_CONTENT)
            .with_header(ALLOW, const { HeaderValue::from_static(cors::ALL_METHODS) });
    }
    let Some(page) = Page::find(parts.uri.path(), thread) else {
        if parts.method == Method::OPTIONS
            && let Some(permitted) = cors::preflight_of_unknown_path(&thread.app.cors, head, parts)
        {
            return permitted;
        }
        let message = match thread.serves {
            Serves::Ops => {
                let pages = BuiltinRoute::ALL.map(BuiltinRoute::template).into_iter();
                let hooked = thread.app.hook.as_ref().map(|hook| hook.paths()).unwrap_or_default();
                format!(
                    "This path does not exist; this listener serves {}.",
                    wire::listed(pages.chain(hooked.iter().copied()).filter(|path| is_page(path, thread)))
                )
            }
            _ => format!("This path does not exist; the API operations are under {}/.", settings.base_path),
        };
        return Answer::from(ApiError::new(Code::NotFound, message));
    };
    match parts.method {
        Method::GET | Method::HEAD => {}
        Method::OPTIONS => return cors::options(ALLOWED, &thread.app.cors, head, parts),
        _ => return Answer::not_allowed(ALLOWED),
    }
    match page {
        // A health probe only asks if the process answers, so the store is not read.
        Page::Health => Answer::json(StatusCode::OK, &b"{\"status\":\"ok\"}"[..]),
        Page::Ready => ready(thread).await,
        Page::Metrics => metrics(thread, &parts.headers),
        Page::Contract(document, content, gzip) => {
            let answer = Answer { content, ..Answer::json(StatusCode::OK, document.clone()) };
            if settings.gzip { gzip.compress(answer, &parts.headers) } else { answer }
        }
        Page::Reference(file) => {
            reference::answer(file, reference::POLICY, &parts.headers).unwrap_or_else(Answer::from)
        }
        Page::ToReference => Answer::empty(StatusCode::FOUND)
            .with_header(LOCATION, const { HeaderValue::from_static(DOCS_PATH) }),
    }
}

fn metrics(thread: &ThreadState, headers: &HeaderMap) -> Answer {
    const OPENMETRICS: HeaderValue =
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let app = &thread.app;
    let text = app.settings.exposition.as_ref().map(|exposition| exposition.text(&app.stats()));
    let text = text.unwrap_or_default();
    let (text, content_type) = if wire::asks_for_openmetrics(headers) {
        (text, OPENMETRICS)
    } else {
        (prometheus_text(&text), TEXT)
    };
    let answer = Answer { body: text.into(), ..Answer::empty(StatusCode::OK) };
    let answer = answer.with_header(CONTENT_TYPE, content_type);
    Answer {
        content: Content::Custom,
        ..answer.with_header(VARY, const { HeaderValue::from_static("Accept") })
    }
}

async fn ready(thread: &ThreadState) -> Answer {
    let mut details = Vec::new();
    if thread.app.is_draining() {
        let message = "The server is shutting down.".into();
        details.push(Detail { field: "drain".to_owned(), code: "failed", message });
    }
    for check in thread.app.api.failing_checks().await {
        let message = sentence(&check.reason).into();
        details.push(Detail { field: check.name.to_owned(), code: "failed", message });
    }
    if details.is_empty() {
        let damaged = thread.app.api.damaged_parts().into_iter().map(|part| Detail {
            field: part.name.to_owned(),
            code: "damaged",
            message: sentence(&part.reason).into(),
        });
        return Answer::json(StatusCode::OK, wire::render_ready(&damaged.collect::<Vec<_>>()));
    }
    let message = "The server is not ready to serve requests; retry in 1 second.";
    let error = ApiError::with_details(Code::Unavailable, message, details);
    Answer::retry_in(&error, 1)
}

/// Formats a reason like the other messages to clients: with a capital letter and a full stop.
fn sentence(reason: &str) -> String {
    let mut characters = reason.chars();
    let first = characters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(characters).chain(['.']).collect()
}
