//! The reference page of the petstore: Swagger UI with our script, style sheet and icon.
//!
//! The page expects a path that ends in `/docs`, with its files below it and the contract's `openapi.json` beside it.
//! It uses relative references, and sends no request to another origin. It has no inline script, no inline style and
//! no `eval`, so that the strictest content security policy works.
//!
//! ```
//! let page = petstore_pages::reference::FILES.iter().find(|file| file.name.is_empty()).unwrap();
//! assert_eq!(page.content_type, "text/html; charset=utf-8");
//! assert!(page.gzip.starts_with(b"\x1f\x8b"));
//! ```
//!
//! The name of a file is its path below `/docs/`. A sandbox has another page, which [`page_of_sandbox`] makes.

use crate::files;

files! { "reference":
    "" "text/html; charset=utf-8" from "index.html"
    "contents.js" "text/javascript; charset=utf-8" from "contents.js"
    "favicon.svg" "image/svg+xml" from "favicon.svg"
    "key.js" "text/javascript; charset=utf-8" from "key.js"
    "licence.txt" "text/plain; charset=utf-8" from "licence.txt"
    "notice.txt" "text/plain; charset=utf-8" from "notice.txt"
    "page.css" "text/css; charset=utf-8" from "page.css"
    "page.js" "text/javascript; charset=utf-8" from "page.js"
    "samples.js" "text/javascript; charset=utf-8" from "samples.js"
    "swagger-ui-bundle.js" "text/javascript; charset=utf-8" from "swagger-ui-bundle.js"
    "swagger-ui.css" "text/css; charset=utf-8" from "swagger-ui.css"
    "theme.js" "text/javascript; charset=utf-8" from "theme.js"
}

/// Returns the page of a sandbox, with a note about the requests that a tester can send.
///
/// `origin` is the sandbox's origin, such as `http://127.0.0.1:8080`; it is inserted unchanged. If `is_here` is true,
/// the page comes from that origin, too, and the browser shows the address by which it has reached the page.
///
/// ```
/// let page = petstore_pages::reference::page_of_sandbox("http://127.0.0.1:9090", false);
/// assert!(page.contains("curl -X POST 'http://127.0.0.1:9090/sandbox/reset'"));
/// ```
pub fn page_of_sandbox(origin: &str, is_here: bool) -> String {
    const PAGE: &str = include_str!("../page/reference/index.html");
    const NOTE: &str = include_str!("../page/reference/sandbox.html");
    const BEFORE: &str = "<main ";
    let marked = format!("<span data-origin>{origin}</span>");
    // A relative reference also works behind a proxy that adds a prefix.
    let console = if is_here { "sandbox".to_owned() } else { format!("{origin}/sandbox") };
    let note =
        NOTE.replace("{console}", &console).replace("{origin}", if is_here { &marked } else { origin });
    PAGE.replacen(BEFORE, &(note + BEFORE), 1)
}
