//! Pages such as the reference page at `/docs`, served from files that the owner provides.

use hyper::header::{
    CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, VARY,
};
use hyper::{HeaderMap, StatusCode};

use crate::base::page_file::PageFile;
use crate::response::answer::{Answer, Content};
use crate::wire::error::ApiError;
use crate::wire::{self, EntityTag};

/// The content security policy of the page. The page may load its own files and call this server, but nothing else: no
/// inline script or style, no `eval`, no frame. Icons in the style sheet are `data:` URLs.
pub(crate) const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri \
     'none'; form-action 'none'; frame-ancestors 'none'",
);

const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");

/// The header that keeps pages of other origins from getting a handle to the window of the reference page. The window
/// must be protected, because a user may type a key into the reference page.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");

/// Returns the entity tag of a file, as gzip or decompressed.
fn tag_of(file: &PageFile, is_gzip: bool) -> EntityTag {
    EntityTag::of_file(u64::from_be_bytes(file.trailer()), is_gzip)
}

/// Returns the file at a path: the page at `page`, or a file below `folder`.
pub(crate) fn find<'f>(files: &'f [PageFile], page: &str, folder: &str, path: &str) -> Option<&'f PageFile> {
    let name = if path == page {
        ""
    } else {
        // The folder itself is not found, so that the page has a single address.
        path.strip_prefix(folder).filter(|name| !name.is_empty())?
    };
    files.iter().find(|file| file.name() == name)
}

/// Returns the response to a request for a file: the file in a coding that the client accepts, or 304.
pub(crate) fn answer(file: &PageFile, policy: HeaderValue, headers: &HeaderMap) -> Result<Answer, ApiError> {
    let is_gzip = wire::accepts_gzip(headers);
    let tag = tag_of(file, is_gzip);
    let answer = if wire::if_none_match(headers)?.matches(&tag) {
        Answer::empty(StatusCode::NOT_MODIFIED)
    } else {
        let body = if is_gzip { Ok(file.gzip().clone()) } else { file.plain() };
        match body {
            Ok(body) => {
                Answer { body: body.into(), content: Content::Custom, ..Answer::empty(StatusCode::OK) }
                    .with_header(CONTENT_TYPE, file.content_type().clone())
            }
            Err(fault) => return Ok(Answer::failed(fault)),
        }
    };
    let answer = answer
        .with_tag(tag)
        .with_header(VARY, const { HeaderValue::from_static("Accept-Encoding") })
        .with_header(CONTENT_SECURITY_POLICY, policy)
        .with_header(REFERRER_POLICY, NO_REFERRER)
        .with_header(OPENER_POLICY, SAME_ORIGIN);
    if is_gzip && answer.status == StatusCode::OK {
        return Ok(answer.with_header(CONTENT_ENCODING, const { HeaderValue::from_static("gzip") }));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gzip member with five bytes in a stored block.
    const HELLO: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\x01\x05\0\xfa\xffhello\x86\xa6\x10\x36\x05\0\0\0";

    #[test]
    fn the_page_and_its_files_have_one_address_each() {
        let files = [PageFile::new("", "text/html", HELLO), PageFile::new("a.js", "text/javascript", HELLO)];
        let found = |path| find(&files, "/docs", "/docs/", path).map(PageFile::name);
        assert_eq!((found("/docs"), found("/docs/a.js")), (Some(""), Some("a.js")));
        for path in ["/docs/", "/docs//a.js", "/docsa.js", "/docs/a.js/", "/docs/A.js", "/doc", "/", ""] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn a_file_that_is_broken_or_declares_a_wrong_length_is_an_error() {
        let mut broken = HELLO.to_vec();
        broken[12] = 6;
        assert!(PageFile::new("", "text/plain", broken.leak()).plain().is_err());
        let mut huge = HELLO.to_vec();
        let end = huge.len();
        huge[end - 1] = 0x7F;
        let file = PageFile::new("", "text/plain", huge.leak());
        assert!(file.plain().is_err());
        let answer = answer(&file, POLICY, &HeaderMap::new()).unwrap();
        assert_eq!((answer.status, answer.fault.is_some()), (StatusCode::INTERNAL_SERVER_ERROR, true));
    }

    #[test]
    fn each_coding_has_its_own_tag() {
        let file = PageFile::new("", "text/plain", HELLO);
        assert_eq!(tag_of(&file, true).as_bytes(), b"\"86a6103605000000-gzip\"");
        assert_eq!(tag_of(&file, false).as_bytes(), b"\"86a6103605000000\"");
    }
}
