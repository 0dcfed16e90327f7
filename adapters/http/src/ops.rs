//! What stands outside the base path: health, readiness, the contract. No key, no quota.

use hyper::header::{ALLOW, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use crate::answer::{Answer, Content};
use crate::app::Serves;
use crate::cors;
use crate::error::{ApiError, Code, Detail};
use crate::head::Head;
use crate::worker::Worker;

const ALLOWED: &str = "GET, HEAD, OPTIONS";

const ALL_METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// The paths outside the base path.
#[derive(Clone, Copy)]
enum Page {
    Health,
    Ready,
    OpenapiYaml,
    OpenapiJson,
}

impl Page {
    fn find(path: &str, serves: Serves) -> Option<Self> {
        let page = match path {
            "/health" => Self::Health,
            "/ready" => Self::Ready,
            "/openapi.yaml" => Self::OpenapiYaml,
            "/openapi.json" => Self::OpenapiJson,
            _ => return None,
        };
        let is_ops = matches!(page, Self::Health | Self::Ready);
        match serves {
            Serves::Everything => Some(page),
            Serves::Contract => (!is_ops).then_some(page),
            Serves::Ops => is_ops.then_some(page),
        }
    }
}

/// Whether a listener serves a page at this path.
pub(crate) fn is_page(path: &str, serves: Serves) -> bool {
    Page::find(path, serves).is_some()
}

/// Whether a path is asked by whoever watches the server.
pub(crate) fn is_probe(path: &str) -> bool {
    matches!(path, "/health" | "/ready")
}

/// Whether a path is one of these, for the log.
pub(crate) fn template(path: &str) -> &'static str {
    match path {
        "/health" => "/health",
        "/ready" => "/ready",
        "/openapi.yaml" => "/openapi.yaml",
        "/openapi.json" => "/openapi.json",
        _ => "-",
    }
}

/// Answers a request outside the base path.
pub(crate) async fn answer(worker: &Worker, parts: &Parts, head: &Head<'_>) -> Answer {
    let settings = &worker.app.settings;
    if parts.method == Method::OPTIONS && parts.uri.path() == "*" {
        // The server as a whole (RFC 9110, section 9.3.7).
        return cors::options(ALL_METHODS, &settings.cors, head, &parts.headers);
    }
    let Some(page) = Page::find(parts.uri.path(), worker.serves) else {
        let message = match worker.serves {
            Serves::Ops => "Here are /health and /ready.".to_owned(),
            _ => format!("There is nothing here: the operations are under {}/.", settings.base_path),
        };
        return Answer::from(ApiError::new(Code::NotFound, message));
    };
    match parts.method {
        Method::GET | Method::HEAD => {}
        Method::OPTIONS => return cors::options(ALLOWED, &settings.cors, head, &parts.headers),
        _ => {
            return Answer::from(ApiError::new(Code::MethodNotAllowed, "This can only be read."))
                .with_header(ALLOW, HeaderValue::from_static(ALLOWED));
        }
    }
    let documents = &settings.documents;
    match page {
        // Touches nothing: it says that the process answers.
        Page::Health => Answer::json(StatusCode::OK, &b"{\"status\":\"ok\"}"[..]),
        Page::Ready => ready(worker).await,
        Page::OpenapiYaml => {
            Answer { content: Content::Yaml, ..Answer::json(StatusCode::OK, documents.yaml.clone()) }
        }
        Page::OpenapiJson => Answer::json(StatusCode::OK, documents.json.clone()),
    }
}

async fn ready(worker: &Worker) -> Answer {
    let mut details = Vec::new();
    if worker.app.is_draining() {
        let message = "The server is stopping.".into();
        details.push(Detail { field: "drain".to_owned(), code: "failed", message });
    }
    for check in worker.app.api.failing_checks().await {
        let message = check.reason.into();
        details.push(Detail { field: check.name.to_owned(), code: "failed", message });
    }
    if details.is_empty() {
        return Answer::json(StatusCode::OK, &b"{\"status\":\"ready\"}"[..]);
    }
    let error = ApiError::with_details(Code::Unavailable, "Not ready to serve.", details);
    Answer::from(error).with_retry_after(1)
}
