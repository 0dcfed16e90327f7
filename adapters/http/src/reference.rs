//! The reference page at `/docs`: files that the owner hands in, each a gzip member, sent as they are.

use std::io::Read;
use std::sync::OnceLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use hyper::header::{
    CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, VARY,
};
use hyper::{HeaderMap, StatusCode};

use crate::answer::{Answer, Content};
use crate::error::ApiError;
use crate::wire::{self, EntityTag};

/// Where the page is.
pub(crate) const PATH: &str = "/docs";

/// The page's own files and this server's answers, and nothing else: no inline script or style, no `eval`, no frame.
/// Icons in the style sheet are `data:`.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri \
     'none'; form-action 'none'; frame-ancestors 'none'",
);

const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");

/// A page of another origin that opens this one gets no hold of its window, where a key may be typed in.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");

/// Bytes of the longest file, unpacked.
const UNPACKED_MAX: u32 = 16 * 1024 * 1024;

/// A file of the reference page.
#[derive(Debug)]
pub struct PageFile {
    name: &'static str,
    content_type: HeaderValue,
    packed: Bytes,
    /// Made when the first client comes that takes no gzip, and kept: it costs milliseconds, and asking costs nothing.
    unpacked: OnceLock<Bytes>,
    /// The CRC-32 and the length of what is packed.
    trailer: [u8; 8],
}

impl PageFile {
    /// A file whose content is this gzip member. `name` is what follows `/docs/`, and is empty for the page itself.
    ///
    /// # Panics
    /// If `content_type` cannot stand in a header, or the member is too short to be one.
    pub fn new(name: &'static str, content_type: &'static str, gzip: &'static [u8]) -> Self {
        Self {
            name,
            content_type: HeaderValue::from_static(content_type),
            packed: Bytes::from_static(gzip),
            unpacked: OnceLock::new(),
            trailer: *gzip.last_chunk().expect("a gzip member ends with eight bytes about its content"),
        }
    }

    /// The same with content that is not packed yet.
    pub fn of(name: &'static str, content_type: &'static str, content: String) -> Self {
        let mut member = Vec::new();
        let packed = GzEncoder::new(content.as_bytes(), Compression::best()).read_to_end(&mut member);
        packed.expect("what is in memory can be read");
        let trailer = *member.last_chunk().expect("a gzip member ends with eight bytes about its content");
        Self {
            name,
            content_type: HeaderValue::from_static(content_type),
            packed: member.into(),
            unpacked: OnceLock::from(Bytes::from(content)),
            trailer,
        }
    }

    fn tag(&self, is_packed: bool) -> EntityTag {
        EntityTag::of_file(u64::from_be_bytes(self.trailer), is_packed)
    }

    fn unpacked(&self) -> Result<Bytes, &'static str> {
        if let Some(bytes) = self.unpacked.get() {
            return Ok(bytes.clone());
        }
        let [.., a, b, c, d] = self.trailer;
        let length = u32::from_le_bytes([a, b, c, d]);
        if length > UNPACKED_MAX {
            return Err("a file of the reference page is too long to be unpacked");
        }
        let mut bytes = Vec::with_capacity(length as usize);
        let unpacked = GzDecoder::new(&*self.packed).take(u64::from(length)).read_to_end(&mut bytes);
        unpacked.map_err(|_| "a file of the reference page cannot be unpacked")?;
        Ok(self.unpacked.get_or_init(|| bytes.into()).clone())
    }
}

/// The file at a path.
pub(crate) fn find<'f>(files: &'f [PageFile], path: &str) -> Option<&'f PageFile> {
    let name = match path.strip_prefix(PATH)? {
        "" => "",
        // The page itself has one address.
        rest => rest.strip_prefix('/').filter(|name| !name.is_empty())?,
    };
    files.iter().find(|file| file.name == name)
}

/// A file, in the coding that the client takes, or that the client has it already.
pub(crate) fn answer(file: &PageFile, headers: &HeaderMap) -> Result<Answer, ApiError> {
    let is_packed = wire::accepts_gzip(headers);
    let tag = file.tag(is_packed);
    let answer = if wire::if_none_match(headers)?.matches(&tag) {
        Answer::empty(StatusCode::NOT_MODIFIED)
    } else {
        let body = if is_packed { Ok(file.packed.clone()) } else { file.unpacked() };
        match body {
            Ok(body) => Answer { body, content: Content::Told, ..Answer::empty(StatusCode::OK) }
                .with_header(CONTENT_TYPE, file.content_type.clone()),
            Err(fault) => return Ok(Answer::failed(fault)),
        }
    };
    let answer = answer
        .with_tag(tag)
        .with_header(VARY, const { HeaderValue::from_static("Accept-Encoding") })
        .with_header(CONTENT_SECURITY_POLICY, POLICY)
        .with_header(REFERRER_POLICY, NO_REFERRER)
        .with_header(OPENER_POLICY, SAME_ORIGIN);
    if is_packed && answer.status == StatusCode::OK {
        return Ok(answer.with_header(CONTENT_ENCODING, const { HeaderValue::from_static("gzip") }));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five bytes, stored.
    const HELLO: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff\x01\x05\0\xfa\xffhello\x86\xa6\x10\x36\x05\0\0\0";

    #[test]
    fn the_page_and_its_files_have_one_address_each() {
        let files = [PageFile::new("", "text/html", HELLO), PageFile::new("a.js", "text/javascript", HELLO)];
        let found = |path| find(&files, path).map(|file| file.name);
        assert_eq!((found("/docs"), found("/docs/a.js")), (Some(""), Some("a.js")));
        for path in ["/docs/", "/docs//a.js", "/docsa.js", "/docs/a.js/", "/docs/A.js", "/doc", "/", ""] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn a_file_is_unpacked_once() {
        let file = PageFile::new("", "text/plain", HELLO);
        let first = file.unpacked().unwrap();
        assert_eq!(first, "hello");
        assert_eq!(file.unpacked().unwrap().as_ptr(), first.as_ptr());
    }

    #[test]
    fn content_that_comes_unpacked_is_packed_as_it_is() {
        let file = PageFile::of("", "text/plain", "hello".repeat(100));
        assert_eq!(file.unpacked().unwrap(), "hello".repeat(100));
        let packed = PageFile::new("", "text/plain", file.packed.to_vec().leak());
        assert_eq!(
            (packed.unpacked().unwrap(), packed.tag(true)),
            (file.unpacked().unwrap(), file.tag(true))
        );
    }

    #[test]
    fn a_file_that_is_broken_or_says_too_much_of_itself_is_an_error() {
        let mut broken = HELLO.to_vec();
        broken[12] = 6;
        assert!(PageFile::new("", "text/plain", broken.leak()).unpacked().is_err());
        let mut huge = HELLO.to_vec();
        let end = huge.len();
        huge[end - 1] = 0x7F;
        let file = PageFile::new("", "text/plain", huge.leak());
        assert!(file.unpacked().is_err());
        let answer = answer(&file, &HeaderMap::new()).unwrap();
        assert_eq!((answer.status, answer.fault.is_some()), (StatusCode::INTERNAL_SERVER_ERROR, true));
    }

    #[test]
    fn the_tag_tells_the_coding_too() {
        let file = PageFile::new("", "text/plain", HELLO);
        assert_eq!(file.tag(true).as_bytes(), b"\"86a6103605000000-gzip\"");
        assert_eq!(file.tag(false).as_bytes(), b"\"86a6103605000000\"");
    }
}
