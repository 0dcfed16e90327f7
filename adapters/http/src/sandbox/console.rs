//! The console: the page at `/sandbox` and its files, on the listener that serves `/health`.

use hyper::Method;
use hyper::header::HeaderValue;
use petstore_ports::Cost;

use super::guard;
use crate::base::page_file::PageFile;
use crate::exchange::builtin_endpoints::ALLOWED;
use crate::exchange::{cors, reference};
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::thread::shared::Serves;
use crate::thread::thread_state::ThreadState;
use crate::thread::{Arrival, HookedRequest, Intercepted, LocalFuture};
use crate::wire::builtin_routes::CONSOLE_PATH;

/// The content security policy of the console. It has no `data:` URLs, unlike that of the reference page, and trusted types:
/// a script that inserts a text of a client as markup fails.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);

/// Returns the file of the console at a path.
pub(super) fn find<'t>(path: &str, thread: &'t ThreadState) -> Option<&'t PageFile> {
    if thread.serves == Serves::Contract {
        return None;
    }
    let files = &thread.app.settings.documents.console;
    reference::find(files, CONSOLE_PATH, "/sandbox/console/", path)
}

/// A request for a file of the console.
pub(super) struct ConsoleRequest;

impl HookedRequest for ConsoleRequest {
    fn takes_any_name(&self) -> bool {
        false
    }

    fn before<'r>(
        &'r mut self,
        arrival: Arrival<'r>,
        _: Cost,
        _: &'r mut RequestBody,
    ) -> LocalFuture<'r, Result<(), Intercepted>> {
        let served = match find(arrival.parts.uri.path(), arrival.thread) {
            Some(file) => Err(answer(file, arrival).into()),
            None => Ok(()),
        };
        Box::pin(std::future::ready(served))
    }
}

fn answer(file: &PageFile, arrival: Arrival<'_>) -> Answer {
    let Arrival { thread, parts, head, .. } = arrival;
    match parts.method {
        Method::GET | Method::HEAD => guard::check_page(&thread.app, parts, head)
            .and_then(|()| reference::answer(file, POLICY, &parts.headers))
            .unwrap_or_else(Answer::from),
        Method::OPTIONS => cors::options(ALLOWED, &thread.app.cors, head, parts),
        _ => Answer::not_allowed(ALLOWED),
    }
}
