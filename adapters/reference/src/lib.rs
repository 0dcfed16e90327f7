//! The reference page of the petstore: Swagger UI, a script and a style sheet that make it ours, and an icon.
//!
//! These are files and nothing more: who serves them, at which path and with which headers, is another's business. Each
//! is a gzip member, because every browser takes it so, and because it is a third of a binary that way.
//!
//! The page is meant for a path that ends in `/docs`, with its files under it and the contract's `openapi.json` beside
//! it; it names them relative to itself, and asks no other origin for anything. It needs no inline script, no inline
//! style and no `eval`, so that the strictest policy fits it.
//!
//! ```
//! let page = petstore_reference::FILES.iter().find(|file| file.name.is_empty()).unwrap();
//! assert_eq!(page.content_type, "text/html; charset=utf-8");
//! assert!(page.gzip.starts_with(b"\x1f\x8b"));
//! ```
//!
//! A server that is a tester's sandbox has another page: [`page_of_sandbox`] makes it.

/// A file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// What follows the page's own path and a slash; empty for the page itself.
    pub name: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// Its content, as one gzip member.
    pub gzip: &'static [u8],
}

macro_rules! files {
    ($($name:literal $content_type:literal from $source:literal)*) => {
        /// The files of the page.
        pub const FILES: &[File] = &[$(File {
            name: $name,
            content_type: $content_type,
            gzip: include_bytes!(concat!(env!("OUT_DIR"), "/", $source, ".gz")),
        },)*];
    };
}

files! {
    "" "text/html; charset=utf-8" from "index.html"
    "favicon.svg" "image/svg+xml" from "favicon.svg"
    "licence.txt" "text/plain; charset=utf-8" from "licence.txt"
    "notice.txt" "text/plain; charset=utf-8" from "notice.txt"
    "page.css" "text/css; charset=utf-8" from "page.css"
    "page.js" "text/javascript; charset=utf-8" from "page.js"
    "swagger-ui-bundle.js" "text/javascript; charset=utf-8" from "swagger-ui-bundle.js"
    "swagger-ui.css" "text/css; charset=utf-8" from "swagger-ui.css"
    "theme.js" "text/javascript; charset=utf-8" from "theme.js"
}

/// The page itself, of a server that is a tester's sandbox: with a note that says what a tester may do, and how.
///
/// `origin` is where the sandbox is reached, such as `http://127.0.0.1:8080`; it goes into the page as it is.
/// `is_here` says that this is where the page comes from too: then a browser puts in the address that it knows.
///
/// ```
/// let page = petstore_reference::page_of_sandbox("http://127.0.0.1:9090", false);
/// assert!(page.contains("curl -X POST http://127.0.0.1:9090/sandbox/reset"));
/// ```
pub fn page_of_sandbox(origin: &str, is_here: bool) -> String {
    const PAGE: &str = include_str!("../page/index.html");
    const NOTE: &str = include_str!("../page/sandbox.html");
    const BEFORE: &str = "<main ";
    let marked = format!("<span data-origin>{origin}</span>");
    let note = NOTE.replace("{origin}", if is_here { &marked } else { origin });
    PAGE.replacen(BEFORE, &(note + BEFORE), 1)
}
