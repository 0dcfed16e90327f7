//! The console of a petstore sandbox: the requests of a client under test, and the controls of the sandbox.
//!
//! The page expects a path that ends in `/sandbox`, with its files below `/sandbox/console/` and the routes of the
//! sandbox beside them. The name of a file is its path below `/sandbox/console/`. It uses relative references, and sends no request to another origin. It has no inline script,
//! no inline style, no `eval`, no library, and inserts texts of the server as text only, so that the strictest content
//! security policy works, with trusted types.
//!
//! The server also provides `/sandbox/console/about.json`, which [`about`] makes: the addresses that the page links to.
//!
//! ```
//! let page = petstore_pages::console::FILES.iter().find(|file| file.name.is_empty()).unwrap();
//! assert_eq!(page.content_type, "text/html; charset=utf-8");
//! assert!(page.gzip.starts_with(b"\x1f\x8b"));
//! ```

use crate::files;

files! { "console":
    "" "text/html; charset=utf-8" from "index.html"
    "api.js" "text/javascript; charset=utf-8" from "api.js"
    "baseline.js" "text/javascript; charset=utf-8" from "baseline.js"
    "clock.js" "text/javascript; charset=utf-8" from "clock.js"
    "console.js" "text/javascript; charset=utf-8" from "console.js"
    "detail.js" "text/javascript; charset=utf-8" from "detail.js"
    "dom.js" "text/javascript; charset=utf-8" from "dom.js"
    "events.js" "text/javascript; charset=utf-8" from "events.js"
    "fault_rule.js" "text/javascript; charset=utf-8" from "fault_rule.js"
    "faults.js" "text/javascript; charset=utf-8" from "faults.js"
    "favicon.svg" "image/svg+xml" from "favicon.svg"
    "feed.js" "text/javascript; charset=utf-8" from "feed.js"
    "format.js" "text/javascript; charset=utf-8" from "format.js"
    "frame.css" "text/css; charset=utf-8" from "frame.css"
    "keys.js" "text/javascript; charset=utf-8" from "keys.js"
    "list.js" "text/javascript; charset=utf-8" from "list.js"
    "panels.css" "text/css; charset=utf-8" from "panels.css"
    "plan_code.js" "text/javascript; charset=utf-8" from "plan_code.js"
    "quota_headers.js" "text/javascript; charset=utf-8" from "quota_headers.js"
    "report.js" "text/javascript; charset=utf-8" from "report.js"
    "requests.css" "text/css; charset=utf-8" from "requests.css"
    "requests.js" "text/javascript; charset=utf-8" from "requests.js"
    "resend.js" "text/javascript; charset=utf-8" from "resend.js"
    "reset.js" "text/javascript; charset=utf-8" from "reset.js"
    "screens.css" "text/css; charset=utf-8" from "screens.css"
    "search.js" "text/javascript; charset=utf-8" from "search.js"
    "webhooks.js" "text/javascript; charset=utf-8" from "webhooks.js"
}

/// The addresses and facts that the console shows besides what the sandbox's routes return.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The origin of the API, such as `http://127.0.0.1:8080`; none if it is the page's own.
    pub api_origin: Option<&'a str>,
    /// The path of the API, such as `/v1`.
    pub base_path: &'a str,
    /// The number of pets that a reset restores; none without demonstration data.
    pub demo: Option<u32>,
    /// `true` if the sandbox keeps a journal of requests.
    pub has_journal: bool,
    /// `true` if the server has webhooks.
    pub has_webhooks: bool,
    /// The operations as JSON: an array of arrays of method, route, tag, operation id and sunset date, which may be
    /// null.
    pub operations: &'a str,
}

/// Returns the content of `about.json`. The texts are inserted unchanged, so they must not need an escape in JSON.
///
/// ```
/// use petstore_pages::console::{About, about};
///
/// let operations = r#"[["GET","/pets","animals","listPets",null]]"#;
/// assert_eq!(
///     about(About {
///         api_origin: None,
///         base_path: "/v1",
///         demo: Some(100),
///         has_journal: true,
///         has_webhooks: false,
///         operations,
///     }),
///     r#"{"api":null,"base":"/v1","demo":100,"journal":true,"webhooks":false,"operations":[["GET","/pets","animals","listPets",null]]}"#
/// );
/// ```
pub fn about(facts: About<'_>) -> String {
    let About { api_origin, base_path, demo, has_journal, has_webhooks, operations } = facts;
    let api = api_origin.map_or_else(|| "null".to_owned(), |origin| format!("\"{origin}\""));
    let demo = demo.map_or_else(|| "null".to_owned(), |pets| pets.to_string());
    format!(
        "{{\"api\":{api},\"base\":\"{base_path}\",\"demo\":{demo},\"journal\":{has_journal},\
         \"webhooks\":{has_webhooks},\"operations\":{operations}}}"
    )
}

/// The name of the file that [`about`] makes.
pub const ABOUT: &str = "about.json";
