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
